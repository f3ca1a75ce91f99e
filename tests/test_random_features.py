"""Random features against the kernel that they stand for, and the cosine against NumPy's."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from daleth.kernels import rational_quadratic
from daleth.measures import StateMeasures
from daleth.parts import RandomFeatures
from daleth.random_features import cosine_of_turns, draw_features
from daleth.targets import Target

NUM_FEATURES = 50_000  # one size everywhere: gamma variates take long to compile


def test_cosine_of_turns_and_its_slope():
    turns = np.concatenate([np.linspace(-50, 50, 40_001), np.arange(-3, 3.01, 0.25)])
    turns = turns.astype(np.float32)
    values, slopes = jax.jit(jax.vmap(jax.value_and_grad(cosine_of_turns)))(turns)
    angles = 2 * np.pi * turns.astype(np.float64)
    np.testing.assert_allclose(values, np.cos(angles), atol=1e-6)
    # A slope is 2π times as steep, and a polynomial fits its slope worst at its ends.
    np.testing.assert_allclose(slopes, -2 * np.pi * np.sin(angles), atol=3e-4)


def kernel(squared, length_scales):
    """The mean of the kernel over log-uniform length scales, by quadrature."""
    low, high = np.log(length_scales)
    lengths = np.exp(low + (high - low) * (np.arange(200) + 0.5) / 200)
    values = rational_quadratic(jnp.asarray(squared[..., None] / lengths**2, jnp.float32))
    return np.asarray(values).mean(axis=-1)


@pytest.mark.parametrize("length_scales", [(1.0, 1.0), (0.5, 4.0)])
def test_inner_products_have_the_mean_of_the_kernel(length_scales, key):
    xs = np.random.default_rng(0).normal(size=(6, 2)).astype(np.float32)
    features = draw_features(key, 2, NUM_FEATURES, length_scales)
    values = np.sqrt(NUM_FEATURES) * np.asarray(features(jnp.asarray(xs)))
    products = values[:, None] * values
    wanted = kernel(((xs[:, None] - xs) ** 2).sum(-1), length_scales)
    errors = products.std(axis=-1) / np.sqrt(NUM_FEATURES)
    # 21 different entries: 4 standard errors are too few once in 750 seeds.
    assert (np.abs(products.mean(axis=-1) - wanted) < 4 * errors).all()
    assert (errors < 0.03).all()


def weighted_measures(seed, num_atoms, num_points, state_dim=2):
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(num_atoms, num_points, state_dim)) + rng.normal(
        size=(num_atoms, 1, state_dim)
    )
    return StateMeasures(points, rng.dirichlet(np.ones(num_points), size=num_atoms))


@pytest.mark.parametrize(("linear", "quadratic"), [(0.0, 0.0), (0.7, 0.2)])
def test_squared_distances_are_those_of_the_kernel(linear, quadratic, key):
    """Weighted atoms to a target with a known part: the squared MMD within 4 standard errors."""
    source, bootstrap = weighted_measures(0, 3, 4), weighted_measures(1, 2, 5)
    states = jnp.asarray(np.random.default_rng(2).normal(size=(3, 2)), jnp.float32)
    target = Target(states, jnp.array([0.3, 0.2, 0.1]), bootstrap, jnp.array(0.4))
    part = RandomFeatures(NUM_FEATURES, (1.0, 1.0), linear, quadratic)
    prepared = part.prepare(None, key, 2)
    distances = part.compare(prepared, source, target, drawn=False, unbiased=False)

    everything = target.measures()
    sides = [
        [(np.asarray(p, np.float64), np.asarray(w)) for p, w in zip(*pair, strict=True)]
        for pair in (
            (source.points, source.point_weights),
            (everything.points, everything.point_weights),
        )
    ]

    def product(one, other):
        (xs, v), (ys, w) = one, other
        gram = kernel(((xs[:, None] - ys) ** 2).sum(-1), (1.0, 1.0))
        gram = gram + linear**2 * xs @ ys.T + quadratic**2 * (xs**2) @ (ys**2).T
        return v @ gram @ w

    def exact(ones, others):
        return np.array(
            [[product(a, a) + product(b, b) - 2 * product(a, b) for b in others] for a in ones]
        )

    def check(found, own, other, wanted):
        terms = NUM_FEATURES * (own[:, None, :NUM_FEATURES] - other[:, :NUM_FEATURES]) ** 2
        error = np.asarray(terms).std(axis=-1) / np.sqrt(NUM_FEATURES)
        # Besides chance there is rounding: sums of 50,000 numbers in single precision.
        assert (np.abs(found - wanted) < 4 * error + 1e-4).all()
        assert (error < 0.05).all()

    atoms, targets = sides
    check(distances.across(), distances.own, distances.other, exact(atoms, targets))
    check(distances.within(), distances.own, distances.own, exact(atoms, atoms))
    check(distances.within_target(), distances.other, distances.other, exact(targets, targets))


def test_every_key_draws_other_features():
    one, other = (draw_features(jax.random.key(seed), 3, NUM_FEATURES) for seed in (0, 1))
    assert (one.frequencies == other.frequencies).mean() < 0.001
    assert (one.phases == other.phases).mean() < 0.001


@pytest.mark.parametrize("state_dim", [2, 12])
def test_length_scales_grow_with_the_dimension(state_dim, key):
    """In proportion, beyond three components: smooth kernels learn best where data are thin."""
    part = RandomFeatures(NUM_FEATURES, (1.5, 1.5))
    found = part.prepare(None, key, state_dim).frequencies
    wanted = draw_features(key, state_dim, NUM_FEATURES, (1.5, 1.5)).frequencies
    np.testing.assert_allclose(found * max(1, state_dim / 3), wanted, rtol=1e-5)
