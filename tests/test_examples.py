"""Docstrings, the blocks of README and docs, and the scripts in examples: all run and are true."""

import doctest
import importlib
import pkgutil
import re
import runpy
import shlex
import sys
from pathlib import Path

import matplotlib.pyplot as plt
import pytest

import daleth
from daleth.cli import COMMANDS, main

ROOT = Path(__file__).parents[1]
MODULES = [info.name for info in pkgutil.walk_packages(daleth.__path__, "daleth.")]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]

SCRIPTS = {
    "minari_dataset.py": [],
    "own_arrays.py": ["--model", "transition", "--updates", "20"],
    "own_environment.py": ["--model", "transition", "--updates", "20", "--steps", "1000"],
    "risk_ranking.py": ["--model", "transition", "--updates", "20", "--steps", "4000"],
    "tabular.py": [],
}
"""Scripts, with arguments that make them small."""

SMALLER = {
    "updates=500": "updates=100",
    "updates=300": "updates=50",
    "updates=200": "updates=20",
    "num_steps=4_000": "num_steps=1_000",
    "--steps 100000": "--steps 2000",
}
"""What stands in for the sizes of a real run in pages and commands."""


def smaller(code: str) -> str:
    for real, small in SMALLER.items():
        code = code.replace(real, small)
    return code


@pytest.fixture(autouse=True)
def own_folder(tmp_path, monkeypatch):
    """Files that examples write stay in a folder of the test."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    yield
    plt.close("all")


@pytest.mark.parametrize("name", MODULES)
def test_docstrings(name):
    module = importlib.import_module(name)
    result = doctest.testmod(module, optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    assert result.failed == 0


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_pages(page, tmp_path, capsys):
    """The blocks of a page run in order; a block marked `text` after one is what it prints."""
    names: dict = {}
    for code, printed in re.findall(
        r"```python\n(.*?)```(?:\s*```text\n(.*?)```)?", page.read_text(), flags=re.DOTALL
    ):
        block = tmp_path / "block.py"
        block.write_text(smaller(code))
        names = runpy.run_path(str(block), init_globals=names)
        out = capsys.readouterr().out.split()
        if printed and smaller(code) != code:
            # Fewer updates come near the numbers that are shown, and no nearer than this.
            shown = [float(word) for word in printed.split()]
            assert [float(word) for word in out] == pytest.approx(shown, rel=0.5, abs=0.1)
        elif printed:
            assert out == printed.split()


@pytest.mark.parametrize("name", sorted(path.name for path in (ROOT / "examples").glob("*.py")))
def test_scripts(name, monkeypatch, capsys):
    script = ROOT / "examples" / name
    assert f"(examples/{name})" in (ROOT / "README.md").read_text()
    monkeypatch.setattr(sys, "argv", [str(script), *SCRIPTS[name]])
    runpy.run_path(str(script), run_name="__main__")
    assert capsys.readouterr().out


def test_commands(tmp_path, monkeypatch, capsys):
    """The commands of the docs in order; nearest trajectories stand in for training."""
    monkeypatch.setattr(
        daleth, "fit", lambda data, gamma=0.95, **_: daleth.EmpiricalModel(data, gamma, num_atoms=5)
    )
    page = (ROOT / "docs" / "command-line.md").read_text()
    (tmp_path / "my_policies.py").write_text(page.split("```python\n")[1].split("```")[0])
    (tmp_path / "my_rewards.py").write_text("def slow(x):\n    return -abs(x[..., 2])\n")
    typed = "\n".join(re.findall(r"```sh\n(.*?)```", page, flags=re.DOTALL)).splitlines()
    used = set()
    for line in filter(None, typed):
        arguments = shlex.split(smaller(line))[1:]
        used.add(arguments[0])
        monkeypatch.setattr(sys, "argv", ["daleth", *arguments])
        left = 0
        try:
            main()
        except SystemExit as exit:
            left = exit.code
        shown = capsys.readouterr()
        # Models this small may well be found not fit for use.
        assert left == 0 or (left == 1 and arguments[0] == "diagnose"), shown.err
        assert shown.out
    assert used == set(COMMANDS) - {"demo", "reproduce"}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    prose = re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)
    for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", prose):
        assert (page.parent / target).exists(), target
