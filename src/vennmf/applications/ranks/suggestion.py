"""What a search for ranks answers: numbers, curves, and a sentence that says why."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class RankSuggestion:
    """Components by source and how many of them all sources share.

    Attributes
    ----------
    n_components : dict of source to int
        Components of each source in all, shared ones among them.
    n_shared : int
        Components that all sources share.
    why : str
        A plain account of the choice.
    curves : DataFrame
        ``curve`` (a source, or ``"shared"``), ``source``, ``rank``, ``error`` (share of the held-out energy that is not
        predicted), ``standard_error``, ``agreement`` (mean cosine of the components that different folds found).
    rules : DataFrame
        ``rule``, ``of``, ``value``: what the papers' rules say; empty where they were not asked for.
    rule_curves : DataFrame
        ``of``, ``rank``, ``error``, ``change``: NMF's squared error and Δ_k by which the papers choose.
    orthogonality : DataFrame
        ``a``, ``fit``, ``penalty``, ``objective`` of RJSNMF at these ranks; empty unless asked for.
    has_levelled : dict of source to bool
        Whether larger ranks ceased to predict more within the ranks tried. Where not, the rank is the curve's bend.
    """

    n_components: Mapping[str, int]
    n_shared: int
    why: str
    curves: pd.DataFrame = field(repr=False)
    rules: pd.DataFrame = field(repr=False)
    rule_curves: pd.DataFrame = field(repr=False)
    orthogonality: pd.DataFrame = field(repr=False)
    has_levelled: Mapping[str, bool] = field(repr=False)

    @property
    def n_private(self) -> dict[str, int]:
        """Components by source that no other source has."""
        return {source: size - self.n_shared for source, size in self.n_components.items()}

    @property
    def parameters(self) -> dict[str, Any]:
        """What an estimator takes: ``vennmf.RJSNMF(**suggestion.parameters)``."""
        return {"n_components": dict(self.n_components), "n_shared": self.n_shared}

    def table(self) -> pd.DataFrame:
        """One row for each way to choose, one column for each source's components and for the shared ones."""
        import pandas as pd

        columns = [*self.n_components, "shared"]
        rows: dict[str, dict[str, Any]] = {"held-out entries": {**self.n_components, "shared": self.n_shared}}
        for rule, of, value in self.rules.itertuples(index=False):
            where = of if of in self.n_components else "shared"
            row = rows.setdefault(str(rule), {})
            row[where] = min(row.get(where, value), value)
        return pd.DataFrame.from_dict(rows, orient="index", columns=columns).astype("Int64")

    def plot(self, ax: Any = None) -> Any:
        """The curves and the choice; returns the Axes. See :func:`vennmf.plots.rank_curves`."""
        plots = import_module("vennmf.plots")  # a room above this one: only for those who ask for a picture
        return plots.rank_curves(self, ax=ax)

    def __repr__(self) -> str:
        sizes = ", ".join(f"{source}={size}" for source, size in self.n_components.items())
        return f"RankSuggestion({sizes}, n_shared={self.n_shared})"

    def __str__(self) -> str:
        return f"{self.table().to_string(na_rep='')}\n\n{self.why}"

    def _repr_html_(self) -> str:
        from html import escape

        return f"{self.table().to_html(na_rep='')}<p>{escape(self.why)}</p>"
