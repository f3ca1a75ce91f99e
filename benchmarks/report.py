"""Puts all results together: `docs/benchmarks.md`, its figure, and the table in the README.

    .venv/bin/python benchmarks/report.py

Reads what the other scripts left in `docs/benchmarks/`; measures nothing.
"""

import re
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib.pyplot as plt
import numpy as np
from _record import MARKS, RESULTS, machine, mark, note_of, rows_of, table, write
from _settled import settled
from goals import goals

DOCS = RESULTS.parent
README = DOCS.parent / "README.md"
HEADLINE = (  # the problems in the README
    "windy, uniform",
    "pendulum, noise 2",
    "pendulum, noise 1",
    "linear-gaussian, d=8, γ=0.95",
)
NAMED, RANDOM = "W1 / Dirac", "random bank"  # the columns of errors
BEGIN, END = "<!-- benchmarks:begin -->", "<!-- benchmarks:end -->"
INTRODUCTION = """# Benchmarks

Everything here is written by scripts in `benchmarks/`, each one command; this page by
`benchmarks/report.py`. W1 is the 1-Wasserstein distance to the true return distribution, averaged
over the questions of a problem. *Dirac* is the W1 of the Dirac at the true mean: a ratio of 1 is as
good as knowing the mean alone. The *floor* is what the best equal atoms of this number would still
miss; it is a floor for one reward at a time, while a model answers all rewards with the same atoms.
Seconds of training count those of compiling, which are also given apart. The random bank holds 64
seeded random rewards at 32 source states drawn from the data.

Every method has seen the same data. All have three seeds to 60 s, but the γ-ensemble of the paper's
networks, which needs more than a second for an update, and has one. Where a method still learned by
then, one of its seeds at least went on, to 120, 300 or 600 s; `fast` has three seeds to the last
second of each goal below. How far each has gone, and which have settled, stands [in a
table](#seeds-and-seconds). The first seed of each was trained by the clock on an idle machine. Most
others, and a few of these again, went *at pace*: as many updates by each mark as that run had made,
or would have made at its rate, so that seeds differ by chance and not by how fast the machine was
that day. Three seeds and 600 s of everything would take 40 hours; runs are recorded one by one, and
`time_to_accuracy.py --missing` measures what is not there yet. `fast` is as it is now, on every
problem.

Transition models and successor features move like `fast`, by a falling rate and an average over a
growing stretch: with constant rates, after a minute, successor features on linear-Gaussian problems
were further off by 1.2 to 2.6 times, and the paper's rollouts on Pendulum with noise 2 by 2.1
times; residual Gaussian rollouts gained nothing there. Seconds are those of one machine, whose
speed varied up to twofold between runs by the clock: how many updates were made in them stands in
the table of every mark. Without noise the Dirac at the true mean is all but the truth, so ratios
there say how much spread a model makes up.

A model answers all rewards with the same atoms, and in many directions 51 points lie less well than
in one. *Fitted to the truth* in the table of the random bank says how well: points fitted at each
source state to true returns of all 64 rewards together, without a network
(`benchmarks/fitted_atoms.py`). `fast` is below that on most problems, because it [evens out its
returns](how-it-works.md#from-atoms-to-returns) along each reward, and fitted points are taken as
they are; with 4 atoms, because it learns their weights, and fitted points are equally likely. What
evening out is worth stands [in a table](#returns-as-they-are-and-evened-out). Successor features
with a Gaussian law place their atoms for each reward anew, and the truth of linear-Gaussian
problems is Gaussian. There they are the best method: after a minute their error is 0.61 to 0.89
times that of `fast` on the named questions and 0.55 to 0.94 times on the random bank. After 300 s,
one seed each, it is 0.66 to 1.01 times and 0.58 to 0.99 times, but for the named questions with
d = 16, γ = 0.95, where they overfit: 1.26 times. No set of 51 atoms that serves all rewards lies as
evenly along each as a law of known shape. On the other six problems, where returns are not
Gaussian, `fast` is below every learned baseline on both banks, at whatever mark the baseline was
best, but for one: without noise a γ-ensemble out of parts of `fast`, which hardly spreads its
returns, is level on the named questions after two minutes (4.23, one seed, for 4.30). `fast` is
below nearest trajectories everywhere but on the random bank of Pendulum without noise.

Defaults were chosen on the named rewards and sources, those of Windy Gridworld with 4 atoms among
them. Trials showed the random bank too, but it decided less, so it is the fairer test. How returns
are evened out was chosen on both banks of five of these problems, and on laws with two modes and
with point masses that no problem here has. That points meet values which recur in the data was
found on the named rewards of Windy Gridworld, which are 0 on the axes; the random bank is smooth
and does not see it. The two policies of Windy Gridworld are trained for 90 s each; the goal sets no
time. The ablations have 11 atoms, whose answers are not evened out; those of 25 and 51 are.
"""

AFTER_A_MINUTE = "after a minute of training, the mean over seeds; the least is bold."
SEEDS_AND_SECONDS = (
    "How many seeds were trained, to which mark, and how many of them at pace. A method has "
    "*settled* when its mean error over seeds has fallen by less than 5 % from one mark to the "
    "next, on both banks; more seconds tell nothing new then. `time_to_accuracy.py --paced "
    "--learning` takes the others to their next mark."
)


class Last(NamedTuple):
    """The last mark of a run, and whether it went by updates instead of the clock."""

    mark: int
    paced: bool


def main() -> None:
    accuracy = rows_of("time_to_accuracy")
    lines = [INTRODUCTION, "## Goals", "", *table(goals()), ""]
    if accuracy:
        draw(accuracy, RESULTS / "time_to_accuracy.png")
        lines += ["## Time to accuracy", "", "![error over time](benchmarks/time_to_accuracy.png)"]
        lines += ["", "Thick: the mean, as far as all seeds went. Thin: each seed.", ""]
        for column, what in ((NAMED, "Named rewards and sources"), (RANDOM, "The random bank")):
            shown = side_by_side(accuracy, column, latest=60)
            lines += [f"{what} {AFTER_A_MINUTE}", "", *table(shown), ""]
        lines += ["### Seeds and seconds", "", SEEDS_AND_SECONDS, ""]
        lines += [*table(seeds_and_seconds(accuracy)), ""]
        lines += ["### Every mark", "", *table(summary(accuracy)), ""]
    sections = (
        ("sources", "Where the source states of the linear-Gaussian problems lie"),
        ("smoothing", "Returns as they are, and evened out"),
        ("selection", "Choosing between two policies of Windy Gridworld, five seeds"),
        ("update_speed", "Time and memory of an update"),
        ("where_time_goes", "Where the time of an update goes"),
        ("queries", "Answers of a trained model"),
        ("ablations", "What each part is worth"),
        ("throughput", "Collecting data and simulating the truth"),
    )
    for name, title in sections:
        rows = rows_of(name)
        if rows:
            note = note_of(name) or f"Written by `benchmarks/{name}.py`."
            lines += [f"## {title}", "", note, "", *table(rows), ""]
    lines += [", ".join(f"{key} {value}" for key, value in machine().items()), ""]
    write(DOCS / "benchmarks.md", "\n".join(lines))
    if accuracy and BEGIN in README.read_text():
        before, rest = README.read_text().split(BEGIN)
        after = rest.split(END)[1]
        shown = [row for row in accuracy if row["problem"] in HEADLINE]
        body = "\n".join(table(side_by_side(shown, NAMED, latest=MARKS[-1])))
        write(README, f"{before}{BEGIN}\n{body}\n{END}{after}")


def summary(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Mean and range over seeds for each problem, method and mark."""
    grouped: dict[tuple, list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        key = (row["problem"], row["atoms"], row["method"], mark(row["seconds"]))
        grouped[key].append(row)
    out = []
    for (problem, atoms, method, _), found in sorted(grouped.items(), key=by_problem):
        errors = [one["W1 / Dirac"] for one in found]
        out.append(
            {
                "problem": problem,
                "atoms": atoms,
                "method": method,
                "seconds": float(np.mean([one["seconds"] for one in found])),
                "compiling": compiling(found),
                "updates": int(np.mean([one["updates"] for one in found])),
                "seeds": len(found),
                "W1 / Dirac": float(np.mean(errors)),
                "range": f"{min(errors):.3g} … {max(errors):.3g}" if len(errors) > 1 else "-",
                "random bank": float(np.mean([one["random bank"] for one in found])),
                "floor": found[0]["floor"],
            }
        )
    return out


def compiling(rows: list[dict[str, Any]]) -> float | str:
    """The mean of the seconds, where they were measured."""
    found = [row["compilation"] for row in rows if "compilation" in row]
    return float(np.mean(found)) if found else "-"


def seeds_and_seconds(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """How many seeds a method has on each problem by its marks, longest runs first."""
    last: dict[tuple, dict[str, dict[int, Last]]] = defaultdict(lambda: defaultdict(dict))
    for row in rows:
        runs_of = last[(row["problem"], row["atoms"])][row["method"]]
        reached = Last(mark(row["seconds"]), row.get("paced", False))
        runs_of[row["seed"]] = max(runs_of.get(row["seed"], reached), reached)

    def cell(case: tuple, method: str) -> str:
        ends = last[case][method]
        if not ends:
            return "-"
        by_mark = Counter(end.mark for end in ends.values())
        paced = Counter(end.mark for end in ends.values() if end.paced)
        counts = ", ".join(
            f"{by_mark[one]} × {one} s" + (f" ({paced[one]} at pace)" if paced[one] else "")
            for one in sorted(by_mark, reverse=True)
        )
        own = [
            row for row in rows if (row["problem"], row["atoms"], row["method"]) == (*case, method)
        ]
        return f"{counts}, settled" if settled(own) else counts

    methods = ordered({row["method"] for row in rows if row["seconds"]})
    return [
        {"problem": case[0], "atoms": case[1], **{name: cell(case, name) for name in methods}}
        for case in sorted(last, key=lambda case: (natural(case[0]), case[1]))
    ]


def side_by_side(rows: list[dict[str, Any]], column: str, latest: int) -> list[dict[str, Any]]:
    """The errors of all methods at their last mark up to `latest`, with a level; least is bold.

    The level is the floor of single rewards for named ones, and what atoms can do that were fitted
    to the truth of all rewards together for the random bank.
    """
    last: dict[tuple, dict[str, dict[str, Any]]] = defaultdict(dict)
    for row in summary(rows):
        if mark(row["seconds"]) <= latest:
            last[(row["problem"], row["atoms"])][row["method"]] = row
    methods = ordered({row["method"] for row in rows})
    fitted = {
        (row["problem"], row["atoms"]): row["fitted to all rewards"]
        for row in rows_of("fitted_atoms")
    }
    out = []
    for (problem, atoms), found in last.items():
        errors = [row[column] for row in found.values()]
        least = min(errors) if len(errors) > 1 else None
        cells = {
            name: after(found[name], column, least) if name in found else "-" for name in methods
        }
        if column == NAMED:
            level = {"floor": found["fast"]["floor"]}
        else:
            level = {"fitted to the truth": fitted.get((problem, atoms), "-")}
        out.append({"problem": problem, "atoms": atoms, **level, **cells})
    return out


def after(row: dict[str, Any], column: str, least: float | None) -> str:
    """The error, bold if none is less, and when it was reached."""
    error = f"**{row[column]:.3g}**" if row[column] == least else f"{row[column]:.3g}"
    return f"{error} ({row['seconds']:.0f} s)" if row["seconds"] else error


def ordered(methods: set[str]) -> list[str]:
    """Ours first, then by name."""
    return sorted(methods, key=lambda name: (name != "fast", name))


def by_problem(item: tuple[tuple, Any]) -> tuple:
    """Problems by name, d = 2 before d = 16; ours first; then by time."""
    problem, atoms, method, seconds = item[0]
    return natural(problem), atoms, method != "fast", method, seconds


def natural(name: str) -> list[str | float]:
    """A name as words and numbers in turn, to sort by."""
    words = re.split(r"(\d+(?:\.\d+)?)", name)
    return [float(word) if i % 2 else word for i, word in enumerate(words)]


def draw(rows: list[dict[str, Any]], path: Path) -> None:
    """Error over time, one panel a problem: means as far as all seeds went, each seed thin.

    What needs no training is a horizontal line.
    """
    cases = sorted(
        {(row["problem"], row["atoms"]) for row in rows if row["seconds"]},
        key=lambda case: (natural(case[0]), case[1]),
    )
    columns = min(3, len(cases))
    lines = -(-len(cases) // columns)
    figure, axes = plt.subplots(lines, columns, figsize=(4.6 * columns, 3.6 * lines), squeeze=False)
    methods = ordered({row["method"] for row in rows})
    colours = {name: f"C{i}" for i, name in enumerate(methods)}
    for ax, case in zip(axes.flat, cases, strict=False):
        shown = [row for row in summary(rows) if (row["problem"], row["atoms"]) == case]
        for method in methods:
            curve = [row for row in shown if row["method"] == method]
            if not curve:
                continue
            if curve[0]["seconds"] == 0:
                ax.axhline(curve[0][NAMED], color=colours[method], linestyle="--", label=method)
            else:
                most = max(row["seeds"] for row in curve)
                means = [(row["seconds"], row[NAMED]) for row in curve if row["seeds"] == most]
                style = {"color": colours[method], "markersize": 4}
                ax.plot(*zip(*means, strict=True), "o-", label=method, **style)
                for run in runs(rows, case, method):
                    ax.plot(*run, ".-", color=colours[method], linewidth=0.7, alpha=0.6, ms=3)
        ax.axhline(1, color="grey", linewidth=0.8)
        ax.axhline(shown[0]["floor"], color="grey", linewidth=0.8, linestyle=":")
        ax.set(title=f"{case[0]}, {case[1]} atoms", xscale="log", yscale="log")
        ax.set(xlim=(8, 750), xticks=MARKS, xticklabels=MARKS)
        ax.minorticks_off()
        ax.set(xlabel="seconds of training", ylabel="W1 / Dirac at the true mean")
    for ax in list(axes.flat)[len(cases) :]:
        ax.set_axis_off()
    handles = {
        label: handle
        for ax in axes.flat
        for handle, label in zip(*ax.get_legend_handles_labels(), strict=True)
    }
    figure.legend(handles.values(), handles, loc="lower center", ncols=3, frameon=False)
    figure.tight_layout(rect=(0, 0.06 if lines > 1 else 0.14, 1, 1))
    figure.savefig(path, dpi=110)


def runs(
    rows: list[dict[str, Any]], case: tuple[str, int], method: str
) -> list[tuple[list[float], list[float]]]:
    """Seconds and errors of each seed."""
    found: dict[int, tuple[list[float], list[float]]] = defaultdict(lambda: ([], []))
    for row in rows:
        if (row["problem"], row["atoms"], row["method"]) == (*case, method):
            found[row["seed"]][0].append(row["seconds"])
            found[row["seed"]][1].append(row["W1 / Dirac"])
    return list(found.values())


if __name__ == "__main__":
    main()
