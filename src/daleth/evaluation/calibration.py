r"""Calibration: do observed returns fall into predicted distributions as often as they should?"""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from daleth import _checks
from daleth._typing import ArrayLike, Count, Real
from daleth.returns import ReturnDistribution


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
