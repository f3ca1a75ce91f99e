"""Environments as Gymnasium environments.

Importing this module registers `daleth/Corridor-v0`, `daleth/LinearGaussian-v0`,
`daleth/Pendulum-v0` and `daleth/WindyGridworld-v0`. No other import of daleth has such an effect;
this one must, because Gymnasium 1 has no plug-ins and knows only what imported modules register.
So write `import daleth.envs.gym` once, or name the module in the id:

    gymnasium.make("daleth.envs.gym:daleth/Pendulum-v0", reward="pendulum/default")
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np

from daleth import _checks
from daleth._optional import require
from daleth.envs import registry
from daleth.envs.base import Box, Discrete, Environment

if TYPE_CHECKING:
    import gymnasium
else:
    gymnasium = require("gymnasium", "gym")

_IDS = {
    "daleth/Corridor-v0": "corridor",
    "daleth/LinearGaussian-v0": "linear-gaussian",
    "daleth/Pendulum-v0": "pendulum",
    "daleth/WindyGridworld-v0": "windy",
}


class GymEnv(gymnasium.Env[np.ndarray, Any]):
    """An environment behind Gymnasium's interface.

    `reset(options={"state": x})` starts at a given state. Episodes end by termination only: for a
    time limit, make the environment through its registered id or wrap it in `TimeLimit`.

    Args:
        env: the environment; all spaces are float32.
        reward: a function of the state before the step and of the action, 0 if not given.

    Example:
        >>> from daleth.envs import Corridor
        >>> gym_env = GymEnv(Corridor(5), reward=lambda state, action: state[0])
        >>> state, info = gym_env.reset(seed=0)
        >>> print(state, *gym_env.step(1)[:3])
        [2.] [3.] 2.0 False
    """

    metadata = {"render_modes": []}

    def __init__(
        self, env: Environment, reward: Callable[[np.ndarray, np.ndarray], Any] | None = None
    ):
        self._env = env
        self._reward = reward
        self._state: np.ndarray | None = None
        self.observation_space = _space(env.state_space)
        self.action_space = _space(env.action_space)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Starts an episode, at `options["state"]` if that is given."""
        super().reset(seed=seed)
        given = (options or {}).get("state")
        drawn = _reset(self._env, self._draw_seed()) if given is None else self._checked(given)
        self._state = np.array(drawn, np.float32)
        return self._state.copy(), {}

    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """Takes one step; the reward is that of the state before it."""
        if self._state is None:
            raise ValueError("reset() must be called before step()")
        action = self._as_action(action)
        reward = 0.0 if self._reward is None else float(self._reward(self._state, action))
        state, terminated = _step(self._env, self._draw_seed(), self._state, action)
        self._state = np.array(state)
        return self._state.copy(), reward, bool(terminated), False, {}

    def _draw_seed(self) -> np.uint32:
        return self.np_random.integers(2**32, dtype=np.uint32)

    def _as_action(self, action: Any) -> np.ndarray:
        space = self.action_space
        kind = np.int32 if isinstance(space, gymnasium.spaces.Discrete) else np.float32
        array = np.asarray(action)
        # Torques beyond their range are for the dynamics to clip, a fifth move is nobody's.
        beyond = kind is np.int32 and not space.contains(action)
        if array.shape != space.shape or beyond:
            raise ValueError(f"action must be an element of {space}, got {action!r}")
        return array.astype(kind)

    def _checked(self, value: Any) -> np.ndarray:
        state = _checks.finite("state", value, rank=1).astype(np.float32)
        if not self.observation_space.contains(state):
            raise ValueError(f"state must be an element of {self.observation_space}, got {state}")
        return state


def make(world: str, reward: str | None = None, **settings: Any) -> GymEnv:
    """The environment of the name `world`, and one of its rewards, as a Gymnasium environment.

    Rewards keep their term in the action, so that "pendulum/default" is that of Pendulum-v1.

    Args:
        world: one of `daleth.envs.environment_names()`.
        reward: one of `daleth.envs.reward_names(world)`.
        settings: arguments of the environment.
    """
    env = registry.environment(world, **settings)
    if reward is None:
        return GymEnv(env)
    _checks.one_of("reward", reward, registry.reward_names(world))
    of_pairs = jax.jit(registry.state_action_reward(reward))
    return GymEnv(env, lambda state, action: of_pairs(np.append(state, action).astype(np.float32)))


def _space(space: Box | Discrete) -> Any:
    if isinstance(space, Discrete):
        return gymnasium.spaces.Discrete(space.num)
    low, high = np.array(space.low, np.float32), np.array(space.high, np.float32)
    return gymnasium.spaces.Box(low, high, dtype=np.float32)


@jax.jit
def _reset(env: Environment, seed: Any) -> jax.Array:
    return env.reset(jax.random.key(seed))


@jax.jit
def _step(env: Environment, seed: Any, state: Any, action: Any) -> tuple[jax.Array, jax.Array]:
    return env.step(jax.random.key(seed), jnp.asarray(state), jnp.asarray(action))


for _id, _world in _IDS.items():
    if _id not in gymnasium.registry:
        gymnasium.register(
            _id,
            entry_point=f"{__name__}:make",
            max_episode_steps=Environment.max_episode_steps,
            kwargs={"world": _world},
        )
