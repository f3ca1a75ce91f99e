"""How fast a trained model answers: a new reward at one source state, and many of both.

    .venv/bin/python benchmarks/queries.py

The model is not trained; the time of an answer does not depend on what was learned. Takes a minute.
"""

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from _record import record

from daleth import fit
from daleth.data import Trajectories
from daleth.envs import environment
from daleth.policies import policy

NUM_REWARDS, NUM_SOURCES = 1000, 100


def linear(weights: Any, states: Any) -> Any:
    return states @ weights


def timed(call: Callable[[int], object], repeats: int) -> tuple[float, float]:
    """Seconds of the first call, and the median of later ones."""
    seconds = []
    for index in range(repeats + 1):
        started = time.perf_counter()
        jax.block_until_ready(call(index))
        seconds.append(time.perf_counter() - started)
    return seconds[0], float(np.median(seconds[1:]))


def main() -> None:
    env, walk = environment("pendulum"), policy("pendulum/sac")
    data = Trajectories.from_environment(env, walk, 10_000, jax.random.key(0))
    model = fit(data, gamma=0.95, updates=0)
    directions = np.random.default_rng(0).normal(size=(NUM_REWARDS, 3)).astype(np.float32)
    sources = jnp.asarray(data.states[:NUM_SOURCES])
    rewards = [partial(linear, direction) for direction in directions]
    one = model.at(sources[0])
    everywhere = model.at(sources)
    rows = []
    for name, answers, call, repeats in (
        (
            "a new reward at one source state",
            1,
            lambda i: one.returns(rewards[i]).atoms,
            200,
        ),
        (
            "a new reward at a new source state",
            1,
            lambda i: model.returns(rewards[i], sources[i % NUM_SOURCES]).atoms,
            50,
        ),
        (
            f"{NUM_REWARDS:,} rewards at {NUM_SOURCES} sources",
            NUM_REWARDS * NUM_SOURCES,
            lambda i: everywhere.returns(rewards).atoms,
            3,
        ),
    ):
        first, later = timed(call, repeats)
        rows.append(
            {
                "what": name,
                "first call [ms]": 1e3 * first,
                "later calls, median [ms]": 1e3 * later,
                "return distributions per second": answers / later,
            }
        )
    record(
        "queries",
        "Answers of a trained model",
        rows,
        "51 atoms of 16 points and the source state, states of 3 components. Rewards are Python "
        "functions that were not seen before. Written by `benchmarks/queries.py`.",
    )


if __name__ == "__main__":
    main()
