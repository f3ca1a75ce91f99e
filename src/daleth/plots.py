"""Pictures from arrays. Every function draws on `ax=`, or on a new one, and returns it."""

from typing import TYPE_CHECKING, Any

import numpy as np

from daleth import _checks
from daleth._optional import require
from daleth._typing import ArrayLike, Real

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from daleth.evaluation.calibration import Calibration
    from daleth.returns import ReturnDistribution

BLUE, ORANGE, GREEN, RED, GREY = "#3b6fb6", "#e08a2e", "#3f9a6d", "#c8443c", "#8a8f98"
CORNERS = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, np.sqrt(0.75)]])
"""Where the three states of a chain stand in the plane."""

_FEW = 12  # up to so many distinct returns are drawn one by one


def return_distribution(
    distribution: "ReturnDistribution",
    ax: "Axes | None" = None,
    *,
    color: str = BLUE,
    label: str = "",
    cvar_level: Real = 0.1,
) -> "Axes":
    """One law of returns, with its mean (solid) and its lower CVaR (dashed).

    Few distinct returns are drawn as probabilities; many as a density estimate over a rug.
    """
    _check_single(distribution)
    ax = _axes(ax)
    atoms = np.asarray(distribution.atoms, float)
    weights = np.asarray(distribution.weights, float)
    grain = 1e-6 * (np.ptp(atoms) or 1.0)  # returns that differ by less are one bar
    values, index = np.unique(np.round(atoms[weights > 0] / grain) * grain, return_inverse=True)
    if len(values) <= _FEW:
        heights = np.bincount(index, weights[weights > 0])
        ax.vlines(values, 0, heights, color=color, lw=5, alpha=0.85, label=label)
        ax.set_ylabel("probability")
        ax.set_ylim(0, 1.15 * heights.max())
    else:
        grid, heights = density(distribution)
        ax.fill_between(grid, heights, color=color, alpha=0.25, lw=0)
        ax.plot(grid, heights, color=color, lw=1.6, label=label)
        ax.plot(atoms, np.zeros_like(atoms), "|", color=color, ms=7, alpha=0.3)
        ax.set_ylabel("density")
        ax.set_ylim(bottom=0)
    ax.axvline(float(distribution.mean()), color=color, lw=1.4)
    ax.axvline(float(distribution.cvar(cvar_level)), color=color, lw=1.4, ls=(0, (4, 2)))
    ax.set_xlabel("return")
    return _plain(ax)


def return_cdf(
    distribution: "ReturnDistribution", ax: "Axes | None" = None, **style: Any
) -> "Axes":
    """The cumulative distribution function as a step curve."""
    _check_single(distribution)
    ax = _axes(ax)
    order = np.argsort(distribution.atoms)
    atoms = np.asarray(distribution.atoms)[order]
    heights = np.cumsum(np.asarray(distribution.weights)[order])
    margin = 0.05 * (np.ptp(atoms) or 1.0)
    steps = np.concatenate([[atoms[0] - margin], atoms, [atoms[-1] + margin]])
    ax.step(steps, np.concatenate([[0], heights, [1]]), where="post", **style)
    ax.set(xlabel="return", ylabel="cumulative probability", ylim=(0, 1.02))
    return _plain(ax)


def on_simplex(occupancies: ArrayLike) -> np.ndarray:
    """Occupancies of three states `[..., 3]` as points of a triangle in the plane `[..., 2]`."""
    array = _checks.probabilities("occupancies", occupancies)
    if array.shape[-1] != 3:
        raise ValueError(f"a triangle shows 3 states, got {array.shape[-1]}")
    return array @ CORNERS


def simplex_frame(ax: "Axes | None" = None, labels: tuple[str, ...] = ("", "", "")) -> "Axes":
    """The triangle of all occupancies of three states, with its corners named."""
    ax = _axes(ax)
    closed = np.concatenate([CORNERS, CORNERS[:1]])
    ax.plot(*closed.T, color="0.25", lw=1.1, zorder=3)
    centre = CORNERS.mean(axis=0)
    for corner, label in zip(CORNERS, labels, strict=True):
        x, y = centre + 1.14 * (corner - centre)
        ax.text(x, y, label, ha="center", va="center", fontsize=11)
    ax.set_aspect("equal")
    ax.set_xlim(-0.12, 1.12)
    ax.set_ylim(-0.14, 1.02)
    ax.axis("off")
    return ax


def cell_occupancy(
    cells: ArrayLike,
    occupancy: ArrayLike,
    ax: "Axes | None" = None,
    *,
    cmap: str = "Blues",
    highest: Real | None = None,
) -> "Axes":
    """An occupancy on a maze: one square per cell, darker where more time is spent.

    Args:
        cells: the cell of each state, `[n, 2]`; states in one cell add up.
        occupancy: the mass of each state, `[n]`.
        ax: where to draw.
        cmap: a matplotlib colour map.
        highest: the mass of the darkest colour.
    """
    ax = _axes(ax)
    matplotlib = require("matplotlib", "plots")
    patches = require("matplotlib.patches", "plots")
    places, index = np.unique(np.asarray(cells), axis=0, return_inverse=True)
    masses = np.bincount(index.ravel(), np.asarray(occupancy, float))
    highest = float(masses.max()) if highest is None else highest
    colours = matplotlib.colormaps[cmap]
    for (x, y), mass in zip(places, masses, strict=True):
        shade = colours(min(1.0, 0.85 * np.sqrt(mass / highest)))
        ax.add_patch(patches.Rectangle((x - 0.5, y - 0.5), 1, 1, fc=shade, ec="0.35", lw=0.8))
    ax.set_aspect("equal")
    ax.set_xlim(places[:, 0].min() - 0.6, places[:, 0].max() + 0.6)
    ax.set_ylim(places[:, 1].min() - 0.6, places[:, 1].max() + 0.6)
    ax.axis("off")
    return ax


def pit_histogram(
    calibration: "Calibration", ax: "Axes | None" = None, *, num_bins: int = 20
) -> "Axes":
    """PIT values of a calibrated model are flat: bars outside the band are evidence against it."""
    ax = _axes(ax)
    counts = calibration.histogram(num_bins)
    low, high = calibration.band(num_bins)
    edges = np.linspace(0, 1, num_bins + 1)
    outside = (counts < low) | (counts > high)
    ax.axhspan(low, high, color=GREY, alpha=0.2, lw=0, label="95 % band")
    ax.axhline(calibration.values.size / num_bins, color=GREY, lw=1)
    colours = np.where(outside, RED, BLUE).tolist()
    ax.bar(edges[:-1], counts, width=np.diff(edges), align="edge", color=colours, ec="w", alpha=0.8)
    ax.set(xlabel="probability integral transform", ylabel="count", xlim=(0, 1))
    ax.legend(frameon=False)
    return _plain(ax)


def state_density(
    points: ArrayLike,
    weights: ArrayLike,
    ax: "Axes | None" = None,
    *,
    color: str = BLUE,
    bounds: tuple[Real, Real] = (-5.0, 5.0),
    bandwidth: Real = 0.9,
) -> "Axes":
    """A state measure in the plane as a smooth density, opaque where it is highest.

    Args:
        points: `[k, 2]`.
        weights: `[k]`.
        ax: where to draw.
        color: of the highest density.
        bounds: of both axes; beyond them nothing is drawn.
        bandwidth: standard deviation of the Gaussian put on each point, in units of the state.
    """
    ax = _axes(ax)
    colors = require("matplotlib.colors", "plots")
    places = _checks.finite("points", points, rank=2)
    masses = _checks.finite("weights", weights, rank=1)
    grid = np.linspace(*bounds, 121)
    bumps = np.exp(-0.5 * ((grid[:, None, None] - places) / bandwidth) ** 2)
    heights = np.einsum("xk,yk,k->yx", bumps[..., 0], bumps[..., 1], masses)
    shades = colors.LinearSegmentedColormap.from_list(
        "shades", [(*colors.to_rgb(color), alpha) for alpha in (0, 0.8)]
    )
    # Even steps of the root: low hills beside a high peak stay visible.
    levels = heights.max() * np.linspace(0.3, 1, 8) ** 2
    if levels[0] > 0:
        ax.contourf(grid, grid, heights, levels=levels, cmap=shades)
        ax.contour(grid, grid, heights, levels=levels[:1], colors=[color], linewidths=1.0)
    ax.set(xlim=bounds, ylim=bounds, aspect="equal", xticks=[], yticks=[])
    return ax


def quadrant_grid(values: ArrayLike, ax: "Axes | None" = None) -> "Axes":
    """The reward of each quadrant, `[[top left, top right], [bottom left, bottom right]]`.

    Red is negative, blue positive, white nothing.
    """
    ax = _axes(ax)
    array = _checks.finite("values", values, rank=2)
    patches = require("matplotlib.patches", "plots")
    highest = np.abs(array).max() or 1.0
    for (row, column), value in np.ndenumerate(array):
        shade = (
            RED if value < 0 else BLUE,
            0.0 if value == 0 else 0.25 + 0.5 * abs(value) / highest,
        )
        ax.add_patch(patches.Rectangle((column, 1 - row), 1, 1, fc=shade, ec="0.35", lw=0.8))
        place = (column + 0.5, 1.5 - row)
        ax.text(*place, f"{value:g}", ha="center", va="center", fontsize=8)
    ax.set(xlim=(0, 2), ylim=(0, 2), aspect="equal")
    ax.axis("off")
    return ax


def density(distribution: "ReturnDistribution") -> tuple[np.ndarray, np.ndarray]:
    """A Gaussian kernel density estimate of a law: a grid that covers it, and the heights."""
    from scipy.stats import gaussian_kde

    atoms = np.asarray(distribution.atoms, float)
    estimate = gaussian_kde(atoms, weights=np.asarray(distribution.weights, float))
    width = 3 * float(np.sqrt(estimate.covariance[0, 0]))
    grid = np.linspace(atoms.min() - width, atoms.max() + width, 400)
    return grid, estimate(grid)


def _axes(ax: "Axes | None") -> "Axes":
    return require("matplotlib.pyplot", "plots").subplots()[1] if ax is None else ax


def _check_single(distribution: "ReturnDistribution") -> None:
    if distribution.batch_shape:
        raise ValueError(f"draw one law at a time, got a batch {distribution.batch_shape}")


def _plain(ax: "Axes") -> "Axes":
    ax.spines[["top", "right"]].set_visible(False)
    return ax
