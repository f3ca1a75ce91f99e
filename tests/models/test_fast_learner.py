"""What the preset `fast` becomes with other numbers of atoms."""

import pytest

from daleth.models.delta import DeltaLearner, fast_learner
from daleth.parts import Particles, RandomFeatures


@pytest.mark.parametrize(("num_atoms", "finer"), [(1, 32), (4, 32), (5, 25), (8, 16), (204, 16)])
def test_few_atoms_are_finer(num_atoms, finer):
    learner = fast_learner(0.9, num_atoms)
    assert learner.representation == Particles(num_atoms=num_atoms, num_points=finer)
    assert learner.state_comparison == RandomFeatures(num_features=finer)


def test_by_default_it_is_the_default_of_every_part():
    assert fast_learner(0.9) == DeltaLearner(gamma=0.9)


def test_no_atoms_are_refused():
    with pytest.raises(ValueError, match="num_atoms must be at least 1, got 0"):
        fast_learner(0.9, 0)
