from typing import Any, cast

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from daleth.envs import WindyGridworld
from daleth.policies import from_numpy, from_sb3, rollout

STATE = jnp.array([1.0, 2.0])


class Model:
    """Has the `predict` of Stable-Baselines3."""

    def predict(self, observation, state=None, episode_start=None, deterministic=False):
        assert isinstance(observation, np.ndarray)
        return np.array([observation.sum() + (0 if deterministic else 100)]), None


def test_models_are_asked_by_predict(key):
    assert from_sb3(Model())(key, STATE).tolist() == [103]
    assert from_sb3(Model(), deterministic=True)(key, STATE).tolist() == [3]


@pytest.mark.parametrize(
    ("given", "shape", "kind"),
    [(2, (), "i"), (np.array([2]), (), "i"), (2.0, (1,), "f"), (np.array([2.0, 3.0]), (2,), "f")],
)
def test_whole_numbers_are_discrete_actions_and_real_ones_vectors(key, given, shape, kind):
    action = from_numpy(lambda state: given)(key, STATE)
    assert (action.shape, action.dtype.kind) == (shape, kind)
    np.testing.assert_array_equal(action, np.reshape(given, shape))


def test_compiled_functions_are_refused(key):
    slow = from_numpy(lambda state: 0)
    for call in (
        lambda: jax.jit(slow.__call__)(key, STATE),
        lambda: rollout(WindyGridworld(), slow, key, STATE, 3),
    ):
        with pytest.raises(ValueError, match="collect its trajectories through a Gymnasium"):
            call()


def test_rejects_what_is_no_policy(key):
    with pytest.raises(ValueError, match="model must have a method predict, got dict"):
        from_sb3({})
    with pytest.raises(ValueError, match="the policy must be a function of a state, got 3"):
        from_numpy(cast(Any, 3))
    with pytest.raises(ValueError, match="action must be finite, got nan"):
        from_numpy(lambda state: state * np.nan)(key, STATE)
