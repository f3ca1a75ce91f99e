"""Generators and invertible features: batching, the Lipschitz bound, injectivity, the inverse."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from daleth.networks import (
    Generator,
    InvertibleFeatures,
    Plateaus,
    generate,
    generate_particles,
    make_generators,
    make_particle_network,
    normalise,
)
from daleth.networks.invertible import spectral_norm

LIPSCHITZ = 0.9
NOWHERE = Plateaus.at(jnp.zeros((2, 1)), jnp.zeros((2, 1), bool), 0.0)


def perturbed(features, scale):
    """Weights after something like training: the norms grow far beyond the bound."""
    rng = np.random.default_rng(0)
    return jax.tree.map(
        lambda x: x + (scale * rng.normal(size=x.shape)).astype(np.float32), features
    )


def power_iteration_norm(matrix, num_steps=2_000):
    vector = np.random.default_rng(0).normal(size=matrix.shape[1])
    for _ in range(num_steps):
        vector = matrix.T @ (matrix @ vector)
        vector /= np.linalg.norm(vector)
    return np.linalg.norm(matrix @ vector)


def test_generator_by_hand():
    generator = Generator(jax.random.key(0), state_dim=1, noise_dim=1, width=2, depth=1)
    layers = [[[1.0, 0.0], [-1.0, 2.0]], [[3.0, 5.0]]], [[0.0, 1.0], [-1.0]]
    leaves = [jnp.array(x) for part in layers for x in part]
    generator = jax.tree.unflatten(jax.tree.structure(generator), leaves)
    # Hidden units relu(2) = 2 and relu(-2 + 2 + 1) = 1, then 3 * 2 + 5 * 1 - 1.
    np.testing.assert_allclose(generator(jnp.array([2.0]), jnp.array([1.0])), [10.0])


def test_generate_equals_each_generator_on_each_noise_vector(key):
    generators = make_generators(key, 3, state_dim=2, width=16)
    noise = jnp.asarray(np.random.default_rng(0).normal(size=(3, 5, 8)), jnp.float32)
    source_state = jnp.array([0.5, -2.0])
    every = jax.jit(jax.vmap(jax.vmap(Generator.__call__, (None, None, 0)), (0, None, 0)))
    found = jax.jit(generate)(generators, source_state, noise)
    np.testing.assert_allclose(found, every(generators, source_state, noise), atol=1e-6)
    assert len(np.unique(np.round(found, 4))) == found.size  # no two atoms are the same


def test_the_paper_sizes(key):
    generators = jax.eval_shape(lambda key: make_generators(key, num_atoms=2, state_dim=3), key)
    assert [w.shape for w in generators.weights] == [
        (2, 256, 11), (2, 256, 256), (2, 256, 256), (2, 3, 256)
    ]  # fmt: skip
    features = jax.eval_shape(lambda key: InvertibleFeatures(key, state_dim=3), key)
    assert [w.shape for block in features.weights for w in block] == 2 * [(256, 8), (8, 256)]


@pytest.mark.parametrize("num_layers", [1, 2, 3])
@pytest.mark.parametrize("scale", [0.0, 1.0])
def test_every_branch_keeps_its_lipschitz_bound(num_layers, scale, key):
    features = InvertibleFeatures(key, state_dim=3, width=32, num_layers=num_layers)
    features = perturbed(features, scale)
    for raw, scaled in zip(features.weights, normalise(features).weights, strict=True):
        norms = [power_iteration_norm(np.asarray(w, np.float64)) for w in scaled]
        assert np.prod(norms) <= LIPSCHITZ * (1 + 1e-5)
        if scale:
            np.testing.assert_allclose(np.prod(norms), LIPSCHITZ, rtol=1e-5)
        for w, w_scaled in zip(raw, scaled, strict=True):
            ratio = np.asarray(w_scaled) / np.asarray(w)
            np.testing.assert_allclose(ratio, ratio[0, 0], rtol=1e-4)


def test_small_weights_are_left_alone(key):
    features = jax.tree.map(lambda leaf: 0.1 * leaf, InvertibleFeatures(key, state_dim=3, width=8))
    for raw, scaled in zip(features.weights, normalise(features).weights, strict=True):
        for w, w_scaled in zip(raw, scaled, strict=True):
            np.testing.assert_array_equal(w, w_scaled)


def test_features_are_injective_with_an_inverse(key):
    features = normalise(perturbed(InvertibleFeatures(key, state_dim=2, width=32), 1.0))
    xs, ys = 2 * np.random.default_rng(1).normal(size=(2, 3, 500, 2)).astype(np.float32)
    # Half of the pairs are close together, where a fold would show.
    ys[:, ::2] = xs[:, ::2] + 1e-2 * ys[:, ::2]
    embed = jax.jit(lambda network, states: network(states))
    images, others = np.array(embed(features, xs)), np.array(embed(features, ys))
    ratio = np.linalg.norm(images - others, axis=-1) / np.linalg.norm(xs - ys, axis=-1)
    assert ratio.min() >= (1 - LIPSCHITZ) ** 2
    assert ratio.max() <= (1 + LIPSCHITZ) ** 2
    assert ratio.max() > 1.1  # the map is not close to the identity
    assert ratio.min() < 0.9
    padded = np.pad(xs, ((0, 0), (0, 0), (0, 6)))
    inverse = jax.jit(lambda network, points: network.inverse(points))
    np.testing.assert_allclose(inverse(features, images), padded, atol=1e-5)


@pytest.mark.parametrize("shape", [(8, 20), (20, 8), (1, 5), (4, 4)])
def test_the_largest_singular_value_and_its_gradient(shape, key):
    weight = jax.random.normal(key, shape)
    left, values, right = np.linalg.svd(np.asarray(weight, np.float64), full_matrices=False)
    np.testing.assert_allclose(spectral_norm(weight), values[0], rtol=1e-6)
    gradient = jax.grad(spectral_norm)(weight)
    np.testing.assert_allclose(gradient, left[:, :1] * right[:1], atol=1e-5)


def test_singular_values_that_are_equal_or_zero():
    assert spectral_norm(jnp.diag(jnp.array([2.0, 2.0, 2.0 - 1e-5]))) == pytest.approx(2, rel=1e-5)
    assert spectral_norm(jnp.zeros((3, 2))) == pytest.approx(0, abs=1e-9)


def test_gradient_goes_through_the_norm(key):
    features = perturbed(InvertibleFeatures(key, state_dim=2, num_features=4, width=8), 1.0)
    states = jnp.asarray(np.random.default_rng(1).normal(size=(5, 2)), jnp.float32)

    def loss(network):
        return jnp.sin(normalise(network)(states)).sum()

    gradient = jax.jit(jax.grad(loss))(features)
    # The scaled map does not change along its own raw weight, so the slope there is 0.
    for block, raw in zip(gradient.weights, features.weights, strict=True):
        for slope, w in zip(block, raw, strict=True):
            assert abs((slope * w).sum()) < 1e-4 * jnp.linalg.norm(slope) * jnp.linalg.norm(w)
            assert jnp.linalg.norm(slope) > 0


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"num_features": 2}, "num_features must be at least the state dimension 3"),
        ({"lipschitz": 1.0}, r"lipschitz must lie in \(0, 1\), got 1"),
        ({"num_layers": 0}, "num_layers must be at least 1, got 0"),
    ],
)
def test_bad_sizes_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        InvertibleFeatures(jax.random.key(0), state_dim=3, **settings)


def test_particles_of_a_fresh_network_differ_between_atoms_more_than_between_states():
    network = make_particle_network(jax.random.key(0), 20, 2, 30, 128, 2, 64, 1.8, NOWHERE)
    states = jax.random.normal(jax.random.key(1), (50, 2))
    points, _ = jax.vmap(generate_particles, (None, 0))(network, states)
    by_state = np.std(points, axis=0).mean()
    by_point = np.std(np.mean(points, axis=0), axis=(0, 1)).mean()
    assert 0.15 < by_state < 0.45
    assert 0.9 < by_point < 1.1
