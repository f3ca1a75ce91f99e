"""Learned models where mass is absorbed, where actions count, and in the Windy Gridworld."""

from dataclasses import replace

import jax
import numpy as np
import pytest

from daleth import fit
from daleth.data import Trajectories
from daleth.envs import Corridor, LinearGaussian, WindyGridworld, reward
from daleth.evaluation import atom_floor, squared_cramer, true_returns, wasserstein
from daleth.models import Model
from daleth.models.delta import DeltaLearner, fast_learner, paper_learner
from daleth.parts import Generators, Gram, Particles, PlainAdam
from daleth.policies import policy
from daleth.tabular import MarkovChain, return_laws

GAMMA, LAST = 0.8, 4

FAST = DeltaLearner(
    gamma=GAMMA,
    representation=Particles(num_atoms=8, num_points=16, width=64, depth=2, num_frequencies=16),
    batch_size=32,
    num_bootstrap_steps=10,
)
PAPER = replace(
    paper_learner(GAMMA),
    representation=Generators(num_atoms=4, num_state_samples=8, width=64, depth=2),
    state_comparison=Gram(num_features=0),
    optimisation=PlainAdam(learning_rate=1e-3, target_step=0.02),
    batch_size=16,
)


def corridor_walks() -> Trajectories:
    """Episodes that end in an absorbing state, nearly all of them."""
    walk = policy("corridor/uniform")
    data = Trajectories.from_environment(Corridor(LAST + 1), walk, 3000, jax.random.key(1))
    assert data.terminated.mean() > 0.95
    return data


def mass_at_ends(model: Model, sources: np.ndarray) -> np.ndarray:
    """The successor measure of both absorbing ends, `[S, 2]`: what is nearer to them."""
    ends = [lambda x: 1.0 * (x[..., 0] < 0.5), lambda x: 1.0 * (x[..., 0] > LAST - 0.5)]
    return (1 - GAMMA) * np.asarray(model.returns(ends, sources).mean()).T


@pytest.mark.slow
@pytest.mark.parametrize(
    ("learner", "updates", "tolerance"), [(FAST, 600, 0.07), (PAPER, 9000, 0.2)]
)
def test_absorbed_mass(learner, updates, tolerance):
    """Both ends from all five positions, against the closed form.

    Generators are slow to become a single point, which the future of an absorbed state is: from
    there 0.36 of the mass is missing after 1,000 updates, 0.23 after 3,000, 0.14 after 9,000.
    """
    model = fit(corridor_walks(), learner, updates=updates)
    positions = np.arange(LAST + 1.0)[:, None]
    exact = MarkovChain(Corridor(LAST + 1).transition_matrix(0.5), GAMMA).successor_measure()
    found = mass_at_ends(model, positions)
    np.testing.assert_allclose(found, exact[:, [0, LAST]], atol=tolerance)


def pair_chain() -> tuple[MarkovChain, np.ndarray]:
    """The chain of pairs (position, action), and the pairs; at an end the action is 0."""
    inside = [(p, a) for p in range(1, LAST) for a in (0, 1)]
    pairs = [*inside, (0, 0), (LAST, 0)]
    matrix = np.zeros((len(pairs), len(pairs)))
    for row, (p, a) in enumerate(pairs):
        at = p + 2 * a - 1 if 0 < p < LAST else p
        following = [(at, b) for b in (0, 1) if (at, b) in pairs]
        for pair in following:
            matrix[row, pairs.index(pair)] = 1 / len(following)
    return MarkovChain(matrix, GAMMA), np.array(pairs, float)


def test_measures_of_states_and_actions():
    """A reward for going right, and absorbed mass, from every pair of position and action.

    Measured for three seeds: mass 0.015 to 0.022 off at most, squared Cramér distances 0.007 to
    0.011 on average, where the Dirac at the true mean has 0.110.
    """
    chain, pairs = pair_chain()
    model = fit(corridor_walks(), FAST, updates=500, occupancy_of="state-action")
    exact = chain.successor_measure()[:, -2:]
    np.testing.assert_allclose(mass_at_ends(model, pairs), exact, atol=0.05)
    laws = return_laws(chain, pairs[:, 1])
    truth = [law.to_distribution(200) for law in laws]
    returns = model.returns(lambda x: x[..., 1], pairs)
    np.testing.assert_allclose(returns.mean(), [law.mean() for law in laws], atol=0.15)
    errors = [squared_cramer(returns[i], law) for i, law in enumerate(truth)]
    dirac = [squared_cramer(law.dirac_at_mean(), law) for law in truth]
    assert np.mean(errors) < 0.15 * np.mean(dirac)


def test_accuracy_in_the_windy_gridworld():
    """W1 of `fast` over the floor of 4 atoms, both rewards of the paper from four source states.

    Measured 1.32 to 1.64 for five seeds; the Dirac at the true mean has 3.6.
    """
    env, walk, gamma = WindyGridworld(), policy("windy/uniform"), 0.95
    data = Trajectories.from_environment(env, walk, 40_000, jax.random.key(1))
    model = fit(data, fast_learner(gamma, 4), updates=1000, starts="uniform")
    sources = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, -1.0], [-2.0, 2.0]])
    rewards = {name: reward(f"windy/{name}") for name in ("hopscotch", "lopsided-checkerboard")}
    truth = true_returns(env, walk, rewards, sources, gamma, num_rollouts=1000)
    ratios = [
        wasserstein(model.returns(rewards[name], sources), law).sum()
        / atom_floor(law, 4, wasserstein).sum()
        for name, law in truth.items()
    ]
    assert np.mean(ratios) < 1.8


@pytest.mark.slow
def test_spread_where_returns_are_nearly_certain():
    """Atoms that wander and are then averaged would lie too near to each other.

    Measured for three seeds: 0.93 to 0.95 of the true standard deviation.
    """
    env, gamma = LinearGaussian.random(2), 0.9
    walk = policy("linear-gaussian/uniform")
    data = Trajectories.from_environment(env, walk, 40_000, jax.random.key(1))
    learner = DeltaLearner(
        gamma=gamma, representation=Particles(num_atoms=16, width=64, num_frequencies=16)
    )
    model = fit(data, learner, updates=1000, starts="uniform")
    sources = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, -1.0]])
    ratios = []
    for direction in np.eye(2):
        mean, std = env.return_mean_and_std(direction, sources, gamma)
        returns = model.returns(lambda x, d=direction: x @ d, sources)
        np.testing.assert_allclose(returns.mean(), mean, atol=0.5 * float(std))
        ratios.append(returns.std() / std)
    assert 0.85 < np.mean(ratios) < 1.1


def test_labels_are_met_exactly():
    """Rewards on one position alone, `x == 3`, against the closed form.

    Measured for four seeds: 0.02 to 0.05 off at most, 0.007 to 0.011 on average. Points that lie
    near labels and not on them would have next to nothing.
    """
    model = fit(corridor_walks(), FAST, updates=500)
    positions = np.arange(LAST + 1.0)[:, None]
    on_one = [lambda x, label=label: 1.0 * (x[..., 0] == label) for label in range(LAST + 1)]
    found = (1 - GAMMA) * np.asarray(model.returns(on_one, positions).mean()).T
    exact = MarkovChain(Corridor(LAST + 1).transition_matrix(0.5), GAMMA).successor_measure()
    np.testing.assert_allclose(found.sum(axis=1), 1, atol=1e-5)
    assert np.abs(found - exact).max() < 0.1
    assert np.abs(found - exact).mean() < 0.02
