r"""How far a predicted return distribution is from the truth.

Distances are exact for discrete laws, work on batches, and can be compiled. Beside every distance
stand its two reference levels: the *floor*, reached by the best `m` equal atoms, and the
*ceiling*, reached by the Dirac at the true mean, which knows nothing of the distribution.
"""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from daleth import _checks, risk
from daleth._typing import ArrayLike
from daleth.returns import ReturnDistribution

Distance = Callable[[ReturnDistribution, ReturnDistribution], Array]


def squared_cramer(
    predicted: ReturnDistribution, truth: ReturnDistribution
) -> Float[Array, "*batch"]:
    r"""Squared Cramér distance $\int (F - \hat F)^2$.

    It equals $E|X-Y| - \frac12 E|X-X'| - \frac12 E|Y-Y'|$, that is, half the square of
    `scipy.stats.energy_distance`.
    """
    differences, widths = _cdf_differences(predicted, truth)
    return jnp.asarray((differences**2 * widths).sum(axis=-1))


def squared_cramer_to_sample(
    predicted: ReturnDistribution, sample: ReturnDistribution
) -> Float[Array, "*batch"]:
    r"""Unbiased estimate of the squared Cramér distance to the law that `sample` was drawn from.

    The `n` atoms of the sample are taken as independent draws: $E|Y-Y'|$ is estimated by the
    U-statistic over different draws, which lowers the plug-in value by
    $\frac{1}{2(n-1)} \widehat E|Y-Y'|$. The estimate can be negative.
    """
    _check_is_sample(sample)
    excess = mean_absolute_difference(sample) / (2 * (sample.num_atoms - 1))
    return squared_cramer(predicted, sample) - excess


def wasserstein(predicted: ReturnDistribution, truth: ReturnDistribution) -> Float[Array, "*batch"]:
    r"""1-Wasserstein distance $\int |F - \hat F|$."""
    differences, widths = _cdf_differences(predicted, truth)
    return jnp.asarray((abs(differences) * widths).sum(axis=-1))


def mean_error(predicted: ReturnDistribution, truth: ReturnDistribution) -> Float[Array, "*batch"]:
    """Absolute error of the mean."""
    return jnp.abs(predicted.mean() - truth.mean())


def cvar_error(
    predicted: ReturnDistribution, truth: ReturnDistribution, level: float
) -> Float[Array, "*batch"]:
    """Absolute error of the lower CVaR."""
    return jnp.abs(predicted.cvar(level) - truth.cvar(level))


def mean_absolute_difference(distribution: ReturnDistribution) -> Float[Array, "*batch"]:
    r"""$E|G - G'| = 2 \int F (1 - F)$ for two independent returns of one law."""
    atoms, cumulative = risk.sort_atoms(distribution.atoms, distribution.weights)
    inner = cumulative[..., :-1]
    widths = atoms[..., 1:] - atoms[..., :-1]
    return jnp.asarray(2 * (inner * (1 - inner) * widths).sum(axis=-1))


def crps(predicted: ReturnDistribution, observed: ArrayLike) -> Float[Array, "*batch"]:
    r"""Continuous ranked probability score of predictions, given one observed return each.

    $$ \int (F(t) - 1\{g \le t\})^2 dt = E|G - g| - \tfrac12 E|G - G'| $$

    A proper score in units of the return: in expectation it exceeds that of the true law by the
    squared Cramér distance to it. For a Dirac it is the absolute error.

    Args:
        predicted: `[*batch, m]` atoms.
        observed: `[*batch]` realised returns.

    Example:
        >>> print(crps(ReturnDistribution([0.0, 2.0]), 1.0))
        0.5
    """
    values = _checks.finite("observed", observed)
    if values.shape != predicted.batch_shape:
        raise ValueError(
            f"observed must hold one return per prediction, {predicted.batch_shape}, "
            f"got shape {values.shape}"
        )
    atoms, weights = risk.as_law(predicted.atoms, predicted.weights)
    misses = (weights * np.abs(atoms - values[..., None])).sum(axis=-1)
    return jnp.asarray(misses - np.asarray(mean_absolute_difference(predicted)) / 2)


def atom_floor(truth: ReturnDistribution, num_atoms: int, distance: Distance) -> Array:
    """The distance that the best `num_atoms` equal atoms still have from the truth."""
    return distance(truth.mid_quantiles(num_atoms), truth)


def dirac_ceiling(truth: ReturnDistribution, distance: Distance) -> Array:
    """The distance of the Dirac at the true mean from the truth."""
    return distance(truth.dirac_at_mean(), truth)


def skill(
    predicted: ReturnDistribution, truth: ReturnDistribution, distance: Distance = wasserstein
) -> Array:
    """One minus distance over ceiling: 1 is perfect, 0 as good as knowing the mean alone."""
    return 1 - distance(predicted, truth) / dirac_ceiling(truth, distance)


def equivalent_rollouts(
    predicted: ReturnDistribution, truth: ReturnDistribution, distance: Distance = squared_cramer
) -> Float[Array, "*batch"]:
    r"""How many real rollouts would be as close to the truth on average.

    The empirical law of `n` rollouts has the expected squared Cramér distance
    $E|G-G'| / 2n$, so the answer is $E|G-G'| / (2\,\mathrm{Cramér}^2)$. Infinite where the
    distance is not positive.
    """
    squared = distance(predicted, truth)
    spread = mean_absolute_difference(truth)
    return jnp.where(squared > 0, spread / (2 * jnp.where(squared > 0, squared, 1.0)), jnp.inf)


class Referenced(eqx.Module):
    """An error between its reference levels, `[*batch]` each."""

    value: Float[Array, "*batch"]
    floor: Float[Array, "*batch"]
    ceiling: Float[Array, "*batch"]

    def ratio(self) -> Float[Array, ""]:
        """Mean error over mean ceiling: below 1 is better than the Dirac at the mean."""
        return self.value.mean() / self.ceiling.mean()

    def skill(self) -> Float[Array, ""]:
        """One minus the ratio."""
        return 1 - self.ratio()


class ScoreCard(eqx.Module):
    """All scores of a prediction, or of a batch of predictions, beside floor and ceiling.

    The floor is what the mid-quantile atoms of the truth miss, the best equal atoms in W1 and in
    Cramér distance. The error of the mean stands alone: the Dirac at the true mean has none.
    """

    errors: dict[str, Referenced]
    mean_error: Float[Array, "*batch"]
    equivalent_rollouts: Float[Array, "*batch"]

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers, averaged over the batch, for JSON."""
        table = {
            name: {
                "value": float(error.value.mean()),
                "floor": float(error.floor.mean()),
                "ceiling": float(error.ceiling.mean()),
                "skill": float(error.skill()),
            }
            for name, error in self.errors.items()
        }
        return {
            **table,
            "mean_error": float(self.mean_error.mean()),
            "equivalent_rollouts": float(jnp.median(self.equivalent_rollouts)),
        }

    def __str__(self) -> str:
        rows = [f"{'':16}{'error':>10}{'floor':>10}{'ceiling':>10}{'skill':>8}"]
        for name, error in self.errors.items():
            means = (error.value.mean(), error.floor.mean(), error.ceiling.mean())
            rows.append(
                f"{name:16}" + "".join(f"{x:10.4g}" for x in means) + f"{error.skill():8.3f}"
            )
        rows.append(f"{'mean_error':16}{self.mean_error.mean():10.4g}")
        rows.append(f"worth {jnp.median(self.equivalent_rollouts):.3g} real rollouts (median)")
        return "\n".join(rows)


def score(
    predicted: ReturnDistribution,
    truth: ReturnDistribution,
    *,
    levels: tuple[float, ...] = (0.05, 0.1, 0.4),
    distance: Distance = squared_cramer_to_sample,
) -> ScoreCard:
    """Every score of a prediction against a sampled truth.

    Args:
        predicted: `[*batch, m]` atoms.
        truth: `[*batch, n]` Monte Carlo returns with equal weights.
        levels: levels of the CVaR errors.
        distance: the squared Cramér distance to use: `squared_cramer` if the atoms of `truth`
            are exact and not draws.

    Example:
        >>> truth = ReturnDistribution(np.linspace(0.0, 1.0, 1001))
        >>> print(score(truth.mid_quantiles(10), truth).errors["wasserstein"].ratio().round(3))
        0.1
    """
    best, dirac = truth.mid_quantiles(predicted.num_atoms), truth.dirac_at_mean()
    candidates = (predicted, best, dirac)
    errors = {
        name: Referenced(*(measure(candidate, truth) for candidate in candidates))
        for name, measure in (("squared_cramer", distance), ("wasserstein", wasserstein))
    }
    tails = truth.cvar(levels)
    for index, level in enumerate(levels):
        misses = (jnp.abs(one.cvar(level) - tails[..., index]) for one in candidates)
        errors[f"cvar_error_{level:g}"] = Referenced(*misses)
    return ScoreCard(
        errors, mean_error(predicted, truth), equivalent_rollouts(predicted, truth, distance)
    )


def _cdf_differences(a: ReturnDistribution, b: ReturnDistribution) -> tuple:
    """Differences of the two CDFs between neighbouring atoms, and the widths of those gaps."""
    atoms_a, weights_a, atoms_b, weights_b = risk.as_doubles(a.atoms, a.weights, b.atoms, b.weights)
    xp = risk.backend(atoms_a, atoms_b)
    batch = np.broadcast_shapes(a.batch_shape, b.batch_shape)
    atoms, signed = (
        xp.concatenate([xp.broadcast_to(x, (*batch, x.shape[-1])) for x in pair], axis=-1)
        for pair in ((atoms_a, atoms_b), (weights_a, -weights_b))
    )
    order = xp.argsort(atoms, axis=-1)
    atoms = xp.take_along_axis(atoms, order, axis=-1)
    differences = xp.cumsum(xp.take_along_axis(signed, order, axis=-1), axis=-1)
    return differences[..., :-1], atoms[..., 1:] - atoms[..., :-1]


def _check_is_sample(sample: ReturnDistribution) -> None:
    if sample.num_atoms < 2:
        raise ValueError("a sampled truth needs at least 2 draws, got 1")
    if _checks.is_traced(sample.weights):
        return
    weights = np.asarray(sample.weights)
    if np.ptp(weights) > risk.ROUNDING:
        raise ValueError(
            "a sampled truth must have equal weights; use squared_cramer for an exact law"
        )
