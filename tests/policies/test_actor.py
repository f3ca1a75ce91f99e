import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from daleth.envs import Pendulum, sources, state_action_reward
from daleth.policies import pendulum_sac, pendulum_sac_provenance, rollout
from daleth.policies.actor import actor_from_arrays, load_actor, save_actor

REWARD = state_action_reward("pendulum/default")


def small_actor():
    """On two inputs: μ = relu(x0) + relu(x1) + 1/2 and σ = e^-1."""
    arrays = {
        "hidden_1.weight": np.eye(2),
        "hidden_1.bias": np.zeros(2),
        "hidden_2.weight": np.eye(2),
        "hidden_2.bias": np.zeros(2),
        "mean.weight": np.ones((1, 2)),
        "mean.bias": np.array([0.5]),
        "log_std.weight": np.zeros((1, 2)),
        "log_std.bias": np.array([-1.0]),
    }
    return actor_from_arrays(arrays, np.array([2.0]))


@pytest.mark.parametrize("action_noise", [0.0, 1.5])
def test_action_by_hand(key, action_noise):
    actor = eqx.tree_at(lambda a: a.action_noise, small_actor(), jnp.asarray(action_noise))
    action = actor(key, jnp.array([0.3, -0.7]))
    xi = np.asarray(jax.random.normal(key, (1,)))
    np.testing.assert_allclose(action, 2 * np.tanh(0.8 + (np.exp(-1) + action_noise) * xi), 1e-5)


def test_saved_and_loaded(tmp_path, key):
    path, state = tmp_path / "actor.safetensors", jnp.array([0.1, 0.2])
    save_actor(small_actor(), path, {"seed": 3})
    np.testing.assert_array_equal(load_actor(path)(key, state), small_actor()(key, state))


@jax.jit
def whole_episodes(actor, keys):
    env = Pendulum()

    def episode(key):
        key_start, key_rollout = jax.random.split(key)
        start = env.reset(key_start)
        states, actions, _ = rollout(env, actor, key_rollout, start, 200)
        return REWARD(jnp.concatenate([states[:-1], actions], axis=-1)).sum()

    return jax.vmap(episode)(keys)


def test_shipped_actor_swings_up(key):
    returns = whole_episodes(pendulum_sac(), jax.random.split(key, 100))
    assert returns.mean() > -200
    standard_error = float(returns.std()) / 10
    told = pendulum_sac_provenance()
    assert abs(returns.mean() - told["mean_return"]) < 4 * 2**0.5 * standard_error
    assert told["script"] == "scripts/train_pendulum_sac.py"
    np.testing.assert_array_equal(
        returns, whole_episodes(pendulum_sac(), jax.random.split(key, 100))
    )


@jax.jit
def standard_deviations(actor, key):
    """Of the discounted return from each of the nine sources."""
    env = Pendulum()

    def discounted_return(key, source):
        states, actions, _ = rollout(env, actor, key, source, 150)
        rewards = REWARD(jnp.concatenate([states[:-1], actions], axis=-1))
        return rewards @ 0.95 ** jnp.arange(150)

    keys = jax.random.split(key, (9, 400))
    over_keys = jax.vmap(discounted_return, (0, None))
    return jax.vmap(over_keys)(keys, sources("pendulum")).std(axis=1)


def test_action_noise_widens_the_returns(key):
    # Ranges measured with 2,000 rollouts: 0.006 to 0.30, 1.1 to 13.6, 4.6 to 17.
    stds = {noise: standard_deviations(pendulum_sac(noise), key) for noise in (0.0, 1.0, 2.0)}
    assert stds[0.0].max() < 0.5
    assert stds[1.0].min() > 0.5
    assert stds[2.0].min() > 3
    assert stds[2.0].max() < 25
    assert (stds[2.0] > stds[1.0]).all()


def test_rejects_negative_noise():
    with pytest.raises(ValueError, match="action_noise must not be negative, got -1"):
        pendulum_sac(action_noise=-1.0)
