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
) -> Float[np.ndarray, "m d"]:
    """Farthest-point centres in normalised units: each next one is farthest from all before.

    Candidates are at most 65,536 of the frames. Fewer centres come back if there are fewer
    different candidates.
    """
    rng = np.random.default_rng(np.asarray(jax.random.key_data(key)))
    if len(frames) > _CANDIDATES:
        frames = frames[np.sort(rng.integers(len(frames), size=_CANDIDATES))]
    first = rng.integers(len(frames), dtype=np.int32)
    centres, gaps = _farthest_points(states[frames], normalisation, first, num_centres)
    return np.asarray(centres)[np.asarray(gaps) > 0]


def stratum_of(
    states: Float[np.ndarray, "n d"],
    frames: Int32[np.ndarray, "s"],
    normalisation: Normalisation,
    centres: Float[np.ndarray, "m d"],
) -> Int[np.ndarray, "s"]:
    """The nearest centre of each frame."""
    return np.asarray(_nearest(states[frames], normalisation, centres))


@jax.jit(static_argnames="num_centres")
def _farthest_points(
    states: Float[Array, "c d"],
    normalisation: Normalisation,
    first: Int[Array, ""],
    num_centres: int,
) -> tuple[Float[Array, "m d"], Float[Array, "m"]]:
    """The centres, and how far each was from those before it."""
    candidates = normalisation.apply(states)

    def add(carry, _):
        nearest, centre = carry
        nearest = jnp.minimum(nearest, jnp.sum((candidates - centre) ** 2, axis=-1))
        following = jnp.argmax(nearest)
        return (nearest, candidates[following]), (candidates[following], nearest[following])

    start = (jnp.full(len(candidates), jnp.inf), candidates[first])
    _, (centres, gaps) = jax.lax.scan(add, start, length=num_centres - 1)
    centres = jnp.concatenate([candidates[first][None], centres])
    return centres, jnp.concatenate([jnp.ones(1), gaps])


@jax.jit
def _nearest(
    states: Float[Array, "s d"], normalisation: Normalisation, centres: Float[Array, "m d"]
) -> Int[Array, "s"]:
    offsets = jnp.sum(centres**2, axis=-1)

    def nearest(state: Float[Array, "d"]) -> Int[Array, ""]:
        # |x - c|^2 = |x|^2 - 2 x.c + |c|^2, and |x|^2 is the same for all centres.
        return jnp.argmin(offsets - 2 * centres @ normalisation.apply(state))

    return jax.lax.map(nearest, states, batch_size=_CHUNK)
