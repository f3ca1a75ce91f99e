from typing import Any

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from daleth.envs import Pendulum
from daleth.envs.pendulum import (
    MAX_SPEED,
    above_horizon,
    above_horizon_with_action,
    ccw_penalty,
    default,
    default_with_action,
    from_angle,
    pendulum_sources,
    stay_left,
)

NUM_STARTS, NUM_STEPS = 100, 200


@pytest.fixture(scope="module")
def gymnasium_rollouts():
    """Angle and speed `[100, 201, 2]`, torques `[100, 200]` and rewards `[100, 200]`, float64."""
    rng = np.random.default_rng(0)
    env: Any = gymnasium.make("Pendulum-v1").unwrapped
    states = np.empty((NUM_STARTS, NUM_STEPS + 1, 2))
    torques = rng.uniform(-2.5, 2.5, size=(NUM_STARTS, NUM_STEPS))  # some beyond the range
    rewards = np.empty_like(torques)
    env.reset(seed=0)
    for i in range(NUM_STARTS):
        env.state = states[i, 0] = rng.uniform([-np.pi, -8], [np.pi, 8])
        for t in range(NUM_STEPS):
            _, rewards[i, t], *_ = env.step(torques[i, t : t + 1])
            states[i, t + 1] = env.state
    return states, torques, rewards


def observe(states):
    return np.stack([np.cos(states[..., 0]), np.sin(states[..., 0]), states[..., 1]], axis=-1)


def test_every_step_equals_gymnasium_in_single_precision(key, gymnasium_rollouts):
    states, torques, rewards = gymnasium_rollouts
    observed = observe(states).astype(np.float32)
    torques = torques.astype(np.float32)[..., None]
    step = jax.jit(jnp.vectorize(Pendulum().step, excluded=(0,), signature="(d),(a)->(d),()"))
    following, terminated = step(key, observed[:, :-1], torques)
    assert not terminated.any()
    # Eight is the largest number in play, and its spacing in float32 is 1e-6.
    np.testing.assert_allclose(following, observed[:, 1:], rtol=0, atol=2e-6)
    pairs = np.concatenate([observed[:, :-1], torques], axis=-1)
    np.testing.assert_allclose(default_with_action(pairs), rewards, rtol=1e-5, atol=1e-5)


def test_whole_rollouts_equal_gymnasium_in_double_precision(gymnasium_rollouts):
    states, torques, _ = gymnasium_rollouts
    with jax.enable_x64(True):
        key = jax.random.key(0)

        def advance(state, torque):
            state = jax.vmap(Pendulum().step, (None, 0, 0))(key, state, torque[:, None])[0]
            return state, state

        start = jnp.asarray(observe(states[:, 0]))
        _, following = jax.lax.scan(advance, start, jnp.asarray(torques.T))
    expected = observe(states[:, 1:]).swapaxes(0, 1)
    np.testing.assert_allclose(following, expected, rtol=0, atol=1e-8)


@pytest.mark.parametrize("max_speed", [1.0, MAX_SPEED])
def test_starts_are_even_over_angles_and_speeds(key, max_speed):
    env = Pendulum(max_start_speed=max_speed)
    starts = jax.vmap(env.reset)(jax.random.split(key, 2000))
    angle = np.arctan2(starts[:, 1], starts[:, 0])
    for values, bound in [(angle, np.pi), (starts[:, 2], max_speed)]:
        # The largest gap between an empirical and a true CDF: 0.0365 is the 1 % point for 2,000.
        cdf = np.sort(values / bound + 1) / 2
        assert np.abs(cdf - np.linspace(0, 1, 2000)).max() < 0.0365
    np.testing.assert_allclose(starts[:, 0] ** 2 + starts[:, 1] ** 2, 1, atol=1e-6)


def test_rejects_a_start_speed_beyond_the_speed_limit():
    with pytest.raises(ValueError, match=r"max_start_speed must lie in \[0, 8\], got 9"):
        Pendulum(max_start_speed=9.0)


def test_sources():
    sources = pendulum_sources()
    angle = np.arctan2(sources[:, 1], sources[:, 0]) % (2 * np.pi)
    np.testing.assert_allclose(angle, np.repeat([np.pi / 2, np.pi, 3 * np.pi / 2], 3))
    assert sources[:, 2].tolist() == [-4, 0, 4] * 3


def test_rewards_by_hand():
    states = from_angle([0.0, 1.0, -2.0, jnp.pi / 2, -jnp.pi / 2], [0.0, 2.0, -1.0, 0.0, 0.0])
    quarter = -((np.pi / 2) ** 2)
    np.testing.assert_allclose(default(states), [0, -1.4, -4.1, quarter, quarter], rtol=1e-5)
    # Below the horizon is on either side, and the horizon itself counts.
    assert above_horizon(states).tolist() == [0, 0, -1, -1, -1]
    np.testing.assert_allclose(stay_left(states), [0, 0, np.sin(-2), 0, -1], rtol=1e-6)
    assert ccw_penalty(states).tolist() == [0, 0, 1, 0, 0]
    assert above_horizon(pendulum_sources()).tolist() == [-1] * 9


def test_action_terms_are_what_sets_the_two_forms_apart():
    states = from_angle([0.5, 2.5], [1.0, -1.0])
    pairs = jnp.concatenate([states, jnp.array([[1.5], [-3.0]])], axis=-1)
    squared_torque = np.array([2.25, 4.0])  # the second is clipped to -2
    gap = default_with_action(pairs) - default(states)
    np.testing.assert_allclose(gap, -0.001 * squared_torque, rtol=1e-3)
    gap = above_horizon_with_action(pairs) - above_horizon(states)
    np.testing.assert_allclose(gap, -0.1 * squared_torque, rtol=1e-5)


def test_action_noise_shakes_the_torque(key):
    """Upright at rest a torque a gives the speed 0.15 a, clipped at a = ±2."""
    upright, keys = jnp.array([1.0, 0.0, 0.0]), jax.random.split(key, 4000)
    step = jax.vmap(Pendulum(action_noise=0.5).step, (0, None, None))
    speeds = step(keys, upright, jnp.array([0.4]))[0][:, 2]
    # Four standard errors; clipping at 3.2 standard deviations is not felt.
    assert speeds.mean() == pytest.approx(0.15 * 0.4, abs=4 * 0.15 * 0.5 / 4000**0.5)
    assert speeds.std() == pytest.approx(0.15 * 0.5, rel=4 / 8000**0.5)
    assert jnp.abs(speeds).max() <= 0.15 * 2 + 1e-6
    with pytest.raises(ValueError, match="action_noise must not be negative"):
        Pendulum(action_noise=-1.0)
