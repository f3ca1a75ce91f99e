"""Windows of consecutive states, drawn on the device."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Int32, PRNGKeyArray

from daleth import _checks
from daleth._typing import Count
from daleth.data.strata import spread_centres, stratum_of
from daleth.data.trajectories import Trajectories


class Windows(eqx.Module):
    """A batch of windows, or one window without the batch axis.

    Attributes:
        states: $x_0, …, x_n$, `[*b, n+1, d]`; behind step `length` the state $x_K$ repeats.
        length: the number `K <= n` of real steps, `[*b]`.
        terminated: whether the episode terminated in $x_K$, `[*b]`.
    """

    states: Float[Array, "*b frames d"]
    length: Int[Array, "*b"]
    terminated: Bool[Array, "*b"]


class WindowSampler(eqx.Module):
    r"""Draws windows of up to `n` steps from trajectories that live on the device.

    A window starts at a frame that has something to teach: any frame with a successor, and the
    absorbing state of a terminated episode, whose future is itself. It ends after `n` steps or
    with its episode. First a stratum is drawn, or none, then a start frame in it or anywhere,
    uniformly. Strata change how often a state is seen as the source of a target, and leave the law
    of its future alone.

    Attributes:
        states: `[N, d]`.
        offsets: where each episode begins, and `N`, `[E+1]`.
        episode_terminated: `[E]`.
        starts: the start frames, stratum after stratum, `[S]`.
        strata: where each stratum begins in `starts`, and `S`, `[M+1]`.
        shares: how likely each stratum is, `[M]`; what is left is drawn from all start frames.
        num_steps: the longest window `n`.

    Example:
        >>> data = Trajectories.from_arrays([[0.0], [1.0], [2.0]], ends="terminated")
        >>> windows = WindowSampler.uniform(data, num_steps=2).sample(jax.random.key(0), 4)
        >>> windows.states.shape, windows.length.shape
        ((4, 3, 1), (4,))
    """

    states: Float[Array, "n d"]
    offsets: Int32[Array, "boundaries"]
    episode_terminated: Bool[Array, "e"]
    starts: Int32[Array, "s"]
    strata: Int32[Array, "edges"]
    shares: Float[Array, "strata"]
    num_steps: int = eqx.field(static=True)

    @classmethod
    def uniform(cls, data: Trajectories, num_steps: Count) -> "WindowSampler":
        """Every start frame is as likely as any other."""
        starts = start_frames(data)
        return cls._build(data, num_steps, starts, np.array([0, len(starts)]), np.ones(1))

    @classmethod
    def stratified(
        cls,
        data: Trajectories,
        num_steps: Count,
        key: PRNGKeyArray,
        num_strata: Count = 64,
        full_stratum: Count = 1000,
    ) -> "WindowSampler":
        """Regions of the state space are equally likely, unless they are very rare in the data.

        The regions are the cells nearest to centres that lie as far apart as the data allow, in
        normalised units; see `daleth.data.strata`. A region with few frames would have its few
        futures learned by heart.

        Args:
            data: trajectories.
            num_steps: the longest window `n`.
            key: for the centres.
            num_strata: regions.
            full_stratum: the frames that a region must have to be as likely as any other; one with
                fewer is less likely in proportion.
        """
        num_strata = _checks.count("num_strata", num_strata)
        starts = start_frames(data)
        normalisation = data.normalisation()
        centres = spread_centres(data.states, starts, normalisation, key, num_strata)
        stratum = stratum_of(data.states, starts, normalisation, centres)
        order = np.argsort(stratum, kind="stable")
        sizes = np.bincount(stratum)
        sizes = sizes[sizes > 0]
        edges = np.append(0, np.cumsum(sizes))
        shares = np.minimum(1, sizes / _checks.count("full_stratum", full_stratum)) / len(sizes)
        return cls._build(data, num_steps, starts[order], edges, shares)

    @classmethod
    def _build(
        cls,
        data: Trajectories,
        num_steps: Count,
        starts: np.ndarray,
        strata: np.ndarray,
        shares: np.ndarray,
    ) -> "WindowSampler":
        return cls(
            states=jnp.asarray(data.states),
            offsets=jnp.asarray(data.offsets.astype(np.int32)),
            episode_terminated=jnp.asarray(data.terminated),
            starts=jnp.asarray(starts),
            strata=jnp.asarray(strata.astype(np.int32)),
            shares=jnp.asarray(shares.astype(np.float32)),
            num_steps=_checks.count("num_steps", num_steps),
        )

    def window(self, start: Int[Array, ""]) -> Windows:
        """The window that begins at one frame."""
        episode = jnp.searchsorted(self.offsets, start, side="right") - 1
        left = self.offsets[episode + 1] - 1 - start
        length = jnp.minimum(left, self.num_steps)
        frames = start + jnp.minimum(jnp.arange(self.num_steps + 1), length)
        terminated = self.episode_terminated[episode] & (left <= self.num_steps)
        return Windows(self.states[frames], length, terminated)

    def sample(self, key: PRNGKeyArray, batch_size: int) -> Windows:
        """Draws `batch_size` windows, with replacement; `batch_size` is static under `jit`."""
        key_stratum, key_frame = jax.random.split(key)
        level = jax.random.uniform(key_stratum, (batch_size,))
        stratum = jnp.searchsorted(jnp.cumsum(self.shares), level, side="right")
        # Beyond the last stratum: from all start frames.
        begin = jnp.append(self.strata[:-1], 0)[stratum]
        end = jnp.append(self.strata[1:], len(self.starts))[stratum]
        chosen = jax.random.randint(key_frame, (batch_size,), begin, end)
        return jax.vmap(self.window)(self.starts[chosen])


def start_frames(data: Trajectories) -> Int32[np.ndarray, "s"]:
    """All frames but the last ones of truncated and open episodes."""
    if data.num_frames >= 2**31:
        raise ValueError(f"windows need fewer than 2^31 frames, got {data.num_frames}")
    is_start = np.ones(data.num_frames, bool)
    is_start[data.offsets[1:][~data.terminated] - 1] = False
    return np.flatnonzero(is_start).astype(np.int32)
