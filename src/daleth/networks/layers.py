"""Linear layers as plain arrays; a leading atom axis makes them many layers at once."""

import itertools
import math

import jax
import jax.numpy as jnp
from jaxtyping import Array, PRNGKeyArray


def apply_linear(weight: Array, bias: Array, rows: Array) -> Array:
    """Rows `[*m, s, in]` to `[*m, s, out]`."""
    return rows @ jnp.swapaxes(weight, -1, -2) + bias[..., None, :]


def linear_layers(
    key: PRNGKeyArray, sizes: list[int]
) -> tuple[tuple[Array, ...], tuple[Array, ...]]:
    """Weights and biases, uniform on ±1/√in, layer after layer, from one draw."""
    layers = list(zip(sizes[:-1], sizes[1:], strict=True))
    ends = list(itertools.accumulate((inputs + 1) * outputs for inputs, outputs in layers))
    parts = jnp.split(jax.random.uniform(key, (ends[-1],), minval=-1, maxval=1), ends[:-1])
    weights, biases = [], []
    for (inputs, outputs), part in zip(layers, parts, strict=True):
        both = part.reshape(outputs, inputs + 1) / math.sqrt(inputs)
        weights.append(both[:, 1:])
        biases.append(both[:, 0])
    return tuple(weights), tuple(biases)
