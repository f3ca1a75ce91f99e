r"""Risk functionals of weighted atoms, exact for the discrete law.

One convention everywhere: a return is good when it is large, every functional is in units of the
return and prefers larger values, and a level $\alpha$ is the probability mass of a *tail*. The
lower tail holds the worst returns, so `cvar` at $\alpha = 1$ is the mean and tends to the smallest
atom as $\alpha \to 0$.

All functions work on the last axis: `atoms` and `weights` are `[*batch, m]`. Those that take no
function are compiled: one compilation costs less than its operations one by one.
"""

from collections.abc import Callable
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from jaxtyping import ArrayLike as Scalars

# Sums of many float32 weights miss their exact value by about this much.
ROUNDING = 1e-6


@jax.jit
def sort_atoms(
    atoms: Float[Array, "*batch m"], weights: Float[Array, "*batch m"]
) -> tuple[Float[Array, "*batch m"], Float[Array, "*batch m"]]:
    """Atoms in ascending order and the cumulative probability up to and including each."""
    order = jnp.argsort(atoms, axis=-1)
    cumulative = jnp.cumsum(jnp.take_along_axis(weights, order, axis=-1), axis=-1)
    return jnp.take_along_axis(atoms, order, axis=-1), cumulative / cumulative[..., -1:]


@jax.jit
def mean(
    atoms: Float[Array, "*batch m"], weights: Float[Array, "*batch m"]
) -> Float[Array, "*batch"]:
    r"""$\sum_i p_i g_i$."""
    return jnp.sum(weights * atoms, axis=-1)


@jax.jit
def variance(
    atoms: Float[Array, "*batch m"], weights: Float[Array, "*batch m"]
) -> Float[Array, "*batch"]:
    r"""$\sum_i p_i (g_i - \bar g)^2$."""
    centred = atoms - mean(atoms, weights)[..., None]
    return jnp.sum(weights * centred**2, axis=-1)


@partial(jax.jit, static_argnames="strict")
def cdf(
    atoms: Float[Array, "*batch m"],
    weights: Float[Array, "*batch m"],
    values: Float[Array, "v"],
    *,
    strict: bool = False,
) -> Float[Array, "*batch v"]:
    r"""$P(G \le v)$ for each value, or $P(G < v)$ if `strict`."""
    ordered, cumulative = sort_atoms(atoms, weights)
    padded = jnp.concatenate([jnp.zeros_like(cumulative[..., :1]), cumulative], axis=-1)
    index = _search(ordered, values, "left" if strict else "right")
    return jnp.take_along_axis(padded, index, axis=-1)


@jax.jit
def quantile(
    atoms: Float[Array, "*batch m"], weights: Float[Array, "*batch m"], levels: Float[Array, "l"]
) -> Float[Array, "*batch l"]:
    r"""The smallest atom $g$ with $P(G \le g) \ge u$, for each level $u$ in $[0, 1]$."""
    ordered, cumulative = sort_atoms(atoms, weights)
    # Atoms without mass in front of the distribution are not in its support, whatever u is.
    index = _search(cumulative, jnp.maximum(levels - ROUNDING, ROUNDING / 10), "left")
    return jnp.take_along_axis(ordered, jnp.minimum(index, atoms.shape[-1] - 1), axis=-1)


def distortion_risk(
    atoms: Float[Array, "*batch m"],
    weights: Float[Array, "*batch m"],
    distortion: Callable[[Array], Array],
) -> Float[Array, "*batch"]:
    r"""$\int F^{-1}(u) \, dh(u)$ for a distortion $h: [0, 1] \to [0, 1]$, increasing and onto.

    On atoms this is $\sum_i g_{(i)} (h(c_i) - h(c_{i-1}))$ with $c$ the cumulative weights. A
    concave $h$ is averse to risk; $h(u) = u$ is the mean.
    """
    ordered, cumulative = sort_atoms(atoms, weights)
    edges = jnp.concatenate([jnp.zeros_like(cumulative[..., :1]), cumulative], axis=-1)
    return jnp.sum(ordered * jnp.diff(distortion(edges), axis=-1), axis=-1)


def spectral_risk(
    atoms: Float[Array, "*batch m"],
    weights: Float[Array, "*batch m"],
    spectrum: Callable[[Array], Array],
) -> Float[Array, "*batch"]:
    r"""$\int_0^1 \phi(u) F^{-1}(u) \, du$ for a spectrum $\phi \ge 0$ with $\int \phi = 1$.

    The integral over each atom's step uses eight Gauss-Legendre nodes: exact for polynomials up
    to degree 15. A spectrum that jumps is better given to `distortion_risk` as its integral.
    """
    nodes, node_weights = np.polynomial.legendre.leggauss(8)
    nodes, node_weights = jnp.asarray((nodes + 1) / 2), jnp.asarray(node_weights / 2)
    ordered, cumulative = sort_atoms(atoms, weights)
    steps = jnp.diff(cumulative, axis=-1, prepend=0.0)
    levels = (cumulative - steps)[..., None] + steps[..., None] * nodes
    tilted = steps * jnp.sum(node_weights * spectrum(levels), axis=-1)
    return jnp.sum(tilted * ordered, axis=-1)


@jax.jit
def cvar(
    atoms: Float[Array, "*batch m"], weights: Float[Array, "*batch m"], levels: Float[Array, "l"]
) -> Float[Array, "*batch l"]:
    r"""Mean of the worst mass, for each level, splitting the atom on the boundary.

    $$ \mathrm{CVaR}_\alpha = \frac{1}{\alpha} \int_0^\alpha F^{-1}(u) \, du $$
    """

    def up_to(level):
        return distortion_risk(atoms, weights, lambda u: jnp.minimum(u, level)) / level

    return jax.vmap(up_to, out_axes=-1)(levels)


@jax.jit
def entropic_risk(
    atoms: Float[Array, "*batch m"], weights: Float[Array, "*batch m"], aversion: Scalars
) -> Float[Array, "*batch"]:
    r"""The certainty equivalent $-\beta^{-1} \log E\, e^{-\beta G}$; its limit, the mean, at 0."""
    safe = jnp.where(aversion == 0, 1.0, aversion)
    centre = mean(atoms, weights)
    exponents = -safe * (atoms - centre[..., None])
    peak = jnp.max(jnp.where(weights > 0, exponents, -jnp.inf), axis=-1)
    scaled = jnp.where(weights > 0, weights * jnp.exp(exponents - peak[..., None]), 0.0)
    premium = (peak + jnp.log(jnp.sum(scaled, axis=-1))) / safe
    return jnp.where(aversion == 0, centre, centre - premium)


@jax.jit
def mean_variance(
    atoms: Float[Array, "*batch m"], weights: Float[Array, "*batch m"], aversion: Scalars
) -> Float[Array, "*batch"]:
    r"""$E\,G - \lambda\, \mathrm{Var}\, G$."""
    return mean(atoms, weights) - aversion * variance(atoms, weights)


def _search(ordered: Array, values: Array, side: str) -> Array:
    """Insertion points of `values` `[v]` into each row of `ordered` `[*batch, m]`."""
    return jnp.vectorize(
        lambda row: jnp.searchsorted(row, values, side=side), signature="(m)->(v)"
    )(ordered)
