"""Calibration: uniform for the right model, not for a wrong one."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from daleth import ReturnDistribution
from daleth.evaluation import Calibration, interpolated_pit, pit

NUM = 4000


@pytest.fixture
def observed():
    return np.random.default_rng(0).integers(0, 4, size=NUM).astype(float)


def predictions(atoms):
    return ReturnDistribution(jnp.broadcast_to(jnp.asarray(atoms, jnp.float32), (NUM, len(atoms))))


def test_right_law_is_uniform(observed, key):
    right = Calibration(pit(predictions([0.0, 1.0, 2.0, 3.0]), observed, key))
    statistic, p_value = right.kolmogorov_smirnov()
    assert p_value > 1e-3  # the probability of failing for a fresh key
    assert right.coverage(0.5) == pytest.approx(0.5, abs=4 * 0.5 / NUM**0.5)
    assert right.coverage(0.9) == pytest.approx(0.9, abs=4 * 0.3 / NUM**0.5)
    low, high = right.band(10)
    inside = (right.histogram(10) >= low) & (right.histogram(10) <= high)
    assert inside.mean() >= 0.8


def test_narrow_law_is_found_out(observed, key):
    narrow = Calibration(pit(predictions([1.0, 2.0]), observed, key))
    assert narrow.kolmogorov_smirnov()[1] < 1e-6
    assert narrow.coverage(0.9) < 0.6
    assert narrow.to_dict()["count"] == NUM


def test_pit_by_hand(key):
    g = ReturnDistribution([[0.0, 1.0], [0.0, 1.0], [0.0, 1.0]], [0.25, 0.75])
    values = pit(g, [-1.0, 0.5, 2.0], key)
    np.testing.assert_allclose(values, [0, 0.25, 1])
    inside = jax.vmap(lambda k: pit(g[:1], jnp.array([1.0]), k)[0])(jax.random.split(key, 2000))
    assert inside.min() >= 0.25
    assert inside.mean() == pytest.approx(0.625, abs=4 * 0.75 / 12**0.5 / 2000**0.5)


def test_interpolated_pit_by_hand(key):
    g = ReturnDistribution([[0.0, 1.0, 1.0, 2.0]] * 1000, [0.25, 0.25, 0.25, 0.25])
    for observed, low, high in (
        (-1.0, 0, 0),
        (0.5, 1 / 8, 3 / 8),
        (1.0, 1 / 4, 3 / 4),
        (3.0, 1, 1),
    ):
        values = interpolated_pit(g, np.full(1000, observed), key)
        assert (values.min(), values.max()) == pytest.approx((low, high), abs=5e-3)
    with pytest.raises(ValueError, match="one return per prediction"):
        interpolated_pit(g, [1.0], key)


@pytest.mark.parametrize("num_atoms", [4, 11])
def test_mid_quantile_atoms_are_calibrated_as_far_as_they_reach(num_atoms, key):
    """Outside of all atoms falls 1/m, and no interval holds it; inside every level is right."""
    observed = np.random.default_rng(0).uniform(size=NUM)
    values = interpolated_pit(predictions((np.arange(num_atoms) + 0.5) / num_atoms), observed, key)
    for level in (0.5, 0.9):
        expected = min(level, 1 - 1 / num_atoms)
        assert Calibration(values).coverage(level) == pytest.approx(expected, abs=0.025)


def test_equal_up_to_rounding_is_equal(key):
    g = ReturnDistribution(np.full((NUM, 3), 100.0))
    values = interpolated_pit(g, np.full(NUM, 100.0 + 1e-5), key)
    assert Calibration(values).coverage(0.5) == pytest.approx(0.5, abs=0.035)
