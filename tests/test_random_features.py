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

NUM_FEATURES = 50_000


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


SETS = (weighted_measures(0, 3, 4), weighted_measures(1, 2, 5))
FIRST = jnp.asarray(np.random.default_rng(2).normal(size=(3, 2)), jnp.float32)
TARGET = Target(FIRST, jnp.array([0.3, 0.2, 0.1]), SETS[1], jnp.array(0.4))


def exact_distances(gram):
    """The squared MMDs of all pairs in double precision, by the kernel `gram(xs, ys)`."""
    atoms, targets = (
        [(np.asarray(p, np.float64), np.asarray(w, np.float64)) for p, w in zip(*side, strict=True)]
        for side in (
            (measures.points, measures.point_weights) for measures in (SETS[0], TARGET.measures())
        )
    )

    def product(one, other):
        return one[1] @ gram(one[0], other[0]) @ other[1]

    def pairs(ones, others):
        return np.array(
            [[product(a, a) + product(b, b) - 2 * product(a, b) for b in others] for a in ones]
        )

    return pairs(atoms, targets), pairs(atoms, atoms), pairs(targets, targets)


def compared(part, key):
    prepared = part.prepare(None, key, 2)
    return part.compare(prepared, SETS[0], TARGET, drawn=False, unbiased=False)


def test_squared_distances_are_those_of_the_kernel(key):
    """Weighted atoms to a target with a known part: the squared MMD within 4 standard errors."""
    part = RandomFeatures(NUM_FEATURES, (1.0, 1.0), linear=0.0, quadratic=0.0)
    (distances,) = compared(part, key)

    def check(found, own, other, wanted):
        terms = NUM_FEATURES * (own[:, None] - other) ** 2
        error = np.asarray(terms).std(axis=-1) / np.sqrt(NUM_FEATURES)
        # Besides chance there is rounding: sums of 50,000 numbers in single precision.
        assert (np.abs(found - wanted) < 4 * error + 1e-4).all()
        assert (error < 0.05).all()

    across, within, within_target = exact_distances(
        lambda xs, ys: kernel(((xs[:, None] - ys) ** 2).sum(-1), (1.0, 1.0))
    )
    check(distances.across(), distances.own, distances.other, across)
    check(distances.within(), distances.own, distances.own, within)
    check(distances.within_target(), distances.other, distances.other, within_target)


def test_moments_have_distances_of_their_own(key):
    """Of first and of second moments, exactly, whatever the cosines are."""
    _, *moments = compared(RandomFeatures(4, linear=0.7, quadratic=0.2), key)
    grams = [lambda xs, ys: 0.49 * xs @ ys.T, lambda xs, ys: 0.04 * xs**2 @ (ys**2).T]
    for distances, gram in zip(moments, grams, strict=True):
        across, within, within_target = exact_distances(gram)
        np.testing.assert_allclose(distances.across(), across, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(distances.within(), within, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(distances.within_target(), within_target, rtol=1e-4, atol=1e-5)


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


def test_distances_of_draws_are_unbiased_in_cosines_and_not_negative_in_moments(key):
    """Of a few far draws: else an inverse multiquadric would gain by spreading them for ever."""
    draws = 20 * jax.random.normal(jax.random.key(1), (8, 2, 2))
    target = Target(jnp.zeros((0, 2)), jnp.zeros(0), StateMeasures(draws[4:]), jnp.array(1.0))
    part = RandomFeatures(num_features=64)
    prepared = part.prepare(None, key, 2)
    compared = part.compare(prepared, StateMeasures(draws[:4]), target, drawn=True, unbiased=True)
    cosines, *moments = (np.asarray(distances.across()) for distances in compared)
    assert (cosines < 0).any()
    for distances in moments:
        assert (distances > -1e-3).all()
