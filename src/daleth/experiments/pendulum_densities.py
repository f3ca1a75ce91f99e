"""Return densities on Pendulum: four rewards that the δ-model had not heard of.

Paper, figure of return distribution predictions. Rewards are functions of the state: the action
terms of two of them are left out, see `daleth.envs.pendulum`. One δ-model gives all densities.
"""

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np

from daleth import plots
from daleth._optional import require
from daleth.evaluation import score
from daleth.experiments import _pendulum
from daleth.experiments._output import Claim, save
from daleth.models.delta import DeltaLearner
from daleth.parts import Particles
from daleth.returns import ReturnDistribution

SHOWN = (0, 4, 8)
"""The source states in the picture; the numbers are about all nine."""
SPREAD = (0.1, 0.9)


@dataclasses.dataclass(frozen=True)
class Budget:
    """What is spent; an update of the fast preset takes about 20 ms on two idle cores."""

    learner: DeltaLearner
    num_steps: int
    updates: int
    num_rollouts: int


FAST = DeltaLearner(gamma=_pendulum.GAMMA)
_TOY = Particles(num_atoms=5, num_points=2, width=8, num_frequencies=4)
BUDGETS = {
    "tiny": Budget(dataclasses.replace(FAST, representation=_TOY, batch_size=4), 2_000, 5, 50),
    "small": Budget(FAST, 500_000, 6_000, 5_000),
    "full": Budget(FAST, 2_000_000, 60_000, 20_000),
}


@dataclasses.dataclass(frozen=True)
class Config:
    """Every knob of this figure."""

    out: Path = Path("figures")
    budget: str = "small"
    seed: int = 0


def run(config: Config) -> tuple[Claim, list[Path]]:
    """Learns, draws predicted and true densities, and compares their modes and spreads."""
    budget = BUDGETS[config.budget]
    settings = (budget.num_steps, budget.updates, config.seed)
    model = _pendulum.learn(budget.learner, *settings)
    predicted = _pendulum.predict(model, config.seed)
    true = _pendulum.truth(budget.num_rollouts, config.seed)
    card = score(predicted, true)
    ratio = float(card.errors["wasserstein"].ratio())
    misses = spread_errors(predicted, true)
    claim = Claim(
        "predicted densities capture mode and support of the return, where a point estimate "
        "captures neither",
        ratio < 0.5 and float(np.median(misses)) < 0.15,
        f"W1 is {ratio:.2f} of that of the Dirac at the true mean, over 9 source states and 4 "
        f"rewards; {SPREAD[0]:.0%} and {SPREAD[1]:.0%} quantiles are off by {np.median(misses):.0%}"
        f" (median) and {np.max(misses):.0%} (worst) of the true distance between them",
    )
    data = {"budget": config.budget, "seed": config.seed, "scores": card.to_dict()}
    return claim, save(config.out, "pendulum_densities", _draw(predicted, true), data, claim)


def spread_errors(predicted: ReturnDistribution, true: ReturnDistribution) -> np.ndarray:
    """Errors of a low and a high quantile as shares of the true distance between them."""
    own, other = (np.asarray(law.quantile(np.array(SPREAD))) for law in (predicted, true))
    return np.abs(own - other) / np.diff(other, axis=-1)


def _draw(predicted: ReturnDistribution, true: ReturnDistribution) -> Any:
    rewards = list(_pendulum.REWARDS)
    figure, axes = require("matplotlib.pyplot", "plots").subplots(
        len(SHOWN), len(rewards), figsize=(12, 6.2), layout="constrained"
    )
    for row, source in enumerate(SHOWN):
        for column, reward in enumerate(rewards):
            ax = axes[row, column]
            law, real = predicted[column][source], true[column][source]
            # As many atoms on both sides, so that both densities are smoothed alike.
            grid, heights = plots.density(real.mid_quantiles(law.num_atoms))
            ax.fill_between(grid, heights, color=plots.GREY, alpha=0.4, lw=0, label="Monte Carlo")
            grid, heights = plots.density(law)
            ax.plot(grid, heights, color=plots.BLUE, lw=1.8, label="δ-model")
            ax.axvline(
                float(real.mean()), color=plots.RED, lw=1.2, ls=(0, (4, 2)), label="true mean"
            )
            ax.set(yticks=[], ylim=(0, None))
            ax.spines[["top", "right", "left"]].set_visible(False)
            if row == 0:
                ax.set_title(_pendulum.title(reward), fontsize=12)
            if column == 0:
                ax.set_ylabel(_pendulum.source_name(_pendulum.sources()[source]), fontsize=11)
            if row == len(SHOWN) - 1:
                ax.set_xlabel("return")
    handles = axes[0, 0].get_legend_handles_labels()
    figure.legend(*handles, loc="outside lower center", ncols=3, frameon=False)
    return figure
