"""The discrepancy is 0 for right laws and finds wrong ones, with one observation per state."""

import numpy as np
import pytest
from scipy.stats import norm

from daleth import ReturnDistribution
from daleth.envs.linear_gaussian import LinearGaussian
from daleth.evaluation import crps
from daleth.evaluation.bellman import discrepancy

GAMMA, NUM_ATOMS, NUM_STEPS = 0.8, 31, 3
REWARD_WEIGHTS = [[1.0, 0.0], [0.5, -1.0]]


def compare(predicted, observed, positions):
    scores = np.asarray(crps(predicted, observed), float).mean(axis=1)
    return discrepancy(predicted, observed, scores, positions, np.random.default_rng(0))


def test_by_hand():
    """A Dirac at 0 against 0, 1, 0, 1, all at one place.

    The errors of the CDF on [0, 1] are 0, -1, 0, -1: of 12 ordered pairs 2 have the product 1,
    so the integral is 1/6; the CRPS is 1/2.
    """
    predicted = ReturnDistribution(np.zeros((1, 4, 1)))
    observed = np.array([[0.0, 1.0, 0.0, 1.0]])
    found = compare(predicted, observed, np.zeros((4, 2)))
    assert found.share == pytest.approx(1 / 3)


@pytest.fixture(scope="module")
def bellman():
    """Exact Gaussian laws at x0, and returns bootstrapped with the exact law at x3."""
    rng = np.random.default_rng(0)
    env = LinearGaussian.random(2, spectral_radius=0.8)
    matrix, factor = np.asarray(env.matrix, float), np.asarray(env.noise_factor, float)
    starts = rng.normal(size=(400, 2))
    path = [starts]
    for _ in range(NUM_STEPS):
        path.append(path[-1] @ matrix.T + rng.normal(size=starts.shape) @ factor.T)
    laws, targets = [], []
    for weights in REWARD_WEIGHTS:
        laws.append(env.return_mean_and_std(weights, starts, GAMMA))
        mean, std = env.return_mean_and_std(weights, path[-1], GAMMA)
        seen = sum(GAMMA**k * path[k] @ weights for k in range(NUM_STEPS))
        targets.append(seen + GAMMA**NUM_STEPS * (mean + std * rng.normal(size=len(starts))))
    return starts, np.array([law[0] for law in laws]), np.array([law[1] for law in laws]), targets


def predictions(mean, std):
    levels = norm.ppf((np.arange(NUM_ATOMS) + 0.5) / NUM_ATOMS)
    return ReturnDistribution(mean[..., None] + std * levels)


def test_exact_laws_satisfy_the_bellman_equation(bellman):
    starts, mean, std, targets = bellman
    found = compare(predictions(mean, std[:, None, None]), np.array(targets), starts)
    assert abs(found.share) < 0.01
    assert found.p_value > 0.01  # the probability of failing for a fresh seed


def test_draws_of_exact_laws_do_so_too(bellman):
    """Independent atoms add noise and no bias, though five of them are a poor law."""
    starts, mean, std, targets = bellman
    noise = np.random.default_rng(1).normal(size=(*mean.shape, 5))
    found = compare(
        ReturnDistribution(mean[..., None] + std[:, None, None] * noise), np.array(targets), starts
    )
    assert abs(found.share) < 0.01
    assert found.p_value > 0.01


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("shifted", lambda x, mean, std: (mean + 0.4 * std, std)),
        ("too narrow", lambda x, mean, std: (mean, 0.5 * std)),
        ("too wide", lambda x, mean, std: (mean, 2 * std)),
        ("right on average", lambda x, mean, std: (mean + std * np.sign(x[:, 0]), std)),
    ],
)
def test_wrong_laws_are_found(bellman, name, change):
    starts, mean, std, targets = bellman
    wrong_mean, wrong_std = change(starts, mean, std[:, None])
    found = compare(predictions(wrong_mean, wrong_std[..., None]), np.array(targets), starts)
    assert found.share > 0.03
    assert found.p_value == 0.001


def test_share_is_the_avoidable_part_of_the_score():
    """N(δ, 1) for N(0, 1), one place: squared Cramér ≈ δ²/(2√π), CRPS that plus 1/√π."""
    rng = np.random.default_rng(0)
    observed, shift = rng.normal(size=(20, 200)), 0.5
    found = compare(predictions(np.full(observed.shape, shift), 1.0), observed, np.zeros((200, 1)))
    cramer = 2 * shift * (norm.cdf(shift / 2**0.5) - 0.5) + 2 / np.pi**0.5 * (
        np.exp(-(shift**2) / 4) - 1
    )
    assert found.share == pytest.approx(cramer / (cramer + 1 / np.pi**0.5), rel=0.1)
