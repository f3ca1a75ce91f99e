"""Gaussian successor features against hand-worked values and linear-Gaussian closed forms."""

import warnings

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from daleth import fit
from daleth.data import Problem, Trajectories, Windows
from daleth.envs import LinearGaussian
from daleth.models import DiracAtMean
from daleth.models.feature_moments import fit_reward, symmetric
from daleth.models.successor_features import GaussianSuccessorFeatures, SuccessorFeaturesLearner

pytestmark = pytest.mark.slow

GAMMA = 0.9
LEARNER = SuccessorFeaturesLearner(GAMMA, num_frequencies=4, width=16, num_bootstrap_steps=5)
LINEAR = SuccessorFeaturesLearner(0.5, num_frequencies=0, depth=0, num_bootstrap_steps=3)
WEIGHTS = [(1.0, 0.0), (0.3, -0.8)]
REWARDS = [lambda x, w=w: x @ jnp.array(w) for w in WEIGHTS]
SOURCES = [[1.0, 1.0], [-1.0, 0.5], [0.0, 0.0]]


def train(data, learner, **settings):
    model = fit(data, learner, starts="uniform", **settings)
    assert isinstance(model, GaussianSuccessorFeatures)
    return model


def linear_gaussian_states(env, num_episodes, num_steps):
    """States `[num_episodes, num_steps + 1, d]`."""
    draws = np.random.default_rng(0)
    states = [draws.normal(size=(num_episodes, env.dimension))]
    for _ in range(num_steps):
        noise = draws.normal(size=states[0].shape) @ np.asarray(env.noise_factor).T
        states.append(states[-1] @ np.asarray(env.matrix).T + noise)
    return np.stack(states, axis=1)


@pytest.fixture(scope="module")
def env():
    return LinearGaussian.random(2)


@pytest.fixture(scope="module")
def data(env):
    return Trajectories.from_arrays(linear_gaussian_states(env, 100, 200))


@pytest.fixture(scope="module")
def model(data):
    return train(data, LEARNER, updates=2000)


def linear_state(key, weight, variance):
    """A state of the linear learner in one dimension: mean `weight * x`, constant covariance."""
    problem = Problem.of(Trajectories.from_arrays([[0.0], [1.0]]))
    state = LINEAR.init(key, problem)
    network = jax.tree.map(jnp.zeros_like, state.network)
    network = eqx.tree_at(
        lambda n: (n.mean.weight, n.covariance.bias),
        network,
        (jnp.array([[weight]]), jnp.array([variance])),
    )
    return eqx.tree_at(lambda s: (s.network, s.average), state, (network, network))


@pytest.mark.parametrize(
    ("length", "terminated", "mean_error", "spread"),
    [
        # With gamma 1/2, a network of mean 0.4 x and variance 2: M(x) = 0.7 x and C = 1/2.
        (3, False, 4 / 2 + 8 / 4 + 2 / 8 + 0.7 * 16 / 8 - 2.8, 0.5 / 64),
        (1, False, 4 / 2 + 0.7 * 8 / 2 - 2.8, 0.5 / 4),
        (1, True, 4 / 2 + 8 / 2 - 2.8, 0.0),
        (0, True, 4 - 2.8, 0.0),
    ],
)
def test_losses_by_hand(length, terminated, mean_error, spread, key):
    states = jnp.array([4.0, 8.0, 2.0, 16.0])[jnp.minimum(jnp.arange(4), length)]
    window = Windows(states[:, None], jnp.array(length), jnp.array(terminated))
    state = linear_state(key, weight=0.4, variance=2.0)
    of_mean, of_covariance = LINEAR.losses(state.network, state, window)
    assert float(of_mean) == pytest.approx(mean_error**2, rel=1e-5)
    expected = (0.5 - mean_error**2 - spread) ** 2
    assert float(of_covariance) == pytest.approx(expected, rel=1e-4)


def test_exact_moments_are_a_fixed_point(key):
    """At the closed form the gradient is zero within four standard errors of 20,000 windows."""
    env = LinearGaussian([[0.8]], [[0.6]])
    gamma = LINEAR.gamma
    slope, std = env.return_mean_and_std([1.0], [1.0], gamma)
    mean, variance = (1 - gamma) * slope, ((1 - gamma) * std) ** 2
    state = linear_state(key, (mean - (1 - gamma)) / gamma, variance / gamma**2)
    states = jnp.asarray(linear_gaussian_states(env, 20_000, 3), jnp.float32)
    lengths = jnp.arange(20_000) % 3 + 1
    kept = jnp.minimum(jnp.arange(4), lengths[:, None])
    states = jnp.take_along_axis(states, kept[..., None], axis=1)
    windows = Windows(states, lengths, jnp.zeros(20_000, bool))

    @jax.jit
    @jax.vmap
    def gradients(window):
        return jax.grad(lambda network: sum(LINEAR.losses(network, state, window)))(state.network)

    for gradient in jax.tree.leaves(gradients(windows)):
        error = gradient.std(axis=0) / np.sqrt(20_000)
        assert bool((jnp.abs(gradient.mean(axis=0)) <= 4 * error + 1e-7).all())
        assert bool((error > 0).all())


def test_returns_of_a_linear_system(env, model):
    """With seeds 0 to 3 the errors stay within half of these tolerances."""
    mean, std = model.return_mean_and_std(REWARDS, SOURCES)
    for index, weights in enumerate(WEIGHTS):
        exact_mean, exact_std = env.return_mean_and_std(weights, SOURCES, GAMMA)
        np.testing.assert_allclose(mean[index], exact_mean, atol=0.2 * exact_std)
        np.testing.assert_allclose(std[index], [exact_std] * 3, rtol=0.1)
    returns = model.returns(REWARDS, SOURCES)
    assert returns.batch_shape == (2, 3)
    np.testing.assert_allclose(returns.mean(), mean, atol=1e-4)
    # Half of a Gaussian lies within 0.6745 standard deviations.
    np.testing.assert_allclose(returns.quantile(0.75) - mean, 0.6745 * std, rtol=0.05)


def test_atoms_realise_the_moments(model, key):
    """Points beside the source are states of the data, and their returns are about Gaussian."""
    sources = jnp.array(SOURCES)
    measures = model.batch_atoms(sources, jax.random.split(key, 3))
    here = np.broadcast_to(sources[:, None], (3, LEARNER.num_atoms, 2))
    np.testing.assert_array_equal(measures.points[:, :, 0], here)
    np.testing.assert_array_equal(measures.point_weights[:, :, 0], np.float32(1 - GAMMA))
    known = np.asarray(model.normalisation.invert(model.data_states))
    ahead = np.unique(np.asarray(measures.points[:, :, 1:]).reshape(-1, 2), axis=0)
    distance = np.abs(ahead[:, None] - known).max(axis=-1).min(axis=-1)
    np.testing.assert_allclose(distance, 0, atol=1e-6)
    mean, std = model.return_mean_and_std(REWARDS, SOURCES)
    realised = measures.returns(REWARDS, GAMMA)
    np.testing.assert_allclose(realised.mean(), mean, atol=0.6 * float(std.max()))
    np.testing.assert_allclose(realised.std(), std, rtol=0.35)


def test_without_discount_the_return_is_the_reward(data):
    zero = SuccessorFeaturesLearner(**{**LEARNER.config(), "gamma": 0})
    mean, std = train(data, zero, updates=0).return_mean_and_std(REWARDS[1], SOURCES)
    np.testing.assert_allclose(mean, [REWARDS[1](jnp.array(x)) for x in SOURCES], atol=2e-3)
    np.testing.assert_array_equal(std, 0)


def test_constant_rewards_are_exact(model):
    returns = model.returns(lambda x: jnp.full(x.shape[:-1], 3.0), SOURCES)
    np.testing.assert_allclose(returns.atoms, 3 / (1 - GAMMA), rtol=1e-5)


def test_rewards_outside_the_span_warn(model):
    with pytest.warns(UserWarning, match="the features miss [0-9]+% of the reward"):
        model.returns(lambda x: jnp.where(x[..., 0] > 0.5, 1.0, 0.0), SOURCES)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.returns(REWARDS[0], SOURCES)


def test_left_out_errors_see_overfitting():
    """Noise on as many features as states: each fit is perfect, and each prediction is not."""
    draws = np.random.default_rng(0)
    features, values = draws.normal(size=(40, 39)), draws.normal(size=40)
    with pytest.warns(UserWarning, match="of the reward"):
        bias, coefficients = fit_reward(features, values)
    assert np.std(bias + features @ coefficients - values) < 0.1


def test_symmetric_matrix_by_hand():
    matrix = symmetric(jnp.arange(1.0, 7.0), 3)
    np.testing.assert_array_equal(matrix, [[1, 2, 4], [2, 3, 5], [4, 5, 6]])


def test_learner_contract(data):
    assert type(LEARNER)(**LEARNER.config()) == LEARNER
    one, same, other = (train(data, LEARNER, updates=250, seed=seed) for seed in (0, 0, 1))
    means = [m.return_mean_and_std(REWARDS[0], SOURCES)[0] for m in (one, same, other)]
    np.testing.assert_array_equal(means[0], means[1])
    assert not np.array_equal(means[0], means[2])
    kept = np.asarray(one.data_states[:250])
    known = np.asarray(one.normalisation.apply(jnp.asarray(data.states)))
    assert np.isin(kept.round(4), known.round(4)).all()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"gamma": 1.0}, "gamma must satisfy"),
        ({"num_frequencies": -1}, "num_frequencies must be at least 0"),
        ({"depth": 1.5}, "depth must be a whole number"),
        ({"frequency_scale": 0.0}, "frequency_scale must be positive"),
        ({"num_data_states": 1}, "num_data_states must be at least 2"),
    ],
)
def test_bad_hyperparameters(changes, message):
    with pytest.raises(ValueError, match=message):
        SuccessorFeaturesLearner(**{**LEARNER.config(), **changes})


def test_bad_questions(model):
    with pytest.raises(ValueError, match="source_state must have 2 components"):
        model.returns(REWARDS[0], [0.0])
    with pytest.raises(ValueError, match="non-empty sequence of functions"):
        model.returns([], SOURCES)


def test_the_dirac_at_its_mean_is_at_the_mean_of_its_closed_form(model):
    found = DiracAtMean(model).returns(REWARDS, SOURCES)
    np.testing.assert_allclose(found.atoms[..., 0], model.returns(REWARDS, SOURCES).mean())
