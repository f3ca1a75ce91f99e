"""Truth from a user's own Gymnasium environment."""

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from daleth.models import GymnasiumModel
from daleth.models.gymnasium import stay

GAMMA = 0.5


class Drift(gymnasium.Env):
    """x' = x/2 + noise, where the noise is ±1: from 0 the return is uniform on a dyadic grid."""

    observation_space = gymnasium.spaces.Box(-9, 9, (1,), np.float32)
    action_space = gymnasium.spaces.Discrete(1)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.x = np.array((options or {}).get("state", [0.0]), np.float32)
        return self.x.copy(), {}

    def step(self, action) -> tuple[np.ndarray, float, bool, bool, dict]:
        self.x = (self.x / 2 + self.np_random.choice([-1.0, 1.0])).astype(np.float32)
        return self.x.copy(), 0.0, False, False, {}


class Stubborn(Drift):
    """Ignores where it is asked to start."""

    def reset(self, *, seed=None, options=None):
        return super().reset(seed=seed)


class Impatient(Drift):
    """Has a time limit of its own."""

    def step(self, action) -> tuple[np.ndarray, float, bool, bool, dict]:
        state, reward, terminated, _, info = super().step(action)
        return state, reward, terminated, True, info


def zero(key, state):
    return np.array(0)


def position(states):
    return states[..., 0]


def test_mean_and_variance_in_closed_form(key):
    """G = 4x/3 + Σ_j γ^j ε_j 4/3: variance (4/3)² γ²/(1-γ²) = 16/27."""
    limited = gymnasium.wrappers.TimeLimit(Drift(), max_episode_steps=3)
    model = GymnasiumModel(limited, zero, GAMMA, 300, tolerance=1e-3)
    g = model.returns(position, [0.75], key=key)
    error = np.sqrt(16 / 27 / 300)
    assert g.mean() == pytest.approx(1.0, abs=4 * error)
    assert g.variance() == pytest.approx(16 / 27, rel=0.3)


def test_copies_start_where_the_environment_stands(key):
    env = Drift()
    env.reset(options={"state": [2.0]})
    model = GymnasiumModel(env, zero, GAMMA, 20, set_state=stay, tolerance=0.1)
    measures = model.atoms(jnp.array([2.0]), key)
    assert set(np.unique(measures.points[:, 1])) == {0.0, 2.0}
    np.testing.assert_array_equal(env.x, [2.0])  # the original was not touched


def test_a_function_puts_the_environment_into_a_state(key):
    def put(env, state):
        env.reset(seed=0)
        env.unwrapped.state = np.array(state)

    cart = gymnasium.make("CartPole-v1")
    policy_right = lambda key, state: np.array(1)  # noqa: E731
    model = GymnasiumModel(cart, policy_right, 0.5, 2, set_state=put, tolerance=0.1)
    measures = model.atoms(jnp.array([0.1, 0.2, 0.0, 0.0]), key)
    np.testing.assert_allclose(measures.points[0, 1, 0], 0.1 + 0.02 * 0.2, rtol=1e-5)
    with pytest.raises(ValueError, match="hand in set_state="):
        GymnasiumModel(cart, policy_right, 0.5, 2).atoms(jnp.ones(4), key)


@pytest.mark.parametrize(
    ("env", "message"),
    [(Stubborn(), "does not start from reset"), (Impatient(), "truncated after 1 of")],
)
def test_environments_that_cannot_be_asked(env, message, key):
    model = GymnasiumModel(env, zero, GAMMA, 2)
    with pytest.raises(ValueError, match=message):
        model.atoms(jnp.array([1.5]), key)


def test_environment_that_cannot_be_copied(key):
    env = Drift()
    env.metadata = {"lines": (line for line in [])}  # generators cannot be copied
    with pytest.raises(ValueError, match="cannot be copied"):
        GymnasiumModel(env, zero, GAMMA, 2).atoms(jnp.array([0.0]), key)


def test_observations_must_be_arrays():
    env = Drift()
    env.observation_space = gymnasium.spaces.Dict({"x": Drift.observation_space})
    with pytest.raises(ValueError, match="observations must be arrays"):
        GymnasiumModel(env, zero, GAMMA, 2)


def test_different_keys_give_different_noise():
    model = GymnasiumModel(Drift(), zero, GAMMA, 8, tolerance=0.05)
    one, two = (model.atoms(jnp.array([0.0]), jax.random.key(i)).points for i in (0, 1))
    assert not np.array_equal(one, two)
    assert len(np.unique(np.asarray(one).reshape(8, -1), axis=0)) > 4


class Private(Drift):
    """Draws its noise from a generator that Gymnasium does not know."""

    def reset(self, *, seed=None, options=None):
        self.private = np.random.default_rng(seed)
        return super().reset(seed=seed, options=options)

    def step(self, action) -> tuple[np.ndarray, float, bool, bool, dict]:
        self.x = (self.x / 2 + self.private.choice([-1.0, 1.0])).astype(np.float32)
        return self.x.copy(), 0.0, False, False, {}


def test_an_environment_with_a_generator_of_its_own(key):
    model = GymnasiumModel(Private(), zero, GAMMA, 8, tolerance=0.05)
    points = np.asarray(model.atoms(jnp.array([0.0]), key).points)
    assert len(np.unique(points.reshape(8, -1), axis=0)) > 4
    np.testing.assert_array_equal(points, model.atoms(jnp.array([0.0]), key).points)


class Table(Drift):
    """Looks its action up, as tabular environments do."""

    def step(self, action) -> tuple[np.ndarray, float, bool, bool, dict]:
        assert {0: "stay"}[action]
        return super().step(action)


def test_a_discrete_action_is_a_number(key):
    model = GymnasiumModel(Table(), zero, GAMMA, 2, tolerance=0.1)
    assert model.returns(position, [0.0], key=key).num_atoms == 2
