"""Whether a method still learns on a problem, and how far its seeds should go on.

A method has *settled* when from one mark to the next the mean error over seeds has fallen by less
than a twentieth, on both banks. More seconds then tell nothing new, and are better spent elsewhere.
"""

from typing import Any

import numpy as np
from _record import MARKS, mark

ERRORS = ("W1 / Dirac", "random bank")
LEAST_GAIN = 0.05


def settled(rows: list[dict[str, Any]]) -> bool:
    """From the rows of one method on one problem: those of its last mark and of the one before."""
    last = last_mark(rows)
    before = max((one for one in MARKS if one < last), default=0)
    of_seed = {(row["seed"], mark(row["seconds"])): row for row in rows}
    both = [seed for seed, at in of_seed if at == last and (seed, before) in of_seed]
    if not both:
        return False

    def mean(column: str, at: int) -> float:
        return float(np.mean([of_seed[seed, at][column] for seed in both]))

    return all(mean(one, last) > (1 - LEAST_GAIN) * mean(one, before) for one in ERRORS)


def goes_on_to(rows: list[dict[str, Any]]) -> int:
    """The mark that every seed should reach: the next one while there is a gain, else the last."""
    last = last_mark(rows)
    if settled(rows):
        return last
    return min((one for one in MARKS if one > last), default=last)


def last_mark(rows: list[dict[str, Any]]) -> int:
    """The last mark of any seed."""
    return max((mark(row["seconds"]) for row in rows), default=0)
