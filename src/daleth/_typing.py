"""Types of what a user may hand in: for type checkers and readers; at run time our checks decide.

Executed annotations would answer bad input before the sentence in `daleth._checks` could.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Literal, TypeAlias

    from jax import Array
    from numpy.typing import ArrayLike as NumpyArrayLike

    ArrayLike: TypeAlias = NumpyArrayLike | Array
    Count: TypeAlias = int
    Real: TypeAlias = float
    Reward: TypeAlias = Callable[[Any], Any]
    Tail: TypeAlias = Literal["lower", "upper"]
else:
    ArrayLike = Count = Real = Reward = Tail = Any
