"""What the preset `fast` is meant to reach, beside what the other scripts have measured."""

from collections.abc import Callable
from typing import Any

from _record import mark, rows_of

Row = dict[str, Any]


def goals() -> list[Row]:
    """One row a goal; what was not measured says so."""
    accuracy, speed = rows_of("time_to_accuracy"), rows_of("update_speed")
    found: list[Row] = []

    def most(what: str, values: list[float], goal: float) -> None:
        found.append(_row(what, f"≤ {goal:,g}", values, lambda value: value <= goal))

    def least(what: str, values: list[float], goal: float) -> None:
        found.append(_row(what, f"≥ {goal:,g}", values, lambda value: value >= goal))

    fast = [row for row in speed if row["version"] == "fast"]
    middle = [row for row in fast if row["atoms m"] == 51]
    many = [row["seconds per update"] for row in fast if row["atoms m"] == 204]
    least("naive / fast update, 51 atoms", [row["naive / this, time"] for row in middle], 1000)
    most("memory of that update [MB]", [row["peak memory [MB]"] for row in middle], 1000)
    few = [row["seconds per update"] for row in middle]
    most("update of 204 atoms / of 51", [a / b for a, b in zip(many, few, strict=True)], 4.4)
    at_floor = reached(accuracy, "windy, uniform", 4, 30)
    most(
        "windy, uniform, 4 atoms, 30 s: W1 / floor", [one / floor for one, floor in at_floor], 1.25
    )
    selection = rows_of("selection")
    rankings = [float(row["rankings right"].split()[0]) for row in selection]
    least("windy, top and bottom: rankings right, of 4", rankings, 4)
    misses = [row["largest miss / range"] for row in selection]
    most("windy, top and bottom: largest miss / range of returns", misses, 0.05)
    for problem, seconds, goal in (
        ("pendulum, noise 2", 300, 0.35),
        ("pendulum, noise 2", 600, 0.25),
        ("pendulum, noise 1", 300, 0.9),
        ("pendulum, noise 1", 600, 0.6),
        ("linear-gaussian, d=8, γ=0.95", 60, 0.3),
        ("linear-gaussian, d=8, γ=0.95", 300, 0.3),
    ):
        errors = [error for error, _ in reached(accuracy, problem, 51, seconds)]
        most(f"{problem}, {seconds} s: W1 / Dirac", errors, goal)
    for problem, seconds, others, which in (
        ("pendulum, noise 2", 300, learned_baselines(accuracy), "the best learned baseline"),
        ("linear-gaussian, d=8, γ=0.95", 60, {"nearest trajectories"}, "nearest trajectories"),
        ("linear-gaussian, d=8, γ=0.95", 300, {"nearest trajectories"}, "nearest trajectories"),
    ):
        beaten = errors_of(accuracy, problem, others)
        runs = reached(accuracy, problem, 51, seconds) if beaten else []
        errors = [error / min(beaten) for error, _ in runs]
        most(f"{problem}, {seconds} s: W1 / that of {which}", errors, 1)
    calls = [row["later calls, median [ms]"] for row in rows_of("queries")]
    most("a new reward at one source state [ms]", calls[:1], 1)
    most("1,000 rewards at 100 source states [ms]", calls[-1:], 5000)
    return found


def reached(rows: list[Row], problem: str, atoms: int, seconds: int) -> list[tuple[float, float]]:
    """(W1 / Dirac, floor) of each seed of `fast` at this mark."""
    return [
        (row["W1 / Dirac"], row["floor"])
        for row in rows
        if (row["problem"], row["method"], row["atoms"]) == (problem, "fast", atoms)
        and mark(row["seconds"]) == seconds
    ]


def learned_baselines(rows: list[Row]) -> set[str]:
    """All that was trained, but ours."""
    return {row["method"] for row in rows if row["seconds"]} - {"fast"}


def errors_of(rows: list[Row], problem: str, methods: set[str]) -> list[float]:
    """W1 / Dirac of these methods, at every mark."""
    return [
        row["W1 / Dirac"] for row in rows if row["problem"] == problem and row["method"] in methods
    ]


def _row(what: str, goal: str, values: list[float], good: Callable[[float], bool]) -> Row:
    measured = ", ".join(f"{value:.3g}" if value < 1000 else f"{value:,.0f}" for value in values)
    count = f"{sum(map(good, values))} of {len(values)}" if values else "not measured"
    return {"what": what, "goal": goal, "each run": measured or "-", "reached": count}
