"""Exact moments and bounds of the return of a reward vector, by linear solves."""

import math

import numpy as np
from jaxtyping import Float64

from daleth._typing import ArrayLike
from daleth.tabular._inputs import reward_vector
from daleth.tabular.chain import MarkovChain


def expected_returns(chain: MarkovChain, reward: ArrayLike) -> Float64[np.ndarray, "n"]:
    r"""The value function $V = (I - \gamma P)^{-1} r$ (equation 2 of the paper).

    Example:
        >>> chain = MarkovChain([[0.0, 1.0], [0.0, 1.0]], gamma=0.5)
        >>> print(expected_returns(chain, [0.0, 1.0]))
        [1. 2.]
    """
    reward = reward_vector(reward, chain.num_states)
    return np.linalg.solve(np.eye(chain.num_states) - chain.gamma * chain.P, reward)


def return_variances(chain: MarkovChain, reward: ArrayLike) -> Float64[np.ndarray, "n"]:
    r"""The variances of the return, $v = (I - \gamma^2 P)^{-1} \gamma^2 u$.

    Here $u(x) = \mathrm{Var}\, V(X')$ is the variance of the value of the next state: the law of
    total variance gives $v(x) = \gamma^2 (E\, v(X') + \mathrm{Var}\, V(X'))$.
    """
    values = expected_returns(chain, reward)
    surprise = np.sum(chain.P * (values[None, :] - (chain.P @ values)[:, None]) ** 2, axis=1)
    squared = chain.gamma**2
    return np.linalg.solve(np.eye(chain.num_states) - squared * chain.P, squared * surprise)


def return_bounds(
    chain: MarkovChain, reward: ArrayLike
) -> tuple[Float64[np.ndarray, "n"], Float64[np.ndarray, "n"]]:
    r"""The smallest and the largest return that can happen from each state.

    $$ b(x) = r(x) + \gamma \max_{x' : P(x' \mid x) > 0} b(x') $$

    and the same with the minimum, solved by policy iteration over the choice of successors.
    """
    reward = reward_vector(reward, chain.num_states)
    return -_largest_returns(chain, -reward), _largest_returns(chain, reward)


def central_moments(
    chain: MarkovChain, reward: np.ndarray, centres: np.ndarray, order: int
) -> Float64[np.ndarray, "order_plus_1 n"]:
    r"""$\mu_j(x) = E (G_x - c_x)^j$ for $j$ up to `order`.

    From $G_x - c_x = d + \gamma (G_{X'} - c_{X'})$ with $d = r(x) - c_x + \gamma c_{X'}$, each
    order is a linear solve given the lower ones:

    $$ (I - \gamma^j P) \mu_j = \sum_{i<j} \binom{j}{i} \gamma^i\, E\, d^{j-i} \mu_i(X') $$
    """
    gamma, identity = chain.gamma, np.eye(chain.num_states)
    step = (reward - centres)[:, None] + gamma * centres[None, :]
    moments: list[np.ndarray] = [np.ones(chain.num_states)]
    for j in range(1, order + 1):
        known = sum(
            math.comb(j, i) * gamma**i * (chain.P * step ** (j - i)) @ moments[i] for i in range(j)
        )
        moments.append(np.linalg.solve(identity - gamma**j * chain.P, known))
    return np.stack(moments)


def _largest_returns(chain: MarkovChain, reward: np.ndarray) -> np.ndarray:
    identity = np.eye(chain.num_states)
    possible = np.where(chain.P > 0, 0.0, -np.inf)
    choice = chain.P.argmax(axis=1)
    while True:
        bounds = np.linalg.solve(identity - chain.gamma * identity[choice], reward)
        offers = possible + bounds[None, :]
        gain = offers.max(axis=1) - bounds[choice]
        # Gains within rounding could swap equal successors for ever.
        if gain.max() <= 1e-13 * np.abs(bounds).max():
            return bounds
        choice = np.where(gain > 0, offers.argmax(axis=1), choice)
