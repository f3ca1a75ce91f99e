"""Values that a component takes exactly, again and again: a wall, an axis, a goal, a label."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

_NUM_VALUES = 8
_LEAST_SHARE = 0.005
_CANDIDATES = 1 << 16
_ROUNDING = 1e-5  # of a number that went through normalisation and back, in units of the data


class Recurring(eqx.Module):
    """The values that at least 0.5 % of all frames have in a component, to the last bit.

    Attributes:
        values: of each component the eight most frequent in ascending order, `[d, 8]`; 0 where
            there are fewer.
        present: whether there is such a value, `[d, 8]`.
        below: half the distance to the next lower state of the data, `[d, 8]`; infinite if there
            is none.
        above: half the distance to the next higher one, `[d, 8]`.

    Example:
        >>> heights = np.array([[0.0], [2.5], [0.0], [1.0], [2.0], [1.0]], np.float32)
        >>> Recurring.of(heights).values[:, :3]
        Array([[0., 1., 0.]], dtype=float32)
    """

    values: Float[Array, "d 8"]
    present: Bool[Array, "d 8"]
    below: Float[Array, "d 8"]
    above: Float[Array, "d 8"]

    @classmethod
    def of(cls, states: Float[np.ndarray, "n d"]) -> "Recurring":
        """Among 65,536 frames, drawn in the same way whenever the data are the same."""
        if len(states) > _CANDIDATES:
            states = states[np.random.default_rng(0).integers(len(states), size=_CANDIDATES)]
        shape = (states.shape[1], _NUM_VALUES)
        values, below, above = np.zeros((3, *shape), np.float32)
        present = np.zeros(shape, bool)
        for component, column in enumerate(states.T):
            different, counts = np.unique(column, return_counts=True)
            # Once is no recurrence, however few frames there are.
            often = np.flatnonzero(counts >= max(2, _LEAST_SHARE * len(column)))
            chosen = np.sort(often[np.argsort(-counts[often], kind="stable")][:_NUM_VALUES])
            here = (component, slice(len(chosen)))
            values[here], present[here] = different[chosen], True
            gaps = np.diff(different, prepend=-np.inf, append=np.inf) / 2
            below[here], above[here] = gaps[chosen], gaps[chosen + 1]
        return cls(*map(jnp.asarray, (values, present, below, above)))

    @classmethod
    def none(cls, state_dim: int) -> "Recurring":
        """No value recurs."""
        nothing = jnp.zeros((state_dim, _NUM_VALUES))
        return cls(nothing, nothing.astype(bool), nothing, nothing)

    def restore(
        self, states: Float[Array, "*batch d"], scale: Float[Array, "d"]
    ) -> Float[Array, "*batch d"]:
        """Where there are no data between a state and a value, the state has it, to the last bit.

        So has one that missed a value by rounding alone.

        Args:
            states: in the units of the user.
            scale: of each component, to which rounding is in proportion.
        """
        for j in range(_NUM_VALUES):
            value = self.values[:, j]
            rounding = _ROUNDING * jnp.maximum(scale, jnp.abs(value))
            below, above = (jnp.maximum(gap[:, j], rounding) for gap in (self.below, self.above))
            near = (states >= value - below) & (states <= value + above)
            states = jnp.where(self.present[:, j] & near, value, states)
        return states
