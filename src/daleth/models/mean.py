"""The Dirac at the mean: all that a successor measure knows."""

from collections.abc import Sequence

import equinox as eqx
from jaxtyping import Array, Float, Key, PRNGKeyArray

from daleth._typing import ArrayLike, Reward
from daleth.measures import StateMeasures
from daleth.models.base import Model
from daleth.returns import ReturnDistribution


class DiracAtMean(Model):
    r"""One atom, the successor measure $\sum_i p_i \theta_i$ of another model.

    Its return distributions are Diracs at that model's mean returns: the ceiling that every
    distributional model must stay below.
    """

    model: Model
    gamma: float = eqx.field(static=True)
    state_dim: int = eqx.field(static=True)

    def __init__(self, model: Model):
        self.model, self.gamma, self.state_dim = model, model.gamma, model.state_dim

    def returns(
        self,
        reward: Reward | Sequence[Reward],
        source_state: ArrayLike,
        *,
        key: PRNGKeyArray | None = None,
    ) -> ReturnDistribution:
        """Diracs at the means of the model's own answers, with whatever they are made."""
        return self.model.returns(reward, source_state, key=key).dirac_at_mean()

    def atoms(self, source_state: Float[Array, "d"], key: PRNGKeyArray) -> StateMeasures:
        """Points `[1, m k, d]`."""
        return self.model.atoms(source_state, key).mean()

    def batch_atoms(
        self, source_states: Float[Array, "b d"], keys: Key[Array, "b"]
    ) -> StateMeasures:
        """Points `[b, 1, m k, d]`."""
        return self.model.batch_atoms(source_states, keys).mean()

    def numbers_per_source(self) -> int:
        """Those of the model."""
        return self.model.numbers_per_source()
