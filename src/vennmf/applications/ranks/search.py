"""The search: total ranks along one path for each source, then the shared rank along a path of merges."""

from __future__ import annotations

import zlib
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vennmf.applications.ranks import held_out, rules
from vennmf.applications.ranks.choice import Choice, Curve, choose_shared, choose_total
from vennmf.applications.ranks.explain import explain
from vennmf.applications.ranks.progress import OnStep, reporter
from vennmf.applications.ranks.state import RankState
from vennmf.applications.ranks.suggestion import RankSuggestion
from vennmf.errors import ParameterError
from vennmf.matrices import View, ViewSet
from vennmf.model import sharing_pattern
from vennmf.model.presets import shared_and_private
from vennmf.solvers import kernels

Array = NDArray[Any]
Factors = held_out.Factors


def suggest_ranks(
    sources: Any,
    *,
    max_components: int = 50,
    n_folds: int = 5,
    papers_rules: bool = True,
    orthogonality: bool = False,
    state: Any = None,
    progress: bool | OnStep = False,
    random_state: int = 0,
    n_threads: int | None = None,
) -> RankSuggestion:
    r"""Choose the components of each source and how many of them are shared, by what predicts held-out entries.

    Items and features are cut into ``n_folds`` parts each. A model fitted to the other parts gives the held-out
    features their rows of the basis and the held-out items their encodings, and both predict the quarter that neither
    has seen: :math:`\lVert X_{IJ} - H_I B_J^\top \rVert^2 / \lVert X_{IJ} \rVert^2`. Each source alone says how many components it
    needs. Then the components that look most alike in all sources are merged, one at a time, and the shared
    components are as many as cost no source any of its prediction.

    Parameters
    ----------
    sources : dict of named matrices, or ViewSet
    max_components : int
        Largest rank tried for a source; the search ends before where larger ranks cease to predict more.
    n_folds : int
    papers_rules : bool
        Also what the papers' rules say: :math:`\Delta_k < 1\,\%` of NMF on each source and on X Yᵀ, which is never formed, the
        numerical rank of X Yᵀ, and Mardia's rule.
    orthogonality : bool
        Also RJSNMF's fit and penalty for a from 10^-2 to 10^4 at the ranks chosen.
    state : path, default=None
        Where to keep what has been found; a search that was broken off goes on from there, to the same answer.
    progress : bool or callable
        True: a line on stderr where it is a terminal. A callable gets a :class:`RankStep` after each rank.
    random_state : int
    n_threads : int, default=None
        Threads of the kernels; None for all available cores.
    """
    views = ViewSet.of(sources)
    settings = Settings(*_checked(views, max_components, n_folds), int(random_state))
    about = {"settings": list(settings), "sources": {n: [*v.shape, v.nnz, v.squared_norm()] for n, v in views.items()}}
    with kernels.threads(n_threads), reporter(progress) as on_step:
        search = Search(views, settings, RankState(state, about), on_step)
        return search.run(papers_rules, orthogonality)


def _checked(views: ViewSet, max_components: int, n_folds: int) -> tuple[int, int]:
    if not isinstance(max_components, int | np.integer) or max_components < 1:
        raise ParameterError(f"max_components must be a whole number of at least 1; found {max_components!r}.")
    fewest = min(min(view.shape) for view in views.values())
    if not isinstance(n_folds, int | np.integer) or not 2 <= n_folds <= fewest // 2:
        raise ParameterError(
            f"n_folds must lie between 2 and {fewest // 2}, so that each fold holds two items and two features of every "
            f"source; found {n_folds!r}."
        )
    kept = fewest - -(-fewest // n_folds)
    return int(min(max_components, max(kept - 1, 1))), int(n_folds)


class Settings(NamedTuple):
    max_components: int
    n_folds: int
    seed: int


def candidates(most: int) -> list[int]:
    """Every rank up to 20, then steps of about a tenth."""
    ranks = [1]
    while ranks[-1] < most:
        ranks.append(min(most, ranks[-1] + max(1, ranks[-1] // 10 if ranks[-1] >= 20 else 1)))
    return ranks


@dataclass
class Search:
    """One search: what it is about and what it has found so far."""

    views: ViewSet
    settings: Settings
    state: RankState
    on_step: OnStep
    folds: list[held_out.Fold] = field(init=False)

    def __post_init__(self) -> None:
        self.folds = held_out.cut(self.views, self.settings.n_folds, self._rng("folds", 0))

    def run(self, papers_rules: bool, orthogonality: bool) -> RankSuggestion:
        totals = {name: self.total(name) for name in self.views}
        sizes = {name: choice.rank for name, choice in totals.items()}
        shared = self.shared(sizes) if len(sizes) > 1 else Choice(0, True)
        found = self.papers() if papers_rules else ([], [])
        return explain(self.state.curves, totals, shared, found, self.penalties(sizes, shared.rank, orthogonality))

    def _rng(self, *key: str | int) -> np.random.Generator:
        """Random numbers that depend on where the search stands and not on how it got there."""
        words = [zlib.crc32(part.encode()) if isinstance(part, str) else part for part in key]
        return np.random.default_rng([self.settings.seed, *words])

    # ---------------------------------------------------------------- each source alone

    def total(self, source: str) -> Choice:
        """How many components one source needs."""
        stage = f"total/{source}"
        curve = self.state.curves.setdefault(stage, [Curve()])[0]
        factors = self.state.factors if self.state.stage == stage else []
        for rank in candidates(self.settings.max_components):
            if rank in curve.ranks:
                continue
            if len(curve.ranks) > 1 and choose_total(curve).has_levelled:
                break
            factors = self._total_step(source, rank, curve, factors)
            self.state.keep(stage, factors)
            self.on_step(stage, rank, curve.means[-1], curve.agreement[-1])
        return choose_total(curve)

    def _total_step(self, source: str, rank: int, curve: Curve, factors: list[Factors]) -> list[Factors]:
        blocks = sharing_pattern({source: rank}, (source,))
        fitted, errors, bases = [], [], []
        for n, whole in enumerate(self.folds):
            fold, rng = whole.only(source), self._rng(source, rank, n)
            view = fold.fitted[source]
            start = held_out.grown(view, factors[n], rank - curve.ranks[-1], rng) if curve.ranks else "random"
            fitted.append(held_out.fit(fold.fitted, blocks, start, rng))
            error, basis = held_out.prediction(fold, blocks, fitted[-1])
            errors.append(error[source])
            bases.append(basis)
        curve.add(rank, errors, held_out.agreement(bases))
        return fitted

    # ---------------------------------------------------------------- all sources together

    def shared(self, sizes: dict[str, int]) -> Choice:
        """How many components all sources share, given how many each has."""
        stage, names = "shared", tuple(sizes)
        curves = self.state.curves.setdefault(stage, [Curve() for _ in names])
        factors = self.state.factors if self.state.stage == stage else []
        for rank in range(min(sizes.values()) + 1):
            if rank in curves[0].ranks:
                continue
            if rank and rank - choose_shared(curves, list(sizes.values())).rank > 3:
                break
            factors = self._shared_step(sizes, rank, curves, factors)
            self.state.keep(stage, factors)
            mean = float(np.mean([curve.means[-1] for curve in curves]))
            self.on_step(stage, rank, mean, curves[0].agreement[-1])
        return choose_shared(curves, list(sizes.values()))

    def _shared_step(
        self, sizes: dict[str, int], rank: int, curves: list[Curve], factors: list[Factors]
    ) -> list[Factors]:
        names = tuple(sizes)
        blocks = shared_and_private(names, sizes, rank)
        fitted, errors, bases = [], [], []
        for n, fold in enumerate(self.folds):
            rng = self._rng("shared", rank, n)
            if rank:
                private = {name: size - rank + 1 for name, size in sizes.items()}
                start = held_out.merged(factors[n], private, rank - 1)
            else:
                start = held_out.stacked({name: self._alone(fold, name, sizes[name], rng) for name in names})
            fitted.append(held_out.fit(fold.fitted, blocks, start, rng))
            error, basis = held_out.prediction(fold, blocks, fitted[-1])
            errors.append([error[name] for name in names])
            bases.append(basis)
        agreement = held_out.agreement(bases, slice(0, rank)) if rank else 1.0
        for curve, of_source in zip(curves, zip(*errors, strict=True), strict=True):
            curve.add(rank, of_source, agreement)
        return fitted

    def _alone(self, whole: held_out.Fold, source: str, rank: int, rng: np.random.Generator) -> Factors:
        """A fresh start of one source at its rank: what the path found has to be found again from nothing."""
        return held_out.fit(whole.only(source).fitted, sharing_pattern({source: rank}, (source,)), "random", rng)

    # ---------------------------------------------------------------- the papers' rules

    def papers(self) -> tuple[list[tuple[str, str, int]], list[tuple[str, rules.ErrorPath]]]:
        """(rule, of, value) and the paths behind Δ_k."""
        found: list[tuple[str, str, int]] = []
        paths = []
        alone: list[View] = list(self.views.values())
        products: list[View] = list(rules.pairs(self.views))
        for view in [*alone, *products]:
            path = self._path(view)
            paths.append((view.name, path))
            found.append(("Δ under 1 %", view.name, path.choice))
            most = min(*view.shape, 4 * self.settings.max_components)
            found.append(("numerical rank", view.name, rules.numerical_rank(view.X, most, self.settings.seed)))
        if products:
            found.append(("Mardia", "all sources", rules.mardia(self.views)))
        return found, paths

    def _path(self, view: View) -> rules.ErrorPath:
        key = f"rule/{view.name}"
        if key not in self.state.notes:
            ranks = candidates(min(self.settings.max_components, min(view.shape) - 1))
            path = rules.error_path(
                view, ranks, self.settings.seed, lambda rank, error: self.on_step(key, rank, error, 1.0)
            )
            self.state.note(key, [list(path.ranks), list(path.errors)])
        ranks, errors = self.state.notes[key]
        return rules.ErrorPath(tuple(ranks), tuple(errors))

    def penalties(self, sizes: dict[str, int], n_shared: int, asked: bool) -> list[tuple[float, float, float]]:
        if not asked:
            return []
        blocks = shared_and_private(tuple(sizes), sizes, n_shared)
        return rules.orthogonality_path(self.views, blocks, self.settings.seed)
