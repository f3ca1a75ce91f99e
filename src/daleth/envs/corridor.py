"""Corridor: a walk between two absorbing ends, small enough for exact answers."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from daleth import _checks
from daleth._typing import ArrayLike, Count, Real
from daleth.envs.base import Action, Box, Discrete, Environment, with_components


class Corridor(Environment):
    """Positions `0 .. num_positions - 1`, of which both ends terminate the episode.

    Actions are left and right. Episodes start in the middle. An end is absorbing: a step from it
    stays there and terminates again.

    Attributes:
        num_positions: how many positions there are, ends included.

    Example:
        >>> import jax
        >>> env = Corridor(5)
        >>> state, terminated = env.step(jax.random.key(0), jnp.array([3.0]), jnp.array(1))
        >>> print(state, terminated)
        [4.] True
    """

    num_positions: Count = eqx.field(static=True, default=7)

    def __check_init__(self) -> None:
        _checks.count("num_positions", self.num_positions, at_least=3)

    @property
    def state_names(self) -> tuple[str, ...]:
        """The position."""
        return ("position",)

    @property
    def state_space(self) -> Box:
        """From end to end."""
        return Box((0.0,), (float(self.num_positions - 1),))

    @property
    def action_space(self) -> Discrete:
        """Left and right."""
        return Discrete(2)

    def reset(self, key: PRNGKeyArray) -> Float[Array, "1"]:
        """The middle."""
        del key
        return jnp.array([float(self.num_positions // 2)])

    def step(
        self, key: PRNGKeyArray, state: Float[Array, "1"], action: Action
    ) -> tuple[Float[Array, "1"], Bool[Array, ""]]:
        """Moves by one position unless an end was reached before."""
        del key
        last = self.num_positions - 1
        inside = (state > 0) & (state < last)
        position = jnp.where(inside, state + 2 * action - 1, state)
        return position, ((position <= 0) | (position >= last))[0]

    def transition_matrix(self, prob_right: Real) -> np.ndarray:
        """The Markov chain of the policy that goes right with this probability, `[n, n]`.

        Row and column `i` are position `i`; the ends lead to themselves.
        """
        prob_right = _checks.number("prob_right", prob_right)
        if not 0 <= prob_right <= 1:
            raise ValueError(f"prob_right must lie in [0, 1], got {prob_right:g}")
        matrix = np.eye(self.num_positions)
        inside = np.arange(1, self.num_positions - 1)
        matrix[inside, inside] = 0.0
        matrix[inside, inside + 1] = prob_right
        matrix[inside, inside - 1] = 1 - prob_right
        return matrix


def position(states: ArrayLike) -> Float[Array, "*shape"]:
    """Where the walk stands, and stays once it has ended, `[..., 1] -> [...]`."""
    return with_components(states, 1)[..., 0]


def corridor_sources(env: Corridor) -> Float[Array, "n 1"]:
    """Every position between the ends."""
    return jnp.arange(1.0, env.num_positions - 1)[:, None]
