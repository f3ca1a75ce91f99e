"""Trajectories from a Gymnasium environment, single or vector, and a policy."""

from collections.abc import Callable, Iterator
from typing import Any

import jax
import numpy as np
from jaxtyping import PRNGKeyArray

from daleth import _checks
from daleth._optional import require
from daleth._progress import track
from daleth._typing import Count
from daleth.data.episodes import end_of
from daleth.data.sources import _stepping
from daleth.data.sources.arrays import from_episodes
from daleth.data.trajectories import Trajectories

_KEYS_AT_ONCE = 256
_as_jax = jax.jit(lambda state: state)  # several times faster than jnp.asarray


def from_gymnasium(env: Any, policy: Callable, num_steps: Count, key: PRNGKeyArray) -> Trajectories:
    """Steps an environment with a policy and records states, actions and rewards.

    A vector environment may use any of the three autoreset modes of Gymnasium; all give the same
    episodes. Its sub-environments share the steps evenly. The last episode of each one is open
    if the steps run out before it ends.

    Args:
        env: a `gymnasium.Env` or `gymnasium.vector.VectorEnv` whose observations are vectors
            or whole numbers.
        policy: a policy; it is called step by step as it is, so pass `equinox.filter_jit(policy)`
            for one written in JAX, and `daleth.policies.from_numpy(f)` for a function of the
            observation.
        num_steps: the number of transitions in total.
        key: seeds the environment and the policy.

    Example:
        >>> import gymnasium
        >>> env = gymnasium.make("CartPole-v1")
        >>> data = from_gymnasium(env, lambda key, x: int(x[2] > 0), 20, jax.random.key(0))
        >>> data.num_frames - data.num_episodes
        20
    """
    gymnasium = require("gymnasium", "gym")
    num_steps = _checks.count("num_steps", num_steps)
    is_vector = isinstance(env, gymnasium.vector.VectorEnv)
    if not is_vector:
        _checks.instance("env", env, gymnasium.Env, "a Gymnasium environment, as make() gives it")
    space = env.single_observation_space if is_vector else env.observation_space
    _check_space(gymnasium, space)
    key_env, key_policy = jax.random.split(key)
    stepper = _stepping.vector_stepper(env) if is_vector else _stepping.SingleStepper(env)
    observations = stepper.reset(int(jax.random.randint(key_env, (), 0, 2**31 - 1)))
    lanes = _Lanes(observations, num_steps)
    for _ in track(_transitions(lanes, stepper, policy, key_policy), "steps", num_steps):
        pass
    return from_episodes(lanes.episodes())


def _transitions(
    lanes: "_Lanes", stepper: Any, policy: Callable, key: PRNGKeyArray
) -> Iterator[None]:
    """Steps and records until all lanes are full, and yields once per transition."""
    keys = _stream(key)
    while any(lanes.left):
        actions = [np.asarray(policy(next(keys), _as_jax(state))) for state in lanes.current]
        before = sum(lanes.left)
        lanes.record(actions, stepper.step(actions))
        yield from [None] * (before - sum(lanes.left))


class _Lanes:
    """The episodes of each sub-environment, growing step by step up to its share of the steps."""

    def __init__(self, observations: np.ndarray, num_steps: int):
        self.current = _vectors(observations)
        size = len(self.current)
        self.left = [num_steps // size + (lane < num_steps % size) for lane in range(size)]
        self.done: list[list[dict]] = [[] for _ in range(size)]
        self.growing = [_new_episode(state) for state in self.current]

    def record(self, actions: list[np.ndarray], step: _stepping.Step) -> None:
        following, restarted = _vectors(step.following), _vectors(step.current)
        for lane, episode in enumerate(self.growing):
            if self.left[lane] == 0:
                continue
            if step.is_transition[lane]:
                episode["states"].append(following[lane])
                episode["actions"].append(actions[lane])
                episode["rewards"].append(step.rewards[lane])
                self.left[lane] -= 1
                if step.terminated[lane] or step.truncated[lane]:
                    episode["end"] = end_of(step.terminated[lane], step.truncated[lane])
                    self.done[lane].append(episode)
                    self.growing[lane] = _new_episode(restarted[lane])
            else:
                self.growing[lane] = _new_episode(restarted[lane])
        self.current = restarted

    def episodes(self) -> list[dict]:
        """All episodes with a transition, sub-environment after sub-environment."""
        return [
            episode
            for done, growing in zip(self.done, self.growing, strict=True)
            for episode in (*done, growing)
            if episode["actions"]
        ]


def _new_episode(state: np.ndarray) -> dict:
    return {"states": [state], "actions": [], "rewards": []}


def _vectors(observations: np.ndarray) -> np.ndarray:
    """A copy, since environments may write into their own buffers; whole numbers become `[1]`."""
    return np.array(observations, np.float32).reshape(len(observations), -1)


def _stream(key: PRNGKeyArray) -> Iterator[PRNGKeyArray]:
    """Endless fresh keys, split in blocks because one split per step is slow."""
    while True:
        key, key_block = jax.random.split(key)
        yield from jax.random.split(key_block, _KEYS_AT_ONCE)


def _check_space(gymnasium: Any, space: Any) -> None:
    spaces = gymnasium.spaces
    is_vector = isinstance(space, spaces.Box | spaces.MultiBinary | spaces.MultiDiscrete)
    if not (isinstance(space, spaces.Discrete) or (is_vector and len(space.shape) == 1)):
        raise ValueError(
            f"observations must be vectors or whole numbers, got {space}: "
            "wrap the environment in gymnasium.wrappers.FlattenObservation"
        )
