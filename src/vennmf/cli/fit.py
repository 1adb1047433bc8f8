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
    from vennmf.cli.look import disagreements, look, recipe_text
    from vennmf.estimators.storage import write_atomically

    sources = named_values(flags.sources, "--source")
    if not sources:
        raise ParameterError("--init looks at files; pass --source NAME=FILE for each source.")
    looks = {name: look(name, place) for name, place in sources.items()}
    for line in disagreements(looks):
        say(f"warning: {line}; all sources are read by the same names")
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
    say(f"{fitted.stop_reason_.replace('_', ' ')} after {fitted.n_iter_} iterations, {seconds:.1f} s; saved {output}")
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
