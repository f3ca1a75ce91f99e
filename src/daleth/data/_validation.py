"""Checks of whole data sets: each names the first row that is wrong."""

import numpy as np

_CHUNK = 1 << 18


def real_array(name: str, value: object) -> np.ndarray:
    """`value` as an array of real numbers."""
    try:
        array = np.asarray(value)
    except ValueError as error:
        raise ValueError(f"{name} must be one array, got rows of different lengths") from error
    if array.dtype.kind not in "fiub":
        raise ValueError(f"{name} must hold real numbers of one dtype, got {array.dtype}")
    return array


def as_float32(name: str, value: object) -> np.ndarray:
    """`value` as float32, copied only if it is not that already."""
    array = real_array(name, value)
    with np.errstate(over="ignore"):
        narrow = array.astype(np.float32, copy=False)
    if array.dtype == np.float64 and np.isinf(narrow).sum() > np.isinf(array).sum():
        largest = np.abs(array[np.isinf(narrow)]).max()
        raise ValueError(f"{name} must fit into float32, got {largest:g}")
    return narrow


def as_states(value: object, name: str = "states") -> np.ndarray:
    """`value` as states `float32 [N, d]`."""
    states = as_float32(name, value)
    if states.ndim == 1:
        raise ValueError(f"{name} must have shape [N, d], got {states.shape}: use x[:, None]")
    if states.ndim != 2 or states.shape[1] == 0:
        raise ValueError(f"{name} must have shape [N, d] with d >= 1, got {states.shape}")
    return states


def as_actions(value: object, name: str = "actions") -> np.ndarray:
    """`value` as whole numbers `int32 [N]` or `[N, a]`, or as vectors `float32 [N, a]`."""
    array = real_array(name, value)
    if array.ndim not in (1, 2):
        raise ValueError(f"{name} must have shape [N] or [N, a], got {array.shape}")
    if array.dtype.kind == "f":
        return as_float32(name, array)
    if array.size and (array.min() < -(2**31) or array.max() >= 2**31):
        raise ValueError(f"{name} must fit into int32, got {array.min()} to {array.max()}")
    return array.astype(np.int32, copy=False)


def as_rewards(value: object, name: str = "rewards") -> np.ndarray:
    """`value` as rewards `float32 [N]`."""
    rewards = as_float32(name, value)
    if rewards.ndim != 1:
        raise ValueError(f"{name} must have shape [N], got {rewards.shape}")
    return rewards


def as_offsets(value: object, num_states: int) -> np.ndarray:
    """`value` as `int64 [E+1]`: episode `i` is rows `offsets[i] : offsets[i+1]`."""
    array = real_array("offsets", value)
    if array.ndim != 1 or array.dtype.kind not in "iu" or len(array) < 2:
        raise ValueError(
            "offsets must be at least 2 whole numbers in one dimension, "
            f"got {array.dtype} of shape {array.shape}"
        )
    offsets = array.astype(np.int64, copy=False)
    if offsets[0] != 0:
        raise ValueError(f"offsets must start at 0, got {offsets[0]}")
    if offsets[-1] != num_states:
        raise ValueError(
            f"the lengths of the episodes add up to {offsets[-1]}, "
            f"but there are {num_states} states"
        )
    check_lengths(np.diff(offsets))
    return offsets


def check_lengths(lengths: np.ndarray) -> None:
    """Raises unless every episode has a transition."""
    if (lengths < 2).any():
        episode = int(np.argmax(lengths < 2))
        found = {0: "is empty", 1: "has one state and so no transition"}
        what = found.get(int(lengths[episode]), "has a negative length")
        raise ValueError(f"episode {episode} {what}: an episode needs at least 2 states")


def check_rows(name: str, array: np.ndarray, num_states: int) -> None:
    """Raises unless there is one row per state."""
    if len(array) != num_states:
        raise ValueError(f"{name} must have one row per state ({num_states}), got {len(array)}")


def check_finite(name: str, array: np.ndarray, offsets: np.ndarray) -> None:
    """Raises with row, episode and step of the first value that is not finite."""
    for start in range(0, len(array), _CHUNK):
        piece = np.asarray(array[start : start + _CHUNK])
        bad = ~np.isfinite(piece)
        if bad.any():
            index = np.argwhere(bad)[0]
            row = start + int(index[0])
            episode = int(np.searchsorted(offsets, row, side="right")) - 1
            raise ValueError(
                f"{name} must be finite, got {piece[tuple(index)]} in row {row} "
                f"(episode {episode}, step {row - offsets[episode]})"
            )
