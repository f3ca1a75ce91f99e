"""State kernels and model kernels: functions of one squared distance; all pairs exist once."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

ALPHAS = (0.2, 0.5, 1.0, 2.0, 5.0)
"""The mixture of the paper's state kernel."""


def rational_quadratic(
    squared_distance: Float[Array, "*shape"], alphas: tuple[float, ...] = ALPHAS
) -> Float[Array, "*shape"]:
    r"""A sum of rational quadratic kernels, the paper's state kernel, elementwise.

    $$ \kappa(z) = \sum_\alpha \left(1 + \frac{z}{2\alpha}\right)^{-\alpha} $$

    Table of hyperparameters in appendix D. It is a sum, not a mean: $\kappa(0)$ is the number of
    `alphas`. Smooth at 0, so that its gradient is safe where two points meet.

    Args:
        squared_distance: $z = \lVert x - y \rVert^2 \ge 0$, any shape.
        alphas: the exponents, all positive.

    Example:
        >>> rational_quadratic(jnp.array([0.0, 4.0]), alphas=(2.0,)).tolist()
        [1.0, 0.25]
    """
    terms = (_negative_power(1 + squared_distance / (2 * alpha), alpha) for alpha in alphas)
    return sum(terms, start=jnp.zeros_like(squared_distance))


def inverse_multiquadric(
    squared_distance: Float[Array, "*shape"], squared_bandwidth: Float[Array, ""]
) -> Float[Array, "*shape"]:
    r"""The paper's model kernel $\rho(d / \sigma) = (1 + d^2 / \sigma^2)^{-1/2}$, elementwise.

    Section 4, model kernel.

    Args:
        squared_distance: $d^2 \ge 0$, any shape.
        squared_bandwidth: $\sigma^2 > 0$.

    Example:
        >>> inverse_multiquadric(jnp.array(6.0), jnp.array(2.0)).item()
        0.5
    """
    return jax.lax.rsqrt(1 + squared_distance / squared_bandwidth)


def squared_distances(xs: Float[Array, "n d"], ys: Float[Array, "k d"]) -> Float[Array, "n k"]:
    r"""All $\lVert x_i - y_j \rVert^2$, without an array of shape `[n, k, d]`.

    One matrix product: $\lVert x \rVert^2 + \lVert y \rVert^2 - 2 \langle x, y \rangle$, after the
    mean of `ys` is taken off both sides, because far from the origin the difference of large
    squares would lose its digits. What rounding leaves below 0 is clipped; the gradient there,
    $2 (x - y)$, is itself nearly 0.

    Example:
        >>> squared_distances(jnp.array([[0.0, 0.0]]), jnp.array([[3.0, 4.0], [0.0, 0.0]])).tolist()
        [[25.0, 0.0]]
    """
    centre = jax.lax.stop_gradient(ys.mean(axis=0))
    xs, ys = xs - centre, ys - centre
    squares = jnp.sum(xs**2, axis=-1)[:, None] + jnp.sum(ys**2, axis=-1)
    return jnp.maximum(squares - 2 * (xs @ ys.T), 0)


def _negative_power(base: Array, alpha: float) -> Array:
    # A general power costs an order of magnitude more than what these cases need.
    if alpha == 0.5:
        return jax.lax.rsqrt(base)
    if float(alpha).is_integer():
        return jax.lax.integer_pow(1 / base, int(alpha))
    return jnp.exp(-alpha * jnp.log(base))
