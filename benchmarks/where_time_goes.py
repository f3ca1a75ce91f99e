"""Where the time of an update of `fast` goes, and how far each piece is from the machine's limit.

    .venv/bin/python benchmarks/where_time_goes.py

Pieces are timed alone, in compiled loops, on Pendulum data with the preset's sizes. The limits are
those of a large matrix product and of a large copy, measured in the same run, on an idle machine.
"""

import functools
import time
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from _record import record

from daleth.data import Problem, Trajectories, WindowSampler
from daleth.envs import environment
from daleth.models.delta import fast_learner
from daleth.policies import policy

NUM_LOOPS = 200


def timed(body: Callable[[jax.Array, Any], Any], start: Any, num: int = NUM_LOOPS) -> dict:
    """Seconds of one turn of a compiled loop, its arithmetic, and the bytes it touches."""
    loop = jax.jit(lambda carry, turns: jax.lax.fori_loop(0, turns, body, carry))
    compiled = loop.lower(start, jnp.int32(num)).compile()
    jax.block_until_ready(compiled(start, jnp.int32(2)))
    seconds = []
    for _ in range(3):
        started = time.perf_counter()
        jax.block_until_ready(compiled(start, jnp.int32(num)))
        seconds.append((time.perf_counter() - started) / num)
    once = jax.jit(body).lower(jnp.int32(0), start).compile().cost_analysis()
    return {"seconds": min(seconds), "flops": once["flops"], "bytes": once["bytes accessed"]}


def limits() -> tuple[float, float]:
    """Floating-point operations a second of a matrix product, bytes a second of a copy."""
    size = 2048
    square = jnp.ones((size, size)) / size
    product = timed(lambda _, x: x @ square, square, num=5)
    long = jnp.ones(2**25)
    copy = timed(lambda _, x: x + 1, long, num=5)
    return 2 * size**3 / product["seconds"], 2 * long.nbytes / copy["seconds"]


def pieces() -> dict[str, dict]:
    """The whole update, and its parts one by one."""
    env = environment("pendulum", max_start_speed=8.0)
    walk = policy("pendulum/sac", action_noise=2.0)
    data = Trajectories.from_environment(env, walk, 200_000, jax.random.key(0))
    learner = fast_learner(0.95)
    problem = Problem.of(data)
    key = jax.random.key(1)
    sampler = WindowSampler.stratified(data, learner.num_bootstrap_steps, key)
    state = learner.init(key, problem)
    arrays, rest = eqx.partition(state, eqx.is_array)
    windows = sampler.sample(key, learner.batch_size)
    optimiser = learner.optimisation.transformation()

    def numbered(turn: jax.Array) -> jax.Array:
        return jax.random.fold_in(key, turn)

    def whole(turn: jax.Array, carry: Any) -> Any:
        drawn = sampler.sample(numbered(turn), learner.batch_size)
        following, _ = learner.step(numbered(turn), eqx.combine(carry, rest), drawn)
        return eqx.filter(following, eqx.is_array)

    def draw(turn: jax.Array, total: jax.Array) -> jax.Array:
        return total + sampler.sample(numbered(turn), learner.batch_size).states.sum()

    def descend(loss: Callable[[Any, jax.Array], jax.Array], turn: jax.Array, network: Any) -> Any:
        gradient = jax.grad(loss)(network, turn)
        return jax.tree.map(lambda old, slope: old - 1e-6 * slope, network, gradient)

    def generate(network: Any, turn: jax.Array) -> jax.Array:
        """The atoms of a batch and those of its targets, and what stands for a loss of them."""
        both = functools.partial(learner.representation.measures, key=key)
        chosen = jax.random.permutation(numbered(turn), 51)[: learner.num_target_atoms]
        source = jax.vmap(lambda x: both(network, x))(windows.states[:, 0])
        ends = windows.states[:, -1]
        target = jax.vmap(lambda x: both(jax.lax.stop_gradient(network), x, chosen=chosen))(ends)
        measures = (source.points, source.point_weights, target.points, target.point_weights)
        return sum((part**2).sum() for part in measures)

    def discrepancy(network: Any, turn: jax.Array) -> jax.Array:
        changed = eqx.tree_at(lambda s: s.network, state, network)
        return learner.loss(numbered(turn), changed, None, windows)

    def optimise(_: jax.Array, carry: Any) -> Any:
        network, average, moments = carry
        updates, moments = optimiser.update(network, moments)
        network = optax.apply_updates(network, updates)
        average = jax.tree.map(lambda old, new: old + 0.01 * (new - old), average, network)
        return network, average, moments

    return {
        "whole update": timed(whole, arrays),
        "drawing windows": timed(draw, jnp.zeros(())),
        "atoms and their gradient": timed(functools.partial(descend, generate), state.network),
        "loss and its gradient, atoms included": timed(
            functools.partial(descend, discrepancy), state.network
        ),
        "Adam and the average": timed(optimise, (state.network, state.average, state.optimiser)),
    }


def main() -> None:
    flops_limit, bytes_limit = limits()
    found = pieces()
    whole = found["whole update"]["seconds"]
    rows = [
        {
            "piece": name,
            "ms": 1e3 * one["seconds"],
            "share": one["seconds"] / whole,
            "GFLOP/s": one["flops"] / one["seconds"] / 1e9,
            "of the limit": one["flops"] / one["seconds"] / flops_limit,
            "GB/s": one["bytes"] / one["seconds"] / 1e9,
            "of the limit of memory": one["bytes"] / one["seconds"] / bytes_limit,
        }
        for name, one in found.items()
    ]
    record(
        "where_time_goes",
        "Where the time goes",
        rows,
        "The preset `fast` on Pendulum, 51 atoms of 16 points, batch 64. Pieces are timed alone, "
        "so shares need not add up. Operations and bytes are those that XLA counts for a piece, "
        "each array once for every operation that is not fused with the next; what is found in the "
        "cache counts too, so that bytes can exceed the limit of the memory. The limits, measured "
        f"in the same run: {flops_limit / 1e9:.0f} GFLOP/s in a matrix product of 2048 x 2048, "
        f"{bytes_limit / 1e9:.0f} GB/s in a copy. A whole update reaches "
        f"{rows[0]['of the limit']:.0%} of the first and "
        f"{rows[0]['of the limit of memory']:.0%} of the second: memory is what it waits for. "
        "The network of the atoms is matrix products; the rest of the loss is cosines, distances "
        "and their gradients, element by element. What is missing from the sum: "
        "parameters, moments and average stay in the cache in a loop over one piece, and "
        "a loop over the loss alone need not evaluate the targets' network again. "
        "Written by `benchmarks/where_time_goes.py`.",
    )


if __name__ == "__main__":
    main()
