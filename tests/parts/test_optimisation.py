"""How far parameters and their average move, by hand; which of the two answers."""

import jax.numpy as jnp
import numpy as np
import pytest

from daleth.parts import AveragedAdam, PlainAdam


def first_steps(optimisation, num):
    """How far Adam goes in each update under a gradient that is always 1: by the rate."""
    transformation = optimisation.transformation()
    parameters = jnp.array(0.0)
    state, found = transformation.init(parameters), []
    for _ in range(num):
        update, state = transformation.update(jnp.array(1.0), state)
        found.append(-float(update))
    return found


def test_the_rate_rises_and_then_falls():
    optimisation = AveragedAdam(learning_rate=0.1, decay_updates=2, warmup_updates=2)
    expected = [0.05, 0.1 / 1.5**0.75, 0.1 / 2**0.75, 0.1 / 2.5**0.75]
    np.testing.assert_allclose(first_steps(optimisation, 4), expected, rtol=1e-4)
    np.testing.assert_allclose(first_steps(PlainAdam(learning_rate=0.1), 4), 0.1, rtol=1e-4)


def test_the_average_by_hand():
    """With c = 1 the steps are 1, 2/3, 2/4; at a constant pace they are all the same."""
    growing, constant = AveragedAdam(averaging=1.0), PlainAdam(target_step=0.25)
    average = jnp.array([5.0])
    for update, (value, expected) in enumerate(((3.0, 3.0), (6.0, 5.0), (1.0, 3.0))):
        average = growing.moved(average, jnp.array([value]), jnp.int32(update))
        np.testing.assert_allclose(average, expected, rtol=1e-6)
    moved = constant.moved({"w": jnp.array(4.0)}, {"w": jnp.array(8.0)}, jnp.int32(9))
    np.testing.assert_allclose(moved["w"], 5.0)


def test_which_parameters_answer():
    assert AveragedAdam().answering("average", "last") == "average"
    assert PlainAdam().answering("average", "last") == "last"


@pytest.mark.parametrize(
    ("part", "changes", "message"),
    [
        (AveragedAdam, {"learning_rate": -1.0}, "learning_rate must be positive, got -1"),
        (AveragedAdam, {"averaging": 0.0}, "averaging must be positive"),
        (AveragedAdam, {"decay_updates": 0}, "decay_updates must be at least 1"),
        (AveragedAdam, {"warmup_updates": 0}, "warmup_updates must be at least 1"),
        (PlainAdam, {"learning_rate": 0.0}, "learning_rate must be positive"),
        (PlainAdam, {"target_step": 2.0}, r"target_step must lie in \(0, 1\]"),
    ],
)
def test_bad_hyperparameters(part, changes, message):
    with pytest.raises(ValueError, match=message):
        part(**changes)
