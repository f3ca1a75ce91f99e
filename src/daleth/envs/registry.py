"""Worlds by name: environments, their rewards and their source states."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Float

from daleth import _checks
from daleth.envs import corridor, linear_gaussian, pendulum, windy
from daleth.envs.base import Environment

Reward = Callable[..., Array]


@dataclass(frozen=True)
class _World:
    make: Callable[..., Environment]
    sources: Callable[[Any], Array]
    rewards: Mapping[str, Reward]
    rewards_with_action: Mapping[str, Reward] = field(default_factory=dict)
    """Only those that change when the action is known."""


_WORLDS = {
    "corridor": _World(
        make=corridor.Corridor,
        sources=corridor.corridor_sources,
        rewards={"position": corridor.position},
    ),
    "linear-gaussian": _World(
        make=linear_gaussian.LinearGaussian.random,
        sources=linear_gaussian.linear_gaussian_sources,
        rewards={
            "first-coordinate": linear_gaussian.first_coordinate,
            "mean-coordinate": linear_gaussian.mean_coordinate,
        },
    ),
    "pendulum": _World(
        make=pendulum.Pendulum,
        sources=lambda env: pendulum.pendulum_sources(),
        rewards={
            "above-horizon": pendulum.above_horizon,
            "ccw-penalty": pendulum.ccw_penalty,
            "default": pendulum.default,
            "stay-left": pendulum.stay_left,
        },
        rewards_with_action={
            "above-horizon": pendulum.above_horizon_with_action,
            "default": pendulum.default_with_action,
        },
    ),
    "windy": _World(
        make=windy.WindyGridworld,
        sources=lambda env: jnp.zeros((1, 2)),
        rewards={
            "hopscotch": windy.hopscotch,
            "lopsided-checkerboard": windy.lopsided_checkerboard,
        },
    ),
}


def environment_names() -> list[str]:
    """The names that `environment` knows."""
    return sorted(_WORLDS)


def environment(name: str, **settings: Any) -> Environment:
    """The environment of this name.

    Args:
        name: one of `environment_names()`.
        settings: arguments of its class, such as `dimension` of "linear-gaussian".

    Example:
        >>> print(environment("pendulum", max_start_speed=8.0))
        Pendulum(max_start_speed=8.0)
    """
    return _world(name).make(**settings)


def sources(name: str, **settings: Any) -> Float[Array, "n d"]:
    """The named source states of the environment with this name and these settings, `[n, d]`."""
    return _world(name).sources(environment(name, **settings))


def reward_names(environment_name: str | None = None) -> list[str]:
    """The names that `reward` knows, of all environments or of one."""
    names = environment_names() if environment_name is None else [environment_name]
    return [f"{name}/{reward}" for name in names for reward in sorted(_world(name).rewards)]


def reward(name: str) -> Reward:
    """The reward of this name as a function of states, `[..., d] -> [...]`.

    A term in the action is left out: see `state_action_reward`.

    Example:
        >>> print(reward("windy/hopscotch")(jnp.array([[-1.0, 1.0], [1.0, 1.0]])))
        [ 3. -1.]
    """
    world, short = _split(name)
    return world.rewards[short]


def state_action_reward(name: str) -> Reward:
    """The reward of this name as a function of (state, action) side by side, `[..., d+1] -> [...]`.

    A term in the action is kept; a reward without one looks at the state alone.
    """
    world, short = _split(name)
    if short in world.rewards_with_action:
        return world.rewards_with_action[short]
    of_state = world.rewards[short]
    # All worlds here have an action of one component.
    return lambda pairs: of_state(jnp.asarray(pairs)[..., :-1])


def _world(name: str) -> _World:
    return _WORLDS[_checks.one_of("environment", name, environment_names())]


def _split(name: str) -> tuple[_World, str]:
    world, _, short = _checks.one_of("reward", name, reward_names()).partition("/")
    return _WORLDS[world], short
