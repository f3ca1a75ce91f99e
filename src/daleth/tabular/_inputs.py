"""Checks that the tabular modules share: states are indices, rewards are vectors over states."""

import operator
from typing import SupportsIndex

import numpy as np
from jaxtyping import Float64

from daleth import _checks


def frozen(array: np.ndarray) -> np.ndarray:
    """A float64 copy that cannot be written to."""
    copy = np.array(array, dtype=np.float64)
    copy.flags.writeable = False
    return copy


def frozen_probabilities(array: np.ndarray) -> np.ndarray:
    """`array` with its last axis summing to 1 in float64, not only to the checked tolerance."""
    array = np.asarray(array, dtype=np.float64)
    return frozen(array / array.sum(axis=-1, keepdims=True))


def state_index(name: str, state: object, num_states: int) -> int:
    """`state` as an index of one of `num_states` states."""
    if isinstance(state, bool) or not isinstance(state, SupportsIndex):
        raise ValueError(f"{name} must be the index of a state, got {state!r}")
    try:
        index = operator.index(state)
    except TypeError as error:  # an array of floats, or of several numbers
        raise ValueError(f"{name} must be the index of one state, got {state!r}") from error
    if not 0 <= index < num_states:
        raise ValueError(f"{name} must lie in 0..{num_states - 1}, got {index}")
    return index


def reward_vector(reward: object, num_states: int) -> Float64[np.ndarray, "n"]:
    """`reward` as one finite number per state."""
    return reward_vectors(_checks.finite("reward", reward, rank=1), num_states)


def reward_vectors(reward: object, num_states: int) -> Float64[np.ndarray, "*batch n"]:
    """`reward` as one vector over states, or a batch of them."""
    vectors = _checks.finite("reward", reward)
    if vectors.ndim == 0 or vectors.shape[-1] != num_states:
        raise ValueError(
            f"reward must have one number for each of the {num_states} states, "
            f"got shape {vectors.shape}"
        )
    return np.asarray(vectors, dtype=np.float64)
