"""δ-models and γ-ensembles against the exact laws of chains."""

import numpy as np
import pytest

from daleth import ReturnDistribution, fit
from daleth.data import Trajectories
from daleth.evaluation import squared_cramer
from daleth.models.delta import DeltaLearner
from daleth.models.gamma import GammaLearner
from daleth.tabular import MarkovChain, return_laws, three_state_chain

SMALL = {
    "num_atoms": 8,
    "num_state_samples": 16,
    "width": 64,
    "depth": 2,
    "num_features": 0,
    "learning_rate": 1e-3,
    "target_step": 0.02,
}
NUM_REWARDS = 16


def walks(chain: MarkovChain, num: int, num_steps: int) -> Trajectories:
    """Trajectories of a chain with one-hot states."""
    rng = np.random.default_rng(0)
    states = [rng.integers(0, chain.num_states, num)]
    for _ in range(num_steps):
        cumulative = np.cumsum(chain.P[states[-1]], axis=1)
        drawn = (rng.random(num)[:, None] > cumulative).sum(axis=1)
        states.append(np.minimum(drawn, chain.num_states - 1))
    one_hot = np.eye(chain.num_states)[np.stack(states, axis=1)]
    return Trajectories.from_arrays(one_hot, ends="truncated")


def mean_squared_cramer(returns: ReturnDistribution, laws: list) -> float:
    """Over all rewards and source states, `[R, n]`."""
    errors = [
        squared_cramer(returns[i, x], law.to_distribution(200))
        for i, row in enumerate(laws)
        for x, law in enumerate(row)
    ]
    return float(np.mean(errors))


@pytest.mark.slow
def test_three_state_chain():
    """A δ-model comes close to the exact laws; a γ-ensemble and the true mean do not."""
    chain = three_state_chain()
    vectors = np.random.default_rng(1).normal(size=(NUM_REWARDS, 3)).astype(np.float32)
    laws = [return_laws(chain, vector) for vector in vectors]
    rewards = [lambda x, vector=vector: x @ vector for vector in vectors]
    data = walks(chain, 300, 40)
    errors = {}
    for name, learner in {"delta": DeltaLearner, "gamma": GammaLearner}.items():
        model = fit(data, learner(gamma=chain.gamma, **SMALL), updates=1000)
        errors[name] = mean_squared_cramer(model.returns(rewards, np.eye(3)), laws)
    atoms = np.array([[[law.mean()] for law in row] for row in laws])
    errors["dirac"] = mean_squared_cramer(ReturnDistribution(atoms), laws)
    assert errors["delta"] < 0.5 * errors["dirac"], errors
    assert errors["delta"] < 0.9 * errors["gamma"], errors
