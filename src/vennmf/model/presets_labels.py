"""The models that learn from labels and graphs, and the baselines that differ from them in blocks, views and penalties only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from vennmf.matrices import Axis, View, ViewSet
from vennmf.model.blocks import Block
from vennmf.model.model import Model
from vennmf.model.penalties import L1, L2, Box, ColumnMaximum, GraphSmooth, LabelScatter, Penalty, WithinScatter

DISCRIMINATIVE, REST = "discriminative", "rest"
"""Names of the two halves of N2S2L's components."""


def mcl(
    views: ViewSet,
    n_components: int,
    y: Any = None,
    *,
    alpha: float | Mapping[str, float] = 150.0,
    beta: float = 0.02,
    gamma: float = 0.005,
    within: Any = None,
    between: Any = None,
    label_term: str = "scatter",
    weights: Mapping[str, float] | None = None,
) -> Model:
    r"""Multi-view concept learning (Guan et al., TKDE 2015), objective (10).

    .. math:: \min \tfrac12 \sum_v w_v \lVert X_v - V B_v^\top \rVert^2 + \sum_v \alpha_v \lVert B_v \rVert_{1,\infty}
        + \tfrac{\beta}{2} \bigl( \operatorname{tr} V_l^\top L^a V_l - \operatorname{tr} V_l^\top L^p V_l \bigr)
        + \gamma \lVert V \rVert_1, \qquad B \ge 0,\; 0 \le V \le 1

    w_v is 1 as in the paper unless given. The graphs are the paper's (6) and (7), from the labels ``y``, or sparse ones over
    all items that are given as ``within`` and ``between``. With ``label_term="within"`` only L^a of (6) is used.
    """
    penalties: list[Penalty] = [Box(1.0)]
    if beta and within is None and between is None and y is not None:
        penalties.append(LabelScatter(y, beta) if label_term == "scatter" else WithinScatter(y, beta))
    if beta and within is not None:
        penalties.append(GraphSmooth(within, beta))
    if beta and between is not None:
        penalties.append(GraphSmooth(between, -beta))
    by_view = alpha if isinstance(alpha, Mapping) else dict.fromkeys(views, alpha)
    penalties += [
        ColumnMaximum(by_view[view.name], on=view.features.name) for view in views.values() if by_view[view.name]
    ]
    if gamma:
        penalties.append(L1(gamma))
    return _all_share(views, n_components, penalties, weights)


def n2s2l(
    views: ViewSet,
    n_components: int,
    n_discriminative: int,
    *,
    alpha: float = 10.0,
    beta: float = 1.0,
    y: Any = None,
    within: Any = None,
    between: Any = None,
    smooth: Any = None,
) -> Model:
    r"""Nonnegative semi-supervised learning (Wang et al., AISTATS 2009), objective (10) or for tensors (52), halved.

    .. math:: \min \tfrac12 \lVert X - [V_1|V_2][U_1|U_2]^\top \rVert^2
        + \tfrac12 \operatorname{tr} V_1^\top (\alpha L + \beta L^s) V_1 + \tfrac{\alpha}{2} \operatorname{tr} V_2^\top L^p V_2,
        \qquad U, V \ge 0,\; \lVert u_j \rVert = 1

    with L of ``within``, or without it of all pairs of one class by ``y``; L^p of ``between`` and L^s of ``smooth``. The paper's sums over i ≠ j count each pair twice and it
    drops that factor into α and β; here, as in its (10) and (12), α and β multiply traces of Laplacians.
    """
    (view,) = views.values()
    blocks = [Block(DISCRIMINATIVE, n_discriminative, (view.name,))]
    if n_components > n_discriminative:
        blocks.append(Block(REST, n_components - n_discriminative, (view.name,)))
    penalties: list[Penalty] = []
    if alpha and within is not None:
        penalties.append(GraphSmooth(within, alpha, blocks=(DISCRIMINATIVE,)))
    elif alpha and y is not None:
        penalties.append(WithinScatter(y, alpha, blocks=(DISCRIMINATIVE,), pairs="ones"))
    if beta and smooth is not None:
        penalties.append(GraphSmooth(smooth, beta, blocks=(DISCRIMINATIVE,)))
    if alpha and between is not None and len(blocks) == 2:
        penalties.append(GraphSmooth(between, alpha, blocks=(REST,)))
    return Model.of(views, blocks, penalties, {view.name: 1.0})


def gnmf(
    views: ViewSet,
    n_components: int,
    *,
    graph: Any = None,
    y: Any = None,
    smoothness: float = 1.0,
    weights: Mapping[str, float] | None = None,
) -> Model:
    r"""Graph regularised NMF (Cai et al., TPAMI 2011) of one or more views of the same items.

    .. math:: \min \tfrac12 \sum_v w_v \lVert X_v - V B_v^\top \rVert^2 + \tfrac{\lambda}{2} \operatorname{tr} V^\top L V

    L is that of ``graph``, or with labels ``y`` the within-class graph (6) of MCL, which makes it the semi-supervised
    multi-view form that MCL was compared with.
    """
    penalties: list[Penalty] = []
    if graph is not None:
        penalties.append(GraphSmooth(graph, smoothness))
    if y is not None:
        penalties.append(WithinScatter(y, smoothness))
    return _all_share(views, n_components, penalties, weights)


LABELS = "labels"
"""Name of the view of labels in :func:`sulf`."""


def sulf(
    views: ViewSet,
    n_components: int,
    y: Any,
    *,
    strength: float = 1.0,
    ridge: float = 0.01,
    weights: Mapping[str, float] | None = None,
) -> tuple[Model, ViewSet]:
    r"""Semi-supervised unified latent factors (Jiang et al., 2013): the labels are one more factorised view.

    .. math:: \min \tfrac12 \sum_v w_v \lVert X_v - V B_v^\top \rVert^2 + \tfrac{\beta}{2} \lVert Y_l - V_l W^\top \rVert^2

    plus :math:`\tfrac{\rho}{2}\lVert V\rVert^2`, without which an item that has no label could hold any amount of a factor that
    only the labels use. Y holds a one for each labelled item and its class. Returns the model and the views with the labels.
    """
    y = np.asarray(y)
    labelled = np.flatnonzero(y >= 0)
    classes, numbers = np.unique(y[labelled], return_inverse=True)
    ones = np.eye(len(classes), dtype=views.dtype)[numbers]
    items = next(iter(views.values())).items
    labels = View.of(LABELS, ones, items=items, features=Axis(f"features:{LABELS}", len(classes)), rows=labelled)
    both = ViewSet([*views.values(), labels])
    penalties = (L2(ridge),) if ridge else ()
    return _all_share(
        both, n_components, penalties, {**dict.fromkeys(views, 1.0), **(weights or {}), LABELS: strength}
    ), both


def _all_share(
    views: ViewSet, n_components: int, penalties: Sequence[Penalty], weights: Mapping[str, float] | None
) -> Model:
    """Every view has all components; weights are 1 unless given."""
    return Model.of(
        views,
        [Block("shared", n_components, views.names)],
        penalties,
        {**dict.fromkeys(views, 1.0), **(weights or {})},
    )
