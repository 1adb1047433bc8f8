"""``vennmf demo``: the whole story in a minute."""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from vennmf.applications.cluster import joint_cluster
from vennmf.applications.retrieve import Retriever
from vennmf.applications.topics import topic_items, topic_sizes
from vennmf.cli.messages import say
from vennmf.cli.story import Story, news, planted_news
from vennmf.errors import VennmfError
from vennmf.evaluation import hoyer_sparsity

WIDTH = 100
SEEDS = 5
EXACT = 0.5
"""Weight of the exact match: half and half reads well on texts."""


def demo(*, no_open: bool, offline: bool) -> None:
    """Tell the story, then say how to go on."""
    start = time.perf_counter()
    say("reading articles of two outlets; the first time they are fetched and vennmf compiles its kernels …")
    story = _story(offline)
    screen = _Screen()
    screen.title("What do two news outlets share, and what is theirs alone?")
    screen.text(story.about)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        views, model = _fitted(story, screen)
        _topics(story, model, screen)
        _search(story, model, views, screen)
        _clusters(story, model, views, screen)
    _farewell(screen, time.perf_counter() - start)


def _story(offline: bool) -> Story:
    if not offline:
        try:
            return news()
        except (VennmfError, OSError) as error:
            say(f"the articles cannot be had here: {' '.join(str(error).split())}")
    say("this is the same story on planted articles, not on real ones")
    return planted_news()


class _Screen:
    """A terminal of at most 100 columns; a pipe has no colour."""

    def __init__(self) -> None:
        import sys

        from rich.console import Console

        self.console = Console(highlight=False) if sys.stdout.isatty() else Console(highlight=False, color_system=None)
        self.console.width = min(self.console.width, WIDTH) if sys.stdout.isatty() else WIDTH

    def room(self, taken: int) -> int:
        """Characters left in a line when so many are taken."""
        return max(self.console.width - taken, 16)

    def title(self, text: str) -> None:
        self.console.print()
        self.console.print(f"[bold]{text}[/bold]")

    def step(self, number: int, text: str) -> None:
        self.console.print()
        self.console.rule(f"[bold]{number}. {text}[/bold]", align="left", style="dim")

    def text(self, text: str) -> None:
        from rich.padding import Padding

        self.console.print(Padding(text, (0, 0, 0, 2)))

    def table(self, columns: Sequence[tuple[str, dict[str, Any]]], rows: Sequence[Sequence[str]]) -> None:
        from rich import box
        from rich.markup import escape
        from rich.table import Table

        made = Table(box=box.SIMPLE_HEAD, pad_edge=True, expand=False)
        for name, options in columns:
            made.add_column(name, **options)
        for row in rows:
            made.add_row(*(escape(cell) for cell in row))
        self.console.print(made)


def _fitted(story: Story, screen: _Screen) -> tuple[Any, Any]:
    import vennmf

    views = vennmf.load_sources(dict(story.tables), **story.read)
    first, second = story.names
    own = story.n_components - story.n_shared
    estimator = vennmf.RJSNMF(story.n_components, story.n_shared, n_init=4, random_state=0)
    start = time.perf_counter()
    model = estimator.set_callbacks(vennmf.Progress()).fit(views)
    seconds = time.perf_counter() - start
    screen.step(1, "One model of both")
    screen.text(
        f"{views[first].shape[0]} articles of {story.titles[first]}, {views[second].shape[0]} of {story.titles[second]}, "
        f"{len(views[first].features):,} words. {story.n_shared} topics that both share and {own} of each alone, kept "
        f"apart: RJSNMF, the best of four starts, {seconds:.1f} s."
    )
    return views, model


def _topics(story: Story, model: Any, screen: _Screen) -> None:
    first, second = story.names
    sizes = topic_sizes(model, words=6)
    items = topic_items(model, top=1).set_index(["block", "topic", "source"])["item"]
    titles = {source: dict(zip(t["id"].astype(str), t["title"], strict=True)) for source, t in story.tables.items()}
    screen.step(2, "What both report")
    screen.text("How much of each outlet a topic carries, its words, and the article of each that it fits best.")
    shared = sizes[sizes["block"] == "shared"]
    wide = shared.pivot_table(index=["topic", "words"], columns="source", values="share", sort=False).reset_index()
    both = wide[[first, second]].min(axis=1) * hoyer_sparsity(model.components_["shared"])[wide["topic"]] ** 4
    wide = wide.iloc[np.argsort(-both.to_numpy(), kind="stable")]  # clear topics of both first, small talk last
    rows = []
    for row in wide.to_dict("records"):
        found = {s: str(titles[s].get(str(items.get(("shared", row["topic"], s))), "")) for s in story.names}
        said = "\n".join([row["words"], *(f"  {s}: {_cut(found[s], screen.room(26))}" for s in story.names)])
        rows.append((_percent(row[first]), _percent(row[second]), said))
    screen.table([(first, RIGHT), (second, RIGHT), ("topic", {})], rows)
    screen.step(3, "What only one of them does")
    columns = []
    for source in story.names:
        own = sizes[sizes["block"] == source].sort_values("share", ascending=False)
        columns.append(
            [
                f"{_percent(share):>4}  {_whole_words(words, screen.room(18) // 2)}"
                for share, words in zip(own["share"], own["words"], strict=True)
            ]
        )
    headings = [(f"only {story.titles[source]}", {"no_wrap": True}) for source in story.names]
    screen.table(headings, list(zip(*columns, strict=True)))


def _search(story: Story, model: Any, views: Any, screen: _Screen) -> None:
    screen.step(4, "A search, and why it found what it found")
    search = Retriever(model, views, exact=EXACT)
    for query in story.queries:
        hits = search(query, top=5)
        screen.text(f"search({query!r})")
        rows = [
            (f"{hit.score:.2f}", hit.source, _cut(str(hit.metadata.get("title", hit.item)), screen.room(47)), _why(hit))
            for hit in hits
        ]
        screen.table([("score", RIGHT), ("outlet", {}), ("article", WHOLE), ("carried by", WHOLE)], rows)
    first, second = story.names
    query = story.queries[0]
    hits = search(query, second, via=first, exact=0, top=3)
    screen.text(
        f"The same words read as {story.titles[first]} uses them, in {story.titles[second]}, by the shared part alone:"
    )
    screen.table(
        [("score", RIGHT), ("outlet", {}), ("article", {})],
        [
            (f"{hit.score:.2f}", hit.source, _cut(str(hit.metadata.get("title", hit.item)), screen.room(30)))
            for hit in hits
        ],
    )


def _why(hit: Any) -> str:
    if not hit.why:
        return "its own words"
    reason = hit.why[0]
    return f"{'shared' if reason.shared else 'own'}: {' '.join(reason.words[:2])}"


def _clusters(story: Story, model: Any, views: Any, screen: _Screen) -> None:
    screen.step(5, "Clusters, with and without the other outlet")
    source = story.names[0]
    table = views.metadata[source]
    labels = table[story.labels].astype(object).where(table[story.labels].notna(), "none").astype(str).to_numpy()
    k = len(set(labels))
    found = joint_cluster(model, k, sources=[source])
    rows = []
    for cluster, words in enumerate(found.words[source]):
        inside = labels[found[source] == cluster]
        if len(inside):
            names, counts = np.unique(inside, return_counts=True)
            main = names[counts.argmax()]
            rows.append(
                (
                    str(len(inside)),
                    _whole_words(" ".join(words), screen.room(40)),
                    f"{main} {counts.max() / len(inside):.0%}",
                )
            )
    rows.sort(key=lambda row: -int(row[0]))
    screen.text(f"{story.titles[source][0].upper()}{story.titles[source][1:]}, {k} clusters, beside its own sections:")
    screen.table([("articles", RIGHT), ("about", {}), ("largest section", {})], rows)
    alone, joint = _against_sections(story, views, source, labels, k)
    verdict = _verdict(alone, joint)
    screen.text(
        f"NMI with the sections, mean of {SEEDS} seeds: {alone.mean():.3f} ± {alone.std():.3f} from {source} alone, "
        f"{joint.mean():.3f} ± {joint.std():.3f} with {story.names[1]}. Here the other outlet {verdict}."
    )


def _verdict(alone: Any, joint: Any) -> str:
    """Whether the difference of two means is more than twice its standard error."""
    error = np.sqrt((alone.var(ddof=1) + joint.var(ddof=1)) / len(alone)) if len(alone) > 1 else np.inf
    difference = joint.mean() - alone.mean()
    if abs(difference) <= 2 * error:
        return "neither helps nor hurts: the difference is within what seeds do"
    return "helps" if difference > 0 else "hurts"


def _against_sections(story: Story, views: Any, source: str, labels: Any, k: int) -> tuple[Any, Any]:
    """NMI of clusters and sections at several seeds, from the source alone and from both."""
    import vennmf
    from vennmf.evaluation import nmi

    alone: list[float] = []
    joint: list[float] = []
    for seed in range(SEEDS):
        single = vennmf.NMF(story.n_components, random_state=seed).fit({source: views[source].X})
        both = vennmf.RJSNMF(story.n_components, story.n_shared, random_state=seed).fit(views)
        for model, scores in ((single, alone), (both, joint)):
            scores.append(nmi(labels, joint_cluster(model, k, sources=[source], random_state=seed)[source]))
    return np.array(alone), np.array(joint)


def _farewell(screen: _Screen, seconds: float) -> None:
    vennmf = _command()
    screen.step(6, "Now yours")
    screen.text(
        "Two or more files with a column of text or of tags are enough. The first line looks at them and writes a "
        "recipe; the second fits it:"
    )
    screen.console.print()
    screen.text(
        f"{vennmf} fit mine.toml --init -s a=a.csv -s b=b.jsonl\n"
        f"{vennmf} fit mine.toml\n"
        f"{vennmf} topics a-b.venn\n"
        f'{vennmf} search a-b.venn "some words"\n'
        f"{vennmf} report a-b.venn -o a-b.html"
    )
    screen.console.print()
    screen.text(f"[dim]The story took {seconds:.0f} s. {vennmf} --help names the rest; docs/ explains it.[/dim]")


def _command() -> str:
    """How the command is called from here: by its name, or by its path where the shell would not find it."""
    import os
    import shutil
    import sys
    from pathlib import Path

    asked = Path(sys.argv[0])
    if asked.name != "vennmf" or shutil.which("vennmf"):
        return "vennmf"
    return os.path.relpath(asked) if asked.is_relative_to(Path.cwd()) or not asked.is_absolute() else str(asked)


WHOLE = {"no_wrap": True}
RIGHT = {"justify": "right", "no_wrap": True}


def _percent(share: float) -> str:
    return f"{share:.0%}"


def _whole_words(text: str, width: int) -> str:
    """As many words as there is room for."""
    words = text.split()
    while len(words) > 1 and len(" ".join(words)) > width:
        words.pop()
    return " ".join(words)


def _cut(text: str, width: int) -> str:
    text = " ".join(text.split())
    return text if len(text) <= width else text[: width - 1] + "…"
