"""Particle form of the distributional successor measure of a finite chain."""

from collections.abc import Sequence

import equinox as eqx
import numpy as np
from jaxtyping import Float64

from daleth import _checks
from daleth._typing import ArrayLike
from daleth.measures import StateMeasures
from daleth.returns import ReturnDistribution
from daleth.tabular._inputs import frozen_probabilities, reward_vectors, state_index


class ParticleDSM(eqx.Module):
    r"""For each state a finite law over occupancies (definition 3.4 of the paper).

    $$ \daleth(x) = \sum_i p_i(x)\, \delta_{\theta_i(x)} $$

    States may have different numbers of particles.

    Attributes:
        occupancies: for each state its occupancies $\theta_i(x)$, `n` arrays `[m_x, n]`.
        weights: for each state their probabilities $p_i(x)$, `n` arrays `[m_x]`.
        gamma: the discount factor under which the occupancies were formed.

    Example:
        >>> dsm = ParticleDSM([[[1.0, 0.0], [0.5, 0.5]], [[0.0, 1.0]]], gamma=0.5)
        >>> print(dsm.mean())
        [[0.75 0.25]
         [0.   1.  ]]
        >>> print(dsm.returns([0.0, 1.0], 0).atoms)
        [0. 1.]
    """

    occupancies: tuple[Float64[np.ndarray, "_ n"], ...]
    weights: tuple[Float64[np.ndarray, " _"], ...]
    gamma: float = eqx.field(static=True)

    def __init__(
        self,
        occupancies: Sequence[ArrayLike] | np.ndarray,
        gamma: ArrayLike,
        weights: Sequence[ArrayLike] | np.ndarray | None = None,
    ):
        num_states = len(occupancies)
        if num_states == 0:
            raise ValueError("occupancies must hold one array [m, n] for each state, got none")
        self.occupancies = tuple(
            _state_occupancies(state, array, num_states) for state, array in enumerate(occupancies)
        )
        if weights is None:
            weights = [np.full(len(array), 1 / len(array)) for array in self.occupancies]
        if len(weights) != num_states:
            raise ValueError(
                f"weights must hold one array for each of the {num_states} states, "
                f"got {len(weights)}"
            )
        self.weights = tuple(
            _state_weights(state, array, len(self.occupancies[state]))
            for state, array in enumerate(weights)
        )
        self.gamma = _checks.discount(gamma)

    @property
    def num_states(self) -> int:
        """The number `n` of states."""
        return len(self.occupancies)

    @property
    def num_particles(self) -> tuple[int, ...]:
        """The number `m_x` of particles of each state."""
        return tuple(len(weights) for weights in self.weights)

    def measures(self, source_state: object, points: ArrayLike | None = None) -> StateMeasures:
        """The occupancies of one state as weighted points, on which rewards are functions.

        Args:
            source_state: the index of a state.
            points: where each state lies, `[n, d]`, for example its cell in a grid. By default the
                index of the state, `[n, 1]`, so a reward vector is
                `lambda y: reward[y[..., 0].astype(int)]`.

        Returns:
            `m_x` atoms of `n` points each, `[m_x, n, d]`, in float32.
        """
        state = state_index("source_state", source_state, self.num_states)
        if points is None:
            points = np.arange(self.num_states, dtype=float)[:, None]
        places = _checks.finite("points", points, rank=2)
        if len(places) != self.num_states:
            raise ValueError(
                f"points must have one row for each of the {self.num_states} states, "
                f"got shape {places.shape}"
            )
        occupancies = self.occupancies[state]
        repeated = np.broadcast_to(places, (len(occupancies), *places.shape))
        return StateMeasures(repeated, occupancies, self.weights[state])

    def returns(self, reward: ArrayLike, source_state: object) -> ReturnDistribution:
        r"""The return distribution of a reward vector (equation 4 of the paper).

        $$ G_i = (1-\gamma)^{-1} \sum_y \theta_i(y)\, r(y) $$

        Args:
            reward: one number per state, `[n]`, or several such vectors, `[R, n]`.
            source_state: the index of a state.

        Returns:
            Returns with batch shape `[]` or `[R]`.
        """
        state = state_index("source_state", source_state, self.num_states)
        vectors = reward_vectors(reward, self.num_states)
        atoms = vectors @ self.occupancies[state].T / (1 - self.gamma)
        return ReturnDistribution(atoms, self.weights[state])

    def mean(self) -> Float64[np.ndarray, "n n"]:
        r"""The successor measure $\sum_i p_i(x)\, \theta_i(x)$ of each state."""
        return np.stack(
            [w @ theta for w, theta in zip(self.weights, self.occupancies, strict=True)]
        )


def _state_occupancies(state: int, array: object, num_states: int) -> np.ndarray:
    name = f"occupancies of state {state}"
    checked = _checks.probabilities(name, array, rank=2)
    if checked.shape[1] != num_states:
        raise ValueError(f"{name} must have shape [m, {num_states}], got {checked.shape}")
    return frozen_probabilities(checked)


def _state_weights(state: int, array: object, num_particles: int) -> np.ndarray:
    name = f"weights of state {state}"
    checked = _checks.probabilities(name, array, rank=1)
    if len(checked) != num_particles:
        raise ValueError(
            f"{name} must be {num_particles} numbers, one per occupancy, got {len(checked)}"
        )
    return frozen_probabilities(checked)
