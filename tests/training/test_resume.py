"""Runs that stop and go on: checkpoints, what is refused, and the log."""

import json

import jax
import numpy as np
import pytest
from tiny_learner import TinyLearner, tiny_data

from daleth.training import JsonlWriter, fit
from daleth.training.checkpoints import KEPT

LEARNER = TinyLearner()


def run(folder, updates, **rest):
    rest = {"chunk_updates": 4, "checkpoint_every": 10, "resume": True, **rest}
    return fit(tiny_data(), LEARNER, updates=updates, checkpoint=folder, **rest)


def steps(folder):
    return sorted(int(path.name) for path in (folder / "checkpoints").iterdir())


def logged(folder):
    return [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]


@pytest.fixture
def folder(tmp_path):
    """A run of 20 updates."""
    run(tmp_path, 20)
    return tmp_path


def test_resumed_equals_undisturbed(folder):
    resumed = run(folder, 50, chunk_updates=7)
    for left, right in zip(
        jax.tree.leaves(resumed),
        jax.tree.leaves(fit(tiny_data(), LEARNER, updates=50)),
        strict=True,
    ):
        np.testing.assert_array_equal(left, right)


def test_the_last_few_are_kept_and_the_end_always(folder):
    run(folder, 57)
    assert steps(folder) == [40, 50, 57]
    assert len(steps(folder)) == KEPT


def test_a_finished_run_is_returned_as_it_is(folder):
    before = (folder / "log.jsonl").read_bytes()
    heard = []
    run(folder, 20, callback=lambda update, model: heard.append(update))
    assert not heard
    assert (folder / "log.jsonl").read_bytes() == before


def test_minutes_count_what_was_before(folder):
    model = fit(tiny_data(), LEARNER, minutes=1e-6, checkpoint=folder, resume=True)
    assert steps(folder) == [10, 20]
    assert model.state_dim == 2


REFUSED = {
    "gamma": ({"model": TinyLearner(gamma=0.5)}, "its gamma is 0.9, here it is 0.5"),
    "learner": (
        {"model": TinyLearner(layers=(2, 4))},
        "its learner's layers is [2, 3], here it is [2, 4]",
    ),
    "data": ({"data": tiny_data(1)}, "its data fingerprint is "),
    "seed": ({"seed": 3}, "its seed is 0, here it is 3"),
    "starts": ({"starts": "uniform"}, "its starts is stratified, here it is uniform"),
    "too few": (
        {"updates": 19},
        "the run has done 20 updates already: updates=19 counts them all",
    ),
    "no resume": (
        {"resume": False},
        "holds a run after 20 updates already: hand in resume=True to continue it, or another",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_another_run_is_refused(folder, case):
    changed, message = REFUSED[case]
    arguments = {"data": tiny_data(), "model": LEARNER, "updates": 30, "resume": True, **changed}
    before = (folder / "log.jsonl").read_bytes()
    with pytest.raises(ValueError, match="^") as error:
        fit(**arguments, checkpoint=folder)
    assert message in str(error.value)
    assert steps(folder) == [10, 20]
    assert (folder / "log.jsonl").read_bytes() == before


def test_a_damaged_checkpoint_gets_one_sentence_and_the_one_before_still_works(folder):
    damaged = folder / "checkpoints" / "20"
    for path in (damaged / "state").rglob("*"):
        if path.is_file():
            path.write_bytes(b"x")
    with pytest.raises(ValueError, match=r"'.*checkpoints/20' cannot be read.*remove it to go on"):
        run(folder, 30)
    for path in sorted(damaged.rglob("*"), reverse=True):
        path.unlink() if path.is_file() else path.rmdir()
    damaged.rmdir()
    run(folder, 30)
    assert steps(folder) == [10, 20, 30]


def test_a_learner_that_json_cannot_hold_is_refused(tmp_path):
    learner = TinyLearner(explode=max)  # pyright: ignore[reportArgumentType]
    with pytest.raises(ValueError, match="a TinyLearner can be stored only if its hyperparam"):
        fit(tiny_data(), learner, updates=1, checkpoint=tmp_path)


def test_log_has_one_line_per_chunk_with_means_and_times(folder):
    lines = logged(folder)
    assert [line["update"] for line in lines] == [4, 8, 10, 14, 18, 20]
    # The learner reports the number of each update: the mean of 5, 6, 7, 8.
    assert [line["count"] for line in lines[:3]] == [2.5, 6.5, 9.5]
    assert set(lines[0]) == {"update", "loss", "count", "seconds", "updates_per_second"}
    seconds = [line["seconds"] for line in lines]
    assert seconds == sorted(seconds)
    assert all(line["updates_per_second"] > 0 for line in lines)


def test_a_resumed_log_repeats_no_update_and_its_clock_goes_on(folder):
    with (folder / "log.jsonl").open("a") as file:
        file.write('{"update": 24, "loss": 1.0}\n{"update": 2')  # beyond the checkpoint, and cut
    run(folder, 28)
    lines = logged(folder)
    assert [line["update"] for line in lines] == [4, 8, 10, 14, 18, 20, 24, 28]
    assert lines[6]["loss"] != 1.0
    assert lines[6]["seconds"] > lines[5]["seconds"]


def test_callback_numbers_go_into_the_line_of_their_update(tmp_path):
    def measure(update, model):
        return {"double": np.float32(2 * update)} if update == 10 else None

    fit(
        tiny_data(),
        LEARNER,
        updates=15,
        log=tmp_path / "deep" / "mine.jsonl",
        callback=measure,
        callback_every=5,
    )
    lines = [
        json.loads(line) for line in (tmp_path / "deep" / "mine.jsonl").read_text().splitlines()
    ]
    assert {line["update"]: line["eval/double"] for line in lines if "eval/double" in line} == {
        10: 20.0
    }


def test_log_paths_and_writers_side_by_side(tmp_path):
    class Memory:
        def __init__(self):
            self.calls = []

        def begin(self, update):
            self.calls.append(("begin", update))

        def write(self, update, numbers):
            self.calls.append(("write", update))

        def close(self):
            self.calls.append(("close", None))

    memory = Memory()
    arguments = {"updates": 8, "chunk_updates": 4, "log": [tmp_path / "a", memory]}
    fit(tiny_data(), LEARNER, checkpoint=tmp_path / "run", **arguments)
    assert memory.calls == [("begin", 0), ("write", 4), ("write", 8), ("close", None)]
    assert logged(tmp_path / "a") == logged(tmp_path / "run")


def test_numbers_that_are_not_finite_become_null(tmp_path):
    writer = JsonlWriter(tmp_path / "log.jsonl")
    writer.begin(0)
    writer.write(1, {"loss": 0.5, "ratio": float("nan"), "norm": float("inf")})
    writer.close()
    assert logged(tmp_path) == [{"update": 1, "loss": 0.5, "ratio": None, "norm": None}]
