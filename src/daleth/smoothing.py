"""Returns of atoms that serve all rewards at once, evened out along one reward."""

from functools import cache

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int
from scipy.special import ndtri

from daleth import risk
from daleth.measures import StateMeasures
from daleth.risk import Numbers

FEWEST_ATOMS = 16
"""Fewer are not smoothed: a fit would have about as many coefficients as there are neighbours."""
NUM_NEIGHBOURS = 4
_BANDWIDTHS = 0.05 * 2.0 ** np.arange(7)  # in standard deviations of a normal law
_WIDE = 10.0  # times the mean of five gaps at either side: a gap of the law
_NOT_ACROSS = 0.35  # of the distance to such a gap is the bandwidth, at most
_BLOCK = 2**17  # numbers
_SAME = 1e-6  # returns that differ by less, in units of the largest, are a point mass


@eqx.filter_jit
def nearest_atoms(measures: StateMeasures) -> Int[Array, "*batch m 4"]:
    """The four atoms that are most like each atom, by their first and second moments.

    Moments are those of states in units of the spread of all points at the source state.
    """
    points = measures.points.reshape(-1, *measures.points.shape[-3:])
    weights = measures.point_weights.reshape(points.shape[:-1])
    found = jax.vmap(_nearest)(points, weights)
    return found.reshape(*measures.batch_shape, *found.shape[1:])


def _nearest(points: Float[Array, "m k d"], weights: Float[Array, "m k"]) -> Int[Array, "m 4"]:
    shares = weights[..., None] / len(weights)
    centred = points - jnp.sum(shares * points, axis=(0, 1))
    spread = jnp.sqrt(jnp.sum(shares * centred**2, axis=(0, 1)))
    scaled = centred / jnp.where(spread > 0, spread, 1.0)
    first = jnp.einsum("mk,mki->mi", weights, scaled)
    second = 0.5 * jnp.einsum("mk,mki,mkj->mij", weights, scaled, scaled)
    moments = jnp.concatenate([first, second.reshape(len(first), -1)], axis=-1)
    squared = jnp.sum((moments[:, None] - moments) ** 2, axis=-1)
    others = squared + jnp.diag(jnp.full(len(squared), jnp.inf))
    return jax.lax.top_k(-others, NUM_NEIGHBOURS)[1]


def smooth_returns(returns: Numbers, neighbours: Numbers) -> Numbers:
    r"""Moves `m` equally likely returns `[*batch, m]` to where quantiles of a smooth law would be.

    Sorted returns are quantiles $Q(p_i)$ at the levels $p_i = (i - 1/2) / m$. Atoms that are spread
    over many directions lie unevenly along each one of them. An atom stands for the futures around
    it, and its neighbours (`nearest_atoms`) say how far these reach along this reward: its *reach*
    is the mean distance of their returns from its own. Around each level, $Q$ is fitted by

    $$ Q(p) \approx a + b\, z(p) + c\, p, \qquad z(p) = \Phi^{-1}(p), $$

    a normal law and a uniform one, with weights $\exp(-(z - z_i)^2 / 2h^2)$. The bandwidth $h$ is
    the mean of $|z_i - z_j|$ over all atoms $i$ and their neighbours $j$. Where nothing varies but
    these returns, neighbours are next to each other, and next to nothing changes; in many
    dimensions they are not, and much is averaged.

    What is not smooth stays. No return moves further than about half its reach. Fits do not look
    across a gap that is ten times as wide, relative to that of normal quantiles, as those around
    it. Returns that are equal, a point mass, keep their value. The mean is kept, and so is the
    order. Modes that are nearer to each other than that are smeared a little.

    Args:
        returns: of `m` atoms, `[..., *batch, m]`; at least 16.
        neighbours: four of each atom, `[*batch, m, 4]`.

    Example:
        >>> atoms = np.random.default_rng(0).normal(size=(51, 8))
        >>> near = nearest_atoms(StateMeasures(atoms[:, None]))
        >>> uneven = np.sort(atoms[:, 0])
        >>> even = np.sort(smooth_returns(atoms[:, 0], near))
        >>> bool(np.diff(even, 2).std() < 0.5 * np.diff(uneven, 2).std())
        True
    """
    if risk.backend(returns, neighbours) is jnp or returns.ndim < np.ndim(neighbours):
        return _smooth(returns, neighbours)
    # Rewards after rewards, as many as stay in the processor's cache.
    rows = max(1, _BLOCK * len(returns) // returns.size)
    blocks = [returns[i : i + rows] for i in range(0, len(returns), rows)]
    return np.concatenate([_smooth(block, neighbours) for block in blocks])


def _smooth(returns: Numbers, neighbours: Numbers) -> Numbers:
    (values,) = risk.as_doubles(returns)
    xp = risk.backend(values, neighbours)
    order = xp.argsort(values, axis=-1, stable=True)
    back = xp.argsort(order, axis=-1)
    ordered = xp.take_along_axis(values, order, axis=-1)
    reach = xp.take_along_axis(_to_neighbours(values, neighbours), order, axis=-1)
    reach = xp.where(_tied(ordered), 0.0, reach)
    mean = values.mean(axis=-1, keepdims=True)
    ordered = ordered - mean
    scores = xp.asarray(_scores(values.shape[-1]), values.dtype)
    bandwidth = _to_neighbours(scores[back], neighbours).mean(axis=-1, keepdims=True)
    joined, room = _join(ordered, scores)
    fitted = _fitted(joined, xp.minimum(bandwidth, _NOT_ACROSS * room))
    move = xp.clip(fitted - joined, -reach / 2, reach / 2)
    # What the mean has moved is taken back in proportion to the reach, so point masses stay.
    whole = reach.mean(axis=-1, keepdims=True)
    move = move - move.mean(axis=-1, keepdims=True) * reach / xp.where(whole > 0, whole, 1.0)
    even = xp.sort(ordered + move, axis=-1) + mean
    return xp.take_along_axis(even, back, axis=-1).astype(returns.dtype)


def _to_neighbours(values: Numbers, neighbours: Numbers) -> Numbers:
    """The mean distance of the values of neighbours, one for each atom."""
    xp = risk.backend(values, neighbours)
    near = xp.asarray(neighbours)
    lead = (1,) * (values.ndim + 1 - near.ndim)
    there = xp.take_along_axis(values[..., None, :], near.reshape(*lead, *near.shape), axis=-1)
    return abs(there - values[..., None]).mean(axis=-1)


def _tied(ordered: Numbers) -> Numbers:
    """Which sorted values are equal to the one before or behind, up to rounding."""
    xp = risk.backend(ordered)
    largest = abs(ordered).max(axis=-1, keepdims=True)
    same = xp.diff(ordered, axis=-1) <= _SAME * largest
    no = xp.zeros_like(same[..., :1])
    return xp.concatenate([same, no], axis=-1) | xp.concatenate([no, same], axis=-1)


def _join(ordered: Numbers, scores: Numbers) -> tuple[Numbers, Numbers]:
    """Sorted values with wide gaps made as narrow as those around, and how far away these are.

    Gaps are measured by those of normal quantiles, which grow towards the tails, and so are
    distances.
    """
    xp = risk.backend(ordered)
    steps = xp.diff(scores)
    slopes = xp.diff(ordered, axis=-1) / steps
    around = _around(slopes)
    wide = slopes > _WIDE * around
    taken = xp.cumsum(xp.where(wide, (slopes - around) * steps, 0.0), axis=-1)
    first = xp.zeros_like(ordered[..., :1])
    joined = ordered - xp.concatenate([first, taken], axis=-1)
    places = (scores[1:] + scores[:-1]) / 2
    nowhere = first + xp.inf
    below = xp.concatenate([-nowhere, xp.where(wide, places, -xp.inf)], axis=-1)
    above = xp.concatenate([xp.where(wide, places, xp.inf), nowhere], axis=-1)
    last = xp.maximum.accumulate(below, axis=-1)
    following = xp.flip(xp.minimum.accumulate(xp.flip(above, axis=-1), axis=-1), axis=-1)
    return joined, xp.minimum(scores - last, following - scores)


def _around(slopes: Numbers, num: int = 5) -> Numbers:
    """The mean of the slopes before each slope or behind it, of so many; the larger of the two."""
    xp = risk.backend(slopes)
    sums = xp.concatenate([xp.zeros_like(slopes[..., :1]), xp.cumsum(slopes, axis=-1)], axis=-1)
    index = np.arange(slopes.shape[-1])
    low, high = np.maximum(index - num, 0), np.minimum(index + 1 + num, len(index))
    before = (sums[..., index] - sums[..., low]) / np.maximum(index - low, 1)
    behind = (sums[..., high] - sums[..., index + 1]) / np.maximum(high - index - 1, 1)
    return xp.maximum(before, behind)


def _fitted(ordered: Numbers, bandwidth: Numbers) -> Numbers:
    """Sorted values after local fits, each at the nearest of the bandwidths."""
    xp = risk.backend(ordered, bandwidth)
    steps = xp.log2(xp.maximum(bandwidth, _BANDWIDTHS[0]) / _BANDWIDTHS[0])
    nearest = xp.clip(xp.round(steps), 0, len(_BANDWIDTHS) - 1)
    fitted = ordered
    for index, smoother in enumerate(_smoothers(ordered.shape[-1])):
        fit = ordered @ smoother.T.astype(ordered.dtype)
        fitted = xp.where(nearest == index, fit, fitted)
    return fitted


def _scores(num: int) -> Float[np.ndarray, "m"]:
    """The normal quantiles at the levels of sorted values."""
    return ndtri((np.arange(num) + 0.5) / num)


@cache
def _smoothers(num: int) -> tuple[Float[np.ndarray, "m m"], ...]:
    """The local fits at all levels as linear maps of sorted values, one for each bandwidth."""
    levels, scores = (np.arange(num) + 0.5) / num, _scores(num)
    apart = scores[:, None] - scores
    regressors = np.stack([np.ones_like(apart), apart, levels[:, None] - levels], axis=-1)
    smoothers = []
    for bandwidth in _BANDWIDTHS:
        weighted = np.exp(-0.5 * (apart / bandwidth) ** 2)[..., None] * regressors
        gram = np.swapaxes(regressors, -1, -2) @ weighted
        # At the level itself the last two regressors are 0: the fit there is the first coefficient.
        first = np.linalg.pinv(gram, rcond=1e-10, hermitian=True)[:, 0]
        smoothers.append(np.einsum("ijk,ik->ij", weighted, first))
    return tuple(smoothers)
