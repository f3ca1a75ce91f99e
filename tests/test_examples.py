"""Every example in a docstring and every Python block of README and docs runs and is true."""

import doctest
import importlib
import pkgutil
import re
import runpy
from pathlib import Path

import matplotlib.pyplot as plt
import pytest

import daleth

ROOT = Path(__file__).parents[1]
MODULES = [info.name for info in pkgutil.walk_packages(daleth.__path__, "daleth.")]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


@pytest.mark.parametrize("name", MODULES)
def test_docstrings(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    module = importlib.import_module(name)
    result = doctest.testmod(module, optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    assert result.failed == 0


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_pages(page, tmp_path, monkeypatch, capsys):
    """The blocks of a page run in order; a block marked `text` after one is what it prints."""
    monkeypatch.chdir(tmp_path)
    names: dict = {}
    for code, printed in re.findall(
        r"```python\n(.*?)```(?:\s*```text\n(.*?)```)?", page.read_text(), flags=re.DOTALL
    ):
        block = tmp_path / "block.py"
        block.write_text(code)
        names = runpy.run_path(str(block), init_globals=names)
        out = capsys.readouterr().out
        if printed:
            assert out.split() == printed.split()
    plt.close("all")
