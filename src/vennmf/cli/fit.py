"""``vennmf fit``: a recipe or flags, a look, a forecast, a fit."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from vennmf.cli.messages import say
from vennmf.cli.output import Form, show
from vennmf.cli.recipe import Recipe, named_values, read_recipe, sizes
from vennmf.errors import ParameterError, SourceError, StorageError

if TYPE_CHECKING:
    import pandas as pd

PROBE = 4
"""Iterations that a forecast runs."""


@dataclass(frozen=True)
class Flags:
    """What stood on the command line."""

    recipe: Path | None
    sources: Sequence[str]
    output: Path | None
    method: str | None
    read: Mapping[str, Any]
    model: Mapping[str, Any]
    force: bool

    def merged(self) -> Recipe:
        """The recipe with the flags over it."""
        base = read_recipe(self.recipe) if self.recipe else Recipe({})
        sources = {**base.sources, **named_values(self.sources, "--source")}
        if not sources:
            raise ParameterError("no sources were given; pass a recipe, or --source NAME=FILE for each source.")
        read = {**base.read, **{name: value for name, value in self.read.items() if value is not None}}
        if str(read.get("stop_words", "english")) != "english" and isinstance(read["stop_words"], str):
            read["stop_words"] = _words_of(Path(read["stop_words"]))
        model = {**base.model, **{name: value for name, value in self.model.items() if value is not None}}
        if isinstance(model.get("n_components"), str):
            model["n_components"] = sizes(model["n_components"])
        output = str(self.output) if self.output else base.output
        return replace(base, sources=sources, read=read, model=model, output=output, method=self.method or base.method)


def _words_of(path: Path) -> list[str]:
    if not path.is_file():
        raise SourceError(f"there is no file of stop words {path}; pass english, or a file with a word a line.")
    try:
        return path.read_text(encoding="utf-8").split()
    except UnicodeDecodeError as error:
        raise SourceError(
            f"the file of stop words {path} is not UTF-8 (byte {error.start:,}); save it as UTF-8."
        ) from None


def reading(
    text: str | None,
    tags: str | None,
    item: str | None,
    weight: str | None,
    split_tags: str | None,
    min_count: int | None,
    stop_words: str | None,
    drop_repeated: int | None,
) -> dict[str, Any]:
    """The flags that say how files are read, by their names in ``load_sources``."""
    return {
        "text": text,
        "tags": tags,
        "item": item,
        "weight": weight,
        "split_tags": split_tags,
        "min_count": min_count,
        "stop_words": stop_words,
        "drop_repeated": drop_repeated,
    }


def write_recipe(flags: Flags) -> None:
    """A commented recipe from a look at the files, to the file named or to stdout."""
    from vennmf.cli.look import look, recipe_text
    from vennmf.estimators.storage import write_atomically

    sources = named_values(flags.sources, "--source")
    if not sources:
        raise ParameterError("--init looks at files; pass --source NAME=FILE for each source.")
    looks = {name: look(name, place) for name, place in sources.items()}
    if flags.recipe is None:
        typer.echo(recipe_text(sources, looks), nl=False)
        return
    writable(flags.recipe, flags.force)
    folder = flags.recipe.parent
    placed = {
        name: p if "://" in p or Path(p).is_absolute() else os.path.relpath(p, folder) for name, p in sources.items()
    }
    text = recipe_text(placed, looks)
    write_atomically(flags.recipe, text.encode())
    say(f"wrote {flags.recipe}; look it over, then: vennmf fit {flags.recipe}")


def fit(flags: Flags, form: Form) -> None:
    """Read, fit, save, and show what each block carries."""
    import vennmf

    recipe = flags.merged()
    if recipe.output is None:
        raise ParameterError("where shall the model go? Pass -o FILE.venn, or output in the recipe.")
    output = Path(recipe.output)
    writable(output, flags.force)
    estimator = recipe.estimator()
    views = load(recipe)
    start = time.perf_counter()
    fitted = estimator.set_callbacks(vennmf.Progress()).fit(views)
    fitted.save(output)
    seconds = time.perf_counter() - start
    say(f"{fitted.stop_reason_} after {fitted.n_iter_} iterations, {seconds:.1f} s; saved {output}")
    if fitted.stop_reason_ == "interrupted":
        say(f"interrupted: the best model met so far is in {output}")
        raise SystemExit(130)
    show(report(fitted), form, "What each block carries")
    if form is Form.TABLE:
        say(f"next: vennmf topics {output}")


def report(model: Any) -> pd.DataFrame:
    """Share of each source's energy that is explained, in all and by block."""
    import pandas as pd

    rows: dict[str, dict[str, Any]] = {}
    for measure, first, second, value in model.sharing_:
        if measure in ("explained", "energy"):
            rows.setdefault(first, {})["explained" if measure == "explained" else f"by {_block(second, first)}"] = value
    table = pd.DataFrame.from_dict(rows, orient="index").rename_axis("source").reset_index()
    table.insert(1, "items", [len(model.encodings_[source]) for source in table["source"]])
    return table


def _block(name: str, source: str) -> str:
    return "its own" if name == source else name


def forecast(flags: Flags, form: Form) -> None:
    """Time and memory from the sizes of the data and a few iterations."""
    import pandas as pd

    recipe = flags.merged()
    estimator = recipe.estimator()
    views = load(recipe)
    n_features = len(next(iter(views.values())).features)
    seconds, n_columns = _probe(estimator, views)
    n_items = {name: view.shape[0] for name, view in views.items()}
    width = views.dtype.itemsize
    factors = width * (n_features * sum(n_columns["blocks"].values()) + sum(n_items[s] * n_columns[s] for s in n_items))
    table = pd.DataFrame(
        [
            ("items", sum(n_items.values()), ""),
            ("words", n_features, ""),
            ("nonzeros", sum(view.nnz for view in views.values()), ""),
            ("data", views.nbytes / 2**20, "MiB"),
            ("factors", factors / 2**20, "MiB"),
            ("memory of the fit", (views.nbytes + 4 * factors) / 2**20, "MiB"),
            ("an iteration", seconds, "s"),
            (
                f"at most {estimator.max_iter * estimator.n_init} iterations",
                seconds * estimator.max_iter * estimator.n_init,
                "s",
            ),
        ],
        columns=["what", "value", "unit"],
        dtype=object,
    )
    show(table, form, "Forecast; nothing was fitted or written")


def _probe(estimator: Any, views: Any) -> tuple[float, dict[str, Any]]:
    """Seconds of an iteration, and the columns of each source and block."""
    import warnings

    from sklearn.base import clone

    probe = clone(estimator).set_params(max_iter=PROBE, tol=0, n_init=1)
    if hasattr(probe, "min_change"):
        probe.set_params(min_change=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = probe.fit(views)
        fitted = probe.fit(views)  # the first compiles
    seconds = fitted.history_["seconds"]
    blocks = {block.name: block.size for block in fitted.blocks_}
    columns = {source: H.shape[1] for source, H in fitted.encodings_.items()}
    return float((seconds[-1] - seconds[0]) / max(len(seconds) - 1, 1)), {"blocks": blocks, **columns}


def load(recipe: Recipe) -> Any:
    """The sources of a recipe, with their sizes on stderr."""
    views = recipe.load()
    for name, view in views.items():
        say(f"{name}: {view.shape[0]:,} items, {view.nnz:,} entries")
    say(f"{len(next(iter(views.values())).features):,} words in common vocabulary")
    return views


def writable(path: Path, force: bool) -> None:
    """Refuse before any work what could not be written after it."""
    if path.is_dir():
        raise StorageError(f"{path} is a folder; name a file in it.")
    if not path.parent.is_dir():
        raise StorageError(f"there is no folder {path.parent}; make it, or name another.")
    if path.exists() and not force:
        raise StorageError(f"{path} exists; pass --force to overwrite it.")
