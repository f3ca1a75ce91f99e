"""Where the data are: a model knows little about states that no trajectory came near."""

import dataclasses

import numpy as np
from jaxtyping import Float, Int

from daleth.data import Normalisation, Trajectories

OUTSIDE = 0.99
"""A source state farther from the data than this share of held-out states is outside of them."""

_MAX_FRAMES = 200_000
_CHUNK = 8192


@dataclasses.dataclass(frozen=True)
class Support:
    """Distances to the nearest frame of the held-out data, in standard deviations of the states.

    Attributes:
        heldout: of held-out start states, to frames other than those just around them in their
            own episode, `[s]`: what is usual inside the data.
        sources: of the source states that were asked for, `[q]`.
    """

    heldout: Float[np.ndarray, "s"]
    sources: Float[np.ndarray, "q"]

    @property
    def limit(self) -> float:
        """The distance beyond which a source state is outside of the data."""
        return float(np.quantile(self.heldout, OUTSIDE)) + 1e-5

    @property
    def percentiles(self) -> Float[np.ndarray, "q"]:
        """The share of held-out states that are nearer to the others than each source is."""
        return (self.heldout[:, None] < self.sources - 1e-5).mean(axis=0)

    def outside(self) -> Int[np.ndarray, "o"]:
        """The numbers of the source states that are outside of the data."""
        return np.flatnonzero(self.sources > self.limit)


def support(
    data: Trajectories,
    normalisation: Normalisation,
    rows: Int[np.ndarray, "s"],
    spacing: int,
    source_states: Float[np.ndarray, "q d"],
) -> Support:
    """Compares source states with what is usual among held-out states.

    Of more than 200,000 frames some at equal distances are looked at, for both sides alike.

    Args:
        data: held-out trajectories.
        normalisation: the units.
        rows: those of held-out start states.
        spacing: frames of the same episode fewer steps away than this do not count as neighbours:
            the next frame of the same trajectory is always near.
        source_states: the states asked for.
    """
    frames = np.arange(0, data.num_frames, -(-data.num_frames // _MAX_FRAMES))
    episode = np.searchsorted(data.offsets, frames, side="right") - 1
    own = np.searchsorted(data.offsets, rows, side="right") - 1
    asked = np.concatenate([data.states[rows], source_states]).astype(float)
    scale = np.asarray(normalisation.scale, float)
    nearest = np.full(len(asked), np.inf)
    for begin in range(0, len(frames), _CHUNK):
        piece = frames[begin : begin + _CHUNK]
        squared = _squared_distances(asked / scale, data.states[piece] / scale)
        near_in_time = np.abs(piece - rows[:, None]) < spacing
        same = episode[begin : begin + _CHUNK] == own[:, None]
        squared[: len(rows)][near_in_time & same] = np.inf
        nearest = np.minimum(nearest, squared.min(axis=1))
    found = np.sqrt(nearest)
    usual = found[: len(rows)]
    # A single short episode has no frame that is far enough in time.
    usual = usual[np.isfinite(usual)] if np.isfinite(usual).any() else np.zeros(1)
    return Support(usual, found[len(rows) :])


def _squared_distances(
    a: Float[np.ndarray, "a d"], b: Float[np.ndarray, "b d"]
) -> Float[np.ndarray, "a b"]:
    total = np.zeros((len(a), len(b)))
    # Differences and not inner products, so that equal states have distance 0.
    for column in range(a.shape[1]):
        total += (a[:, column, None] - b[:, column]) ** 2
    return total
