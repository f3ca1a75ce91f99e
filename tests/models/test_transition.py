"""Transition kernels and their rollouts against hand-worked values and closed forms."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from daleth import fit
from daleth.data import Normalisation, Trajectories
from daleth.discrepancy import squared_mmd
from daleth.envs import Corridor, LinearGaussian
from daleth.kernels import rational_quadratic
from daleth.models import transition
from daleth.models.paper_transition import PaperTransitionLearner
from daleth.models.residual_gaussian import ResidualGaussianLearner
from daleth.models.transition import RolloutModel, StateRange, TransitionKernel
from daleth.parts import AveragedAdam

pytestmark = pytest.mark.slow

SMALL = {
    "gamma": 0.8,
    "width": 32,
    "depth": 2,
    "optimisation": AveragedAdam(learning_rate=3e-3),
    "batch_size": 64,
}
LEARNERS = {
    "residual gaussian": ResidualGaussianLearner(**SMALL, num_atoms=400),
    "paper": PaperTransitionLearner(**SMALL, num_state_samples=8, num_noise=2, num_atoms=400),
}


def walks(prob_right):
    """Episodes of the corridor with five positions, from its middle to one of its ends."""
    draws, episodes = np.random.default_rng(0), []
    for _ in range(300):
        states = [2.0]
        while 0 < states[-1] < 4:
            states.append(states[-1] + (1 if draws.random() < prob_right else -1))
        episodes.append(np.array(states)[:, None])
    return Trajectories.from_episodes(episodes, ends="terminated")


WALKS = {"residual gaussian": walks(1.0), "paper": walks(0.5)}


class Shift(TransitionKernel):
    """One unit to the right and some noise, in normalised units."""

    noise: float

    def sample(self, key, state):
        return state + 1 + self.noise * jax.random.uniform(key, state.shape)


def shifted(num_atoms=2, noise=0.0, high=100.0):
    return RolloutModel(
        kernel=Shift(noise),
        state_range=StateRange(jnp.array([-100.0]), jnp.array([high])),
        normalisation=Normalisation(jnp.array([1.0]), jnp.array([2.0])),
        gamma=0.5,
        num_atoms=num_atoms,
        num_steps=3,
        state_dim=1,
    )


def test_rollouts_by_hand(key):
    """A unit in normalised units is two of the user's; what is left stays on the last state."""
    sources, keys = jnp.array([[0.1], [5.0]]), jax.random.split(key)
    measures = shifted().batch_atoms(sources, keys)
    np.testing.assert_allclose(measures.points[0, 1, :, 0], [0.1, 2.1, 4.1, 6.1], rtol=1e-6)
    np.testing.assert_array_equal(measures.point_weights[0, 0], [0.5, 0.25, 0.125, 0.125])
    clipped = shifted(high=1.0).batch_atoms(sources, keys)
    np.testing.assert_allclose(clipped.points[1, 0, :, 0], [5.0, 3.0, 3.0, 3.0])


def test_source_is_exact_in_chunks_too(key, monkeypatch):
    """Eight atoms and 100 sources, four trajectories at once: both are cut into chunks.

    Through normalised units and back, some of the sources would change their last bit.
    """
    model = shifted(num_atoms=8, noise=1.0)
    sources, keys = jax.random.normal(key, (100, 1)), jax.random.split(key, 100)
    together = jax.jit(jax.vmap(model.atoms))(sources, keys)
    monkeypatch.setattr(transition, "_TRAJECTORIES_AT_ONCE", 4)
    chunked = model.batch_atoms(sources, keys)
    np.testing.assert_allclose(chunked.points, together.points, rtol=1e-5, atol=1e-5)
    np.testing.assert_array_equal(chunked.point_weights, together.point_weights)
    np.testing.assert_array_equal(chunked.points[:, 7, 0], sources)
    changed = model.normalisation.invert(model.normalisation.apply(sources))
    assert bool((changed != sources).any())
    assert len(np.unique(chunked.points[:, :, 1])) > 790


def test_state_range_holds_all_states():
    box = StateRange.at_mean(2).widen(jnp.array([[[1.0, 2.0], [3.0, -1.0]]]))
    np.testing.assert_array_equal(box.low, [0, -1])
    np.testing.assert_array_equal(box.high, [3, 2])


def test_likelihood(key):
    learner = LEARNERS["residual gaussian"]
    state, following = jnp.array([0.5, -1.0]), jnp.array([1.0, 0.2])

    @jax.jit
    def both():
        kernel = jax.tree.map(lambda leaf: leaf + 0.3, learner.make_kernel(key, 2))
        mean, log_std = kernel.mean_and_log_std(state)
        density = jax.scipy.stats.norm.logpdf(following, mean, jnp.exp(log_std)).sum()
        return learner.loss(key, kernel, state, following), -density - np.log(2 * np.pi)

    found, expected = both()
    assert float(found) == pytest.approx(float(expected), rel=1e-5)


def test_untrained_gaussian_stands_still_and_spread_is_bounded(key):
    @jax.jit
    def moments(bias):
        kernel = LEARNERS["residual gaussian"].make_kernel(key, 1)
        kernel = eqx.tree_at(lambda k: k.layers[-1].bias, kernel, jnp.array([0.0, bias]))
        return kernel.mean_and_log_std(jnp.array([0.7]))

    for bias, bound in ((-1e3, -7), (1e3, 2)):
        mean, log_std = moments(bias)
        assert mean.item() == pytest.approx(0.7)
        assert log_std.item() == pytest.approx(bound, abs=1e-3)


def test_paper_loss_is_squared_mmd_without_the_term_of_the_target(key):
    """Two equal observations have the pair that one lacks, of kernel value `kappa(0)`."""
    learner = LEARNERS["paper"]
    state, following = jnp.array([0.5, -1.0]), jnp.array([1.0, 0.2])

    @jax.jit
    def both():
        kernel = learner.make_kernel(key, 2)
        noise = jax.random.normal(key, (learner.num_state_samples, learner.num_noise))
        samples = jax.vmap(kernel.generator, in_axes=(None, 0))(state, noise)
        twice = jnp.stack([following, following])
        expected = squared_mmd(samples, twice) - rational_quadratic(jnp.array(0.0))
        return learner.loss(key, kernel, state, following), expected

    found, expected = both()
    assert float(found) == pytest.approx(float(expected), rel=1e-5)


@pytest.fixture(scope="module")
def linear():
    """A linear-Gaussian system, and a residual Gaussian model of 100 trajectories of it."""
    env = LinearGaussian.random(2)
    draws = np.random.default_rng(0)
    states = [draws.normal(size=(100, 2))]
    for _ in range(200):
        noise = draws.normal(size=(100, 2)) @ np.asarray(env.noise_factor).T
        states.append(states[-1] @ np.asarray(env.matrix).T + noise)
    data = Trajectories.from_arrays(np.stack(states, axis=1))
    learner = ResidualGaussianLearner(0.9, width=32, depth=1, num_atoms=2000)
    return env, fit(data, learner, updates=1000, starts="uniform")


def test_one_step_mean_and_noise_of_a_linear_system(linear, key):
    env, model = linear
    states = jax.random.normal(key, (200, 2))
    normalised = model.normalisation.apply(states)
    means, log_stds = jax.vmap(model.kernel.mean_and_log_std)(normalised)
    found = model.normalisation.invert(means)
    error = jnp.sqrt(jnp.mean((found - states @ env.matrix.T) ** 2))
    assert error < 0.03  # of states with deviation about 1
    noise = jnp.exp(log_stds) * model.normalisation.scale
    np.testing.assert_allclose(noise, jnp.full((200, 2), env.noise_factor[0, 0]), rtol=0.15)


@pytest.mark.parametrize("weights", [(1.0, 0.0), (0.3, -0.8)])
def test_returns_of_a_linear_system(linear, weights):
    """Tolerances: four standard errors of 2,000 rollouts, and errors of the kernel added up."""
    env, model = linear
    sources = [[1.0, 1.0], [-1.0, 0.5], [0.0, 0.0]]
    mean, std = env.return_mean_and_std(weights, sources, model.gamma)
    returns = model.returns(lambda x: x @ jnp.array(weights), sources)
    np.testing.assert_allclose(returns.mean(), mean, atol=0.2 * std)
    np.testing.assert_allclose(returns.std(), [std] * 3, rtol=0.1)


def occupied(model, source, key):
    """The mean mass within half a step of each position."""
    measures = model.batch_atoms(jnp.array([[float(source)]]), key[None])
    near = np.abs(np.asarray(measures.points) - np.arange(5.0)) < 0.5
    return np.sum(np.asarray(measures.point_weights)[..., None] * near, axis=-2).mean(axis=(0, 1))


def test_absorbed_mass_of_a_walk_to_the_right(key):
    name = "residual gaussian"
    model = fit(WALKS[name], LEARNERS[name], updates=1000, starts="uniform")
    for source, expected in ((2, [0, 0, 0.2, 0.16, 0.64]), (4, [0, 0, 0, 0, 1])):
        np.testing.assert_allclose(occupied(model, source, key), expected, atol=1e-3)


def test_absorbed_mass_of_a_random_walk(key):
    """Next states are left or right: the generator splits its noise, as a Gaussian cannot."""
    model = fit(WALKS["paper"], LEARNERS["paper"], updates=4000, starts="uniform")
    occupancy = 0.2 * np.linalg.inv(np.eye(5) - 0.8 * Corridor(5).transition_matrix(0.5))
    for source in (1, 2, 3):
        np.testing.assert_allclose(occupied(model, source, key), occupancy[source], atol=0.1)
    first = model.batch_atoms(jnp.array([[2.0]]), key[None]).points[0, :, 1, 0]
    assert np.mean(np.abs(np.abs(first - 2) - 1) < 0.5) > 0.85


@pytest.mark.parametrize("name", LEARNERS)
def test_learner_contract(name, key):
    learner, data = LEARNERS[name], WALKS[name]
    assert type(learner)(**learner.config()) == learner
    seeds = {"one": 0, "same": 0, "other": 1}
    models = {
        each: fit(data, learner, updates=100, seed=seed, starts="uniform")
        for each, seed in seeds.items()
    }
    models["untrained"] = fit(data, learner, updates=0, starts="uniform")
    points = {
        each: np.asarray(model.batch_atoms(jnp.array([[2.0]]), key[None]).points)
        for each, model in models.items()
    }
    np.testing.assert_array_equal(points["one"], points["same"])
    assert not np.array_equal(points["one"], points["other"])
    assert np.isfinite(points["untrained"]).all()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"gamma": 1.0}, "gamma must satisfy"),
        ({"width": 0}, "width must be at least 1"),
        ({"batch_size": 2.5}, "batch_size must be a whole number"),
        ({"max_gradient_norm": 0.0}, "max_gradient_norm must be positive"),
        ({"tolerance": 0.0}, "tolerance must lie in"),
        ({"num_bootstrap_steps": 5}, "num_bootstrap_steps must be 1"),
    ],
)
def test_bad_hyperparameters(changes, message):
    for learner in LEARNERS.values():
        with pytest.raises(ValueError, match=message):
            type(learner)(**{**learner.config(), **changes})
