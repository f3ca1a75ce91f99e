"""Rewards: functions of states, evaluated many states at a time."""

import warnings
from typing import Any

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
    num, dimension = flat.shape
    # With as many states as dimensions a wrong axis would go unnoticed: add one state.
    padded = jnp.concatenate([flat, flat[:1]]) if num == dimension else flat
    if not _checks.is_traced(states):
        _check_components(reward, np.asarray(flat[:2]))
    values = _vectorised(reward, padded)
    if values is None:
        if _checks.is_traced(states):
            raise ValueError("inside jit, reward must be vectorised: [n, d] -> [n]")
        values = _one_by_one(reward, np.asarray(padded))
    values = values[:num]
    if not _checks.is_traced(values) and not np.isfinite(values).all():
        bad = int(np.argmin(np.isfinite(values)))
        raise ValueError(f"reward must be finite, got {values[bad]} at state {flat[bad]}")
    return jnp.asarray(values, states.dtype).reshape(states.shape[:-1])


def _check_components(reward: Reward, states: np.ndarray) -> None:
    """Asks NumPy whether the reward looks at components that are not there: JAX would not tell."""
    for block in (states, states[0]):
        try:
            reward(block)
        except IndexError as error:
            missing = error
        except Exception:  # noqa: BLE001, whatever it is shows where the reward is really called
            return
        else:
            return
    raise ValueError(
        f"reward must be a function of states with {states.shape[1]} components: {missing}"
    ) from missing


def _vectorised(reward: Reward, states: Array) -> Any:
    try:
        values = jnp.asarray(reward(states))
    except (TypeError, ValueError, IndexError):
        return None  # a function of one state: `_one_by_one` shows its own error if it has one
    return values if values.shape == states.shape[:-1] else None


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
