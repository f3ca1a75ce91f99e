import jax
import jax.numpy as jnp
import numpy as np
import pytest

from daleth.envs import LinearGaussian
from daleth.policies import policy, rollout

NUM_ROLLOUTS = 2000


def test_one_dimension_by_hand():
    # mean x0 / (1 - γa); the noise of step t counts γ^t / (1 - γa) times.
    env = LinearGaussian([[0.8]], [[0.5]])
    mean, std = env.return_mean_and_std([2.0], [3.0], gamma=0.5)
    np.testing.assert_allclose(mean, 2 * 3 / 0.6)
    np.testing.assert_allclose(std, np.sqrt(0.25 / 0.75) * 2 * 0.5 / 0.6)


def test_no_future_without_a_discount():
    env = LinearGaussian.random(3)
    mean, std = env.return_mean_and_std([1.0, 2.0, 3.0], np.eye(3), gamma=0.0)
    np.testing.assert_allclose(mean, [1.0, 2.0, 3.0])
    assert std == 0


@pytest.mark.parametrize("dimension", [1, 2, 8])
def test_closed_form_agrees_with_rollouts(key, dimension):
    rng = np.random.default_rng(dimension)
    matrix = LinearGaussian.random(dimension, spectral_radius=0.8, seed=dimension).matrix
    env = LinearGaussian(matrix, np.tril(rng.normal(size=(dimension, dimension))))
    weights, source = rng.normal(size=(2, dimension)).astype(np.float32)
    num_steps = 917  # 0.99^917 = 1e-4

    @jax.jit
    def rewards(keys):
        only = policy("linear-gaussian/uniform")
        walk = jax.vmap(lambda key: rollout(env, only, key, jnp.asarray(source), num_steps)[0])
        return walk(keys) @ weights

    drawn = np.asarray(rewards(jax.random.split(key, NUM_ROLLOUTS)), dtype=float)
    for gamma in (0.9, 0.99):
        returns = drawn @ gamma ** np.arange(num_steps + 1)
        mean, std = env.return_mean_and_std(weights, source, gamma)
        assert abs(returns.mean() - mean) < 4 * std / NUM_ROLLOUTS**0.5
        assert abs(returns.std() - std) < 4 * std / (2 * NUM_ROLLOUTS) ** 0.5


@pytest.mark.parametrize("dimension", [2, 5])
def test_random_systems_have_the_radius_asked_for_and_come_from_the_seed(dimension):
    env, again, other = (
        LinearGaussian.random(dimension, spectral_radius=0.7, seed=seed) for seed in (1, 1, 2)
    )
    np.testing.assert_allclose(np.abs(np.linalg.eigvals(env.matrix)).max(), 0.7, rtol=1e-5)
    np.testing.assert_array_equal(env.matrix, again.matrix)
    assert not np.array_equal(env.matrix, other.matrix)


@pytest.mark.parametrize(
    ("matrix", "noise", "message"),
    [
        ([[1.0, 2.0]], [[1.0, 2.0]], "matrix must be square"),
        ([[0.5]], np.eye(2), "noise_factor must have the shape of the matrix"),
        ([[np.nan]], [[1.0]], "matrix must be finite"),
    ],
)
def test_rejects_bad_matrices(matrix, noise, message):
    with pytest.raises(ValueError, match=message):
        LinearGaussian(matrix, noise)


def test_rejects_bad_questions():
    env = LinearGaussian([[1.5]], [[1.0]])
    with pytest.raises(ValueError, match="returns diverge"):
        env.return_mean_and_std([1.0], [1.0], gamma=0.9)
    with pytest.raises(ValueError, match="source_state must have 1 components"):
        env.return_mean_and_std([1.0], [1.0, 2.0], gamma=0.5)
    with pytest.raises(ValueError, match=r"spectral_radius must lie in \[0, 1\), got 1"):
        LinearGaussian.random(2, spectral_radius=1.0)
