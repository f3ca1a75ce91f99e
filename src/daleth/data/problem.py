"""What a learner must know of its data before it starts."""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from daleth.data.normalise import Normalisation
from daleth.data.recurring import Recurring
from daleth.data.resolution import resolution
from daleth.data.trajectories import Trajectories


class Problem(eqx.Module):
    """Facts about trajectories, all of them small.

    Attributes:
        normalisation: of states.
        resolution: the distance in normalised units below which data show no structure, see
            `daleth.data.resolution`; 0 for as many data as one likes.
        recurring: the values that components take exactly, in the units of the user.
        state_dim: `d`.
    """

    normalisation: Normalisation
    resolution: Float[Array, ""]
    recurring: Recurring
    state_dim: int = eqx.field(static=True)

    @classmethod
    def of(cls, data: Trajectories) -> "Problem":
        """What the data say."""
        normalisation = data.normalisation()
        finest = jnp.float32(resolution(data.states, normalisation))
        return cls(normalisation, finest, Recurring.of(data.states), data.state_dim)

    @classmethod
    def plain(cls, state_dim: int) -> "Problem":
        """States that are normalised already, as finely resolved as one likes; none recurs."""
        unit = Normalisation(jnp.zeros(state_dim), jnp.ones(state_dim))
        return cls(unit, jnp.zeros(()), Recurring.none(state_dim), state_dim)
