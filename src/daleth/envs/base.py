"""What an environment is: pure functions of one state, batched by `vmap`."""

import abc
from typing import ClassVar

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from daleth._typing import ArrayLike

Action = Float[Array, "a"] | Int[Array, ""]
"""A vector for continuous actions, one whole number for discrete ones."""


def with_components(states: ArrayLike, *numbers: int) -> Array:
    """States as an array whose last axis has one of these lengths."""
    array = jnp.asarray(states)
    if array.ndim == 0 or array.shape[-1] not in numbers:
        wanted = " or ".join(map(str, numbers))
        raise ValueError(
            f"this reward is a function of states with {wanted} components, got shape {array.shape}"
        )
    return array


class Discrete(eqx.Module):
    """Actions `0 .. num - 1`."""

    num: int = eqx.field(static=True)


class Box(eqx.Module):
    """Vectors between two bounds, component by component; bounds may be infinite."""

    low: tuple[float, ...] = eqx.field(static=True)
    high: tuple[float, ...] = eqx.field(static=True)


class Environment(eqx.Module):
    """A Markov decision process without rewards.

    The state is the vector whose occupancy is measured: what a policy sees, what a reward is a
    function of, and what an episode can be started from are the same thing.
    """

    max_episode_steps: ClassVar[int] = 200
    """Where collected episodes are truncated; dynamics know of no time limit."""

    @property
    @abc.abstractmethod
    def state_names(self) -> tuple[str, ...]:
        """One name per component of the state."""

    @property
    @abc.abstractmethod
    def state_space(self) -> Box:
        """Where states lie."""

    @property
    @abc.abstractmethod
    def action_space(self) -> Box | Discrete:
        """What a policy chooses from."""

    @abc.abstractmethod
    def reset(self, key: PRNGKeyArray) -> Float[Array, "d"]:
        """Draws a start state."""

    @abc.abstractmethod
    def step(
        self, key: PRNGKeyArray, state: Float[Array, "d"], action: Action
    ) -> tuple[Float[Array, "d"], Bool[Array, ""]]:
        """Draws the next state and tells whether the episode terminated in it."""
