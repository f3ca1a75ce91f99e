"""Windy Gridworld: a box whose wind blows everyone into the corner of their quadrant."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from daleth._typing import ArrayLike
from daleth.envs.base import Action, Box, Discrete, Environment, with_components

_HALF_WIDTH = 5.0
_MOVES = ((-1.0, 0.0), (1.0, 0.0), (0.0, 1.0), (0.0, -1.0))
_MAX_WIND = 0.25


class WindyGridworld(Environment):
    r"""Four unit moves in $[-5, 5]^2$ under a wind that points away from the axes.

    $$x' = \mathrm{clip}(x + e_a + u \odot \mathrm{sign}(x)), \qquad u \sim U[0, 0.25]^2.$$

    The wind blows by the quadrant that the move starts from, as in the authors' code; a
    coordinate of exactly 0 feels none. Returns hardly tell: under the reverse reading, means and
    0.4-CVaRs of the two paper rewards move by about one standard error of 20,000 rollouts at most.
    Actions are left, right, up, down. Every episode starts at the origin and none terminates.

    Example:
        >>> env = WindyGridworld()
        >>> state, terminated = env.step(jax.random.key(0), jnp.zeros(2), jnp.array(2))
        >>> print(state, terminated)
        [0. 1.] False
    """

    @property
    def state_names(self) -> tuple[str, ...]:
        """The two coordinates."""
        return ("x", "y")

    @property
    def state_space(self) -> Box:
        """The box."""
        return Box((-_HALF_WIDTH,) * 2, (_HALF_WIDTH,) * 2)

    @property
    def action_space(self) -> Discrete:
        """Left, right, up, down."""
        return Discrete(len(_MOVES))

    def reset(self, key: PRNGKeyArray) -> Float[Array, "2"]:
        """The origin."""
        del key
        return jnp.zeros(2)

    def step(
        self, key: PRNGKeyArray, state: Float[Array, "2"], action: Action
    ) -> tuple[Float[Array, "2"], Bool[Array, ""]]:
        """Moves by one unit and by the wind, and stops at the walls."""
        move = jnp.asarray(_MOVES, state.dtype)[action]
        wind = jax.random.uniform(key, (2,), state.dtype, maxval=_MAX_WIND) * jnp.sign(state)
        return jnp.clip(state + move + wind, -_HALF_WIDTH, _HALF_WIDTH), jnp.array(False)


def quadrant_reward(
    states: ArrayLike,
    top_left: float,
    top_right: float,
    bottom_left: float,
    bottom_right: float,
) -> Float[Array, "*shape"]:
    """One reward per open quadrant and 0 on the axes, `[..., 2] -> [...]`.

    The axes belong to no quadrant: the origin, where episodes start, gives nothing.
    """
    states = with_components(states, 2)
    x, y = states[..., 0], states[..., 1]
    top = jnp.where(x < 0, top_left, top_right)
    bottom = jnp.where(x < 0, bottom_left, bottom_right)
    return jnp.where((x == 0) | (y == 0), 0.0, jnp.where(y > 0, top, bottom))


def lopsided_checkerboard(states: ArrayLike) -> Float[Array, "*shape"]:
    """15, -10 above and -2, 2 below (paper, figure of the Windy Gridworld rewards)."""
    return quadrant_reward(states, 15.0, -10.0, -2.0, 2.0)


def hopscotch(states: ArrayLike) -> Float[Array, "*shape"]:
    """3, -1 above and -2, 2 below (paper, figure of the Windy Gridworld rewards)."""
    return quadrant_reward(states, 3.0, -1.0, -2.0, 2.0)
