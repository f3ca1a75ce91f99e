"""Models: anything that maps a source state to state measures, behind one call."""

from daleth.models.base import Model
from daleth.models.empirical import EmpiricalModel
from daleth.models.gymnasium import GymnasiumModel
from daleth.models.mean import DiracAtMean
from daleth.models.monte_carlo import MonteCarloModel

__all__ = ["DiracAtMean", "EmpiricalModel", "GymnasiumModel", "Model", "MonteCarloModel"]
