"""What adversarial features may change in the state kernel, and what not."""

import jax.numpy as jnp
import numpy as np
import pytest

from daleth.measures import StateMeasures
from daleth.networks import NormalisedFeatures
from daleth.parts import Gram
from daleth.targets import exact_target


def linear_features(matrix):
    """The features `x + matrix x`."""
    matrix = jnp.asarray(matrix, jnp.float32)
    return NormalisedFeatures(((matrix,),), ((jnp.ones(len(matrix)),),))


@pytest.fixture
def pair():
    """Atoms and a target that is part known and part bootstrapped."""
    rng = np.random.default_rng(0)
    ys, yts, walk = (
        jnp.asarray(rng.normal(size=n), jnp.float32) for n in ((3, 4, 2), (3, 4, 2), (6, 2))
    )
    weights, ones = jnp.full((3, 4), 0.25), jnp.full(3, 1 / 3)
    target = exact_target(
        walk, jnp.int32(5), jnp.bool_(False), StateMeasures(yts, weights, ones), gamma=0.9
    )
    return StateMeasures(ys, weights, ones), target


@pytest.mark.parametrize("drawn", [True, False])
def test_the_scale_of_features_makes_no_difference(pair, drawn):
    def across(prepared):
        (distances,) = Gram().compare(prepared, *pair, drawn=drawn, unbiased=drawn)
        return distances.across()

    plain = across(None)
    np.testing.assert_allclose(across(linear_features(0.7 * np.eye(2))), plain, atol=1e-5)
    np.testing.assert_allclose(across(linear_features(-0.6 * np.eye(2))), plain, atol=1e-5)
    assert abs(across(linear_features([[0.7, 0], [0, -0.7]])) - plain).max() > 0.01


def test_where_all_points_are_one_nothing_is_divided_by_zero(pair):
    weights = pair[0].point_weights
    source = StateMeasures(jnp.ones((3, 4, 2)), weights, pair[0].atom_weights)
    target = exact_target(jnp.ones((6, 2)), jnp.int32(5), jnp.bool_(False), source, gamma=0.9)
    (distances,) = Gram().compare(
        linear_features(0.7 * np.eye(2)), source, target, drawn=False, unbiased=False
    )
    np.testing.assert_allclose(distances.across(), 0, atol=1e-5)
