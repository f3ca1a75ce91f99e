"""State and model kernels: values by hand, slopes, and all pairs without losing digits."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from daleth.kernels import ALPHAS, inverse_multiquadric, rational_quadratic, squared_distances


@pytest.mark.parametrize(
    ("alpha", "squared_distance", "value"),
    [
        (0.2, 12.4, 32**-0.2),
        (0.5, 3.0, 0.5),
        (1.0, 2.0, 0.5),
        (2.0, 4.0, 0.25),
        (5.0, 10.0, 1 / 32),
        (1.5, 9.0, 0.125),
    ],
)
def test_one_rational_quadratic_by_hand(alpha, squared_distance, value):
    found = rational_quadratic(jnp.array(squared_distance), alphas=(alpha,))
    np.testing.assert_allclose(found, value, rtol=1e-6)


def test_the_mixture_is_the_sum_of_its_powers_and_slopes():
    z = np.array([0.0, 1e-6, 0.3, 2.0, 70.0, 1e4])
    bases = [1 + z / (2 * alpha) for alpha in ALPHAS]
    values = sum(base**-alpha for base, alpha in zip(bases, ALPHAS, strict=True))
    slopes = -0.5 * sum(base ** (-alpha - 1) for base, alpha in zip(bases, ALPHAS, strict=True))
    found, found_slopes = jax.jvp(rational_quadratic, (jnp.array(z, float),), (jnp.ones(6),))
    np.testing.assert_allclose(found, values, rtol=1e-5)
    np.testing.assert_allclose(found_slopes, slopes, rtol=1e-5)


def test_inverse_multiquadric_by_hand():
    found = inverse_multiquadric(jnp.array([0.0, 3.0, 24.0]), jnp.array(1.0))
    np.testing.assert_allclose(found, [1.0, 0.5, 0.2], rtol=1e-6)
    scaled = inverse_multiquadric(jnp.array([0.0, 6.0, 48.0]), jnp.array(2.0))
    np.testing.assert_allclose(scaled, found, rtol=1e-6)


def test_squared_distances_keep_their_digits_far_from_the_origin():
    points = np.float32(1000) + np.random.default_rng(0).normal(size=(12, 3)).astype(np.float32)
    xs, ys = points[:5], points[5:]
    direct = ((xs[:, None].astype(float) - ys) ** 2).sum(axis=-1)
    found = squared_distances(jnp.asarray(xs), jnp.asarray(ys))
    np.testing.assert_allclose(found, direct, rtol=1e-5, atol=1e-5)


def test_squared_distances_of_equal_points_are_not_negative_and_have_finite_gradients():
    xs = jnp.asarray(np.random.default_rng(0).normal(size=(50, 8)), jnp.float32)
    assert squared_distances(xs, xs).min() >= 0
    gradient = jax.grad(lambda x: rational_quadratic(squared_distances(x, xs)).sum())
    assert np.isfinite(jax.jit(gradient)(xs)).all()
