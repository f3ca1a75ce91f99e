import jax.numpy as jnp
import numpy as np
import pytest

from daleth.data import Normalisation
from daleth.data.resolution import resolution


@pytest.fixture
def unit():
    return Normalisation(jnp.zeros(2), jnp.ones(2))


@pytest.mark.parametrize("num_frames", [100_000, 400_000])
def test_a_disc_of_that_radius_holds_ten_thousand_frames_of_a_square(unit, num_frames):
    """π r² N = 10,000 away from the border; 128 frames, so a few percent of a standard error."""
    square = np.random.default_rng(1).uniform(size=(num_frames, 2)).astype(np.float32)
    by_hand = np.sqrt(10_000 / (np.pi * num_frames))
    assert resolution(square, unit) == pytest.approx(by_hand, rel=0.06)


def test_few_frames_have_a_quarter_of_the_data_within(unit):
    circle = np.linspace(0, 2 * np.pi, 1000, endpoint=False)
    points = np.stack([np.cos(circle), np.sin(circle)], axis=1).astype(np.float32)
    # A quarter of the circle is an eighth of a turn either side: a chord of 2 sin(π/8).
    assert resolution(points, unit) == pytest.approx(2 * np.sin(np.pi / 8), rel=0.05)


def test_it_is_in_units_of_the_data_and_the_same_every_time():
    states = np.random.default_rng(2).normal(size=(5000, 2)).astype(np.float32)
    scaled = 100 * states + np.float32(7)
    one, two = (resolution(some, Normalisation.of(some)) for some in (states, scaled))
    assert one == pytest.approx(two, rel=1e-3)
    assert resolution(states, Normalisation.of(states)) == one


def test_equal_frames_are_resolved_as_finely_as_one_likes(unit):
    assert resolution(np.ones((50, 2), np.float32), unit) == 0
