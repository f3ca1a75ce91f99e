"""Three states: the distributional successor measure on a triangle, and the returns below it.

Paper, appendix C.1: 1,000 trajectories of length 100 from each state of a chain with γ = 0.7. Here
the exact return laws stand behind the density estimates.
"""

import dataclasses
from pathlib import Path

import jax
import numpy as np

from daleth import plots
from daleth._optional import require
from daleth.experiments._output import Claim, save
from daleth.tabular import return_laws, sample_occupancies, three_state_chain


@dataclasses.dataclass(frozen=True)
class Config:
    """Every knob of this figure."""

    out: Path = Path("figures")
    num_trajectories: int = 1_000
    reward: tuple[float, float, float] = (1.0, 0.0, -1.0)
    seed: int = 0


def run(config: Config) -> tuple[Claim, list[Path]]:
    """Draws the figure and checks what the paper says about it."""
    chain, reward = three_state_chain(), np.array(config.reward)
    keys = jax.random.split(jax.random.key(config.seed), 3)
    draws = [
        sample_occupancies(chain, x, config.num_trajectories, keys[x], 1e-15) for x in range(3)
    ]
    laws, means = return_laws(chain, reward), chain.successor_measure()

    figure, axes = require("matplotlib.pyplot", "plots").subplots(
        2, 3, figsize=(10.5, 6.4), height_ratios=[1.5, 1], layout="constrained"
    )
    for x in range(3):
        _draw_simplex(axes[0, x], draws[x].occupancies, means[x], x)
        _draw_returns(axes[1, x], draws[x].returns(reward), laws[x], x)

    # From the second state the chain goes to the third for sure, so M(x2) = (1-γ)δ + γ M(x3).
    values = np.linspace(laws[2].quantile(0.01), laws[2].quantile(0.99), 200)
    moved = reward[1] + chain.gamma * values
    gap = float(np.abs(laws[1].cdf(moved) - laws[2].cdf(values)).max())
    claim = Claim(
        "the law of the second state is a scaled and shifted copy of that of the third",
        gap < 1e-3,
        f"largest gap of the exact distribution functions {gap:.1e}",
    )
    data = {
        "gamma": chain.gamma,
        "reward": list(config.reward),
        "successor_measure": means.tolist(),
        "returns": [
            {
                "mean": float(law.mean()),
                "variance": float(law.variance()),
                "cvar_0.1": float(law.cvar(0.1)),
            }
            for law in laws
        ],
    }
    return claim, save(config.out, "three_state", figure, data, claim)


def _draw_simplex(ax, occupancies, mean, state) -> None:
    seaborn = require("seaborn", "plots")
    plots.simplex_frame(ax, ("$x_1$", "$x_2$", "$x_3$"))
    points = plots.on_simplex(occupancies)
    density = seaborn.kdeplot(
        x=points[:, 0], y=points[:, 1], fill=True, cmap="Blues", levels=12, thresh=0.03, ax=ax
    )
    triangle = require("matplotlib.patches", "plots").Polygon(
        plots.CORNERS, transform=ax.transData, fc="none", ec="none"
    )
    ax.add_patch(triangle)
    for collection in density.collections:
        collection.set_clip_path(triangle)
    ax.plot(*plots.on_simplex(mean), "o", color=plots.RED, ms=7, mec="white", zorder=4)
    ax.set_title(rf"from $x_{state + 1}$", fontsize=12)


def _draw_returns(ax, returns, law, state) -> None:
    edges = np.linspace(law.quantile(0.0), law.quantile(1.0), 61)
    masses = np.diff(law.cdf(edges)) / np.diff(edges)
    ax.stairs(masses, edges, fill=True, color=plots.GREY, alpha=0.35, label="exact law")
    grid, density = plots.density(returns)
    ax.plot(grid, density, color=plots.BLUE, lw=1.8, label="density estimate")
    ax.axvline(float(law.mean()), color=plots.RED, lw=1.6, label="expected return")
    ax.set(xlabel="return", yticks=[], ylim=(0, None))
    ax.spines[["top", "right", "left"]].set_visible(False)
    if state == 0:
        ax.set_ylabel("density")
    if state == 2:
        ax.legend(frameon=False, fontsize=9, loc="upper right")
