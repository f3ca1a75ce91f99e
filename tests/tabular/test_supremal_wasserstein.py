import numpy as np
import pytest

from daleth.tabular import MarkovChain, ParticleDSM, bellman, supremal_wasserstein

LINE = np.abs(np.subtract.outer(np.arange(3.0), np.arange(3.0)))


def plane_metric(rng: np.random.Generator, num_states: int) -> np.ndarray:
    points = rng.normal(size=(num_states, 2))
    return np.linalg.norm(points[:, None] - points[None], axis=-1)


def random_dsm(rng: np.random.Generator, num_states: int, gamma: float) -> ParticleDSM:
    sizes = rng.integers(1, 5, num_states)
    occupancies = [rng.dirichlet(np.ones(num_states), size) for size in sizes]
    return ParticleDSM(occupancies, gamma, [rng.dirichlet(np.ones(size)) for size in sizes])


@pytest.mark.parametrize(
    ("metric", "expected"),
    # Half of the mass must go from δ_0 to δ_2: total variation 1, or distance 2 on the line.
    [(None, 0.5), (LINE, 1.0)],
)
def test_transport_by_hand(metric, expected):
    e = np.eye(3)
    first = ParticleDSM([[e[0], e[1]], [e[1]], [e[2]]], 0.5)
    second = ParticleDSM([[e[1], e[2]], [e[1]], [e[2]]], 0.5)
    assert supremal_wasserstein(first, second, metric) == pytest.approx(expected, abs=1e-12)


def test_inner_distance_is_total_variation_or_the_area_between_cdfs():
    first = ParticleDSM([[[0.5, 0.25, 0.25]], [[0, 1, 0]], [[0, 0, 1]]], 0.5)
    second = ParticleDSM([[[0.25, 0.25, 0.5]], [[0, 1, 0]], [[0, 0, 1]]], 0.5)
    assert supremal_wasserstein(first, second) == pytest.approx(0.25)
    assert supremal_wasserstein(first, second, LINE) == pytest.approx(0.5)


def test_the_largest_state_counts_and_the_metric_axioms_hold():
    rng = np.random.default_rng(0)
    a, b, c = (random_dsm(rng, 3, 0.5) for _ in range(3))
    ab, ba = supremal_wasserstein(a, b), supremal_wasserstein(b, a)
    assert ab == pytest.approx(ba)
    assert supremal_wasserstein(a, a) == pytest.approx(0, abs=1e-15)
    assert 0 < ab <= supremal_wasserstein(a, c) + supremal_wasserstein(c, b)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("discrete", [True, False])
def test_bellman_operator_contracts_by_gamma(seed, discrete):
    # Proposition 3.6.
    rng = np.random.default_rng(seed)
    n, gamma = 3, rng.uniform(0.2, 0.95)
    chain = MarkovChain(rng.dirichlet(np.full(n, 0.7), n), gamma)
    metric = None if discrete else plane_metric(rng, n)
    first, second = random_dsm(rng, n, gamma), random_dsm(rng, n, gamma)
    before = supremal_wasserstein(first, second, metric)
    after = supremal_wasserstein(bellman(chain, first), bellman(chain, second), metric)
    assert after <= gamma * before * (1 + 1e-9)


@pytest.mark.parametrize("discrete", [True, False])
def test_contraction_is_sharp_when_states_are_permuted(discrete):
    # Each state inherits the particles of one other, so the largest distance shrinks by γ exactly.
    rng = np.random.default_rng(7)
    chain = MarkovChain(np.eye(3)[[1, 2, 0]], gamma=0.6)
    metric = None if discrete else plane_metric(rng, 3)
    first, second = random_dsm(rng, 3, 0.6), random_dsm(rng, 3, 0.6)
    before = supremal_wasserstein(first, second, metric)
    after = supremal_wasserstein(bellman(chain, first), bellman(chain, second), metric)
    assert after == pytest.approx(0.6 * before, rel=1e-9)
