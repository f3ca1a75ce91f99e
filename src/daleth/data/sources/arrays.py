"""Trajectories from arrays that the user has in hand."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from daleth._typing import ArrayLike
from daleth.data import _validation
from daleth.data.episodes import End, parse_end, parse_ends
from daleth.data.trajectories import Trajectories

_KEYS = ("states", "actions", "rewards", "end")


def from_arrays(
    states: ArrayLike,
    actions: ArrayLike | None = None,
    rewards: ArrayLike | None = None,
    ends: object = "open",
) -> Trajectories:
    """Trajectories from one episode, or from several of one length.

    Args:
        states: `[E, T+1, d]`, or `[T+1, d]` for one episode; final states included.
        actions: `[E, T]` or `[E, T, a]`, one per transition; without `E` for one episode.
        rewards: `[E, T]`, likewise.
        ends: `"terminated"`, `"truncated"` or `"open"`; one for all, or one per episode.

    Example:
        >>> Trajectories.from_arrays([[[0.0], [1.0]], [[1.0], [3.0]]], ends="truncated")
        Trajectories(2 episodes, 4 frames, state_dim=1)
    """
    given = {"states": states, "actions": actions, "rewards": rewards}
    arrays = {
        name: _validation.real_array(name, value)
        for name, value in given.items()
        if value is not None
    }
    rank = arrays["states"].ndim
    if rank not in (2, 3):
        raise ValueError(
            f"states must have shape [E, T+1, d] or [T+1, d], got {arrays['states'].shape}"
        )
    if rank == 2:
        arrays = {name: array[None] for name, array in arrays.items()}
    counts = {name: len(array) if array.ndim else 0 for name, array in arrays.items()}
    if len(set(counts.values())) > 1:
        raise ValueError(f"all arrays must have the same number of episodes, got {counts}")
    episodes = [dict(zip(arrays, rows, strict=True)) for rows in zip(*arrays.values(), strict=True)]
    return from_episodes(episodes, ends)


def from_episodes(episodes: object, ends: object = "open") -> Trajectories:
    """Trajectories from a list of episodes of any lengths.

    Args:
        episodes: each an array of states `[T+1, d]`, final state included; or a dict with
            `states` and, if there are any, `actions` `[T]` or `[T, a]`, `rewards` `[T]` and
            `end`.
        ends: `"terminated"`, `"truncated"` or `"open"`; one for all, or one per episode. An
            episode's own `end` goes first.

    Example:
        >>> first = {"states": [[0.0], [1.0], [2.0]], "actions": [1, 1], "end": "terminated"}
        >>> second = {"states": [[0.0], [-1.0]], "actions": [0]}
        >>> Trajectories.from_episodes([first, second])
        Trajectories(2 episodes, 5 frames, state_dim=1, actions)
    """
    if not isinstance(episodes, Sequence | np.ndarray) or isinstance(episodes, str):
        raise ValueError(f"episodes must be a list of episodes, got {type(episodes).__name__}")
    if len(episodes) == 0:
        raise ValueError("there must be at least one episode, got none")
    dicts = [_as_dict(number, episode) for number, episode in enumerate(episodes)]
    default = parse_ends(ends, len(dicts))
    own = [
        parse_end(one["end"]) if "end" in one else End(end)
        for one, end in zip(dicts, default, strict=True)
    ]
    states = [_episode_states(number, one["states"]) for number, one in enumerate(dicts)]
    _check_same_dim(states)
    lengths = np.array([len(one) for one in states])
    _validation.check_lengths(lengths)
    return Trajectories(
        np.concatenate(states),
        np.concatenate([[0], np.cumsum(lengths)]),
        own,
        _pad_and_join("actions", _validation.as_actions, dicts, lengths),
        _pad_and_join("rewards", _validation.as_rewards, dicts, lengths),
    )


def concatenate(parts: Sequence[Trajectories]) -> Trajectories:
    """The episodes of several data sets, one after another."""
    if len(parts) == 0:
        raise ValueError("there must be at least one data set to concatenate, got none")
    joined = {}
    for name in ("states", "actions", "rewards"):
        arrays = [getattr(part, name) for part in parts]
        kinds = {"none" if a is None else f"{a.dtype}{list(a.shape[1:])}" for a in arrays}
        if len(kinds) > 1:
            raise ValueError(f"{name} must be alike in all data sets, got {sorted(kinds)}")
        joined[name] = None if arrays[0] is None else np.concatenate(arrays)
    lengths = np.concatenate([part.lengths for part in parts])
    return Trajectories._trusted(
        **joined,
        offsets=np.concatenate([[0], np.cumsum(lengths)]),
        ends=np.concatenate([part.ends for part in parts]),
    )


def _as_dict(number: int, episode: object) -> dict:
    if not isinstance(episode, Mapping):
        return {"states": episode}
    unknown = [key for key in episode if key not in _KEYS]
    if unknown:
        raise ValueError(f"episode {number} has the unknown key {unknown[0]!r}, known are {_KEYS}")
    if episode.get("states") is None:
        raise ValueError(f"episode {number} has no 'states'")
    return {key: value for key, value in episode.items() if value is not None}


def _episode_states(number: int, value: object) -> np.ndarray:
    states = _validation.real_array(f"states of episode {number}", value)
    if states.shape == (0,):
        raise ValueError(f"episode {number} is empty: an episode needs at least 2 states")
    return _validation.as_states(states, f"states of episode {number}")


def _check_same_dim(states: list[np.ndarray]) -> None:
    dim = states[0].shape[1]
    for number, one in enumerate(states):
        if one.shape[1] != dim:
            raise ValueError(
                "all states must have the same dimension, "
                f"got {dim} in episode 0 and {one.shape[1]} in episode {number}"
            )


def _pad_and_join(
    name: str, convert: Callable, dicts: list[dict], lengths: np.ndarray
) -> np.ndarray | None:
    """All episodes' rows, with a filler of zeros for each final state; none if none has any."""
    have = [name in one for one in dicts]
    if not any(have):
        return None
    if not all(have):
        raise ValueError(
            f"either all episodes have {name} or none, episode {have.index(False)} lacks them"
        )
    arrays = []
    for number, (one, length) in enumerate(zip(dicts, lengths, strict=True)):
        array = convert(one[name], f"{name} of episode {number}")
        if len(array) != length - 1:
            raise ValueError(
                f"episode {number} has {length} states and so {length - 1} transitions, "
                f"but {len(array)} {name}"
            )
        arrays.append(array)
        kinds = [f"{array.dtype}{list(array.shape[1:])}" for array in (arrays[0], array)]
        if kinds[0] != kinds[1]:
            raise ValueError(
                f"{name} must have one dtype and shape, "
                f"got {kinds[0]} in episode 0 and {kinds[1]} in episode {number}"
            )
    filler = np.zeros_like(arrays[0][:1])
    return np.concatenate([part for array in arrays for part in (array, filler)])
