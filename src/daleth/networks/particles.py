"""A network that maps a state to all particles of all atoms at once."""

import math

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from daleth.networks.layers import linear_layers
from daleth.networks.plateaus import Plateaus

_BY_STATE = 0.3  # standard deviation over source states at first; 1 between points and atoms


class ParticleNetwork(eqx.Module):
    """Fourier features, a trunk of hidden layers, and one linear map to all points.

    Attributes:
        frequencies: of the Fourier features, `[d, F]`; drawn once and never trained.
        weights: one matrix `[out, in]` a hidden layer.
        biases: one vector `[out]` a hidden layer.
        out_weight: to the components and the logit of each point, `[width + d, m, k * (d + 1)]`.
        out_bias: `[m, k * (d + 1)]`.
        plateaus: where points rest; never trained.
    """

    frequencies: Float[Array, "d F"]
    weights: tuple[Float[Array, "..."], ...]
    biases: tuple[Float[Array, "..."], ...]
    out_weight: Float[Array, "inputs m out"]
    out_bias: Float[Array, "m out"]
    plateaus: Plateaus


def make_particle_network(
    key: PRNGKeyArray,
    num_atoms: int,
    state_dim: int,
    num_points: int,
    width: int,
    depth: int,
    num_frequencies: int,
    frequency: Float[Array, ""] | float,
    plateaus: Plateaus,
) -> ParticleNetwork:
    """A fresh network; its points are about standard normal, as normalised states are.

    Points differ much more between atoms than between source states. So atoms share out the futures
    in the same way everywhere at first; if each state began on its own, neighbours would settle
    on different shares, and the borders between them would last.

    Args:
        key: for all that is drawn.
        num_atoms: `m`.
        state_dim: `d`.
        num_points: `k`.
        width: units of a hidden layer.
        depth: hidden layers.
        num_frequencies: `F`.
        frequency: their standard deviation, in radians per unit of each component.
        plateaus: where points rest.

    Example:
        >>> nowhere = Plateaus.at(jnp.zeros((2, 1)), jnp.zeros((2, 1), bool), 0.0)
        >>> network = make_particle_network(jax.random.key(0), 4, 2, 8, 16, 2, 8, 2.5, nowhere)
        >>> points, logits = generate_particles(network, jnp.zeros(2))
        >>> points.shape, logits.shape
        ((4, 8, 2), (4, 8))
    """
    key_frequencies, key_trunk, key_out = jax.random.split(key, 3)
    frequencies = jax.random.normal(key_frequencies, (state_dim, num_frequencies))
    sizes = [state_dim + 2 * num_frequencies, *[width] * depth]
    weights, biases = linear_layers(key_trunk, sizes)
    shape = (num_atoms, num_points * (state_dim + 1))
    key_weight, key_bias = jax.random.split(key_out)
    out_weight = jax.random.uniform(key_weight, (width + state_dim, *shape), minval=-1, maxval=1)
    return ParticleNetwork(
        frequencies=frequencies * frequency,
        weights=weights,
        biases=biases,
        out_weight=out_weight * (_BY_STATE * math.sqrt(3 / width)),
        out_bias=jax.random.normal(key_bias, shape),
        plateaus=plateaus,
    )


def generate_particles(
    network: ParticleNetwork,
    source_state: Float[Array, "d"],
    chosen: Int[Array, "c"] | None = None,
) -> tuple[Float[Array, "m k d"], Float[Array, "m k"]]:
    """The points of all atoms at one source state and logits of their weights, or of the chosen."""
    phases = source_state @ jax.lax.stop_gradient(network.frequencies)
    hidden = jnp.concatenate([source_state, jnp.sin(phases), jnp.cos(phases)])
    for weight, bias in zip(network.weights, network.biases, strict=True):
        hidden = jax.nn.silu(weight @ hidden + bias)
        # The scale of a layer carries nothing: kept at 1, large learning rates are safe.
        hidden = hidden * jax.lax.rsqrt(jnp.mean(hidden**2) + 1e-6)
    # Beside the hidden units the state itself: where futures move with the source, so do points.
    hidden = jnp.concatenate([hidden, source_state])
    weight, bias = network.out_weight, network.out_bias
    if chosen is not None:
        weight, bias = weight[:, chosen], bias[chosen]
    flat = hidden @ weight.reshape(len(hidden), -1) + bias.reshape(-1)
    num_atoms, state_dim = len(bias), len(source_state)
    out = flat.reshape(num_atoms, -1)
    num_points = out.shape[1] // (state_dim + 1)
    points = out[:, num_points:].reshape(num_atoms, num_points, state_dim)
    return network.plateaus(points), out[:, :num_points]
