"""Return distributions: an immutable value object that answers every question about risk."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from daleth import _batches, _checks, risk
from daleth._typing import ArrayLike, Count, Real, Tail

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class ReturnDistribution(eqx.Module):
    r"""A discrete law of returns $\sum_i p_i \delta_{g_i}$, or a batch of them.

    Atoms keep the order in which they came, so the same index under two rewards is the same
    future, give or take what evens out the returns of learned atoms. Levels are masses of a tail
    (see `daleth.risk`): `cvar(0.1)` is the mean of the worst tenth, `cvar(0.1, tail="upper")` of
    the best. A level or a value may be one number, giving `[*batch]`, or a vector `[v]`, giving
    `[*batch, v]`.

    Attributes:
        atoms: the returns `g`, `[*batch, m]`.
        weights: their probabilities `p`, `[*batch, m]`; equal ones if not given.

    Example:
        >>> g = ReturnDistribution([-4.0, 0.0, 1.0, 3.0])
        >>> print(g.mean(), g.cvar(0.5), g.prob_below(0.5))
        0.0 -2.0 0.5
    """

    atoms: Float[Array, "*batch m"]
    weights: Float[Array, "*batch m"]

    def __init__(self, atoms: ArrayLike, weights: ArrayLike | None = None):
        self.atoms = _checks.singles("atoms", atoms)
        if self.atoms.ndim == 0:
            raise ValueError("atoms must be a vector [m] or a batch of them, got one number")
        self.weights = _checks.weights("weights", weights, self.atoms.shape)

    @property
    def num_atoms(self) -> int:
        """The number `m` of atoms."""
        return self.atoms.shape[-1]

    @property
    def batch_shape(self) -> tuple[int, ...]:
        """The axes in front of the atoms."""
        return self.atoms.shape[:-1]

    # Moments.

    def mean(self) -> Float[Array, "*batch"]:
        """The expected return."""
        return jnp.asarray(risk.mean(self.atoms, self.weights))

    def variance(self) -> Float[Array, "*batch"]:
        """The variance of the law (no correction for sampling)."""
        return jnp.asarray(risk.variance(self.atoms, self.weights))

    def std(self) -> Float[Array, "*batch"]:
        """The standard deviation."""
        variance = self.variance()
        # The root has no slope at 0: a Dirac gets the gradient 0 and not NaN.
        positive = jnp.where(variance > 0, variance, 1.0)
        return jnp.where(variance > 0, jnp.sqrt(positive), 0.0)

    # Probabilities and quantiles.

    def cdf(self, value: ArrayLike) -> Float[Array, "*shape"]:
        r"""$P(G \le v)$."""
        return self._at_values(value, strict=False)

    def prob_below(self, value: ArrayLike) -> Float[Array, "*shape"]:
        r"""$P(G < v)$."""
        return self._at_values(value, strict=True)

    def prob_above(self, value: ArrayLike) -> Float[Array, "*shape"]:
        r"""$P(G > v)$."""
        return 1 - self._at_values(value, strict=False)

    def quantile(self, level: ArrayLike) -> Float[Array, "*shape"]:
        r"""The smallest atom $g$ with $P(G \le g) \ge u$, for a level $u$ in $[0, 1]$."""
        if not _checks.is_traced(level):
            level = _checks.quantile_levels(level)
        return self._at(level, risk.quantile)

    # Risk.

    def var(self, level: ArrayLike, tail: Tail = "lower") -> Float[Array, "*shape"]:
        """Value at risk: the return at which the tail of mass `level` ends."""
        if not _checks.is_traced(level):
            level = _checks.tail_levels(level)
        return _sign(tail) * self._towards(tail)._at(level, risk.quantile)

    def cvar(self, level: ArrayLike, tail: Tail = "lower") -> Float[Array, "*shape"]:
        """Conditional value at risk: the mean return over the tail of mass `level`."""
        if not _checks.is_traced(level):
            level = _checks.tail_levels(level)
        return _sign(tail) * self._towards(tail)._at(level, risk.cvar)

    def entropic_risk(self, aversion: Real) -> Float[Array, "*batch"]:
        r"""$-\beta^{-1} \log E\, e^{-\beta G}$: averse to risk for $\beta > 0$, the mean at 0."""
        if not _checks.is_traced(aversion):
            aversion = _checks.number("aversion", aversion)
            if abs(aversion) > 1e30:
                raise ValueError(f"aversion must lie within ±1e30, got {aversion:g}")
        return jnp.asarray(risk.entropic_risk(self.atoms, self.weights, aversion))

    def mean_variance(self, aversion: Real) -> Float[Array, "*batch"]:
        r"""$E\,G - \lambda\, \mathrm{Var}\, G$."""
        if not _checks.is_traced(aversion):
            aversion = _checks.number("aversion", aversion)
        return jnp.asarray(risk.mean_variance(self.atoms, self.weights, aversion))

    def distortion_risk(self, distortion: Callable[[Array], Array]) -> Float[Array, "*batch"]:
        r"""$\int F^{-1}(u) \, dh(u)$ for an increasing $h$ with $h(0) = 0$ and $h(1) = 1$.

        Example:
            >>> g = ReturnDistribution([0.0, 1.0, 2.0, 5.0])
            >>> print(g.distortion_risk(lambda u: 1 - (1 - u) ** 2))  # the mean of min(G, G')
            1.0
        """
        grid = _on_levels("distortion", distortion, np.linspace(0, 1, 65))
        if abs(grid[0]) > 1e-4 or abs(grid[-1] - 1) > 1e-4 or np.diff(grid).min() < -1e-4:
            raise ValueError("distortion must increase from h(0) = 0 to h(1) = 1")
        return jnp.asarray(risk.distortion_risk(self.atoms, self.weights, distortion))

    def spectral_risk(self, spectrum: Callable[[Array], Array]) -> Float[Array, "*batch"]:
        r"""$\int \phi(u) F^{-1}(u) \, du$ for a density $\phi$ on $[0, 1]$, by quadrature.

        Exact for polynomials up to degree 15. A density that jumps belongs to `distortion_risk`,
        as its integral.
        """
        grid = _on_levels("spectrum", spectrum, (np.arange(4096) + 0.5) / 4096)
        if grid.min() < 0 or abs(grid.mean() - 1) > 1e-2:
            raise ValueError("spectrum must be non-negative and integrate to 1 over [0, 1]")
        return jnp.asarray(risk.spectral_risk(self.atoms, self.weights, spectrum))

    def dominates(self, other: "ReturnDistribution", order: Count = 1) -> Bool[Array, "*batch"]:
        r"""Weak stochastic dominance over `other`, so every law dominates itself.

        First order: $F(v) \le F_{other}(v)$ for all $v$, preferred by everyone who likes more.
        Second order: $\int_{-\infty}^v F \le \int_{-\infty}^v F_{other}$ for all $v$, preferred by
        everyone who is also averse to risk. Probabilities that differ by less than 1e-7, the
        rounding of weights, count as equal. Not for use inside `jit`.
        """
        if order not in (1, 2):
            raise ValueError(f"order must be 1 or 2, got {order!r}")
        if not isinstance(other, ReturnDistribution):
            raise ValueError(f"other must be a ReturnDistribution, got {other!r}")
        check = np.vectorize(_dominates, excluded=(4,), signature="(m),(m),(n),(n)->()")
        laws = risk.as_doubles(self.atoms, self.weights, other.atoms, other.weights)
        return jnp.asarray(check(*laws, order))

    # Other forms.

    def sample(self, key: PRNGKeyArray, num_samples: Count) -> Float[Array, "*batch n"]:
        """Independent draws, `[*batch, num_samples]`."""
        num_samples = _checks.count("num_samples", num_samples)
        uniform = jax.random.uniform(key, (*self.batch_shape, num_samples), minval=1e-7)
        return jnp.asarray(risk.quantile(self.atoms, self.weights, uniform))

    def mid_quantiles(self, num_atoms: Count) -> "ReturnDistribution":
        r"""The best `num_atoms` equal atoms, the quantiles at $(2i - 1) / 2m$.

        No other set of `m` equal atoms is closer to this law in W1 or in Cramér distance.
        """
        num_atoms = _checks.count("num_atoms", num_atoms)
        return ReturnDistribution(self.quantile((jnp.arange(num_atoms) + 0.5) / num_atoms))

    def dirac_at_mean(self) -> "ReturnDistribution":
        """All mass on the mean: what is left when only expected returns are known."""
        return ReturnDistribution(self.mean()[..., None])

    def to_dict(self) -> dict[str, Any]:
        """Plain lists for JSON; `ReturnDistribution(**d)` is the way back."""
        return {"atoms": self.atoms.tolist(), "weights": self.weights.tolist()}

    def plot(self, ax: "Axes | None" = None, **style: Any) -> "Axes":
        """Draws the law, with its mean and its lower 0.1-CVaR; see `daleth.plots`."""
        from daleth import plots

        return plots.return_distribution(self, ax=ax, **style)

    def __getitem__(self, index: Any) -> "ReturnDistribution":
        """Picks along the batch axes."""
        return _batches.pick(self, self.batch_shape, index)

    def __iter__(self) -> Iterator["ReturnDistribution"]:
        """One law after another along the first batch axis."""
        return _batches.iterate(self, self.batch_shape)

    def __repr__(self) -> str:
        if not isinstance(self.atoms, jax.Array) or _checks.is_traced(self.atoms):
            return "ReturnDistribution(abstract)"
        if self.batch_shape:
            return f"ReturnDistribution(batch={self.batch_shape}, {self.num_atoms} atoms)"
        return (
            f"ReturnDistribution(mean={self.mean():.4g}, std={self.std():.4g}, "
            f"cvar(0.1)={self.cvar(0.1):.4g}, range=[{self.quantile(0):.4g}, "
            f"{self.quantile(1):.4g}], {self.num_atoms} atoms)"
        )

    def _at_values(self, value: ArrayLike, *, strict: bool) -> Array:
        if not _checks.is_traced(value):
            # In the precision of atoms, so that a value is equal to the atom made from it.
            with np.errstate(over="ignore"):
                value = _checks.finite("value", value).astype(self.atoms.dtype)
        return self._at(value, partial(risk.cdf, strict=strict))

    def _at(self, points: Any, function: Callable[..., Any]) -> Array:
        """A function of levels or values `[v]`, for one number or an array of them."""
        shape = np.shape(points)
        flat = jnp.ravel(points) if _checks.is_traced(points) else np.ravel(np.asarray(points))
        found = function(self.atoms, self.weights, flat)
        return jnp.asarray(found).reshape(self.batch_shape + shape)

    def _towards(self, tail: Tail) -> "ReturnDistribution":
        """Mirrors the law for the upper tail, so that every tail is a lower one."""
        _checks.one_of("tail", tail, ["lower", "upper"])
        return self if tail == "lower" else eqx.tree_at(lambda g: g.atoms, self, -self.atoms)


def _on_levels(name: str, function: Callable[[Any], Any], levels: np.ndarray) -> np.ndarray:
    """A function of levels as plain numbers, also inside `jit`."""
    with jax.ensure_compile_time_eval():
        values = np.asarray(function(levels))
    if values.shape != levels.shape:
        raise ValueError(f"{name} must give one number per level, got shape {values.shape}")
    return _checks.finite(name, values)


def _sign(tail: Tail) -> int:
    return 1 if tail == "lower" else -1


def _dominates(atoms, weights, other_atoms, other_weights, order: int) -> bool:
    knots = np.sort(np.concatenate([atoms, other_atoms]))
    excess = risk.cdf(atoms, weights, knots) - risk.cdf(other_atoms, other_weights, knots)
    excess = np.where(np.abs(excess) < 1e-7, 0.0, excess)
    if order == 1:
        return bool((excess <= 0).all())
    # Between knots both CDFs are constant, so their integrals are exact sums but for the rounding
    # of atoms.
    integrals = np.cumsum(excess[:-1] * np.diff(knots))
    return bool((integrals <= np.finfo(np.float32).eps * np.abs(knots).max()).all())
