"""The supremal Wasserstein metric: optimal transport over optimal transport."""

import numpy as np
from jaxtyping import Float64
from scipy.spatial.distance import cdist

from daleth import _checks
from daleth._optional import require
from daleth._typing import ArrayLike
from daleth.tabular.dsm import ParticleDSM


def supremal_wasserstein(
    first: ParticleDSM, second: ParticleDSM, ground_metric: ArrayLike | None = None
) -> float:
    r"""$\bar W$, in which the distributional Bellman operator contracts (proposition 3.6).

    $$ \bar W(\daleth_1, \daleth_2) = \max_x W(\daleth_1(x), \daleth_2(x)) $$

    Here $W$ transports occupancies, and moving $\theta$ to $\theta'$ costs $w_d(\theta, \theta')$,
    the Wasserstein distance over states with the ground metric $d$. Needs POT.

    Args:
        first: a particle DSM.
        second: another one over the same states.
        ground_metric: the distances $d(x, y)$ between states, `[n, n]`. By default the discrete
            metric $1\{x \ne y\}$, for which $w_d$ is the total variation distance.

    Example:
        >>> here = ParticleDSM([[[1.0, 0.0]], [[0.0, 1.0]]], gamma=0.5)
        >>> there = ParticleDSM([[[0.75, 0.25]], [[0.0, 1.0]]], gamma=0.5)
        >>> supremal_wasserstein(here, there)
        0.25
    """
    if first.num_states != second.num_states:
        raise ValueError(
            "both DSMs must be over the same states, "
            f"got {first.num_states} and {second.num_states} of them"
        )
    ot = require("ot", "exact")
    metric = None if ground_metric is None else _metric(ground_metric, first.num_states)
    distances = []
    for state in range(first.num_states):
        costs = occupancy_distances(first.occupancies[state], second.occupancies[state], metric)
        distances.append(float(ot.emd2(first.weights[state], second.weights[state], costs)))
    return max(distances)


def occupancy_distances(
    first: Float64[np.ndarray, "m n"],
    second: Float64[np.ndarray, "k n"],
    metric: Float64[np.ndarray, "n n"] | None = None,
) -> Float64[np.ndarray, "m k"]:
    r"""Wasserstein distances $w_d$ between all pairs of occupancies."""
    if metric is None:
        return cdist(first, second, "cityblock") / 2
    ot = require("ot", "exact")
    rows = [[float(ot.emd2(one, other, metric)) for other in second] for one in first]
    return np.array(rows)


def _metric(ground_metric: ArrayLike, num_states: int) -> np.ndarray:
    metric = _checks.finite("ground_metric", ground_metric, rank=2).astype(np.float64)
    if metric.shape != (num_states, num_states):
        raise ValueError(
            f"ground_metric must have shape {(num_states, num_states)}, got {metric.shape}"
        )
    slack = 1e-6 * np.abs(metric).max()
    if metric.min() < 0 or np.abs(np.diag(metric)).max() > slack:
        raise ValueError("ground_metric must be non-negative, with zeros on the diagonal")
    if np.abs(metric - metric.T).max() > slack:
        raise ValueError("ground_metric must be symmetric")
    for middle in range(num_states):
        detour = metric[:, middle, None] + metric[None, middle, :]
        if (metric > detour + slack).any():
            raise ValueError(
                "ground_metric must satisfy the triangle inequality, "
                f"but a detour through state {middle} is shorter"
            )
    return np.ascontiguousarray(metric)
