r"""Risk functionals of weighted atoms, exact for the discrete law.

One convention everywhere: a return is good when it is large, every functional is in units of the
return and prefers larger values, and a level $\alpha$ is the probability mass of a *tail*. The
lower tail holds the worst returns, so `cvar` at $\alpha = 1$ is the mean and tends to the smallest
atom as $\alpha \to 0$.

All functions work on the last axis: `atoms` and `weights` are `[*batch, m]`. Numbers that are at
hand are worked on by NumPy in double precision, at once; inside `jit`, `vmap` and `grad` the same
formulae are traced.
"""

from collections.abc import Callable
from types import ModuleType
from typing import Any, TypeAlias

import jax.numpy as jnp
import numpy as np

from daleth import _checks

Numbers: TypeAlias = Any
"""An array of NumPy or of JAX, or a number."""

# Sums of weights that came as float32 miss their exact value by less than this.
ROUNDING = 1e-6


def backend(*arrays: object) -> ModuleType:
    """NumPy for numbers at hand, JAX for those that are being traced."""
    return jnp if _checks.is_traced(*arrays) else np


def as_doubles(*arrays: object) -> tuple:
    """Arrays in double precision on the host; traced ones as they are."""
    if _checks.is_traced(*arrays):
        return arrays
    return tuple(np.asarray(array, np.float64) for array in arrays)


def as_law(atoms: Numbers, weights: Numbers) -> tuple[Numbers, Numbers]:
    """Atoms and weights in double precision, where weights that came as float32 sum to 1 again."""
    atoms, weights = as_doubles(atoms, weights)
    if _checks.is_traced(atoms, weights):
        return atoms, weights
    return atoms, weights / weights.sum(axis=-1, keepdims=True)


def sort_atoms(atoms: Numbers, weights: Numbers) -> tuple[Numbers, Numbers]:
    """Atoms in ascending order and the cumulative probability up to and including each."""
    atoms, weights = as_law(atoms, weights)
    xp = backend(atoms, weights)
    order = xp.argsort(atoms, axis=-1)
    cumulative = xp.cumsum(xp.take_along_axis(weights, order, axis=-1), axis=-1)
    return xp.take_along_axis(atoms, order, axis=-1), cumulative / cumulative[..., -1:]


def mean(atoms: Numbers, weights: Numbers) -> Numbers:
    r"""$\sum_i p_i g_i$."""
    atoms, weights = as_law(atoms, weights)
    return (weights * atoms).sum(axis=-1)


def variance(atoms: Numbers, weights: Numbers) -> Numbers:
    r"""$\sum_i p_i (g_i - \bar g)^2$."""
    atoms, weights = as_law(atoms, weights)
    return (weights * (atoms - mean(atoms, weights)[..., None]) ** 2).sum(axis=-1)


def cdf(atoms: Numbers, weights: Numbers, values: Numbers, *, strict: bool = False) -> Numbers:
    r"""$P(G \le v)$ for each of the values `[v]`, or $P(G < v)$ if `strict`; `[*batch, v]`."""
    atoms, weights, values = as_doubles(atoms, weights, values)
    xp = backend(atoms, weights, values)
    ordered, cumulative = sort_atoms(atoms, weights)
    padded = xp.concatenate([xp.zeros_like(cumulative[..., :1]), cumulative], axis=-1)
    index = _search(xp, ordered, values, "left" if strict else "right")
    return xp.take_along_axis(padded, index, axis=-1)


def quantile(atoms: Numbers, weights: Numbers, levels: Numbers) -> Numbers:
    r"""The smallest atom $g$ with $P(G \le g) \ge u$, for each of the levels $u$; `[*batch, l]`."""
    atoms, weights, levels = as_doubles(atoms, weights, levels)
    xp = backend(atoms, weights, levels)
    ordered, cumulative = sort_atoms(atoms, weights)
    # Atoms without mass at either end are not in the support, whatever u is.
    reached = xp.where(levels < 1, xp.maximum(levels - ROUNDING, ROUNDING / 10), 1.0)
    index = _search(xp, cumulative, reached, "left")
    return xp.take_along_axis(ordered, xp.minimum(index, atoms.shape[-1] - 1), axis=-1)


def distortion_risk(
    atoms: Numbers, weights: Numbers, distortion: Callable[[Numbers], Numbers]
) -> Numbers:
    r"""$\int F^{-1}(u) \, dh(u)$ for a distortion $h: [0, 1] \to [0, 1]$, increasing and onto.

    On atoms this is $\sum_i g_{(i)} (h(c_i) - h(c_{i-1}))$ with $c$ the cumulative weights. A
    concave $h$ is averse to risk; $h(u) = u$ is the mean.
    """
    ordered, cumulative = sort_atoms(atoms, weights)
    xp = backend(ordered)
    edges = xp.concatenate([xp.zeros_like(cumulative[..., :1]), cumulative], axis=-1)
    return (ordered * xp.diff(xp.asarray(distortion(edges)), axis=-1)).sum(axis=-1)


def spectral_risk(
    atoms: Numbers, weights: Numbers, spectrum: Callable[[Numbers], Numbers]
) -> Numbers:
    r"""$\int_0^1 \phi(u) F^{-1}(u) \, du$ for a spectrum $\phi \ge 0$ with $\int \phi = 1$.

    The integral over each atom's step uses eight Gauss-Legendre nodes: exact for polynomials up
    to degree 15. A spectrum that jumps belongs to `distortion_risk`, as its integral.
    """
    nodes, node_weights = np.polynomial.legendre.leggauss(8)
    ordered, cumulative = sort_atoms(atoms, weights)
    xp = backend(ordered)
    steps = xp.diff(cumulative, axis=-1, prepend=0.0)
    levels = (cumulative - steps)[..., None] + steps[..., None] * ((nodes + 1) / 2)
    tilted = steps * (xp.asarray(spectrum(levels)) * (node_weights / 2)).sum(axis=-1)
    return (tilted * ordered).sum(axis=-1)


def cvar(atoms: Numbers, weights: Numbers, levels: Numbers) -> Numbers:
    r"""Mean of the worst mass, for each of the levels, splitting the atom on the boundary.

    $$ \mathrm{CVaR}_\alpha = \frac{1}{\alpha} \int_0^\alpha F^{-1}(u) \, du $$
    """
    (levels,) = as_doubles(levels)
    ordered, cumulative = sort_atoms(atoms, weights)
    xp = backend(ordered, levels)
    edges = xp.concatenate([xp.zeros_like(cumulative[..., :1]), cumulative], axis=-1)
    # Divided last: under jit a fused multiply-add would leave mass on atoms outside of the tail.
    tails = [xp.diff(xp.minimum(edges, level), axis=-1) for level in levels]
    return xp.stack([(ordered * tail).sum(axis=-1) for tail in tails], axis=-1) / levels


def entropic_risk(atoms: Numbers, weights: Numbers, aversion: Numbers) -> Numbers:
    r"""The certainty equivalent $-\beta^{-1} \log E\, e^{-\beta G}$; its limit, the mean, at 0."""
    (atoms, weights), (aversion,) = as_law(atoms, weights), as_doubles(aversion)
    xp = backend(atoms, weights, aversion)
    safe = xp.where(aversion == 0, 1.0, aversion)
    centre = mean(atoms, weights)
    exponents = -safe * (atoms - centre[..., None])
    held = weights > 0
    peak = xp.max(xp.where(held, exponents, -xp.inf), axis=-1)
    scaled = xp.where(held, weights * xp.exp(xp.minimum(exponents - peak[..., None], 0.0)), 0.0)
    large = peak + xp.log(scaled.sum(axis=-1))
    # For small exponents: e^x - 1 - x by its series, because x has mean 0 and would drown it.
    x = xp.where(held, xp.clip(exponents, -0.5, 0.5), 0.0)
    series = x**2 * (1 / 2 + x * (1 / 6 + x * (1 / 24 + x * (1 / 120 + x * (1 / 720 + x / 5040)))))
    small = xp.log1p((weights * series).sum(axis=-1))
    widest = xp.max(xp.where(held, xp.abs(exponents), 0.0), axis=-1)
    premium = xp.where(widest < 0.5, small, large) / safe
    return xp.where(aversion == 0, centre, centre - premium)


def mean_variance(atoms: Numbers, weights: Numbers, aversion: Numbers) -> Numbers:
    r"""$E\,G - \lambda\, \mathrm{Var}\, G$."""
    return mean(atoms, weights) - aversion * variance(atoms, weights)


def _search(xp: ModuleType, ordered: Numbers, values: Numbers, side: str) -> Numbers:
    """Insertion points of `values` `[v]`, or `[*batch, v]`, into the rows of `ordered`."""
    values = xp.broadcast_to(values, (*ordered.shape[:-1], values.shape[-1]))
    return xp.vectorize(
        lambda row, asked: xp.searchsorted(row, asked, side=side), signature="(m),(v)->(v)"
    )(ordered, values)
