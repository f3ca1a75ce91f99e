"""Finite Markov chains and their successor measures, in closed form."""

import equinox as eqx
import numpy as np
from jaxtyping import Float64

from daleth import _checks
from daleth._typing import ArrayLike
from daleth.tabular._inputs import frozen_probabilities

# How far below 0 a recovered probability may lie: rounding of a Ψ that was stored in float32.
_RECOVERY_TOLERANCE = 1e-5


class MarkovChain(eqx.Module):
    r"""The states that a fixed policy walks through, and the discount factor.

    Attributes:
        P: transition probabilities, `P[x, x']` is $P(x' \mid x)$, `[n, n]`, read-only float64.
        gamma: the discount factor, $0 \le \gamma < 1$.

    Example:
        >>> chain = MarkovChain([[0.0, 1.0], [0.0, 1.0]], gamma=0.5)
        >>> print(chain.successor_measure())
        [[0.5 0.5]
         [0.  1. ]]
    """

    P: Float64[np.ndarray, "n n"]
    gamma: float = eqx.field(static=True)

    def __init__(self, P: ArrayLike, gamma: ArrayLike):
        matrix = _checks.finite("P", P, rank=2)
        if matrix.shape[0] != matrix.shape[1]:
            raise ValueError(f"P must be square, got shape {matrix.shape}")
        self.P = frozen_probabilities(_checks.probabilities("P", matrix))
        self.gamma = _checks.discount(gamma)

    @property
    def num_states(self) -> int:
        """The number `n` of states."""
        return self.P.shape[0]

    def absorbing(self) -> np.ndarray:
        """Which states are never left, `[n]` of bool."""
        return np.diag(self.P) == 1

    def successor_measure(self) -> Float64[np.ndarray, "n n"]:
        r"""The normalised successor measure (equation 1 of the paper), one row per source state.

        $$ \Psi = \sum_t (1-\gamma) \gamma^t P^t = (1-\gamma) (I - \gamma P)^{-1} $$
        """
        identity = np.eye(self.num_states)
        return np.linalg.solve(identity - self.gamma * self.P, (1 - self.gamma) * identity)

    @classmethod
    def from_successor_measure(cls, psi: ArrayLike, gamma: ArrayLike) -> "MarkovChain":
        r"""The chain that has a given successor measure (appendix F of the paper).

        $$ P = \gamma^{-1} (I - (1-\gamma) \Psi^{-1}) $$

        Hence the successor measure determines the chain, and with it the whole distributional
        successor measure.

        Args:
            psi: a normalised successor measure, `[n, n]`.
            gamma: its discount factor, positive.

        Raises:
            ValueError: if no chain has this successor measure.
        """
        gamma = _checks.discount(gamma)
        psi = _checks.finite("psi", psi, rank=2)
        if psi.shape[0] != psi.shape[1]:
            raise ValueError(f"psi must be square, got shape {psi.shape}")
        if gamma == 0:
            raise ValueError("gamma must be positive: with gamma = 0 every chain has psi = I")
        psi = frozen_probabilities(_checks.probabilities("psi", psi))
        if np.linalg.cond(psi) > 1e12:
            raise ValueError("psi must be invertible to be a successor measure, this one is not")
        matrix = (np.eye(len(psi)) - (1 - gamma) * np.linalg.inv(psi)) / gamma
        if matrix.min() < -_RECOVERY_TOLERANCE:
            source, target = np.unravel_index(matrix.argmin(), matrix.shape)
            raise ValueError(
                f"psi is not a successor measure for gamma = {gamma:g}: it would need "
                f"the probability {matrix.min():.3g} of going from state {source} to {target}"
            )
        return cls(np.maximum(matrix, 0), gamma)
