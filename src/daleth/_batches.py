"""Picking from batches with NumPy's rules: JAX would clamp an index that is out of range."""

import math
from collections.abc import Iterator
from typing import Any, TypeVar

import jax
import numpy as np

T = TypeVar("T")


def pick(tree: T, batch_shape: tuple[int, ...], index: Any) -> T:
    """The rows of a PyTree that an index picks along its batch axes."""
    if not batch_shape:
        raise IndexError("there is no batch axis to index")
    rows = np.arange(math.prod(batch_shape)).reshape(batch_shape)[index]
    rank = len(batch_shape)
    return jax.tree.map(lambda leaf: leaf.reshape(-1, *leaf.shape[rank:])[rows], tree)


def iterate(tree: T, batch_shape: tuple[int, ...]) -> Iterator[T]:
    """The elements along the first batch axis."""
    if not batch_shape:
        raise TypeError("there is no batch axis to iterate over")
    return (pick(tree, batch_shape, index) for index in range(batch_shape[0]))
