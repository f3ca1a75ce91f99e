"""Invertible state features: residual networks whose branches contract."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from daleth import _checks
from daleth._typing import Count, Real
from daleth.networks.layers import apply_linear, linear_layers

_TINY = 1e-30


class InvertibleFeatures(eqx.Module):
    r"""Raw weights of an injective map $f: \mathbb{R}^d \to \mathbb{R}^q$, before `normalise`.

    The state is padded with zeros to `num_features`, then goes through residual blocks

    $$ x \mapsto x + g(x), \quad \mathrm{Lip}(g) \le c < 1, $$

    where $g$ is a ReLU network of `num_layers` linear maps with `width` units between them. A
    composition of an injection with a characteristic kernel is characteristic (section 5.2), so
    an adversary may train these weights. It has no call of its own: both sides of a loss must see
    the same normalisation, so it is normalised once for both.

    Attributes:
        weights: for each block, one matrix `[out, in]` a layer.
        biases: for each block, one vector `[out]` a layer.
        lipschitz: the bound $c$.
    """

    weights: tuple[tuple[Float[Array, "..."], ...], ...]
    biases: tuple[tuple[Float[Array, "..."], ...], ...]
    lipschitz: float = eqx.field(static=True)

    def __init__(
        self,
        key: PRNGKeyArray,
        state_dim: Count,
        num_features: Count = 8,
        width: Count = 256,
        num_blocks: Count = 2,
        num_layers: Count = 2,
        lipschitz: Real = 0.9,
    ):
        state_dim = _checks.count("state_dim", state_dim)
        num_features = _checks.count("num_features", num_features)
        if num_features < state_dim:
            raise ValueError(
                f"num_features must be at least the state dimension {state_dim} "
                f"for an injective map, got {num_features}"
            )
        self.lipschitz = _checks.fraction("lipschitz", lipschitz)
        inner = [_checks.count("width", width)] * (_checks.count("num_layers", num_layers) - 1)
        sizes = [num_features, *inner, num_features]
        keys = jax.random.split(key, _checks.count("num_blocks", num_blocks))
        blocks = [linear_layers(k, sizes) for k in keys]
        self.weights = tuple(weights for weights, _ in blocks)
        self.biases = tuple(biases for _, biases in blocks)


class NormalisedFeatures(eqx.Module):
    """An injective map of states to features, with $(1-c)^B |x-y| <= |f(x)-f(y)|$ for `B` blocks.

    Attributes:
        weights: for each block, matrices whose norms multiply to at most $c$.
        biases: for each block, one vector a layer.
    """

    weights: tuple[tuple[Float[Array, "..."], ...], ...]
    biases: tuple[tuple[Float[Array, "..."], ...], ...]

    def __call__(self, states: Float[Array, "*m s d"]) -> Float[Array, "*m s q"]:
        """The features of states."""
        num_features = self.biases[0][-1].shape[-1]
        padding = [(0, 0)] * (states.ndim - 1) + [(0, num_features - states.shape[-1])]
        features = jnp.pad(states, padding)
        for weights, biases in zip(self.weights, self.biases, strict=True):
            features = features + _branch(weights, biases, features)
        return features

    def inverse(
        self, features: Float[Array, "*m s q"], num_iterations: int = 200
    ) -> Float[Array, "*m s q"]:
        """The zero-padded states, by the fixed-point iteration `x <- y - g(x)` in each block.

        The error shrinks at least by the factor `c` in an iteration.
        """
        for weights, biases in zip(reversed(self.weights), reversed(self.biases), strict=True):
            target = features

            def iterate(_, x, weights=weights, biases=biases, target=target):
                return target - _branch(weights, biases, x)

            features = jax.lax.fori_loop(0, num_iterations, iterate, target)
        return features


def normalise(features: InvertibleFeatures) -> NormalisedFeatures:
    r"""Scales every linear map so that each branch has Lipschitz constant at most $c$.

    $$ W \mapsto W \min(1, c^{1/L} / \lVert W \rVert_2) $$

    with `L` layers a branch, so that the norms of a branch multiply to at most $c$. The norm is
    exact, from a high power of the small Gram matrix (8 x 8 for the paper's sizes, which costs
    microseconds), where one step of power iteration only bounds it from below and leaves $f$
    possibly not injective. There are thus no buffers, and the gradient goes through the norm.

    Call it once a loss.

    Example:
        >>> features = normalise(InvertibleFeatures(jax.random.key(0), state_dim=2))
        >>> features(jnp.ones((16, 2))).shape
        (16, 8)
    """
    scaled = []
    for weights in features.weights:
        bound = features.lipschitz ** (1 / len(weights))
        scaled.append(tuple(w * jnp.minimum(1, bound / spectral_norm(w)) for w in weights))
    return NormalisedFeatures(tuple(scaled), features.biases)


def spectral_norm(weight: Float[Array, "out in"]) -> Float[Array, ""]:
    """The largest singular value."""
    rows, columns = weight.shape
    gram = weight @ weight.T if rows <= columns else weight.T @ weight

    def square(_: Array, power: Array) -> Array:
        power = power @ power
        return power / (jnp.trace(power) + _TINY)

    # The 2^20th power is the projection on the largest eigenvalue, all but equal ones included.
    # XLA's eigvalsh of a batch of a hundred and more can wait for itself forever on a CPU.
    start = jax.lax.stop_gradient(gram)
    projection = jax.lax.fori_loop(0, 20, square, start / (jnp.trace(start) + _TINY))
    return jnp.sqrt(jnp.sum(gram * projection) + _TINY)


def _branch(weights: tuple[Array, ...], biases: tuple[Array, ...], hidden: Array) -> Array:
    for weight, bias in zip(weights[:-1], biases[:-1], strict=True):
        hidden = jax.nn.relu(apply_linear(weight, bias, hidden))
    return apply_linear(weights[-1], biases[-1], hidden)
