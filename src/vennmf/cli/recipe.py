"""A recipe: which files, how they are read, what is fitted. As TOML, or from flags."""

from __future__ import annotations

import inspect
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from vennmf.errors import ParameterError, SourceError

METHODS = ("RJSNMF", "JSNMF", "NMF", "VennNMF")
ELSEWHERE = ("PJMF", "MCL", "N2S2L")
"""Methods for views of the same items, with features or labels that no recipe names."""


@dataclass(frozen=True)
class Recipe:
    """What ``vennmf fit`` needs to know. ``read`` goes to ``load_sources``, ``model`` to the method."""

    sources: Mapping[str, str]
    read: Mapping[str, Any] = field(default_factory=dict)
    method: str = "RJSNMF"
    model: Mapping[str, Any] = field(default_factory=dict)
    output: str | None = None

    def load(self) -> Any:
        """The sources, read and weighted."""
        from vennmf.matrices.build import load_sources

        _known(self.read, _names_of(load_sources), "[read]")
        return load_sources(dict(self.sources), **self.read)

    def estimator(self) -> Any:
        """The method with its parameters, not fitted."""
        import vennmf

        if self.method in ELSEWHERE:
            raise ParameterError(
                f"method {self.method!r} is fitted from Python; the command fits {', '.join(METHODS)}."
            )
        if self.method not in METHODS:
            raise ParameterError(_unknown("method", self.method, METHODS))
        cls = getattr(vennmf, self.method)
        parameters = dict(self.model)
        _known(parameters, _names_of(cls), "[model]")
        if "blocks" in parameters:
            parameters["blocks"] = _blocks(parameters["blocks"])
        made = cls(**parameters)
        made.check(tuple(self.sources))
        return made


def _blocks(given: Any) -> dict[str | tuple[str, ...], int]:
    """``"bbc&cnn" = 10`` as the block of a tuple of sources."""
    if not isinstance(given, Mapping):
        raise ParameterError(
            f'[model]: blocks = {given!r}; expected a table of sizes, such as {{ all = 20, "bbc&cnn" = 10, bbc = 8 }}.'
        )
    return {tuple(key.split("&")) if "&" in key else key: size for key, size in given.items()}


def read_recipe(path: Path) -> Recipe:
    """A recipe from TOML; paths in it are taken from the folder it lies in."""
    try:
        given = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise SourceError(
            f"there is no recipe {path}; write one with: vennmf fit {path} --init --source NAME=FILE"
        ) from None
    except IsADirectoryError:
        raise SourceError(f"recipe {path} is a folder; name a file in it.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SourceError(f"recipe {path} is no TOML: {error}. See vennmf fit --help for an example.") from None
    _known(given, ("sources", "read", "model", "method", "output"), f"recipe {path.name}")
    for section in ("sources", "read", "model"):
        if not isinstance(given.get(section, {}), dict):
            raise SourceError(f"recipe {path.name}: {section!r} must be a table, [{section}].")
    sources = given.get("sources", {})
    if not sources:
        raise SourceError(f'recipe {path.name} names no sources; add [sources] with lines such as bbc = "bbc.jsonl".')
    for name, place in sources.items():
        if not isinstance(place, str):
            raise SourceError(f"recipe {path.name}: source {name!r} must be the path of a file; found {place!r}.")
    placed = {name: _beside(path, place) for name, place in sources.items()}
    output = _beside(path, str(given["output"])) if "output" in given else None
    return Recipe(placed, given.get("read", {}), str(given.get("method", "RJSNMF")), given.get("model", {}), output)


def _beside(recipe: Path, place: str) -> str:
    return place if "://" in place or Path(place).is_absolute() else str(recipe.parent / place)


def named_values(given: Iterable[str], option: str) -> dict[str, str]:
    """``bbc=bbc.jsonl`` and the like as a dict."""
    made: dict[str, str] = {}
    for part in given:
        name, equals, value = part.partition("=")
        if not (name and equals and value):
            raise ParameterError(f"{option} {part!r} is not NAME=VALUE; such as {option} bbc=bbc.jsonl")
        if name in made:
            raise ParameterError(f"{option} names {name!r} twice; every source needs a name of its own.")
        made[name] = value
    return made


def sizes(text: str, option: str = "--n-components") -> int | dict[str, int]:
    """``50``, or ``bbc=50,cnn=60``."""
    try:
        if "=" not in text:
            return int(text)
        return {name: int(value) for name, value in named_values(text.split(","), option).items()}
    except ValueError as error:
        if isinstance(error, ParameterError):
            raise
        raise ParameterError(f"{option} {text!r} is no number and no list such as bbc=50,cnn=60.") from None


def _names_of(function: Any) -> tuple[str, ...]:
    return tuple(name for name in inspect.signature(function).parameters if name not in ("self", "sources"))


def _known(given: Iterable[str], known: Iterable[str], where: str) -> None:
    for name in given:
        if name not in known:
            raise ParameterError(_unknown(f"{where}: key", name, known))


def _unknown(what: str, name: str, known: Iterable[str]) -> str:
    from difflib import get_close_matches

    listed = list(known)
    near = [k for k in listed if k.lower() == name.lower()] or get_close_matches(name, listed, n=1)
    hint = f"did you mean {near[0]!r}?" if near else f"expected one of {', '.join(listed)}."
    return f"{what} {name!r} is unknown; {hint}"
