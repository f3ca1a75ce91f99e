"""One contract for every model: shapes, weights, keys, compilation, batches."""

import dataclasses
from functools import cache, partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from daleth import fit, load
from daleth.data import Problem, Trajectories, Windows
from daleth.envs import Corridor
from daleth.models import DiracAtMean, EmpiricalModel, GymnasiumModel, MonteCarloModel
from daleth.models.delta import DeltaLearner
from daleth.models.paper_transition import PaperTransitionLearner
from daleth.models.residual_gaussian import ResidualGaussianLearner
from daleth.models.successor_features import SuccessorFeaturesLearner
from daleth.parts import (
    Energy,
    Generators,
    Gram,
    InverseMultiquadric,
    Matched,
    Particles,
    PlainAdam,
    RandomFeatures,
    WeightedParticles,
)
from daleth.policies import policy

# Four frequencies cannot fit every reward, and successor features say so.
pytestmark = pytest.mark.filterwarnings("ignore:the features miss")

GAMMA, NUM_ATOMS = 0.7, 6
SOURCES = jnp.array([[1.0], [2.0], [3.0]])


def empirical():
    env, walk = Corridor(5), policy("corridor/uniform")
    data = Trajectories.from_environment(env, walk, 400, jax.random.key(1))
    return EmpiricalModel(data, GAMMA, NUM_ATOMS)


def gymnasium():
    from daleth.envs.gym import GymEnv

    walk = policy("corridor/uniform")
    return GymnasiumModel(GymEnv(Corridor(5)), walk, GAMMA, NUM_ATOMS, tolerance=0.05)


def monte_carlo():
    return MonteCarloModel(Corridor(5), policy("corridor/uniform"), GAMMA, NUM_ATOMS)


def dirac_at_mean():
    return DiracAtMean(monte_carlo())


@cache
def learned(learner):
    """An untrained model: the contract asks nothing of what was learned.

    The data have a wall and vary continuously elsewhere: points of answers are not all alike.
    """
    walks = np.cumsum(np.random.default_rng(1).normal(size=(20, 20, 1)), axis=1)
    return fit(Trajectories.from_arrays(np.minimum(walks, 4.0)), learner, updates=0)


SMALL: dict[str, Any] = {"num_atoms": NUM_ATOMS, "width": 8, "depth": 1}
GENERATORS = Generators(num_state_samples=3, num_answer_samples=5, num_noise=2, **SMALL)
PARTICLES = Particles(num_points=3, num_frequencies=2, **SMALL)
SHORT = {"batch_size": 4, "num_bootstrap_steps": 3, "num_target_atoms": 2}
PAPER = {
    "representation": GENERATORS,
    "state_comparison": Gram(num_features=2, width=4),
    "set_comparison": InverseMultiquadric(),
    "optimisation": PlainAdam(),
    "targets": "sampled",
    "known_source": False,
}
DELTA = {
    "fast": {"representation": PARTICLES, "state_comparison": RandomFeatures(4)},
    "paper": PAPER,
    "gamma ensemble": PAPER | {"set_comparison": Matched()},
    "paper, known source": PAPER | {"known_source": True},
    "generators, random features, energy": {
        "representation": GENERATORS,
        "state_comparison": RandomFeatures(4),
        "set_comparison": Energy(),
    },
    "particles, Gram, inverse multiquadric": {
        "representation": PARTICLES,
        "state_comparison": Gram(num_features=0),
        "set_comparison": InverseMultiquadric(),
    },
    "weighted particles, random features, energy": {
        "representation": WeightedParticles(**PARTICLES.config()),
        "state_comparison": RandomFeatures(4),
        "num_target_atoms": 0,
    },
    "weighted particles, Gram, inverse multiquadric": {
        "representation": WeightedParticles(**PARTICLES.config()),
        "state_comparison": Gram(num_features=0),
        "set_comparison": InverseMultiquadric(),
        "num_target_atoms": 0,
    },
    "generators, adversarial Gram, energy, exact targets": {
        **PAPER,
        "set_comparison": Energy(),
        "targets": "exact",
    },
}
DELTA_LEARNERS = {
    name: DeltaLearner(gamma=GAMMA, **(SHORT | parts)) for name, parts in DELTA.items()
}
LEARNERS = {
    **{name: DELTA_LEARNERS[name] for name in ("fast", "paper")},
    "paper transition": PaperTransitionLearner(gamma=GAMMA, **SMALL),
    "residual Gaussian": ResidualGaussianLearner(gamma=GAMMA, **SMALL),
    "successor features": SuccessorFeaturesLearner(
        gamma=GAMMA, num_frequencies=4, num_data_states=64, **SMALL
    ),
}

COMPILED = {"dirac": dirac_at_mean, "empirical": empirical, "monte carlo": monte_carlo}
COMPILED |= {name: partial(learned, learner) for name, learner in LEARNERS.items()}
MODELS = {**COMPILED, "gymnasium": gymnasium, "dirac gymnasium": lambda: DiracAtMean(gymnasium())}


@pytest.fixture(params=MODELS.values(), ids=list(MODELS), scope="module")
def model(request):
    return request.param()


def reward(states):
    return states[..., 0] ** 2


def test_shapes_and_weights(model, key):
    measures = model.atoms(SOURCES[0], key)
    assert measures.num_atoms == (1 if isinstance(model, DiracAtMean) else NUM_ATOMS)
    assert measures.batch_shape == ()
    assert measures.points.shape[-1] == model.state_dim == 1
    np.testing.assert_allclose(measures.point_weights.sum(-1), 1, rtol=1e-5)
    np.testing.assert_allclose(measures.atom_weights.sum(-1), 1, rtol=1e-5)
    assert bool((measures.point_weights >= 0).all())


def test_a_known_source_is_the_first_point_of_every_atom(key):
    known, learned_too = (
        learned(DELTA_LEARNERS[name]).atoms(SOURCES[1], key) for name in ("fast", "paper")
    )
    np.testing.assert_array_equal(known.points[:, 0], jnp.full((NUM_ATOMS, 1), 2.0))
    np.testing.assert_allclose(known.point_weights[:, 0], 1 - GAMMA, rtol=1e-6)
    assert known.points.shape[1] == PARTICLES.num_points + 1
    assert learned_too.points.shape[1] == GENERATORS.num_answer_samples


def test_without_a_future_the_return_is_the_reward_itself(key):
    """With γ = 0 nothing is left to learn."""
    model = learned(dataclasses.replace(DELTA_LEARNERS["fast"], gamma=0.0))
    found = model.returns(reward, SOURCES, key=key)
    np.testing.assert_allclose(found.mean(), reward(SOURCES), rtol=1e-6)
    np.testing.assert_allclose(found.std(), 0, atol=1e-6)


def test_same_key_same_answer(model, key):
    one, two = (model.returns(reward, SOURCES[0], key=key).atoms for _ in range(2))
    np.testing.assert_array_equal(one, two)


def test_batch_equals_loop(model, key):
    keys = jax.random.split(key, 3)
    together = model.batch_atoms(SOURCES, keys)
    for index in range(3):
        alone = model.atoms(SOURCES[index], keys[index])
        np.testing.assert_allclose(together[index].points, alone.points, rtol=1e-5)
        np.testing.assert_allclose(together[index].point_weights, alone.point_weights, rtol=1e-5)


def test_returns_of_many_rewards_and_sources(model, key):
    rewards = [reward, lambda x: -x[..., 0]]
    grid = SOURCES.reshape(3, 1, 1)
    returns = model.returns(rewards, grid, key=key)
    assert returns.batch_shape == (2, 3, 1)
    one = model.returns(reward, SOURCES, key=key)
    np.testing.assert_allclose(returns[0, :, 0].atoms, one.atoms, rtol=1e-5)


def test_mean_reward_of_a_constant_is_the_constant(model):
    returns = model.returns(lambda x: jnp.full(x.shape[:-1], 3.0), SOURCES)
    np.testing.assert_allclose(returns.atoms, 3 / (1 - GAMMA), rtol=1e-4)


@pytest.mark.parametrize("make", COMPILED.values(), ids=list(COMPILED))
def test_jit_equals_no_jit(make, key):
    model = make()
    compiled = jax.jit(lambda m, x, k: m.atoms(x, k))(model, SOURCES[1], key)
    plain = model.atoms(SOURCES[1], key)
    np.testing.assert_allclose(compiled.points, plain.points, rtol=1e-5)
    np.testing.assert_allclose(compiled.point_weights, plain.point_weights, rtol=1e-5)


SAVED = {"empirical": empirical} | {
    name: partial(learned, learner) for name, learner in (LEARNERS | DELTA_LEARNERS).items()
}


@pytest.mark.parametrize("make", SAVED.values(), ids=list(SAVED))
def test_save_and_load(make, tmp_path, key):
    model = make()
    model.save(tmp_path / "model.safetensors")
    again = load(tmp_path / "model.safetensors")
    one, two = (m.returns(reward, SOURCES, key=key).atoms for m in (model, again))
    np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize("learner", DELTA_LEARNERS.values(), ids=list(DELTA_LEARNERS))
def test_parts_fit_together_in_a_step(learner, key):
    """Traced only: a step of any combination has a loss, and a state of the same shapes."""
    windows = Windows(jnp.zeros((4, 4, 1)), jnp.zeros(4, int), jnp.zeros(4, bool))

    def both():
        state = learner.init(key, Problem.plain(1))
        return state, learner.step(key, state, windows)

    before, (after, info) = eqx.filter_eval_shape(both)
    assert jax.tree.map(lambda leaf: leaf.shape, before) == jax.tree.map(
        lambda leaf: leaf.shape, after
    )
    assert info["loss"].shape == ()


@pytest.mark.parametrize("name", ["monte carlo", "gymnasium"])
def test_simulators_cannot_be_saved(name, tmp_path):
    with pytest.raises(ValueError, match="cannot be saved"):
        MODELS[name]().save(tmp_path / "model.safetensors")
    assert not list(tmp_path.iterdir())
