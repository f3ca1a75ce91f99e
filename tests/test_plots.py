# pyright: basic, reportArgumentType=false, reportAttributeAccessIssue=false, reportCallIssue=false, reportIndexIssue=false
"""Pictures show the numbers they are given."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

from daleth import ReturnDistribution, plots
from daleth.evaluation import Calibration


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def vertical_lines(ax):
    return sorted(float(line.get_xdata()[0]) for line in ax.lines if len(line.get_xdata()) == 2)


def test_few_returns_are_drawn_as_probabilities():
    g = ReturnDistribution([3.0, -1.0, 3.0], [0.25, 0.5, 0.25])
    ax = g.plot(label="two returns")
    segments = ax.collections[0].get_segments()
    np.testing.assert_allclose([s[1] for s in segments], [[-1, 0.5], [3, 0.5]])
    assert vertical_lines(ax) == pytest.approx([-1.0, 1.0])  # CVaR and mean
    assert ax.get_ylabel() == "probability"


def test_many_returns_are_drawn_as_a_density_on_the_given_axis():
    g = ReturnDistribution(np.random.default_rng(0).normal(size=500))
    _, ax = plt.subplots()
    assert g.plot(ax=ax) is ax
    grid, heights = ax.lines[0].get_data()
    assert np.trapezoid(heights, grid) == pytest.approx(1, abs=1e-2)
    assert vertical_lines(ax) == pytest.approx([float(g.cvar(0.1)), float(g.mean())])


def test_cdf_steps_at_the_atoms():
    ax = plots.return_cdf(ReturnDistribution([2.0, 0.0], [0.3, 0.7]))
    x, y = ax.lines[0].get_data()
    np.testing.assert_allclose(x[1:-1], [0, 2])
    np.testing.assert_allclose(y, [0, 0.7, 1, 1], rtol=1e-6)


def test_simplex_puts_certain_occupancies_into_corners():
    np.testing.assert_allclose(plots.on_simplex(np.eye(3)), plots.CORNERS)
    np.testing.assert_allclose(plots.on_simplex([1 / 3] * 3), plots.CORNERS.mean(axis=0))
    with pytest.raises(ValueError, match="a triangle shows 3 states, got 2"):
        plots.on_simplex([0.5, 0.5])


def test_states_in_one_cell_add_up():
    ax = plots.cell_occupancy([[0, 0], [1, 0], [0, 0]], [0.25, 0.5, 0.25])
    first, second = (patch.get_facecolor() for patch in ax.patches)
    assert first == second


def test_pit_histogram_marks_bins_outside_the_band():
    ax = plots.pit_histogram(Calibration(np.full(100, 0.02)), num_bins=10)
    colours = {patch.get_facecolor() for patch in ax.patches[-10:]}
    assert len(ax.patches) >= 10
    assert len(colours) == 1  # one bin too full, nine too empty: all are outside
    heights = [patch.get_height() for patch in ax.patches[-10:]]
    assert heights == [100] + [0] * 9


def test_a_batch_cannot_be_drawn_at_once():
    with pytest.raises(ValueError, match="draw one law at a time"):
        ReturnDistribution(np.zeros((2, 3))).plot()


def test_points_outside_of_the_picture_are_not_drawn():
    ax = plots.state_density([[50.0, 50.0]], [1.0], bounds=(-1.0, 1.0))
    assert not ax.collections
