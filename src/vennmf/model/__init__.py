"""What is minimised: blocks, forms, losses, penalties, models. Mathematics, no loops."""

from vennmf.model.blocks import Block, Layout, sharing_pattern
from vennmf.model.losses import Frobenius
from vennmf.model.model import Model
from vennmf.model.penalties import (
    L1,
    L2,
    Box,
    ColumnMaximum,
    GraphSmooth,
    LabelScatter,
    MutuallyOrthogonal,
    Penalty,
    WithinScatter,
)

__all__ = [
    "L1",
    "L2",
    "Block",
    "Box",
    "ColumnMaximum",
    "Frobenius",
    "GraphSmooth",
    "LabelScatter",
    "Layout",
    "Model",
    "MutuallyOrthogonal",
    "Penalty",
    "WithinScatter",
    "sharing_pattern",
]
