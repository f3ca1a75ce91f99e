import io

import gymnasium as gym
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from rich.console import Console

from daleth.data import Trajectories

DTYPE = np.float32


class Counting(gym.Env):
    """Observes (lane, episode, step); episode e of lane l lasts 1 + (l + e) % 3 steps."""

    action_space = gym.spaces.Discrete(5)
    observation_space = gym.spaces.Box(-np.inf, np.inf, (3,), DTYPE)

    def __init__(self, lane=0, observe=np.copy):
        self.observation = np.array([lane, -1, 0], DTYPE)
        self.observe = observe

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.observation += (0, 1, -self.observation[2])
        return self.observe(self.observation), {}

    def step(self, action):
        self.observation += (0, 0, 1)
        lane, episode, step = self.observation
        over = bool(step > (lane + episode) % 3)
        observation = self.observe(self.observation)
        return observation, 10.0 * action, over and bool(episode % 2), over, {}


def counting_policy(key, state):
    return np.int64(state.sum() % 5)


def counted(num_steps, lane=0):
    """The episodes of one lane, written down without stepping anything."""
    episodes = []
    while num_steps > 0:
        number = len(episodes)
        full = 1 + (lane + number) % 3
        steps = min(full, num_steps)
        states = np.array([[lane, number, step] for step in range(steps + 1)], DTYPE)
        actions = states[:-1].sum(axis=1).astype(int) % 5
        end = ("terminated" if number % 2 else "truncated") if steps == full else "open"
        episodes.append({"states": states, "actions": actions, "rewards": 10 * actions, "end": end})
        num_steps -= steps
    return episodes


# Some environments hand out the same buffer again and again.
@pytest.mark.parametrize("observe", [np.copy, lambda buffer: buffer])
@pytest.mark.parametrize("num_steps", [1, 7, 20])
def test_a_single_environment(assert_same, key, num_steps, observe):
    data = Trajectories.from_gymnasium(Counting(0, observe), counting_policy, num_steps, key)
    assert_same(data, Trajectories.from_episodes(counted(num_steps)))


# Two steps leave the third lane without any; 29 and 31 are not shared evenly.
@pytest.mark.parametrize("num_steps", [2, 29, 31])
@pytest.mark.parametrize("mode", list(AutoresetMode))
def test_all_autoreset_modes_give_the_same_episodes(assert_same, key, mode, num_steps):
    makers = [lambda lane=lane: Counting(lane) for lane in range(3)]
    env = SyncVectorEnv(makers, autoreset_mode=mode)
    data = Trajectories.from_gymnasium(env, counting_policy, num_steps, key)
    shares = [num_steps // 3 + (lane < num_steps % 3) for lane in range(3)]
    expected = [one for lane, share in enumerate(shares) for one in counted(share, lane)]
    assert_same(data, Trajectories.from_episodes(expected))


def test_an_unknown_autoreset_mode_is_named(key):
    env = SyncVectorEnv([Counting])
    env.metadata = {"autoreset_mode": "Sometimes"}
    with pytest.raises(ValueError, match="the autoreset mode must be one of .* got 'Sometimes'"):
        Trajectories.from_gymnasium(env, counting_policy, 3, key)


def test_a_jax_policy_with_vector_actions_is_reproducible(assert_same):
    env = gym.make("Pendulum-v1")
    policy = jax.jit(lambda key, x: 2 * jnp.tanh(x[2:]) + 0.1 * jax.random.normal(key, (1,)))
    first, again, other = (
        Trajectories.from_gymnasium(env, policy, 10, jax.random.key(seed)) for seed in (0, 0, 1)
    )
    assert_same(first, again)
    assert (first.states != other.states).any()
    # The step of Gymnasium's pendulum, from the recorded state and the recorded action.
    episode = first.episode(0)
    cosine, sine, speed = episode.states[:-1].T.astype(float)
    torque = np.clip(np.asarray(episode.actions)[:, 0], -2, 2)
    accelerated = speed + 0.05 * (15 * sine + 3 * torque)
    np.testing.assert_allclose(episode.states[1:, 2], np.clip(accelerated, -8, 8), atol=1e-5)
    angle = np.arctan2(sine, cosine) + 0.05 * np.clip(accelerated, -8, 8)
    np.testing.assert_allclose(episode.states[1:, 0], np.cos(angle), atol=1e-5)


def test_whole_number_observations_become_vectors(key):
    class Die(gym.Env):
        observation_space = gym.spaces.Discrete(6)
        action_space = gym.spaces.Discrete(1)

        def reset(self, *, seed=None, options=None):
            super().reset(seed=seed)
            return 0, {}

        def step(self, action):
            return 5, 0.0, False, False, {}

    data = Trajectories.from_gymnasium(Die(), lambda key, x: 0, 2, key)
    assert data.states.tolist() == [[0], [5], [5]]


def test_observations_that_are_no_vectors_get_one_sentence(key):
    env = Counting()
    env.observation_space = gym.spaces.Dict({"x": gym.spaces.Discrete(2)})
    with pytest.raises(ValueError, match=r"must be vectors or whole numbers, got Dict.*Flatten"):
        Trajectories.from_gymnasium(env, counting_policy, 3, key)


def test_the_bar_shows_on_a_terminal_only(monkeypatch, capsys, key):
    Trajectories.from_gymnasium(Counting(), counting_policy, 5, key)
    assert capsys.readouterr() == ("", "")
    written = io.StringIO()
    terminal = Console(file=written, force_terminal=True)
    monkeypatch.setattr("rich.console.Console", lambda stderr: terminal)
    Trajectories.from_gymnasium(Counting(), counting_policy, 5, key)
    assert "100%" in written.getvalue()
