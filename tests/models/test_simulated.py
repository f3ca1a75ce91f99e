"""Monte Carlo models and nearest trajectories against the exact law of the corridor."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from daleth.data import Trajectories
from daleth.envs import Corridor
from daleth.models import DiracAtMean, EmpiricalModel, MonteCarloModel
from daleth.policies import policy
from daleth.tabular import MarkovChain, return_laws

GAMMA = 0.8
ENV = Corridor(5)
POLICY = policy("corridor/uniform")
SOURCES = jnp.array([[1.0], [2.0], [3.0]])


def reward(states):
    """Not linear, and not the same at both ends."""
    return jnp.where(states[..., 0] > 3.5, 2.0, states[..., 0] - 1)


@pytest.fixture(scope="module")
def exact():
    chain = MarkovChain(ENV.transition_matrix(0.5), GAMMA)
    return return_laws(chain, np.asarray(reward(jnp.arange(5.0)[:, None])))


@pytest.fixture(scope="module")
def data():
    return Trajectories.from_environment(ENV, POLICY, 20_000, jax.random.key(1))


def close_to_law(returns, law, num_draws):
    """Four standard errors at every value: fails with probability below 1e-2 for fresh keys."""
    values = np.linspace(law.quantile(0.02), law.quantile(0.98), 20)
    step = 2 * law.resolution + 1e-4
    lower, upper = law.cdf(values - step), law.cdf(values + step)
    error = 4 * np.sqrt(0.25 / num_draws)
    found = np.asarray(returns.cdf(values))
    return bool(((found >= lower - error) & (found <= upper + error)).all())


def test_monte_carlo_has_the_exact_law(exact, key):
    model = MonteCarloModel(ENV, POLICY, GAMMA, num_atoms=4000)
    returns = model.returns(reward, SOURCES, key=key)
    for index in range(3):
        law = exact[index + 1]
        assert close_to_law(returns[index], law, 4000)
        error = 4 * np.sqrt(law.variance() / 4000)
        assert returns[index].mean() == pytest.approx(float(law.mean()), abs=error)


def test_nearest_trajectories_have_the_exact_law(exact, data):
    """Positions are discrete, so the nearest state is the source itself."""
    model = EmpiricalModel(data, GAMMA, num_atoms=400)
    for source in (1, 2, 3):
        assert close_to_law(model.returns(reward, [float(source)]), exact[source], 400)


def test_atoms_of_the_nearest_trajectories_by_hand():
    data = Trajectories.from_episodes(
        [[[0.0], [1.0], [2.0]], [[0.1], [5.0], [6.0], [7.0]], [[9.0], [9.0], [9.0]]],
        ends=["terminated", "truncated", "truncated"],
    )
    model = EmpiricalModel(data, gamma=0.5, num_atoms=2, max_unseen_mass=0.2)
    measures = model.atoms(jnp.array([0.0]), jax.random.key(0))
    np.testing.assert_allclose(measures.points[..., 0], [[0, 1, 2, 2], [0.1, 5, 6, 7]])
    # The first ended in an absorbing state; the second was cut after three of its steps.
    expected = [[0.5, 0.25, 0.25, 0], np.array([0.5, 0.25, 0.125, 0]) / 0.875]
    np.testing.assert_allclose(measures.point_weights, expected, rtol=1e-6)


def test_each_episode_gives_one_atom(data):
    model = EmpiricalModel(data, GAMMA, num_atoms=50)
    rows = np.asarray(model.nearest(jnp.array([2.0])))
    episodes = np.searchsorted(data.offsets, rows, side="right")
    assert len(set(episodes)) == 50
    np.testing.assert_array_equal(data.states[rows, 0], 2.0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"gamma": 0.99, "num_atoms": 3}, "num_atoms must not exceed the 1 episodes"),
        ({"gamma": 1.0}, "gamma must satisfy"),
        ({"gamma": 0.5, "num_atoms": 0}, "num_atoms must be at least 1"),
        ({"gamma": 0.5, "max_unseen_mass": 1.0}, "max_unseen_mass must lie in"),
    ],
)
def test_bad_arguments(arguments, message):
    data = Trajectories.from_episodes(
        [[[0.0], [1.0]], [[0.0], [1.0]]], ends=["terminated", "truncated"]
    )
    with pytest.raises(ValueError, match=message):
        EmpiricalModel(data, **arguments)


def test_source_of_the_wrong_length(data):
    model = EmpiricalModel(data, GAMMA, num_atoms=4)
    with pytest.raises(ValueError, match="source_state must have 1 components"):
        model.returns(reward, [0.0, 1.0])
    with pytest.raises(ValueError, match="source_state must be finite"):
        model.returns(reward, [float("nan")])


def test_dirac_at_mean_is_the_mean_of_its_model(data):
    model = EmpiricalModel(data, GAMMA, num_atoms=20)
    returns = model.returns(reward, SOURCES)
    dirac = DiracAtMean(model).returns(reward, SOURCES)
    assert dirac.num_atoms == 1
    np.testing.assert_allclose(dirac.atoms[:, 0], returns.mean(), rtol=1e-5)


def test_returns_have_a_derivative_in_the_source_state(key):
    data = Trajectories.from_environment(ENV, POLICY, 100, key)
    model = EmpiricalModel(data, GAMMA, 3)
    slope = jax.grad(lambda x: model.returns(lambda s: s[..., 0], x).mean())(jnp.array([2.0]))
    assert np.isfinite(slope).all()


def test_a_source_state_must_fit_single_precision(key):
    model = MonteCarloModel(ENV, POLICY, GAMMA, 3)
    with pytest.raises(ValueError, match="source_state must not exceed"):
        model.returns(reward, [1e39], key=key)
    halves = model.atoms(jnp.array([2.0]), key).points
    given = model.at(np.array([2.0], np.float16), key=key).measures.points
    assert given.dtype == halves.dtype
