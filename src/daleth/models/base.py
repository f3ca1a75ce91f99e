"""What a model is: anything that maps a source state to `m` state measures."""

import abc
import math
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Key, PRNGKeyArray, UInt8

from daleth import _checks
from daleth._typing import ArrayLike, Reward
from daleth.measures import StateMeasures
from daleth.returns import ReturnDistribution
from daleth.smoothing import smooth_returns

if TYPE_CHECKING:
    from daleth.data import Trajectories
    from daleth.evaluation.report import Diagnosis
    from daleth.models.learner import Learner
else:
    # Learners make models, and reports judge them: the imports would go round in a circle.
    Learner = Trajectories = Diagnosis = Any

_CHUNK_NUMBERS = 2**25  # a chunk of source states holds at most so many numbers: 128 MiB


class Origin(eqx.Module):
    """Where a learned model comes from.

    Attributes:
        learner: the algorithm with its hyperparameters.
        fingerprint: a hash of the data, `[16]`; an array, so that models of different data share
            compiled functions.
    """

    learner: Learner
    fingerprint: UInt8[Array, "16"]

    @property
    def data_fingerprint(self) -> str:
        """The hash of the data in hexadecimal."""
        return np.asarray(self.fingerprint).tobytes().hex()


class Futures(eqx.Module):
    """What a model says about one source state, or about many: ask it any number of rewards.

    Attributes:
        measures: the atoms, with batch shape `[*batch]`.
        gamma: the discount factor under which they were formed.
        neighbours: the atoms that are most like each atom, if returns are to be evened out.
    """

    measures: StateMeasures
    gamma: float = eqx.field(static=True)
    neighbours: Int[Array, "*batch m n"] | None = None

    def __check_init__(self) -> None:
        weights = self.measures.atom_weights
        if self.neighbours is None or _checks.is_traced(weights):
            return
        if np.ptp(np.asarray(weights), axis=-1).max() > 1e-6:
            raise ValueError("atoms must be equally likely for their returns to be evened out")

    def returns(self, reward: Reward | Sequence[Reward]) -> ReturnDistribution:
        """The return distribution of a reward, `[*batch]`, or of a sequence, `[R, *batch]`.

        With neighbours they are evened out (`daleth.smoothing`); `measures.returns` does not do so.
        """
        found = self.measures.returns(reward, self.gamma)
        if self.neighbours is None:
            return found
        even = smooth_returns(found.atoms, self.neighbours)
        return eqx.tree_at(lambda law: law.atoms, found, jnp.asarray(even))


class Model(eqx.Module):
    r"""A distributional successor measure $x \mapsto \sum_i p_i(x) \delta_{\theta_i(x)}$.

    Every method, learned or not, answers `atoms`; everything else is written once, here.
    """

    gamma: eqx.AbstractVar[float]
    """The discount factor under which the measures were formed."""
    state_dim: eqx.AbstractVar[int]
    """The number of components of a state."""
    origin: Origin | None = eqx.field(default=None, kw_only=True)
    """Set by `daleth.fit`: the learner and the data behind a learned model."""

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

        If the model knows neighbours of atoms, returns are evened out: see `daleth.smoothing`.

        Args:
            reward: a vectorised function of states `[..., d] -> [...]`, or a sequence of `R`.
            source_state: one state `[d]`, or many `[*batch, d]`.
            key: for models that sample; the same key gives the same answer.

        Returns:
            Returns with batch shape `[*batch]`, or `[R, *batch]` for a sequence of rewards.
        """
        batch, flat, keys = self._sources(source_state, key)
        rows = 1 if len(flat) == 1 else max(1, _CHUNK_NUMBERS // self.numbers_per_source())
        parts = [
            self._futures(self.batch_atoms(flat[i : i + rows], keys[i : i + rows])).returns(reward)
            for i in range(0, len(flat), rows)
        ]
        joined = jax.tree.map(lambda *leaves: jnp.concatenate(leaves, axis=-2), *parts)
        lead = joined.batch_shape[:-1]
        return jax.tree.map(lambda leaf: leaf.reshape(*lead, *batch, leaf.shape[-1]), joined)

    def at(self, source_state: ArrayLike, *, key: PRNGKeyArray | None = None) -> Futures:
        """The atoms at a source state, kept at hand: a further reward then costs a millisecond.

        `at(x).returns(reward)` is `returns(reward, x)`, unless a model answers rewards without its
        atoms and says so. The atoms of all source states are held in memory at once.

        Args:
            source_state: one state `[d]`, or many `[*batch, d]`.
            key: for models that sample.
        """
        batch, flat, keys = self._sources(source_state, key)
        measures = self.batch_atoms(flat, keys)
        return self._futures(
            jax.tree.map(lambda leaf: leaf.reshape(*batch, *leaf.shape[1:]), measures)
        )

    def neighbours(self, measures: StateMeasures) -> Int[Array, "*batch m n"] | None:
        """The atoms that are most like each atom, if their returns are to be evened out.

        That is for atoms which are equally likely and placed together, like quantiles. There is
        nothing to even out between independent draws.
        """
        del measures

    def _futures(self, measures: StateMeasures) -> Futures:
        return Futures(measures, self.gamma, self.neighbours(measures))

    @eqx.filter_jit
    def batch_atoms(
        self, source_states: Float[Array, "b d"], keys: Key[Array, "b"]
    ) -> StateMeasures:
        """The state measures of many source states, one key each, points `[b, m, k, d]`."""
        return jax.vmap(self.atoms)(source_states, keys)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes one safetensors file, atomically; `daleth.load` opens it.

        A learned model needs no code of its own for this, see `daleth.models.storage`.
        """
        from daleth.models.storage import save

        save(self, path)

    def diagnose(self, heldout: Trajectories, **settings: Any) -> Diagnosis:
        """Whether to believe this model, by what followed in held-out trajectories.

        Settings are those of `daleth.evaluation.diagnose`.
        """
        from daleth.evaluation.diagnosis import diagnose

        return diagnose(self, heldout, **settings)

    def _sources(
        self, source_state: ArrayLike, key: PRNGKeyArray | None
    ) -> tuple[tuple[int, ...], Float[Array, "n d"], Key[Array, "n"]]:
        """The batch shape, the source states in a row, and a key for each."""
        sources = _checks.singles("source_state", source_state)
        if sources.ndim == 0 or sources.shape[-1] != self.state_dim:
            raise ValueError(
                f"source_state must have {self.state_dim} components on its last axis, "
                f"got shape {sources.shape}"
            )
        key = jax.random.key(0) if key is None else key
        flat = sources.reshape(-1, self.state_dim)
        return sources.shape[:-1], flat, jax.random.split(key, len(flat))

    def numbers_per_source(self) -> int:
        """How many numbers one source state needs: many are answered in chunks that fit memory."""
        state = jax.ShapeDtypeStruct((self.state_dim,), jnp.float32)
        measures = eqx.filter_eval_shape(self.atoms, state, jax.random.key(0))
        return math.prod(measures.points.shape)
