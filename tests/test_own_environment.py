"""A user's own Gymnasium environment, all the way to an answer that is known exactly."""

import gymnasium
import jax
import numpy as np
import pytest

import daleth
from daleth.policies import from_numpy
from daleth.tabular import return_law


class Gambler(gymnasium.Env):
    """Bets one coin at a time until it has none or four."""

    observation_space = gymnasium.spaces.Box(0, 4, (1,), np.float32)
    action_space = gymnasium.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.coins = 2
        return self._observed(), {}

    def step(self, action):
        self.coins += 1 if self.np_random.random() < 0.4 + 0.2 * action else -1
        return self._observed(), 0.0, self.coins in (0, 4), False, {}

    def _observed(self):
        return np.array([self.coins], np.float32)


def test_from_environment_to_cvar():
    gamma, bold = 0.7, from_numpy(lambda coins: 0)
    data = daleth.Trajectories.from_gymnasium(Gambler(), bold, 3000, jax.random.key(0))
    assert data.terminated.mean() > 0.9
    model = daleth.EmpiricalModel(data, gamma, num_atoms=400)
    g = model.returns(lambda x: x[..., 0], [2.0])

    P = np.zeros((5, 5))
    P[0, 0] = P[4, 4] = 1
    for coins in (1, 2, 3):
        P[coins, coins + 1], P[coins, coins - 1] = 0.4, 0.6
    law = return_law(daleth.MarkovChain(P, gamma), np.arange(5.0), 2)
    # Four standard errors of 400 rollouts; the key is fixed.
    assert g.mean() == pytest.approx(law.mean(), abs=4 * (law.variance() / 400) ** 0.5)
    assert g.variance() == pytest.approx(law.variance(), rel=0.3)
    spread = 4 * (law.variance() / (0.25 * 400)) ** 0.5
    assert g.cvar(0.25) == pytest.approx(float(law.cvar(0.25)), abs=spread)
