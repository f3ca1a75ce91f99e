import jax.numpy as jnp
import numpy as np
import pytest

from daleth.data import Normalisation
from daleth.data.recurring import Recurring


def found(states):
    """The values of each component."""
    recurring = Recurring.of(np.asarray(states, np.float32))
    return [
        values[present].tolist()
        for values, present in zip(
            np.asarray(recurring.values), np.asarray(recurring.present), strict=True
        )
    ]


def test_walls_of_a_box_recur_and_what_lies_between_does_not():
    walk = np.random.default_rng(0).normal(size=(5000, 2))
    walk[:, 0] = np.clip(walk[:, 0], -1.5, 2.0)  # 6.7 % and 2.3 % of a standard normal
    assert found(walk) == [[-1.5, 2.0], []]


@pytest.mark.parametrize(("times", "expected"), [(4, []), (5, [7.0]), (1000, [7.0])])
def test_half_a_percent_of_the_frames(times, expected):
    column = np.random.default_rng(1).normal(size=(1000, 1))
    column[:times] = 7.0
    assert found(column) == [expected]


def test_once_is_no_recurrence():
    assert found([[1.0], [2.0], [3.0]]) == [[]]


def test_the_eight_most_frequent_in_ascending_order():
    labels = np.repeat(np.arange(10.0), [50, 9, 51, 52, 53, 8, 54, 55, 56, 57])
    assert found(labels[:, None]) == [[0.0, 2.0, 3.0, 4.0, 6.0, 7.0, 8.0, 9.0]]


def test_of_many_frames_some_will_do():
    """65,536 of 300,000: a share of 2 % is found, one of 0.1 % is not, up to 1 in 10^30."""
    column = np.random.default_rng(2).normal(size=300_000)
    column[:6000], column[6000:6300] = 0.0, 9.0
    assert found(np.random.default_rng(3).permutation(column)[:, None]) == [[0.0]]


def test_half_the_way_to_the_next_data():
    recurring = Recurring.of(np.array([[0.0], [0.0], [3.0], [4.0], [4.0]], np.float32))
    np.testing.assert_array_equal(recurring.below[0, :2], [np.inf, 0.5])
    np.testing.assert_array_equal(recurring.above[0, :2], [1.5, np.inf])
    states = jnp.array([[-9.0], [1.4], [1.6], [3.4], [3.6], [5.0]])
    restored = recurring.restore(states, jnp.ones(1)).ravel()
    np.testing.assert_allclose(restored, [0.0, 0.0, 1.6, 3.4, 4.0, 4.0])


def test_gaps_are_those_of_all_data_and_not_of_some():
    column = np.zeros(300_000, np.float32)
    column[150_000] = 1.0  # one frame, which is hardly among those that are looked through
    recurring = Recurring.of(column[:, None])
    assert recurring.above[0, 0] == 0.5


@pytest.mark.parametrize("offset", [0.0, 1e5])
def test_rounding_is_undone_where_data_lie_close_to_a_value(offset):
    """A number that was normalised and put back has it again; its neighbours stay themselves."""
    column = offset + np.linspace(-2, 2, 40_001)
    column[:800] = offset + 0.3
    states = column.astype(np.float32)[:, None]
    recurring, normalisation = Recurring.of(states), Normalisation.of(states)
    value = np.float32(offset + 0.3)
    assert recurring.values[0, 0] == value
    assert max(recurring.below[0, 0], recurring.above[0, 0]) < 0.01
    there_and_back = normalisation.invert(normalisation.apply(recurring.values[:, :1]))
    beside = jnp.array([[value - np.float32(0.1)], [value + np.float32(0.1)]])
    restored = recurring.restore(jnp.concatenate([there_and_back, beside]), normalisation.scale)
    np.testing.assert_array_equal(restored[:1], value)
    np.testing.assert_array_equal(restored[1:], beside)


def test_absent_values_restore_nothing():
    tiny = jnp.full((3, 2), 1e-7)
    np.testing.assert_array_equal(Recurring.none(2).restore(tiny, jnp.ones(2)), tiny)
