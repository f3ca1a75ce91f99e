"""Comparisons of two sets of atoms: values by hand, reductions, gradients."""

import itertools
from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from daleth.data import Problem
from daleth.discrepancy import Masses
from daleth.distances import EmbeddingDistances
from daleth.measures import StateMeasures
from daleth.parts import (
    Energy,
    InverseMultiquadric,
    Matched,
    Particles,
    RandomFeatures,
    WeightedParticles,
)
from daleth.random_features import CosineFeatures
from daleth.targets import Target

KEY = jax.random.key(0)
ROUNDING = 3e-4  # √softening, and rounding of squared distances under a root


def compare(comparison, own, other, own_weights=None, other_weights=None):
    """The discrepancy of sets of points that stand for mean embeddings, equally likely or not."""
    own, other = (jnp.asarray(side, jnp.float32) for side in (own, other))
    masses = Masses(weights_of(own, own_weights), weights_of(other, other_weights))
    return float(comparison(EmbeddingDistances.of(own, other), masses, KEY))


def weights_of(points, weights=None):
    return jnp.full(len(points), 1 / len(points)) if weights is None else jnp.asarray(weights)


def equally_likely(comparison, own, other, key=KEY):
    """The same where gradients are taken."""
    masses = Masses.equal(len(own), len(other))
    return comparison(EmbeddingDistances.of(own, other), masses, key)


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


def test_energy_of_weighted_atoms_by_hand():
    # Lengths as above. Across 3, 4, 0, 5 with weights .25 and .75 to .4 and .6.
    own, other = [[0.0, 0.0], [3.0, 0.0]], [[3.0, 0.0], [0.0, 4.0]]
    found = compare(Energy(), own, other, [0.25, 0.75], [0.4, 0.6])
    across = 0.25 * (0.4 * 3 + 0.6 * 4) + 0.75 * (0.4 * 0 + 0.6 * 5)
    within, within_target = 2 * 0.25 * 0.75 * 3, 2 * 0.4 * 0.6 * 5
    np.testing.assert_allclose(found, 2 * across - within - within_target, atol=ROUNDING)


def test_an_atom_of_twice_the_weight_is_two_atoms():
    own, other = clouds(6, 2, 3)
    double = compare(Energy(), own[[0, 1, 1]], other[[0, 1, 2, 2]])
    single = compare(Energy(), own, other, [1 / 3, 2 / 3], [0.25, 0.25, 0.5])
    np.testing.assert_allclose(single, double, atol=ROUNDING)
    assert abs(single - compare(Energy(), own, other)) > 0.01


def test_energy_on_a_line_is_twice_the_squared_cramer_distance():
    own, other = np.array([[0.0], [2.0], [5.0]]), np.array([[1.0], [1.5], [7.0]])
    grid = np.linspace(-1, 8, 900_001)
    difference = (own <= grid).mean(axis=0) - (other <= grid).mean(axis=0)
    cramer = (difference**2).mean() * 9
    np.testing.assert_allclose(compare(Energy(), own, other), 2 * cramer, atol=1e-3)


def test_energy_of_one_atom_is_twice_the_distance():
    found = compare(Energy(), [[1.0, 2.0]], [[4.0, 6.0]])
    np.testing.assert_allclose(found, 2 * 5, atol=ROUNDING)


@pytest.mark.parametrize("repulsion", [0.0, 1 / 3, 0.5])
@pytest.mark.parametrize("num_partners", [4, 5])
def test_repulsion_moves_the_best_atoms_of_a_line_outwards(repulsion, num_partners):
    """At the levels of the docstring the gradient is 0, and between them it is not.

    With four partners of five, the mean over all choices.
    """
    levels = 0.5 + (jnp.arange(5.0) - 2) / (5 - repulsion)
    uniform = (jnp.arange(1000.0)[:, None] + 0.5) / 1000
    keys = jax.random.split(KEY, 4000 if num_partners < 5 else 1)

    @jax.jit
    @jax.grad
    def gradient(atoms):
        comparison = Energy(num_partners, repulsion)
        loss = partial(equally_likely, comparison, atoms[:, None], uniform)
        return jax.vmap(loss)(keys).mean()

    np.testing.assert_allclose(gradient(levels), 0, atol=0.01)
    assert np.abs(gradient(levels + 0.05)).min() > 0.03


@pytest.mark.parametrize("repulsion", [-0.1, 1.0, float("nan")])
def test_no_repulsion_that_drives_atoms_apart(repulsion):
    with pytest.raises(ValueError, match="repulsion must"):
        Energy(repulsion=repulsion)


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
    gradient = jax.jit(jax.grad(partial(equally_likely, Energy())))
    choices = [gradient(own, other[jnp.array(c)]) for c in itertools.combinations(range(5), 2)]
    np.testing.assert_allclose(np.mean(choices, axis=0), gradient(own, other), atol=1e-5)
    assert np.std(choices, axis=0).max() > 0.05


def test_a_random_choice_of_partners_has_the_mean_gradient_of_all():
    """In atoms and in weights, over 2,000 choices of two of four, within four standard errors."""
    own, other = (jnp.asarray(side, jnp.float32) for side in clouds(3, 4, 5))
    weights = jnp.array([0.1, 0.2, 0.3, 0.4])

    def energy_of(num_partners):
        def loss(atoms_and_weights, key):
            atoms, weights = atoms_and_weights
            masses = Masses(weights, weights_of(other))
            return Energy(num_partners)(EmbeddingDistances.of(atoms, other), masses, key)

        return jax.jit(jax.vmap(jax.grad(loss), (None, 0)))

    keys = jax.random.split(KEY, 2000)
    few, all_of_them = energy_of(2)((own, weights), keys), energy_of(4)((own, weights), keys[:1])
    for gradients, wanted in zip(few, all_of_them, strict=True):
        error = gradients.mean(axis=0) - wanted[0]
        assert np.abs(error / (gradients.std(axis=0) / 2000**0.5)).max() < 4
        assert gradients.std(axis=0).max() > 0.02


def test_partners_are_pushed_as_hard_as_the_other_atoms():
    """64 atoms on a circle, 16 partners: were partners moved too, it would be 1 + 64/16 = 5 times.

    The target at the centre pulls each atom with 2/64; what is left of the gradient is the push.
    """
    angles = 2 * jnp.pi * jnp.arange(64) / 64
    circle = jnp.stack([jnp.cos(angles), jnp.sin(angles)], axis=1)
    gradient = jax.jit(jax.grad(partial(equally_likely, Energy(16))))(circle, jnp.zeros((1, 2)))
    push = 2 / 64 - jnp.sum(gradient * circle, axis=1)
    is_partner = jnp.isin(jnp.arange(64), jax.random.permutation(KEY, 64)[:16])
    ratio = push[is_partner].mean() / push[~is_partner].mean()
    assert 0.8 < ratio < 1.25


@pytest.fixture(scope="module")
def small_problem():
    """In double precision: particles, their network, and a fixed target with a known part."""
    with jax.enable_x64(True):
        rng = np.random.default_rng(4)
        part = Particles(num_atoms=3, num_points=4, width=8, depth=2, num_frequencies=4)
        shapes = jax.eval_shape(lambda key: part.init(key, Problem.plain(2)), jax.random.key(0))
        network = jax.tree.map(lambda leaf: jnp.asarray(rng.normal(size=leaf.shape)), shapes)
        # No value recurs: on a plateau the gradient is that of the identity, by design.
        flat = jax.tree.map(jnp.zeros_like, network.plateaus)
        network = eqx.tree_at(lambda n: n.plateaus, network, flat)
        bootstrap = StateMeasures(rng.normal(size=(2, 4, 2)))
        states = jnp.asarray(rng.normal(size=(3, 2)))
        known = jnp.array([0.3, 0.2, 0.1])
        target = Target(states, known, bootstrap, jnp.array(0.4))
        features = RandomFeatures(num_features=8)
        frequencies, phases = rng.normal(size=(2, 8)), rng.random(8)
        cosines = CosineFeatures(jnp.asarray(frequencies), jnp.asarray(phases), 0.5)

        def loss(measures):
            compared = features.compare(cosines, measures, target, drawn=False, unbiased=False)
            masses = Masses(measures.atom_weights, bootstrap.atom_weights)
            return sum(Energy()(distances, masses, KEY) for distances in compared)

        def loss_of_network(kind, network):
            return loss(kind.measures(network, states[0], jax.random.key(0)))

        weighted = WeightedParticles(**part.config())
        points = jnp.asarray(rng.normal(size=(3, 4, 2)))
        places = {"points": (lambda y: loss(StateMeasures(y)), points)}
        return places | {
            "network": (partial(loss_of_network, part), network),
            "network of weights": (partial(loss_of_network, weighted), network),
        }


@pytest.mark.parametrize("where", ["points", "network", "network of weights"])
def test_gradients_by_finite_differences(where, small_problem):
    with jax.enable_x64(True):
        loss, place = small_problem[where]
        value_and_gradient = jax.jit(jax.value_and_grad(loss))
        _, gradient = value_and_gradient(place)
        if where != "points":
            # Frequencies and plateaus are given once and for all: nothing may train them.
            assert not gradient.frequencies.any()
            assert not gradient.plateaus.centres.any()
            assert not gradient.plateaus.half_widths.any()
        rng = np.random.default_rng(5)
        for _ in range(3):
            direction = jax.tree.map(
                # No way to go where nothing is trained.
                lambda x, g: rng.normal(size=x.shape) * bool((g != 0).any()),
                place,
                gradient,
            )
            slope = jax.tree.reduce(
                np.add, jax.tree.map(lambda g, d: np.sum(g * d), gradient, direction)
            )
            step = 1e-5
            up, down = (
                value_and_gradient(jax.tree.map(lambda x, d, s=sign: x + s * d, place, direction))[
                    0
                ]
                for sign in (step, -step)
            )
            np.testing.assert_allclose(slope, (up - down) / (2 * step), rtol=1e-5)


def test_gradients_stay_finite_where_atoms_and_targets_meet():
    """A deterministic future, learned: all atoms and all targets are one point."""
    ones = np.ones((4, 3), np.float32)
    found = jax.jit(jax.grad(partial(equally_likely, Energy())))(ones, jnp.asarray(ones))
    assert jnp.isfinite(found).all()
    assert jnp.abs(found).max() < 1e-3
