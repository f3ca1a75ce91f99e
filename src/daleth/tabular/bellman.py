"""The distributional Bellman operator on particle DSMs, and dynamic programming with it."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from daleth import _checks
from daleth._typing import ArrayLike
from daleth.tabular.chain import MarkovChain
from daleth.tabular.dsm import ParticleDSM
from daleth.tabular.metrics import supremal_wasserstein
from daleth.tabular.projection import merge, merge_particles, project
from daleth.targets import horizon


def bellman(chain: Any, dsm: Any) -> ParticleDSM:
    r"""The exact distributional Bellman operator (equation 7 of the paper).

    $$ (T\daleth)(x) = \sum_{x'} P(x' \mid x) \sum_i p_i(x')\,
       \delta_{(1-\gamma)\delta_x + \gamma \theta_i(x')} $$

    The support grows: a state gets all particles of its successors. Equal particles are merged.

    Example:
        >>> chain = MarkovChain([[0.0, 1.0], [0.0, 1.0]], gamma=0.5)
        >>> dsm = ParticleDSM([[[1.0, 0.0]], [[0.0, 1.0]]], gamma=0.5)
        >>> print(bellman(chain, dsm).occupancies[0])
        [[0.5 0.5]]
    """
    _check_fits(chain, dsm)
    backed_up = [
        back_up(chain, state, dsm.occupancies, dsm.weights) for state in range(chain.num_states)
    ]
    return ParticleDSM([p for p, _ in backed_up], chain.gamma, [w for _, w in backed_up])


def back_up(
    chain: MarkovChain,
    state: int,
    occupancies: Sequence[np.ndarray] | Mapping[int, np.ndarray],
    weights: Sequence[np.ndarray] | Mapping[int, np.ndarray],
) -> tuple[np.ndarray, np.ndarray]:
    """The particles `[m, n]` and weights `[m]` of one state, from those of its successors."""
    row = chain.P[state]
    successors = [int(y) for y in np.flatnonzero(row)]
    points = chain.gamma * np.concatenate([occupancies[y] for y in successors])
    points[:, state] += 1 - chain.gamma
    return merge_particles(points, np.concatenate([row[y] * weights[y] for y in successors]))


def dynamic_programming(
    chain: MarkovChain,
    num_particles: int,
    start: ParticleDSM | None = None,
    tolerance: float = 1e-10,
) -> ParticleDSM:
    r"""Applies the projected Bellman operator until the start is forgotten (corollary 3.7).

    $$ \daleth_{k+1} = \Pi T \daleth_k, \qquad \bar W(\daleth_k, \daleth) \le
       \gamma^k \bar W(\daleth_0, \daleth) + \sum_{j<k} \gamma^{k-1-j} \varepsilon_j $$

    where $\varepsilon_j$ is how far the projection moves its argument in sweep $j$. Where `m`
    particles per state are enough, as in the T-maze, the limit is the DSM itself from any start;
    elsewhere `bellman_residual` bounds what is missing. Each sweep keeps the mean that the exact
    operator gives, so the successor measure is reached whatever `m` is.

    Args:
        chain: the chain.
        num_particles: the largest number `m` of particles per state.
        start: the first iterate; by default one particle per state, its successor measure.
        tolerance: sweeps end when $\gamma^k$ is below it, or earlier when nothing moves any more.

    Returns:
        A DSM in which particles that differ by less than the tolerance are one.

    Example:
        >>> chain = MarkovChain([[0.0, 0.5, 0.5], [0, 1, 0], [0, 0, 1]], gamma=0.5)
        >>> dsm = dynamic_programming(chain, num_particles=4)
        >>> print(dsm.occupancies[0], dsm.weights[0])
        [[0.5 0.  0.5]
         [0.5 0.5 0. ]] [0.5 0.5]
    """
    num_particles = _checks.count("num_particles", num_particles)
    num_sweeps = horizon(chain.gamma, tolerance)
    if start is None:
        start = ParticleDSM(chain.successor_measure()[:, None], chain.gamma)
    current = start
    for _ in range(num_sweeps):
        previous, current = current, project(bellman(chain, current), num_particles)
        if _largest_move(previous, current) < tolerance * (1 - chain.gamma):
            break
    return merge(current, tolerance)


def bellman_residual(
    chain: MarkovChain, dsm: ParticleDSM, ground_metric: ArrayLike | None = None
) -> float:
    r"""How far a DSM is from solving its Bellman equation, $\bar W(\daleth, T\daleth)$.

    By contraction the true DSM is no further than $\bar W(\daleth, T\daleth) / (1-\gamma)$.

    Args:
        chain: the chain.
        dsm: any particle DSM over its states.
        ground_metric: distances between states, see `supremal_wasserstein`.
    """
    return supremal_wasserstein(dsm, bellman(chain, dsm), ground_metric)


def _check_fits(chain: Any, dsm: Any) -> None:
    _checks.instance("chain", chain, MarkovChain, "a MarkovChain")
    _checks.instance("dsm", dsm, ParticleDSM, "a ParticleDSM")
    if dsm.num_states != chain.num_states:
        raise ValueError(
            f"dsm must be over the {chain.num_states} states of the chain, got {dsm.num_states}"
        )
    if dsm.gamma != chain.gamma:
        raise ValueError(f"dsm must have the chain's gamma = {chain.gamma:g}, got {dsm.gamma:g}")


def _largest_move(before: ParticleDSM, after: ParticleDSM) -> float:
    """The largest change of any number, infinite if the numbers of particles changed."""
    if before.num_particles != after.num_particles:
        return math.inf
    pairs = [*zip(before.occupancies, after.occupancies, strict=True)]
    pairs += zip(before.weights, after.weights, strict=True)
    return max(float(np.abs(new - old).max()) for old, new in pairs)
