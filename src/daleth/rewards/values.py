"""A reward evaluated many states at a time, whichever way it was written."""

import warnings

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from daleth import _checks
from daleth._typing import Reward


def reward_values(reward: Reward, states: Float[Array, "*shape d"]) -> Float[Array, "*shape"]:
    """The reward of each state.

    A function of one state, `[d] -> number`, works too: it is noticed by the shape of what it
    returns and called once per state, with a warning because that is slow.

    Args:
        reward: a vectorised function of states, `[n, d] -> [n]`.
        states: `[*shape, d]`.

    Returns:
        Rewards `[*shape]`.
    """
    if not callable(reward):
        raise ValueError(f"reward must be a function of states, got {reward!r}")
    flat = states.reshape(-1, states.shape[-1])
    if _checks.is_traced(states):
        values = jnp.asarray(reward(flat))
        if values.shape != flat.shape[:1]:
            raise ValueError("inside jit, reward must be vectorised: [n, d] -> [n]")
        return values.astype(states.dtype).reshape(states.shape[:-1])
    values = values_on_host(reward, np.asarray(flat))
    return jnp.asarray(values, states.dtype).reshape(states.shape[:-1])


def values_on_host(reward: Reward, states: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n"]:
    """The reward of each state, asked with NumPy arrays: nothing is compiled or sent around."""
    if not callable(reward):
        raise ValueError(f"reward must be a function of states, got {reward!r}")
    num, dimension = states.shape
    # With as many states as dimensions a wrong axis would go unnoticed: add one state.
    padded = np.concatenate([states, states[:1]]) if num == dimension else states
    with np.errstate(all="ignore"):
        values = _vectorised(reward, padded)
        if values is None:
            values = _one_by_one(reward, padded)
    values = values[:num].astype(states.dtype)
    if not np.isfinite(values).all():
        bad = int(np.argmin(np.isfinite(values)))
        raise ValueError(f"reward must be finite, got {values[bad]} at state {states[bad]}")
    return values


def _vectorised(reward: Reward, states: np.ndarray) -> np.ndarray | None:
    """Rewards of all states in one call, or None for a function of one state."""
    try:
        values = np.asarray(reward(states))
    except IndexError:
        _check_components(reward, states[0])
        return None
    except Exception:  # noqa: BLE001, perhaps it wants JAX arrays; if not, its own error shows next
        values = _vectorised_by_jax(reward, states)
    return values if values is not None and values.shape == states.shape[:1] else None


def _vectorised_by_jax(reward: Reward, states: np.ndarray) -> np.ndarray | None:
    try:
        return np.asarray(reward(jnp.asarray(states)))
    except (TypeError, ValueError, IndexError):
        return None  # a function of one state: `_one_by_one` shows its own error if it has one


def _check_components(reward: Reward, state: np.ndarray) -> None:
    """Whether the reward looks at components that are not there: NumPy tells, JAX would not."""
    try:
        reward(state)
    except IndexError as error:
        raise ValueError(
            f"reward must be a function of states with {len(state)} components: {error}"
        ) from error


def _one_by_one(reward: Reward, states: np.ndarray) -> np.ndarray:
    first = np.asarray(reward(states[0]))
    if first.size != 1:
        raise ValueError(
            f"reward must map states [n, {states.shape[1]}] to [n] numbers, "
            f"but one state gave shape {first.shape}"
        )
    warnings.warn(
        "reward is not vectorised and is called once per state; write it for states "
        "[..., d], for example x[..., 0] instead of x[0], to make it fast",
        stacklevel=2,
    )
    return np.array([np.asarray(reward(state)).item() for state in states], dtype=states.dtype)
