"""Returns of random rewards, where the DSM is enough to know them (appendix C.2 of the paper)."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from daleth import _checks
from daleth.returns import ReturnDistribution
from daleth.tabular._inputs import state_index
from daleth.tabular.acyclic import exact_dsm
from daleth.tabular.chain import MarkovChain


def stochastic_returns(
    chain: MarkovChain,
    reward_laws: Any,
    source_state: object,
    max_atoms: int = 100_000,
) -> ReturnDistribution:
    r"""The return distribution when the reward of each visit is drawn from a law of the state.

    Occupancies tell how much discounted time is spent in a state, not in how many visits. If a
    state is visited once, at time $t$, its occupancy $\theta(x) = (1-\gamma)\gamma^t$ tells the
    discount of its reward, and given the trajectory

    $$ G = \sum_x \frac{\theta(x)}{1-\gamma} R_x, \qquad R_x \text{ independent} $$

    So this needs a chain without cycles before absorption, and rewards in absorbing states that
    are certain; other chains become such by `time_augment`. All outcomes are listed.

    Args:
        chain: a chain without cycles before absorption.
        reward_laws: the law of the reward of each state, `n` distributions without batch axes.
        source_state: the index of a state.
        max_atoms: refuse to list more outcomes than this.

    Example:
        >>> chain = MarkovChain([[0.0, 1.0, 0.0], [0, 0, 1], [0, 0, 1]], gamma=0.5)
        >>> coin, nothing = ReturnDistribution([-1.0, 1.0]), ReturnDistribution([0.0])
        >>> print(stochastic_returns(chain, [coin, coin, nothing], 0).atoms)
        [-1.5 -0.5  0.5  1.5]
    """
    source = state_index("source_state", source_state, chain.num_states)
    max_atoms = _checks.count("max_atoms", max_atoms)
    laws = _state_laws(chain, reward_laws)
    dsm = exact_dsm(chain, max_particles=max_atoms)
    atoms, weights = [], []
    for occupancy, weight in zip(dsm.occupancies[source], dsm.weights[source], strict=True):
        discounts = occupancy / (1 - chain.gamma)
        outcomes, masses = _weighted_sum(discounts, laws, max_atoms)
        atoms.append(outcomes)
        weights.append(weight * masses)
        _check_size(sum(map(len, atoms)), max_atoms)
    return ReturnDistribution(*_merge_outcomes(np.concatenate(atoms), np.concatenate(weights)))


def _state_laws(chain, reward_laws) -> list[tuple[np.ndarray, np.ndarray]]:
    """The possible rewards of each state and their probabilities, in float64."""
    if not isinstance(reward_laws, Sequence) or len(reward_laws) != chain.num_states:
        raise ValueError(
            f"reward_laws must hold one law for each of the {chain.num_states} states, "
            f"got {reward_laws if not isinstance(reward_laws, Sequence) else len(reward_laws)}"
        )
    absorbing, laws = chain.absorbing(), []
    for state, law in enumerate(reward_laws):
        if not isinstance(law, ReturnDistribution) or law.batch_shape:
            raise ValueError(
                f"the reward law of state {state} must be one ReturnDistribution, got {law!r}"
            )
        atoms = np.asarray(law.atoms, dtype=np.float64)
        weights = np.asarray(law.weights, dtype=np.float64)
        atoms, weights = _merge_outcomes(atoms, weights / weights.sum())
        if absorbing[state] and len(atoms) > 1:
            raise ValueError(
                f"the reward of state {state} must be certain, because the state is absorbing "
                f"and so is visited more than once, got {law!r}"
            )
        laws.append((atoms, weights))
    return laws


def _weighted_sum(factors, laws, max_atoms) -> tuple[np.ndarray, np.ndarray]:
    """The law of the sum of independent variables, each times its factor."""
    total, masses = np.zeros(1), np.ones(1)
    for factor, (atoms, weights) in zip(factors, laws, strict=True):
        if factor > 0:
            _check_size(len(total) * len(atoms), max_atoms)
            total = np.add.outer(total, factor * atoms).ravel()
            masses = np.multiply.outer(masses, weights).ravel()
            total, masses = _merge_outcomes(total, masses)
    return total, masses


def _merge_outcomes(atoms, weights) -> tuple[np.ndarray, np.ndarray]:
    """Outcomes in ascending order, those equal up to rounding joined, impossible ones dropped."""
    held = weights > 0
    order = np.argsort(atoms[held], kind="stable")
    atoms, weights = atoms[held][order], weights[held][order]
    is_new = np.diff(atoms, prepend=-np.inf) > 1e-12 * np.abs(atoms).max()
    starts = np.flatnonzero(is_new)
    return atoms[starts], np.add.reduceat(weights, starts)


def _check_size(size: int, max_atoms: int) -> None:
    if size > max_atoms:
        raise ValueError(
            f"there are {size} outcomes or more, above max_atoms = {max_atoms}: raise it, "
            "shorten the horizon or give the reward laws fewer atoms"
        )
