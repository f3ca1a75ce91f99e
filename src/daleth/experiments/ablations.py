"""Three choices in a δ-model: bootstrap steps, number of atoms, and an adversarial state kernel.

Paper, appendix on ablations: W1 to the Monte Carlo returns on Pendulum, 9 source states, 4 rewards.
Below the full budget the first two panels are made with the fast parts on a small network, and the
third with the paper's parts on small networks; at the full budget networks are larger and runs
longer. The paper's own size, 3 million updates of seconds each, is out of reach here.
"""

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from daleth import plots
from daleth._optional import require
from daleth.experiments import _pendulum
from daleth.experiments._output import Claim, save
from daleth.models.delta import DeltaLearner, paper_learner
from daleth.parts import Energy, Generators, Gram, Particles, PlainAdam


@dataclasses.dataclass(frozen=True)
class Budget:
    """What is spent on one run.

    Attributes:
        num_steps: transitions collected.
        num_rollouts: of the truth, per source state.
        fast_updates: of the first two panels.
        paper_updates: of the third.
        width: of networks with the fast parts; those with the paper's have a quarter of it.
        bootstrap_steps: of the first panel.
        atoms: of the second.
        num_seeds: runs per setting.
    """

    num_steps: int
    num_rollouts: int
    fast_updates: int
    paper_updates: int
    width: int
    bootstrap_steps: tuple[int, ...] = (1, 2, 3, 5, 7, 10, 20, 40)
    atoms: tuple[int, ...] = (5, 11, 21, 51)
    num_seeds: int = 3


BUDGETS = {
    "tiny": Budget(2_000, 50, 2, 2, 8, bootstrap_steps=(1, 5, 10), atoms=(5, 7), num_seeds=1),
    # With 11 atoms about 5 ms an update of the fast parts, and 30 ms of the paper's with 5 atoms.
    "small": Budget(300_000, 5_000, 1_500, 1_500, 128),
    "full": Budget(1_000_000, 20_000, 20_000, 60_000, 512),
}


@dataclasses.dataclass(frozen=True)
class Config:
    """Every knob of this figure."""

    out: Path = Path("figures")
    budget: str = "small"
    seed: int = 0


def run(config: Config) -> tuple[Claim, list[Path]]:
    """Trains every setting with several seeds, draws the three panels and checks each."""
    budget = BUDGETS[config.budget]

    def errors(learner: DeltaLearner, updates: int) -> list[float]:
        """W1 over that of the Dirac at the true mean, for each seed."""
        seeds = range(config.seed, config.seed + budget.num_seeds)
        models = [_pendulum.learn(learner, budget.num_steps, updates, seed) for seed in seeds]
        cards = [_pendulum.card(model, budget.num_rollouts, config.seed) for model in models]
        return [float(card.errors["wasserstein"].ratio()) for card in cards]

    fast = budget.fast_updates
    steps = {n: errors(small_fast_learner(budget, n, 11), fast) for n in budget.bootstrap_steps}
    atoms = {m: errors(small_fast_learner(budget, 40, m), fast) for m in budget.atoms}
    kernels = {
        name: errors(small_paper_learner(budget, num_features), budget.paper_updates)
        for name, num_features in (("fixed", 0), ("adversarial", 8))
    }
    claim = _claim(steps, atoms, kernels)
    panels = {"bootstrap_steps": steps, "atoms": atoms, "state_kernel": kernels}
    data = {
        "budget": dataclasses.asdict(budget),
        "seed": config.seed,
        "w1_over_dirac": {
            name: {str(setting): values for setting, values in panel.items()}
            for name, panel in panels.items()
        },
    }
    return claim, save(config.out, "ablations", _draw(steps, atoms, kernels), data, claim)


def small_fast_learner(budget: Budget, num_bootstrap_steps: int, num_atoms: int) -> DeltaLearner:
    """Particles, random features, exact targets, energy distance without repulsion."""
    particles = Particles(num_atoms, num_points=16, width=budget.width, num_frequencies=64)
    return DeltaLearner(
        gamma=_pendulum.GAMMA,
        representation=particles,
        set_comparison=Energy(),
        num_bootstrap_steps=num_bootstrap_steps,
        batch_size=64,
    )


def small_paper_learner(budget: Budget, num_features: int) -> DeltaLearner:
    """Algorithm 1 with 5 atoms, small networks, and steps that suit short runs."""
    width = max(4, budget.width // 4)
    return dataclasses.replace(
        paper_learner(_pendulum.GAMMA),
        representation=Generators(num_atoms=5, num_state_samples=16, width=width),
        state_comparison=Gram(num_features=num_features, width=width),
        optimisation=PlainAdam(learning_rate=1e-3),
    )


def _claim(
    steps: dict[int, list[float]], atoms: dict[int, list[float]], kernels: dict[str, list[float]]
) -> Claim:
    n, m = ({setting: float(np.mean(e)) for setting, e in each.items()} for each in (steps, atoms))
    fixed, adversarial = (float(np.mean(kernels[name])) for name in ("fixed", "adversarial"))
    more_atoms = list(m.values())
    parts = {
        "n-step targets help up to n = 5": n[5] < 0.95 * n[1],
        "n = 10 adds little to n = 5": n[10] > 0.9 * n[5],
        "more atoms help monotonically": all(np.diff(more_atoms) < 0),
        "the adversarial kernel nearly halves W1": adversarial < 0.65 * fixed,
    }
    verdicts = "; ".join(f"{name}: {'yes' if held else 'NO'}" for name, held in parts.items())
    numbers = (
        f"n: {_numbers(n)}; atoms: {_numbers(m)}; kernel: fixed {fixed:.2f}, "
        f"adversarial {adversarial:.2f}"
    )
    return Claim(
        "n-step targets help until about n = 5, more atoms help monotonically, and the "
        "adversarial state kernel nearly halves W1",
        all(parts.values()),
        f"{verdicts}. W1 over that of the Dirac at the true mean, {numbers}",
    )


def _numbers(means: dict[int, float]) -> str:
    return ", ".join(f"{setting} → {value:.2f}" for setting, value in means.items())


def _draw(*panels: dict[Any, list[float]]) -> Any:
    figure, axes = require("matplotlib.pyplot", "plots").subplots(
        1, 3, figsize=(11, 3.4), width_ratios=[1.5, 1.2, 0.9], layout="constrained"
    )
    titles = ("bootstrap steps $n$", "atoms $m$", "state kernel")
    notes = ("fast parts, 11 atoms", "fast parts, $n = 40$", "paper's parts, 5 atoms")
    for ax, panel, title, note in zip(axes, panels, titles, notes, strict=True):
        _draw_panel(ax, list(map(str, panel)), list(panel.values()))
        ax.set_xlabel(title)
        ax.set_title(note, fontsize=11)
    axes[0].set_ylabel("W1 / that of the Dirac\nat the true mean")
    axes[0].plot([], [], "o", ms=4, color=plots.GREY, label="one seed")
    axes[0].plot([], [], "o-", color=plots.BLUE, label="mean")
    axes[0].axhline(np.nan, color="0.2", lw=1, ls=(0, (4, 2)), label="Dirac at the true mean")
    figure.legend(loc="outside lower center", ncols=3, frameon=False)
    return figure


def _draw_panel(ax: Any, settings: list[str], errors: Sequence[Sequence[float]]) -> None:
    places, means = np.arange(len(settings)), [float(np.mean(each)) for each in errors]
    lows, highs = [min(each) for each in errors], [max(each) for each in errors]
    ax.vlines(places, lows, highs, color=plots.GREY, lw=1.5)
    for place, each in zip(places, errors, strict=True):
        ax.plot([place] * len(each), each, "o", ms=4, color=plots.GREY)
    ax.plot(places, means, "o-", color=plots.BLUE, lw=1.6, ms=6)
    ax.axhline(1, color="0.2", lw=1, ls=(0, (4, 2)))
    ax.set(xticks=places, xticklabels=settings, ylim=(0, None))
    ax.set_xlim(-0.5, len(settings) - 0.5)
    ax.spines[["top", "right"]].set_visible(False)
