"""A first look at a person's files, and the recipe that it suggests."""

from __future__ import annotations

import glob
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vennmf.cli.tables import read_table
from vennmf.errors import SourceError
from vennmf.sources.read import DATABASES

TEXT_LENGTH = 80
"""Characters that a column of running text has on average, at least."""

PROBE = 500
JOINTS = (" ", ",", ";", "|")


@dataclass(frozen=True)
class Look:
    """What the columns of a file seem to be."""

    names: tuple[str, ...] = ()
    item: str | None = None
    text: str | None = None
    tags: str | None = None
    split_tags: str | None = None


def look(source: str, place: str) -> Look:
    """Guess the columns of a table file from its first rows; folders of texts and databases have nothing to guess."""
    path = Path(next(iter(sorted(glob.glob(place))), place).partition("::")[0])
    if "://" in place or path.is_dir() or path.suffix in DATABASES:
        return Look()
    try:
        table = read_table(path, PROBE)
    except SourceError as error:
        raise SourceError(f"source {source!r}: {error}") from None
    if table.empty:
        raise SourceError(f"source {source!r}: {path.name} has columns and no rows; there is nothing to read.")
    return _guess(table)


def _guess(table: Any) -> Look:
    names = [str(name) for name in table.columns]
    lists = [name for name in names if _holds_lists(table[name])]
    texts = {name: table[name].dropna().astype(str).str.len().mean() for name in names if name not in lists}
    item = next((n for n in names if n.lower() in ("id", "item", "key", "url", "name") and table[n].is_unique), None)
    long = [name for name, length in texts.items() if length >= TEXT_LENGTH and name != item]
    named = [name for name in names if name.lower() in ("tags", "keywords", "hashtags", "topics")]
    if lists or named:
        tags = next((name for name in named if name in lists), (named or lists)[0])
        return Look(tuple(names), item, None, tags, None if tags in lists else _joint(table[tags]))
    if long:
        text = max(long, key=lambda name: (name.lower() in ("text", "body", "content"), texts[name]))
        return Look(tuple(names), item, text)
    return Look(tuple(names), item)


def _holds_lists(column: Any) -> bool:
    values = column.dropna()
    return len(values) > 0 and all(hasattr(v, "__len__") and not isinstance(v, str | bytes) for v in values.head(20))


def _joint(column: Any) -> str:
    text = "".join(column.dropna().astype(str).head(100))
    return max(JOINTS[1:], key=text.count) if any(joint in text for joint in JOINTS[1:]) else " "


def recipe_text(sources: Mapping[str, str], looks: Mapping[str, Look]) -> str:
    """A commented recipe for these files."""
    first = next((one for one in looks.values() if one.text or one.tags), Look())
    what = '# text = "text"'
    if first.text or first.tags:
        what = f"text = {_quoted(first.text)}" if first.text else f"tags = {_quoted(str(first.tags))}"
    rare = 3 if first.text or not first.tags else 5
    lines = [
        "# What is fitted, and on which files. Run it with: vennmf fit THIS.toml",
        'method = "RJSNMF"              # or JSNMF, NMF, VennNMF',
        f'output = "{"-".join(sources)}.venn"',
        "",
        "[sources]                       # paths are taken from the folder of this file",
        *(f"{_key(name)} = {_quoted(place)}" for name, place in sources.items()),
        "",
        "[read]                          # any parameter of vennmf.load_sources",
        *(f"# {name} has the columns: {_one_line(', '.join(one.names))}" for name, one in looks.items() if one.names),
        *(f"# {_one_line(line)}" for line in disagreements(looks)),
        f"{what:<32}# running text; tags = ... for lists of tags",
    ]
    if first.split_tags:
        lines.append(f"split_tags = {_quoted(first.split_tags)}")
    lines.append(
        f"item = {_quoted(first.item)}" if first.item else '# item = "id"                   # the column of ids'
    )
    lines.append(f"min_count = {rare:<20}# items of one source that must have a word")
    lines.append('stop_words = "english"' if first.text else '# stop_words = "english"')
    if first.text:
        lines.append("drop_repeated = 10              # leave out sentences that so many items have: boilerplate")
    lines += [
        "",
        "[model]                         # any parameter of the method",
        f"n_components = {{ {', '.join(f'{_key(name)} = 20' for name in sources)} }}   # topics of each source in all",
        "n_shared = 10                   # of which all sources share so many",
        "# orthogonality = 100           # how strictly shared and private topics are kept apart; 0 is JSNMF",
        "n_init = 4                      # starts; the best one is kept",
        "random_state = 0",
        "",
    ]
    return "\n".join(lines)


def disagreements(looks: Mapping[str, Look]) -> list[str]:
    """Which sources lack the columns that the recipe names: all sources are read by the same names."""
    first = next((one for one in looks.values() if one.text or one.tags), Look())
    wanted = [name for name in (first.text or first.tags, first.item) if name]
    return [
        f"{source} has no column {column!r}: rename its own, or this one"
        for source, one in looks.items()
        for column in wanted
        if one.names and column not in one.names
    ]


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _key(name: str) -> str:
    return name if name.replace("_", "").replace("-", "").isalnum() and name.isascii() else _quoted(name)


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)  # a basic string of TOML is one of JSON, but for DEL
