"""Trajectories from the flat arrays of a replay buffer."""

import numpy as np

from daleth._typing import ArrayLike
from daleth.data import _validation
from daleth.data.episodes import End
from daleth.data.trajectories import Trajectories


def from_flat(
    states: ArrayLike,
    terminated: ArrayLike,
    truncated: ArrayLike | None = None,
    *,
    next_states: ArrayLike | None = None,
    actions: ArrayLike | None = None,
    rewards: ArrayLike | None = None,
) -> Trajectories:
    """Trajectories from flat arrays with flags, in the order in which they were recorded.

    Two layouts are read; they differ in where the final observation of an episode stands.

    - *Transitions*, with `next_states`: row `t` is one transition, its flags tell whether the
      episode ended in `next_states[t]`. Where no flag is set, `next_states[t]` has to equal
      `states[t+1]`; roll a ring buffer so that its oldest row comes first.
    - *Frames*, without `next_states`: the final observation is a row of `states` of its own,
      and the flags of row `t` tell whether the episode ended in `states[t]`. What stands in
      `actions` and `rewards` of such a row is ignored. A buffer whose flags belong to
      transitions but which threw the final observations away is *not* of this kind.

    An episode with both flags counts as terminated. Rows after the last flag are an open episode.

    Args:
        states: `[M, d]`.
        terminated: `[M]`, true or false.
        truncated: `[M]`, true or false; default never.
        next_states: `[M, d]`, or none for the layout of frames.
        actions: `[M]` or `[M, a]`.
        rewards: `[M]`.

    Example:
        >>> states, following = [[0.0], [1.0], [7.0]], [[1.0], [2.0], [8.0]]
        >>> data = Trajectories.from_flat(states, [False, True, False], next_states=following)
        >>> [episode.states.ravel().tolist() for episode in data]
        [[0.0, 1.0, 2.0], [7.0, 8.0]]
    """
    checked = _validation.as_states(states)
    if len(checked) == 0:
        raise ValueError("states must not be empty, got no row")
    codes = _end_codes(terminated, truncated, len(checked))
    rows = {
        "actions": None if actions is None else _validation.as_actions(actions),
        "rewards": None if rewards is None else _validation.as_rewards(rewards),
    }
    for name, array in rows.items():
        if array is not None:
            _validation.check_rows(name, array, len(checked))
    if next_states is None:
        return _from_frames(checked, codes, rows)
    return _from_transitions(
        checked, _validation.as_states(next_states, "next_states"), codes, rows
    )


def _end_codes(terminated: ArrayLike, truncated: ArrayLike | None, size: int) -> np.ndarray:
    """The end in each row as a number, and 0 where no flag is set."""
    codes = np.zeros(size, np.uint8)
    flags = {End.TRUNCATED: truncated, End.TERMINATED: terminated}
    for end, value in flags.items():
        if value is None:
            continue
        array = _validation.real_array(end.name.lower(), value)
        if array.shape != (size,) or not np.isin(array, (0, 1)).all():
            raise ValueError(
                f"{end.name.lower()} must be true or false for each of the {size} rows, "
                f"got {array.dtype} of shape {array.shape}"
            )
        codes[array.astype(bool)] = end
    return codes


def _from_frames(states: np.ndarray, codes: np.ndarray, rows: dict) -> Trajectories:
    final = np.append(np.flatnonzero(codes[:-1]), len(states) - 1)
    for name, array in rows.items():
        if array is not None:
            rows[name] = array = array.copy()
            array[final] = 0
    return Trajectories(states, np.append(0, final + 1), codes[final], **rows)


def _from_transitions(
    states: np.ndarray, next_states: np.ndarray, codes: np.ndarray, rows: dict
) -> Trajectories:
    if next_states.shape != states.shape:
        raise ValueError(
            f"next_states must have the shape of states {states.shape}, got {next_states.shape}"
        )
    for name, array in {"states": states, "next_states": next_states}.items():
        _validation.check_finite(name, array, np.append(0, np.flatnonzero(codes) + 1))
    last = np.append(np.flatnonzero(codes[:-1]), len(states) - 1)
    broken = (next_states[:-1] != states[1:]).any(axis=1) & (codes[:-1] == 0)
    if broken.any():
        row = int(np.argmax(broken))
        raise ValueError(
            f"next_states[{row}] differs from states[{row + 1}] although no flag in row {row} "
            "ends an episode"
        )
    # The final observation goes behind the last transition of its episode.
    padded = {
        name: array if array is None else np.insert(array, last + 1, 0, axis=0)
        for name, array in rows.items()
    }
    frames = np.insert(states, last + 1, next_states[last], axis=0)
    offsets = np.append(0, last + 1 + np.arange(1, len(last) + 1))
    return Trajectories(frames, offsets, codes[last], **padded)
