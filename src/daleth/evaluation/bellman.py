"""How far predicted laws are from observed returns, given one observation per source state."""

import dataclasses

import numpy as np
from jaxtyping import Float

from daleth import risk
from daleth.returns import ReturnDistribution

# Of the median distance between source states: narrower sees errors that change from place to
# place, wider has less noise.
_KERNEL_WIDTH = 0.25
_NUM_KNOTS = 129
_NUM_FLIPS = 999


@dataclasses.dataclass(frozen=True)
class Discrepancy:
    """A share of the model's score that is error, and how likely chance alone gives as much.

    Attributes:
        share: an unbiased estimate, so a right model can give a negative one.
        p_value: for the hypothesis that the predicted laws are those of the observations.
    """

    share: float
    p_value: float


def discrepancy(
    predicted: ReturnDistribution,
    observed: Float[np.ndarray, "r s"],
    scores: Float[np.ndarray, "r"],
    positions: Float[np.ndarray, "s d"],
    rng: np.random.Generator,
) -> Discrepancy:
    r"""Squared Cramér distance between predicted and true laws, smoothed over source states.

    There is one observation $B_i$ per source state $x_i$, and so no law to compare with at any
    single one. But $e_i(t) = 1\{B_i \le t\} - F_i(t)$ has mean 0 for every $t$ if the model's
    $F_i$ is the law of $B_i$, and errors of neighbours have the same sign if it is not:

    $$ \Delta = \frac{\sum_{i \ne j} k(x_i, x_j) \int e_i(t)\, e_j(t)\, dt}
                     {\sum_{i \ne j} k(x_i, x_j)} $$

    with a Gaussian kernel $k$ whose width is a quarter of the median distance. In expectation this
    is $\int (F - F^{true})^2$ with the difference smoothed over the width of $k$, hence 0 for a
    right model, and a lower bound for a wrong one; errors that change sign within that width are
    not seen. Atoms that are independent draws for each source state add noise and no bias.

    With realised returns for $B$ this measures the error of the model. With the bootstrapped
    returns of n-step windows it is the distributional Bellman discrepancy: among all models only
    the true distributional successor measure makes it vanish for all rewards and source states.

    The p-value is that of 999 random flips of the signs of whole $e_i$, over all rewards at once.

    Args:
        predicted: laws `[r, s, m]` of `r` rewards at `s` source states.
        observed: one `B` for each.
        scores: the mean CRPS of each reward, in units of which its $\Delta$ is taken.
        positions: source states in normalised units.
        rng: for the flips.
    """
    kernel = _neighbourhood(positions)
    products = np.zeros_like(kernel)
    for law, values, score in zip(predicted, observed, scores, strict=True):
        knots = np.quantile(
            np.concatenate([np.ravel(law.atoms), values]), np.linspace(0, 1, _NUM_KNOTS)
        )
        middles = (knots[1:] + knots[:-1]) / 2
        errors = (values[:, None] <= middles) - risk.cdf(law.atoms, law.weights, middles)
        products += (errors * (np.diff(knots) / score)) @ errors.T
    products *= kernel / (len(observed) * kernel.sum())
    flips = rng.choice([-1.0, 1.0], size=(_NUM_FLIPS, len(kernel)))
    chance = np.einsum("fi,fi->f", flips @ products, flips)
    share = products.sum()
    # A sum that rounding leaves of zeros must not count as larger than another.
    as_large = (chance >= share - 1e-12 * np.abs(products).sum()).sum()
    return Discrepancy(float(share), float((1 + as_large) / (1 + _NUM_FLIPS)))


def _neighbourhood(positions: Float[np.ndarray, "s d"]) -> Float[np.ndarray, "s s"]:
    """The kernel between different source states; 0 on the diagonal, which would be biased."""
    squares = (positions**2).sum(axis=1)
    distances = np.maximum(squares[:, None] + squares - 2 * positions @ positions.T, 0)
    others = ~np.eye(len(positions), dtype=bool)
    squared_width = _KERNEL_WIDTH**2 * np.median(distances[others])
    return np.exp(-distances / (2 * (squared_width or 1.0))) * others
