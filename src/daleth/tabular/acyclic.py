"""Chains without cycles before absorption: their DSM is finite, and time makes any chain one."""

from graphlib import CycleError, TopologicalSorter

import numpy as np

from daleth import _checks
from daleth.tabular.bellman import back_up
from daleth.tabular.chain import MarkovChain
from daleth.tabular.dsm import ParticleDSM


def exact_dsm(chain: MarkovChain, max_particles: int = 100_000) -> ParticleDSM:
    """The whole DSM of a chain in which no state but an absorbing one is visited twice.

    There are finitely many trajectories, and each is one particle. States are backed up once,
    after all their successors.

    Args:
        chain: a chain without cycles before absorption.
        max_particles: refuse to list more trajectories than this from one state.

    Raises:
        ValueError: if there is a cycle, or there are too many trajectories.

    Example:
        >>> chain = MarkovChain([[0.0, 0.5, 0.5], [0, 1, 0], [0, 0, 1]], gamma=0.5)
        >>> print(exact_dsm(chain).occupancies[0])
        [[0.5 0.  0.5]
         [0.5 0.5 0. ]]
    """
    max_particles = _checks.count("max_particles", max_particles)
    occupancies: dict[int, np.ndarray] = {}
    weights: dict[int, np.ndarray] = {}
    for state in _successors_first(chain):
        if chain.P[state, state] == 1:
            occupancies[state], weights[state] = np.eye(chain.num_states)[[state]], np.ones(1)
            continue
        num_trajectories = sum(len(weights[int(y)]) for y in np.flatnonzero(chain.P[state]))
        if num_trajectories > max_particles:
            raise ValueError(
                f"there are {num_trajectories} trajectories from state {state}, more than "
                f"max_particles = {max_particles}: raise it, or sample occupancies instead"
            )
        occupancies[state], weights[state] = back_up(chain, state, occupancies, weights)
    states = range(chain.num_states)
    return ParticleDSM([occupancies[x] for x in states], chain.gamma, [weights[x] for x in states])


def time_augment(chain: MarkovChain, horizon: int) -> MarkovChain:
    """The same chain with a clock: it visits no state twice and ends after `horizon` steps.

    The state at time `t` is `t * n + x`, for `t` from 0 to `horizon - 1`; the last state, with
    index `horizon * n`, is an absorbing end. A reward per state becomes `horizon` copies of it
    with a 0 behind.

    Args:
        chain: any chain of `n` states.
        horizon: how many states of it are visited.

    Returns:
        A chain of `horizon * n + 1` states.

    Example:
        >>> clocked = time_augment(MarkovChain([[0.5, 0.5], [0.5, 0.5]], gamma=0.9), horizon=3)
        >>> clocked.num_states, exact_dsm(clocked).num_particles[0]
        (7, 4)
    """
    horizon = _checks.count("horizon", horizon)
    n = chain.num_states
    clocked = np.zeros((horizon * n + 1, horizon * n + 1))
    for start in range(0, (horizon - 1) * n, n):
        clocked[start : start + n, start + n : start + 2 * n] = chain.P
    clocked[-1 - n :, -1] = 1
    return MarkovChain(clocked, chain.gamma)


def _successors_first(chain: MarkovChain) -> list[int]:
    absorbing = chain.absorbing()
    successors = {
        x: [] if absorbing[x] else np.flatnonzero(chain.P[x]).tolist()
        for x in range(chain.num_states)
    }
    try:
        return list(TopologicalSorter(successors).static_order())
    except CycleError as error:
        loop = " -> ".join(str(state) for state in reversed(error.args[1]))
        raise ValueError(
            f"the chain must have no cycle before absorption, but {loop} is one: "
            "time_augment(chain, horizon) gives a chain without cycles"
        ) from error
