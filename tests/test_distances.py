"""All distances between two sets of atoms: three ways to compute them, one meaning."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from daleth.discrepancy import SMALLEST_BANDWIDTH, Masses, squared_mmd
from daleth.distances import (
    EmbeddingDistances,
    SampleDistances,
    WeightedDistances,
    two_level_mmd,
)
from daleth.kernels import rational_quadratic
from daleth.measures import StateMeasures
from daleth.parts import RandomFeatures
from daleth.targets import Target

NAMES = ("within", "within_target", "across", "matched", "resolution")
all_distances = jax.jit(lambda distances: {name: getattr(distances, name)() for name in NAMES})


def draws(seed, num_atoms=3, num_draws=5, state_dim=2):
    """Atoms at different places, and draws from other atoms near them."""
    rng = np.random.default_rng(seed)
    places = 2 * rng.normal(size=(num_atoms, 1, state_dim))
    noise = rng.normal(size=(2, num_atoms, num_draws, state_dim))
    return tuple(jnp.asarray(side, jnp.float32) for side in places + noise)


def test_weighted_points_that_are_draws_give_the_estimators_for_draws():
    ys, yts = draws(0)
    equal = jnp.full(ys.shape[:2], 1 / ys.shape[1])
    found = all_distances(WeightedDistances(ys, equal, yts, equal, ys.shape[1]))
    wanted = all_distances(SampleDistances(ys, yts))
    for name in NAMES:
        np.testing.assert_allclose(found[name], wanted[name], atol=5e-6, err_msg=name)
    # What `matched` is made of: the estimator of one pair.
    wanted = jax.jit(squared_mmd)(ys[2], yts[2])
    np.testing.assert_allclose(found["matched"][2], wanted, atol=5e-6)


def test_embeddings_give_the_distances_of_weighted_points():
    """On a line of five states a kernel is a matrix, and its root an exact feature map."""
    rng = np.random.default_rng(3)
    places = np.arange(5.0)[:, None]
    gram = np.asarray(rational_quadratic(jnp.asarray((places - places.T) ** 2, jnp.float32)))
    values, vectors = np.linalg.eigh(gram.astype(np.float64))
    features = vectors * np.sqrt(values)
    own, other = (rng.dirichlet(np.ones(5), size=num) for num in (3, 3))
    points = jnp.broadcast_to(jnp.asarray(places, jnp.float32), (3, 5, 1))
    weighted = WeightedDistances(
        points, jnp.asarray(own, jnp.float32), points, jnp.asarray(other, jnp.float32), 0
    )
    embedded = EmbeddingDistances.of(
        *(jnp.asarray(side @ features, jnp.float32) for side in (own, other))
    )

    def by_hand(ones, others):
        return np.array([[(a - b) @ gram @ (a - b) for b in others] for a in ones])

    for distances in (weighted, embedded):
        found = all_distances(distances)
        np.testing.assert_allclose(found["within"], by_hand(own, own), atol=3e-6)
        np.testing.assert_allclose(found["within_target"], by_hand(other, other), atol=3e-6)
        np.testing.assert_allclose(found["across"], by_hand(own, other), atol=3e-6)
        np.testing.assert_allclose(found["matched"], np.diag(by_hand(own, other)), atol=3e-6)
        assert found["resolution"] == 0


def test_biases_are_taken_off_what_they_were_put_on():
    own, other = jnp.eye(2), jnp.array([[3.0, 0.0], [0.0, 4.0]])
    found = all_distances(
        EmbeddingDistances.of(own, other, jnp.array([0.1, 0.2]), jnp.array([1.0, 2.0]))
    )
    np.testing.assert_allclose(found["within"], [[0, 1.7], [1.7, 0]], rtol=1e-6)
    np.testing.assert_allclose(found["within_target"], [[0, 22], [22, 0]], rtol=1e-6)
    wanted = [[4 - 0.1 - 1, 17 - 0.1 - 2], [10 - 0.2 - 1, 9 - 0.2 - 2]]
    np.testing.assert_allclose(found["across"], wanted, rtol=1e-6)
    np.testing.assert_allclose(found["matched"], np.diag(wanted), rtol=1e-6)
    np.testing.assert_allclose(found["resolution"], (0.15 + 1.5) / 2, rtol=1e-6)


# Two states; atoms and the bootstrapped part of a target are laws on them, the rest is known.
STATES = np.array([[0.0], [1.5]])
ATOMS, BOOTSTRAP = np.array([0.2, 0.7]), np.array([0.5, 0.9])  # of being in the second state
KNOWN, MASS = np.array([0.35, 0.15]), 0.5


def gram_of(kernel_features=None):
    if kernel_features is not None:
        values = np.asarray(kernel_features(jnp.asarray(STATES, jnp.float32)), np.float64)
        return values @ values.T
    return np.asarray(rational_quadratic(jnp.asarray((STATES - STATES.T) ** 2, jnp.float32)))


def exact_distances(gram):
    laws = np.stack([1 - ATOMS, ATOMS], axis=1)
    targets = KNOWN + MASS * np.stack([1 - BOOTSTRAP, BOOTSTRAP], axis=1)

    def pairs(ones, others):
        return np.array([[(a - b) @ gram @ (a - b) for b in others] for a in ones])

    return {
        "within": pairs(laws, laws),
        "within_target": pairs(targets, targets),
        "across": pairs(laws, targets),
        "matched": np.diag(pairs(laws, targets)),
    }


def drawn_pairs(num_repetitions=4_000, num_draws=3):
    """Independent draws of both sides, `[R, m, s, 1]`."""
    rng = np.random.default_rng(5)
    shape = (num_repetitions, 2, num_draws, 1)
    sides = (rng.random(shape) < law[:, None, None] for law in (ATOMS, BOOTSTRAP))
    return tuple(jnp.asarray(1.5 * side, jnp.float32) for side in sides)


def as_target(points):
    known = jnp.asarray(STATES, jnp.float32), jnp.asarray(KNOWN, jnp.float32)
    return Target(*known, StateMeasures(points), jnp.asarray(MASS))


def weighted(ys, yts):
    target = as_target(yts).measures()
    equal = jnp.full(ys.shape[:2], 1 / ys.shape[1])
    return WeightedDistances(ys, equal, target.points, target.point_weights, ys.shape[1])


FEATURES = RandomFeatures(6, linear=0.0, quadratic=0.0)
PREPARED = FEATURES.prepare(None, jax.random.key(1), 1)


def embedded(ys, yts):
    settings = {"drawn": True, "unbiased": True}
    (distances,) = FEATURES.compare(PREPARED, StateMeasures(ys), as_target(yts), **settings)
    return distances


@pytest.mark.parametrize("way", ["weighted", "embedded"])
def test_draws_beside_known_states_leave_no_bias(way):
    """Means over many draws of both sides, within 4 standard errors of the exact distances."""
    compare, gram = {
        "weighted": (weighted, gram_of()),
        "embedded": (embedded, gram_of(PREPARED)),
    }[way]
    found = jax.jit(jax.vmap(lambda ys, yts: all_distances(compare(ys, yts))))(*drawn_pairs())
    for name, wanted in exact_distances(gram).items():
        values = np.asarray(found[name], np.float64)
        error = values.std(axis=0) / np.sqrt(len(values))
        assert (np.abs(values.mean(axis=0) - wanted) <= 4 * error + 1e-6).all(), name
        # The bias that was taken off would have been seen.
        assert found["resolution"].mean() > 4 * error.max(), name


def test_two_level_loss_from_exact_distances_has_a_bandwidth_all_the_same():
    """Equal sets without draws: distances are 0, and so is the loss, whatever the bandwidth."""
    ys, _ = draws(0)
    same = jnp.broadcast_to(ys[:1], ys.shape)
    equal = jnp.full(ys.shape[:2], 1 / ys.shape[1])
    masses = Masses.equal(len(ys), len(ys))
    loss, info = jax.jit(two_level_mmd)(WeightedDistances(same, equal, same, equal, 0), masses)
    assert info["squared_bandwidth"] == np.float32(SMALLEST_BANDWIDTH)
    np.testing.assert_allclose(loss, 0, atol=0.02)


def test_distances_to_partners_are_columns_of_all(key):
    own, other = jax.random.normal(key, (2, 5, 3))
    distances = EmbeddingDistances.of(own, other, own_bias=jnp.arange(5.0))
    partners = jnp.array([3, 0])
    np.testing.assert_allclose(
        distances.within_to(partners), distances.within()[:, partners], atol=1e-5
    )


@pytest.mark.parametrize("kind", ["embeddings", "draws", "weighted points"])
def test_partners_are_held_fixed_and_the_other_atoms_are_not(kind, key):
    """The gradient of a distance in its first atom is that of all pairs, in the partner it is 0."""
    points = jax.random.normal(key, (4, 3, 2))
    weights = jnp.full((4, 3), 1 / 3)

    def distances(ys):
        if kind == "embeddings":
            return EmbeddingDistances.of(ys.reshape(4, 6), jnp.zeros((1, 6)))
        if kind == "draws":
            return SampleDistances(ys, ys[:1])
        return WeightedDistances(ys, weights, ys[:1], weights[:1], 0)

    partners = jnp.array([2, 1])
    to_one = jax.grad(lambda ys: distances(ys).within_to(partners)[0, 1])(points)
    to_all = jax.grad(lambda ys: distances(ys).within()[0, 1])(points)
    np.testing.assert_allclose(to_one[0], to_all[0], atol=1e-5)
    assert np.abs(to_all[1]).max() > 1e-3
    np.testing.assert_array_equal(to_one[1:], 0)
