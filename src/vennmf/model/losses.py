"""Losses: how far a view is from its product of factors."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from vennmf.model.blocks import roman
from vennmf.model.form import Array


@dataclass(frozen=True, slots=True)
class Frobenius:
    r"""Squared error of one view, whose rows and columns stand for the entities of two axes.

    .. math:: \tfrac{w}{2} \lVert X - L R^\top \rVert_F^2

    ``blocks`` names the columns of both factors that this view uses. ``weight`` None stands for :math:`1/\lVert X\rVert^2`.

    A tensor view has more column axes, named by ``modes``, and a factor M for each (the CP model):

    .. math:: \tfrac{w}{2} \Bigl\lVert X - \sum_j L_j \otimes R_j \otimes M_j \otimes \dots \Bigr\rVert^2

    Its rows see the Khatri–Rao product of R, M, ... in place of R, whose gram is the Hadamard product of their grams.
    """

    view: str
    left: str
    right: str
    blocks: tuple[str, ...]
    weight: float | None = None
    modes: tuple[str, ...] = ()

    @property
    def column_axes(self) -> tuple[str, ...]:
        return (self.right, *self.modes)

    @property
    def axes(self) -> tuple[str, ...]:
        return (self.left, self.right, *self.modes)

    @staticmethod
    def value(squared_norm: float, cross: float, product: float, weight: float) -> float:
        """From ‖X‖², <X R, L> and <LᵀL, RᵀR>: the product L Rᵀ is never formed."""
        return 0.5 * weight * (squared_norm - 2 * cross + product)

    @staticmethod
    def form(XR: Array, RtR: Array, weight: float) -> tuple[Array, Array]:
        """Gram and cross for L, given the product X R and the gram RᵀR; for R, pass Xᵀ L and LᵀL."""
        dtype = XR.dtype
        if weight != 1:
            XR *= np.asarray(weight, dtype)
        return (weight * RtR).astype(dtype), XR

    def latex(self) -> str:
        view, parts = roman(self.view), r"\,|\,".join(f"B_{{{roman(block)}}}" for block in self.blocks)
        modes = "".join(rf" \otimes F_{{{roman(mode)}}}" for mode in self.modes)
        return rf"\tfrac{{w_{{{view}}}}}{{2}} \lVert X_{{{view}}} - H_{{{view}}} [{parts}]^\top{modes} \rVert_F^2"

    def text(self) -> str:
        weight = f"1/|X_{self.view}|^2" if self.weight is None else f"{self.weight:g}"
        modes = "".join(f" x {mode}" for mode in self.modes)
        return f"1/2 {weight} |X_{self.view} - H_{self.view} [{' | '.join(self.blocks)}]^T{modes}|^2"
