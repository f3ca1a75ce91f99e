"""A folder of small files, and the command line inside this process."""

import sys
from typing import NamedTuple

import numpy as np
import pytest

from daleth import EmpiricalModel, Trajectories
from daleth.cli import main


class Result(NamedTuple):
    code: int
    out: str
    err: str


@pytest.fixture
def run(monkeypatch, capsys):
    """Types a command: exit code, standard output, standard error."""

    def typed(*arguments: object) -> Result:
        monkeypatch.setattr(sys, "argv", ["daleth", *map(str, arguments)])
        capsys.readouterr()
        code = 0
        try:
            main()
        except SystemExit as left:
            code = int(left.code or 0)
        return Result(code, *capsys.readouterr())

    return typed


def standing(*places: list[float]) -> Trajectories:
    """One episode per place, which begins and terminates there."""
    return Trajectories.from_arrays(np.repeat(np.array(places)[:, None], 3, 1), ends="terminated")


REWARDS = """
import numpy as np

print("a file may print")

def first(x):
    return x[..., 0]

def one_state(x):
    return x[0] if x[0] > 0 else 0.0

def whole_state(x):
    return x

def undefined(x):
    return x[..., 0] / 0 * 0

def third(x):
    return x[..., 2]

def broken(x):
    return x.depth
"""


@pytest.fixture(scope="session")
def shelf(tmp_path_factory):
    """Under the reward x0 with γ = 1/2, `bold` returns 0 or 8 and `safe` always 2."""
    folder = tmp_path_factory.mktemp("shelf")
    data = standing([0.0, 1.0], [4.0, 1.0])
    data.save(folder / "data.safetensors")
    pairs = Trajectories.from_arrays(np.zeros((2, 4, 1)), np.ones((2, 3, 1)), ends="terminated")
    pairs.save(folder / "pairs.safetensors")
    models = {
        "bold": EmpiricalModel(data, gamma=0.5, num_atoms=2),
        "safe": EmpiricalModel(standing([1.0, 1.0], [1.0, 1.0]), gamma=0.5, num_atoms=2),
        "patient": EmpiricalModel(data, gamma=0.9, num_atoms=2),
        "narrow": EmpiricalModel(standing([0.0], [1.0]), gamma=0.5, num_atoms=2),
    }
    for name, model in models.items():
        model.save(folder / f"{name}.safetensors")
    cut = (folder / "bold.safetensors").read_bytes()[:-5]
    (folder / "cut.safetensors").write_bytes(cut)
    (folder / "rewards.py").write_text(REWARDS)
    (folder / "unfinished.py").write_text("def reward(:\n")
    (folder / "policies.py").write_text("def right(observation):\n    return 1\n")
    (folder / "grid.csv").write_text(",0,4\n0,10,20\n2,30,40\n")
    (folder / "words.csv").write_text(",0,4\n0,10,many\n2,30,40\n")
    return folder
