"""Returns of atoms that serve all rewards at once, evened out along one reward."""

from functools import lru_cache

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int
from scipy.special import ndtri

from daleth import risk
from daleth.risk import Numbers

FEWEST_ATOMS = 16
"""Fewer are not to be smoothed: a fit would have about as many coefficients as neighbours."""
NUM_NEIGHBOURS = 4
_BANDWIDTHS = 0.05 * 2.0 ** np.arange(6)  # in standard deviations of a normal law
_WIDE = 10.0  # times the mean of five gaps at either side: a gap of the law
_NOT_ACROSS = 0.35  # of the distance to such a gap is the bandwidth, at most
_SAME = 1e-6  # three returns that differ by less, in units of the largest, are a point mass
_BLOCK = 2**17  # numbers that stay in the processor's cache
_MOMENTS = 2**24  # numbers that neighbours are looked for among at once


@eqx.filter_jit
def nearest_atoms(
    points: Float[Array, "*batch m k d"], weights: Float[Array, "*batch m k"]
) -> Int[Array, "*batch m 4"]:
    """The four atoms that are most like each atom, by the first two moments of its states.

    Args:
        points: in units of the data.
        weights: of the points of each atom.
    """
    *batch, m, k, d = points.shape
    flat = points.reshape(-1, m, k, d), weights.reshape(-1, m, k)
    at_once = max(1, _MOMENTS // (m * (m + d * d)))
    found = jax.lax.map(lambda atoms: _nearest(*atoms), flat, batch_size=at_once)
    return found.reshape(*batch, m, NUM_NEIGHBOURS)


def _nearest(points: Float[Array, "m k d"], weights: Float[Array, "m k"]) -> Int[Array, "m 4"]:
    centred = points - jnp.sum(weights[..., None] * points, axis=(0, 1)) / len(weights)
    first = jnp.einsum("mk,mki->mi", weights, centred)
    second = jnp.einsum("mk,mki,mkj->mij", weights, centred, centred)
    moments = jnp.concatenate([first, 0.5 * second.reshape(len(first), -1)], axis=-1)
    squares = jnp.sum(moments**2, axis=-1)
    squared = squares[:, None] + squares - 2 * moments @ moments.T
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

    What is not smooth stays. No return moves further than half its reach, or out of the range of
    all. Near a gap that is ten times as wide as those around it, measured by the gaps of normal
    quantiles, bandwidths are small, and the gap is closed for the fit. Three equal returns are a
    point mass and stay. The mean is kept, and so is the order.

    Args:
        returns: of `m` atoms, `[..., *batch, m]`.
        neighbours: four of each atom, `[*batch, m, 4]`.

    Example:
        >>> atoms = np.random.default_rng(0).normal(size=(51, 8))
        >>> near = nearest_atoms(jnp.asarray(atoms[:, None]), jnp.ones((51, 1)))
        >>> uneven = np.sort(atoms[:, 0])
        >>> even = np.sort(smooth_returns(atoms[:, 0], near))
        >>> bool(np.diff(even, 2).std() < 0.5 * np.diff(uneven, 2).std())
        True
    """
    if risk.backend(returns, neighbours) is jnp:
        return _smooth(returns, neighbours)
    returns, neighbours = np.asarray(returns), np.asarray(neighbours)
    if returns.ndim < neighbours.ndim:
        return _smooth(returns, neighbours)
    rows = max(1, _BLOCK * len(returns) // returns.size)
    blocks = [returns[i : i + rows] for i in range(0, len(returns), rows)]
    return np.concatenate([_smooth(block, neighbours) for block in blocks])


def _smooth(returns: Numbers, neighbours: Numbers) -> Numbers:
    (values,) = risk.as_doubles(returns)
    xp = risk.backend(values, neighbours)
    order = xp.argsort(values, axis=-1, stable=True)
    back = xp.argsort(order, axis=-1)
    ordered = xp.take_along_axis(values, order, axis=-1)
    mass = _point_masses(ordered)
    reach = xp.take_along_axis(_to_neighbours(values, neighbours), order, axis=-1)
    reach = xp.where(mass, 0.0, reach)
    scores = xp.asarray(_levels_and_scores(values.shape[-1])[1], values.dtype)
    apart = xp.take_along_axis(_to_neighbours(scores[back], neighbours), order, axis=-1)
    num_free = xp.maximum((~mass).sum(axis=-1, keepdims=True), 1)
    bandwidth = xp.where(mass, 0.0, apart).sum(axis=-1, keepdims=True) / num_free
    joined, room = _join(ordered - values.mean(axis=-1, keepdims=True), scores, mass)
    fitted = _fitted(joined, xp.minimum(bandwidth, _NOT_ACROSS * room))
    down = xp.minimum(reach / 2, ordered - ordered[..., :1])
    up = xp.minimum(reach / 2, ordered[..., -1:] - ordered)
    even = ordered + _without_mean(xp.clip(fitted - joined, -down, up), down, up)
    return xp.take_along_axis(xp.sort(even, axis=-1), back, axis=-1).astype(returns.dtype)


def _without_mean(move: Numbers, down: Numbers, up: Numbers) -> Numbers:
    """Moves between `-down` and `up` without their mean, which is taken where there is room."""
    xp = risk.backend(move)
    mean = move.mean(axis=-1, keepdims=True)
    room = xp.where(mean > 0, move + down, up - move)
    whole = room.mean(axis=-1, keepdims=True)
    return move - mean * room / xp.where(whole > 0, whole, 1.0)


def _to_neighbours(values: Numbers, neighbours: Numbers) -> Numbers:
    """The mean distance of the values of neighbours, one for each atom."""
    xp = risk.backend(values, neighbours)
    near = xp.asarray(neighbours)
    lead = (1,) * (values.ndim + 1 - near.ndim)
    there = xp.take_along_axis(values[..., None, :], near.reshape(*lead, *near.shape), axis=-1)
    return abs(there - values[..., None]).mean(axis=-1)


def _point_masses(ordered: Numbers) -> Numbers:
    """Which sorted values are one of three or more that are equal, up to rounding."""
    xp = risk.backend(ordered)
    largest = abs(ordered).max(axis=-1, keepdims=True)
    same = xp.diff(ordered, axis=-1) <= _SAME * largest
    three = same[..., 1:] & same[..., :-1]
    no = xp.zeros_like(three[..., :1])
    padded = xp.concatenate([no, no, three, no, no], axis=-1)
    return padded[..., 2:] | padded[..., 1:-1] | padded[..., :-2]


def _join(ordered: Numbers, scores: Numbers, mass: Numbers) -> tuple[Numbers, Numbers]:
    """Sorted values with wide gaps closed, and the distance of each from gaps and point masses.

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

    border = wide | (mass[..., 1:] != mass[..., :-1])
    places, nowhere = (scores[1:] + scores[:-1]) / 2, first + xp.inf
    below = xp.concatenate([-nowhere, xp.where(border, places, -xp.inf)], axis=-1)
    above = xp.concatenate([xp.where(border, places, xp.inf), nowhere], axis=-1)
    last = xp.maximum.accumulate(below, axis=-1)
    following = xp.flip(xp.minimum.accumulate(xp.flip(above, axis=-1), axis=-1), axis=-1)
    return joined, xp.minimum(scores - last, following - scores)


def _around(slopes: Numbers, num: int = 5) -> Numbers:
    """The mean of the slopes before each slope or behind it, of so many; the larger of the two."""
    xp = risk.backend(slopes)
    before, behind = (each.T.astype(slopes.dtype) for each in _windows(slopes.shape[-1], num))
    return xp.maximum(slopes @ before, slopes @ behind)


def _fitted(ordered: Numbers, bandwidth: Numbers) -> Numbers:
    """Sorted values after local fits, interpolated between bandwidths; below the least, no fit."""
    xp = risk.backend(ordered, bandwidth)
    steps = xp.log2(xp.maximum(bandwidth / _BANDWIDTHS[0], 0.5))
    steps = xp.minimum(steps, len(_BANDWIDTHS) - 1)
    fitted = ordered
    for index, smoother in enumerate(_smoothers(ordered.shape[-1])):
        share = xp.maximum(1 - abs(steps - index), 0.0)
        fitted = fitted + share * (ordered @ smoother.T.astype(ordered.dtype) - ordered)
    return fitted


def _levels_and_scores(num: int) -> tuple[Float[np.ndarray, "m"], Float[np.ndarray, "m"]]:
    """The levels of sorted values, and the normal quantiles there."""
    levels = (np.arange(num) + 0.5) / num
    return levels, ndtri(levels)


@lru_cache(maxsize=4)
def _windows(size: int, num: int) -> tuple[Float[np.ndarray, "s s"], Float[np.ndarray, "s s"]]:
    """The means of up to `num` numbers before each of a row, and behind it, as linear maps."""
    behind = np.triu(np.tri(size, size, num), 1)
    return tuple(
        each / np.maximum(each.sum(axis=1, keepdims=True), 1) for each in (behind.T, behind)
    )


@lru_cache(maxsize=4)
def _smoothers(num: int) -> tuple[Float[np.ndarray, "m m"], ...]:
    """The local fits at all levels as linear maps of sorted values, one for each bandwidth."""
    levels, scores = _levels_and_scores(num)
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
