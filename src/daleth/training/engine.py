"""The compiled part of training: many updates in one call, on data that live on the device."""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray, PyTree

from daleth.data import Problem, Trajectories, WindowSampler
from daleth.models.base import Model, Origin
from daleth.models.learner import Info, Learner, State
from daleth.models.storage import with_origin
from daleth.training.fingerprints import fingerprint


class Engine(eqx.Module):
    """All that stays the same during a run.

    Everything random about update `u` comes from the seed and the number `u`. So a run can be
    cut into chunks, killed and resumed anywhere without changing a bit of its result.

    Attributes:
        learner: the algorithm.
        problem: what the learner knows of the data.
        sampler: windows with normalised states.
        key_updates: the key from which the keys of all updates are made.
        origin: what a model will say about where it comes from.
    """

    learner: Learner
    problem: Problem
    sampler: WindowSampler
    key_updates: PRNGKeyArray
    origin: Origin

    def step(self, update: Int[Array, ""], state: State) -> tuple[State, Info]:
        """The update with the number `update`, counted from 0."""
        key_windows, key_step = jax.random.split(jax.random.fold_in(self.key_updates, update))
        windows = self.sampler.sample(key_windows, self.learner.batch_size)
        return self.learner.step(key_step, state, windows)

    def model(self, state: State) -> Model:
        """The model that a state stands for, with a note of its origin."""
        return with_origin(self.learner.model(state, self.problem), self.origin)


class Chunk(NamedTuple):
    """What came out of some updates.

    Attributes:
        state: the state after them.
        update: the number of updates done since the start of the run.
        info: the mean of each diagnostic over the chunk.
        finite_loss: whether every loss was finite; the chunk ends at the first that is not.
        finite_state: whether the state is.
    """

    state: State
    update: Int[Array, ""]
    info: dict[str, Float[Array, ""]]
    finite_loss: Bool[Array, ""]
    finite_state: Bool[Array, ""]


def prepare(data: Trajectories, learner: Learner, seed: int, starts: str) -> tuple[Engine, State]:
    """The engine of a run, and the state before its first update."""
    problem = Problem.of(data)
    state, key_strata, key_updates = _begin(learner, problem, jnp.asarray(np.uint32(seed)))
    num_steps = learner.num_bootstrap_steps
    if starts == "stratified":
        sampler = WindowSampler.stratified(data, num_steps, key_strata)
    else:
        sampler = WindowSampler.uniform(data, num_steps)
    normalised = eqx.filter_jit(problem.normalisation.apply)(sampler.states)
    sampler = eqx.tree_at(lambda s: s.states, sampler, normalised)
    digest = np.frombuffer(bytes.fromhex(fingerprint(data)), np.uint8)
    origin = Origin(learner, jnp.asarray(digest))
    return Engine(learner, problem, sampler, key_updates, origin), state


@eqx.filter_jit
def _begin(
    learner: Learner, problem: Problem, seed: Array
) -> tuple[State, PRNGKeyArray, PRNGKeyArray]:
    key_init, key_strata, key_updates = jax.random.split(jax.random.key(seed), 3)
    return _as_arrays(learner.init(key_init, problem)), key_strata, key_updates


def advance(engine: Engine, state: State, update: int, stop: int) -> Chunk:
    """The updates `update, …, stop - 1`, fewer if a loss is not finite, none if `stop = update`."""
    return _advance(engine, state, jnp.int32(update), jnp.int32(stop))


@eqx.filter_jit
def _advance(engine: Engine, state: State, update: Int[Array, ""], stop: Int[Array, ""]) -> Chunk:
    # The number of updates is an argument of one compiled loop. A scan would be compiled for
    # every length, and differently: XLA unrolls short loops, and then rounds otherwise.
    arrays, rest = eqx.partition(state, eqx.is_array)
    _, info = eqx.filter_eval_shape(engine.step, update, state)
    if "loss" not in info:
        raise ValueError(f"{type(engine.learner).__name__}.step must report a 'loss'")
    sums = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), info)

    def goes_on(carry: tuple[Any, ...]) -> Bool[Array, ""]:
        current, _, _, finite = carry
        return (current < stop) & finite

    def one_update(carry: tuple[Any, ...]) -> tuple[Any, ...]:
        current, arrays, sums, _ = carry
        state, info = engine.step(current, eqx.combine(arrays, rest))
        sums = jax.tree.map(jnp.add, sums, info)
        return current + 1, eqx.filter(state, eqx.is_array), sums, jnp.isfinite(info["loss"])

    start = (update, arrays, sums, jnp.array(True))
    last, arrays, sums, finite = jax.lax.while_loop(goes_on, one_update, start)
    count = jnp.maximum(last - update, 1)
    means = jax.tree.map(lambda total: total / count, sums)
    return Chunk(eqx.combine(arrays, rest), last, means, finite, _all_finite(arrays))


def _all_finite(arrays: PyTree) -> Bool[Array, ""]:
    floating = jax.tree.leaves(eqx.filter(arrays, eqx.is_inexact_array))
    return jnp.stack([jnp.array(True), *(jnp.isfinite(one).all() for one in floating)]).all()


def _as_arrays(state: State) -> State:
    """Every number as an array of a definite type, as a checkpoint would give it back."""
    return jax.tree.map(
        lambda leaf: jnp.asarray(leaf, jnp.result_type(leaf)) if eqx.is_array_like(leaf) else leaf,
        state,
    )
