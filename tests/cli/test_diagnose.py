"""`daleth diagnose`: the verdict is in the exit code."""

import json

import numpy as np
import pytest

from daleth import EmpiricalModel, Trajectories


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Independent normal states: the nearest trajectories of half of the data are a right model."""
    folder = tmp_path_factory.mktemp("diagnosis")
    data = Trajectories.from_arrays(np.random.default_rng(0).normal(size=(240, 24, 1)))
    data[120:].save(folder / "heldout.safetensors")
    EmpiricalModel(data[:120], 0.5, 60).save(folder / "right.safetensors")
    moved = Trajectories.from_arrays(np.array(data[:120].states).reshape(120, 24, 1) + 1)
    EmpiricalModel(moved, 0.5, 60).save(folder / "moved.safetensors")
    return folder


@pytest.fixture(autouse=True)
def at_the_folder(folder, monkeypatch):
    monkeypatch.chdir(folder)


ASKED = ("--reward", "x0", "--reward", "x0**2", "--source", "0", "--risk", "cvar:0.1")
ASKED += ("--starts", "120")


def test_fit_for_use_is_exit_code_0(run, tmp_path):
    picture = tmp_path / "diagnosis.png"
    result = run("diagnose", "right.safetensors", "heldout.safetensors", *ASKED, "--plot", picture)
    assert result.code == 0, result.out + result.err
    *_, verdict, wrote = result.out.splitlines()
    assert verdict == "verdict      fit for use"
    assert wrote == f"wrote {picture}"
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_not_fit_for_use_is_exit_code_1(run):
    files = ("moved.safetensors", "heldout.safetensors", "--others", "right.safetensors")
    result = run("diagnose", *files, *ASKED, "--json")
    assert result.code == 1, result.err
    answer = json.loads(result.out)
    assert answer["fit_for_use"] is False
    assert any("differ from realised returns" in reason for reason in answer["reasons"])
    assert list(answer["rewards"]) == ["x0", "x0**2"]
    assert answer["seed_spread"]["mean"] > 0.25


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("missing.safetensors", "heldout.safetensors"), "there is no file"),
        (("right.safetensors", "right.safetensors"), "is not a daleth trajectories file"),
        (("right.safetensors", "heldout.safetensors", "--source", "1,2"), "1 components"),
        (("right.safetensors", "heldout.safetensors", "--risk", "cvar:7"), "(0, 1]"),
        (("right.safetensors", "heldout.safetensors", "--reward", "x3"), "x3"),
        (("right.safetensors", "heldout.safetensors", "--starts", "1"), "at least 2, got 1"),
        (("right.safetensors", "heldout.safetensors", "--seed", "-1"), "seed must lie in"),
        (("right.safetensors", "heldout.safetensors", "--plot", "a.txt"), "--plot must end in"),
    ],
)
def test_wrong_input_is_one_sentence_and_exit_code_2(run, arguments, sentence):
    result = run("diagnose", *arguments)
    assert result.code == 2
    assert result.err.startswith("daleth: ")
    assert result.err.count("\n") == 1
    assert sentence in result.err
