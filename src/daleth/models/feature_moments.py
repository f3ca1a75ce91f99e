"""Features of states, the moments of their occupancy, and rewards in their span."""

import itertools
import warnings

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

_RIDGE = 1e-4  # beside features whose squares are about 1
_POOR_FIT = 0.1


class FourierFeatures(eqx.Module):
    r"""Features $\phi(z) = (z, \cos \Omega z, \sin \Omega z)$ of a normalised state.

    The constant is a feature too, but needs no place here: its occupancy is always 1.
    """

    frequencies: Float[Array, "f d"]

    def __init__(self, key: PRNGKeyArray, state_dim: int, num_frequencies: int, scale: float):
        # A squared distance grows with the dimension; this keeps angles of the same size.
        per_component = scale / jnp.sqrt(state_dim)
        self.frequencies = per_component * jax.random.normal(key, (num_frequencies, state_dim))

    def __call__(self, state: Float[Array, "d"]) -> Float[Array, "p"]:
        """The features of one state."""
        angles = self.frequencies @ state
        return jnp.concatenate([state, jnp.cos(angles), jnp.sin(angles)])


class MomentNetwork(eqx.Module):
    """Maps features to the moments of the occupancy of what comes after the source state.

    Heads read the features beside the last hidden layer; without hidden layers they are linear.
    """

    hidden: tuple[eqx.nn.Linear, ...]
    mean: eqx.nn.Linear
    covariance: eqx.nn.Linear

    def __init__(self, key: PRNGKeyArray, num_features: int, width: int, depth: int):
        key_head, *keys = jax.random.split(key, depth + 1)
        sizes = itertools.pairwise([num_features, *[width] * depth])
        self.hidden = tuple(
            eqx.nn.Linear(*size, key=key_layer) for size, key_layer in zip(sizes, keys, strict=True)
        )
        inputs = num_features + (width if depth else 0)
        num_pairs = num_features * (num_features + 1) // 2
        # From zero a small covariance is found sooner than from random heads.
        self.mean, self.covariance = (
            jax.tree.map(jnp.zeros_like, eqx.nn.Linear(inputs, outputs, key=key_head))
            for outputs in (num_features, num_pairs)
        )

    def __call__(self, features: Float[Array, "p"]) -> tuple[Float[Array, "p"], Float[Array, "q"]]:
        """Mean, and the lower triangle of the covariance row by row."""
        values = features
        for layer in self.hidden:
            values = jax.nn.silu(layer(values))
        inputs = jnp.concatenate([features, values]) if self.hidden else features
        return self.mean(inputs), self.covariance(inputs)


def occupancy_moments(
    network: MomentNetwork, features: Float[Array, "p"], gamma: float
) -> tuple[Float[Array, "p"], Float[Array, "q"]]:
    r"""Mean $(1-\gamma)\phi(x) + \gamma \mu$ and covariance $\gamma^2 \Sigma$ (lower triangle)."""
    mean, covariance = network(features)
    return (1 - gamma) * features + gamma * mean, gamma**2 * covariance


def symmetric(triangle: Float[Array, "q"], size: int) -> Float[Array, "p p"]:
    """The symmetric matrix of which this is the lower triangle, row by row."""
    rows, columns = jnp.tril_indices(size)
    lower = jnp.zeros((size, size)).at[rows, columns].set(triangle)
    return jnp.tril(lower) + jnp.tril(lower, -1).T


def fit_reward(
    features: Float[np.ndarray, "a p"], values: Float[np.ndarray, "a"]
) -> tuple[float, Float[np.ndarray, "p"]]:
    r"""The coefficients $b$ and $c$ of $r \approx b + c \cdot \phi$, by ridge regression.

    Warns when the errors on states left out one at a time exceed a tenth of the deviation of the
    reward.

    Args:
        features: of some states, `[a, p]`.
        values: the rewards of these states, `[a]`.

    Example:
        >>> bias, coefficients = fit_reward(np.array([[-1.0], [0.0], [1.0]]), np.array([1, 3, 5.0]))
        >>> print(round(bias, 3), coefficients.round(3))
        3.0 [2.]
    """
    centre, mean = features.mean(axis=0), values.mean()
    centred, wanted = features - centre, values - mean
    gram = centred.T @ centred / len(values) + _RIDGE * np.eye(len(centre))
    to_coefficients = np.linalg.solve(gram, centred.T) / len(values)
    coefficients = to_coefficients @ wanted
    # Leaving a state out of ridge regression has a closed form, with its leverage.
    leverage = 1 / len(values) + np.sum(centred * to_coefficients.T, axis=-1)
    left_out = (wanted - centred @ coefficients) / (1 - leverage)
    deviation, error = (np.sqrt(np.mean(each**2)) for each in (wanted, left_out))
    if error > max(_POOR_FIT * deviation, 1e-6 * abs(mean)):
        warnings.warn(
            f"the features miss {error / deviation:.0%} of the reward, so its returns are rough: "
            "learn more frequencies, or use a model that needs no features",
            stacklevel=2,
        )
    return float(mean - centre @ coefficients), coefficients


def herd(
    features: Float[Array, "a p"], occupancy: Float[Array, "p"], num_points: int
) -> Int[Array, "k"]:
    """Rows of `features` whose mean comes near `occupancy`, each chosen given the earlier ones.

    Kernel herding (Chen, Welling and Smola, 2010): equal weights, so a probability measure.

    Example:
        >>> herd(jnp.array([[0.0], [1.0]]), jnp.array([0.75]), num_points=4).tolist()
        [1, 0, 1, 1]
    """
    squares = jnp.sum(features**2, axis=-1)

    def choose(missing, _):
        missing = missing + occupancy
        best = jnp.argmin(squares - 2 * features @ missing)
        return missing - features[best], best

    _, chosen = jax.lax.scan(choose, jnp.zeros_like(occupancy), length=num_points)
    return chosen
