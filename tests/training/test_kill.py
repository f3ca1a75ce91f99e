"""Runs that are killed for real, in processes of their own."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import jax
import numpy as np
import pytest
from tiny_learner import TinyLearner

import daleth

UPDATES, CHUNK = 140, 2
LONG_ENOUGH = 60.0


class Worker:
    def __init__(self):
        self._process = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("worker.py"))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            # A process is forked safely only while it has one thread.
            env={**os.environ, "OPENBLAS_NUM_THREADS": "1", "XLA_FLAGS": ""},
        )

    def start(self, model: Path, **arguments) -> int:
        """The number of a process that trains."""
        arguments["model"] = str(model)
        self._pipe("stdin").write(json.dumps(arguments) + "\n")
        self._pipe("stdin").flush()
        return self._answer()

    def status(self) -> int:
        """How it ended, once it has."""
        return self._answer()

    def close(self) -> str:
        """What was written to the standard error."""
        return self._process.communicate(timeout=LONG_ENOUGH)[1]

    def _pipe(self, name):
        pipe = getattr(self._process, name)
        assert pipe is not None
        return pipe

    def _answer(self) -> int:
        line = self._pipe("stdout").readline()
        return int(line) if line else pytest.fail(self.close())


@pytest.fixture(scope="module")
def worker():
    worker = Worker()
    yield worker
    worker.close()


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    return str(tmp_path_factory.mktemp("cache"))


def lines(folder: Path) -> int:
    log = folder / "log.jsonl"
    return log.read_bytes().count(b"\n") if log.exists() else 0


def wait_for_lines(folder: Path, number: int) -> None:
    deadline = time.monotonic() + LONG_ENOUGH
    while lines(folder) < number:
        assert time.monotonic() < deadline
        time.sleep(0.001)


def arrays(path: Path) -> list[np.ndarray]:
    return [np.asarray(leaf) for leaf in jax.tree.leaves(daleth.load(path, learners=[TinyLearner]))]


def test_a_run_killed_ten_times_ends_as_an_undisturbed_one_bit_for_bit(worker, cache, tmp_path):
    """The moments are random: some updates later, and anywhere within the next chunk or two.

    The undisturbed run has no checkpoints, and compiles for itself.
    """
    worker.start(tmp_path / "undisturbed", updates=UPDATES)
    assert worker.status() == 0
    moments = random.Random(0)
    folder = tmp_path / "run"
    arguments = {"checkpoint": str(folder), "checkpoint_every": 2 * CHUNK, "resume": True}
    arguments |= {"updates": UPDATES, "chunk_updates": CHUNK, "cache": cache}
    for _ in range(10):
        process = worker.start(tmp_path / "killed", **arguments)
        wait_for_lines(folder, lines(folder) + moments.randrange(4))
        time.sleep(moments.uniform(0, 0.06))
        os.kill(process, signal.SIGKILL)
        assert worker.status() == -signal.SIGKILL
    assert 0 < lines(folder) < UPDATES // CHUNK
    worker.start(tmp_path / "killed", **arguments)
    assert worker.status() == 0
    killed, undisturbed = arrays(tmp_path / "killed"), arrays(tmp_path / "undisturbed")
    for one, other in zip(killed, undisturbed, strict=True):
        np.testing.assert_array_equal(one, other)
    assert all(path.name.isdigit() for path in (folder / "checkpoints").iterdir()), "litter"
    log = (folder / "log.jsonl").read_text().splitlines()
    logged = [json.loads(line)["update"] for line in log]
    assert logged == list(range(CHUNK, UPDATES + 1, CHUNK))


def test_sigterm_ends_with_a_checkpoint_after_the_current_chunk(worker, cache, tmp_path):
    folder, message = tmp_path / "run", tmp_path / "message"
    arguments = {"checkpoint": str(folder), "chunk_updates": CHUNK, "cache": cache}
    process = worker.start(message, minutes=10, **arguments)
    wait_for_lines(folder, 5)
    os.kill(process, signal.SIGTERM)
    assert worker.status() == 9
    updates = CHUNK * lines(folder)
    assert message.read_text() == (
        f"training ended by SIGTERM after {updates} updates; the last checkpoint is that of "
        f"update {updates} in '{folder}', continue with resume=True"
    )
    assert (folder / "checkpoints" / str(updates)).is_dir()
