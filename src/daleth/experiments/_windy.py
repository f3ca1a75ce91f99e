"""What the Windy Gridworld figures share: the data, the truth, and a δ-model of the data."""

import dataclasses
from collections.abc import Mapping

import jax
import numpy as np
from jaxtyping import Array

from daleth import envs, policies
from daleth._typing import Reward
from daleth.data import Trajectories
from daleth.evaluation import true_returns
from daleth.models.base import Model
from daleth.models.delta import DeltaLearner
from daleth.parts import AveragedAdam, Particles
from daleth.returns import ReturnDistribution
from daleth.training import fit

GAMMA = 0.95
ORIGIN = np.zeros(2)
_EPISODE_STEPS = 50


@dataclasses.dataclass(frozen=True)
class Budget:
    """What a figure spends on one policy.

    Attributes:
        num_steps: transitions collected.
        updates: of training; about 13 ms each on two idle cores with 51 atoms.
        num_rollouts: of the Monte Carlo truth.
        num_atoms: of the δ-model.
        width: units of a hidden layer.
    """

    num_steps: int
    updates: int
    num_rollouts: int
    num_atoms: int = 51
    width: int = 128


def collect(policy: str, num_steps: int, seed: int) -> Trajectories:
    """Short episodes from the origin, without rewards.

    50 steps hold 92 % of the discounted time, and after them the wind has won. What is asked is
    what follows the origin: many short episodes tell more of it than few long ones.
    """
    behaviour = policies.policy(f"windy/{policy}")
    key = jax.random.fold_in(jax.random.key(seed), sum(policy.encode()))
    world = envs.environment("windy")
    return Trajectories.from_environment(
        world, behaviour, num_steps, key, max_episode_steps=_EPISODE_STEPS
    )


def learner(budget: Budget) -> DeltaLearner:
    """The fast parts, made for one question: what happens from the origin.

    Little is bootstrapped from windows as long as episodes, so a long average over parameters
    does no harm to targets: it takes away the noise of source states that are rare in a batch.
    """
    return DeltaLearner(
        gamma=GAMMA,
        representation=Particles(
            num_atoms=budget.num_atoms, num_points=16, width=budget.width, num_frequencies=64
        ),
        optimisation=AveragedAdam(averaging=1.0, decay_updates=300, warmup_updates=50),
        num_bootstrap_steps=_EPISODE_STEPS,
        batch_size=128,
    )


def learn(policy: str, budget: Budget, seed: int) -> Model:
    """A δ-model of one policy; no reward is known here."""
    data = collect(policy, budget.num_steps, seed)
    return fit(data, learner(budget), updates=budget.updates, seed=seed, starts="uniform")


def truth(
    policy: str, rewards: Mapping[str, Reward], budget: Budget, seed: int
) -> dict[str, ReturnDistribution]:
    """Monte Carlo returns from the origin."""
    # Not the randomness of the data: truth and prediction are independent.
    key = jax.random.fold_in(jax.random.key(seed), 2**31 - 1)
    laws = true_returns(
        envs.environment("windy"),
        policies.policy(f"windy/{policy}"),
        rewards,
        ORIGIN[None],
        GAMMA,
        num_rollouts=budget.num_rollouts,
        key=key,
    )
    return {name: law[0] for name, law in laws.items()}


def quadrants(reward: Reward) -> Array:
    """The reward of the four quadrants, `[[top left, top right], [bottom left, bottom right]]`."""
    return reward(np.array([[[-1.0, 1.0], [1.0, 1.0]], [[-1.0, -1.0], [1.0, -1.0]]]))
