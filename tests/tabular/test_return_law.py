import math

import jax
import numpy as np
import pytest

from daleth.tabular import (
    MarkovChain,
    exact_dsm,
    expected_returns,
    return_bounds,
    return_law,
    return_laws,
    return_variances,
    sample_occupancies,
    t_maze,
)
from daleth.tabular.characteristic import (
    INTERPOLATION_ERROR,
    characteristic_function,
    interpolation_weights,
)

COIN = np.full((2, 2), 0.5)


def random_chain(rng: np.random.Generator, num_states: int, gamma: float) -> MarkovChain:
    return MarkovChain(rng.dirichlet(np.full(num_states, 0.6), num_states), gamma)


@pytest.fixture(scope="module")
def cantor_law():
    return return_law(MarkovChain(COIN, 1 / 3), [0, 1], 0, resolution=5e-5)


@pytest.mark.parametrize("source_state", [0, 1])
def test_coin_flips_at_half_discount_give_a_uniform_law(source_state):
    # G = r(x) + Σ_{t≥1} 2^-t B_t, and the sum is uniform on [0, 1].
    law = return_law(MarkovChain(COIN, 0.5), [0, 1], source_state)
    inside = np.linspace(0.01, 0.99, 50)
    np.testing.assert_allclose(law.cdf(source_state + inside), inside, atol=law.error)
    np.testing.assert_allclose(law.quantile(inside), source_state + inside, atol=1e-8)
    levels = np.array([0.1, 0.5, 1])
    np.testing.assert_allclose(law.cvar(levels), source_state + levels / 2, atol=1e-6)
    assert law.variance() == pytest.approx(1 / 12)
    assert (law.lower, law.upper) == pytest.approx((source_state, source_state + 1))


@pytest.mark.parametrize(
    ("place", "level"),
    # The Cantor function: ternary digits 0 and 2 become binary digits 0 and 1.
    [
        (1 / 4, 1 / 3),
        (3 / 4, 2 / 3),
        (1 / 2, 1 / 2),
        (1 / 10, 1 / 5),
        (3 / 10, 2 / 5),
        (1 / 6, 1 / 4),
    ],
)
def test_coin_flips_at_third_discount_give_the_cantor_function(cantor_law, place, level):
    # From state 0, G = Σ_{t≥1} 3^-t B_t is half a Cantor variable: a law without a density.
    below, above = cantor_law.cdf_bounds(place / 2)
    assert below <= level <= above <= below + 0.01
    assert cantor_law.cdf(place / 2) == pytest.approx(level, abs=1e-3)


def test_a_certain_return_is_a_dirac():
    # 0, 1, 0, 1, ...: 1 + γ² + γ⁴ + ... = 4/3 and γ + γ³ + ... = 2/3 with γ = 1/2.
    chain = MarkovChain([[0, 1], [1, 0]], gamma=0.5)
    for law, value in zip(return_laws(chain, [1, 0]), [4 / 3, 2 / 3], strict=True):
        assert (law.mean(), law.variance()) == pytest.approx((value, 0))
        assert law.resolution < 1e-11
        np.testing.assert_array_equal(law.cdf([value - 1e-9, value + 1e-9]), [0, 1])
        np.testing.assert_allclose(law.quantile([0, 0.5, 1]), value)
        np.testing.assert_allclose(law.cvar([0.01, 1]), value)


@pytest.mark.parametrize("gamma", [0.0, 0.9])
def test_a_constant_reward_gives_a_dirac(gamma):
    chain = random_chain(np.random.default_rng(0), 4, gamma)
    law = return_law(chain, np.full(4, -2.0), 1)
    assert law.mean() == pytest.approx(-2 / (1 - gamma))
    np.testing.assert_allclose(law.to_distribution(3).atoms, -2 / (1 - gamma), rtol=1e-6)


def test_atoms_are_resolved():
    maze = t_maze()
    exact = exact_dsm(maze.chain).returns(maze.reward, maze.start)
    law = return_law(maze.chain, maze.reward, maze.start)
    left, home, right = np.sort(exact.atoms)
    tolerance = law.resolution
    np.testing.assert_allclose(
        law.quantile([0.01, 1 / 3, 0.4, 1 / 2, 0.51, 1]),
        [left, left, home, home, right, right],
        atol=tolerance,
    )
    between = [left - 0.1, (left + home) / 2, (home + right) / 2, right + 0.1]
    np.testing.assert_allclose(law.cdf(between), [0, 1 / 3, 1 / 2, 1], atol=law.error)
    levels = [0.2, 1 / 3, 0.45, 0.8, 1]
    np.testing.assert_allclose(law.cvar(levels), exact.cvar(levels), atol=tolerance)
    # Where the way is chosen the return is certain, also beside states where it is not.
    assert return_law(maze.chain, maze.reward, maze.chain.num_states - 1).variance() == 0


def test_moments_against_sums_over_time():
    chain, reward = random_chain(np.random.default_rng(1), 4, 0.7), np.array([1, -2, 0.5, 3])
    horizon = 120
    powers = [np.linalg.matrix_power(chain.P, t) for t in range(horizon)]
    mean = sum(0.7**t * powers[t] @ reward for t in range(horizon))
    # E G² = Σ_t γ^2t E r(X_t) (2 V(X_t) - r(X_t)): each pair of times once, the diagonal once.
    pairs = reward * (2 * mean - reward)
    square = sum(0.49**t * powers[t] @ pairs for t in range(horizon))
    np.testing.assert_allclose(expected_returns(chain, reward), mean, atol=1e-13)
    np.testing.assert_allclose(return_variances(chain, reward), square - mean**2, atol=1e-12)


@pytest.mark.parametrize("gamma", [0.05, 0.6, 0.97])
def test_the_law_has_the_exact_moments(gamma):
    rng = np.random.default_rng(2)
    chain, reward = random_chain(rng, 5, gamma), rng.normal(size=5)
    for law in return_laws(chain, reward):
        middles, masses = (law.knots[1:] + law.knots[:-1]) / 2, np.diff(law.levels)
        assert masses @ middles == pytest.approx(law.mean(), abs=1e-7)
        variance = masses @ (middles - law.mean()) ** 2
        assert variance == pytest.approx(law.variance(), abs=law.resolution**2)
        assert law.cvar(1) == pytest.approx(law.mean(), abs=1e-7)


def test_bounds_by_hand():
    # From 0 one may stay at reward 1 for ever, or leave at once for reward -1 for ever.
    chain = MarkovChain([[0.5, 0.5], [0, 1]], gamma=0.5)
    lower, upper = return_bounds(chain, [1, -1])
    np.testing.assert_allclose(lower, [0, -2])
    np.testing.assert_allclose(upper, [2, -2])


def test_interpolation_error_of_every_band_limited_function():
    # A characteristic function is a mixture of e^{iwx}, so its error is at most the largest of
    # these errors, with |x| up to half of what the grid can represent.
    fraction, phase = np.linspace(0, 1, 201, endpoint=False), np.linspace(-1, 1, 201) * math.pi / 2
    waves = np.exp(1j * np.outer(np.arange(-19, 21), phase))
    error = interpolation_weights(fraction) @ waves - np.exp(1j * np.outer(fraction, phase))
    assert np.abs(error).max() < INTERPOLATION_ERROR


@pytest.mark.parametrize("gamma", [0.3, 0.9, 0.99])
def test_characteristic_function_against_its_recursion(gamma):
    rng = np.random.default_rng(3)
    chain, reward = random_chain(rng, 3, gamma), rng.normal(size=3)
    lower, upper = return_bounds(chain, reward)
    centres, spread = (lower + upper) / 2, float((upper - lower).max())
    found = characteristic_function(chain, reward, centres, spread, 2000)
    picked = np.array([0, 1, 40, 777, 2000])
    frequencies = (picked * math.pi / spread)[:, None]
    num_steps = math.ceil(math.log(1e-18) / math.log(gamma))
    direct = np.ones((len(picked), 3), dtype=complex)
    for t in reversed(range(num_steps)):
        direct = np.exp(1j * gamma**t * frequencies * reward) * (direct @ chain.P.T)
    direct *= np.exp(-1j * frequencies * centres)
    np.testing.assert_allclose(found.values[picked], direct, atol=1e-11)
    assert np.abs(found.values[picked] - direct).max() < found.error


def test_a_finer_resolution_lies_within_the_bounds_of_a_coarser_one():
    rng = np.random.default_rng(4)
    chain, reward = random_chain(rng, 3, 0.6), rng.normal(size=3)
    coarse = return_law(chain, reward, 0, resolution=0.05)
    fine = return_law(chain, reward, 0, resolution=5e-4)
    assert fine.resolution < 5.5e-4 < 0.05 <= coarse.resolution < 0.055
    values = np.linspace(coarse.lower, coarse.upper, 60)
    below, above = coarse.cdf_bounds(values)
    assert (below <= fine.cdf(values)).all()
    assert (fine.cdf(values) <= above).all()


def test_scale_and_offset_of_the_reward_move_the_law_exactly():
    rng = np.random.default_rng(5)
    chain, reward = random_chain(rng, 3, 0.8), rng.normal(size=3)
    levels = np.linspace(0.05, 0.95, 10)
    plain = return_law(chain, reward, 1).quantile(levels)
    moved = return_law(chain, 1e-3 * reward + 1e4, 1).quantile(levels)
    np.testing.assert_allclose((moved - 1e4 / 0.2) / 1e-3, plain, atol=1e-5)


def test_laws_of_all_states_and_of_one_agree():
    rng = np.random.default_rng(6)
    chain, reward = random_chain(rng, 4, 0.9), rng.normal(size=4)
    one = return_law(chain, reward, 3)
    np.testing.assert_array_equal(return_laws(chain, reward)[3].levels, one.levels)


def test_mid_quantile_atoms():
    law = return_law(MarkovChain(COIN, 0.5), [0, 1], 0)
    np.testing.assert_allclose(
        law.to_distribution(4).atoms, [1 / 8, 3 / 8, 5 / 8, 7 / 8], atol=1e-6
    )


@pytest.mark.parametrize("seed", range(20))
def test_cdf_agrees_with_simulated_returns(seed):
    # 200,000 returns, 4 standard errors, on nine levels of 20 random chains. Returns are cut off
    # at a known error, and the law is known at a known resolution: the bracket allows for both.
    rng = np.random.default_rng(seed)
    num, n, gamma = 200_000, int(rng.integers(2, 7)), rng.uniform(0.2, 0.9)
    chain, reward = random_chain(rng, n, gamma), rng.normal(size=n)
    law = return_law(chain, reward, 0)
    draws = sample_occupancies(chain, 0, num, jax.random.key(seed), tolerance=1e-4)
    returns = np.sort(draws.occupancies @ reward / (1 - gamma))
    slack = law.resolution + draws.truncation_error * np.ptp(reward) / (1 - gamma)
    values = law.quantile(np.arange(1, 10) / 10)
    below, above = (np.searchsorted(returns, values + s, "right") / num for s in (-slack, slack))
    standard_error = np.sqrt(law.cdf(values) * (1 - law.cdf(values)) / num)
    assert (below - 4 * standard_error <= law.cdf(values)).all()
    assert (law.cdf(values) <= above + 4 * standard_error).all()
    assert (above - below).max() < 0.5  # else the bracket would say nothing


def test_bounds_of_a_certain_return_allow_for_rounding():
    law = return_law(MarkovChain([[1.0]], 0.9), [1.0], 0)
    assert law.cdf_bounds(10.0) == (0, 1)
    assert law.cdf_bounds(10.1) == (1, 1)
    assert law.cdf_bounds(9.9) == (0, 0)
