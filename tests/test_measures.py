"""State measures and the zero-shot map."""

import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from daleth import StateMeasures
from daleth.rewards import reward_values


@pytest.fixture
def measures():
    points = np.random.default_rng(1).normal(size=(5, 3, 4, 2))  # 5 sources, m=3, k=4, d=2
    weights = np.random.default_rng(2).dirichlet(np.ones(4), size=(5, 3))
    atom_weights = np.random.default_rng(3).dirichlet(np.ones(3), size=5)
    return StateMeasures(points, weights, atom_weights)


def test_return_is_the_weighted_reward_over_one_minus_gamma():
    measures = StateMeasures(
        [[[0.0], [2.0]], [[4.0], [8.0]]], [[0.75, 0.25], [0.5, 0.5]], [0.1, 0.9]
    )
    g = measures.returns(lambda x: x[..., 0] ** 2, gamma=0.9)
    np.testing.assert_allclose(g.atoms, [0.25 * 4 / 0.1, 0.5 * (16 + 64) / 0.1], rtol=1e-5)
    np.testing.assert_allclose(g.weights, [0.1, 0.9])


def test_a_realised_trajectory_gives_its_discounted_return():
    """x0, x1, x2 and then x3 for ever is the measure Σ (1-γ)γ^k δ_{x_k} + γ³ δ_{x_3}."""
    gamma, states = 0.5, np.array([[1.0], [2.0], [3.0], [7.0]])
    weights = [0.5, 0.25, 0.125, 0.125]
    g = StateMeasures(states[None], [weights]).returns(lambda x: x[..., 0], gamma)
    discounted = 1 + 0.5 * 2 + 0.25 * 3 + 0.125 * 7 / (1 - gamma)
    assert g.mean() == pytest.approx(discounted)


def test_many_sources_and_rewards_equal_one_by_one(measures):
    rewards = [lambda x: x[..., 0], lambda x: jnp.sin(x[..., 1]), lambda x: (x**2).sum(-1)]
    together = measures.returns(rewards, 0.8)
    assert together.batch_shape == (3, 5)
    for i, reward in enumerate(rewards):
        for j in range(5):
            alone = measures[j].returns(reward, 0.8)
            np.testing.assert_allclose(together[i, j].atoms, alone.atoms, rtol=1e-5)
            np.testing.assert_allclose(together[i, j].weights, alone.weights)


def test_mean_measure_gives_the_mean_return(measures):
    def reward(x):
        return jnp.cos(x[..., 0]) * x[..., 1]

    expected = measures.returns(reward, 0.9).mean()
    mixture = measures.mean()
    assert mixture.num_atoms == 1
    np.testing.assert_allclose(mixture.returns(reward, 0.9).atoms[..., 0], expected, rtol=1e-5)


def test_a_state_in_front_gives_its_reward_and_then_the_discounted_return(measures):
    def reward(states):
        return states[..., 0] ** 2

    state = jnp.arange(3.0)[: measures.points.shape[-1]]
    found = measures.after(state, 0.8).returns(reward, 0.8).atoms
    wanted = reward(state) + 0.8 * measures.returns(reward, 0.8).atoms
    np.testing.assert_allclose(found, wanted, rtol=1e-5)


def test_returns_compile(measures):
    def mean_return(m):
        return m.returns(lambda x: x[..., 0], 0.9).mean()

    np.testing.assert_allclose(jax.jit(mean_return)(measures), mean_return(measures), rtol=1e-5)


@pytest.mark.parametrize("num_states", [1, 2, 3, 7])
def test_a_reward_of_one_state_is_noticed_and_works(num_states):
    states = jnp.arange(2.0 * num_states).reshape(num_states, 2)
    with pytest.warns(UserWarning, match="called once per state"):
        values = reward_values(lambda x: -abs(x[0]), states)
    np.testing.assert_array_equal(values, -states[:, 0])


def test_a_vectorised_reward_does_not_warn():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        values = reward_values(lambda x: np.abs(x[..., 0]), jnp.ones((2, 2)))
    np.testing.assert_array_equal(values, [1, 1])


def test_integer_and_boolean_rewards_become_floats():
    states = jnp.array([[0.5], [-0.5], [2.0]])
    np.testing.assert_array_equal(reward_values(lambda x: x[..., 0] > 0, states), [1, 0, 1])
