"""The random occupancy measure: many realised occupancies at once."""

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Float64, PRNGKeyArray

from daleth import _checks
from daleth.returns import ReturnDistribution
from daleth.tabular._inputs import reward_vectors, state_index
from daleth.tabular.chain import MarkovChain
from daleth.targets import horizon

# Trajectories walked side by side: few enough that a step stays in the processor's cache.
_CHUNK = 1 << 14


class SampledOccupancies(eqx.Module):
    """Realised occupancies of one source state: equally likely draws from its DSM.

    Attributes:
        occupancies: one probability vector over states per trajectory, `[N, n]`.
        truncation_error: no occupancy is further than this, in total variation, from that of the
            infinite trajectory.
        gamma: the discount factor.
    """

    occupancies: Float64[np.ndarray, "N n"]
    truncation_error: float
    gamma: float = eqx.field(static=True)

    def returns(self, reward: object) -> ReturnDistribution:
        r"""Simulated returns $(1-\gamma)^{-1} \sum_y M(y)\, r(y)$ of a reward vector.

        Args:
            reward: one number per state, `[n]`, or several such vectors, `[R, n]`.
        """
        vectors = reward_vectors(reward, self.occupancies.shape[1])
        return ReturnDistribution(vectors @ self.occupancies.T / (1 - self.gamma))

    def mean(self) -> Float64[np.ndarray, "n"]:
        """The Monte Carlo estimate of the successor measure of the source state."""
        return self.occupancies.mean(axis=0)


def sample_occupancies(
    chain: MarkovChain,
    source_state: object,
    num_samples: int,
    key: PRNGKeyArray,
    tolerance: float = 1e-6,
) -> SampledOccupancies:
    r"""Draws of the random occupancy measure (definition 3.1 of the paper) from one state.

    $$ M = \sum_{t < T} (1-\gamma) \gamma^t \delta_{X_t} + \gamma^T \delta_{X_{T-1}}, \; X_0 = x $$

    with the smallest $T$ such that $\gamma^T$ is at most the tolerance. The mass that is left goes
    to the last state reached, so each draw is a probability vector and its total variation
    distance from the infinite sum is at most $\gamma^T$.

    Args:
        chain: the chain to walk.
        source_state: where every trajectory starts.
        num_samples: the number `N` of trajectories.
        key: fixes the draws.
        tolerance: the largest admissible truncation error.

    Returns:
        `N` occupancies `[N, n]` and their truncation error.

    Example:
        >>> chain = MarkovChain([[0.5, 0.5], [0.0, 1.0]], gamma=0.5)
        >>> draws = sample_occupancies(chain, 0, 1000, jax.random.key(0))
        >>> draws.occupancies.shape, bool(draws.truncation_error <= 1e-6)
        ((1000, 2), True)
    """
    source = state_index("source_state", source_state, chain.num_states)
    num_samples = _checks.count("num_samples", num_samples)
    num_steps = horizon(chain.gamma, tolerance)
    generator = np.random.default_rng(np.asarray(jax.random.key_data(key)))
    occupancies = np.zeros((num_samples, chain.num_states))
    table = _transition_table(chain.P)
    for start in range(0, num_samples, _CHUNK):
        rows = occupancies[start : start + _CHUNK]
        _walk(rows, source, num_steps, chain.gamma, table, generator)
    return SampledOccupancies(occupancies, chain.gamma**num_steps, chain.gamma)


def _transition_table(P: np.ndarray) -> np.ndarray:
    """Row x holds x plus its cumulative probabilities, so that one sorted search serves all rows.

    From the last possible successor on a row is exactly x + 1: rounding must not open a way to
    states of probability 0.
    """
    num_states = len(P)
    cumulative = np.cumsum(P, axis=1)
    last = num_states - 1 - np.argmax(P[:, ::-1] > 0, axis=1)
    cumulative[np.arange(num_states) >= last[:, None]] = 1
    return (np.arange(num_states)[:, None] + np.minimum(cumulative, 1)).ravel()


def _walk(rows, source, num_steps, gamma, table, generator) -> None:
    """Adds the occupancies of independent trajectories into `rows` `[N, n]`."""
    num, num_states = rows.shape
    flat = rows.reshape(-1)
    row_starts = np.arange(num) * num_states
    states = np.full(num, source)
    for step in range(num_steps):
        mass = (1 - gamma) * gamma**step if step < num_steps - 1 else gamma**step
        flat[row_starts + states] += mass
        if step < num_steps - 1:
            # Below 1 by more than the rounding of a state index plus a uniform number.
            uniform = generator.random(num) * (1 - 1e-12)
            states = np.searchsorted(table, states + uniform, side="right") - num_states * states
