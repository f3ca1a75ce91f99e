"""The command line: parse, call the library, print."""

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro
from tyro.conf import Positional

from daleth._version import __version__

if TYPE_CHECKING:
    from daleth.experiments._output import Claim


def demo(out: Path = Path("demo")) -> None:
    """Three futures in a T-maze, their returns and risks, and a picture.

    Example: daleth demo --out demo

    Args:
        out: folder for the picture and the data behind it.
    """
    from rich.console import Console
    from rich.table import Table

    from daleth.experiments import t_maze

    console, config = Console(), t_maze.Config(out=out)
    futures = t_maze.solve(config.gamma)
    table = Table(title="Three futures in a T-maze")
    for column in ("future", "probability", "return"):
        table.add_column(column, justify="left" if column == "future" else "right")
    returns = futures.returns
    rows = zip(futures.ways, returns.weights.tolist(), returns.atoms.tolist(), strict=True)
    for way, weight, value in sorted(rows, key=lambda row: row[2]):
        table.add_row(f"goes {way}", f"{weight:.3f}", f"{value:+.3f}")
    console.print(table)
    console.print(
        f"The successor measure knows the mean return alone: {returns.mean():+.3f}.\n"
        "The distributional successor measure knows the whole law, of any reward:\n"
        f"  CVaR at 1/3          {returns.cvar(1 / 3):+.3f}\n"
        f"  probability of loss  {returns.prob_below(0.0):.3f}\n"
        f"  median               {returns.quantile(0.5):+.3f}\n"
        f"  standard deviation   {returns.std():.3f}"
    )
    _report(*t_maze.run(config))


def reproduce(
    figure: Annotated[Positional[str], tyro.conf.arg(metavar="FIGURE")], out: Path = Path("figures")
) -> None:
    """Draws a figure of the paper and says whether its claim holds.

    Example: daleth reproduce three-state --out figures

    Args:
        figure: sierpinski, t-maze, three-state, or all.
        out: folder for the pictures and the data behind them.
    """
    from daleth.experiments import experiment, figure_names

    for name in figure_names() if figure == "all" else [figure]:
        module = experiment(name)
        started = time.perf_counter()
        _report(*module.run(module.Config(out=out)))
        print(f"{name}: {time.perf_counter() - started:.1f} s")


def main() -> None:
    """Runs the command line; what a user got wrong is one sentence and exit code 2."""
    if sys.argv[1:] == ["--version"]:
        print(f"daleth {__version__}")
        return
    try:
        tyro.extras.subcommand_cli_from_dict(
            {"demo": demo, "reproduce": reproduce},
            prog="daleth",
            description="From trajectories without rewards to the whole return distribution.",
        )
    except (ValueError, ImportError, OSError) as error:
        print(f"daleth: {error}", file=sys.stderr)
        sys.exit(2)


def _report(claim: "Claim", files: list[Path]) -> None:
    """Says what came out; a claim that does not hold is exit code 1."""
    print(claim)
    for file in files:
        print(f"wrote {file}")
    if not claim.held:
        sys.exit(1)
