"""Calibration: uniform for the right model, not for a wrong one."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from daleth import ReturnDistribution
from daleth.evaluation import Calibration, pit

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
