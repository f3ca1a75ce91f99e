"""A diagnosis in one picture."""

import textwrap
from typing import TYPE_CHECKING, Any

import numpy as np

from daleth._optional import require
from daleth.evaluation.verdict import COVERAGE_TOLERANCE
from daleth.plots import BLUE, GREEN, GREY, ORANGE, RED

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from daleth.evaluation.report import Diagnosis
else:
    Axes = Figure = Diagnosis = Any


def picture(found: Diagnosis) -> Figure:
    """PIT, coverage, skill by reward and distance from the data, under the verdict."""
    require("matplotlib", "plots")
    from matplotlib.figure import Figure as NewFigure

    figure = NewFigure(figsize=(9.6, 7.2), layout="constrained")
    axes = figure.subplots(2, 2)
    for draw, ax in zip((_pit, _coverage, _skill, _support), axes.flat, strict=True):
        draw(found, ax)
        ax.spines[["top", "right"]].set_visible(False)
        ax.title.set_fontsize(10)
    good = found.fit_for_use
    words = [textwrap.fill(f"– {reason}", 130, subsequent_indent="   ") for reason in found.reasons]
    figure.suptitle(
        "\n".join(["fit for use" if good else "NOT fit for use", *words]),
        ha="left",
        x=0.02,
        fontsize=9 if words else 12,
        color=GREEN if good else RED,
    )
    return figure


def _pit(found: Diagnosis, ax: Axes) -> None:
    heights, errors = found.histogram()
    edges = np.linspace(0, 1, len(heights) + 1)
    outside = np.abs(heights - 1) > 1.96 * errors
    colours = np.where(outside, RED, BLUE).tolist()
    ax.bar(edges[:-1], heights, np.diff(edges), align="edge", color=colours, ec="w", alpha=0.8)
    ax.axhspan(1 - 1.96 * errors[0], 1 + 1.96 * errors[0], color=GREY, alpha=0.3, lw=0, zorder=3)
    ax.axhline(1, color="0.3", lw=1, zorder=4)
    ax.set(
        title="realised returns in predicted laws: flat is right, the band is 95 %",
        xlabel="predicted probability of a smaller return",
        ylabel="density",
        xlim=(0, 1),
        ylim=(0, max(2.0, 1.1 * heights.max())),
    )


def _coverage(found: Diagnosis, ax: Axes) -> None:
    levels = np.linspace(0.02, 0.98, 49)
    held = [found.coverage(level) for level in levels]
    values, errors = (np.array(part) for part in zip(*held, strict=True))
    ax.plot([0, 1], [0, 1], color="0.3", lw=1)
    ax.fill_between(
        [0, 1],
        [-COVERAGE_TOLERANCE, 1 - COVERAGE_TOLERANCE],
        [COVERAGE_TOLERANCE, 1 + COVERAGE_TOLERANCE],
        color=GREY,
        alpha=0.2,
        lw=0,
        label=f"within {100 * COVERAGE_TOLERANCE:g} points",
    )
    ax.fill_between(levels, values - 2 * errors, values + 2 * errors, color=BLUE, alpha=0.3, lw=0)
    ax.plot(levels, values, color=BLUE, lw=1.8, label="model")
    for level in (0.5, 0.9):
        value = found.coverage(level).value
        ax.plot(level, value, "o", color=BLUE, ms=5, clip_on=False)
        # Away from the diagonal, and inside of the axes.
        place = {"xytext": (0, 10 if value < level - 0.3 else -26), "textcoords": "offset points"}
        words = f"{100 * level:g} %: {100 * value:.1f} %"
        ax.annotate(words, (level, value), **place, fontsize=8, ha="center")
    ax.set(
        title="how often central intervals hold the realised return",
        xlabel="predicted",
        ylabel="observed",
        xlim=(0, 1),
        ylim=(0, 1),
    )
    ax.legend(frameon=False, loc="best", fontsize=8)


def _skill(found: Diagnosis, ax: Axes) -> None:
    ours = 1 - found.relative(found.crps).mean(axis=1)
    order = np.argsort(ours)
    numbers = np.arange(len(order))
    ax.axhline(0, color="0.3", lw=1)
    if found.nearest is not None:
        theirs = 1 - found.relative(found.nearest).mean(axis=1)
        ax.plot(numbers, theirs[order], "x", color=ORANGE, ms=4.5, label="nearest trajectories")
    ax.plot(numbers, ours[order], "o", color=BLUE, ms=4.5, label="model")
    lowest = min(0.0, *ours) if len(ours) else 0.0
    ax.set(
        title="CRPS skill by reward: 0 ignores the state, 1 is perfect",
        xlabel="reward, sorted by skill",
        ylabel="skill",
        ylim=(max(-1.0, 1.15 * lowest - 0.05), 1),
    )
    varying = np.flatnonzero(found.climatology.mean(axis=1) > 0)
    if len(varying) <= 6:
        names = [found.reward_names[varying[one]] for one in order]
        ax.set_xticks(numbers, [textwrap.shorten(name, 20) for name in names], fontsize=8)
        ax.set_xlabel("")
        ax.margins(x=0.15)
    ax.legend(frameon=False, loc="best", fontsize=8)


def _support(found: Diagnosis, ax: Axes) -> None:
    support = found.support
    nearest = support.limit / 100  # what is nearer is drawn here, as the axis is logarithmic
    ordered = np.sort(np.maximum(support.heldout, nearest))
    shares = np.arange(1, len(ordered) + 1) / len(ordered)
    ax.step(ordered, shares, where="post", color=BLUE, lw=1.6, label="held-out states")
    ax.axvline(support.limit, color="0.3", lw=1, ls="--", label="99 % of them are nearer")
    outside = support.outside()
    for group, colour, label in (
        (np.delete(support.sources, outside), GREEN, "source state inside"),
        (support.sources[outside], RED, "source state outside"),
    ):
        if len(group):
            places = np.maximum(group, nearest)
            ax.plot(places, np.full(len(group), 0.5), "v", color=colour, ms=8, label=label)
    ax.set_xscale("log")
    ax.set(
        title="distance to the nearest held-out frame",
        xlabel="standard deviations of the states",
        ylabel="share of held-out states",
        ylim=(0, 1.02),
        xlim=(nearest, 2 * max(support.limit, ordered[-1], *support.sources)),
    )
    ax.legend(frameon=False, loc="best", fontsize=8)
