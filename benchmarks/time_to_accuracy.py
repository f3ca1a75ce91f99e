"""How far from the truth, after how many seconds of training: every method on the same data.

    .venv/bin/python benchmarks/time_to_accuracy.py --problems pendulum-2 --seconds 600
    .venv/bin/python benchmarks/time_to_accuracy.py --missing  # all that is not recorded: days
    .venv/bin/python benchmarks/time_to_accuracy.py --paced --seeds 1 2 --seconds 60
    .venv/bin/python benchmarks/time_to_accuracy.py --paced --learning --seeds 1

Errors are mean W1 over the questions of a problem, divided by that of the Dirac at the true mean.
The clock runs from the call of `fit` and counts compilation, which is also reported apart; a model
is scored after the run from snapshots, so scoring costs no training time. Needs an idle machine.

Runs with `--paced` do not: by each mark they make as many updates as the first recorded seed of the
same problem and method made by the clock, or would have made at its rate. Seeds then differ by
chance alone and not by how fast the machine was that day, and two runs can go on at once, each held
to one core by `taskset`.

With `--learning`, seeds are trained to the last mark that any of them has reached, and from mark to
mark while the mean error of either bank falls by a twentieth or more. What has settled is left
alone.

Every run is recorded when it ends, in the place of an older one: what is stopped can go on later.
A run at pace goes on from its checkpoint, if the library is the same and the cache still has it.
Snapshots are kept there too, and `--rescore` scores them again without any training.
"""

import argparse
import math
import shutil
import time
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import jax
from _record import MARKS, mark, merge, rows_of
from _settled import goes_on_to
from _snapshots import Snapshot, checkpoint_folder, keep, kept
from problems import PROBLEMS, Questions, Setting

from daleth import fit
from daleth.models import EmpiricalModel
from daleth.models.base import Model
from daleth.models.delta import fast_learner, gamma_ensemble_learner
from daleth.models.learner import Learner
from daleth.models.paper_transition import PaperTransitionLearner
from daleth.models.residual_gaussian import ResidualGaussianLearner
from daleth.models.successor_features import SuccessorFeaturesLearner
from daleth.parts import Matched, Particles

NEAREST = "nearest trajectories"  # needs no training
LOOK_EVERY = 50  # updates between two looks at the clock
COMPILING = ("jaxpr_trace_duration", "jaxpr_to_mlir_module_duration", "backend_compile_duration")
compiled: list[float] = []  # seconds of each tracing, lowering and compilation so far


class Run(NamedTuple):
    """What is trained, and on what."""

    problem: str
    method: str
    atoms: int
    seed: int


KEY = Run._fields
Pace = list[tuple[float, int]]  # seconds, and updates made by then


def listen(event: str, seconds: float, **_: object) -> None:
    if event.rpartition("/")[2] in COMPILING:
        compiled.append(seconds)


def gamma_ensemble(gamma: float, num_atoms: int) -> Learner:
    """The paper's, at a learning rate that a CPU can afford."""
    learner = gamma_ensemble_learner(gamma, num_atoms)
    return replace(learner, optimisation=replace(learner.optimisation, learning_rate=5e-4))


def fast_gamma_ensemble(gamma: float, num_atoms: int) -> Learner:
    """An ensemble out of the parts of `fast`, so that not speed makes the difference."""
    learner = fast_learner(gamma, num_atoms)
    equal = Particles(**learner.representation.config())
    return replace(learner, representation=equal, set_comparison=Matched())


METHODS: dict[str, Callable[[float, int], Learner]] = {
    "fast": fast_learner,
    "γ-ensemble": gamma_ensemble,
    "γ-ensemble, parts of fast": fast_gamma_ensemble,
    "residual Gaussian rollouts": lambda gamma, m: ResidualGaussianLearner(
        gamma=gamma, num_atoms=m
    ),
    "paper's rollouts": lambda gamma, m: PaperTransitionLearner(gamma=gamma, num_atoms=m),
    "successor features": lambda gamma, m: SuccessorFeaturesLearner(gamma=gamma, num_atoms=m),
}


def by_the_clock(setting: Setting, learner: Learner, seconds: float, seed: int) -> list[Snapshot]:
    """One when the clock has passed a mark, or several at once."""
    started, taken = time.perf_counter(), []
    ahead = [mark for mark in MARKS if mark <= seconds]
    minutes = (ahead[-1] + 1) / 60

    def look(update: int, model: Model) -> None:
        clock = time.perf_counter() - started
        if ahead and clock >= ahead[0]:
            taken.append(Snapshot(round(clock, 1), update, model))
            ahead[:] = [mark for mark in ahead if mark > clock]

    fit(setting.data, learner, minutes=minutes, seed=seed, callback=look, callback_every=LOOK_EVERY)
    return taken


def at_pace(setting: Setting, learner: Learner, pace: Pace, run: Run) -> None:
    """Keeps a snapshot after as many updates as another run had made by each mark.

    The run goes on from its checkpoint, if there is one and the snapshots up to there were kept.
    """
    folder = checkpoint_folder((*run, repr(learner)))
    taken = kept_at_pace(run, pace) if folder.exists() else []
    if not taken:
        shutil.rmtree(folder, ignore_errors=True)
    for seconds, updates in pace[len(taken) :]:
        model = fit(
            setting.data, learner, updates=updates, seed=run.seed, checkpoint=folder, resume=True
        )
        taken.append(Snapshot(seconds, updates, model))
        keep(run, taken, compilation=None)


def kept_at_pace(run: Run, pace: Pace) -> list[Snapshot]:
    """The snapshots that an earlier call has kept, if they were taken at this very pace."""
    snapshots, _ = kept(run) or ([], None)
    marks = [(one.seconds, one.updates) for one in snapshots]
    return snapshots if marks == pace[: len(marks)] else []


def pace_of(run: Run, seconds: float) -> Pace:
    """Seconds and updates at each mark of the first recorded seed, at its rate beyond its last."""
    same = rows_with(run[:3])
    if not same:
        raise SystemExit(f"no run of {run.method} on {run.problem} is recorded: leave out --paced")
    first = min(row["seed"] for row in same)
    points = sorted((row["seconds"], row["updates"]) for row in same if row["seed"] == first)
    started = points[0] if len(points) > 1 else (same[0].get("compilation", 0.0), 0)
    rate = (points[-1][1] - started[1]) / (points[-1][0] - started[0])
    reached = mark(points[-1][0])
    for one in MARKS:
        if one > reached:
            updates = points[-1][1] + rate * (one - points[-1][0])
            points.append((float(one), LOOK_EVERY * round(updates / LOOK_EVERY)))
    return [point for point in points if mark(point[0]) <= seconds]


def score(questions: Questions, model: Model) -> float:
    """Mean W1 over that of the Dirac at the true mean."""
    return questions.error(model) / questions.ceiling()


def train(setting: Setting, run: Run, seconds: float, paced: bool) -> None:
    """Trains, and leaves snapshots in the cache."""
    learner = METHODS[run.method](setting.gamma, run.atoms)
    jax.clear_caches()  # every run compiles, not only the first seed's
    before = sum(compiled)
    if paced:
        at_pace(setting, learner, pace_of(run, seconds), run)
    else:
        taken = by_the_clock(setting, learner, seconds, run.seed)
        keep(run, taken, compilation=round(sum(compiled) - before, 1))


def scores(setting: Setting, run: Run) -> list[dict]:
    """The rows of a run that needs no training, or of one whose snapshots were kept."""
    floor = setting.named.floor(run.atoms) / setting.named.ceiling()
    shared: dict[str, object] = dict(zip(KEY, run, strict=True))
    if run.method == NEAREST:
        models = [Snapshot(0.0, 0, EmpiricalModel(setting.data, setting.gamma, run.atoms))]
    else:
        found = kept(run)
        if found is None:
            print(f"no snapshots of {run}", flush=True)
            return []
        models, compilation = found
        shared |= {"paced": True} if compilation is None else {"compilation": compilation}
    rows = []
    for seconds, updates, model in models:
        errors = {
            "W1 / Dirac": score(setting.named, model),
            "random bank": score(setting.random, model),
        }
        rows.append({**shared, "seconds": seconds, "updates": updates, **errors, "floor": floor})
        print(rows[-1], flush=True)
    return rows


def rows_with(key: tuple[str | int, ...]) -> list[dict]:
    """The recorded rows with these values of the first columns of the key."""
    rows = rows_of("time_to_accuracy")
    return [row for row in rows if tuple(row[column] for column in KEY[: len(key)]) == key]


def recorded(run: Run) -> float:
    """The last mark of a run that an earlier call has left; none is before all marks."""
    rows = rows_with(run)
    if rows and not rows[0]["seconds"]:
        return math.inf  # it needs no training
    return max((mark(row["seconds"]) for row in rows), default=-math.inf)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    every = [*METHODS, NEAREST]
    parser.add_argument("--problems", nargs="+", default=list(PROBLEMS), choices=PROBLEMS)
    parser.add_argument("--methods", nargs="+", default=every, choices=every)
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--atoms", type=int, help="instead of those of the problem")
    parser.add_argument("--paced", action="store_true", help="by updates instead of the clock")
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--missing", action="store_true", help="skip runs recorded to the last mark")
    which.add_argument(
        "--learning", action="store_true", help="to the next mark, if errors fell up to the last"
    )
    which.add_argument("--rescore", action="store_true", help="train nothing, score what was kept")
    options = parser.parse_args()
    if options.seconds < MARKS[0]:
        parser.error(f"--seconds must be at least {MARKS[0]}, got {options.seconds:g}")
    jax.monitoring.register_event_duration_secs_listener(listen)
    for problem in options.problems:
        setting = PROBLEMS[problem]()
        for method in options.methods:
            while measure(setting, method, options) and options.learning:
                pass  # to the next mark


def measure(setting: Setting, method: str, options: argparse.Namespace) -> bool:
    """Records each seed that is asked for; whether there was any that had not been skipped."""
    num_atoms = options.atoms or setting.num_atoms
    seconds, found = options.seconds, False
    if options.learning:
        seconds = min(seconds, goes_on_to(rows_with((setting.name, method, num_atoms))))
    for seed in options.seeds[:1] if method == NEAREST else options.seeds:
        run = Run(setting.name, method, num_atoms, seed)
        skips = options.missing or options.learning
        if skips and recorded(run) >= mark(seconds):
            continue
        if method != NEAREST and not options.rescore:
            train(setting, run, seconds, options.paced)
        if rows := scores(setting, run):
            merge("time_to_accuracy", rows, key=KEY)
            found = True
    return found


if __name__ == "__main__":
    main()
