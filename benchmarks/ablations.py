"""What each part of a δ-model is worth: one change at a time, equal training time.

    .venv/bin/python benchmarks/ablations.py --seeds 0 1 2

On Windy Gridworld, uniform policy, 11 atoms; the parts of the paper have 5, since their cost grows
with the square, and more time, since with less they know less than the Dirac at the mean. The error
is the mean W1 over 64 random rewards at 32 source states of the data, divided by that of the Dirac
at the true mean. All networks are small (2 x 64). Every variant is compiled before the clock
starts. Needs an idle machine.
"""

import argparse
from dataclasses import replace
from typing import Any

import numpy as np
from _record import merge
from problems import PROBLEMS

from daleth import fit
from daleth.models.delta import DeltaLearner
from daleth.parts import (
    Energy,
    Generators,
    Gram,
    InverseMultiquadric,
    Matched,
    Particles,
    PlainAdam,
    RandomFeatures,
    WeightedParticles,
)

NUM_ATOMS, NUM_PAPER_ATOMS = 11, 5
SECONDS, PAPER_SECONDS = 8.0, 20.0
FAST = DeltaLearner(
    gamma=0.95,
    representation=Particles(num_atoms=NUM_ATOMS, width=64, num_frequencies=64),
    set_comparison=Energy(),
)
GENERATORS = Generators(num_atoms=NUM_ATOMS, num_state_samples=16, width=64, depth=2)
PAPER = replace(
    FAST,
    representation=replace(GENERATORS, num_atoms=NUM_PAPER_ATOMS),
    state_comparison=Gram(num_features=0),
    set_comparison=InverseMultiquadric(),
    optimisation=PlainAdam(learning_rate=1e-3),
    targets="sampled",
    num_bootstrap_steps=5,
    batch_size=32,
    num_target_atoms=0,
    known_source=False,
)


def particles(**changes: Any) -> DeltaLearner:
    return replace(FAST, representation=replace(FAST.representation, **changes))


PAPER_GROUP = "paper's parts, small"
NOTE = (
    "Windy Gridworld, uniform policy, networks of 2 x 64 units; 11 atoms, the paper's parts 5. The "
    "error is that of the random bank. Variants of a group have the same seconds, without those of "
    "compiling, so a cheaper part makes more updates. Atoms are equally likely and have no "
    "repulsion, but for the rows that say so; `fast` learns the weights of fewer than 16 atoms. "
    "Written by `benchmarks/ablations.py`."
)
VARIANTS: dict[str, dict[str, DeltaLearner]] = {
    "fast, number of bootstrap steps": {
        f"n = {n}": replace(FAST, num_bootstrap_steps=n) for n in (1, 2, 5, 10, 20, 40, 80)
    },
    "fast, number of atoms": {f"m = {m}": particles(num_atoms=m) for m in (5, 11, 25, 51)},
    "fast, one part changed": {
        "as it is": FAST,
        "Gram matrix instead of random features": replace(FAST, state_comparison=Gram(0)),
        "inverse multiquadric instead of energy": replace(
            FAST, set_comparison=InverseMultiquadric()
        ),
        "learned weights of atoms, all target atoms": replace(
            FAST,
            representation=WeightedParticles(**FAST.representation.config()),
            num_target_atoms=0,
        ),
        "repulsion": replace(FAST, set_comparison=Energy(repulsion=1 / 3)),
        "generators instead of particles": replace(FAST, representation=GENERATORS),
        "generators, and sampled instead of exact targets": replace(
            FAST, representation=GENERATORS, targets="sampled"
        ),
        "γ-ensemble: each atom alone": replace(FAST, set_comparison=Matched()),
        "without moments": replace(FAST, state_comparison=RandomFeatures(linear=0, quadratic=0)),
        "source state learned, not known": replace(FAST, known_source=False),
        "all target atoms": replace(FAST, num_target_atoms=0),
        "length scales from 0.05 to 1": replace(
            FAST, state_comparison=RandomFeatures(length_scales=(0.05, 1.0))
        ),
        "constant rate, no long average": replace(FAST, optimisation=PlainAdam(1e-3)),
        "no plateaus at values that recur": particles(plateau=0.0),
        "1 Fourier frequency": particles(num_frequencies=1),
        "8 points": particles(num_points=8),
        "32 points": particles(num_points=32),
    },
    PAPER_GROUP: {
        "as it is": PAPER,
        "adversarial state kernel": replace(PAPER, state_comparison=Gram(8, 64)),
        "n = 1": replace(PAPER, num_bootstrap_steps=1),
        "n = 10": replace(PAPER, num_bootstrap_steps=10),
        "exact targets": replace(PAPER, targets="exact"),
        "energy": replace(PAPER, set_comparison=Energy()),
        "random features": replace(PAPER, state_comparison=RandomFeatures()),
    },
}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--groups", nargs="+", default=list(VARIANTS), choices=VARIANTS)
    every = sorted({name for variants in VARIANTS.values() for name in variants})
    parser.add_argument("--variants", nargs="+", default=every, choices=every)
    options = parser.parse_args()
    setting = PROBLEMS["windy-uniform"]()
    for group in options.groups:
        seconds = PAPER_SECONDS if group == PAPER_GROUP else SECONDS
        for name, learner in VARIANTS[group].items():
            if name not in options.variants:
                continue
            errors, updates = [], []
            fit(setting.data, learner, updates=1)  # compiles

            def note(update: int, _: object, updates: list[int] = updates) -> None:
                updates.append(update)

            for seed in options.seeds:
                budget = {"minutes": seconds / 60, "callback_every": 10**9}
                model = fit(setting.data, learner, seed=seed, callback=note, **budget)
                errors.append(setting.random.error(model) / setting.random.ceiling())
            row = {
                "group": group,
                "variant": name,
                "seconds": seconds,
                "updates": int(np.mean(updates)),
                "W1 / Dirac": float(np.mean(errors)),
                "standard error": float(np.std(errors) / max(1, len(errors) - 1) ** 0.5),
                "seeds": len(errors),
            }
            print(row, flush=True)
            merge("ablations", [row], ("group", "variant"), NOTE)


if __name__ == "__main__":
    main()
