"""Policies that live outside of JAX: trained models of other libraries, plain NumPy functions.

They run one state at a time and cannot be traced, so they work wherever an environment is stepped
through Gymnasium and nowhere inside a compiled rollout.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray, Shaped

from daleth import _checks

if TYPE_CHECKING:
    NumpyFunction = Callable[[np.ndarray], Any]
else:
    NumpyFunction = Any


class HostPolicy(eqx.Module):
    """A NumPy function of one state as a policy; its randomness is its own, the key is not used."""

    function: NumpyFunction = eqx.field(static=True)

    def __check_init__(self) -> None:
        if not callable(self.function):
            raise ValueError(f"the policy must be a function of a state, got {self.function!r}")

    def __call__(self, key: PRNGKeyArray, state: Float[Array, "d"]) -> Shaped[Array, "*a"]:
        """Calls the function: whole numbers become one number, real ones a vector."""
        if _checks.is_traced(key, state):
            raise ValueError(
                "a NumPy, SB3 or SBX policy cannot run inside a compiled JAX function: "
                "collect its trajectories through a Gymnasium environment"
            )
        action = np.asarray(self.function(np.asarray(state)))
        _checks.finite("action", action)
        whole = action.dtype.kind in "iu" and action.size == 1
        return jnp.asarray(action.reshape(()) if whole else np.atleast_1d(action))


def from_numpy(function: NumpyFunction) -> HostPolicy:
    """A policy from a function of a state, `[d] -> action`.

    Example:
        >>> import jax
        >>> policy = from_numpy(lambda state: -0.5 * state[2:])
        >>> print(policy(jax.random.key(0), jnp.array([1.0, 0.0, 4.0])))
        [-2.]
    """
    return HostPolicy(function)


def from_sb3(model: Any, deterministic: bool = False) -> HostPolicy:
    """A policy from a Stable-Baselines3 or SBX model, or anything with the same `predict`.

    Args:
        model: an object whose `predict(state, deterministic=...)` gives an action and a memory.
        deterministic: whether to take the mode of the model's action distribution.
    """
    if not callable(getattr(model, "predict", None)):
        raise ValueError(f"model must have a method predict, got {type(model).__name__}")
    return HostPolicy(lambda state: model.predict(state, deterministic=deterministic)[0])
