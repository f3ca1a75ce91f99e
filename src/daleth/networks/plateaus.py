"""Outputs that meet given values exactly, and not only nearly."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float


class Plateaus(eqx.Module):
    r"""A map of outputs to points that rests on given values and has the slope 1 elsewhere.

    $$ y = \hat y - \sum_j \mathrm{clip}(\hat y - u_j, -h_j, h_j) $$

    All outputs within $h_j$ of $u_j$ become the value $v_j$. The map goes on where it rested, so
    every other point can be met as well. Its gradient is taken to be that of the identity, so
    that outputs can leave a plateau.

    Attributes:
        centres: $u_j$ by component, `[d, r]`.
        half_widths: $h_j$, `[d, r]`; 0 makes no plateau.

    Example:
        >>> rest = Plateaus.at(jnp.array([[0.0]]), jnp.array([[True]]), half_width=0.5)
        >>> rest(jnp.array([[-1.0], [-0.25], [0.5], [0.75]])).ravel()
        Array([-0.5 ,  0.  ,  0.  ,  0.25], dtype=float32)
    """

    centres: Float[Array, "d r"]
    half_widths: Float[Array, "d r"]

    @classmethod
    def at(
        cls, values: Float[Array, "d r"], present: Bool[Array, "d r"], half_width: float
    ) -> "Plateaus":
        """One plateau at each value that is present; these ascend by component.

        Where values lie close together, a plateau is no wider than the way between two of them.
        """
        apart = jnp.where(present[:, 1:], jnp.diff(values, axis=1), jnp.inf)
        apart = jnp.pad(apart, ((0, 0), (1, 1)), constant_values=jnp.inf)
        nearest = jnp.minimum(apart[:, :-1], apart[:, 1:])
        half_widths = jnp.where(present, jnp.minimum(half_width, nearest / 2), 0)
        below = jnp.cumsum(half_widths, axis=1) - half_widths
        above = jnp.sum(half_widths, axis=1, keepdims=True) - below - half_widths
        return cls(values + below - above, half_widths)

    def __call__(self, outputs: Float[Array, "*n d"]) -> Float[Array, "*n d"]:
        """The points."""
        raw, fixed = jax.lax.stop_gradient((outputs, self))

        def rested() -> Array:
            total = jnp.zeros_like(raw)
            for centre, half_width in zip(fixed.centres.T, fixed.half_widths.T, strict=True):
                total += jnp.clip(raw - centre, -half_width, half_width)
            return total

        # Most data have no such values, and then a tenth of an update is saved.
        any_plateau = jnp.any(fixed.half_widths > 0)
        return outputs - jax.lax.cond(any_plateau, rested, lambda: jnp.zeros_like(raw))
