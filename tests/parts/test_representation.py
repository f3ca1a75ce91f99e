from typing import Any

import jax
import numpy as np
import pytest

from daleth import Trajectories, fit
from daleth.data.resolution import resolution
from daleth.models.delta import DeltaLearner, DeltaModel
from daleth.parts import Particles

SMALL: dict[str, Any] = {"num_atoms": 2, "num_points": 2, "width": 4, "depth": 1}


@pytest.mark.parametrize(
    ("finest", "expected"),
    [(0.0, 3.0 / np.sqrt(4)), (0.1, 3.0 / np.sqrt(4)), (2.0, 0.6 / 2.0)],
    ids=["any", "fine", "coarse"],
)
def test_frequencies_are_no_finer_than_the_data(key, finest, expected):
    particles = Particles(**SMALL, num_frequencies=20_000, frequency_scale=3.0, largest_turn=0.6)
    network = particles.init(key, 4, finest)
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


@pytest.mark.parametrize("name", ["frequency_scale", "largest_turn"])
def test_scales_of_frequencies_are_positive(name):
    settings: dict[str, Any] = {name: 0.0}
    with pytest.raises(ValueError, match=f"{name} must be positive"):
        Particles(**settings)


def test_resolution_may_be_traced(key):
    particles = Particles(**SMALL, num_frequencies=3)
    traced = jax.jit(lambda finest: particles.init(key, 2, finest).frequencies)(1.5)
    np.testing.assert_allclose(traced, particles.init(key, 2, 1.5).frequencies, rtol=1e-6)
