"""Comparisons of two sets of atoms: values by hand, reductions, gradients."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from daleth.distances import EmbeddingDistances
from daleth.measures import StateMeasures
from daleth.parts import Energy, InverseMultiquadric, Matched, Particles, RandomFeatures
from daleth.targets import exact_target

ROUNDING = 3e-4  # √softening, and rounding of squared distances under a root


def compare(comparison, own, other):
    """The discrepancy of sets of points that stand for mean embeddings."""
    own, other = (jnp.asarray(side, jnp.float32) for side in (own, other))
    return float(comparison(EmbeddingDistances.of(own, other)))


def clouds(seed, num=4, num_others=4):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(num, 3)), 0.5 + rng.normal(size=(num_others, 3))


def test_energy_by_hand():
    # Across 3, 4, 0, 5: mean 3. Within 3 twice and 0 twice; in the target 4 twice and 0 twice.
    own, other = [[0.0, 0.0], [3.0, 0.0]], [[3.0, 0.0], [0.0, 4.0]]
    across = (3 + 4 + 0 + 5) / 4
    within, within_target = 2 * 3 / 4, 2 * 5 / 4
    found = compare(Energy(), own, other)
    np.testing.assert_allclose(found, 2 * across - within - within_target, atol=ROUNDING)


def test_energy_on_a_line_is_twice_the_squared_cramer_distance():
    own, other = np.array([[0.0], [2.0], [5.0]]), np.array([[1.0], [1.5], [7.0]])
    grid = np.linspace(-1, 8, 900_001)
    difference = (own <= grid).mean(axis=0) - (other <= grid).mean(axis=0)
    cramer = (difference**2).mean() * 9
    np.testing.assert_allclose(compare(Energy(), own, other), 2 * cramer, atol=1e-3)


def test_energy_of_one_atom_is_twice_the_distance():
    found = compare(Energy(), [[1.0, 2.0]], [[4.0, 6.0]])
    np.testing.assert_allclose(found, 2 * 5, atol=ROUNDING)


@pytest.mark.parametrize("comparison", [Energy(), InverseMultiquadric()])
def test_zero_between_equal_sets_symmetric_and_blind_to_order(comparison):
    own, other = clouds(0)
    np.testing.assert_allclose(compare(comparison, own, own[::-1]), 0, atol=ROUNDING)
    forth = compare(comparison, own, other)
    np.testing.assert_allclose(forth, compare(comparison, other, own), rtol=1e-3)
    np.testing.assert_allclose(forth, compare(comparison, own[[2, 0, 3, 1]], other), rtol=1e-3)
    assert forth > 0.05


def test_matched_is_the_sum_of_squared_distances_to_the_own_target():
    own, other = clouds(1)
    wanted = ((own - other) ** 2).sum()
    np.testing.assert_allclose(compare(Matched(), own, other), wanted, rtol=1e-5)
    assert compare(Matched(), own, own[::-1]) > 1


def test_a_random_choice_of_targets_has_the_mean_gradient_of_all():
    """The mean over all choices of two targets of five, exactly, and not of the same value."""
    own, other = (jnp.asarray(side, jnp.float32) for side in clouds(2, 3, 5))
    gradient = jax.jit(jax.grad(lambda a, b: Energy()(EmbeddingDistances.of(a, b))))
    choices = [gradient(own, other[jnp.array(c)]) for c in itertools.combinations(range(5), 2)]
    np.testing.assert_allclose(np.mean(choices, axis=0), gradient(own, other), atol=1e-5)
    assert np.std(choices, axis=0).max() > 0.05


@pytest.fixture(scope="module")
def small_problem():
    """In double precision: particles, their network, and a fixed target with a known part."""
    with jax.enable_x64(True):
        rng = np.random.default_rng(4)
        part = Particles(num_atoms=3, num_points=4, width=8, depth=2, num_frequencies=4)
        network = part.init(jax.random.key(0), 2)
        bootstrap = StateMeasures(jnp.asarray(rng.normal(size=(2, 4, 2))))
        states = jnp.asarray(rng.normal(size=(3, 2)))
        target = exact_target(states, jnp.array(2), jnp.array(False), bootstrap, 0.8)
        target = jax.tree.map(lambda leaf: leaf.astype(float), target)
        features = RandomFeatures(num_features=8)
        prepared = features.prepare(None, jax.random.key(1), 2)

        @jax.jit
        def loss_of_points(points):
            settings = {"drawn": False, "unbiased": False}
            return Energy()(features.compare(prepared, StateMeasures(points), target, **settings))

        @jax.jit
        def loss_of_network(network):
            return loss_of_points(part.measures(network, states[0], jax.random.key(0)).points)

        points = part.measures(network, states[0], jax.random.key(0)).points
        return {"points": (loss_of_points, points), "network": (loss_of_network, network)}


@pytest.mark.parametrize("where", ["points", "network"])
def test_gradients_by_finite_differences(where, small_problem):
    with jax.enable_x64(True):
        loss, place = small_problem[where]
        gradient = jax.grad(loss)(place)
        rng, step = np.random.default_rng(5), 1e-5
        for _ in range(3):
            direction = jax.tree.map(lambda leaf: jnp.asarray(rng.normal(size=leaf.shape)), place)
            if where == "network":
                # The frequencies are drawn once and for all.
                fixed = jnp.zeros_like(direction.frequencies)
                direction = direction.__class__(
                    fixed, direction.weights, direction.biases, direction.out_weight,
                    direction.out_bias,
                )  # fmt: skip
                assert not gradient.frequencies.any()
            slope = sum(
                float((g * d).sum())
                for g, d in zip(*map(jax.tree.leaves, (gradient, direction)), strict=True)
            )
            up, down = (
                loss(jax.tree.map(lambda x, d, s=sign: x + s * step * d, place, direction))
                for sign in (1, -1)
            )
            np.testing.assert_allclose(slope, float(up - down) / (2 * step), rtol=1e-5)


def test_gradients_stay_finite_where_atoms_and_targets_meet():
    """A deterministic future, learned: all atoms and all targets are one point."""
    gradient = jax.grad(lambda a: Energy()(EmbeddingDistances.of(a, jnp.ones((4, 3)))))
    found = gradient(jnp.ones((4, 3)))
    assert jnp.isfinite(found).all()
    assert jnp.abs(found).max() < 1e-3
