"""T-maze: three futures, their mean, and what each of the two tells about a reward.

Paper, figure 1. A policy walks to the fork and then goes back, right or left with probability
1/6, 1/2, 1/3. The distributional successor measure at the start has three atoms; the successor
measure is their mean. Size and rewards of the maze are ours, the paper gives none.
"""

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np

from daleth import plots
from daleth._optional import require
from daleth.experiments._output import Claim, save
from daleth.returns import ReturnDistribution
from daleth.tabular import ParticleDSM, TMaze, expected_returns, t_maze
from daleth.tabular.bellman import dynamic_programming

COLOURS = {"back": plots.GREY, "right": plots.GREEN, "left": plots.RED}


@dataclasses.dataclass(frozen=True)
class Config:
    """Every knob of this figure."""

    out: Path = Path("figures")
    gamma: float = 0.9
    cvar_level: float = 1 / 3


@dataclasses.dataclass(frozen=True)
class Futures:
    """The atoms at the start: which way each goes, how likely it is, and its return."""

    maze: TMaze
    ways: list[str]
    dsm: ParticleDSM
    returns: ReturnDistribution


def solve(gamma: float) -> Futures:
    """The exact distributional successor measure, by dynamic programming."""
    maze = t_maze(gamma)
    dsm = dynamic_programming(maze.chain, num_particles=4)
    occupancies = dsm.occupancies[maze.start]
    ends = occupancies * maze.chain.absorbing()
    ways = [maze.names[int(row.argmax())].partition(" ")[0] for row in ends]
    return Futures(maze, ways, dsm, dsm.returns(maze.reward, maze.start))


def run(config: Config) -> tuple[Claim, list[Path]]:
    """Draws the figure and checks what the paper says about it."""
    futures = solve(config.gamma)
    maze, start = futures.maze, futures.maze.start
    figure = _draw(futures, config.cvar_level)
    gap = float(np.abs(futures.dsm.mean() - maze.chain.successor_measure()).max())
    value = float(expected_returns(maze.chain, maze.reward)[start])
    weights = dict(zip(futures.ways, futures.dsm.weights[start].tolist(), strict=True))
    expected = {"back": 1 / 6, "right": 1 / 2, "left": 1 / 3}
    right_weights = weights.keys() == expected.keys() and np.allclose(
        [weights[way] for way in expected], list(expected.values())
    )
    claim = Claim(
        "the DSM has three atoms of weight 1/6, 1/2, 1/3, and the SM is their mean",
        bool(right_weights) and gap < 1e-9,
        f"weights {', '.join(f'{way} {weights[way]:.4f}' for way in weights)}; gap to SM {gap:.1e}",
    )
    data = {
        "gamma": config.gamma,
        "futures": weights,
        "returns": futures.returns.to_dict(),
        "mean": value,
        f"cvar_{config.cvar_level:.3g}": float(futures.returns.cvar(config.cvar_level)),
    }
    return claim, save(config.out, "t_maze", figure, data, claim)


def _draw(futures: Futures, cvar_level: float) -> Any:
    figure = require("matplotlib.pyplot", "plots").figure(figsize=(13.5, 4.3), layout="constrained")
    axes = figure.subplot_mosaic("PABCD;PMMME", width_ratios=[1.5, 1.1, 1.1, 1.1, 1.9])
    _draw_policy(axes["P"], futures.maze)
    _draw_occupancies([axes[name] for name in "ABC"], axes["M"], futures)
    _draw_evaluation(axes["D"], axes["E"], futures, cvar_level)
    return figure


def _draw_policy(ax, maze: TMaze) -> None:
    plots.cell_occupancy(maze.cells, np.zeros(maze.chain.num_states), ax, highest=1.0)
    fork = maze.cells[maze.names.index("fork")]
    arrow = {"arrowstyle": "-|>", "lw": 1.8, "shrinkA": 0, "shrinkB": 0, "mutation_scale": 16}
    ways = {"left": (-1.6, 0, "1/3"), "right": (1.6, 0, "1/2"), "back": (0, -1.6, "1/6")}
    for way, (dx, dy, text) in ways.items():
        tip = (fork[0] + dx, fork[1] + dy)
        ax.annotate("", tip, tuple(fork), arrowprops={**arrow, "color": COLOURS[way]})
        side = (0.85, 0.0) if way == "back" else (0.0, 0.85)
        ax.text(tip[0] + side[0], tip[1] + side[1], text, ha="center", va="center", fontsize=12)
    x, y = maze.cells[maze.start]
    ax.text(x, y, "start", ha="center", va="center", fontsize=9)
    for cell, prize in _prizes(maze):
        ax.text(cell[0], cell[1] - 0.85, f"{prize:+.3g}", ha="center", va="center", fontsize=10)
    ax.set_ylim(-1.3, fork[1] + 1.3)
    ax.set_title("policy and reward", fontsize=12)


def _prizes(maze: TMaze) -> list[tuple[tuple[float, float], float]]:
    cells = {tuple(cell): prize for cell, prize in zip(maze.cells, maze.reward, strict=True)}
    return [(cell, prize) for cell, prize in cells.items() if prize]


def _draw_occupancies(atom_axes, mean_ax, futures: Futures) -> None:
    maze, start = futures.maze, futures.maze.start
    occupancies, weights = futures.dsm.occupancies[start], futures.dsm.weights[start]
    highest = float(occupancies.max())
    for index, ax in enumerate(atom_axes):
        plots.cell_occupancy(maze.cells, occupancies[index], ax, highest=highest)
        title = rf"$\theta_{index + 1}$, probability {_fraction(weights[index])}"
        ax.set_title(title, fontsize=12, color=COLOURS[futures.ways[index]])
    mean = maze.chain.successor_measure()[start]
    plots.cell_occupancy(maze.cells, mean, mean_ax, highest=highest, cmap="Purples")
    terms = [
        rf"\frac{{1}}{{{round(1 / weight)}}}\theta_{i + 1}" for i, weight in enumerate(weights)
    ]
    mean_ax.set_title(rf"successor measure $\Psi = {' + '.join(terms)}$", fontsize=12)


def _draw_evaluation(top, bottom, futures: Futures, cvar_level: float) -> None:
    atoms, weights = np.asarray(futures.returns.atoms), np.asarray(futures.returns.weights)
    for way, atom, weight in zip(futures.ways, atoms, weights, strict=True):
        top.vlines(atom, 0, weight, color=COLOURS[way], lw=7)
        label = {"fc": "white", "ec": "none", "pad": 0.5}
        top.text(atom, weight + 0.04, way, ha="center", color=COLOURS[way], fontsize=11, bbox=label)
    mean, cvar = float(futures.returns.mean()), float(futures.returns.cvar(cvar_level))
    dashed = (0, (4, 2))
    top.vlines(mean, 0, 0.75, color=plots.BLUE, lw=1.5)
    top.vlines(cvar, 0.45, 0.75, color=plots.ORANGE, lw=1.5, ls=dashed)
    top.text(mean + 0.2, 0.68, f"mean {mean:.2f}", color=plots.BLUE, fontsize=11)
    name = f"{_fraction(cvar_level)}-CVaR {cvar:.2f}"
    top.text(cvar + 0.2, 0.68, name, color=plots.ORANGE, fontsize=11)
    top.set(ylim=(0, 0.75), ylabel="probability", title="zero-shot return distribution")
    top.set(xticklabels=[])
    bottom.axvline(mean, color=plots.BLUE, lw=1.5)
    bottom.text(mean + 0.2, 0.5, f"mean {mean:.2f}", color=plots.BLUE, va="center", fontsize=11)
    bottom.set(ylim=(0, 1), yticks=[], xlabel="return", title="zero-shot expected return")
    margin = 0.2 * np.ptp(atoms)
    for ax in (top, bottom):
        ax.set_xlim(atoms.min() - margin, atoms.max() + margin)
        ax.spines[["top", "right"]].set_visible(False)
        ax.title.set_fontsize(12)


def _fraction(value: float) -> str:
    return f"1/{round(1 / value)}" if np.isclose(1 / value, round(1 / value)) else f"{value:.3g}"
