from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from daleth import Trajectories, fit
from daleth.data import Problem
from daleth.data.resolution import resolution
from daleth.models.delta import DeltaLearner, DeltaModel
from daleth.parts import Particles

SMALL: dict[str, Any] = {"num_atoms": 2, "num_points": 2, "width": 4, "depth": 1}


def resolved(state_dim, finest):
    """Data that show structure down to this distance."""
    return eqx.tree_at(lambda p: p.resolution, Problem.plain(state_dim), jnp.asarray(finest))


@pytest.mark.parametrize(
    ("finest", "expected"),
    [(0.0, 3.0 / np.sqrt(4)), (0.1, 3.0 / np.sqrt(4)), (2.0, 0.6 / 2.0)],
    ids=["any", "fine", "coarse"],
)
def test_frequencies_are_no_finer_than_the_data(key, finest, expected):
    particles = Particles(**SMALL, num_frequencies=20_000, frequency_scale=3.0, largest_turn=0.6)
    network = particles.init(key, resolved(4, finest))
    assert np.std(network.frequencies) == pytest.approx(expected, rel=0.02)


def test_fit_hands_the_resolution_of_its_data_to_the_network():
    states = np.random.default_rng(0).normal(size=(20, 50, 8)).astype(np.float32)
    data = Trajectories.from_arrays(states)
    particles = Particles(**SMALL, num_frequencies=4000)
    learner = DeltaLearner(gamma=0.9, representation=particles, batch_size=2)
    model = fit(data, learner, updates=1)
    coarse = particles.largest_turn / resolution(data.states, data.normalisation())
    assert coarse < 0.5 * particles.frequency_scale / np.sqrt(8)
    assert isinstance(model, DeltaModel)
    assert np.std(model.network.frequencies) == pytest.approx(coarse, rel=0.03)


def test_fit_hands_recurring_values_to_the_network_in_units_of_the_data():
    rng = np.random.default_rng(0)
    states = np.stack([rng.normal(size=(20, 50)), rng.integers(2, size=(20, 50))], axis=-1)
    data = Trajectories.from_arrays(states)
    learner = DeltaLearner(gamma=0.9, representation=Particles(**SMALL), batch_size=2)
    model = fit(data, learner, updates=1)
    assert isinstance(model, DeltaModel)
    plateaus = model.network.plateaus
    assert np.count_nonzero(plateaus.half_widths, axis=1).tolist() == [0, 2]
    at_labels = jnp.stack([jnp.zeros(2), plateaus.centres[1, :2]], axis=1)
    resting = model.normalisation.invert(plateaus(at_labels))[:, 1]
    np.testing.assert_allclose(resting, [0, 1], atol=1e-5)
    assert set(np.unique(model.atoms(jnp.zeros(2), jax.random.key(0)).points[..., 1])) <= {0.0, 1.0}


def test_plateaus_are_not_of_negative_width():
    with pytest.raises(ValueError, match="plateau must not be negative, got -1"):
        Particles(plateau=-1.0)


@pytest.mark.parametrize("name", ["frequency_scale", "largest_turn"])
def test_scales_of_frequencies_are_positive(name):
    settings: dict[str, Any] = {name: 0.0}
    with pytest.raises(ValueError, match=f"{name} must be positive"):
        Particles(**settings)


def test_resolution_may_be_traced(key):
    particles = Particles(**SMALL, num_frequencies=3)
    traced = jax.jit(lambda finest: particles.init(key, resolved(2, finest)).frequencies)(1.5)
    np.testing.assert_allclose(traced, particles.init(key, resolved(2, 1.5)).frequencies, rtol=1e-6)
