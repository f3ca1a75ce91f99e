import math

import jax
import numpy as np
import pytest

from daleth.tabular import MarkovChain, sample_occupancies, t_maze, three_state_chain


def test_a_certain_trajectory_by_hand(key):
    # 0, 1, 1, 1, ... with γ = 1/2: half of the mass at 0, the rest at 1.
    chain = MarkovChain([[0, 1], [0, 1]], gamma=0.5)
    draws = sample_occupancies(chain, 0, 3, key)
    np.testing.assert_allclose(draws.occupancies, [[0.5, 0.5]] * 3)
    assert draws.truncation_error == 0.5**20 <= 1e-6 < 0.5**19


def test_truncation_error_bounds_the_total_variation(key):
    # In the cycle 0, 1, 0, 1, ... the occupancy of 0 is (1-γ) / (1-γ²) = 1 / (1+γ).
    gamma = 0.9
    draws = sample_occupancies(MarkovChain([[0, 1], [1, 0]], gamma), 0, 1, key, tolerance=1e-3)
    missing = abs(draws.occupancies[0, 0] - 1 / (1 + gamma))
    assert 0 < missing <= draws.truncation_error == gamma**66 <= 1e-3


def test_without_discounted_future_only_the_source_is_occupied(key):
    draws = sample_occupancies(MarkovChain([[0, 1], [1, 0]], 0.0), 1, 2, key)
    np.testing.assert_array_equal(draws.occupancies, [[0, 1], [0, 1]])
    assert draws.truncation_error == 0


def test_draws_are_probabilities_with_the_successor_measure_as_mean(key):
    chain = three_state_chain()
    draws = sample_occupancies(chain, 2, 100_000, key)
    np.testing.assert_allclose(draws.occupancies.sum(axis=1), 1, atol=1e-14)
    standard_errors = draws.occupancies.std(axis=0) / math.sqrt(100_000)
    off = np.abs(draws.mean() - chain.successor_measure()[2])
    assert (off < 4 * standard_errors + draws.truncation_error).all()


def test_impossible_moves_are_never_made(key):
    maze = t_maze()
    draws = sample_occupancies(maze.chain, maze.start, 20_000, key).occupancies
    futures, counts = np.unique(draws.round(9), axis=0, return_counts=True)
    assert len(futures) == 3
    np.testing.assert_allclose(np.sort(counts / 20_000), [1 / 6, 1 / 3, 1 / 2], atol=0.015)


def test_draws_depend_on_the_key_and_on_nothing_else(key):
    chain = three_state_chain()
    first, again = (sample_occupancies(chain, 0, 50, key).occupancies for _ in range(2))
    other = sample_occupancies(chain, 0, 50, jax.random.key(1)).occupancies
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()


def test_simulated_returns_are_discounted_sums(key):
    chain = MarkovChain([[0, 1], [0, 1]], gamma=0.5)
    returns = sample_occupancies(chain, 0, 2, key).returns([[3.0, 1.0], [0.0, 1.0]])
    np.testing.assert_allclose(returns.atoms, [[4, 4], [1, 1]], rtol=1e-6)


def kolmogorov_smirnov(first: np.ndarray, second: np.ndarray, slack: float) -> float:
    """The largest amount by which one CDF exceeds the other moved to the left by `slack`."""

    def excess(one, other):
        one, other = np.sort(one), np.sort(other)
        moved = np.searchsorted(other, one + slack, side="right") / len(other)
        return (np.searchsorted(one, one, side="right") / len(one) - moved).max()

    return float(max(excess(first, second), excess(second, first)))


def returns_after_one_step(chain, P, source, reward, num, seed):
    """Draws of r(x) + γ G(X') with X' from row `source` of `P`."""
    rng = np.random.default_rng(seed)
    parts = []
    for state, count in enumerate(rng.multinomial(num, P[source])):
        if count:
            draws = sample_occupancies(chain, state, int(count), jax.random.key(100 + state))
            parts.append(draws.occupancies @ reward / (1 - chain.gamma))
    return reward[source] + chain.gamma * np.concatenate(parts)


@pytest.mark.parametrize("seed", range(4))
def test_distributional_bellman_equation_holds_in_law(seed):
    # Proposition 3.5. If it holds, the statistic exceeds this threshold with probability at
    # most 1e-6 (the Dvoretzky-Kiefer-Wolfowitz inequality for two samples of one size).
    num, error_probability = 50_000, 1e-6
    threshold = math.sqrt(math.log(2 / error_probability) / num)
    rng = np.random.default_rng(seed)
    n, gamma = 4, rng.uniform(0.3, 0.9)
    chain, reward = MarkovChain(rng.dirichlet(np.ones(n), n), gamma), rng.normal(size=n)
    draws = sample_occupancies(chain, 0, num, jax.random.key(seed))
    returns = draws.occupancies @ reward / (1 - gamma)
    # Both samples are cut off at a finite time, which can tear atoms apart by this much.
    slack = 2 * draws.truncation_error * np.ptp(reward) / (1 - gamma)
    one_step = returns_after_one_step(chain, chain.P, 0, reward, num, seed)
    assert kolmogorov_smirnov(returns, one_step, slack) < threshold
    # The check has power: stepping with the wrong row of P is noticed.
    wrong = returns_after_one_step(chain, np.roll(chain.P, 1, axis=0), 0, reward, num, seed)
    assert kolmogorov_smirnov(returns, wrong, slack) > threshold
