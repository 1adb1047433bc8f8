"""Joint factorisation of several sources: NMF, JSNMF, RJSNMF and any other sharing pattern."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import Any, ClassVar, Literal

from sklearn.utils._param_validation import Interval, StrOptions

from vennmf.estimators.base import FactorModel
from vennmf.estimators.joint_base import JointModel
from vennmf.model import Block, Penalty, sharing_pattern
from vennmf.model.penalties import MutuallyOrthogonal
from vennmf.model.presets import shared_and_private


@dataclass(eq=False, repr=False)
class VennNMF(JointModel):
    r"""Nonnegative factors of several sources, in blocks that belong to any sets of sources.

    .. math:: \min_{H, B \ge 0} \sum_v \tfrac{w_v}{2} \Bigl\lVert X_v - \sum_{b \ni v} H_{v,b} B_b^\top \Bigr\rVert_F^2
        + \text{penalties}, \qquad \lVert B_{:,j} \rVert = 1

    Parameters
    ----------
    blocks : dict, default=None
        Number of components of each block. A key is ``"all"``, a source's name or a tuple of names:
        ``{"all": 20, ("bbc", "cnn"): 10, "bbc": 8}``. None: two components that all sources share.
    penalties : sequence of penalties, default=()
        Such as ``vennmf.MutuallyOrthogonal(100)`` or ``vennmf.L1(0.1, on="encodings")``.
    weights : dict of str to float, default=None
        Weight w_v of each source; 1 / ‖X_v‖² for those not named.
    shared : {"features", "items"}, default="features"
        What the matrices have in common: their columns (the words of several collections) or their rows (several
        descriptions of the same items).
    solver : {"cd", "mu"}, default="cd"
        Coordinate descent with warm start and extrapolation, or the multiplicative rules as the papers print them.
    init : {"random", "means", "nndsvd"} or dict, default="random"
        Starting factors; a dict gives one tall array for each axis.
    n_init : int, default=1
        Number of different starts, of which the best is kept.
    max_iter, tol, min_change, time_limit
        Stop after so many iterations; when the norm of the projected gradient falls under ``tol`` times that of the first steps; when five
        steps together lower the objective by less than five times ``min_change`` of itself; after so many seconds. The twenty
        steps without orthogonality that a model with such a penalty begins with are not counted, but their seconds are.
    random_state : int, RandomState or None
        Seed of everything random; the same seed gives the same bits at any number of threads.
    n_threads : int, default=None
        Threads of the kernels; None for all available cores.

    Attributes
    ----------
    components_ : dict of str to ndarray (size, n_features)
        The basis by block, rows of unit norm. With ``shared="items"``: by view, all components of that view.
    encodings_ : dict of str to ndarray (n_items, n_components of the source)
        The items of each source, columns of wider shared blocks first. With ``shared="items"``: by block.
    blocks_, sources_, weights_, model_
        What was minimised; ``print(model_)`` states it, ``model_.latex()`` typesets it.
    history_ : dict of equally long arrays
        iteration, seconds, objective, fit, each penalty, violation.
    feature_names_, feature_ids_
        Names of the features, None where the data had none; the same with positions in place of names.
    n_iter_, stop_reason_, objective_, violation_, dead_components_
        How the fit went. ``stop_reason_`` is one of converged, small_change, max_iter, time_limit, callback, interrupted,
        no_decrease.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **FactorModel._parameter_constraints,
        "blocks": [dict, None],
        "penalties": ["array-like"],
        "weights": [dict, None],
        "shared": [StrOptions({"features", "items"})],
    }

    blocks: Mapping[str | tuple[str, ...], int] | None = None
    penalties: Sequence[Penalty] = field(default=(), kw_only=True)
    shared: str = field(default="features", kw_only=True)

    def _sharing(self) -> Literal["features", "items"]:
        return "items" if self.shared == "items" else "features"

    def _blocks(self, names: tuple[str, ...]) -> tuple[Block, ...]:
        return sharing_pattern({"all": 2} if self.blocks is None else self.blocks, names)

    def _penalties(self) -> tuple[Penalty, ...]:
        return tuple(self.penalties)


@dataclass(eq=False, repr=False)
class NMF(JointModel):
    r"""Plain nonnegative matrix factorisation, of one matrix or of several sources that share everything.

    .. math:: \min_{H, B \ge 0} \tfrac12 \sum_v w_v \lVert X_v - H_v B^\top \rVert_F^2
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **FactorModel._parameter_constraints,
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "penalties": ["array-like"],
        "weights": [dict, None],
    }

    n_components: int = 2
    penalties: Sequence[Penalty] = field(default=(), kw_only=True)

    def _blocks(self, names: tuple[str, ...]) -> tuple[Block, ...]:
        return sharing_pattern({"all" if "shared" in names else "shared": self.n_components}, names)

    def _penalties(self) -> tuple[Penalty, ...]:
        return tuple(self.penalties)


@dataclass(eq=False, repr=False)
class JSNMF(JointModel):
    r"""Joint shared NMF (Gupta et al., KDD 2010): a subspace that all sources share and one of each source alone.

    .. math:: \min_{H, B \ge 0} \tfrac12 \sum_v w_v \lVert X_v - H_v [W \,|\, U_v]^\top \rVert_F^2, \qquad
        w_v = 1 / \lVert X_v \rVert_F^2

    The value is half of that printed in the paper. ``n_components`` is R, the components of each source in all, or a dict of
    them by source; ``n_shared`` is K, how many of these all sources share, None for half of the smallest. All other
    parameters and the attributes are those of :class:`VennNMF`; the shared block is called ``"shared"`` and a private
    one by its source.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **FactorModel._parameter_constraints,
        "n_components": [Interval(Integral, 1, None, closed="left"), dict],
        "n_shared": [Interval(Integral, 0, None, closed="left"), None],
        "weights": [dict, None],
    }

    n_components: int | Mapping[str, int] = 2
    n_shared: int | None = None

    def _blocks(self, names: tuple[str, ...]) -> tuple[Block, ...]:
        return shared_and_private(names, self.n_components, self.n_shared)


@dataclass(eq=False, repr=False)
class RJSNMF(JSNMF):
    r"""Regularised joint shared NMF (Gupta et al., DMKD 2011): JSNMF with mutually orthogonal subspaces.

    .. math:: \min_{H, B \ge 0} \tfrac12 \sum_v w_v \lVert X_v - H_v [W \,|\, U_v]^\top \rVert_F^2
        + \tfrac12 \sum_{s<t} \tfrac{a}{K_s K_t} \lVert B_s^\top B_t \rVert_F^2

    over the shared and the private bases B_s, columns of unit norm. ``orthogonality`` is a, 100 as in the paper; 0 is JSNMF.
    Where the true parts of different blocks overlap, a large a bends them: see the page on orthogonality.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **JSNMF._parameter_constraints,
        "orthogonality": [Interval(Real, 0, None, closed="left")],
    }

    orthogonality: float = field(default=100.0, kw_only=True)

    def _penalties(self) -> tuple[Penalty, ...]:
        return (MutuallyOrthogonal(self.orthogonality),) if self.orthogonality else ()
