"""`daleth reproduce`."""

import dataclasses
import sys
import time
from pathlib import Path
from typing import Annotated, Any

from tyro.conf import Positional, arg

from daleth.cli._arguments import Seed
from daleth.cli._claims import report
from daleth.cli._pictures import check_folder

_BUDGETS = ("tiny", "small", "full")


def reproduce(
    figure: Annotated[
        Positional[str],
        arg(
            metavar="FIGURE",
            help="t-maze, three-state, sierpinski, windy-selection, windy-atoms, windy-returns, "
            "pendulum-densities, pendulum-cramer, ablations, or all.",
        ),
    ],
    out: Path = Path("figures"),
    budget: str = "small",
    seed: Seed = 0,
) -> None:
    """Draws a figure of the paper and says whether its claim holds; exit code 1 if one does not.

    Example: daleth reproduce windy-selection --budget small --out figures

    Args:
        figure: which one, or all.
        out: folder for the pictures and the data behind them.
        budget: small takes minutes a figure on 2 cores, full hours; tiny tries that all runs.
        seed: of everything random.
    """
    from daleth import _checks
    from daleth.experiments import experiment, figure_names

    _checks.one_of("budget", budget, _BUDGETS)
    check_folder(out)
    held = []
    for name in figure_names() if figure == "all" else [figure]:
        module = experiment(name)
        started = time.perf_counter()
        claim, files = module.run(_config(module.Config, out=out, budget=budget, seed=seed))
        report(claim, files)
        print(f"{name}: {time.perf_counter() - started:.1f} s", flush=True)
        held.append(claim.held)
    if not all(held):
        sys.exit(1)


def _config(config: type, **settings: object) -> Any:
    """Exact figures have neither budget nor seed."""
    known = {field.name for field in dataclasses.fields(config)}
    return config(**{name: value for name, value in settings.items() if name in known})
