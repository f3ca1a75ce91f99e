"""Atoms as futures: four atoms of a δ-model, four γ-models, and the successor measure.

Paper, figure of model atoms in Windy Gridworld: uniform policy, source state at the origin. The
γ-ensemble has the same parts as the δ-model (particles, random features) but for one: each atom is
compared with its own target alone.
"""

import dataclasses
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from daleth import envs, plots, policies
from daleth._optional import require
from daleth.discrepancy import weighted_mean_state_kernel
from daleth.experiments import _windy
from daleth.experiments._output import Claim, save
from daleth.measures import StateMeasures
from daleth.models.monte_carlo import MonteCarloModel
from daleth.parts import Matched, Particles, RandomFeatures
from daleth.training import fit

BUDGETS = {
    "tiny": _windy.Budget(4_000, updates=5, num_rollouts=8, num_atoms=4, width=8),
    # Four atoms are cheap: about 10 ms an update.
    "small": _windy.Budget(300_000, updates=3_000, num_rollouts=200, num_atoms=4),
    "full": _windy.Budget(2_000_000, updates=40_000, num_rollouts=500, num_atoms=4),
}
COLOURS = (plots.BLUE, plots.ORANGE, plots.GREEN, plots.RED)
_UNIT = 5.0
"""Half the width of the box: distances are measured on states divided by it."""


@dataclasses.dataclass(frozen=True)
class Config:
    """Every knob of this figure."""

    out: Path = Path("figures")
    budget: str = "small"
    num_points: int = 64
    seed: int = 0


def run(config: Config) -> tuple[Claim, list[Path]]:
    """Learns both sets of atoms, draws them and measures how far apart they are."""
    delta, ensemble, futures = _atoms(config)
    numbers = _numbers(delta, ensemble, futures)
    apart, alike = numbers["between δ-model atoms"], numbers["between γ-models"]
    claim = Claim(
        "the atoms of the δ-model show different futures, while the γ-models of an ensemble all "
        "predict about the successor measure",
        apart > 3 * alike
        and 3 * numbers["γ-model to successor measure"]
        < numbers["δ-model atom to successor measure"],
        "mean MMD " + ", ".join(f"{name} {value:.3f}" for name, value in numbers.items()),
    )
    data = {"budget": config.budget, "seed": config.seed, "mean_mmd": numbers}
    figure = _draw(delta, ensemble, futures.mean(), numbers)
    return claim, save(config.out, "windy_atoms", figure, data, claim)


def _numbers(
    delta: StateMeasures, ensemble: StateMeasures, futures: StateMeasures
) -> dict[str, float]:
    """How far atoms are from each other, and from the successor measure."""
    real = gram(futures, futures)

    def to_measure(atoms: StateMeasures) -> float:
        return to_mean(gram(atoms, atoms), gram(atoms, futures), real)

    return {
        "between δ-model atoms": between(gram(delta, delta)),
        "between γ-models": between(gram(ensemble, ensemble)),
        "between real futures": between(real),
        "δ-model atom to successor measure": to_measure(delta),
        "γ-model to successor measure": to_measure(ensemble),
        "mean of δ-model atoms to successor measure": to_measure(delta.mean()),
    }


def between(own: np.ndarray) -> float:
    """The mean MMD between two different atoms, from their inner products `[m, m]`."""
    norms = np.diagonal(own)
    squared = norms[:, None] + norms - 2 * own
    return float(np.sqrt(np.maximum(squared, 0))[~np.eye(len(own), dtype=bool)].mean())


def to_mean(own: np.ndarray, across: np.ndarray, other: np.ndarray) -> float:
    """The mean MMD of `m` atoms to the mean of `t` others, from `[m, m]`, `[m, t]`, `[t, t]`."""
    squared = np.diagonal(own) + other.mean() - 2 * across.mean(axis=1)
    return float(np.sqrt(np.maximum(squared, 0)).mean())


def gram(atoms: StateMeasures, others: StateMeasures) -> np.ndarray:
    """Inner products of mean embeddings under the paper's state kernel, `[m, t]`."""
    pairs = [(one.points / _UNIT, one.point_weights) for one in (atoms, others)]
    return np.asarray(jax.jit(weighted_mean_state_kernel)(*pairs[0], *pairs[1]))


def _atoms(config: Config) -> tuple[StateMeasures, StateMeasures, StateMeasures]:
    """Of the δ-model, of the γ-ensemble, and of real rollouts."""
    budget = BUDGETS[config.budget]
    data = _windy.collect("uniform", budget.num_steps, config.seed)
    learner = _windy.learner(budget)
    particles = Particles(
        budget.num_atoms, config.num_points, width=budget.width, num_frequencies=64
    )
    learner = dataclasses.replace(
        learner,
        representation=particles,
        # Few atoms can afford detail: below the scale of the box, down to that of a step.
        state_comparison=RandomFeatures(num_features=32, length_scales=(0.3, 3.0)),
    )
    ensemble = dataclasses.replace(learner, set_comparison=Matched())
    settings: dict[str, Any] = {"updates": budget.updates, "seed": config.seed}
    models = [fit(data, one, starts="uniform", **settings) for one in (learner, ensemble)]
    world, behaviour = envs.environment("windy"), policies.policy("windy/uniform")
    real = MonteCarloModel(world, behaviour, _windy.GAMMA, budget.num_rollouts, tolerance=1e-2)
    keys, origin = jax.random.split(jax.random.key(config.seed), 1), jnp.zeros((1, 2))
    delta, gamma, futures = (model.batch_atoms(origin, keys)[0] for model in (*models, real))
    return delta, gamma, futures


def _draw(
    delta: StateMeasures, ensemble: StateMeasures, measure: StateMeasures, numbers: dict[str, float]
) -> Any:
    figure, axes = require("matplotlib.pyplot", "plots").subplots(
        2, 2, figsize=(6.6, 6.9), layout="constrained"
    )
    panels = {
        "4 atoms of the δ-model": delta,
        "mean of the 4 atoms": delta.mean(),
        "ensemble of 4 γ-models": ensemble,
        "successor measure (Monte Carlo)": measure,
    }
    below = {
        0: f"mean MMD between atoms {numbers['between δ-model atoms']:.2f}",
        2: f"mean MMD between members {numbers['between γ-models']:.2f}",
    }
    for index, (ax, (title, atoms)) in enumerate(zip(axes.flat, panels.items(), strict=True)):
        single = atoms.num_atoms == 1
        for atom, colour in zip(range(atoms.num_atoms), COLOURS, strict=False):
            plots.state_density(
                atoms.points[atom],
                atoms.point_weights[atom],
                ax,
                color="#6a4c93" if single else colour,
            )
        ax.axhline(0, color="0.7", lw=0.6, zorder=0)
        ax.axvline(0, color="0.7", lw=0.6, zorder=0)
        ax.plot(0, 0, "+", color="0.2", ms=8)
        ax.set_title(title, fontsize=11)
        ax.set_xlabel(below.get(index, ""), fontsize=10)
    return figure
