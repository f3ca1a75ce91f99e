import subprocess
import sys
import warnings

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import daleth.envs.gym as daleth_gym
from daleth.envs import Corridor, Pendulum

# What the checker recommends against and the world is: torques up to 2 as in Pendulum-v1, and
# Gaussian states without bounds.
DECLINED_ADVICE = {
    "daleth/Corridor-v0": [],
    "daleth/LinearGaussian-v0": ["minimum value is -infinity", "maximum value is infinity"],
    "daleth/Pendulum-v0": ["symmetric and normalized space"],
    "daleth/WindyGridworld-v0": [],
}


@pytest.mark.parametrize("env_id", DECLINED_ADVICE)
def test_registered_ids_pass_the_checker(env_id):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        check_env(gymnasium.make(env_id).unwrapped)
    advice = DECLINED_ADVICE[env_id]
    assert len(caught) == len(advice), [str(one.message) for one in caught]
    for one, expected in zip(caught, advice, strict=True):
        assert expected in str(one.message)


def test_ids_work_in_a_fresh_process_and_importing_daleth_registers_nothing():
    program = """
import sys
import daleth, daleth.envs, daleth.policies
assert "gymnasium" not in sys.modules
import gymnasium
assert not any(name.startswith("daleth/") for name in gymnasium.registry)
env = gymnasium.make("daleth.envs.gym:daleth/Corridor-v0", num_positions=5)
print(env.reset()[0], env.spec.max_episode_steps)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout == "[2.] 200\n", done.stderr


def run(env, seed, num_steps=20):
    env.action_space.seed(3)
    states = [env.reset(seed=seed)[0]]
    states += [env.step(env.action_space.sample())[0] for _ in range(num_steps)]
    return np.stack(states)


@pytest.mark.parametrize(
    "env_id", ["daleth/LinearGaussian-v0", "daleth/Pendulum-v0", "daleth/WindyGridworld-v0"]
)
def test_seeds_make_episodes_reproducible(env_id):
    env = gymnasium.make(env_id)
    first = run(env, seed=1)
    np.testing.assert_array_equal(first, run(gymnasium.make(env_id), seed=1))
    assert not np.array_equal(first, run(env, seed=2))
    assert not np.array_equal(run(env, seed=None), run(env, seed=None))


def test_pendulum_is_gymnasiums_with_its_reward():
    ours = gymnasium.make("daleth/Pendulum-v0", reward="pendulum/default")
    theirs = gymnasium.make("Pendulum-v1")
    assert ours.observation_space == theirs.observation_space
    assert ours.action_space == theirs.action_space
    start, _ = theirs.reset(seed=0)
    given, _ = ours.reset(options={"state": start})
    np.testing.assert_array_equal(given, start)
    theirs.action_space.seed(0)
    for step in range(1, 201):
        action = theirs.action_space.sample()
        state, reward, terminated, truncated, _ = ours.step(action)
        expected, expected_reward, *_ = theirs.step(action)
        np.testing.assert_allclose(state, expected, atol=2e-4)
        assert float(reward) == pytest.approx(float(expected_reward), abs=2e-3)
        assert (terminated, truncated) == (False, step == 200)


def test_corridor_terminates_and_rewards_the_state_before_the_step():
    env = gymnasium.make("daleth/Corridor-v0", reward="corridor/position")
    env.reset(seed=0)
    steps = [env.step(1) for _ in range(3)]
    assert [step[0].item() for step in steps] == [4, 5, 6]
    assert [step[1] for step in steps] == [3, 4, 5]
    assert [step[2:4] for step in steps] == [(False, False), (False, False), (True, False)]


def test_vector_environment():
    env = gymnasium.make_vec("daleth/WindyGridworld-v0", num_envs=3)
    states, _ = env.reset(seed=0)
    np.testing.assert_array_equal(states, np.zeros((3, 2)))
    states, rewards, *_ = env.step(np.array([0, 1, 2]))
    np.testing.assert_array_equal(states, [[-1, 0], [1, 0], [0, 1]])
    assert rewards.tolist() == [0, 0, 0]
    env.close()


@pytest.mark.parametrize(
    ("state", "message"),
    [
        ([1.0, 0.0], "state must be an element of Box"),
        ([1.0, 0.0, 9.0], "state must be an element of Box"),
        ([1.0, np.nan, 0.0], "state must be finite, got nan at index"),
        ("upright", "state must be an array of real numbers"),
    ],
)
def test_rejects_bad_start_states(state, message):
    with pytest.raises(ValueError, match=message):
        daleth_gym.GymEnv(Pendulum()).reset(options={"state": state})


def test_rejects_bad_calls():
    env = daleth_gym.GymEnv(Corridor())
    with pytest.raises(ValueError, match="reset.. must be called before step"):
        env.step(0)
    env.reset(seed=0)
    with pytest.raises(ValueError, match=r"action must be an element of Discrete\(2\), got 2"):
        env.step(2)
    with pytest.raises(ValueError, match="reward must be one of 'corridor/position', got"):
        gymnasium.make("daleth/Corridor-v0", reward="pendulum/default")
