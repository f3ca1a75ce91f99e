"""Start states in held-out data, and the returns that really followed them."""

from collections.abc import Sequence
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from daleth._progress import track
from daleth._typing import Reward
from daleth.data import Trajectories, Windows, WindowSampler
from daleth.models.base import Model
from daleth.returns import ReturnDistribution
from daleth.rewards import reward_values
from daleth.targets import TargetWeights, horizon, target_weights

_NUM_PIECES = 8


def draw_starts(
    data: Trajectories,
    gamma: float,
    num_starts: int,
    max_unseen_mass: float,
    rng: np.random.Generator,
) -> Int[np.ndarray, "s"]:
    r"""Rows of start states whose futures are seen and nearly independent of one another.

    Whether a row may be a start must not depend on what follows it, or the returns would be a
    selection. Two cases keep to that:

    - No episode terminates: where the data were cut says nothing about the future, and a start
      has at least $H$ steps left, with $\gamma^H \le$ `max_unseen_mass`.
    - Some terminate: to ask for long *or terminated* futures would prefer terminations. Every
      episode that is alive at step $t$ is used, up to the last $t$ for which the starts have on
      average at most `max_unseen_mass` of their future behind the end of the data.

    Starts in one episode stand $H$ steps apart, with a random first one, so that returns share at
    most that much of their mass: given a right model, their PIT values are all but martingale
    differences, and each start counts as one independent observation.

    Args:
        data: held-out trajectories.
        gamma: the discount factor.
        num_starts: how many at most.
        max_unseen_mass: see above.
        rng: for the choice.
    """
    spacing = horizon(gamma, max_unseen_mass)
    usable = _usable_lengths(data, gamma, spacing, max_unseen_mass)
    # The same spacing in all episodes: every usable row is as likely to be a start.
    spacing = min(spacing, int(usable.max()))
    first = rng.integers(0, spacing, size=data.num_episodes)
    counts = np.maximum(-(-(usable - first) // spacing), 0)
    ranks = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    rows = np.repeat(data.offsets[:-1] + first, counts) + spacing * ranks
    if len(rows) < 2:
        raise ValueError(
            f"the held-out data give {len(rows)} independent start state(s), at least 2 are "
            f"needed and {spacing} steps between those of one episode; collect more"
        )
    if len(rows) > num_starts:
        rows = rng.choice(rows, num_starts, replace=False)
    return np.sort(rows)


def _usable_lengths(
    data: Trajectories, gamma: float, spacing: int, max_unseen_mass: float
) -> Int[np.ndarray, "e"]:
    """How many rows of each episode, counted from its beginning, may be starts."""
    if not data.terminated.any():
        usable = np.maximum(data.lengths - spacing, 0)
    else:
        episode = np.repeat(np.arange(data.num_episodes), data.lengths)
        step = np.arange(data.num_frames) - data.offsets[episode]
        left = data.lengths[episode] - 1 - step
        unseen = np.where(data.terminated[episode], 0.0, np.power(gamma, left))
        # Final states are no starts: an absorbing one has no future to get wrong.
        unseen_by_step = np.bincount(step, unseen * (left > 0))
        alive_by_step = np.bincount(step, left > 0)[: data.lengths.max() - 1]
        mean_unseen = np.cumsum(unseen_by_step)[: len(alive_by_step)] / np.cumsum(alive_by_step)
        seen_enough = np.flatnonzero(mean_unseen <= max_unseen_mass)
        latest = seen_enough[-1] + 1 if len(seen_enough) else 0
        usable = np.minimum(data.lengths - 1, latest)
    if not usable.any():
        raise ValueError(
            f"the held-out episodes are too short for gamma {gamma:g}: they are cut before "
            f"{1 - max_unseen_mass:.0%} of a discounted future is seen; collect episodes of more "
            f"than {spacing} steps or allow more max_unseen_mass"
        )
    return usable


class SeenReturns(NamedTuple):
    r"""What the windows at some rows show of their returns.

    Attributes:
        seen: $\sum_{k<K} \gamma^k r(x_k)$ under each reward; after a termination in $x_K$ also
            $\gamma^K r(x_K) / (1-\gamma)$.
        unseen_mass: $\gamma^K$, or 0 after a termination.
        last_states: $x_K$.
    """

    seen: Float[np.ndarray, "r s"]
    unseen_mass: Float[np.ndarray, "s"]
    last_states: Float[Array, "s d"]


def seen_returns(
    data: Trajectories,
    rewards: Sequence[Reward],
    gamma: float,
    rows: Int[np.ndarray, "s"],
    num_steps: int,
) -> SeenReturns:
    """Discounted sums along the windows of up to `num_steps` that begin at the rows."""
    sampler = WindowSampler.uniform(data, num_steps)
    windows, weights = _windows(sampler, jnp.asarray(rows, jnp.int32), gamma)
    values = (reward_values(one, windows.states) for one in rewards)
    seen = np.stack([np.asarray(jnp.sum(weights.direct * one, axis=-1)) for one in values])
    mass = np.asarray(weights.bootstrap, float)
    return SeenReturns(seen.astype(float) / (1 - gamma), mass, windows.states[:, -1])


@eqx.filter_jit
def _windows(
    sampler: WindowSampler, rows: Int[Array, "s"], gamma: float
) -> tuple[Windows, TargetWeights]:
    def one(row):
        window = sampler.window(row)
        return window, target_weights(window.length, window.terminated, sampler.num_steps, gamma)

    return jax.vmap(one)(rows)


def predicted_returns(
    model: Model,
    rewards: Sequence[Reward],
    states: Float[Array, "s d"],
    key: PRNGKeyArray,
    description: str,
) -> ReturnDistribution:
    """The model's laws `[r, s, m]`, asked for in pieces so that a bar shows how far it is."""
    size = -(-len(states) // _NUM_PIECES)
    num_pieces = -(-len(states) // size)
    # All pieces have one shape, so that nothing is compiled twice.
    padded = states[np.minimum(np.arange(num_pieces * size), len(states) - 1)]
    pieces = zip(
        padded.reshape(num_pieces, size, -1), jax.random.split(key, num_pieces), strict=True
    )
    laws = [
        model.returns(rewards, piece, key=key_piece)
        for piece, key_piece in track(pieces, description, num_pieces)
    ]
    joined = jax.tree.map(lambda *leaves: jnp.concatenate(leaves, axis=-2), *laws)
    return joined[:, : len(states)]


def bootstrapped_returns(
    model: Model, rewards: Sequence[Reward], seen: SeenReturns, key: PRNGKeyArray
) -> Float[np.ndarray, "r s"]:
    r"""One draw of the bootstrapped return of each window, under each reward.

    $$ B = \sum_{k<K} \gamma^k r(x_k) + \gamma^K G, \qquad G \sim \text{model's return at } x_K $$

    and $G = r(x_K) / (1-\gamma)$ if the episode terminated in $x_K$. If the model is right, `B` has
    the law of the return at $x_0$, whatever the length of the window: with long windows `B` is all
    but the realised return, with short ones it is the distributional Bellman target (section 5 of
    the paper). One atom is drawn for all rewards, since an atom is one future.
    """
    key_model, key_atom = jax.random.split(key)
    future = predicted_returns(model, rewards, seen.last_states, key_model, "asking at the ends")
    drawn = _draw_atom(future, jax.random.uniform(key_atom, seen.unseen_mass.shape))
    return seen.seen + seen.unseen_mass * drawn


def _draw_atom(laws: ReturnDistribution, uniform: Float[Array, "s"]) -> Float[np.ndarray, "r s"]:
    """The atom at a random level of each law, in the order of the model and not of the returns."""
    cumulative = np.cumsum(np.asarray(laws.weights, float), axis=-1)
    levels = np.asarray(uniform, float)[:, None] * cumulative[..., -1:]
    index = np.minimum((cumulative <= levels).sum(axis=-1), laws.num_atoms - 1)
    return np.take_along_axis(np.asarray(laws.atoms, float), index[..., None], axis=-1)[..., 0]
