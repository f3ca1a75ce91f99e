"""The problems of the accuracy benchmarks: data, questions, and the true answers.

Each has two banks of questions. The *named* bank holds the paper's rewards at chosen source states;
the *random* bank holds 64 seeded random rewards at 32 source states drawn from the data. Defaults
were chosen by the first; trials showed the second beside it.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from scipy.stats import norm

from daleth import ReturnDistribution
from daleth.data import Trajectories
from daleth.envs import Environment, LinearGaussian, environment, reward, reward_names, sources
from daleth.evaluation import reward_bank, true_returns, wasserstein
from daleth.models.base import Model
from daleth.policies import Policy, policy
from daleth.targets import horizon

CACHE = Path("~/.cache/daleth/benchmarks").expanduser()
NUM_RANDOM_REWARDS, NUM_RANDOM_SOURCES = 64, 32
NUM_ATOMS = 51  # where a problem does not say otherwise
NUM_ROLLOUTS, NUM_BANK_ROLLOUTS = 20_000, 2_000


@dataclass(frozen=True)
class Questions:
    """Rewards by name, source states, and the true returns, batch shape `[S]` each."""

    rewards: Mapping[str, Any]
    sources: jax.Array
    truth: Mapping[str, ReturnDistribution]

    def ceiling(self) -> float:
        """The mean W1 of the Dirac at the true mean."""
        return self.mean_error(lambda name: self.truth[name].dirac_at_mean())

    def floor(self, num_atoms: int) -> float:
        """The mean W1 of the best equal atoms."""
        return self.mean_error(lambda name: self.truth[name].mid_quantiles(num_atoms))

    def error(self, model: Model) -> float:
        """The mean W1 of a model."""
        answers = model.returns(list(self.rewards.values()), self.sources)
        indexed = {name: answers[i] for i, name in enumerate(self.rewards)}
        return self.mean_error(indexed.__getitem__)

    def mean_error(self, predicted: Callable[[str], ReturnDistribution]) -> float:
        """The mean W1 of answers by the name of the reward."""
        return float(
            np.mean([wasserstein(predicted(name), true) for name, true in self.truth.items()])
        )


@dataclass(frozen=True)
class Setting:
    """Trajectories of a policy, a discount, atoms for models, questions, and the world behind."""

    name: str
    data: Trajectories
    gamma: float
    num_atoms: int
    env: Environment
    policy: Policy
    named: Questions
    random: Questions


def pendulum(action_noise: float, num_steps: int = 4_000_000) -> Setting:
    """The shipped SAC actor with noise, starts spread over all states, 9 sources x 4 rewards."""
    env = environment("pendulum", max_start_speed=8.0)
    walk = policy("pendulum/sac", action_noise=action_noise)
    return _simulated(
        f"pendulum, noise {action_noise:g}", "pendulum", env, walk, num_steps, sources("pendulum")
    )


def windy(policy_name: str, num_steps: int = 400_000) -> Setting:
    """Windy Gridworld: 4 atoms, 4 sources x 2 rewards for `uniform`, the origin for the others."""
    env, walk = environment("windy"), policy(f"windy/{policy_name}")
    states = jnp.array([[0.0, 0.0], [2.0, 2.0], [-2.0, 1.0], [3.0, -3.0]])
    name = f"windy, {policy_name}"
    if policy_name == "uniform":
        return _simulated(name, "windy", env, walk, num_steps, states, num_atoms=4)
    return _simulated(name, "windy", env, walk, num_steps, states[:1])


def linear_gaussian(dimension: int, gamma: float = 0.95, num_steps: int = 400_000) -> Setting:
    """Random linear rewards of a random autoregression: exact Gaussian laws."""
    env = LinearGaussian.random(dimension)
    walk = policy("linear-gaussian/uniform")
    # Long enough for nearest trajectories to show a whole future.
    limit = max(env.max_episode_steps, 2 * horizon(gamma, 0.05))
    data = Trajectories.from_environment(
        env, walk, num_steps, jax.random.key(1), max_episode_steps=limit
    )
    rng = np.random.default_rng(0)
    named = _linear_questions(env, gamma, rng.normal(size=(8, dimension)), rng)
    drawn = data.states[rng.integers(0, data.num_frames, NUM_RANDOM_SOURCES)]
    name = f"linear-gaussian, d={dimension}, γ={gamma:g}"
    random = _linear_questions(env, gamma, drawn, rng)
    return Setting(name, data, gamma, NUM_ATOMS, env, walk, named, random)


PROBLEMS: dict[str, Callable[[], Setting]] = {
    **{f"windy-{name}": partial(windy, name) for name in ("uniform", "top", "bottom")},
    **{f"pendulum-{noise:g}": partial(pendulum, noise) for noise in (2.0, 1.0, 0.0)},
    **{
        f"linear-gaussian-{dimension}-{gamma:g}": partial(linear_gaussian, dimension, gamma)
        for gamma in (0.95, 0.99)
        for dimension in (2, 4, 8, 16)
    },
}


def _simulated(
    name: str,
    world: str,
    env: Any,
    walk: Any,
    num_steps: int,
    states: jax.Array,
    num_atoms: int = NUM_ATOMS,
) -> Setting:
    gamma = 0.95
    data = Trajectories.from_environment(env, walk, num_steps, jax.random.key(1))
    rewards = {one: reward(one) for one in reward_names(world)}
    bank = reward_bank(data.normalisation(), jax.random.key(2), NUM_RANDOM_REWARDS)
    rows = np.random.default_rng(0).integers(0, data.num_frames, NUM_RANDOM_SOURCES)
    simulate = partial(true_returns, env, walk, gamma=gamma, cache=CACHE, key=jax.random.key(3))
    questions = []
    for asked, where, num in (
        (rewards, states, NUM_ROLLOUTS),
        (bank, jnp.asarray(data.states[rows]), NUM_BANK_ROLLOUTS),
    ):
        truth = simulate(rewards=asked, source_states=where, num_rollouts=num)
        questions.append(Questions(asked, where, truth))
    return Setting(name, data, gamma, num_atoms, env, walk, *questions)


def _linear_questions(
    env: LinearGaussian, gamma: float, states: np.ndarray, rng: np.random.Generator
) -> Questions:
    quantiles = norm.ppf((np.arange(2000) + 0.5) / 2000)
    rewards, truth = {}, {}
    for index in range(NUM_RANDOM_REWARDS):
        direction = rng.normal(size=env.dimension) / np.sqrt(env.dimension)
        mean, std = env.return_mean_and_std(direction, states, gamma)
        truth[f"linear-{index}"] = ReturnDistribution(mean[:, None] + std * quantiles)
        rewards[f"linear-{index}"] = partial(_linear, jnp.asarray(direction, jnp.float32))
    return Questions(rewards, jnp.asarray(states, jnp.float32), truth)


def _linear(direction: jax.Array, states: jax.Array) -> jax.Array:
    return states @ direction
