r"""Calibration: do observed returns fall into predicted distributions as often as they should?"""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from daleth import _checks, risk
from daleth._typing import ArrayLike, Count, Real
from daleth.returns import ReturnDistribution

# Returns that differ by less are equal but for the rounding of float32 sums.
_ROUNDING = 4e-6


def pit(predicted: ReturnDistribution, observed: ArrayLike, key: PRNGKeyArray) -> Float[Array, "n"]:
    r"""Probability integral transform of one observed return per prediction.

    $u = F(g^-) + v\,(F(g) - F(g^-))$ with $v$ uniform on $[0, 1]$, so that atoms are spread over
    their step: $u$ is uniform exactly when the prediction is the law of the observation.

    Args:
        predicted: `[n, m]` atoms.
        observed: `[n]` realised returns.
        key: for the position inside a step.
    """
    values = jnp.asarray(_checks.finite("observed", observed, rank=1))
    if predicted.batch_shape != values.shape:
        raise ValueError(
            f"observed must hold one return per prediction, {predicted.batch_shape}, "
            f"got shape {values.shape}"
        )
    below = jax.vmap(lambda g, value: g.prob_below(value))(predicted, values)
    up_to = jax.vmap(lambda g, value: g.cdf(value))(predicted, values)
    return below + jax.random.uniform(key, values.shape) * (up_to - below)


def interpolated_pit(
    predicted: ReturnDistribution, observed: ArrayLike, key: PRNGKeyArray
) -> Float[np.ndarray, "*batch"]:
    r"""Probability integral transform against atoms that stand for mid-quantiles.

    Atom $i$ stands at the level $c_i - p_i / 2$, with $c$ the cumulative weights. An observation
    between two atoms gets a uniform level between theirs, one that equals atoms a level inside
    their step, one outside of all atoms 0 or 1, since no interval of the law holds it. So `m`
    mid-quantile atoms of a continuous truth give uniform values but for the outermost $1/2m$ on
    either side, where `pit` piles up mass at all multiples of $1/m$.

    Args:
        predicted: `[*batch, m]` atoms.
        observed: `[*batch]` realised returns.
        key: for the position between atoms.
    """
    values = _checks.finite("observed", observed)
    if predicted.batch_shape != values.shape:
        raise ValueError(
            f"observed must hold one return per prediction, {predicted.batch_shape}, "
            f"got shape {values.shape}"
        )
    atoms, cumulative = risk.sort_atoms(predicted.atoms, predicted.weights)
    asked = values[..., None]
    tie = _ROUNDING * np.maximum(np.abs(asked), np.abs(atoms).max(axis=-1, keepdims=True))
    below = (atoms < asked - tie).sum(axis=-1, keepdims=True)
    up_to = (atoms <= asked + tie).sum(axis=-1, keepdims=True)
    edges = np.concatenate([np.zeros_like(asked), cumulative], axis=-1)
    middles = (edges[..., :-1] + edges[..., 1:]) / 2
    before, behind = (
        np.take_along_axis(middles, np.clip(index, 0, predicted.num_atoms - 1), axis=-1)
        for index in (below - 1, below)
    )
    step_low, step_high = (np.take_along_axis(edges, index, axis=-1) for index in (below, up_to))
    uniform = np.asarray(jax.random.uniform(key, asked.shape), float)
    between = before + uniform * (behind - before)
    outside = (below > 0).astype(float)
    is_between = (below > 0) & (below < predicted.num_atoms)
    inside_step = step_low + uniform * (step_high - step_low)
    level = np.where(up_to > below, inside_step, np.where(is_between, between, outside))
    return np.clip(level[..., 0], 0, 1)


class Calibration(eqx.Module):
    """PIT values and what they say.

    With `m` atoms and an exact continuous truth, PIT values outside the outermost atoms pile up at
    0 and 1 with mass `1 / 2m` each: small `m` looks slightly overconfident.
    """

    values: Float[Array, "n"]

    def __init__(self, values: ArrayLike):
        array = _checks.finite("PIT values", values, rank=1)
        if array.min() < 0 or array.max() > 1:
            raise ValueError("PIT values must lie in [0, 1]")
        self.values = jnp.asarray(array)

    def histogram(self, num_bins: Count = 20) -> Int[np.ndarray, "bins"]:
        """Counts of PIT values in equal bins."""
        num_bins = _checks.count("num_bins", num_bins)
        return np.histogram(np.asarray(self.values), bins=num_bins, range=(0, 1))[0]

    def band(self, num_bins: Count = 20, confidence: Real = 0.95) -> tuple[float, float]:
        """The counts between which each bin of a calibrated model falls with `confidence`."""
        from scipy.stats import binom

        spare = (1 - _checks.fraction("confidence", confidence)) / 2
        law = binom(self.values.size, 1 / _checks.count("num_bins", num_bins))
        return float(law.ppf(spare)), float(law.ppf(1 - spare))

    def coverage(self, level: Real) -> float:
        """How often the central interval of mass `level` held the observation."""
        level = float(_checks.tail_levels(level))
        return float(jnp.mean(jnp.abs(self.values - 0.5) <= level / 2))

    def kolmogorov_smirnov(self) -> tuple[float, float]:
        """Largest gap to the uniform CDF, and its p-value for independent observations."""
        from scipy.stats import kstest

        result = kstest(np.asarray(self.values), "uniform")
        return float(result.statistic), float(result.pvalue)

    def to_dict(self) -> dict[str, Any]:
        """The summary as plain numbers."""
        statistic, p_value = self.kolmogorov_smirnov()
        return {
            "count": self.values.size,
            "coverage_50": self.coverage(0.5),
            "coverage_90": self.coverage(0.9),
            "ks_statistic": statistic,
            "ks_p_value": p_value,
            "histogram": self.histogram().tolist(),
        }
