"""δ-models and γ-ensembles against the exact laws of three-state chains.

Errors are squared Cramér distances, averaged over 16 random rewards and the 3 source states, as a
share of that of the Dirac at the true mean, 0.129. The best 8 atoms have a share of 0.020.
"""

import time
from dataclasses import replace

import numpy as np
import pytest

from daleth import ReturnDistribution, fit
from daleth.data import Trajectories
from daleth.evaluation import squared_cramer
from daleth.models.delta import DeltaLearner, paper_learner
from daleth.parts import Energy, Generators, Gram, Matched, Particles, PlainAdam, WeightedParticles
from daleth.tabular import MarkovChain, return_laws, three_state_chain

GAMMA, NUM_ATOMS = 0.7, 8

FAST = DeltaLearner(
    gamma=GAMMA,
    representation=Particles(
        num_atoms=NUM_ATOMS, num_points=16, width=64, depth=2, num_frequencies=16
    ),
    batch_size=32,
    num_bootstrap_steps=20,
)
PAPER = replace(
    paper_learner(GAMMA),
    representation=Generators(
        num_atoms=NUM_ATOMS, num_state_samples=8, num_answer_samples=64, width=64, depth=2
    ),
    state_comparison=Gram(num_features=0),
    optimisation=PlainAdam(learning_rate=1e-3, target_step=0.02),
    batch_size=16,
)


def walks(chain: MarkovChain) -> Trajectories:
    """Trajectories of a chain with one-hot states; all of one size, to be compiled for once."""
    rng = np.random.default_rng(0)
    states = [rng.integers(0, chain.num_states, 300)]
    for _ in range(40):
        cumulative = np.cumsum(chain.P[states[-1]], axis=1)
        drawn = (rng.random(300)[:, None] > cumulative).sum(axis=1)
        states.append(np.minimum(drawn, chain.num_states - 1))
    one_hot = np.eye(chain.num_states)[np.stack(states, axis=1)]
    return Trajectories.from_arrays(one_hot, ends="truncated")


class ThreeStates:
    """The chain of the paper, its exact laws under random rewards, and data."""

    def __init__(self):
        chain = three_state_chain()
        assert chain.gamma == GAMMA
        self.data = walks(chain)
        vectors = np.random.default_rng(1).normal(size=(16, 3)).astype(np.float32)
        self.laws = [return_laws(chain, vector) for vector in vectors]
        self.rewards = [lambda x, vector=vector: x @ vector for vector in vectors]
        self.truth = [[law.to_distribution(200) for law in row] for row in self.laws]
        means = np.array([[[law.mean()] for law in row] for row in self.laws])
        self.dirac = self.error(ReturnDistribution(means))

    def error(self, returns: ReturnDistribution) -> float:
        """The mean squared Cramér distance over all rewards and source states, `[R, n]`."""
        pairs = ((i, x) for i, row in enumerate(self.truth) for x in range(len(row)))
        return float(np.mean([squared_cramer(returns[i, x], self.truth[i][x]) for i, x in pairs]))

    def share(self, learner: DeltaLearner, updates: int, seed: int = 0) -> float:
        """What a learned model misses, as a share of what the Dirac at the true mean does."""
        model = fit(self.data, learner, updates=updates, seed=seed, starts="uniform")
        return self.error(model.returns(self.rewards, np.eye(3))) / self.dirac


@pytest.fixture(scope="module")
def three_states():
    return ThreeStates()


def test_a_fast_model_comes_close_to_the_exact_laws(three_states):
    """Measured 0.038, 0.044 and 0.041 for three seeds, in 2 s; without learning 0.31."""
    assert three_states.share(FAST, updates=300) < 0.06


def test_where_there_is_one_future_all_atoms_agree_on_it():
    """The cycle 0, 1, 2: the occupancy of a source state is known, and nothing is random."""
    cycle = MarkovChain(np.roll(np.eye(3), 1, axis=1), GAMMA)
    model = fit(walks(cycle), FAST, updates=500, starts="uniform")
    components = [lambda x, i=i: x[..., i] for i in range(3)]
    found = (1 - GAMMA) * np.asarray(model.returns(components, np.eye(3)).atoms)
    wanted = cycle.successor_measure().T[..., None]
    np.testing.assert_allclose(found, np.broadcast_to(wanted, found.shape), atol=0.08)
    assert found.std(axis=-1).max() < 0.03


def test_learned_weights_are_the_probabilities_of_the_futures():
    """From 0 an episode ends in 1, one of five, or in -1; measured 0.205 and 0.196 for 0.2."""
    share = 0.2
    ends = np.where(np.random.default_rng(2).random(1000) < share, 1.0, -1.0)
    episodes = np.stack([np.zeros(1000), ends], axis=1)[..., None]
    learner = replace(
        FAST,
        representation=WeightedParticles(num_atoms=2, num_points=2, width=16, num_frequencies=2),
        set_comparison=Energy(),
        num_bootstrap_steps=1,
        num_target_atoms=0,
    )
    data = Trajectories.from_arrays(episodes, ends="terminated")
    model = fit(data, learner, updates=600, starts="uniform")
    returns = model.returns(lambda x: x[..., 0], [0.0])
    order = np.argsort(returns.atoms)
    np.testing.assert_allclose(np.asarray(returns.weights)[order], [1 - share, share], atol=0.03)
    future = GAMMA / (1 - GAMMA)
    np.testing.assert_allclose(np.asarray(returns.atoms)[order], [-future, future], atol=0.15)


@pytest.mark.slow
def test_without_a_future_all_mass_is_at_the_source_state():
    """The mean distance of the mass from the source, in states of standard deviation 0.58."""
    learner = replace(FAST, gamma=0.0, num_bootstrap_steps=1)
    states = np.random.default_rng(0).uniform(-1, 1, size=(100, 3, 1))
    model = fit(Trajectories.from_arrays(states), learner, updates=1500)
    for source in np.linspace(-0.8, 0.8, 5):
        away = model.returns(lambda x, source=source: abs(x[..., 0] - source), [source])
        assert float(away.mean()) < 0.1


def timed(three_states: ThreeStates, learner: DeltaLearner, updates: int) -> tuple[float, float]:
    """The share, and the processor time of training without compilation."""
    three_states.share(learner, updates=1)
    started = time.process_time()
    share = three_states.share(learner, updates)
    return share, time.process_time() - started


@pytest.mark.slow
def test_the_order_of_methods(three_states):
    """A fast δ-model in less time < the paper's δ-model < a γ-ensemble < the Dirac at the mean."""
    fast, fast_seconds = timed(three_states, FAST, 400)
    paper, paper_seconds = timed(three_states, PAPER, 2400)
    ensemble = three_states.share(replace(PAPER, set_comparison=Matched()), 2400)
    assert fast_seconds < 0.5 * paper_seconds, (fast_seconds, paper_seconds)
    assert fast < 0.3 * paper, (fast, paper)
    assert paper < 0.9 * ensemble, (paper, ensemble)
    assert ensemble < 1, ensemble


@pytest.mark.slow
def test_an_adversarial_kernel_learns(three_states):
    """Measured 0.46 and 0.51 for two seeds; with the features left as they start 0.47."""
    learner = replace(PAPER, state_comparison=Gram(num_features=8, width=16))
    assert three_states.share(learner, 2400) < 0.6
