"""What a model is: anything that maps a source state to `m` state measures."""

import abc
import math
from collections.abc import Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key, PRNGKeyArray

from daleth import _checks
from daleth._typing import ArrayLike, Reward
from daleth.measures import StateMeasures
from daleth.returns import ReturnDistribution

_CHUNK_NUMBERS = 2**25  # a chunk of source states holds at most so many numbers: 128 MiB


class Model(eqx.Module):
    r"""A distributional successor measure $x \mapsto \sum_i p_i(x) \delta_{\theta_i(x)}$.

    Every method, learned or not, answers `atoms`; everything else is written once, here.
    """

    gamma: eqx.AbstractVar[float]
    """The discount factor under which the measures were formed."""
    state_dim: eqx.AbstractVar[int]
    """The number of components of a state."""

    @abc.abstractmethod
    def atoms(self, source_state: Float[Array, "d"], key: PRNGKeyArray) -> StateMeasures:
        """The `m` state measures of one source state, with points `[m, k, d]`."""

    def returns(
        self,
        reward: Reward | Sequence[Reward],
        source_state: ArrayLike,
        *,
        key: PRNGKeyArray | None = None,
    ) -> ReturnDistribution:
        """The whole return distribution of a reward, with no further learning.

        Args:
            reward: a vectorised function of states `[..., d] -> [...]`, or a sequence of `R`.
            source_state: one state `[d]`, or many `[*batch, d]`.
            key: for models that sample; the same key gives the same answer.

        Returns:
            Returns with batch shape `[*batch]`, or `[R, *batch]` for a sequence of rewards.
        """
        sources = jnp.asarray(_checks.finite("source_state", source_state))
        if sources.ndim == 0 or sources.shape[-1] != self.state_dim:
            raise ValueError(
                f"source_state must have {self.state_dim} components on its last axis, "
                f"got shape {sources.shape}"
            )
        key = jax.random.key(0) if key is None else key
        batch, flat = sources.shape[:-1], sources.reshape(-1, self.state_dim)
        keys = jax.random.split(key, len(flat))
        rows = max(1, _CHUNK_NUMBERS // math.prod(self._shape(flat[0], keys[0])))
        parts = [
            self.batch_atoms(flat[i : i + rows], keys[i : i + rows]).returns(reward, self.gamma)
            for i in range(0, len(flat), rows)
        ]
        joined = jax.tree.map(lambda *leaves: jnp.concatenate(leaves, axis=-2), *parts)
        lead = joined.batch_shape[:-1]
        return jax.tree.map(lambda leaf: leaf.reshape(*lead, *batch, leaf.shape[-1]), joined)

    @eqx.filter_jit
    def batch_atoms(
        self, source_states: Float[Array, "b d"], keys: Key[Array, "b"]
    ) -> StateMeasures:
        """The state measures of many source states, one key each, points `[b, m, k, d]`."""
        return jax.vmap(self.atoms)(source_states, keys)

    def _shape(self, source_state: Array, key: PRNGKeyArray) -> tuple[int, ...]:
        """The shape `[m, k, d]` of the points at one source state, without computing them."""
        return eqx.filter_eval_shape(self.atoms, source_state, key).points.shape
