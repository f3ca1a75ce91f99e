import jax
import jax.numpy as jnp
import numpy as np
import pytest

from daleth.envs import WindyGridworld
from daleth.envs.windy import hopscotch, lopsided_checkerboard
from daleth.policies import policy, rollout

NUM_ROLLOUTS, GAMMA, LEVEL = 20_000, 0.95, 0.4


@pytest.mark.parametrize(
    ("state", "action", "moved", "wind_sign"),
    [
        ((1.0, -2.0), 0, (0.0, -2.0), (1, -1)),  # the wind of the quadrant that the move leaves
        ((1.0, -2.0), 1, (2.0, -2.0), (1, -1)),
        ((-1.0, 3.0), 2, (-1.0, 4.0), (-1, 1)),
        ((-1.0, 3.0), 3, (-1.0, 2.0), (-1, 1)),
        ((0.0, 0.5), 0, (-1.0, 0.5), (0, 1)),  # none on an axis
    ],
)
def test_step_is_a_unit_move_and_wind_up_to_a_quarter(key, state, action, moved, wind_sign):
    step = jax.vmap(WindyGridworld().step, in_axes=(0, None, None))
    following, terminated = step(jax.random.split(key, 500), jnp.array(state), jnp.array(action))
    wind = (following - jnp.array(moved)) * jnp.array(wind_sign)
    blown = np.array(wind_sign) != 0
    assert not terminated.any()
    assert wind.min() > -1e-6
    assert wind.max() < 0.25 + 1e-6
    # 500 draws of U[0, 1/4]: the mean has standard error 0.0032.
    np.testing.assert_allclose(wind.mean(0)[blown], 0.125, atol=0.013)
    assert (following == jnp.array(moved))[:, ~blown].all()


def test_walls_stop_moves_and_wind(key):
    following, _ = WindyGridworld().step(key, jnp.array([4.9, -5.0]), jnp.array(1))
    np.testing.assert_array_equal(following, [5.0, -5.0])


def test_rewards_by_quadrant():
    states = jnp.array([[-1, 1], [1, 1], [-1, -1], [1, -1], [0, 1], [1, 0], [0, 0]], float)
    assert lopsided_checkerboard(states).tolist() == [15, -10, -2, 2, 0, 0, 0]
    assert hopscotch(states).tolist() == [3, -1, -2, 2, 0, 0, 0]


@pytest.fixture(scope="module")
def states():
    """20,000 rollouts of 200 steps from the origin, for both policies."""
    env = WindyGridworld()

    @jax.jit
    def draw(chosen, key):
        keys = jax.random.split(key, NUM_ROLLOUTS)
        return jax.vmap(lambda key: rollout(env, chosen, key, jnp.zeros(2), 200)[0])(keys)

    return {name: draw(policy(f"windy/{name}"), jax.random.key(7)) for name in ("top", "bottom")}


def returns(states, reward):
    rewards = np.asarray(reward(states), dtype=float)
    return np.sort(rewards @ GAMMA ** np.arange(states.shape[1]))


def cvar(returns):
    return returns[: int(LEVEL * len(returns))].mean()


@pytest.mark.parametrize(
    ("name", "mean", "tail_mean"), [("top", 42.0, -141.0), ("bottom", 0.0, -29.0)]
)
def test_lopsided_checkerboard_figures(states, name, mean, tail_mean):
    g = returns(states[name], lopsided_checkerboard)
    # q - (q - G)+ / α, with q the α-quantile, has the CVaR as its mean.
    shortfall = np.maximum(np.quantile(g, LEVEL) - g, 0) / LEVEL
    rounding = 0.5
    assert abs(g.mean() - mean) < 3 * g.std() / NUM_ROLLOUTS**0.5 + rounding
    assert abs(cvar(g) - tail_mean) < 3 * shortfall.std() / NUM_ROLLOUTS**0.5 + rounding


def test_top_wins_hopscotch_in_mean_and_cvar(states):
    top, bottom = (returns(states[name], hopscotch) for name in ("top", "bottom"))
    assert top.mean() > bottom.mean() + 10
    assert cvar(top) > cvar(bottom) + 10
