"""daleth: the distributional successor measure.

From trajectories of a policy, without rewards, to the whole return distribution of any reward.
Public names load on first use, so that importing daleth costs next to nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from daleth._version import __version__

if TYPE_CHECKING:
    from daleth.data import Trajectories
    from daleth.evaluation import score
    from daleth.measures import StateMeasures
    from daleth.models import EmpiricalModel, MonteCarloModel
    from daleth.models.storage import load
    from daleth.ranking import rank
    from daleth.returns import ReturnDistribution
    from daleth.tabular import MarkovChain
    from daleth.training import fit

_HOMES = {
    "EmpiricalModel": "daleth.models",
    "MarkovChain": "daleth.tabular",
    "MonteCarloModel": "daleth.models",
    "ReturnDistribution": "daleth.returns",
    "StateMeasures": "daleth.measures",
    "Trajectories": "daleth.data",
    "fit": "daleth.training",
    "load": "daleth.models.storage",
    "rank": "daleth.ranking",
    "score": "daleth.evaluation",
}

_ROOMS = (
    "data",
    "envs",
    "evaluation",
    "models",
    "parts",
    "plots",
    "policies",
    "rewards",
    "tabular",
    "training",
)

__all__ = [
    "EmpiricalModel",
    "MarkovChain",
    "MonteCarloModel",
    "ReturnDistribution",
    "StateMeasures",
    "Trajectories",
    "__version__",
    "fit",
    "load",
    "rank",
    "score",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    if name in _ROOMS:
        return import_module(f"daleth.{name}")
    raise AttributeError(f"module 'daleth' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
