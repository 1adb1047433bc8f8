"""How a model is minimised: bind, loop, sweep, stop."""

from vennmf.solvers.loop import Options
from vennmf.solvers.memory import Forecast, forecast
from vennmf.solvers.minimise import encode, minimise
from vennmf.solvers.problem import Problem
from vennmf.solvers.solution import Solution, Step

__all__ = ["Forecast", "Options", "Problem", "Solution", "Step", "encode", "forecast", "minimise"]
