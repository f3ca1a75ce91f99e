"""What a data set holds, in a few lines."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from daleth._typing import ArrayLike
from daleth.data import _validation
from daleth.data.episodes import End
from daleth.data.normalise import Normalisation
from daleth.data.trajectories import Trajectories

_CHUNK = 1 << 16


@dataclasses.dataclass(frozen=True)
class Description:
    """A summary of trajectories; print it, or take `to_dict()`.

    Attributes:
        num_episodes: episodes.
        num_frames: states, final ones included.
        num_transitions: frames minus episodes.
        steps_per_episode: least, median and largest number of transitions of an episode.
        ends: how many episodes ended in which way.
        low: smallest value per dimension of the state.
        high: largest value per dimension.
        mean: mean per dimension.
        scale: standard deviation per dimension, 1 where the dimension is constant.
        num_duplicates: frames whose state is exactly that of an earlier frame.
        source_distances: from each given source state to the nearest frame, in units of `scale`.
        num_bytes: bytes of all arrays.
    """

    num_episodes: int
    num_frames: int
    num_transitions: int
    steps_per_episode: tuple[int, float, int]
    ends: dict[str, int]
    low: tuple[float, ...]
    high: tuple[float, ...]
    mean: tuple[float, ...]
    scale: tuple[float, ...]
    num_duplicates: int
    source_distances: tuple[float, ...] | None
    num_bytes: int

    def to_dict(self) -> dict:
        """All of it as plain numbers, lists and dicts, ready for JSON."""
        plain = dataclasses.asdict(self)
        return {name: list(v) if isinstance(v, tuple) else v for name, v in plain.items()}

    def __str__(self) -> str:
        least, median, most = self.steps_per_episode
        share = self.num_duplicates / self.num_frames
        lines = [
            f"episodes    {self.num_episodes:,} ({self.num_frames:,} frames, "
            f"{self.num_transitions:,} transitions, {_readable(self.num_bytes)})",
            f"lengths     min {least:,}, median {median:,.5g}, max {most:,} transitions",
            "ends        " + ", ".join(f"{count:,} {name}" for name, count in self.ends.items()),
            f"duplicates  {self.num_duplicates:,} frames ({share:.1%}) repeat an earlier state",
            f"{'dimension':<10}{'min':>12}{'mean':>12}{'max':>12}{'scale':>12}",
        ]
        columns = zip(self.low, self.mean, self.high, self.scale, strict=True)
        for dimension, row in enumerate(columns):
            lines.append(f"{dimension:<10}" + "".join(f"{value:12.4g}" for value in row))
        if self.source_distances is not None:
            distances = np.array(self.source_distances)
            lines.append(
                f"coverage    {len(distances)} source states, distance to the nearest frame in "
                f"scales: median {np.median(distances):.3g}, max {distances.max():.3g} "
                f"(source {distances.argmax()})"
            )
        return "\n".join(lines)


def describe(data: Trajectories, source_states: ArrayLike | None = None) -> Description:
    """Summarises a data set.

    Args:
        data: the trajectories.
        source_states: one state `[d]` or several `[S, d]`, at which a model will be asked.

    Example:
        >>> data = Trajectories.from_arrays([[0.0], [2.0], [2.0]], ends="truncated")
        >>> print(data.describe(source_states=[[3.0]]))
        episodes    1 (3 frames, 2 transitions, 29 B)
        lengths     min 2, median 2, max 2 transitions
        ends        0 terminated, 1 truncated, 0 open
        duplicates  1 frames (33.3%) repeat an earlier state
        dimension          min        mean         max       scale
        0                    0       1.333           2      0.9428
        coverage    1 source states, distance to the nearest frame in scales:
            median 1.06, max 1.06 (source 0)
    """
    steps = data.lengths - 1
    low, high = data.states.min(axis=0), data.states.max(axis=0)
    normalisation = data.normalisation()
    arrays = (data.states, data.offsets, data.ends, data.actions, data.rewards)
    return Description(
        num_episodes=data.num_episodes,
        num_frames=data.num_frames,
        num_transitions=data.num_frames - data.num_episodes,
        steps_per_episode=(int(steps.min()), float(np.median(steps)), int(steps.max())),
        ends={end.name.lower(): int((data.ends == end).sum()) for end in reversed(End)},
        low=_floats(low),
        high=_floats(high),
        mean=_floats(normalisation.mean),
        scale=_floats(normalisation.scale),
        num_duplicates=_num_duplicates(data.states),
        source_distances=_source_distances(
            data.states,
            normalisation,
            None if source_states is None else np.atleast_2d(source_states),
        ),
        num_bytes=sum(array.nbytes for array in arrays if array is not None),
    )


def _num_duplicates(states: np.ndarray) -> int:
    # Several times faster than np.unique.
    hashes = np.sort(_row_hashes(states))
    return int((hashes[1:] == hashes[:-1]).sum())


def _row_hashes(states: np.ndarray) -> np.ndarray:
    """One 64-bit number per row; that two of 10^7 different rows collide has chance 10^-5."""
    multipliers = np.random.default_rng(0).integers(2**63, size=states.shape[1], dtype=np.uint64)
    hashes = np.empty(len(states), np.uint64)
    for start in range(0, len(states), _CHUNK):
        # Adding zero makes -0.0 and 0.0 the same bits.
        bits = np.ascontiguousarray(states[start : start + _CHUNK] + np.float32(0)).view(np.uint32)
        mixed = np.zeros(len(bits), np.uint64)
        for column, multiplier in zip(bits.T, multipliers, strict=True):
            mixed = (mixed ^ column) * (multiplier | np.uint64(1))
            mixed ^= mixed >> np.uint64(32)
        hashes[start : start + _CHUNK] = mixed
    return hashes


def _source_distances(
    states: np.ndarray, normalisation: Normalisation, source_states: ArrayLike | None
) -> tuple[float, ...] | None:
    if source_states is None:
        return None
    sources = _validation.as_states(source_states, "source_states")
    if sources.shape[1] != states.shape[1]:
        raise ValueError(
            f"source_states must have dimension {states.shape[1]} like the data, "
            f"got shape {sources.shape}"
        )
    _validation.check_finite("source_states", sources, np.array([0, len(sources)]))
    scaled = jnp.asarray(sources) / normalisation.scale
    nearest = jnp.full(len(sources), jnp.inf)
    for start in range(0, len(states), _CHUNK):
        piece = jnp.asarray(states[start : start + _CHUNK]) / normalisation.scale
        nearest = jnp.minimum(nearest, _nearest_squared(scaled, piece))
    return _floats(jnp.sqrt(nearest))


@jax.jit
def _nearest_squared(
    sources: Float[Array, "s d"], states: Float[Array, "c d"]
) -> Float[Array, "s"]:
    # Differences and not inner products, so that a state that is in the data has distance 0.
    return jnp.min(jnp.sum((states[:, None] - sources) ** 2, axis=-1), axis=0)


def _floats(values) -> tuple[float, ...]:
    # Adding zero keeps "-0" out of the text.
    return tuple(float(value) + 0.0 for value in values)


def _readable(num_bytes: int) -> str:
    size = float(num_bytes)
    for unit in ("B", "kB", "MB"):
        if size < 1000:
            return f"{size:.3g} {unit}"
        size /= 1000
    return f"{size:.3g} GB"
