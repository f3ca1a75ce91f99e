"""Time and peak memory of one update of the paper's δ-model, beside a naive version.

    .venv/bin/python benchmarks/update_speed.py

An update is an ascent step of the adversarial state kernel and a descent step of the generators.
Each configuration runs in a process of its own, so that its peak memory is its own. Takes about
five minutes on two cores; wants 14 GB and nothing else running.
"""

import json
import resource
import subprocess
import sys
import time
from typing import Any

import jax
import jax.numpy as jnp
from _record import record
from naive import NaiveDeltaLearner

from daleth.data import Normalisation, Windows
from daleth.models.delta import DeltaLearner
from daleth.models.learner import Problem

LEARNERS = {"naive": NaiveDeltaLearner, "ours": DeltaLearner}
STATE_DIM = 3
NUM_UPDATES = 3
# At 51 atoms and a batch of 32 the naive version would need more than 20 GB: compare at 16.
CONFIGURATIONS = [
    ("naive", 4, 32),
    ("ours", 4, 32),
    ("naive", 11, 32),
    ("ours", 11, 32),
    ("naive", 51, 16),
    ("ours", 51, 16),
    ("ours", 51, 32),
]


def measure(name: str, num_atoms: int, batch_size: int) -> dict[str, Any]:
    """One configuration, in this process; the loss is that of the first update."""
    learner = LEARNERS[name](gamma=0.95, num_atoms=num_atoms, batch_size=batch_size)
    key_init, key_windows, key_step = jax.random.split(jax.random.key(0), 3)
    steps = (batch_size, learner.num_bootstrap_steps + 1, STATE_DIM)
    windows = Windows(
        states=jnp.cumsum(jax.random.normal(key_windows, steps), axis=1),
        length=jnp.full(batch_size, learner.num_bootstrap_steps),
        terminated=jnp.zeros(batch_size, bool),
    )
    before = peak_bytes()
    problem = Problem(Normalisation(jnp.zeros(STATE_DIM), jnp.ones(STATE_DIM)), STATE_DIM)
    state = jax.tree.map(jnp.copy, learner.init(key_init, problem))  # to be donated, so not shared
    step = jax.jit(learner.step, donate_argnums=1)
    state, info = jax.block_until_ready(step(key_step, state, windows))
    seconds = []
    for _ in range(NUM_UPDATES):
        started = time.perf_counter()
        state, _ = jax.block_until_ready(step(key_step, state, windows))
        seconds.append(time.perf_counter() - started)
    return {
        "version": name,
        "atoms m": num_atoms,
        "batch b": batch_size,
        "seconds per update": min(seconds),
        "peak memory [MB]": (peak_bytes() - before) / 1e6,
        "loss": float(info["loss"]),
    }


def peak_bytes() -> int:
    """The most memory that this process has had."""
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def measured_apart(*configuration: Any) -> dict[str, Any]:
    """`measure` in a process of its own."""
    command = [sys.executable, __file__, *map(str, configuration)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def with_ratios(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Each of our rows beside the naive one of the same size; their losses must agree."""
    naive = {(row["atoms m"], row["batch b"]): row for row in rows if row["version"] == "naive"}
    for row in rows:
        other = naive.get((row["atoms m"], row["batch b"]))
        row["times faster"] = row["times less memory"] = "-"
        if row["version"] == "ours" and other is not None:
            if abs(row["loss"] - other["loss"]) > 1e-4:
                raise RuntimeError(f"losses differ: {row['loss']} and {other['loss']}")
            for ratio, column in (
                ("times faster", "seconds per update"),
                ("times less memory", "peak memory [MB]"),
            ):
                row[ratio] = other[column] / row[column]
    return rows


def main() -> None:
    record(
        "update_speed",
        "One update of the δ-model of the paper",
        with_ratios([measured_apart(*configuration) for configuration in CONFIGURATIONS]),
        f"s = 32 state samples, d = {STATE_DIM}, n = 5, 8 features; the fastest of {NUM_UPDATES} "
        "updates after compilation; peak memory above that of the process after its imports. "
        "Losses agree to 1e-4. Time and memory of the kernels are linear in b: the naive version "
        "with 51 atoms is measured at b = 16, since at b = 32 it would need more than 20 GB. "
        "Written by `benchmarks/update_speed.py`.",
    )


if __name__ == "__main__":
    if len(sys.argv) == 4:
        print(json.dumps(measure(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))))
    else:
        main()
