"""What the preset `fast` becomes with other numbers of atoms."""

import pytest

from daleth.models.delta import DeltaLearner, fast_learner
from daleth.parts import Energy, Particles, RandomFeatures


def test_few_atoms_have_a_smaller_network_and_more_points():
    few, many = fast_learner(0.9, 8), fast_learner(0.9, 9)
    nine = Particles(num_atoms=9)
    assert many == DeltaLearner(gamma=0.9, representation=nine, set_comparison=Energy())
    network, usual = few.representation, many.representation
    assert isinstance(network, Particles)
    assert isinstance(usual, Particles)
    assert network.width < usual.width
    assert network.num_points > usual.num_points
    features, fewer = few.state_comparison, many.state_comparison
    assert isinstance(features, RandomFeatures)
    assert isinstance(fewer, RandomFeatures)
    assert features.num_features > fewer.num_features
    assert (features.linear, features.quadratic) == (0, 0)


def test_repulsion_goes_with_returns_that_are_evened_out():
    as_they_are, evened_out = fast_learner(0.9, 15), fast_learner(0.9, 16)
    assert as_they_are.set_comparison == Energy()
    assert evened_out == DeltaLearner(gamma=0.9, representation=Particles(num_atoms=16))


def test_by_default_it_is_the_default_of_every_part():
    assert fast_learner(0.9) == DeltaLearner(gamma=0.9)


def test_no_atoms_are_refused():
    with pytest.raises(ValueError, match="num_atoms must be at least 1, got 0"):
        fast_learner(0.9, 0)
