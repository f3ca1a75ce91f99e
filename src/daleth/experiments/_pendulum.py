"""What the Pendulum figures share: data of a noisy SAC actor, the truth, and scores.

The actor's noise is 2: a converged actor is nearly deterministic, and its returns have no
distribution to speak of. Episodes start at any angle and any speed, so that the nine source states
are common in the data.
"""

import functools

import jax
import jax.numpy as jnp
from jaxtyping import Array

from daleth import envs, policies
from daleth.data import Trajectories
from daleth.envs.pendulum import MAX_SPEED
from daleth.evaluation import ScoreCard, score, true_returns
from daleth.models.base import Model
from daleth.models.learner import Learner
from daleth.returns import ReturnDistribution
from daleth.training import fit

GAMMA = 0.95
REWARDS = {
    name: envs.reward(f"pendulum/{name}")
    for name in ("default", "above-horizon", "stay-left", "ccw-penalty")
}


def sources() -> Array:
    """The nine source states, `[9, 3]`."""
    return envs.sources("pendulum")


def _actor() -> policies.GaussianActor:
    return policies.pendulum_sac(action_noise=2.0)


@functools.cache
def collect(num_steps: int, seed: int) -> Trajectories:
    """Trajectories without rewards; several figures of one run share them."""
    world = envs.environment("pendulum", max_start_speed=MAX_SPEED)
    return Trajectories.from_environment(world, _actor(), num_steps, jax.random.key(seed))


@functools.cache
def learn(learner: Learner, num_steps: int, updates: int, seed: int) -> Model:
    """A model of these data; several figures of one run share it."""
    return fit(collect(num_steps, seed), learner, updates=updates, seed=seed)


@functools.cache
def truth(num_rollouts: int, seed: int) -> ReturnDistribution:
    """Monte Carlo returns `[4, 9]`, of every reward from every source state."""
    # Not the randomness of the data: truth and prediction are independent.
    key = jax.random.fold_in(jax.random.key(seed), 2**31 - 1)
    laws = true_returns(
        envs.environment("pendulum"),
        _actor(),
        REWARDS,
        sources(),
        GAMMA,
        num_rollouts=num_rollouts,
        key=key,
    )
    return ReturnDistribution(jnp.stack([law.atoms for law in laws.values()]))


def predict(model: Model, seed: int) -> ReturnDistribution:
    """Predicted returns `[4, 9]`."""
    return model.returns(list(REWARDS.values()), sources(), key=jax.random.key(seed))


def card(model: Model, num_rollouts: int, seed: int) -> ScoreCard:
    """Errors `[4, 9]` of a model, between floor and ceiling."""
    return score(predict(model, seed), truth(num_rollouts, seed))


def source_name(source: Array) -> str:
    """Such as θ = π/2, θ̇ = -4."""
    angles = {(0, 1): r"\pi/2", (-1, 0): r"\pi", (0, -1): r"3\pi/2"}
    cosine, sine, velocity = (round(float(x)) for x in source)
    return rf"$\theta={angles[cosine, sine]},\ \dot\theta={velocity}$"


def title(reward: str) -> str:
    """Such as Stay Left."""
    return reward.replace("-", " ").title().replace("Ccw", "CCW")
