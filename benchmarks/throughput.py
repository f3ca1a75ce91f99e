"""How many environment steps per second: collecting trajectories, and simulating the truth.

    .venv/bin/python benchmarks/throughput.py

Takes about two minutes. Compilation is counted in the first call and reported apart.
"""

import time
from collections.abc import Callable

import equinox as eqx
import gymnasium
import jax
from _record import record

import daleth.envs.gym  # noqa: F401, registers the ids
from daleth.data import Trajectories
from daleth.envs import environment, reward, reward_names, sources
from daleth.evaluation import true_returns
from daleth.policies import policy
from daleth.targets import horizon

NUM_STEPS = 2_000_000
NUM_GYM_STEPS = 5_000
NUM_ROLLOUTS = 20_000
GAMMA = 0.95


def timed(call: Callable[[int], object]) -> tuple[float, float]:
    """Seconds of the first call, with compilation, and of the second."""
    seconds = []
    for seed in (0, 1):
        started = time.perf_counter()
        jax.block_until_ready(call(seed))
        seconds.append(time.perf_counter() - started)
    return seconds[0], seconds[1]


def row(name: str, num_steps: int, call: Callable[[int], object]) -> dict:
    first, second = timed(call)
    return {
        "what": name,
        "steps": num_steps,
        "first call [s]": first,
        "second call [s]": second,
        "steps per second": num_steps / second,
    }


def collect(world: str, policy_name: str, **settings: float) -> dict:
    env, walk = environment(world), policy(policy_name, **settings)
    return row(
        f"collect {policy_name}",
        NUM_STEPS,
        lambda seed: (
            Trajectories.from_environment(env, walk, NUM_STEPS, jax.random.key(seed)).states
        ),
    )


def collect_gymnasium() -> dict:
    env, walk = gymnasium.make("Pendulum-v1"), eqx.filter_jit(policy("pendulum/sac"))
    return row(
        "collect Gymnasium's Pendulum-v1 (no JAX)",
        NUM_GYM_STEPS,
        lambda seed: (
            Trajectories.from_gymnasium(env, walk, NUM_GYM_STEPS, jax.random.key(seed)).states
        ),
    )


def simulate(world: str, policy_name: str, **settings: float) -> dict:
    env, walk, states = environment(world), policy(policy_name, **settings), sources(world)
    rewards = {name: reward(name) for name in reward_names(world)}
    size = f"{NUM_ROLLOUTS:,} rollouts x {len(states)} sources x {len(rewards)} rewards"

    def call(seed: int) -> list:
        key = jax.random.key(seed)
        found = true_returns(env, walk, rewards, states, GAMMA, num_rollouts=NUM_ROLLOUTS, key=key)
        return [g.atoms for g in found.values()]

    return row(f"truth {policy_name}: {size}", NUM_ROLLOUTS * len(states) * horizon(GAMMA), call)


if __name__ == "__main__":
    rows = [
        collect("windy", "windy/uniform"),
        collect("pendulum", "pendulum/sac", action_noise=2.0),
        collect("linear-gaussian", "linear-gaussian/uniform"),
        collect_gymnasium(),
        simulate("windy", "windy/top"),
        simulate("pendulum", "pendulum/sac", action_noise=2.0),
    ]
    record(
        "throughput",
        "Throughput of collection and Monte Carlo",
        rows,
        f"γ = {GAMMA}, horizon {horizon(GAMMA)} steps. Written by `benchmarks/throughput.py`.",
    )
