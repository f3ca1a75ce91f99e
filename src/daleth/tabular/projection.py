"""Fewer particles for the same law over occupancies: merging and clustering."""

import numpy as np
from scipy.spatial.distance import cdist

from daleth import _checks
from daleth.tabular.dsm import ParticleDSM

_LLOYD_SWEEPS = 10


def merge(dsm: ParticleDSM, tolerance: float = 1e-12) -> ParticleDSM:
    """The same DSM with equal particles of a state joined and weightless ones dropped.

    Args:
        dsm: any particle DSM.
        tolerance: occupancies that differ by at most this in every entry count as equal.
    """
    tolerance = _checks.number("tolerance", tolerance)
    merged = [
        merge_particles(points, weights, tolerance)
        for points, weights in zip(dsm.occupancies, dsm.weights, strict=True)
    ]
    return ParticleDSM([p for p, _ in merged], dsm.gamma, [w for _, w in merged])


def project(dsm: ParticleDSM, num_particles: int) -> ParticleDSM:
    """At most `num_particles` weighted particles per state, with the mean kept exactly.

    Particles are clustered to a small weighted squared distance, and each cluster becomes one
    particle at its mean with the weight of its members. So the successor measure is unchanged,
    and a state with few enough different particles keeps them all. Deterministic.

    Args:
        dsm: any particle DSM.
        num_particles: the largest number of particles left in a state.

    Example:
        >>> dsm = ParticleDSM([[[1.0, 0.0], [0.9, 0.1], [0.0, 1.0]], [[0.0, 1.0]]], gamma=0.5)
        >>> fewer = project(dsm, 2)
        >>> print(fewer.num_particles, fewer.occupancies[0][:, 0].round(3))
        (2, 1) [0.   0.95]
    """
    num_particles = _checks.count("num_particles", num_particles)
    occupancies, weights = [], []
    for points, masses in zip(dsm.occupancies, dsm.weights, strict=True):
        points, masses = merge_particles(points, masses)
        if len(points) > num_particles:
            labels = _cluster(points, masses, num_particles)
            points, masses = merge_particles(*_join(points, masses, labels))
        occupancies.append(points)
        weights.append(masses)
    return ParticleDSM(occupancies, dsm.gamma, weights)


def merge_particles(
    points: np.ndarray, weights: np.ndarray, tolerance: float = 1e-12
) -> tuple[np.ndarray, np.ndarray]:
    """Joins equal rows of `points` `[m, n]` and adds up their weights `[m]`.

    Rows are sorted along one fixed generic direction, which puts equal rows side by side. A
    stranger that happens to fall between two equal rows costs one merge and nothing else.
    """
    held = weights > 0
    points, weights = points[held], weights[held]
    direction = np.random.default_rng(0).random(points.shape[1])
    order = np.argsort(points @ direction, kind="stable")
    points, weights = points[order], weights[order]
    steps = np.abs(np.diff(points, axis=0)).max(axis=1) > tolerance
    return _join(points, weights, np.concatenate([[0], np.cumsum(steps)]))


def _join(points, weights, labels) -> tuple[np.ndarray, np.ndarray]:
    """The weighted mean and the weight of each group of rows that share a label."""
    order = np.argsort(labels, kind="stable")
    starts = np.flatnonzero(np.diff(labels[order], prepend=-1))
    masses = np.add.reduceat(weights[order], starts)
    sums = np.add.reduceat(weights[order, None] * points[order], starts)
    return sums / masses[:, None], masses


def _cluster(points, weights, num_clusters) -> np.ndarray:
    """Labels of a weighted k-means clustering that starts from variance splits."""
    labels = _split(points, weights, num_clusters)
    for _ in range(_LLOYD_SWEEPS):
        centres, _ = _join(points, weights, labels)
        nearest = cdist(points, centres, "sqeuclidean").argmin(axis=1)
        if np.array_equal(nearest, labels):
            break
        labels = nearest
    return labels


def _split(points, weights, num_clusters) -> np.ndarray:
    """Halves the group with the largest weighted variance until there are enough groups."""
    groups = [np.arange(len(points))]
    spreads = [_spread(points, weights)]
    while len(groups) < num_clusters:
        widest = int(np.argmax([spread for spread, _ in spreads]))
        group, axis = groups[widest], spreads[widest][1]
        values = points[group, axis]
        cut = np.average(values, weights=weights[group])
        if not values.min() <= cut < values.max():  # rounding, when one weight dwarfs the others
            cut = (values.min() + values.max()) / 2
        halves = [group[values <= cut], group[values > cut]]
        groups[widest : widest + 1] = halves
        spreads[widest : widest + 1] = [_spread(points[h], weights[h]) for h in halves]
    labels = np.empty(len(points), dtype=int)
    for label, group in enumerate(groups):
        labels[group] = label
    return labels


def _spread(points, weights) -> tuple[float, int]:
    """The weighted sum of squares about the mean, and the coordinate that has most of it."""
    if len(points) == 1:
        return -1.0, 0  # below the spread of any group that can be halved
    centred = points - np.average(points, axis=0, weights=weights)
    squares = weights @ centred**2
    return float(squares.sum()), int(squares.argmax())
