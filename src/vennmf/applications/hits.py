"""What a search gives: hits with their reasons, and words on what could not be understood."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, overload

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True)
class Reason:
    """A topic that carried a hit, and its part of the latent score; parts of all topics add up to 1."""

    block: str
    topic: int
    shared: bool
    share: float
    words: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.share:.0%} {self.block}: {' '.join(self.words)}"


@dataclass(frozen=True, slots=True)
class Hit:
    """One item found.

    ``score`` is ``(1 - w) * latent + w * exact`` with the weight w of the exact match. ``shared`` says how much of the
    latent score came through topics that other sources have too. ``matched`` are the words of the query that the item
    itself has.
    """

    source: str
    item: str
    position: int
    score: float
    latent: float
    exact: float | None
    shared: float
    why: tuple[Reason, ...]
    matched: tuple[str, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        name = next((str(self.metadata[key]) for key in ("title", "name") if self.metadata.get(key)), self.item)
        return f"{self.score:.3f}  {self.source}  {name}  ({'; '.join(map(str, self.why))})"


class Hits(Sequence[Hit]):
    """The hits of one query, best first, and what was made of its words."""

    def __init__(
        self,
        hits: Sequence[Hit],
        *,
        query: str = "",
        words: Mapping[str, Sequence[str]] | None = None,
        unknown: Mapping[str, Sequence[str]] | None = None,
        message: str = "",
    ) -> None:
        self._hits = tuple(hits)
        self.query = query
        self.words = {word: tuple(entries) for word, entries in (words or {}).items()}
        """Each known word of the query and the vocabulary entries that it stands for."""
        self.unknown = {word: tuple(near) for word, near in (unknown or {}).items()}
        """Each unknown word of the query and known words that are spelt like it."""
        self.message = message
        """One line on unknown words, or on why nothing was found; empty when all is well."""

    @overload
    def __getitem__(self, at: int) -> Hit: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[Hit, ...]: ...
    def __getitem__(self, at: int | slice) -> Hit | tuple[Hit, ...]:
        return self._hits[at]

    def __len__(self) -> int:
        return len(self._hits)

    def to_dicts(self) -> list[dict[str, Any]]:
        """Plain dicts and lists, for JSON."""
        return [asdict(hit) for hit in self._hits]

    def to_frame(self) -> pd.DataFrame:
        """One row for each hit; the metadata's columns stand beside."""
        import pandas as pd

        rows = []
        for rank, hit in enumerate(self._hits, start=1):
            row: dict[str, Any] = {"rank": rank, "source": hit.source, "item": hit.item, "score": hit.score}
            row |= {"latent": hit.latent, "exact": hit.exact, "shared": hit.shared}
            row["why"] = "; ".join(map(str, hit.why))
            rows.append(row | {key: value for key, value in hit.metadata.items() if key not in row})
        if not rows:
            return pd.DataFrame(columns=["rank", "source", "item", "score", "latent", "exact", "shared", "why"])
        return pd.DataFrame(rows)

    def _repr_html_(self) -> str:
        from html import escape

        return f"{self.to_frame().to_html(index=False, float_format=lambda value: f'{value:.3f}')}<p>{escape(self.message)}</p>"

    def __repr__(self) -> str:
        lines = [f"{len(self._hits)} hits for {self.query!r}"] + [str(hit) for hit in self._hits]
        return "\n".join(lines + ([self.message] if self.message else []))
