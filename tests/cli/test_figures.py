"""`demo` and `reproduce` on the command line."""

import json
import re

import matplotlib.pyplot as plt
import pytest

from daleth import EmpiricalModel
from daleth.experiments import _windy, figure_names
from daleth.experiments.windy_selection import BUDGETS, EXPECTED


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


@pytest.fixture
def tiny(monkeypatch):
    """The demo in a moment; its rankings are then a matter of luck."""
    monkeypatch.setitem(BUDGETS, "small", BUDGETS["tiny"])


@pytest.fixture
def untrained(monkeypatch):
    """Nearest trajectories instead of training."""

    def stand_in(data, *_, **__):
        return EmpiricalModel(data, 0.95, num_atoms=4, max_unseen_mass=0.5)

    monkeypatch.setattr(_windy, "fit", stand_in)


@pytest.mark.usefixtures("tiny")
def test_demo_prints_a_table_and_writes_a_report(run, tmp_path):
    folder = tmp_path / "new" / "folder"
    result = run("demo", "--out", folder)
    assert result.err == ""
    verdicts = re.findall(r"^(\S+) by (.*): \w+ wins; Monte Carlo", result.out, re.MULTILINE)
    assert verdicts == list(EXPECTED)
    data = json.loads((folder / "windy_selection.json").read_text())
    assert result.code == (0 if data["claim"]["held"] else 1)
    page = (folder / "report.html").read_text()
    assert "data:image/png;base64,iVBORw0KGgo" in page
    assert not re.search(r"""(src|href)\s*=\s*["']?(https?:)?//""", page)
    for row in data["statistics"]:
        assert f'<td class="">{row["predicted"]:.1f}</td>' in page
        assert f"{row['predicted']:.4g}" in result.out


@pytest.mark.usefixtures("tiny", "untrained")
def test_demo_as_json(run, tmp_path):
    result = run("demo", "--json", "--seed", 1, "--out", tmp_path)
    record = json.loads(result.out)
    assert result.code == (0 if record["held"] else 1)
    assert record["seed"] == 1
    assert len(record["statistics"]) == 16


def test_reproduce_says_whether_the_claim_holds_and_how_long_it_took(run, tmp_path):
    result = run("reproduce", "t-maze", "--out", tmp_path)
    assert result.code == 0, result.err
    assert result.out.startswith("holds: the DSM has three atoms")
    assert re.search(r"^t-maze: \d+\.\d s$", result.out, re.MULTILINE)


@pytest.mark.usefixtures("untrained")
def test_a_claim_that_does_not_hold_is_exit_code_1(run, tmp_path):
    result = run("reproduce", "windy-returns", "--budget", "tiny", "--out", tmp_path)
    held = json.loads((tmp_path / "windy_returns.json").read_text())["claim"]["held"]
    assert result.code == (0 if held else 1)
    assert result.out.startswith("holds" if held else "DOES NOT HOLD")


def test_unknown_figure_is_one_sentence(run, tmp_path):
    result = run("reproduce", "figure-9", "--out", tmp_path)
    assert result.code == 2
    names = ", ".join(map(repr, figure_names()))
    assert result.err == f"daleth: figure must be one of {names}, got 'figure-9'\n"
    assert not list(tmp_path.iterdir())


def test_unknown_budget_is_one_sentence(run, tmp_path):
    result = run("reproduce", "t-maze", "--budget", "huge", "--out", tmp_path)
    assert result.code == 2
    assert result.err == "daleth: budget must be one of 'tiny', 'small', 'full', got 'huge'\n"


def test_output_that_cannot_be_written(run, tmp_path):
    (tmp_path / "file").write_text("in the way")
    result = run("reproduce", "t-maze", "--out", tmp_path / "file")
    assert result.code == 2
    assert result.err.startswith("daleth: ")
    assert result.err.count("\n") == 1


@pytest.mark.parametrize("command", [("demo",), ("reproduce", "t-maze")])
def test_a_folder_that_is_a_file_is_refused_before_the_work(run, tmp_path, command):
    taken = tmp_path / "taken"
    taken.write_text("mine")
    result = run(*command, "--out", taken)
    assert result.code != 0
    assert "must be a folder" in result.err
    assert result.out == ""
    assert taken.read_text() == "mine"
