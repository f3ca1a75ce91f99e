"""The exact law of the return of a reward vector, by inversion of its characteristic function."""

import math
from typing import Any, TypeAlias

import equinox as eqx
import numpy as np
from jaxtyping import Float64

from daleth import _checks
from daleth._typing import ArrayLike
from daleth.returns import ReturnDistribution
from daleth.tabular._inputs import reward_vector, state_index
from daleth.tabular.chain import MarkovChain
from daleth.tabular.characteristic import characteristic_function
from daleth.tabular.moments import expected_returns, return_bounds, return_variances

_DEFAULT_FINENESS = 2048
_LARGEST_FINENESS = 65536
_SPLINE_ORDER = 16  # near the order that needs fewest frequencies
_TAIL_ERROR = 1e-10

Floats: TypeAlias = np.ndarray | np.floating


class ReturnLaw(eqx.Module):
    r"""The law of $G = \sum_t \gamma^t r(X_t)$ up to a stated resolution $h$ and error $\epsilon$.

    The distribution function is that of $G$ plus an independent noise within $\pm h$, so for the
    true $F$, be it smooth, discrete or singular,

    $$ F(v - h) - \epsilon \le \mathrm{cdf}(v) \le F(v + h) + \epsilon $$

    So quantiles and CVaR are off by at most $h$, apart from a change $\epsilon$ of the level. Mean
    and variance are exact.

    Attributes:
        knots: returns in ascending order, `[k]`.
        levels: the distribution function at the knots, `[k]`, linear in between.
        lower: the smallest possible return.
        upper: the largest possible return.
        resolution: $h$, in units of the return; for a certain one that of rounding.
        error: $\epsilon$.
        exact_mean: from a linear solve.
        exact_variance: from a linear solve.
    """

    knots: Float64[np.ndarray, "k"]
    levels: Float64[np.ndarray, "k"]
    lower: float
    upper: float
    resolution: float
    error: float
    exact_mean: float
    exact_variance: float

    def mean(self) -> float:
        """The expected return, exactly."""
        return self.exact_mean

    def variance(self) -> float:
        """The variance of the return, exactly."""
        return self.exact_variance

    def cdf(self, value: ArrayLike) -> Floats:
        r"""$P(G \le v)$ at the stated resolution, for a number or an array."""
        return np.interp(_checks.finite("value", value), self.knots, self.levels)

    def cdf_bounds(self, value: ArrayLike) -> tuple[Floats, Floats]:
        r"""Two numbers between which $P(G \le v)$ lies for certain."""
        values = np.asarray(_checks.finite("value", value), dtype=np.float64)
        below = self.cdf(values - self.resolution) - self.error
        above = self.cdf(values + self.resolution) + self.error
        return np.maximum(below, 0), np.minimum(above, 1)

    def quantile(self, level: ArrayLike) -> Floats:
        r"""The smallest return $g$ with $P(G \le g) \ge u$, for a level $u$ in $[0, 1]$."""
        level = np.asarray(_checks.quantile_levels(level), dtype=np.float64)
        return np.clip(self._knot_quantile(level - self.error)[0], self.lower, self.upper)

    def cvar(self, level: ArrayLike) -> Floats:
        r"""The mean over the lower tail of mass `level`, $\alpha^{-1} \int_0^\alpha F^{-1}$."""
        level = np.asarray(_checks.tail_levels(level), dtype=np.float64)
        masses, middles = np.diff(self.levels), (self.knots[1:] + self.knots[:-1]) / 2
        before = np.concatenate([[0.0], np.cumsum(masses * middles)])
        end, left = self._knot_quantile(level)
        rest = (level - self.levels[left]) * (self.knots[left] + end) / 2
        return np.clip((before[left] + rest) / level, self.lower, self.upper)

    def to_distribution(self, num_atoms: int) -> ReturnDistribution:
        r"""Equal atoms at the quantiles $(2i - 1) / 2m$, the closest in W1."""
        num_atoms = _checks.count("num_atoms", num_atoms)
        return ReturnDistribution(self.quantile((np.arange(num_atoms) + 0.5) / num_atoms))

    def _knot_quantile(self, level: Floats) -> tuple[Floats, Any]:
        """Where the distribution function reaches `level`, and the knot at or before it."""
        right = np.clip(np.searchsorted(self.levels, level), 1, len(self.knots) - 1)
        left = right - 1
        rise = self.levels[right] - self.levels[left]
        share = (level - self.levels[left]) / np.where(rise > 0, rise, 1)
        width = self.knots[right] - self.knots[left]
        return self.knots[left] + np.clip(share, 0, 1) * width, left


def return_law(
    chain: MarkovChain, reward: ArrayLike, source_state: object, resolution: float | None = None
) -> ReturnLaw:
    r"""The exact law of the return from one state.

    Returns lie in a known interval, so the smoothed law has a Fourier series with known
    coefficients (see `daleth.tabular.characteristic`). The noise is a B-spline: a sum of 16
    uniforms, with support $\pm h$ and characteristic function $\mathrm{sinc}^{16}$, which makes
    the series short and its remainder computable.

    Args:
        chain: the chain.
        reward: one number per state, `[n]`.
        source_state: the index of a state.
        resolution: $h$ in units of the return; by default 1/2048 of the largest range of returns.

    Example:
        >>> chain = MarkovChain([[0.5, 0.5], [0.5, 0.5]], gamma=0.5)
        >>> law = return_law(chain, [0.0, 1.0], 0)  # uniform on [0, 1]
        >>> print(f"{law.mean():.6f} {law.cdf(0.25):.6f} {law.cvar(0.1):.6f}")
        0.500000 0.250000 0.050000
    """
    state = state_index("source_state", source_state, chain.num_states)
    return _laws(chain, reward, [state], resolution)[0]


def return_laws(
    chain: MarkovChain, reward: ArrayLike, resolution: float | None = None
) -> tuple[ReturnLaw, ...]:
    """The exact laws of the return from every state, for hardly more than the cost of one."""
    return _laws(chain, reward, range(chain.num_states), resolution)


def _laws(chain, reward, states, resolution) -> tuple[ReturnLaw, ...]:
    reward = reward_vector(reward, chain.num_states)
    means, variances = expected_returns(chain, reward), return_variances(chain, reward)
    rounding = 1e-12 * np.abs(reward).max() / (1 - chain.gamma)
    # A constant in the reward only moves the law: without it phases are small, hence accurate.
    offset = (reward.min() + reward.max()) / 2
    shift, reward = offset / (1 - chain.gamma), reward - offset
    lower, upper = return_bounds(chain, reward)
    spread = float((upper - lower).max())
    half_width = _half_width(resolution, spread)
    is_certain = upper - lower <= rounding
    if is_certain.all():
        return tuple(_certain(float(means[x]), rounding) for x in states)
    centres = (lower + upper) / 2
    num_frequencies = _num_frequencies(spread, half_width)
    psi = characteristic_function(chain, reward, centres, spread, num_frequencies)
    error = _TAIL_ERROR + psi.error * 2 / math.pi * (1 + math.log(num_frequencies))
    laws = []
    for x in states:
        if is_certain[x]:
            laws.append(_certain(float(means[x]), rounding))
            continue
        knots, levels = _invert(psi.values[:, x], spread, half_width)
        knots, levels = _trim(knots + centres[x], levels, lower[x], upper[x], half_width)
        resolved = half_width + float(knots[1] - knots[0])
        bounds = (float(lower[x] + shift), float(upper[x] + shift))
        moments = (float(means[x]), float(variances[x]))
        laws.append(ReturnLaw(knots + shift, levels, *bounds, resolved, error, *moments))
    return tuple(laws)


def _half_width(resolution: float | None, spread: float) -> float:
    if resolution is None:
        return spread / _DEFAULT_FINENESS
    resolution = _checks.number("resolution", resolution)
    if resolution <= 0 or resolution < spread / _LARGEST_FINENESS:
        raise ValueError(
            f"resolution must be positive and at least {spread / _LARGEST_FINENESS:.3g}, "
            f"that is 1/{_LARGEST_FINENESS} of the range of returns, got {resolution:g}"
        )
    return min(resolution, spread / 4)


def _num_frequencies(spread: float, half_width: float) -> int:
    r"""Smallest $K$ for which the rest of the series is below the tail error.

    With period $2R$ the terms of order $k$ are at most $(2/\pi k) (k_* / k)^p$ where
    $k_* = pR/\pi h$, and their sum beyond $K$ at most $(2/\pi p) (k_* / K)^p$.
    """
    p = _SPLINE_ORDER
    cutoff = p * spread / (math.pi * half_width)
    return math.ceil(cutoff * (2 / (math.pi * p * _TAIL_ERROR)) ** (1 / p))


def _invert(psi: np.ndarray, spread: float, half_width: float) -> tuple[np.ndarray, np.ndarray]:
    r"""Integrates the Fourier series of period $2R$ term by term from $-R$, at FFT points.

    $$ F(y) = \frac{y + R}{2R} + \sum_{k \ne 0} \psi_k \beta_k
       \frac{e^{-ik\pi y/R} - (-1)^k}{-2\pi i k} $$
    """
    k = np.arange(1, len(psi))
    spline = np.sinc(k * half_width / (spread * _SPLINE_ORDER)) ** _SPLINE_ORDER
    signs = 1.0 - 2.0 * (k % 2)
    size = 1 << (4 * len(psi) - 1).bit_length()
    # At y = -R + 2Rj/N the exponential is (-1)^k e^{-2πi kj/N}: one FFT gives all y.
    terms = np.zeros(size, dtype=complex)
    terms[1 : len(psi)] = signs * psi[1:] * spline / (-2j * math.pi * k)
    series = 2 * np.fft.fft(terms).real
    share = np.arange(size) / size
    return spread * (2 * share - 1), share + series - series[0]


def _trim(knots, levels, lower, upper, half_width) -> tuple[np.ndarray, np.ndarray]:
    """Cuts to the support, where the function runs from 0 to 1; removes ripples of size ε."""
    step = knots[1] - knots[0]
    start = np.searchsorted(knots, lower - half_width - step)
    stop = np.searchsorted(knots, upper + half_width + step)
    levels = np.maximum.accumulate(np.clip(levels[start:stop], 0, 1))
    levels[0], levels[-1] = 0, 1
    return knots[start:stop], levels


def _certain(value: float, rounding: float) -> ReturnLaw:
    """The law of a return that has no randomness but that of rounding."""
    levels = np.array([0.0, 1.0])
    return ReturnLaw(np.full(2, value), levels, value, value, float(rounding), 0.0, value, 0.0)
