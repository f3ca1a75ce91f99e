"""Noise-fed generators; a leading atom axis makes one PyTree stand for `m` of them."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from daleth import _checks
from daleth._typing import Count
from daleth.networks.layers import apply_linear, linear_layers


class Generator(eqx.Module):
    r"""One noise-fed atom: an MLP that pushes noise forward to a state measure $\theta(x)$.

    $$ \theta(x) = \mathrm{law}(\Phi(\omega; x)), \quad \omega \sim N(0, I) $$

    `depth` hidden layers of `width` units with ReLU, as in the table of appendix D.

    Attributes:
        weights: one matrix `[out, in]` a layer; the first reads state and noise side by side.
        biases: one vector `[out]` a layer.

    Example:
        >>> generator = Generator(jax.random.key(0), state_dim=2)
        >>> generator(jnp.zeros(2), jnp.ones(8)).shape
        (2,)
    """

    weights: tuple[Float[Array, "..."], ...]
    biases: tuple[Float[Array, "..."], ...]

    def __init__(
        self,
        key: PRNGKeyArray,
        state_dim: Count,
        noise_dim: Count = 8,
        width: Count = 256,
        depth: Count = 3,
    ):
        state_dim = _checks.count("state_dim", state_dim)
        noise_dim = _checks.count("noise_dim", noise_dim)
        hidden = [_checks.count("width", width)] * _checks.count("depth", depth)
        self.weights, self.biases = linear_layers(key, [state_dim + noise_dim, *hidden, state_dim])

    def __call__(
        self, source_state: Float[Array, "d"], noise: Float[Array, "z"]
    ) -> Float[Array, "d"]:
        """The state that one noise vector stands for."""
        hidden = jnp.concatenate([source_state, noise])
        for weight, bias in zip(self.weights[:-1], self.biases[:-1], strict=True):
            hidden = jax.nn.relu(weight @ hidden + bias)
        return self.weights[-1] @ hidden + self.biases[-1]


def make_generators(
    key: PRNGKeyArray,
    num_atoms: Count,
    state_dim: Count,
    noise_dim: Count = 8,
    width: Count = 256,
    depth: Count = 3,
) -> Generator:
    """`num_atoms` independent generators as one PyTree with a leading atom axis.

    Example:
        >>> make_generators(jax.random.key(0), num_atoms=4, state_dim=2).biases[-1].shape
        (4, 2)
    """
    keys = jax.random.split(key, _checks.count("num_atoms", num_atoms))
    return jax.vmap(lambda k: Generator(k, state_dim, noise_dim, width, depth))(keys)


def generate(
    generators: Generator, source_state: Float[Array, "d"], noise: Float[Array, "m s z"]
) -> Float[Array, "m s d"]:
    """State samples of all atoms at one source state: `generator_i(source_state, noise[i, j])`.

    Matrix products batched over the atoms; the source state enters the first layer once.

    Example:
        >>> generators = make_generators(jax.random.key(0), num_atoms=4, state_dim=2)
        >>> generate(generators, jnp.zeros(2), jnp.ones((4, 16, 8))).shape
        (4, 16, 2)
    """
    (first, *rest), (bias, *biases) = generators.weights, generators.biases
    state_dim = source_state.shape[-1]
    constant = first[..., :state_dim] @ source_state + bias
    hidden = apply_linear(first[..., state_dim:], constant, noise)
    for weight, bias in zip(rest, biases, strict=True):
        hidden = apply_linear(weight, bias, jax.nn.relu(hidden))
    return hidden
