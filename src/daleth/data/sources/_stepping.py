"""One way to step Gymnasium environments, whichever way they begin a new episode."""

from typing import Any, NamedTuple

import numpy as np


class Step(NamedTuple):
    """What one step of `B` environments brought; the first axis of each array is `B`.

    `following` is the state that the action led to, also where the episode ended in it, while
    `current` is where the next action is taken. Where `is_transition` is false, the environment
    ignored the action and only began a new episode.
    """

    following: np.ndarray
    current: np.ndarray
    rewards: np.ndarray
    terminated: np.ndarray
    truncated: np.ndarray
    is_transition: np.ndarray


class SingleStepper:
    """One environment, reset as soon as its episode is over."""

    def __init__(self, env: Any):
        self.env = env

    def reset(self, seed: int) -> np.ndarray:
        """The first observation, `B = 1`."""
        return np.array(self.env.reset(seed=seed)[0])[None]

    def step(self, actions: list[np.ndarray]) -> Step:
        """Takes the action, and resets if the episode ended."""
        following, reward, terminated, truncated, _ = self.env.step(plain_action(actions[0]))
        # Copied before the reset, which may write into the same buffer.
        following = current = np.array(following)[None]
        if terminated or truncated:
            current = np.array(self.env.reset()[0])[None]
        one = np.ones(1, bool)
        return Step(following, current, one * reward, one & terminated, one & truncated, one)


class _VectorStepper:
    def __init__(self, env: Any):
        self.env = env
        self.over = np.zeros(env.num_envs, bool)

    def reset(self, seed: int) -> np.ndarray:
        """The first observations."""
        return np.array(self.env.reset(seed=seed)[0])

    def _step(self, actions: list[np.ndarray]) -> tuple:
        observations, rewards, terminated, truncated, info = self.env.step(np.stack(actions))
        return np.array(observations), np.array(rewards), terminated, truncated, info


class NextStep(_VectorStepper):
    """The step after the last one of an episode ignores the action and begins a new episode."""

    def step(self, actions: list[np.ndarray]) -> Step:
        """Takes the actions; false transitions are those that only began anew."""
        observations, rewards, terminated, truncated, _ = self._step(actions)
        is_transition = ~self.over
        self.over = terminated | truncated
        return Step(observations, observations, rewards, terminated, truncated, is_transition)


class SameStep(_VectorStepper):
    """The last step of an episode returns the first observation of the next one."""

    def step(self, actions: list[np.ndarray]) -> Step:
        """Takes the actions; final observations are taken from `info`."""
        observations, rewards, terminated, truncated, info = self._step(actions)
        following = observations.copy()
        for lane in np.flatnonzero(terminated | truncated):
            following[lane] = info["final_obs"][lane]
        every = np.ones(len(rewards), bool)
        return Step(following, observations, rewards, terminated, truncated, every)


class Disabled(_VectorStepper):
    """Nothing is reset unless it is asked for, by a mask."""

    def step(self, actions: list[np.ndarray]) -> Step:
        """Takes the actions, and resets the environments whose episodes ended."""
        following, rewards, terminated, truncated, _ = self._step(actions)
        current, over = following, terminated | truncated
        if over.any():
            current = np.array(self.env.reset(options={"reset_mask": over})[0])
        every = np.ones(len(rewards), bool)
        return Step(following, current, rewards, terminated, truncated, every)


_BY_MODE = {"NextStep": NextStep, "SameStep": SameStep, "Disabled": Disabled}


def vector_stepper(env: Any) -> NextStep | SameStep | Disabled:
    """The stepper for the autoreset mode of a vector environment."""
    # Gymnasium 1.0 has no such key, and begins anew in the step after the last one.
    mode = env.metadata.get("autoreset_mode", "NextStep")
    name = getattr(mode, "value", mode)
    if name not in _BY_MODE:
        raise ValueError(f"the autoreset mode must be one of {list(_BY_MODE)}, got {mode!r}")
    return _BY_MODE[name](env)


def plain_action(action: np.ndarray) -> Any:
    """A Python number for a discrete action, as many environments insist on."""
    return action.item() if action.ndim == 0 and action.dtype.kind in "iub" else action
