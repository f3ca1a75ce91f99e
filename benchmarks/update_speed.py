"""Time and peak memory of one update: Algorithm 1 as it reads, the preset `paper`, and `fast`.

    .venv/bin/python benchmarks/update_speed.py

An update of the first two is an ascent step of the adversarial state kernel and a descent step of
the generators; `naive` and `paper` are the same mathematics. Each configuration runs in a process
of its own, so that its peak memory is its own. Wants 14 GB and nothing else running.
"""

import dataclasses
import json
import math
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from _record import record
from naive import NaiveDeltaLearner

from daleth.data import Problem, Windows
from daleth.models.delta import DeltaLearner, DeltaState, fast_learner, paper_learner
from daleth.parts import Particles

STATE_DIM, GAMMA, BATCH_SIZE = 3, 0.95, 32
SECONDS, MEMORY = "seconds per update", "peak memory [MB]"


def paper(num_atoms: int, batch_size: int) -> DeltaLearner:
    """The preset `paper`."""
    return dataclasses.replace(paper_learner(GAMMA, num_atoms), batch_size=batch_size)


def naive(num_atoms: int, batch_size: int) -> DeltaLearner:
    """The same, computed as it reads."""
    return NaiveDeltaLearner(**paper(num_atoms, batch_size).config())


def fast(num_atoms: int, batch_size: int) -> DeltaLearner:
    """The preset `fast`."""
    return dataclasses.replace(fast_learner(GAMMA, num_atoms), batch_size=batch_size)


def fast_32(num_atoms: int, batch_size: int) -> DeltaLearner:
    """The same with as many points in an atom as `paper` has samples, whatever the atoms."""
    particles = Particles(num_atoms=num_atoms, num_points=32)
    return DeltaLearner(gamma=GAMMA, representation=particles, batch_size=batch_size)


VERSIONS: dict[str, tuple[Callable[[int, int], DeltaLearner], int]] = {
    "naive": (naive, 1),
    "paper": (paper, 1),
    "fast": (fast, 100),
    "fast, k = 32": (fast_32, 100),
}
"""A learner by number of atoms and batch size, and how many updates are timed together."""
NUM_REPEATS = 3  # the shortest counts: what else a machine does only adds

# At 51 atoms and a batch of 32 the naive version would need more than 20 GB; time and memory are
# linear in the batch, which is made smaller where `paper` would take minutes too.
CONFIGURATIONS = [
    *(("naive", num_atoms, BATCH_SIZE) for num_atoms in (4, 11)),
    *(("naive", 51, batch_size) for batch_size in (8, 16)),
    *(("paper", num_atoms, BATCH_SIZE) for num_atoms in (4, 11, 51)),
    ("paper", 51, 16),
    ("paper", 204, 8),
    *(("fast", num_atoms, BATCH_SIZE) for num_atoms in (4, 11, 51, 204)),
    *(("fast, k = 32", num_atoms, BATCH_SIZE) for num_atoms in (4, 11, 51, 204)),
]


def measure(version: str, num_atoms: int, batch_size: int) -> dict[str, Any]:
    """One configuration, in this process; the loss is that of the first update."""
    make, num_updates = VERSIONS[version]
    learner = make(num_atoms, batch_size)
    key_init, key_windows, key_step = jax.random.split(jax.random.key(0), 3)
    steps = (batch_size, learner.num_bootstrap_steps + 1, STATE_DIM)
    windows = Windows(
        states=jnp.cumsum(jax.random.normal(key_windows, steps), axis=1),
        length=jnp.full(batch_size, learner.num_bootstrap_steps),
        terminated=jnp.zeros(batch_size, bool),
    )
    before = peak_bytes()
    fresh = learner.init(key_init, Problem.plain(STATE_DIM))
    state = jax.tree.map(jnp.copy, fresh)  # to be donated, so not shared

    def updates(state: DeltaState, num: jax.Array) -> tuple[DeltaState, jax.Array]:
        """Some updates in a compiled loop, as in `fit`, and the last loss."""

        def update(_: jax.Array, carry: tuple[Any, Any]) -> tuple[Any, Any]:
            state, info = learner.step(key_step, carry[0], windows)
            return state, info["loss"]

        return jax.lax.fori_loop(0, num, update, (state, jnp.zeros(())))

    run = jax.jit(updates, donate_argnums=0)
    state, loss = jax.block_until_ready(run(state, jnp.int32(1)))
    seconds = []
    for _ in range(NUM_REPEATS):
        started = time.perf_counter()
        state, _ = jax.block_until_ready(run(state, jnp.int32(num_updates)))
        seconds.append((time.perf_counter() - started) / num_updates)
    return {
        "version": version,
        "atoms m": num_atoms,
        "batch b": batch_size,
        SECONDS: min(seconds),
        MEMORY: (peak_bytes() - before) / 1e6,
        "loss": float(loss),
    }


def peak_bytes() -> int:
    """The most memory that this process has had."""
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def measured_apart(*configuration: Any) -> dict[str, Any]:
    """`measure` in a process of its own."""
    command = [sys.executable, __file__, *map(str, configuration)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    line = done.stdout.splitlines()[-1]
    print(line, flush=True)
    return json.loads(line)


def compared(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Adds how time grows with `m`, and ratios to the naive version at the same `m` and `b`."""
    largest = max(row["batch b"] for row in rows)
    # Later rows of the same size win: these are the larger batches, which scale with less error.
    full = {
        (row["version"], row["atoms m"]): full_size(row, largest)
        for row in sorted(rows, key=lambda row: row["batch b"])
    }
    for row in rows:
        version, num_atoms = row["version"], row["atoms m"]
        smaller = [m for v, m in full if v == version and m < num_atoms]
        row["exponent in m"] = row["naive / this, time"] = row["naive / this, memory"] = "-"
        if smaller:
            growth = full[version, num_atoms][SECONDS] / full[version, max(smaller)][SECONDS]
            row["exponent in m"] = math.log(growth) / math.log(num_atoms / max(smaller))
        reference = full.get(("naive", num_atoms))
        if version != "naive" and reference is not None:
            own = full_size(row, largest)
            row["naive / this, time"] = reference[SECONDS] / own[SECONDS]
            row["naive / this, memory"] = reference[MEMORY] / own[MEMORY]
    return rows


def full_size(row: dict[str, Any], batch_size: int) -> dict[str, float]:
    """Time and memory, scaled linearly to another batch size."""
    return {column: row[column] * batch_size / row["batch b"] for column in (SECONDS, MEMORY)}


def check_losses(rows: list[dict[str, Any]]) -> None:
    """`naive` and `paper` are the same loss of the same draws."""
    losses = {(row["version"], row["atoms m"], row["batch b"]): row["loss"] for row in rows}
    for (version, *size), loss in losses.items():
        other = losses.get(("paper", *size), loss)
        if version == "naive" and abs(loss - other) > 1e-4:
            raise RuntimeError(f"losses differ at m, b = {size}: {loss} and {other}")


def main() -> None:
    rows = [measured_apart(*configuration) for configuration in CONFIGURATIONS]
    check_losses(rows)
    record(
        "update_speed",
        "One update of a δ-model",
        compared(rows),
        f"s = 32 state samples, d = {STATE_DIM}, all else as in the presets; `fast` has k = 16 "
        "points an atom, and for up to 8 atoms 32 and a smaller network. Updates in a compiled "
        "loop, as `fit` runs them, the shortest of three times; peak memory above that of the "
        "process after its imports. "
        "`naive` and `paper` are the same mathematics, and their losses agree to 1e-4; `fast` is "
        "another loss. The exponent says how time grows with m from the row of the next smaller m "
        "on. With 51 atoms and b = 32 the naive version would need more than 20 GB: ratios there "
        "take its time and memory at b = 16, scaled linearly. "
        "Written by `benchmarks/update_speed.py`.",
    )


if __name__ == "__main__":
    if len(sys.argv) == 4:
        print(json.dumps(measure(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))))
    else:
        main()
