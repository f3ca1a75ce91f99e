"""Points that rest on values: by hand, and as a monotone map onto the whole line."""

import jax
import jax.numpy as jnp
import numpy as np

from daleth.networks import Plateaus

VALUES = jnp.array([[-1.0, 0.0, 2.0], [5.0, 0.0, 0.0]])
PRESENT = jnp.array([[True, True, True], [True, False, False]])
HALF_WIDTH = 0.25
REST = Plateaus.at(VALUES, PRESENT, HALF_WIDTH)


def test_by_hand():
    # Three plateaus of width 1/2 stretch the outputs: that of the middle value stays where it is,
    # the outer ones move away from it by 1/2.
    np.testing.assert_allclose(REST.centres[0], [-1.5, 0.0, 2.5])
    outputs = jnp.array([-2.0, -1.75, -1.25, -1.0, -0.2, 0.25, 1.25, 2.25, 2.75, 3.0])
    points = [-1.25, -1.0, -1.0, -0.75, 0.0, 0.0, 1.0, 2.0, 2.0, 2.25]
    both = REST(jnp.stack([outputs, jnp.full(10, 5.2)], axis=1))
    np.testing.assert_allclose(both[:, 0], points, atol=1e-6)
    np.testing.assert_allclose(both[:, 1], 5.0, atol=1e-6)


def test_values_that_lie_close_together_have_narrow_plateaus():
    grid = Plateaus.at(jnp.array([[0.0, 0.1, 1.0]]), jnp.ones((1, 3), bool), HALF_WIDTH)
    np.testing.assert_allclose(grid.half_widths, [[0.05, 0.05, 0.25]], atol=1e-7)
    np.testing.assert_allclose(grid(grid.centres.T).ravel(), [0.0, 0.1, 1.0], atol=1e-6)


def test_every_point_can_be_met_and_order_is_kept():
    outputs = jnp.linspace(-6.0, 6.0, 24_001)
    points = np.asarray(REST(jnp.stack([outputs, outputs], axis=1)))
    steps = np.diff(points, axis=0)
    assert steps.min() > -2e-6
    assert steps.max() < 1e-3  # no gap: outputs are 0.5e-3 apart
    for value in (-1.0, 0.0, 2.0):
        at = np.abs(points[:, 0] - value) < 1e-5
        assert abs(at.mean() * 12 - 2 * HALF_WIDTH) < 0.01


def test_without_values_nothing_changes(key):
    outputs = jax.random.normal(key, (50, 2))
    nowhere = Plateaus.at(VALUES, jnp.zeros_like(PRESENT), HALF_WIDTH)
    np.testing.assert_array_equal(nowhere(outputs), outputs)
    np.testing.assert_array_equal(Plateaus.at(VALUES, PRESENT, 0.0)(outputs), outputs)


def test_gradients_pass_through_plateaus_and_do_not_move_them():
    slopes = jax.grad(lambda rest, y: jnp.sum(rest(y)), argnums=(0, 1))(REST, jnp.zeros((4, 2)))
    np.testing.assert_array_equal(slopes[1], 1.0)
    for leaf in jax.tree.leaves(slopes[0]):
        np.testing.assert_array_equal(leaf, 0.0)
