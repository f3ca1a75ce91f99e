"""One episode, and how it ended."""

import dataclasses
import enum

import numpy as np
from jaxtyping import Float32, Shaped


class End(enum.IntEnum):
    """How an episode ended; the numbers are those of stored files."""

    OPEN = 0
    """The recording stops, the episode does not."""
    TRUNCATED = 1
    """A time limit or the like stopped it; the process would have gone on."""
    TERMINATED = 2
    """The last state is absorbing: the process stays there for ever."""


@dataclasses.dataclass(frozen=True, eq=False)
class Episode:
    """The states $x_0, …, x_T$ of one episode, final state included, and what led along them.

    Attributes:
        states: `[T+1, d]`.
        actions: `[T]` or `[T, a]`, where `actions[t]` leads from `states[t]` to `states[t+1]`.
        rewards: `[T]`, along with the actions.
        end: how the episode ended in `states[T]`.
    """

    states: Float32[np.ndarray, "frames d"]
    actions: Shaped[np.ndarray, "steps *a"] | None
    rewards: Float32[np.ndarray, "steps"] | None
    end: End


_NAMES = {end.name.lower(): end for end in End}


def parse_end(value: object) -> End:
    """One end, from an `End` or its name in lower case."""
    if isinstance(value, str) and value in _NAMES:
        return _NAMES[value]
    if isinstance(value, End):
        return value
    raise ValueError(f"an end must be 'terminated', 'truncated' or 'open', got {value!r}")


def parse_ends(value: object, num_episodes: int) -> np.ndarray:
    """`uint8 [E]` from one end for all episodes, a sequence of ends, or their numbers."""
    if isinstance(value, str | End):
        return np.full(num_episodes, parse_end(value), np.uint8)
    if isinstance(value, np.ndarray) and value.dtype == np.uint8:
        if value.size and value.max() > max(End):
            raise ValueError(f"an end must be a number up to {max(End):d}, got {value.max()}")
        ends = value
    elif isinstance(value, list | tuple | np.ndarray):
        ends = np.array([parse_end(one) for one in value], np.uint8)
    else:
        raise ValueError(f"ends must be one end or one per episode, got {value!r}")
    if ends.shape != (num_episodes,):
        raise ValueError(f"there must be one end per episode ({num_episodes}), got {ends.shape}")
    return ends


def end_of(terminated: bool | np.bool, truncated: bool | np.bool) -> End:
    """The end that a pair of Gymnasium flags stands for; termination goes first."""
    if terminated:
        return End.TERMINATED
    return End.TRUNCATED if truncated else End.OPEN
