"""A model: blocks, one loss for each view, penalties. It says what is minimised and nothing of how."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from vennmf.errors import ModelError
from vennmf.matrices import ViewSet
from vennmf.model.blocks import Block, Layout
from vennmf.model.losses import Frobenius
from vennmf.model.penalties import Box, ColumnMaximum, Penalty, described


@dataclass(frozen=True)
class Model:
    r"""What is minimised over nonnegative tall factors, one for each axis.

    .. math:: \min_{F \ge 0} \sum_v \tfrac{w_v}{2} \lVert X_v - L_v R_v^\top \rVert_F^2 + \text{penalties}

    :math:`L_v` and :math:`R_v` are the columns of the row axis's and the column axis's factor that belong to the blocks of
    view v. Unless a penalty fixes the scale of the factors, each component has unit norm on the column side
    (over all column axes together) and the row side carries the scale; penalties are taken at that scale.
    """

    blocks: tuple[Block, ...]
    losses: tuple[Frobenius, ...]
    penalties: tuple[Penalty, ...] = ()

    def __post_init__(self) -> None:
        both = set(self.row_axes) & set(self.column_axes)
        if both:
            raise ModelError(
                f"axis {both.pop()!r} is the rows of one view and the columns of another; an axis has one side."
            )
        for axis in (axis for loss in self.losses if loss.modes for axis in loss.column_axes):
            if sum(axis in loss.axes for loss in self.losses) > 1:
                raise ModelError(
                    f"axis {axis!r} is a mode of a tensor and belongs to another view too; it has one view."
                )
        known = {*self.row_axes, *self.column_axes, "encodings", "components"}
        names = {block.name for block in self.blocks}
        for penalty in self.penalties:
            on, blocks = getattr(penalty, "on", None), getattr(penalty, "blocks", None)
            if not isinstance(penalty, Penalty):
                raise ModelError(
                    f"penalty {penalty!r} has no value, add_form and latex; use one of vennmf, such as vennmf.L1(0.1)."
                )
            if on not in known:
                raise ModelError(
                    f"{type(penalty).__name__} is on {on!r}; expected 'encodings', 'components' or an axis "
                    f"({', '.join(sorted(known - {'encodings', 'components'}))})."
                )
            if blocks is not None and not set(blocks) <= names:
                raise ModelError(
                    f"{type(penalty).__name__} names block {sorted(set(blocks) - names)[0]!r}; the blocks are "
                    f"{', '.join(map(repr, sorted(names)))}."
                )

    @classmethod
    def of(
        cls,
        views: ViewSet,
        blocks: Sequence[Block],
        penalties: Sequence[Penalty] = (),
        weights: dict[str, float] | None = None,
    ) -> Model:
        """One Frobenius loss for each view, on the blocks that the view belongs to."""
        weights = weights or {}
        for name, weight in weights.items():
            if name not in views:
                raise ModelError(
                    f"weights name {name!r}, which is no source; the sources are {', '.join(views.names)}."
                )
            if not 0 < weight < float("inf"):
                raise ModelError(f"source {name!r} has weight {weight!r}; a finite number > 0 was expected.")
        losses = tuple(
            Frobenius(
                view.name,
                view.items.name,
                view.modes[0].name if view.modes else view.features.name,
                tuple(block.name for block in blocks if view.name in block.sources),
                weights.get(view.name),
                tuple(axis.name for axis in view.modes[1:]),
            )
            for view in views.values()
        )
        return cls(tuple(blocks), losses, tuple(penalties))

    @cached_property
    def row_axes(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(loss.left for loss in self.losses))

    @cached_property
    def column_axes(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(axis for loss in self.losses for axis in loss.column_axes))

    @cached_property
    def last_axes(self) -> tuple[str, ...]:
        """The column axes that are updated last for some view: there the loss is read from the form."""
        return tuple(dict.fromkeys(loss.column_axes[-1] for loss in self.losses))

    @cached_property
    def axes(self) -> tuple[str, ...]:
        """Every axis that has a factor, rows first: the order in which factors are updated."""
        return (*self.row_axes, *self.column_axes)

    @cached_property
    def layouts(self) -> dict[str, Layout]:
        """For each axis, the blocks that its factor holds side by side."""
        used = {axis: set[str]() for axis in self.axes}
        for loss in self.losses:
            for axis in loss.axes:
                used[axis] |= set(loss.blocks)
        return {axis: Layout(tuple(b for b in self.blocks if b.name in names)) for axis, names in used.items()}

    @cached_property
    def has_unit_norm(self) -> bool:
        """Whether the scale of a component is free, so that the columns' side is kept at unit norm."""
        return not any(isinstance(penalty, Box | ColumnMaximum) for penalty in self.penalties)

    def penalties_on(self, axis: str) -> tuple[Penalty, ...]:
        side = "encodings" if axis in self.row_axes else "components"
        return tuple(penalty for penalty in self.penalties if getattr(penalty, "on", None) in (axis, side))

    def latex(self) -> str:
        """The objective as LaTeX."""
        terms = [loss.latex() for loss in self.losses] + [penalty.latex() for penalty in self.penalties]
        norm = r",\; \lVert B_j \rVert = 1" if self.has_unit_norm else ""
        return r"\min_{H, B \ge 0" + norm + "} " + " + ".join(terms)

    def __str__(self) -> str:
        sizes = ", ".join(f"{b.name} {b.size} ({' '.join(b.sources)})" for b in self.blocks)
        lines = [f"minimise   {self.losses[0].text()}"]
        lines += [f"         + {loss.text()}" for loss in self.losses[1:]]
        lines += [f"         + {described(penalty)}" for penalty in self.penalties]
        lines += [f"over       H, B >= 0{', columns of B of unit norm' if self.has_unit_norm else ''}"]
        return "\n".join([*lines, f"blocks     {sizes}"])
