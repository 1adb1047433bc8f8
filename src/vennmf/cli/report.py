"""``vennmf report``: one page on a model, Markdown or HTML, to read or to send to somebody."""

from __future__ import annotations

import base64
import io
from collections.abc import Callable
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import vennmf
from vennmf.cli.ask import shares
from vennmf.cli.fit import report as carried
from vennmf.cli.fit import writable
from vennmf.cli.messages import say
from vennmf.cli.output import cell
from vennmf.cli.recipe import sizes
from vennmf.errors import ParameterError

if TYPE_CHECKING:
    import pandas as pd

STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem; color: #222; background: #fff }
table { border-collapse: collapse; margin: .6rem 0 1.4rem } td, th { padding: .15rem .7rem .15rem 0; text-align: left;
vertical-align: top; border-bottom: 1px solid #ddd } td.n, th.n { text-align: right } img { max-width: 100% } h2 { margin-top: 2.2rem }
"""


@dataclass(frozen=True)
class Section:
    """A heading, what it says, a table, and what draws its figure, which Markdown leaves out."""

    heading: str
    text: str
    table: pd.DataFrame
    draw: Callable[[], Any] | None = None


def report(path: Path, output: Path, k: str, force: bool) -> None:
    """Write the page whole or not at all."""
    from vennmf.estimators.storage import write_atomically

    if output.suffix not in (".html", ".md"):
        raise ParameterError(
            f"-o {output}: a report is written as .html or .md; found {output.suffix or 'no suffix'!r}."
        )
    writable(output, force)
    model = vennmf.load(path)
    found = sections(model, sizes(k, "-k"))
    title = f"{path.name}: {type(model).__name__} of {', '.join(model.sources_)}"
    write = as_html if output.suffix == ".html" else as_markdown
    write_atomically(output, write(title, _lead(model), found).encode())
    say(f"wrote {output}")


def _lead(model: Any) -> str:
    blocks = ", ".join(f"{block.size} {block.name}" for block in model.blocks_)
    return (
        f"{sum(map(len, model.encodings_.values())):,} items, {model.n_features_in_:,} words. Topics: {blocks}. "
        f"The fit stopped after {model.n_iter_} iterations: {str(model.stop_reason_).replace('_', ' ')}."
    )


def sections(model: Any, k: int | dict[str, int]) -> list[Section]:
    """What a reader of a model wants to know, in this order."""
    from vennmf.applications.cluster import joint_cluster
    from vennmf.applications.topics import topic_items, topic_sizes, topics
    from vennmf.plots import convergence, energy, topic_words

    weights = topics(model, 8)
    exclusive = (
        weights.groupby(["block", "topic"], sort=False)["exclusivity"].mean().rename("exclusivity").reset_index()
    )
    sizes_of = shares(topic_sizes(model, 8)).merge(exclusive, on=["block", "topic"], how="left", sort=False)
    sizes_of = sizes_of[[*(name for name in sizes_of.columns if name != "words"), "words"]]
    overlaps = model.shared_report()
    overlaps = overlaps[~overlaps["measure"].isin(["explained", "energy"])]
    return [
        Section(
            "What each block carries",
            "Share of each source's energy that the model explains, in all and by block.",
            carried(model),
            lambda: energy(model),
        ),
        Section(
            "Topics",
            "Share of each source, how much of their words is theirs alone (exclusivity, 1 for all of it), and words.",
            sizes_of,
            lambda: topic_words(model),
        ),
        Section("Items of each topic", "Those that say most about it.", _titled(model, topic_items(model, 3))),
        Section("Clusters", "k-means on all columns of each source.", joint_cluster(model, k).summary()),
        Section(
            "How far apart",
            "Largest and mean cosine between components of two blocks; Jensen–Shannon divergence of two sources in bits.",
            overlaps,
        ),
        Section(
            "How the fit went",
            "Objective at the first, a middle and the last step that was noted.",
            _steps(model),
            lambda: convergence(model),
        ),
    ]


def _titled(model: Any, items: pd.DataFrame) -> pd.DataFrame:
    """Items with their titles, where the sources have some."""
    titles = {}
    for source, table in getattr(model, "metadata_", {}).items():
        named = next((column for column in ("title", "name") if column in table.columns), None)
        if named is not None:
            titles[source] = dict(zip(map(str, model.item_ids_[source]), table[named], strict=True))
    if not titles:
        return items
    items["title"] = [titles.get(s, {}).get(str(i)) for s, i in zip(items["source"], items["item"], strict=True)]
    return items


def _steps(model: Any) -> pd.DataFrame:
    import pandas as pd

    history = pd.DataFrame({name: model.history_[name] for name in ("iteration", "seconds", "objective")})
    return history.iloc[sorted({0, len(history) // 2, len(history) - 1})]


def as_markdown(title: str, lead: str, found: list[Section]) -> str:
    """The page as Markdown, without figures."""
    parts = [f"# {title}", lead]
    for section in found:
        parts += [f"## {section.heading}", section.text, _markdown_table(section.table)]
    return "\n\n".join(parts) + "\n"


def _markdown_table(table: pd.DataFrame) -> str:
    def row(cells: Any) -> str:
        return f"| {' | '.join(str(part).replace('|', chr(92) + '|') for part in cells)} |"

    lines = [row(table.columns), row("---:" if kind.kind in "iuf" else "---" for kind in table.dtypes)]
    return "\n".join(lines + [row(map(cell, values)) for values in table.itertuples(index=False)])


def as_html(title: str, lead: str, found: list[Section]) -> str:
    """The page as one HTML file that needs nothing else."""
    parts = [f"<h1>{escape(title)}</h1><p>{escape(lead)}</p>"]
    for section in found:
        picture = (
            "" if section.draw is None else f'<p><img alt="" src="data:image/png;base64,{_png(section.draw)}"></p>'
        )
        parts.append(
            f"<h2>{escape(section.heading)}</h2><p>{escape(section.text)}</p>{picture}{_html_table(section.table)}"
        )
    head = f'<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{escape(title)}</title>'
    return f'<!doctype html><html lang="en"><head>{head}<style>{STYLE}</style></head><body>{"".join(parts)}</body></html>\n'


def _html_table(table: pd.DataFrame) -> str:
    sides = [' class="n"' if kind.kind in "iuf" else "" for kind in table.dtypes]

    def row(cells: Any, tag: str) -> str:
        inner = (f"<{tag}{side}>{escape(str(part))}</{tag}>" for part, side in zip(cells, sides, strict=True))
        return f"<tr>{''.join(inner)}</tr>"

    body = "".join(row(map(cell, values), "td") for values in table.itertuples(index=False))
    return f"<table>{row(table.columns, 'th')}{body}</table>"


def _png(draw: Callable[[], Any]) -> str:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure = draw().figure
    drawn = io.BytesIO()
    figure.savefig(drawn, format="png", dpi=110)
    pyplot.close(figure)
    return base64.b64encode(drawn.getvalue()).decode()
