"""Penalties: small frozen objects that give value and form of one factor side by side.

``on`` says which factors: ``"encodings"`` (rows of the views), ``"components"`` (columns of the views) or the name of one
axis; ``blocks`` which of their columns, all for None. Every penalty has

* ``value(F, layout)``: a float, added to the objective;
* ``add_form(form, F, layout)``: adds to the waist a quadratic with the same value (up to a constant) and gradient at F,
  and nowhere below the penalty.

A penalty whose published multiplicative rule divides other halves of the gradient than those of that quadratic also has
``add_rule(form, F, layout)``, which adds these halves as ``push`` and ``pull``. One that is a property of the training items
together says ``holds_for_new_items = False``; one that tells of every entity of its axis says of how many in ``n_entities``. One
with ``by_row = True`` adds to each row what depends on that row alone, so that a factor may be swept a stretch of rows at a time.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np
import scipy.sparse as sp

from vennmf.errors import ModelError
from vennmf.model.blocks import Layout, roman
from vennmf.model.form import Array, Form


@runtime_checkable
class Penalty(Protocol):
    """What the engine asks of a penalty, besides the attributes ``on`` and ``blocks``."""

    def value(self, F: Array, layout: Layout) -> float: ...

    def add_form(self, form: Form, F: Array, layout: Layout) -> None: ...

    def latex(self) -> str: ...


def _checked(weight: float, name: str) -> None:
    if not np.isfinite(weight) or weight < 0:
        raise ModelError(f"{name} has weight {weight!r}; a finite number >= 0 was expected.")


@dataclass(frozen=True)
class L1:
    r"""Sum of entries, which are nonnegative.

    .. math:: \lambda \sum_{ij} F_{ij}
    """

    weight: float
    on: str = "encodings"
    blocks: tuple[str, ...] | None = None
    by_row: ClassVar[bool] = True

    def __post_init__(self) -> None:
        _checked(self.weight, "L1")

    def value(self, F: Array, layout: Layout) -> float:
        sums = np.einsum("ij->j", F, dtype=np.float64)
        return self.weight * float(sums[layout.columns(self.blocks)].sum())

    def add_form(self, form: Form, F: Array, layout: Layout) -> None:
        form.cross[:, layout.columns(self.blocks)] -= np.asarray(self.weight, F.dtype)

    def latex(self) -> str:
        return rf"{self.weight:g} \lVert {_letter(self.on)} \rVert_1"


@dataclass(frozen=True)
class L2:
    r"""Half the squared norm.

    .. math:: \tfrac{\lambda}{2} \lVert F \rVert_F^2
    """

    weight: float
    on: str = "encodings"
    blocks: tuple[str, ...] | None = None
    by_row: ClassVar[bool] = True

    def __post_init__(self) -> None:
        _checked(self.weight, "L2")

    def value(self, F: Array, layout: Layout) -> float:
        squared = np.einsum("ij,ij->j", F, F, dtype=np.float64)
        return 0.5 * self.weight * float(squared[layout.columns(self.blocks)].sum())

    def add_form(self, form: Form, F: Array, layout: Layout) -> None:
        diagonal = np.zeros(layout.width)
        diagonal[layout.columns(self.blocks)] = self.weight
        form.add_to_diagonal(diagonal)

    def latex(self) -> str:
        return rf"\tfrac{{{self.weight:g}}}{{2}} \lVert {_letter(self.on)} \rVert_F^2"


@dataclass(frozen=True)
class Box:
    r"""No entry above a bound.

    .. math:: 0 \le F_{ij} \le u
    """

    upper: float = 1.0
    on: str = "encodings"
    blocks: None = field(default=None, init=False)
    by_row: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not self.upper > 0:
            raise ModelError(f"Box has upper bound {self.upper!r}; a number > 0 was expected.")

    def value(self, F: Array, layout: Layout) -> float:
        return 0.0 if F.max(initial=0) <= self.upper * (1 + 1e-6) else np.inf

    def add_form(self, form: Form, F: Array, layout: Layout) -> None:
        form.upper = min(form.upper, self.upper)

    def latex(self) -> str:
        return rf"\iota(0 \le {_letter(self.on)} \le {self.upper:g})"


@dataclass(frozen=True)
class MutuallyOrthogonal:
    r"""Overlap between the columns of different blocks; inside a block columns may overlap freely.

    .. math:: \tfrac12 \sum_{s<t} \tfrac{a}{K_s K_t} \lVert B_s^\top B_t \rVert_F^2

    This is :math:`\alpha\lVert W^\top U\rVert^2 + \beta\lVert W^\top V\rVert^2 + \gamma\lVert U^\top V\rVert^2` of the paper, halved
    like every term here. ``blocks`` names those that are kept apart, all for None.
    """

    weight: float = 100.0
    on: str = "components"
    blocks: tuple[str, ...] | None = None
    holds_for_new_items: ClassVar[bool] = False  # on the row side it is a property of all items together
    rule_ignores_scale: ClassVar[bool] = True  # equations (6)–(8) do, though the columns are normalised after them

    def __post_init__(self) -> None:
        _checked(self.weight, "MutuallyOrthogonal")

    def coupling(self, layout: Layout) -> Array:
        """A, with a / (K_s K_t) between columns of two blocks and 0 inside a block."""
        A = np.zeros((layout.width, layout.width))
        slices = layout.slices()
        chosen = [b for b in layout.blocks if self.blocks is None or b.name in self.blocks]
        for s in chosen:
            for t in chosen:
                if s is not t:
                    A[slices[s.name], slices[t.name]] = self.weight / (s.size * t.size)
        return A

    def value(self, F: Array, layout: Layout) -> float:
        F = F.astype(np.float64)
        return 0.25 * float(np.sum(self.coupling(layout) * (F.T @ F) ** 2))

    def add_form(self, form: Form, F: Array, layout: Layout) -> None:
        form.add_coupling(self.coupling(layout).astype(F.dtype))

    def latex(self) -> str:
        return rf"\tfrac12 \sum_{{s<t}} \tfrac{{{self.weight:g}}}{{K_s K_t}} \lVert B_s^\top B_t \rVert_F^2"


@dataclass(frozen=True, eq=False)
class GraphSmooth:
    r"""Entities that a sparse symmetric graph S joins have similar rows; with a negative weight, dissimilar ones.

    .. math:: \tfrac{\lambda}{2} \operatorname{tr} F^\top (D - S) F = \tfrac{\lambda}{4} \sum_{ij} S_{ij} \lVert F_i - F_j \rVert^2

    For :math:`\lambda > 0` the form uses :math:`D - S \preceq 2D`: curvature 2D, cross (D + S) F, rows independent. For
    :math:`\lambda < 0` the term is concave and its tangent bounds it: cross |λ| (D − S) F.
    """

    graph: sp.csr_array
    weight: float = 1.0
    on: str = "encodings"
    blocks: tuple[str, ...] | None = None
    holds_for_new_items: ClassVar[bool] = False

    def __post_init__(self) -> None:
        graph = sp.csr_array(self.graph)
        if graph.shape[0] != graph.shape[1]:
            raise ModelError(f"the graph of GraphSmooth is {graph.shape[0]} × {graph.shape[1]}; it must be square.")
        if graph.nnz and (not np.isfinite(graph.data).all() or graph.data.min() < 0):
            raise ModelError("the graph of GraphSmooth has negative or non-finite weights; they must be >= 0.")
        if abs(graph - graph.T).max() > 1e-6 * (abs(graph).max() or 1):
            raise ModelError("the graph of GraphSmooth is not symmetric; pass S.maximum(S.T) or (S + S.T) / 2.")
        object.__setattr__(self, "graph", graph)

    @property
    def n_entities(self) -> int:
        return int(self.graph.shape[0])

    def _degrees(self) -> Array:
        return np.asarray(self.graph.sum(axis=1)).ravel()

    def value(self, F: Array, layout: Layout) -> float:
        part = F[:, layout.columns(self.blocks)].astype(np.float64)
        smooth = np.einsum("i,ij,ij->", self._degrees(), part, part) - np.vdot(part, self.graph @ part)
        return 0.5 * self.weight * float(smooth)

    def add_form(self, form: Form, F: Array, layout: Layout) -> None:
        columns = layout.columns(self.blocks)
        held, joined = self._halves(F[:, columns])
        if self.weight < 0:
            form.cross[:, columns] += held - joined
            return
        form.cross[:, columns] += held + joined
        form.add_curvature((2 * self.weight * self._degrees()).astype(F.dtype), columns)

    def add_rule(self, form: Form, F: Array, layout: Layout) -> None:
        """λ D F pushes and λ S F pulls, as in GNMF and N2S2L; the other way round for a negative weight."""
        columns = layout.columns(self.blocks)
        halves = self._halves(F[:, columns])
        form.add_rule(*(halves if self.weight > 0 else halves[::-1]), columns)

    def _halves(self, part: Array) -> tuple[Array, Array]:
        """|λ| D F and |λ| S F."""
        size = abs(self.weight)
        held = (size * self._degrees()).astype(part.dtype)[:, None] * part
        return held, (size * (self.graph @ part)).astype(part.dtype)

    def latex(self) -> str:
        return rf"\tfrac{{{self.weight:g}}}{{2}} \operatorname{{tr}} {_letter(self.on)}^\top L {_letter(self.on)}"


@dataclass(frozen=True)
class ColumnMaximum:
    r"""The largest entry of each column: a component that a view does not need leaves it altogether.

    .. math:: \lambda \lVert B \rVert_{1,\infty} = \lambda \sum_j \max_i B_{ij}
    """

    weight: float
    on: str = "components"
    blocks: tuple[str, ...] | None = None
    holds_for_new_items: ClassVar[bool] = False  # on the row side it is a property of all items together

    def __post_init__(self) -> None:
        _checked(self.weight, "ColumnMaximum")

    def value(self, F: Array, layout: Layout) -> float:
        return self.weight * float(np.sum(F[:, layout.columns(self.blocks)].max(axis=0), dtype=np.float64))

    def add_form(self, form: Form, F: Array, layout: Layout) -> None:
        weights = np.zeros(layout.width, F.dtype)
        weights[layout.columns(self.blocks)] = self.weight
        form.column_maximum = weights if form.column_maximum is None else form.column_maximum + weights

    def latex(self) -> str:
        return rf"{self.weight:g} \lVert {_letter(self.on)} \rVert_{{1,\infty}}"


@dataclass(frozen=True, eq=False)
class LabelScatter:
    r"""Labelled entities lie close to their class's mean and far from the other classes': minus the between-class scatter.

    .. math:: -\tfrac{\beta}{2} \Bigl( \sum_c n_c \lVert \bar F_c \rVert^2 - n \lVert \bar F \rVert^2 \Bigr)

    ``y`` holds a class number for each row and -1 where it is unknown. The term is concave; its tangent at F is the form:
    :math:`\beta(\bar F_{c(i)} - \bar F)` added to the cross of labelled row i.
    """

    y: Any
    weight: float
    on: str = "encodings"
    blocks: tuple[str, ...] | None = None
    holds_for_new_items: ClassVar[bool] = False

    def __post_init__(self) -> None:
        _checked(self.weight, "LabelScatter")
        object.__setattr__(self, "y", np.asarray(self.y))

    @property
    def n_entities(self) -> int:
        return len(self.y)

    def _means(self, part: Array) -> tuple[Array, Array, Array, Array, Array]:
        """What :func:`class_means` gives, and the mean of all labelled rows."""
        labelled, classes, means, sizes = class_means(self.y, part)
        return labelled, classes, means, sizes, sizes @ means / max(len(labelled), 1)

    def value(self, F: Array, layout: Layout) -> float:
        if not (self.y >= 0).any():
            return 0.0
        labelled, _, means, sizes, mean = self._means(F[:, layout.columns(self.blocks)])
        between = float(np.sum(sizes * np.sum(means**2, axis=1)) - len(labelled) * np.sum(mean**2))
        return -0.5 * self.weight * between

    def add_form(self, form: Form, F: Array, layout: Layout) -> None:
        if not (self.y >= 0).any():
            return
        columns = layout.columns(self.blocks)
        labelled, classes, means, _, mean = self._means(F[:, columns])
        form.cross[np.ix_(labelled, columns)] += (self.weight * (means[classes] - mean)).astype(F.dtype)

    def add_rule(self, form: Form, F: Array, layout: Layout) -> None:
        r"""The halves of MCL's graphs: :math:`\beta(D^a + W^p)F` pushes and :math:`\beta(D^p + W^a)F` pulls.

        On labelled row i of class c, with n_c of n labelled rows, these are :math:`(1 - n_c/n)F_i + \bar F - (n_c/n)\bar F_c`
        and :math:`(1 - n_c/n)(F_i + \bar F_c)`.
        """
        if not (self.y >= 0).any():
            return
        columns = layout.columns(self.blocks)
        labelled, classes, means, sizes, mean = self._means(F[:, columns])
        share = (sizes / len(labelled))[classes][:, None]
        mine = means[classes]
        push, pull = np.zeros((2, len(F), len(columns)))
        push[labelled] = self.weight * ((1 - share) * F[np.ix_(labelled, columns)] + mean - share * mine)
        pull[labelled] = self.weight * (1 - share) * (F[np.ix_(labelled, columns)] + mine)
        form.add_rule(push, pull, columns)

    def latex(self) -> str:
        return rf"-\tfrac{{{self.weight:g}}}{{2}} \operatorname{{tr}} S_b({_letter(self.on)})"


@dataclass(frozen=True, eq=False)
class WithinScatter:
    r"""Labelled entities lie close to their class's mean: the within-class scatter, each class weighted.

    .. math:: \tfrac{\beta}{2} \sum_c s_c \sum_{y_i = c} \lVert F_i - \bar F_c \rVert^2
        = \tfrac{\beta}{2} \operatorname{tr} F_l^\top L^a F_l

    the Laplacian of the graph that joins all labelled entities of a class, whose edges are never made. ``pairs="shares"``: an
    edge weighs 1/n_c − 1/n, so that s_c = 1 − n_c/n; the within-class half of MCL's label term, which is also what makes GNMF
    semi-supervised. ``pairs="ones"``: an edge weighs 1, so that s_c = n_c, as in N2S2L. The scatter around any point bounds that
    around the mean, so the form is curvature :math:`\beta s_c` and cross that times the current mean.
    """

    y: Any
    weight: float
    on: str = "encodings"
    blocks: tuple[str, ...] | None = None
    pairs: str = "shares"
    holds_for_new_items: ClassVar[bool] = False

    def __post_init__(self) -> None:
        _checked(self.weight, "WithinScatter")
        if self.pairs not in ("shares", "ones"):
            raise ModelError(f"WithinScatter has pairs={self.pairs!r}; 'shares' or 'ones' was expected.")
        object.__setattr__(self, "y", np.asarray(self.y))

    @property
    def n_entities(self) -> int:
        return len(self.y)

    def _pulls(self, part: Array) -> tuple[Array, Array]:
        """β s_c and the class mean for each row, zero where it has no label."""
        strength, target = np.zeros(len(part)), np.zeros(part.shape)
        labelled, classes, means, sizes = class_means(self.y, part)
        share = sizes if self.pairs == "ones" else 1 - sizes / max(len(labelled), 1)
        strength[labelled], target[labelled] = self.weight * share[classes], means[classes]
        return strength, target

    def value(self, F: Array, layout: Layout) -> float:
        part = F[:, layout.columns(self.blocks)].astype(np.float64)
        strength, target = self._pulls(part)
        return 0.5 * float(strength @ np.sum((part - target) ** 2, axis=1))

    def add_form(self, form: Form, F: Array, layout: Layout) -> None:
        columns = layout.columns(self.blocks)
        strength, target = self._pulls(F[:, columns])
        form.cross[:, columns] += (strength[:, None] * target).astype(F.dtype)
        form.add_curvature(strength.astype(F.dtype), columns)

    def add_rule(self, form: Form, F: Array, layout: Layout) -> None:
        """β D F pushes and β W F pulls; MCL's (6) joins an entity to itself too, N2S2L's graph does not."""
        columns = layout.columns(self.blocks)
        part = F[:, columns]
        strength, target = self._pulls(part)
        itself = self.weight * (self.y >= 0)[:, None] * part if self.pairs == "ones" else 0.0
        form.add_rule(strength[:, None] * part - itself, np.maximum(strength[:, None] * target - itself, 0), columns)

    def latex(self) -> str:
        return rf"\tfrac{{{self.weight:g}}}{{2}} \operatorname{{tr}} S_w({_letter(self.on)})"


def described(penalty: Any) -> str:
    """A penalty in one line, its large parts by their size: ``L1(weight=0.1, on='encodings')``."""
    if not is_dataclass(penalty):
        return repr(penalty)
    parts = []
    for each in fields(penalty):
        value = getattr(penalty, each.name)
        if each.init and value is not None:
            size = " × ".join(map(str, value.shape)) if hasattr(value, "shape") else ""
            parts.append(f"{each.name}={size or repr(value)}")
    return f"{type(penalty).__name__}({', '.join(parts)})"


def class_means(y: Array, part: Array) -> tuple[Array, Array, Array, Array]:
    """Labelled rows, the class of each, class means and class sizes."""
    labelled = np.flatnonzero(y >= 0)
    _, classes = np.unique(y[labelled], return_inverse=True)
    sizes = np.bincount(classes)
    onto = sp.csr_array(
        (np.ones(len(labelled)), (classes, np.arange(len(labelled)))), shape=(len(sizes), len(labelled))
    )
    return labelled, classes, (onto @ part[labelled].astype(np.float64)) / sizes[:, None], sizes


def _letter(on: str) -> str:
    return {"encodings": "H", "components": "B"}.get(on, rf"F_{{{roman(on)}}}")
