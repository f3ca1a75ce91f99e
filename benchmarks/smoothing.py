"""What it is worth that returns of learned atoms are evened out along each reward.

    .venv/bin/python benchmarks/smoothing.py

Trains nothing: `fast` is read from the snapshots that `time_to_accuracy.py` has kept, each run's
last; every answer is given twice, as it is and evened out. Nearest trajectories, whose atoms are
draws, are evened out for comparison; the library does not do so.
"""

import argparse
from typing import NamedTuple

import numpy as np
from _record import record
from _snapshots import kept
from problems import PROBLEMS, Questions, Setting
from time_to_accuracy import Run

from daleth.data import Normalisation
from daleth.models import EmpiricalModel
from daleth.models.base import Futures, Model
from daleth.smoothing import FEWEST_ATOMS, nearest_atoms

NOTE = (
    "W1 in units of the Dirac at the true mean, of the same atoms: as they are, and evened out as "
    "`Model.returns` of δ-models does. `fast` at the last mark of each kept run, the mean over "
    "seeds. Atoms of nearest trajectories are independent draws and are not evened out by the "
    "library; they are here for comparison. Written by `benchmarks/smoothing.py`."
)


class Errors(NamedTuple):
    """Of the same atoms, in units of the Dirac at the true mean."""

    plain: float
    even: float


def errors(questions: Questions, model: Model, scale: Normalisation) -> Errors:
    measures = model.at(questions.sources).measures
    near = nearest_atoms(scale.apply(measures.points), measures.point_weights)
    rewards = list(questions.rewards.values())
    found = []
    for neighbours in (None, near):
        answers = Futures(measures, model.gamma, neighbours).returns(rewards)
        indexed = {name: answers[i] for i, name in enumerate(questions.rewards)}
        found.append(questions.mean_error(indexed.__getitem__) / questions.ceiling())
    return Errors(*found)


def rows_of(setting: Setting, seeds: list[int]) -> list[dict[str, object]]:
    """`fast` and nearest trajectories, or nothing where atoms are few or no run was kept."""
    if setting.num_atoms < FEWEST_ATOMS:
        return []
    runs = [kept(Run(setting.name, "fast", setting.num_atoms, seed)) for seed in seeds]
    last = [snapshots[-1] for snapshots, _ in filter(None, runs) if snapshots]
    if not last:
        return []
    nearest = EmpiricalModel(setting.data, setting.gamma, setting.num_atoms)
    scale = setting.data.normalisation()
    methods = {"fast": [one.model for one in last], "nearest trajectories": [nearest]}
    out = []
    for method, models in methods.items():
        row: dict[str, object] = {"problem": setting.name, "method": method, "runs": len(models)}
        row["seconds"] = float(np.mean([one.seconds for one in last])) if method == "fast" else 0.0
        for column, bank in (("named", setting.named), ("random bank", setting.random)):
            found = [errors(bank, model, scale) for model in models]
            row[column] = float(np.mean([one.plain for one in found]))
            row[f"{column}, evened out"] = float(np.mean([one.even for one in found]))
        print(row, flush=True)
        out.append(row)
    return out


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--problems", nargs="+", default=list(PROBLEMS), choices=PROBLEMS)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    options = parser.parse_args()
    rows = [row for name in options.problems for row in rows_of(PROBLEMS[name](), options.seeds)]
    if not rows:
        parser.error("no run of `fast` was kept: call time_to_accuracy.py first")
    record("smoothing", "Returns as they are, and evened out", rows, NOTE)


if __name__ == "__main__":
    main()
