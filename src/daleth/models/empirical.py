"""The nearest realised trajectories: the baseline that needs no training."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from daleth import _checks
from daleth._typing import Count, Real
from daleth.data import Normalisation, Trajectories
from daleth.measures import StateMeasures
from daleth.models.base import Model
from daleth.targets import horizon, target_weights


class EmpiricalModel(Model):
    r"""The futures that followed the `num_atoms` nearest states in the data.

    An atom is the realised occupancy of one trajectory from its state nearest to the source, in
    normalised units; each episode gives at most one atom, so that atoms are independent. Where an
    episode was cut off after $K$ steps, the unseen mass $\gamma^K$ is spread over what was seen;
    states with more unseen mass than `max_unseen_mass` are not used. After a termination the
    absorbing state keeps the mass, and nothing is unseen.

    Exact in the limit of much data near the source; a serious baseline in few dimensions.
    """

    gamma: float = eqx.field(static=True)
    num_atoms: int = eqx.field(static=True)
    num_steps: int = eqx.field(static=True)
    state_dim: int = eqx.field(static=True)
    normalisation: Normalisation
    states: Float[Array, "n d"]
    episode: Int[Array, "n"]
    last: Int[Array, "e"]
    terminated: Bool[Array, "e"]
    usable: Bool[Array, "n"]

    def __init__(
        self,
        data: Any,
        gamma: Real,
        num_atoms: Count = 51,
        max_unseen_mass: Real = 0.05,
    ):
        _checks.instance("data", data, Trajectories, "Trajectories")
        self.gamma = _checks.discount(gamma)
        self.num_atoms = _checks.count("num_atoms", num_atoms)
        max_unseen_mass = _checks.fraction("max_unseen_mass", max_unseen_mass)
        self.num_steps = min(horizon(self.gamma), int(data.lengths.max()) - 1)
        self.state_dim = data.state_dim
        self.normalisation = data.normalisation()
        self.states = jnp.asarray(data.states)
        episode = np.repeat(np.arange(data.num_episodes), data.lengths)
        last = data.offsets[1:] - 1
        steps_left = last[episode] - np.arange(data.num_frames)
        long_enough = steps_left >= horizon(self.gamma, max_unseen_mass)
        usable = long_enough | data.terminated[episode]
        self.episode, self.last = jnp.asarray(episode), jnp.asarray(last)
        self.terminated, self.usable = jnp.asarray(data.terminated), jnp.asarray(usable)
        num_usable = len(np.unique(episode[usable]))
        if num_usable < self.num_atoms:
            raise ValueError(
                f"num_atoms must not exceed the {num_usable} episodes that show at least "
                f"{1 - max_unseen_mass:.0%} of the discounted future, got {self.num_atoms}; "
                "collect longer episodes, use a smaller gamma or allow more max_unseen_mass"
            )

    def atoms(self, source_state: Float[Array, "d"], key: PRNGKeyArray) -> StateMeasures:
        """Points `[num_atoms, num_steps + 1, d]`; the key is not used."""
        starts = self.nearest(source_state)
        return StateMeasures(*jax.vmap(self._future)(starts))

    def nearest(self, source_state: Float[Array, "d"]) -> Int[Array, "m"]:
        """The rows of the nearest usable states, at most one in each episode."""
        scaled = (self.states - source_state) / self.normalisation.scale
        distance = jnp.where(self.usable, jnp.sum(scaled**2, axis=-1), jnp.inf)
        num_episodes = len(self.last)
        closest = jax.ops.segment_min(distance, self.episode, num_episodes, indices_are_sorted=True)
        _, chosen = jax.lax.top_k(-closest, self.num_atoms)
        rows = jnp.where(
            distance == closest[self.episode], jnp.arange(len(distance)), len(distance)
        )
        first = jax.ops.segment_min(rows, self.episode, num_episodes, indices_are_sorted=True)
        return first[chosen]

    def _future(self, start: Int[Array, ""]) -> tuple[Float[Array, "k d"], Float[Array, "k"]]:
        episode = self.episode[start]
        length = jnp.minimum(self.last[episode] - start, self.num_steps)
        ended = self.terminated[episode] & (start + length == self.last[episode])
        weights = target_weights(length, ended, self.num_steps, self.gamma).direct
        rows = jnp.minimum(start + jnp.arange(self.num_steps + 1), self.last[episode])
        return self.states[rows], weights / weights.sum()

    def numbers_per_source(self) -> int:
        """The points, or what the search for the nearest states needs."""
        points = self.num_atoms * (self.num_steps + 1) * self.state_dim
        return max(points, len(self.states) * (self.state_dim + 3))
