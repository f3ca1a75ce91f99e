"""Forecasts that need no model: what a score must be compared with before it means anything."""

from collections.abc import Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from daleth._typing import Reward
from daleth.data import Trajectories
from daleth.evaluation.heldout import seen_returns
from daleth.evaluation.scores import atom_floor, squared_cramer
from daleth.models.empirical import EmpiricalModel
from daleth.returns import ReturnDistribution
from daleth.targets import horizon

_MAX_FRAMES = 200_000
_MAX_NEIGHBOURS, _MIN_NEIGHBOURS = 16, 4
_NUMBERS_AT_ONCE = 2**24


def climatology_crps(observed: Float[np.ndarray, "r s"]) -> Float[np.ndarray, "r s"]:
    r"""The CRPS of a forecast that ignores the state: the law of the returns of other starts.

    $$ c_i = \frac{1}{s-1} \sum_{j \ne i} |g_i - g_j| - \frac12 U, \qquad
       U = \frac{1}{s(s-1)} \sum_{j \ne k} |g_j - g_k| $$

    Fair: no start is forecast with its own return, and the mean over starts, $U / 2$, is an
    unbiased estimate of the score of the true marginal law.
    """
    num = observed.shape[1]
    ordered = np.sort(observed, axis=1)
    sums = np.cumsum(ordered, axis=1)
    rank = np.arange(1, num + 1)
    # Sums of |g_i - g_j| over j, from sums below and above the i-th smallest.
    distances = ordered * (2 * rank - num) - 2 * sums + sums[:, -1:]
    back = np.argsort(np.argsort(observed, axis=1), axis=1)
    means = np.take_along_axis(distances, back, axis=1) / (num - 1)
    return means - means.mean(axis=1, keepdims=True) / 2


def nearest_returns(
    data: Trajectories,
    gamma: float,
    max_unseen_mass: float,
    rewards: Sequence[Reward],
    rows: Int[np.ndarray, "s"],
    num_steps: int,
) -> ReturnDistribution | None:
    """The returns that followed the nearest states in other held-out episodes, `[r, s, k]`.

    This is `EmpiricalModel` without the episode of the start itself, on at most 200,000 frames.

    Returns:
        Up to 16 futures per start, or none if there are fewer than 4 episodes to take them from.
    """
    known = data[: max(1, int(np.searchsorted(data.offsets, _MAX_FRAMES, side="right")) - 1)]
    long_enough = known.lengths > horizon(gamma, max_unseen_mass)
    num_neighbours = min(_MAX_NEIGHBOURS, int((long_enough | known.terminated).sum()) - 1)
    if num_neighbours < _MIN_NEIGHBOURS:
        return None
    model = EmpiricalModel(known, gamma, num_neighbours + 1, max_unseen_mass)
    at_once = max(1, _NUMBERS_AT_ONCE // model.numbers_per_source())
    nearest = np.asarray(_nearest(model, jnp.asarray(data.states[rows]), at_once))
    own = np.searchsorted(data.offsets, rows, side="right") - 1
    is_own = np.asarray(model.episode)[nearest] == own[:, None]
    order = np.argsort(is_own, axis=1, kind="stable")[:, :num_neighbours]
    chosen = np.take_along_axis(nearest, order, axis=1)
    parts = []
    for column in chosen.T:
        future = seen_returns(known, rewards, gamma, column, num_steps)
        parts.append(future.seen / (1 - future.unseen_mass))
    return ReturnDistribution(np.stack(parts, axis=-1))


@eqx.filter_jit
def _nearest(
    model: EmpiricalModel, sources: Float[Array, "s d"], at_once: int
) -> Int[Array, "s m"]:
    return jax.lax.map(model.nearest, sources, batch_size=min(at_once, len(sources)))


def atom_share(observed: Float[np.ndarray, "r s"], num_atoms: int) -> float:
    r"""How much `m` atoms alone add to the score of a perfect forecast, as a share of it.

    The best `m` equal atoms of a law exceed its own expected CRPS, $\frac12 E|G - G'|$, by their
    squared Cramér distance from it. Here the law is that of all held-out returns of a reward,
    made continuous by interpolation of its quantiles; the share depends on the shape of a law and
    not on its scale. The mean over rewards.
    """
    levels = (np.arange(2000) + 0.5) / 2000
    laws = np.quantile(observed, levels, axis=1).T
    laws = (laws - laws.mean(axis=1, keepdims=True)) / np.maximum(np.ptp(laws, axis=1), 1e-30)[
        :, None
    ]
    own = climatology_crps(laws).mean(axis=1)
    varies = own > 1e-6
    if not varies.any():
        return 0.0
    floors = atom_floor(ReturnDistribution(laws[varies]), num_atoms, squared_cramer)
    return float((np.asarray(floors) / own[varies]).mean())
