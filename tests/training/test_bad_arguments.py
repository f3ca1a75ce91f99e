# pyright: reportArgumentType=false
"""Bad arguments of `fit`: one clear sentence, before anything is trained or written."""

import pytest
from tiny_learner import TinyLearner, tiny_data

from daleth.training import fit

LEARNER = TinyLearner()
NAN = float("nan")

CASES = {
    "two ends": ({"updates": 1, "minutes": 1}, "fit takes updates= or minutes=, got both"),
    "negative updates": ({"updates": -1}, "updates must be at least 0, got -1"),
    "half updates": ({"updates": 1.5}, "updates must be a whole number, got 1.5"),
    "too many updates": ({"updates": 2**31}, "updates must be below 2^31, got 2147483648"),
    "no minutes": ({"minutes": 0}, "minutes must be positive, got 0"),
    "negative minutes": ({"minutes": -1.0}, "minutes must be positive, got -1"),
    "nan minutes": ({"minutes": NAN}, "minutes must be finite, got nan"),
    "word minutes": ({"minutes": "ten"}, "minutes must be a real number, got 'ten'"),
    "preset": (
        {"updates": 1, "model": "papr"},
        "model must be a Learner or a preset (",
    ),
    "preset named": ({"updates": 1, "model": "papr"}, "), got 'papr'"),
    "class": ({"updates": 1, "model": TinyLearner}, "model must be a Learner or a preset ("),
    "gamma one": ({"updates": 1, "gamma": 1}, "gamma must satisfy 0 <= gamma < 1, got 1"),
    "gamma one in the learner": (
        {"updates": 1, "model": TinyLearner(gamma=1.0)},
        "gamma must satisfy 0 <= gamma < 1, got 1",
    ),
    "gamma twice": (
        {"updates": 1, "gamma": 0.5},
        "gamma=0.5 contradicts the learner, whose gamma is 0.9: leave it out",
    ),
    "seed": ({"updates": 1, "seed": -3}, "seed must be at least 0, got -3"),
    "large seed": ({"updates": 1, "seed": 2**32}, "seed must be below 2^32, got 4294967296"),
    "word seed": ({"updates": 1, "seed": "a"}, "seed must be a whole number, got 'a'"),
    "starts": (
        {"updates": 1, "starts": "spread"},
        "starts must be one of 'stratified', 'uniform', got 'spread'",
    ),
    "occupancy": (
        {"updates": 1, "occupancy_of": "action"},
        "occupancy_of must be one of 'state', 'state-action', got 'action'",
    ),
    "no actions": (
        {"updates": 1, "occupancy_of": "state-action"},
        "needs actions, these trajectories have none",
    ),
    "list": (
        {"updates": 1, "data": [[0.0], [1.0]]},
        "data must be Trajectories, for example Trajectories.from_episodes(episodes), got list",
    ),
    "none": ({"updates": 1, "data": None}, "data must be Trajectories"),
    "chunk": ({"updates": 1, "chunk_updates": 0}, "chunk_updates must be at least 1, got 0"),
    "callback every": (
        {"updates": 1, "callback_every": 0},
        "callback_every must be at least 1, got 0",
    ),
    "callback": (
        {"updates": 1, "callback": lambda update, model: 3.0},
        "callback must return numbers by name, or None, got 3.0",
    ),
    "callback words": (
        {"updates": 1, "callback": lambda update, model: {"a": "b"}},
        "callback must return numbers by name, or None, got {'a': 'b'}",
    ),
    "resume": (
        {"updates": 1, "resume": True},
        "resume needs the folder of the run: hand in checkpoint=",
    ),
    "checkpoint every alone": (
        {"updates": 1, "checkpoint_every": 5},
        "checkpoint_every needs the folder of the run: hand in checkpoint=",
    ),
    "checkpoint every": (
        {"updates": 1, "checkpoint": "run", "checkpoint_every": 0},
        "checkpoint_every must be at least 1, got 0",
    ),
    "log": ({"updates": 1, "log": 3}, "log must be a path or a Writer, or several of them, got 3"),
    "loss": (
        {"updates": 1, "model": "no loss"},
        "NoLoss.step must report a 'loss'",
    ),
}


class NoLoss(TinyLearner):
    def step(self, key, state, windows):
        return state, {}


@pytest.mark.parametrize("case", CASES)
def test_one_clear_sentence(case, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    changed, message = CASES[case]
    arguments = {"data": tiny_data(), "model": LEARNER, **changed}
    if arguments["model"] == "no loss":
        arguments["model"] = NoLoss()
    with pytest.raises(ValueError, match="^") as error:
        fit(**arguments)
    assert message in str(error.value)
    assert not list(tmp_path.iterdir())


def test_a_file_is_no_folder_and_no_log_of_ours(tmp_path):
    notes = tmp_path / "notes.jsonl"
    notes.write_text("dear diary\n")
    with pytest.raises(ValueError, match="checkpoint must be a folder, got the file '.*notes"):
        fit(tiny_data(), LEARNER, updates=1, checkpoint=notes)
    with pytest.raises(ValueError, match="there is a log at '.*notes.jsonl' already: choose anot"):
        fit(tiny_data(), LEARNER, updates=1, log=notes)
    with pytest.raises(ValueError, match="'.*notes.jsonl' is not a training log: choose another"):
        fit(tiny_data(), LEARNER, updates=1, log=notes, checkpoint=tmp_path / "run", resume=True)
    assert notes.read_text() == "dear diary\n"
