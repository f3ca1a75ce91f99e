"""Policies that look at nothing: fixed odds, fixed actions."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray, Shaped

from daleth import _checks
from daleth._typing import ArrayLike
from daleth.envs.base import Box, Discrete


class CategoricalPolicy(eqx.Module):
    """Draws action `i` with probability `probabilities[i]`, in every state.

    Example:
        >>> policy = CategoricalPolicy([0.0, 1.0])
        >>> print(policy(jax.random.key(0), jnp.zeros(2)))
        1
    """

    probabilities: Float[Array, "n"]

    def __init__(self, probabilities: ArrayLike):
        self.probabilities = jnp.asarray(
            _checks.probabilities("probabilities", probabilities, rank=1)
        )

    def __call__(self, key: PRNGKeyArray, state: Float[Array, "d"]) -> Int[Array, ""]:
        """Draws an action."""
        del state
        return jax.random.categorical(key, jnp.log(self.probabilities))


class BoxUniformPolicy(eqx.Module):
    """Draws every component of the action evenly between its bounds, in every state."""

    box: Box

    def __check_init__(self) -> None:
        if not np.isfinite([*self.box.low, *self.box.high]).all():
            raise ValueError(f"a uniform policy needs finite bounds, got {self.box}")

    def __call__(self, key: PRNGKeyArray, state: Float[Array, "d"]) -> Float[Array, "a"]:
        """Draws an action."""
        del state
        low, high = jnp.array(self.box.low), jnp.array(self.box.high)
        return jax.random.uniform(key, low.shape, low.dtype, low, high)


class ConstantPolicy(eqx.Module):
    """Takes the same action in every state: a vector, or a whole number for discrete actions."""

    action: Shaped[Array, "*a"]

    def __init__(self, action: ArrayLike):
        _checks.finite("action", action)
        self.action = jnp.asarray(action)

    def __call__(self, key: PRNGKeyArray, state: Float[Array, "d"]) -> Shaped[Array, "*a"]:
        """The action."""
        del key, state
        return self.action


def uniform(space: Box | Discrete) -> CategoricalPolicy | BoxUniformPolicy:
    """The policy that draws evenly from an action space."""
    if isinstance(space, Box):
        return BoxUniformPolicy(space)
    return CategoricalPolicy(np.full(space.num, 1 / space.num))
