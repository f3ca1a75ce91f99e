import jax
import jax.numpy as jnp
import numpy as np
import pytest

from daleth.envs import Corridor
from daleth.policies import CategoricalPolicy, rollout


@pytest.mark.parametrize("action", [0, 1])
def test_steps_are_the_rows_of_the_transition_matrix(key, action):
    env = Corridor(5)
    for position, row in enumerate(env.transition_matrix(prob_right=action)):
        following, terminated = env.step(key, jnp.array([float(position)]), jnp.array(action))
        assert row.tolist() == np.eye(5)[int(following[0])].tolist()
        assert terminated == (following[0] in (0, 4))


def test_gamblers_ruin():
    n, p = 7, 0.6
    ended = np.linalg.matrix_power(Corridor(n).transition_matrix(p), 400)
    odds = ((1 - p) / p) ** np.arange(n)
    np.testing.assert_allclose(ended[:, -1], (1 - odds) / (1 - odds[-1]), atol=1e-12)
    np.testing.assert_allclose(ended.sum(axis=1), 1)


def test_walks_follow_the_chain(key):
    env, walk = Corridor(5), CategoricalPolicy([0.3, 0.7])
    start = env.reset(key)
    draw = jax.jit(jax.vmap(lambda key: rollout(env, walk, key, start, 6)))
    states, _, ended = map(np.asarray, draw(jax.random.split(key, 4000)))
    law = np.bincount(states[:, -1, 0].astype(int), minlength=5) / 4000
    exact = np.linalg.matrix_power(env.transition_matrix(0.7), 6)[2]
    np.testing.assert_allclose(law, exact, atol=4 * 0.5 / 4000**0.5)
    np.testing.assert_array_equal(ended, np.isin(states[:, 1:, 0], [0, 4]))
    assert not (np.diff(states[:, 1:, 0])[ended[:, :-1]]).any()


def test_rejects_bad_settings():
    with pytest.raises(ValueError, match="num_positions must be at least 3, got 2"):
        Corridor(2)
    with pytest.raises(ValueError, match=r"prob_right must lie in \[0, 1\], got 1.5"):
        Corridor().transition_matrix(1.5)
