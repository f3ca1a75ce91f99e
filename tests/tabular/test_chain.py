import numpy as np
import pytest

from daleth.tabular import MarkovChain, TabularMDP, expected_returns


def random_chain(seed: int, num_states: int, gamma: float) -> MarkovChain:
    rng = np.random.default_rng(seed)
    return MarkovChain(rng.dirichlet(np.ones(num_states), num_states), gamma)


def test_successor_measure_of_two_states_by_hand():
    # From state 0 the chain leaves with probability p for the absorbing state 1, so
    # Ψ(0, 0) = Σ (1-γ)γ^t (1-p)^t = (1-γ) / (1 - γ(1-p)).
    p, gamma = 0.25, 0.8
    psi = MarkovChain([[1 - p, p], [0, 1]], gamma).successor_measure()
    stays = (1 - gamma) / (1 - gamma * (1 - p))
    np.testing.assert_allclose(psi, [[stays, 1 - stays], [0, 1]], atol=1e-15)


def test_successor_measure_is_the_discounted_sum_of_powers():
    chain = random_chain(0, 4, 0.6)
    powers = [np.linalg.matrix_power(chain.P, t) for t in range(80)]
    series = sum((1 - 0.6) * 0.6**t * power for t, power in enumerate(powers))
    np.testing.assert_allclose(chain.successor_measure(), series, atol=1e-14)


def test_without_discounted_future_only_the_source_counts():
    np.testing.assert_array_equal(random_chain(1, 3, 0.0).successor_measure(), np.eye(3))


@pytest.mark.parametrize(("num_states", "gamma"), [(2, 0.1), (5, 0.9), (30, 0.99)])
def test_the_successor_measure_determines_the_chain(num_states, gamma):
    chain = random_chain(2, num_states, gamma)
    recovered = MarkovChain.from_successor_measure(chain.successor_measure(), gamma)
    np.testing.assert_allclose(recovered.P, chain.P, atol=1e-12)


def test_the_chain_is_recovered_from_single_precision_too():
    chain = random_chain(3, 5, 0.9)
    rounded = chain.successor_measure().astype(np.float32)
    recovered = MarkovChain.from_successor_measure(rounded, np.float32(0.9))
    np.testing.assert_allclose(recovered.P, chain.P, atol=1e-4)


def test_rows_are_normalised_in_double_precision_and_cannot_be_changed():
    chain = MarkovChain(np.full((3, 3), 1 / 3, np.float32), gamma=0.5)
    np.testing.assert_allclose(chain.P, 1 / 3, atol=1e-16)
    with pytest.raises(ValueError, match="read-only"):
        chain.P[0, 0] = 1


def test_a_policy_mixes_the_actions_of_each_state():
    # Action 0 stays, action 1 swaps the two states.
    mdp = TabularMDP([[[1, 0], [0, 1]], [[0, 1], [1, 0]]], gamma=0.9)
    chain = mdp.chain([[0.25, 0.75], [1.0, 0.0]])
    np.testing.assert_allclose(chain.P, [[0.25, 0.75], [0, 1]])
    assert chain.gamma == 0.9


def test_values_are_successor_measure_times_reward():
    chain, reward = random_chain(4, 6, 0.95), np.arange(6.0)
    np.testing.assert_allclose(
        expected_returns(chain, reward), chain.successor_measure() @ reward / (1 - 0.95)
    )
