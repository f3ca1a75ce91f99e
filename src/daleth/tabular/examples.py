"""Named chains: the finite examples of the paper."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64

from daleth import _checks
from daleth._typing import ArrayLike
from daleth.tabular.chain import MarkovChain


def three_state_chain() -> MarkovChain:
    """The three-state chain of appendix C.1, with a discount factor of 0.7.

    The last entry of its matrix is printed as 1.3; rows sum to 1 with 1/3.
    """
    return MarkovChain([[1 / 2, 1 / 2, 0], [0, 0, 1], [1 / 3, 1 / 3, 1 / 3]], gamma=0.7)


def sierpinski_chain() -> MarkovChain:
    r"""Three states, each equally likely next, with a discount factor of 1/2 (appendix C.1).

    Its DSM is a law on a Sierpiński triangle: neither discrete nor with a density.
    """
    return MarkovChain(np.full((3, 3), 1 / 3), gamma=0.5)


@dataclass(frozen=True, eq=False)
class TMaze:
    """A T-maze under a fixed policy (figure 1 of the paper).

    Attributes:
        chain: the walk; states on the way back are others than those on the way up.
        cells: the grid cell `(column, row)` of each state, `[n, 2]`; the fork is at column 0.
        start: the state at the foot of the stem.
        names: what each state is.
        reward: a reward of cells, `[n]`: 1 at the end of the right arm, -1 at the end of the left
            one, 0.1 at the foot of the stem. The mean return is positive, while the worst third
            of the futures ends in the trap.
    """

    chain: MarkovChain
    cells: Float64[np.ndarray, "n 2"]
    start: int
    names: tuple[str, ...]
    reward: Float64[np.ndarray, "n"]


def t_maze(gamma: ArrayLike = 0.9, stem: int = 4, arm: int = 3) -> TMaze:
    r"""Up the stem to the fork, then back, right or left with probability 1/6, 1/2, 1/3.

    The walk goes to the end of the way it took and stays there. From the start there are three
    futures, so the DSM has three atoms. Size and rewards are not given in the paper.

    Args:
        gamma: the discount factor.
        stem: cells from the foot to the fork, both included, at least 2.
        arm: cells of each arm.

    Example:
        >>> maze = t_maze()
        >>> maze.chain.num_states, maze.names[maze.start]
        (13, 'stem 0')
    """
    stem, arm = _checks.count("stem", stem, at_least=2), _checks.count("arm", arm)
    ways = {
        "back": ([(0, row) for row in reversed(range(stem - 1))], 1 / 6),
        "right": ([(column, stem - 1) for column in range(1, arm + 1)], 1 / 2),
        "left": ([(-column, stem - 1) for column in range(1, arm + 1)], 1 / 3),
    }
    cells = [(0, row) for row in range(stem)]
    names = [f"stem {row}" for row in range(stem - 1)] + ["fork"]
    moves = {(row, row + 1): 1.0 for row in range(stem - 1)}
    for way, (path, probability) in ways.items():
        first, last = len(cells), len(cells) + len(path) - 1
        moves[stem - 1, first] = probability
        moves |= {(state, state + 1): 1.0 for state in range(first, last)}
        moves[last, last] = 1.0
        cells += path
        names += [f"{way} {step}" for step in range(1, len(path) + 1)]
    P = np.zeros((len(cells), len(cells)))
    for (state, successor), probability in moves.items():
        P[state, successor] = probability
    places = np.array(cells, dtype=float)
    prizes = {(0, 0): 0.1, (arm, stem - 1): 1.0, (-arm, stem - 1): -1.0}
    reward = np.array([prizes.get(cell, 0.0) for cell in cells])
    return TMaze(MarkovChain(P, gamma), places, 0, tuple(names), reward)
