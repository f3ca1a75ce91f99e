"""State measures: weighted points, and the zero-shot map from a reward to its returns."""

from collections.abc import Iterator, Sequence
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from daleth import _batches, _checks
from daleth._typing import ArrayLike, Real, Reward
from daleth.returns import ReturnDistribution
from daleth.rewards import reward_values, values_on_host


class StateMeasures(eqx.Module):
    r"""`m` probability measures over states, each a set of weighted points, with atom weights.

    At one source state this is a distributional successor measure in finite form (section 4.1
    of the paper, with general weights),

    $$ \daleth(x) = \sum_i p_i \delta_{\theta_i}, \qquad \theta_i = \sum_k w_{ik} \delta_{y_{ik}} $$

    Samples of a generator, particles, an n-step bootstrapped target, a realised trajectory and a
    tabular occupancy are all of this form. Weights default to equal ones.

    Attributes:
        points: the points `y`, `[*batch, m, k, d]`.
        point_weights: the weights `w`, `[*batch, m, k]`, summing to 1 over `k`.
        atom_weights: the weights `p`, `[*batch, m]`, summing to 1 over `m`.
    """

    points: Float[Array, "*batch m k d"]
    point_weights: Float[Array, "*batch m k"]
    atom_weights: Float[Array, "*batch m"]

    def __init__(
        self,
        points: ArrayLike,
        point_weights: ArrayLike | None = None,
        atom_weights: ArrayLike | None = None,
    ):
        self.points = _as_points(points)
        shape = self.points.shape
        self.point_weights = _checks.weights("point_weights", point_weights, shape[:-1])
        self.atom_weights = _checks.weights("atom_weights", atom_weights, shape[:-2])

    @property
    def num_atoms(self) -> int:
        """The number `m` of measures."""
        return self.points.shape[-3]

    @property
    def batch_shape(self) -> tuple[int, ...]:
        """The axes in front of the atoms."""
        return self.points.shape[:-3]

    def expectations(self, reward: Reward) -> Float[Array, "*batch m"]:
        r"""$E_{Y \sim \theta_i} r(Y) = \sum_k w_{ik} r(y_{ik})$ for each atom."""
        return jnp.asarray(self._expectations([reward])[0])

    def returns(self, reward: Reward | Sequence[Reward], gamma: Real) -> ReturnDistribution:
        r"""The return distribution of a reward (equation 4 of the paper), with no learning.

        $$ G_i = (1-\gamma)^{-1} \sum_k w_{ik}\, r(y_{ik}) $$

        Args:
            reward: a vectorised function of states `[..., d] -> [...]`; or a sequence of `R` of
                them, which puts an axis of length `R` in front.
            gamma: the discount factor under which the measures were formed.

        Returns:
            Returns with batch shape `[*batch]` or `[R, *batch]`.

        Example:
            >>> measures = StateMeasures([[[0.0], [1.0]], [[1.0], [1.0]]])
            >>> measures.returns(lambda x: x[..., 0], gamma=0.5).atoms
            Array([1., 2.], dtype=float32)
        """
        gamma = _checks.discount(gamma)
        rewards = [reward] if callable(reward) else reward
        if not isinstance(rewards, Sequence) or not rewards:
            raise ValueError("reward must be a function or a non-empty sequence of functions")
        atoms = self._expectations(rewards) / (1 - gamma)
        if callable(reward):
            return ReturnDistribution(atoms[0], self.atom_weights)
        return ReturnDistribution(atoms, jnp.broadcast_to(self.atom_weights, atoms.shape))

    def _expectations(
        self, rewards: Sequence[Reward]
    ) -> Float[Array | np.ndarray, "rewards *batch m"]:
        """Rewards are Python functions: with numbers at hand NumPy answers them soonest."""
        if _checks.is_traced(self.points, self.point_weights):
            values = jnp.stack([reward_values(reward, self.points) for reward in rewards])
            return jnp.sum(self.point_weights * values, axis=-1)
        points, weights = np.asarray(self.points), np.asarray(self.point_weights)
        flat = points.reshape(-1, points.shape[-1])
        out = np.empty((len(rewards), *weights.shape[:-1]), points.dtype)
        for row, reward in zip(out, rewards, strict=True):
            values = values_on_host(reward, flat).reshape(weights.shape)
            np.einsum("...k,...k->...", weights, values, out=row, casting="same_kind")
        return out

    def mean(self) -> "StateMeasures":
        r"""The successor measure $\sum_i p_i \theta_i$, as one atom of `m k` points."""
        *batch, m, k, d = self.points.shape
        weights = self.atom_weights[..., None] * self.point_weights
        return StateMeasures(
            self.points.reshape(*batch, 1, m * k, d), weights.reshape(*batch, 1, m * k)
        )

    def after(self, state: Float[Array, "*batch d"], gamma: Real) -> "StateMeasures":
        r"""$(1-\gamma) \delta_x + \gamma \theta_i$: measures of futures behind a state $x$.

        Example:
            >>> StateMeasures([[[1.0], [2.0]]]).after(jnp.zeros(1), gamma=0.5).point_weights
            Array([[0.5 , 0.25, 0.25]], dtype=float32)
        """
        gamma = _checks.discount(gamma)
        first = jnp.broadcast_to(
            state[..., None, None, :], (*self.points.shape[:-2], 1, state.shape[-1])
        )
        weight = jnp.full((*self.points.shape[:-2], 1), 1 - gamma)
        return StateMeasures(
            jnp.concatenate([first, self.points], axis=-2),
            jnp.concatenate([weight, gamma * self.point_weights], axis=-1),
            self.atom_weights,
        )

    def __getitem__(self, index: Any) -> "StateMeasures":
        """Picks along the batch axes."""
        return _batches.pick(self, self.batch_shape, index)

    def __iter__(self) -> Iterator["StateMeasures"]:
        """One element after another along the first batch axis."""
        return _batches.iterate(self, self.batch_shape)


def _as_points(points: ArrayLike) -> Array:
    array = _checks.singles("points", points)
    if array.ndim < 3:
        raise ValueError(f"points must have shape [..., m, k, d], got shape {array.shape}")
    return array
