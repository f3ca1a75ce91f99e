"""Trajectories from an environment in JAX, at millions of steps per second."""

from collections.abc import Callable, Iterator
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Key, PRNGKeyArray, Shaped, UInt8

from daleth import _checks
from daleth._progress import track
from daleth._typing import ArrayLike, Count
from daleth.data.episodes import End
from daleth.data.trajectories import Trajectories
from daleth.envs.base import Environment
from daleth.policies.base import Policy

_MAX_LANES = 1024
_FRAMES_AT_ONCE = 256


class _Lane(eqx.Module):
    """One copy of the environment: the state it is in, and what is known about the state."""

    state: Float[Array, "d"]
    elapsed: Int[Array, ""]
    end: UInt8[Array, ""]


class _FixedStart(eqx.Module):
    """Always the same state; as data, so that another state compiles nothing anew."""

    state: Float[Array, "d"]

    def __call__(self, key: PRNGKeyArray) -> Float[Array, "d"]:
        return self.state


def from_environment(
    env: Any,
    policy: Policy,
    num_steps: Count,
    key: PRNGKeyArray,
    *,
    num_parallel: Count | None = None,
    start: Callable[[PRNGKeyArray], Float[Array, "d"]] | ArrayLike | None = None,
    max_episode_steps: Count | None = None,
) -> Trajectories:
    """Steps many copies of an environment and records states and actions.

    Copies share the steps evenly and begin anew when an episode ends. An episode that reaches
    `max_episode_steps` is truncated; the last one of each copy is open if its steps run out.

    Args:
        env: the environment.
        policy: the policy.
        num_steps: the number of transitions in total.
        key: decides everything random.
        num_parallel: the number of copies; by default at most 1,024, and few enough that each
            has steps for at least one full episode, so that late states are not missed.
        start: the state `[d]` in which every episode begins, or a function of a key that draws
            one, instead of `env.reset`.
        max_episode_steps: instead of that of the environment.

    Example:
        >>> from daleth.envs.corridor import Corridor
        >>> policy = lambda key, state: jax.random.randint(key, (), 0, 2)
        >>> data = from_environment(Corridor(5), policy, 100, jax.random.key(0))
        >>> data.num_frames - data.num_episodes
        100
    """
    hint = "a daleth Environment; for one of Gymnasium there is from_gymnasium"
    _checks.instance("env", env, Environment, hint)
    num_steps = _checks.count("num_steps", num_steps)
    limit = env.max_episode_steps if max_episode_steps is None else max_episode_steps
    limit = _checks.count("max_episode_steps", limit)
    if num_parallel is None:
        num_parallel = min(max(num_steps // limit, 1), _MAX_LANES)
    size = min(_checks.count("num_parallel", num_parallel), num_steps)
    share = np.full(size, num_steps // size) + (np.arange(size) < num_steps % size)
    key_start, key_steps = jax.random.split(key)
    draw = env.reset if start is None else start
    if not callable(draw):
        draw = _FixedStart(jnp.asarray(_checks.finite("start", start, rank=1), jnp.float32))
    wanted, found = (jax.eval_shape(one, key).shape for one in (env.reset, draw))
    if found != wanted:
        raise ValueError(f"start must be a state of shape {wanted}, got {found}")
    lanes = _begin(draw, jax.random.split(key_start, size))
    pieces = _pieces(env, policy, draw, lanes, key_steps, limit, share)
    # Final states are frames too; episodes that terminate early make for some pieces more.
    num_pieces = 1 + int(share.max() * (1 + 1 / limit)) // _FRAMES_AT_ONCE
    frames = zip(*track(pieces, "collecting", num_pieces), strict=True)
    states, actions, ends = (np.concatenate(parts) for parts in frames)
    return _assemble(states, actions, ends, share)


def _pieces(
    env: Environment,
    policy: Policy,
    draw: Callable,
    lanes: _Lane,
    key: PRNGKeyArray,
    limit: int,
    share: np.ndarray,
) -> Iterator[tuple[np.ndarray, ...]]:
    """Frames of all lanes, until each lane has its share of transitions."""
    counts = np.zeros_like(share)
    # A transition is complete once the frame behind it is there.
    while (counts <= share).any():
        key, key_piece = jax.random.split(key)
        lanes, frames = _advance(env, policy, draw, lanes, key_piece, limit)
        states, actions, ends = (np.asarray(part) for part in frames)
        counts += (ends == End.OPEN).sum(axis=0)
        yield states, actions, ends


@eqx.filter_jit
def _begin(draw: Callable, keys: Key[Array, "b"]) -> _Lane:
    return jax.vmap(lambda key: _first(draw(key)))(keys)


def _first(state: Float[Array, "d"]) -> _Lane:
    return _Lane(state, jnp.array(0), jnp.uint8(End.OPEN))


@eqx.filter_jit
def _advance(
    env: Environment,
    policy: Policy,
    draw: Callable,
    lanes: _Lane,
    key: PRNGKeyArray,
    limit: int,
) -> tuple[_Lane, tuple[Float[Array, "t b d"], Shaped[Array, "t b *a"], UInt8[Array, "t b"]]]:
    """Frames of all lanes: state, action, and the end of the episode if this is its last."""

    def advance_one(lane: _Lane, keys: Key[Array, "3"]):
        key_action, key_step, key_start = keys
        action = policy(key_action, lane.state)
        following, terminated = env.step(key_step, lane.state, action)
        elapsed = lane.elapsed + 1
        truncated = jnp.where(elapsed >= limit, jnp.uint8(End.TRUNCATED), jnp.uint8(End.OPEN))
        end = jnp.where(terminated, jnp.uint8(End.TERMINATED), truncated)
        # A final state is a frame of its own, and the frame behind it begins a new episode.
        over = lane.end != End.OPEN
        after = jax.tree.map(
            lambda new, old: jnp.where(over, new, old),
            _first(draw(key_start)),
            _Lane(following, elapsed, end),
        )
        return after, (lane.state, action, lane.end)

    keys = jax.random.split(key, (_FRAMES_AT_ONCE, len(lanes.end), 3))
    return jax.lax.scan(jax.vmap(advance_one), lanes, keys)


def _assemble(
    states: np.ndarray, actions: np.ndarray, ends: np.ndarray, share: np.ndarray
) -> Trajectories:
    """Cuts frames `[t, b]` of lanes into episodes, lane after lane."""
    going = ends == End.OPEN
    before = np.cumsum(going, axis=0, dtype=np.int32) - going
    # A frame is kept if the lane had transitions left in the frame before it.
    keep = np.ones_like(going)
    keep[1:] = before[:-1] < share
    by_lane = keep.T
    codes = ends.T[by_lane]
    sizes = keep.sum(axis=0)
    final = codes != End.OPEN
    final[np.cumsum(sizes) - 1] = True
    offsets = np.append(0, np.flatnonzero(final) + 1)
    actions = actions.swapaxes(0, 1)[by_lane]
    actions[final] = 0
    return Trajectories(states.swapaxes(0, 1)[by_lane], offsets, codes[final], actions)
