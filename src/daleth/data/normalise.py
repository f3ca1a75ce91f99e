"""Normalisation of states: statistics of the data that travel with a model."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from daleth._typing import ArrayLike
from daleth.data import _validation

_CHUNK = 1 << 18


class Normalisation(eqx.Module):
    r"""Componentwise $z = (x - \text{mean}) / \text{scale}$.

    Attributes:
        mean: `[d]`.
        scale: `[d]`, positive.

    Example:
        >>> normalisation = Normalisation.of([[1.0, 5.0], [3.0, 5.0]])
        >>> normalisation.apply(jnp.array([3.0, 6.0]))
        Array([1., 1.], dtype=float32)
    """

    mean: Float[Array, "d"]
    scale: Float[Array, "d"]

    @classmethod
    def of(cls, states: ArrayLike) -> "Normalisation":
        """Mean and standard deviation of states `[N, d]`, in one pass of constant memory.

        A component that does not vary, up to the rounding of float32, gets the scale 1.
        """
        array = _validation.as_states(states)
        if len(array) == 0:
            raise ValueError("states must not be empty, got no row")
        shift = array[0].astype(np.float64)
        first, second = np.zeros_like(shift), np.zeros_like(shift)
        for start in range(0, len(array), _CHUNK):
            # Moments about one state of the data: a large common offset costs no digits.
            centred = array[start : start + _CHUNK] - shift
            first += centred.sum(axis=0)
            second += (centred**2).sum(axis=0)
        first, second = first / len(array), second / len(array)
        mean = shift + first
        deviation = np.sqrt(np.maximum(second - first**2, 0))
        varies = deviation > np.maximum(1e-6 * np.abs(mean), 1e-30)
        return cls(
            jnp.asarray(mean, jnp.float32), jnp.asarray(np.where(varies, deviation, 1), jnp.float32)
        )

    def apply(self, states: Float[Array, "*batch d"]) -> Float[Array, "*batch d"]:
        """States in units of the data, mean 0 and standard deviation 1."""
        return (states - self.mean) / self.scale

    def invert(self, normalised: Float[Array, "*batch d"]) -> Float[Array, "*batch d"]:
        """Back to the units of the user."""
        return normalised * self.scale + self.mean
