"""Scores against SciPy, closed forms, and simulation."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from daleth import ReturnDistribution
from daleth.evaluation import (
    crps,
    equivalent_rollouts,
    mean_absolute_difference,
    score,
    skill,
    squared_cramer,
    squared_cramer_to_sample,
    wasserstein,
)

values = st.lists(st.floats(-1, 1, width=32, allow_subnormal=False), min_size=5, max_size=5)
masses = st.lists(st.integers(0, 9), min_size=5, max_size=5).filter(any)


@settings(max_examples=60, deadline=None)
@given(values, masses, values, masses)
def test_distances_equal_scipy(a, p, b, q):
    p, q = np.array(p) / np.sum(p), np.array(q) / np.sum(q)
    one, two = ReturnDistribution(a, p), ReturnDistribution(b, q)
    w1 = stats.wasserstein_distance(a, b, p, q)
    cramer = stats.energy_distance(a, b, p, q) ** 2 / 2
    assert wasserstein(one, two) == pytest.approx(w1, abs=1e-5)
    assert squared_cramer(one, two) == pytest.approx(cramer, abs=1e-5)


def test_large_samples_equal_scipy():
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=20_000), rng.normal(0.3, 2, size=51)
    one, two = ReturnDistribution(a), ReturnDistribution(b)
    assert wasserstein(one, two) == pytest.approx(stats.wasserstein_distance(a, b), abs=1e-5)
    assert squared_cramer(one, two) == pytest.approx(stats.energy_distance(a, b) ** 2 / 2, abs=1e-5)


def test_distances_by_hand():
    dirac, coin = ReturnDistribution([0.0]), ReturnDistribution([-1.0, 1.0])
    assert wasserstein(dirac, coin) == pytest.approx(1.0)
    assert squared_cramer(dirac, coin) == pytest.approx(0.5)
    assert mean_absolute_difference(coin) == pytest.approx(1.0)
    assert wasserstein(coin, coin) == 0.0
    assert skill(dirac, coin) == pytest.approx(0.0)
    assert skill(coin, coin) == pytest.approx(1.0)


def test_u_statistic_is_unbiased():
    """Its mean over samples of 20 is the exact distance; the plug-in value is 1/120 too high.

    For the uniform law on [0, 1], E|Y-Y'| = 1/3, so the bias is (1/3)/(2·20).
    """
    predicted = ReturnDistribution([0.25, 0.75])
    exact = 4 / 192  # four pieces, each ∫_0^{1/4} t² dt
    samples = np.random.default_rng(4).uniform(size=(20_000, 20))
    batch = ReturnDistribution(samples)
    unbiased = np.asarray(squared_cramer_to_sample(predicted, batch), float)
    plug_in = np.asarray(squared_cramer(predicted, batch), float)
    error = unbiased.std() / np.sqrt(len(samples))
    assert abs(unbiased.mean() - exact) < 4 * error
    assert plug_in.mean() - unbiased.mean() == pytest.approx(1 / 120, rel=0.02)
    assert abs(plug_in.mean() - exact) > 10 * error


def test_n_rollouts_are_worth_n_rollouts():
    rng = np.random.default_rng(5)
    truth = ReturnDistribution(np.linspace(0, 1, 2001))
    worth = [squared_cramer(ReturnDistribution(rng.uniform(size=50)), truth) for _ in range(400)]
    mean = np.mean(worth)
    assert mean_absolute_difference(truth) / (2 * mean) == pytest.approx(50, rel=0.1)
    one = ReturnDistribution([0.4])
    by_hand = (1 / 3) / (2 * squared_cramer(one, truth))
    assert equivalent_rollouts(one, truth) == pytest.approx(float(by_hand), rel=1e-3)
    assert equivalent_rollouts(truth, truth) == np.inf


def test_score_card_between_floor_and_ceiling():
    rng = np.random.default_rng(6)
    truth = ReturnDistribution(rng.gamma(2.0, size=(3, 4000)))
    card = score(truth.mid_quantiles(16), truth)
    w1 = card.errors["wasserstein"]
    np.testing.assert_allclose(w1.value, w1.floor)
    assert bool((w1.value < w1.ceiling).all())
    card = score(truth.dirac_at_mean(), truth)
    assert card.errors["wasserstein"].skill() == pytest.approx(0.0, abs=1e-6)
    assert card.mean_error.max() < 1e-5
    assert set(card.to_dict()["cvar_error_0.1"]) == {"value", "floor", "ceiling", "skill"}
    assert "real rollouts" in str(card)


def test_scores_batch_and_compile():
    rng = np.random.default_rng(7)
    one = ReturnDistribution(rng.normal(size=(2, 3, 5)))
    two = ReturnDistribution(rng.normal(size=(3, 9)))
    batched = squared_cramer(one, two)
    assert batched.shape == (2, 3)
    for i in range(2):
        for j in range(3):
            assert batched[i, j] == pytest.approx(
                float(squared_cramer(one[i, j], two[j])), rel=1e-4
            )
    np.testing.assert_allclose(jax.jit(squared_cramer)(one, two), batched, rtol=1e-4)


def test_gradient_of_squared_cramer_is_a_finite_difference():
    truth = ReturnDistribution([0.1, 0.5, 1.3, 2.0])
    atoms = jnp.array([0.3, 0.9, 1.6])

    def loss(x):
        return squared_cramer(ReturnDistribution(x), truth)

    gradient = jax.grad(loss)(atoms)
    for i in range(3):
        nudge = jnp.zeros(3).at[i].set(0.01)
        slope = (loss(atoms + nudge) - loss(atoms - nudge)) / 0.02
        assert gradient[i] == pytest.approx(float(slope), abs=1e-3)


def test_crps_by_hand_and_by_its_integral():
    """Atoms 0 and 3 with weights 1/3 and 2/3: E|G - 1| = 5/3, E|G - G'| / 2 = 2/3."""
    g = ReturnDistribution([[0.0, 3.0]] * 3, [1 / 3, 2 / 3])
    observed = np.array([1.0, -2.0, 3.0])
    np.testing.assert_allclose(crps(g, observed), [1, 4 - 2 / 3, 1 / 3], rtol=1e-6)
    grid = np.linspace(-4, 5, 90001)[:-1] + 5e-5
    steps = (np.asarray(g[1].cdf(grid)) - (observed[1] <= grid)) ** 2
    assert float(crps(g[1], observed[1])) == pytest.approx(steps.mean() * 9, rel=1e-4)
    assert float(crps(g[1].dirac_at_mean(), 5.0)) == pytest.approx(3)
    with pytest.raises(ValueError, match="one return per prediction"):
        crps(g, [1.0])
