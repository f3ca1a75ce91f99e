"""The command line: parse, call the library, print."""

import sys
import warnings
from collections.abc import Sequence
from importlib import import_module

from daleth._version import __version__

COMMANDS = ("collect", "describe", "fit", "diagnose", "evaluate", "rank", "demo", "reproduce")
"""A command is the function of its name in the module of its name, here."""

_USER_ERRORS = (ValueError, ImportError, OSError)


def main() -> None:
    """Runs the command line.

    What a user got wrong is one sentence and exit code 2. A training that broke is exit code 1,
    and Ctrl-C is 130.
    """
    if sys.argv[1:] == ["--version"]:
        sys.stdout.write(f"daleth {__version__}\n")
        return
    with warnings.catch_warnings():
        warnings.showwarning = _show_warning
        # NumPy warns of the numbers that our own sentences are about.
        warnings.simplefilter("ignore", RuntimeWarning)
        try:
            _run(_joined(sys.argv[1:]))
        except _USER_ERRORS as error:
            _leave(error, 2)
        except FloatingPointError as error:
            _leave(error, 1)
        except KeyboardInterrupt as error:
            _leave(error if str(error) else "interrupted", 130)


def _run(arguments: Sequence[str]) -> None:
    import tyro

    commands = {name: getattr(import_module(f"daleth.cli.{name}"), name) for name in COMMANDS}
    tyro.extras.subcommand_cli_from_dict(
        commands,
        prog="daleth",
        description="From trajectories without rewards to the whole return distribution.",
        args=arguments,
    )


def _joined(arguments: Sequence[str]) -> list[str]:
    """`--reward -x0` as `--reward=-x0`: what follows an option and one dash is its value."""
    joined: list[str] = []
    for argument in arguments:
        is_value = argument.startswith("-") and not argument.startswith("--") and argument != "-h"
        if is_value and joined and joined[-1].startswith("--") and "=" not in joined[-1]:
            joined[-1] += f"={argument}"
        else:
            joined.append(argument)
    return joined


def _show_warning(message: Warning | str, *_where: object) -> None:
    sys.stderr.write(f"daleth: note: {message}\n")


def _leave(error: object, code: int) -> None:
    sentence = " ".join(str(error).split())
    sys.stderr.write(f"daleth: {sentence}\n")
    sys.exit(code)
