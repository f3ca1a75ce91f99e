"""Policy selection: one policy has the better mean, the other the better tail.

Paper, figure of policy selection in Windy Gridworld. δ-models of two policies are learned without
rewards; then two rewards come, and each policy is judged by its mean return and by its 0.4-CVaR.
The paper does not give its policies: `top` (left, right or up) and `bottom` (left, right or down)
do what its text says of π₁ and π₂.
"""

import dataclasses
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from daleth import envs, plots
from daleth._optional import require
from daleth.experiments import _windy
from daleth.experiments._output import Claim, save
from daleth.returns import ReturnDistribution

POLICIES = ("top", "bottom")
REWARDS = ("lopsided-checkerboard", "hopscotch")
CVAR_LEVEL = 0.4
STATISTICS: dict[str, Callable[[ReturnDistribution], Any]] = {
    "mean": lambda g: g.mean(),
    "0.4-CVaR": lambda g: g.cvar(CVAR_LEVEL),
    "10 % quantile": lambda g: g.quantile(0.1),
    "90 % quantile": lambda g: g.quantile(0.9),
}
"""The median is left out: it falls into the gap between futures that go left and right."""
CRITERIA = ("mean", "0.4-CVaR")
"""The statistics by which policies are ranked."""
EXPECTED = {
    ("lopsided-checkerboard", "mean"): "top",
    ("lopsided-checkerboard", "0.4-CVaR"): "bottom",
    ("hopscotch", "mean"): "top",
    ("hopscotch", "0.4-CVaR"): "top",
}
"""Who wins by the paper, with `top` as π₁."""
BUDGETS = {
    "tiny": _windy.Budget(num_steps=4_000, updates=5, num_rollouts=200, num_atoms=5, width=8),
    "small": _windy.Budget(num_steps=300_000, updates=1_500, num_rollouts=10_000),
    "full": _windy.Budget(num_steps=2_000_000, updates=20_000, num_rollouts=50_000),
}
COLOURS = {"mean": plots.BLUE, "0.4-CVaR": plots.RED}


@dataclasses.dataclass(frozen=True)
class Config:
    """Every knob of this figure."""

    out: Path = Path("figures")
    budget: str = "small"
    seed: int = 0


@dataclasses.dataclass(frozen=True)
class Row:
    """One statistic of one policy under one reward."""

    reward: str
    policy: str
    statistic: str
    predicted: float
    monte_carlo: float
    error: float
    """As a share of the range of true returns, that of the policy where it is wider."""


@dataclasses.dataclass(frozen=True)
class Selection:
    """Return distributions by reward and policy."""

    predicted: dict[str, dict[str, ReturnDistribution]]
    monte_carlo: dict[str, dict[str, ReturnDistribution]]

    def rows(self) -> Iterator[Row]:
        """Every statistic, predicted and true."""
        for reward, laws in self.predicted.items():
            width = max(float(np.ptp(true.atoms)) for true in self.monte_carlo[reward].values())
            for policy, law in laws.items():
                true = self.monte_carlo[reward][policy]
                for name, statistic in STATISTICS.items():
                    pair = float(statistic(law)), float(statistic(true))
                    yield Row(reward, policy, name, *pair, abs(pair[0] - pair[1]) / width)

    def winners(self, side: str) -> dict[tuple[str, str], str]:
        """The better policy by reward and criterion, as `"predicted"` or by `"monte_carlo"`."""
        laws = getattr(self, side)
        return {
            (reward, name): max(POLICIES, key=lambda p: float(STATISTICS[name](laws[reward][p])))
            for reward in REWARDS
            for name in CRITERIA
        }

    def claim(self) -> Claim:
        """What the paper says of the figure."""
        predicted, true = self.winners("predicted"), self.winners("monte_carlo")
        rows = list(self.rows())
        worst = max(rows, key=lambda row: row.error)
        right = sum(predicted[question] == true[question] for question in EXPECTED)
        return Claim(
            "π₁ wins Lopsided Checkerboard by its mean and loses it by its 0.4-CVaR, and wins "
            "Hopscotch by both",
            predicted == EXPECTED and true == EXPECTED,
            f"{right} of {len(EXPECTED)} rankings agree with Monte Carlo; of {len(rows)} predicted "
            f"statistics the worst is off by {worst.error:.1%} of the range of true returns: "
            f"{worst.statistic} of {worst.policy} under {worst.reward}",
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers for JSON."""
        sides = {side: self.winners(side) for side in ("predicted", "monte_carlo")}
        return {
            "statistics": [dataclasses.asdict(row) for row in self.rows()],
            "winners": [
                {"reward": reward, "criterion": name}
                | {side: winners[reward, name] for side, winners in sides.items()}
                for reward, name in EXPECTED
            ],
        }


def run(config: Config) -> tuple[Claim, list[Path]]:
    """Learns both policies, draws the figure and checks the rankings."""
    selection = select(BUDGETS[config.budget], config.seed)
    claim = selection.claim()
    data = {"budget": config.budget, "seed": config.seed, **selection.to_dict()}
    return claim, save(config.out, "windy_selection", draw(selection), data, claim)


def select(budget: _windy.Budget, seed: int) -> Selection:
    """Learns without rewards, then asks for both, and simulates the truth."""
    models = {policy: _windy.learn(policy, budget, seed) for policy in POLICIES}
    rewards = {name: envs.reward(f"windy/{name}") for name in REWARDS}
    truths = {policy: _windy.truth(policy, rewards, budget, seed) for policy in POLICIES}
    predicted = {
        name: {p: model.returns(reward, _windy.ORIGIN) for p, model in models.items()}
        for name, reward in rewards.items()
    }
    return Selection(predicted, {r: {p: truths[p][r] for p in POLICIES} for r in REWARDS})


def draw(selection: Selection) -> Any:
    """A row per reward and a column per policy: predicted bars, true outline, both statistics."""
    figure, axes = require("matplotlib.pyplot", "plots").subplots(
        2, 2, figsize=(9.6, 5.6), sharex="row", layout="constrained"
    )
    winners = selection.winners("predicted")
    for line, reward in zip(axes, REWARDS, strict=True):
        laws = [*selection.monte_carlo[reward].values(), *selection.predicted[reward].values()]
        ends = [float(law.quantile(level)) for law in laws for level in (0.0, 1.0)]
        edges = np.linspace(min(ends), max(ends), 31)
        for ax, policy in zip(line, POLICIES, strict=True):
            _draw_law(ax, selection, reward, policy, edges)
            won = [name for name in CRITERIA if winners[reward, name] == policy]
            title = f"{_title(reward)}, $\\pi_{1 + POLICIES.index(policy)}$ = {policy}"
            ax.set_title(title + (f": wins by {' and '.join(won)}" if won else ""), fontsize=11)
        inset = line[1].inset_axes((0.81, 0.6, 0.19, 0.38))
        plots.quadrant_grid(_windy.quadrants(envs.reward(f"windy/{reward}")), inset)
        line[0].set_ylabel("probability")
    for ax in axes[1]:
        ax.set_xlabel("return")
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=6)
    return figure


def _draw_law(ax: Any, selection: Selection, reward: str, policy: str, edges: np.ndarray) -> None:
    predicted = selection.predicted[reward][policy]
    true = selection.monte_carlo[reward][policy]
    shares = [
        np.histogram(np.asarray(law.atoms), edges, weights=np.asarray(law.weights))[0]
        for law in (predicted, true)
    ]
    ax.stairs(shares[0], edges, fill=True, color=plots.GREY, alpha=0.45, label="δ-model")
    ax.stairs(shares[1], edges, color="0.2", lw=1.1, label="Monte Carlo")
    for name in CRITERIA:
        for law, style, side in ((predicted, "-", "δ-model"), (true, (0, (3, 2)), "Monte Carlo")):
            value = float(STATISTICS[name](law))
            ax.axvline(value, color=COLOURS[name], ls=style, lw=1.8, label=f"{name}, {side}")
    ax.spines[["top", "right"]].set_visible(False)
    ax.set_ylim(0, 1.12 * max(map(np.max, shares)))


def _title(reward: str) -> str:
    return reward.replace("-", " ").title()
