"""What the preset `fast` becomes with other numbers of atoms."""

import pytest

from daleth.models.delta import DeltaLearner, fast_learner
from daleth.parts import Energy, Matched, Particles, RandomFeatures, WeightedParticles


def test_few_atoms_have_a_smaller_network_and_more_points():
    few, many = fast_learner(0.9, 8), fast_learner(0.9, 9)
    network, usual = few.representation, many.representation
    assert isinstance(network, WeightedParticles)
    assert isinstance(usual, WeightedParticles)
    assert network.width < usual.width
    assert network.num_points > usual.num_points
    features, fewer = few.state_comparison, many.state_comparison
    assert isinstance(features, RandomFeatures)
    assert isinstance(fewer, RandomFeatures)
    assert features.num_features > fewer.num_features
    assert (features.linear, features.quadratic) == (0, 0)


def test_repulsion_goes_with_returns_that_are_evened_out_and_weights_with_the_others():
    as_they_are, evened_out = fast_learner(0.9, 15), fast_learner(0.9, 16)
    assert as_they_are == DeltaLearner(
        gamma=0.9,
        representation=WeightedParticles(num_atoms=15),
        set_comparison=Energy(),
        num_target_atoms=0,
    )
    assert evened_out == DeltaLearner(gamma=0.9, representation=Particles(num_atoms=16))


def test_by_default_it_is_the_default_of_every_part():
    assert fast_learner(0.9) == DeltaLearner(gamma=0.9)


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"num_target_atoms": 3}, "num_target_atoms must be 0, .* a choice of 3 would not"),
        ({"set_comparison": Matched(), "num_target_atoms": 0}, "Matched cannot learn their"),
    ],
)
def test_weights_need_all_targets_and_atoms_that_are_placed_together(parts, message):
    with pytest.raises(ValueError, match=message):
        DeltaLearner(gamma=0.9, representation=WeightedParticles(), **parts)


def test_no_atoms_are_refused():
    with pytest.raises(ValueError, match="num_atoms must be at least 1, got 0"):
        fast_learner(0.9, 0)
