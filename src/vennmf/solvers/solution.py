"""What a run of the loop leaves behind."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from vennmf.model.form import Array
from vennmf.solvers.problem import Factors


class Step(NamedTuple):
    """One reported step. ``violation`` is the norm of the projected gradient met on the way to it."""

    iteration: int
    seconds: float
    objective: float
    fit: float
    penalties: dict[str, float]
    violation: float


@dataclass(frozen=True)
class Solution:
    """The best factors met, how the run went, and why it ended."""

    factors: Factors
    steps: tuple[Step, ...]
    stop_reason: str
    dead: dict[str, list[int]]
    """Components by block that carry nothing after every attempt to revive them."""
    first_violation: float
    """What the tolerance is a fraction of: the least violation met up to the end of the warm start."""

    @property
    def objective(self) -> float:
        return self.steps[-1].objective

    @property
    def n_iter(self) -> int:
        return self.steps[-1].iteration

    def history(self) -> dict[str, Array]:
        """The steps as equally long arrays: iteration, seconds, objective, fit, each penalty, violation."""
        columns: dict[str, Array] = {
            "iteration": np.array([s.iteration for s in self.steps]),
            "seconds": np.array([s.seconds for s in self.steps]),
            "objective": np.array([s.objective for s in self.steps]),
            "fit": np.array([s.fit for s in self.steps]),
        }
        for name in self.steps[0].penalties:
            columns[name] = np.array([s.penalties[name] for s in self.steps])
        columns["violation"] = np.array([s.violation for s in self.steps])
        return columns
