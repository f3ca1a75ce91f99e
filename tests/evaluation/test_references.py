"""Forecasts without a model, and how far the data reach."""

import jax.numpy as jnp
import numpy as np
import pytest

from daleth import Trajectories
from daleth.data import Normalisation
from daleth.evaluation.references import atom_share, climatology_crps, nearest_returns
from daleth.evaluation.support import support


def test_climatology_leaves_the_start_itself_out():
    observed = np.array([[3.0, 0.0, 1.0, 7.0], [2.0, 2.0, 2.0, 2.0]])
    pairs = np.abs(observed[:, :, None] - observed[:, None])
    expected = pairs.sum(axis=2) / 3 - pairs.sum(axis=(1, 2))[:, None] / (2 * 4 * 3)
    np.testing.assert_allclose(climatology_crps(observed), expected, atol=1e-12)


@pytest.mark.parametrize("num_atoms", [1, 4, 20])
def test_atom_share_of_a_uniform_law(num_atoms):
    """The best m atoms miss 1 / 12m², a perfect forecast scores 1/6."""
    observed = np.linspace(-3, 5, 301)[None]
    assert atom_share(observed, num_atoms) == pytest.approx(1 / (2 * num_atoms**2), rel=0.02)


def test_nearest_trajectories_without_the_own_one():
    """Standing at 0, 1, ..., 5: from 0 the four nearest others are 1 to 4."""
    states = np.repeat(np.arange(6.0)[:, None, None], 3, axis=1)
    data = Trajectories.from_arrays(states, ends="terminated")
    found = nearest_returns(data, 0.5, 0.05, [lambda x: x[..., 0]], np.array([0, 15]), num_steps=2)
    assert found is not None
    np.testing.assert_allclose(np.sort(found.atoms[0, 0]), [2.0, 4.0, 6.0, 8.0, 10.0])
    np.testing.assert_allclose(np.sort(found.atoms[0, 1]), [0.0, 2.0, 4.0, 6.0, 8.0])
    few = nearest_returns(data[:4], 0.5, 0.05, [lambda x: x[..., 0]], np.array([0]), num_steps=2)
    assert few is None


def test_support_by_hand():
    """Two episodes one unit of scale 2 apart; frames next to a start in time do not count."""
    data = Trajectories.from_arrays([[[0.0], [0.1], [0.2]], [[2.0], [2.1], [2.2]]])
    units = Normalisation(jnp.zeros(1), jnp.full(1, 2.0))
    found = support(data, units, np.array([0, 3]), 10, np.array([[1.0], [0.1], [9.2]]))
    np.testing.assert_allclose(found.heldout, [1.0, 0.9], rtol=1e-6)
    np.testing.assert_allclose(found.sources, [0.4, 0.0, 3.5], rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(found.percentiles, [0.0, 0.0, 1.0])
    assert found.outside().tolist() == [2]
    near = support(data, units, np.array([0]), 2, np.zeros((0, 1)))
    np.testing.assert_allclose(near.heldout, [0.1], rtol=1e-6)
