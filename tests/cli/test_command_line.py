"""The command line as a whole: help, version, start-up, how options are read."""

import subprocess
import sys
from pathlib import Path

import pytest

import daleth
from daleth.cli import COMMANDS, _joined

COMMAND = str(Path(sys.executable).with_name("daleth"))


@pytest.mark.parametrize("command", COMMANDS)
def test_help_has_an_example(run, command):
    result = run(command, "--help")
    assert result.code == 0
    assert f"Example: daleth {command}" in result.out


def test_help_names_all_commands(run):
    out = run("--help").out
    assert all(command in out for command in COMMANDS)


def test_help_imports_nothing_heavy():
    code = (
        "import sys; sys.argv = ['daleth', 'evaluate', '--help']\n"
        "from daleth.cli import main\n"
        "try: main()\n"
        "except SystemExit: print({'jax', 'numpy', 'matplotlib', 'scipy'} & set(sys.modules))"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert result.stdout.endswith("set()\n")


def test_the_installed_command():
    result = subprocess.run([COMMAND, "--version"], capture_output=True, text=True, check=True)
    assert result.stdout == f"daleth {daleth.__version__}\n"


@pytest.mark.parametrize(
    ("typed", "read"),
    [
        (["--reward", "-x0"], ["--reward=-x0"]),
        (["--source", "-1,0", "--json"], ["--source=-1,0", "--json"]),
        (["--json", "-h"], ["--json", "-h"]),
        (
            ["model", "--reward", "x0", "--source", "0"],
            ["model", "--reward", "x0", "--source", "0"],
        ),
        (["--reward=-x0", "-h"], ["--reward=-x0", "-h"]),
    ],
)
def test_values_may_begin_with_a_minus(typed, read):
    assert _joined(typed) == read


@pytest.mark.parametrize("typed", [["fly"], ["fit", "data"], ["rank", "--height", "3"]])
def test_misspelt_commands_and_options(run, typed):
    result = run(*typed)
    assert result.code == 2
    assert result.out == ""
    assert result.err
