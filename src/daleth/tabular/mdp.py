"""Finite Markov decision processes: a policy turns one into a chain."""

import equinox as eqx
import numpy as np
from jaxtyping import Float64

from daleth import _checks
from daleth._typing import ArrayLike
from daleth.tabular._inputs import frozen_probabilities
from daleth.tabular.chain import MarkovChain


class TabularMDP(eqx.Module):
    r"""Transition probabilities of every action, without rewards.

    Attributes:
        P: `P[x, a, x']` is $p(x' \mid x, a)$, `[n, a, n]`, read-only float64.
        gamma: the discount factor, $0 \le \gamma < 1$.

    Example:
        >>> stay, swap = [[1.0, 0.0], [0.0, 1.0]], [[0.0, 1.0], [1.0, 0.0]]
        >>> mdp = TabularMDP(np.stack([stay, swap], axis=1), gamma=0.9)
        >>> print(mdp.chain([[0.25, 0.75], [1.0, 0.0]]).P)
        [[0.25 0.75]
         [0.   1.  ]]
    """

    P: Float64[np.ndarray, "n a n"]
    gamma: float = eqx.field(static=True)

    def __init__(self, P: ArrayLike, gamma: ArrayLike):
        tensor = _checks.finite("P", P, rank=3)
        if tensor.shape[0] != tensor.shape[2]:
            raise ValueError(f"P must have shape [states, actions, states], got {tensor.shape}")
        self.P = frozen_probabilities(_checks.probabilities("P", tensor))
        self.gamma = _checks.discount(gamma)

    @property
    def num_states(self) -> int:
        """The number `n` of states."""
        return self.P.shape[0]

    @property
    def num_actions(self) -> int:
        """The number `a` of actions."""
        return self.P.shape[1]

    def chain(self, policy: ArrayLike) -> MarkovChain:
        r"""The chain of a policy, $P^\pi(x' \mid x) = \sum_a \pi(a \mid x)\, p(x' \mid x, a)$.

        Args:
            policy: probabilities of the actions in each state, `[n, a]`.
        """
        policy = _checks.probabilities("policy", policy, rank=2)
        expected = (self.num_states, self.num_actions)
        if policy.shape != expected:
            raise ValueError(
                f"policy must have shape [states, actions] = {expected}, got {policy.shape}"
            )
        return MarkovChain(np.einsum("xa,xay->xy", policy, self.P), self.gamma)
