"""Returns under several rewards, and the share of futures that enter a forbidden region.

Paper, appendix on Windy Gridworld: uniform policy, source state at the origin. A future enters the
red quadrants if it spends more than a quarter of its discounted time there. The paper gives no
threshold; it must exceed the time spent exactly on an axis, which is in no quadrant: about a
seventh. Learned points lie beside the axis and count as red there, so lower thresholds, which the
numbers hold too, come out too high. The last two rewards are ours, as the paper's are not printed.
"""

import dataclasses
from functools import partial
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np

from daleth import envs, plots
from daleth._optional import require
from daleth._typing import Reward
from daleth.envs.windy import quadrant_reward
from daleth.experiments import _windy
from daleth.experiments._output import Claim, save
from daleth.returns import ReturnDistribution

BUDGETS = {
    "tiny": _windy.Budget(4_000, updates=5, num_rollouts=200, num_atoms=5, width=8),
    "small": _windy.Budget(300_000, updates=1_500, num_rollouts=10_000),
    "full": _windy.Budget(2_000_000, updates=20_000, num_rollouts=50_000),
}
REWARDS: dict[str, Reward] = {
    "Hopscotch": envs.reward("windy/hopscotch"),
    "Lopsided Checkerboard": envs.reward("windy/lopsided-checkerboard"),
    "One red corner": partial(
        quadrant_reward, top_left=0.0, top_right=-1.0, bottom_left=0.0, bottom_right=0.0
    ),
    "Red on the left": partial(
        quadrant_reward, top_left=-1.0, top_right=1.0, bottom_left=-2.0, bottom_right=2.0
    ),
}
SHARES_OF_TIME = (0.1, 0.25, 0.5)
"""Thresholds in the numbers; the claim and the picture are about the second."""
TOLERANCE = 0.1
"""The largest error of a predicted share of futures for the claim to hold."""


@dataclasses.dataclass(frozen=True)
class Config:
    """Every knob of this figure."""

    out: Path = Path("figures")
    budget: str = "small"
    seed: int = 0


def run(config: Config) -> tuple[Claim, list[Path]]:
    """Learns one model, asks it about all rewards, draws the laws and checks the shares."""
    budget = BUDGETS[config.budget]
    questions = REWARDS | {f"{name}: red": partial(red, one) for name, one in REWARDS.items()}
    model = _windy.learn("uniform", budget, config.seed)
    predicted = {name: model.returns(one, _windy.ORIGIN) for name, one in questions.items()}
    true = _windy.truth("uniform", questions, budget, config.seed)
    entered = {
        name: [entering(laws[f"{name}: red"]) for laws in (predicted, true)] for name in REWARDS
    }
    shares = {name: (own[1], other[1]) for name, (own, other) in entered.items()}
    worst = max(abs(one - other) for one, other in shares.values())
    claim = Claim(
        "the δ-model predicts the fraction of futures that enter the red region",
        worst <= TOLERANCE,
        "; ".join(f"{name} {p:.0%}, Monte Carlo {t:.0%}" for name, (p, t) in shares.items()),
    )
    data = {
        "budget": config.budget,
        "seed": config.seed,
        "shares_of_time": SHARES_OF_TIME,
        "futures_entering_red": {
            name: {"predicted": own, "monte_carlo": other} for name, (own, other) in entered.items()
        },
    }
    return claim, save(config.out, "windy_returns", _draw(predicted, true, shares), data, claim)


def red(reward: Reward, states: Any) -> Any:
    """1 where the reward is negative: its return is the discounted time spent there."""
    return (jnp.asarray(reward(states)) < 0).astype(jnp.float32)


def entering(time_in_red: ReturnDistribution) -> list[float]:
    """The fraction of futures with more than each of `SHARES_OF_TIME` of their time in red."""
    times = np.array(SHARES_OF_TIME) / (1 - _windy.GAMMA)
    return np.asarray(time_in_red.prob_above(times)).tolist()


def _draw(
    predicted: dict[str, ReturnDistribution],
    true: dict[str, ReturnDistribution],
    shares: dict[str, tuple[float, float]],
) -> Any:
    figure, axes = require("matplotlib.pyplot", "plots").subplots(
        2, 2, figsize=(9.6, 5.8), layout="constrained"
    )
    for ax, (name, reward) in zip(axes.flat, REWARDS.items(), strict=True):
        laws = predicted[name], true[name]
        ends = [float(law.quantile(level)) for law in laws for level in (0.0, 1.0)]
        edges = np.linspace(min(ends), max(ends), 31)
        bars = [
            np.histogram(np.asarray(law.atoms), edges, weights=np.asarray(law.weights))[0]
            for law in laws
        ]
        ax.stairs(bars[0], edges, fill=True, color=plots.BLUE, alpha=0.35, label="δ-model")
        ax.stairs(bars[1], edges, color="0.2", lw=1.1, label="Monte Carlo")
        # Room at the top for the quadrants and the shares.
        ax.set_ylim(0, 1.75 * max(map(np.max, bars)))
        plots.quadrant_grid(_windy.quadrants(reward), ax.inset_axes((0.0, 0.66, 0.2, 0.34)))
        own, other = shares[name]
        text = f"futures that enter red\nδ-model {own:.0%}, Monte Carlo {other:.0%}"
        ax.text(0.24, 0.97, text, transform=ax.transAxes, va="top", fontsize=10)
        ax.set_title(name, fontsize=11)
        ax.spines[["top", "right"]].set_visible(False)
        ax.set(xlabel="return", ylabel="probability")
    handles = axes[0, 0].get_legend_handles_labels()
    figure.legend(*handles, loc="outside lower center", ncols=2, frameon=False)
    return figure
