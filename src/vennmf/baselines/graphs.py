"""Labels that spread along a graph: harmonic Gaussian fields, with and without class mass normalisation.

Local and global consistency (Zhou et al., 2003) is scikit-learn's ``LabelSpreading``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as spla
from sklearn.base import BaseEstimator

from vennmf.errors import ParameterError
from vennmf.estimators.labels import class_numbers
from vennmf.matrices.graphs import checked_graph, neighbour_graph


@dataclass(eq=False, repr=False)
class HarmonicFields(BaseEstimator):  # type: ignore[misc]
    r"""Gaussian fields and harmonic functions (Zhu et al., ICML 2003).

    .. math:: L_{uu} f_u = W_{ul} Y_l, \qquad L = D - W

    on a heat-kernel graph of nearest neighbours or a given one. ``class_mass`` scales the classes' masses to their shares
    among the labelled items: class mass normalisation. Items that no labelled item reaches get those shares.
    """

    n_neighbors: int = 7
    class_mass: bool = field(default=False, kw_only=True)
    graph: Any = field(default=None, kw_only=True)

    def fit(self, X: Any, y: Any) -> Self:
        """Spread the labels ``y``, -1 where unknown, over all items."""
        n = X.shape[0]
        numbers, self.classes_ = class_numbers(y, n)
        known = numbers >= 0
        if not known.any():
            raise ParameterError("no item has a label; at least one is needed to spread.")
        W = (
            neighbour_graph(X, self.n_neighbors, heat=True)
            if self.graph is None
            else checked_graph(self.graph, n, "graph")
        )
        shares = np.bincount(numbers[known], minlength=len(self.classes_)) / known.sum()
        F = np.zeros((n, len(self.classes_)))
        F[known, numbers[known]] = 1
        reached = _reached(W, known)
        open_ = reached & ~known
        if open_.any():
            degrees = np.asarray(W.sum(axis=1)).ravel()
            L = sp.csc_array(sp.diags_array(degrees[open_]) - W[open_][:, open_])
            F[open_] = spla.splu(L).solve(np.asarray(W[open_][:, known] @ F[known]))
            if self.class_mass:
                F[open_] *= shares / np.maximum(F[open_].sum(axis=0), 1e-300)
        F[~reached] = shares
        self.label_distributions_ = F / F.sum(axis=1, keepdims=True)
        self.transduction_ = self.classes_[np.argmax(self.label_distributions_, axis=1)]
        return self


def _reached(W: Any, known: Any) -> Any:
    """Items in a connected component with a labelled item."""
    _, component = sp.csgraph.connected_components(W, directed=False)
    return np.isin(component, np.unique(component[known]))
