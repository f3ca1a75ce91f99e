import math

import numpy as np
import pytest

from daleth import ReturnDistribution
from daleth.tabular import MarkovChain, exact_dsm, stochastic_returns, time_augment

COIN = ReturnDistribution([-1.0, 1.0])
NOTHING = ReturnDistribution([0.0])


def line(num_states: int, gamma: float) -> MarkovChain:
    """0, 1, ..., n-1 and then for ever n-1."""
    successors = np.minimum(np.arange(num_states) + 1, num_states - 1)
    return MarkovChain(np.eye(num_states)[successors], gamma)


def test_equal_occupancies_do_not_imply_equal_returns_of_random_rewards():
    # With γ = γ² + γ³ the trajectories a, b, c, c, end and a, c, b, b, end occupy a, b, c and the
    # end equally. A coin flip at each visit of b gives variance γ² on one, γ⁴ + γ⁶ on the other.
    gamma = (math.sqrt(5) - 1) / 2
    assert gamma == pytest.approx(gamma**2 + gamma**3)
    chain = line(5, gamma)
    occupancy = exact_dsm(chain).occupancies[0][0]
    variances, places = [], []
    for trajectory in ("abcc.", "acbb."):
        places.append([occupancy[[s == place for s in trajectory]].sum() for place in "abc."])
        laws = [COIN if place == "b" else NOTHING for place in trajectory]
        variances.append(float(stochastic_returns(chain, laws, 0).variance()))
    np.testing.assert_allclose(places[0], places[1], atol=1e-15)
    assert variances[0] == pytest.approx(gamma**2, rel=1e-5)
    assert variances[1] == pytest.approx(gamma**4 + gamma**6, rel=1e-5)
    assert variances[0] > 1.5 * variances[1]


def test_certain_rewards_give_the_returns_of_the_dsm():
    chain = MarkovChain([[0, 0.5, 0.5, 0], [0, 0, 0.3, 0.7], [0, 0, 0, 1], [0, 0, 0, 1]], 0.9)
    reward = [1.0, -2.0, 0.5, 0.25]
    returns = stochastic_returns(chain, [ReturnDistribution([r]) for r in reward], 0)
    expected = exact_dsm(chain).returns(reward, 0)
    order = np.argsort(expected.atoms)
    np.testing.assert_allclose(returns.atoms, expected.atoms[order], rtol=1e-6)
    np.testing.assert_allclose(returns.weights, expected.weights[order], rtol=1e-6)


def test_a_random_reward_on_a_random_way_by_hand():
    # From 0 to 1 or straight to the end; a reward of 4 or 8 at 1, and 1 at the end for ever.
    chain = MarkovChain([[0, 0.5, 0.5], [0, 0, 1], [0, 0, 1]], gamma=0.5)
    prize = ReturnDistribution([4.0, 8.0], [0.25, 0.75])
    returns = stochastic_returns(chain, [NOTHING, prize, ReturnDistribution([1.0])], 0)
    np.testing.assert_allclose(returns.atoms, [1.0, 2.5, 4.5])
    np.testing.assert_allclose(returns.weights, [0.5, 0.125, 0.375])


def test_time_augmentation_admits_any_chain():
    # One state for ever, a coin flip at each of 5 visits: 2^5 equally likely sums of ±γ^t.
    chain = time_augment(MarkovChain([[1.0]], gamma=0.5), horizon=5)
    returns = stochastic_returns(chain, [COIN] * 5 + [NOTHING], 0)
    np.testing.assert_allclose(returns.atoms, np.arange(-31, 32, 2) / 16, atol=1e-6)
    np.testing.assert_allclose(returns.weights, 1 / 32)


def test_time_augmentation_keeps_the_walk():
    chain = MarkovChain([[0.3, 0.7], [0.6, 0.4]], gamma=0.5)
    clocked = time_augment(chain, horizon=4)
    occupancy = clocked.successor_measure()[1]
    for t in range(4):
        expected = 0.5 * 0.5**t * np.linalg.matrix_power(chain.P, t)[1]
        np.testing.assert_allclose(occupancy[2 * t : 2 * t + 2], expected, atol=1e-15)
    assert occupancy[-1] == pytest.approx(0.5**4)


def test_variance_of_random_rewards_on_a_clocked_chain():
    # Given the walk, Var G = Σ γ^2t v(X_t); its expectation adds to the variance of the walk.
    gamma, horizon = 0.8, 5
    chain = MarkovChain([[0.3, 0.7], [0.6, 0.4]], gamma)
    laws = [COIN, ReturnDistribution([0.0, 3.0])]
    clocked = time_augment(chain, horizon)
    returns = stochastic_returns(clocked, laws * horizon + [NOTHING], 0)
    walk = exact_dsm(clocked).returns([*[0.0, 1.5] * horizon, 0.0], 0)
    powers = [np.linalg.matrix_power(chain.P, t)[0] for t in range(horizon)]
    noise = sum(gamma ** (2 * t) * powers[t] @ [1.0, 2.25] for t in range(horizon))
    assert float(returns.mean()) == pytest.approx(float(walk.mean()), rel=1e-5)
    assert float(returns.variance()) == pytest.approx(float(walk.variance()) + noise, rel=1e-4)
