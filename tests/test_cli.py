"""The command line, as a user types it."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

COMMAND = [str(Path(sys.executable).with_name("daleth"))]


def run(*arguments: str) -> subprocess.CompletedProcess:
    return subprocess.run([*COMMAND, *arguments], capture_output=True, text=True, check=False)


def test_demo_tells_the_story_and_writes_a_picture(tmp_path):
    result = run("demo", "--out", str(tmp_path / "new" / "folder"))
    assert result.returncode == 0, result.stderr
    for words in ("goes left", "CVaR at 1/3          -5.2", "holds: the DSM has three atoms"):
        assert words in result.stdout
    picture = tmp_path / "new" / "folder" / "t_maze.png"
    assert picture.read_bytes().startswith(b"\x89PNG")
    data = json.loads(picture.with_suffix(".json").read_text())
    assert data["claim"]["held"] is True
    assert data["mean"] == pytest.approx(1.07, abs=0.01)


def test_version_and_help():
    from daleth import __version__

    assert run("--version").stdout == f"daleth {__version__}\n"
    assert "reproduce" in run("--help").stdout
    assert "Example: daleth demo" in run("demo", "--help").stdout


def test_unknown_figure_is_one_sentence(tmp_path):
    result = run("reproduce", "figure-9", "--out", str(tmp_path))
    assert result.returncode == 2
    assert result.stderr == (
        "daleth: figure must be one of 'sierpinski', 't-maze', 'three-state', got 'figure-9'\n"
    )
    assert not list(tmp_path.iterdir())


def test_output_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("in the way")
    result = run("reproduce", "t-maze", "--out", str(tmp_path / "file"))
    assert result.returncode == 2
    assert result.stderr.startswith("daleth: ")
    assert result.stderr.count("\n") == 1
