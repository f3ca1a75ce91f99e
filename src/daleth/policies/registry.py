"""Policies by name."""

from collections.abc import Callable
from typing import Any

from daleth import _checks
from daleth.envs import registry
from daleth.policies.actor import pendulum_sac
from daleth.policies.base import Policy
from daleth.policies.simple import CategoricalPolicy, ConstantPolicy, uniform

# Moves of Windy Gridworld: left, right, up, down.
_NAMED: dict[str, Callable[..., Policy]] = {
    "pendulum/no-torque": lambda: ConstantPolicy([0.0]),
    "pendulum/sac": pendulum_sac,
    "windy/bottom": lambda: CategoricalPolicy([1 / 3, 1 / 3, 0.0, 1 / 3]),
    "windy/top": lambda: CategoricalPolicy([1 / 3, 1 / 3, 1 / 3, 0.0]),
}


def policy_names(environment_name: str | None = None) -> list[str]:
    """The names that `policy` knows, for all environments or for one."""
    worlds = registry.environment_names()
    names = sorted([*_NAMED, *(f"{world}/uniform" for world in worlds)])
    if environment_name is None:
        return names
    _checks.one_of("environment", environment_name, worlds)
    return [name for name in names if name.startswith(f"{environment_name}/")]


def policy(name: str, **settings: Any) -> Policy:
    """The policy of this name.

    Every environment has `uniform`. Windy Gridworld has `top` (left, right or up, one third each)
    and `bottom` (left, right or down), Pendulum has `sac` and `no-torque`.

    Args:
        name: one of `policy_names()`.
        settings: its arguments, such as `action_noise` of "pendulum/sac".

    Example:
        >>> print(policy("windy/uniform").probabilities)
        [0.25 0.25 0.25 0.25]
    """
    _checks.one_of("policy", name, policy_names())
    if name in _NAMED:
        return _NAMED[name](**settings)
    world = name.partition("/")[0]
    return uniform(registry.environment(world, **settings).action_space)
