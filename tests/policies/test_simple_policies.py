import jax
import jax.numpy as jnp
import numpy as np
import pytest

from daleth.envs import Box
from daleth.policies import CategoricalPolicy, ConstantPolicy, policy, policy_names, uniform

STATE = jnp.zeros(2)


def draw(chosen, key, num=6000):
    return np.asarray(jax.vmap(chosen, (0, None))(jax.random.split(key, num), STATE))


@pytest.mark.parametrize(
    ("name", "odds"),
    [
        ("windy/uniform", [1 / 4, 1 / 4, 1 / 4, 1 / 4]),
        ("windy/top", [1 / 3, 1 / 3, 1 / 3, 0]),
        ("windy/bottom", [1 / 3, 1 / 3, 0, 1 / 3]),
        ("corridor/uniform", [1 / 2, 1 / 2]),
        ("linear-gaussian/uniform", [1]),
    ],
)
def test_named_policies_have_their_odds(key, name, odds):
    counts = np.bincount(draw(policy(name), key), minlength=len(odds))
    odds = np.array(odds)
    errors = np.sqrt(odds * (1 - odds) / 6000)
    assert (np.abs(counts / 6000 - odds) <= 4 * errors).all()


def test_uniform_over_a_box(key):
    actions = draw(uniform(Box((-2.0, 0.0), (2.0, 1.0))), key)
    # The mean of U[a, b] over n draws has standard error (b - a) / √(12 n).
    np.testing.assert_allclose(actions.mean(0), [0, 0.5], atol=4 * 4 / (12 * 6000) ** 0.5)
    np.testing.assert_allclose(actions.min(0), [-2, 0], atol=0.01)
    np.testing.assert_allclose(actions.max(0), [2, 1], atol=0.01)


def test_constant(key):
    assert ConstantPolicy(3)(key, STATE) == 3
    np.testing.assert_array_equal(draw(policy("pendulum/no-torque"), key, 2), [[0], [0]])


def test_rejects_bad_settings():
    with pytest.raises(ValueError, match="probabilities must sum to 1, got 0.9"):
        CategoricalPolicy([0.5, 0.4])
    with pytest.raises(ValueError, match="a uniform policy needs finite bounds"):
        uniform(Box((-float("inf"),), (1.0,)))
    with pytest.raises(ValueError, match="action must be finite"):
        ConstantPolicy([np.inf])
    with pytest.raises(ValueError, match="policy must be one of .*'windy/top'.* got 'top'"):
        policy("top")
    with pytest.raises(ValueError, match="environment must be one of 'corridor'"):
        policy_names("maze")


def test_names():
    assert policy_names("windy") == ["windy/bottom", "windy/top", "windy/uniform"]
    assert policy_names("pendulum") == ["pendulum/no-torque", "pendulum/sac", "pendulum/uniform"]
