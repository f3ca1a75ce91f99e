"""Strata of the state space: the cells around centres that lie far apart."""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Int32, PRNGKeyArray

from daleth.data.normalise import Normalisation

_CANDIDATES = 1 << 16
_CHUNK = 1 << 16


def spread_centres(
    states: Float[np.ndarray, "n d"],
    frames: Int32[np.ndarray, "s"],
    normalisation: Normalisation,
    key: PRNGKeyArray,
    num_centres: int,
) -> Float[Array, "m d"]:
    """Farthest-point centres in normalised units: each next one is farthest from all before.

    Candidates are at most 65,536 of the frames. Fewer centres come back if there are fewer
    different candidates.
    """
    key_candidates, key_first = jax.random.split(key)
    if len(frames) > _CANDIDATES:
        picks = jax.random.randint(key_candidates, (_CANDIDATES,), 0, len(frames))
        frames = frames[np.sort(np.asarray(picks))]
    candidates = normalisation.apply(jnp.asarray(states[frames]))
    first = candidates[jax.random.randint(key_first, (), 0, len(candidates))]
    centres, gaps = _farthest_points(candidates, first, num_centres)
    return centres[np.asarray(gaps) > 0]


def stratum_of(
    states: Float[np.ndarray, "n d"],
    frames: Int32[np.ndarray, "s"],
    normalisation: Normalisation,
    centres: Float[Array, "m d"],
) -> Int[np.ndarray, "s"]:
    """The nearest centre of each frame."""
    pieces = [
        _nearest(normalisation.apply(jnp.asarray(states[frames[start : start + _CHUNK]])), centres)
        for start in range(0, len(frames), _CHUNK)
    ]
    return np.concatenate([np.asarray(piece) for piece in pieces])


@jax.jit(static_argnames="num_centres")
def _farthest_points(
    candidates: Float[Array, "c d"], first: Float[Array, "d"], num_centres: int
) -> tuple[Float[Array, "m d"], Float[Array, "m"]]:
    """The centres, and how far each was from those before it."""

    def add(carry, _):
        nearest, centre = carry
        nearest = jnp.minimum(nearest, jnp.sum((candidates - centre) ** 2, axis=-1))
        following = jnp.argmax(nearest)
        return (nearest, candidates[following]), (candidates[following], nearest[following])

    start = (jnp.full(len(candidates), jnp.inf), first)
    _, (centres, gaps) = jax.lax.scan(add, start, length=num_centres - 1)
    return jnp.concatenate([first[None], centres]), jnp.concatenate([jnp.ones(1), gaps])


@jax.jit
def _nearest(points: Float[Array, "c d"], centres: Float[Array, "m d"]) -> Int[Array, "c"]:
    # |x - c|^2 = |x|^2 - 2 x.c + |c|^2, and |x|^2 is the same for all centres.
    return jnp.argmin(jnp.sum(centres**2, axis=-1) - 2 * points @ centres.T, axis=-1)
