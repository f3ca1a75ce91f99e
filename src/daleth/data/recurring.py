"""Values that a component takes exactly, again and again: a wall, an axis, a goal, a label."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

_NUM_VALUES = 8
_LEAST_SHARE = 0.005
_CANDIDATES = 1 << 16
_ROUNDING = 1e-5  # of a normalised number; going back to the units of the user adds some more
_ULPS = 4


class Recurring(eqx.Module):
    """The values that at least 0.5 % of all frames have in a component, to the last bit.

    Up to eight of a component, the most frequent. They are looked for among 65,536 frames, drawn in
    the same way whenever the data are the same.

    Attributes:
        values: of each component, in ascending order, `[d, 8]`; 0 where there are fewer.
        present: whether there is such a value, `[d, 8]`.
        below: half the distance to the next lower value of the data, `[d, 8]`; infinite if there is
            none.
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
        """Those of the data, one component after the other."""
        candidates = states
        if len(states) > _CANDIDATES:
            candidates = states[np.random.default_rng(0).integers(len(states), size=_CANDIDATES)]
        shape = (states.shape[1], _NUM_VALUES)
        values, below, above = np.zeros((3, *shape), np.float32)
        present = np.zeros(shape, bool)
        for component, column in enumerate(states.T):
            for j, value in enumerate(_frequent(candidates[:, component])):
                here = component, j
                values[here], present[here] = value, True
                lower = np.max(column, where=column < value, initial=-np.inf)
                higher = np.min(column, where=column > value, initial=np.inf)
                below[here], above[here] = (value - lower) / 2, (higher - value) / 2
        return cls(*map(jnp.asarray, (values, present, below, above)))

    @classmethod
    def none(cls, state_dim: int) -> "Recurring":
        """No value recurs."""
        nothing = jnp.zeros((state_dim, _NUM_VALUES))
        return cls(nothing, nothing.astype(bool), nothing, nothing)

    def restore(
        self, states: Float[Array, "*batch d"], scale: Float[Array, "d"]
    ) -> Float[Array, "*batch d"]:
        """States that are nearer to a value than to all other data have it, to the last bit.

        So have those that missed it by rounding alone.

        Args:
            states: in the units of the user.
            scale: by which they were normalised, `[d]`.
        """
        for j in range(_NUM_VALUES):
            value = self.values[:, j]
            rounding = _ROUNDING * scale + _ULPS * jnp.finfo(value.dtype).eps * jnp.abs(value)
            below, above = (jnp.maximum(gap[:, j], rounding) for gap in (self.below, self.above))
            near = (states >= value - below) & (states <= value + above)
            states = jnp.where(self.present[:, j] & near, value, states)
        return states


def _frequent(column: Float[np.ndarray, "c"]) -> Float[np.ndarray, "r"]:
    """The most frequent of the values that recur, in ascending order."""
    different, counts = np.unique(column, return_counts=True)
    # Once is no recurrence, however few frames there are.
    often = np.flatnonzero(counts >= max(2, _LEAST_SHARE * len(column)))
    by_frequency = often[np.argsort(-counts[often], kind="stable")]
    return different[np.sort(by_frequency[:_NUM_VALUES])]
