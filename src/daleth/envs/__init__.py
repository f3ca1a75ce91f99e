"""Worlds without rewards, as pure functions of one state.

For the same worlds behind Gymnasium's interface, see `daleth.envs.gym`.
"""

from daleth.envs.base import Box, Discrete, Environment
from daleth.envs.corridor import Corridor
from daleth.envs.linear_gaussian import LinearGaussian
from daleth.envs.pendulum import Pendulum
from daleth.envs.registry import (
    environment,
    environment_names,
    reward,
    reward_names,
    sources,
    state_action_reward,
)
from daleth.envs.windy import WindyGridworld

__all__ = [
    "Box",
    "Corridor",
    "Discrete",
    "Environment",
    "LinearGaussian",
    "Pendulum",
    "WindyGridworld",
    "environment",
    "environment_names",
    "reward",
    "reward_names",
    "sources",
    "state_action_reward",
]
