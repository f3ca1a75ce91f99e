"""Checks of what a user hands in: one clear sentence says what is wrong and what would be right.

Values that are being traced by JAX have no numbers to look at: they pass through unchecked.
"""

import numbers
from collections.abc import Iterable

import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.core import Tracer


def is_traced(*values: object) -> bool:
    """Whether any value is abstract, that is, inside a `jit`, `vmap` or `grad`."""
    return any(isinstance(value, Tracer) for value in values)


def finite(name: str, value: object, *, rank: int | None = None) -> np.ndarray:
    """`value` as a non-empty float array of finite numbers, of the given rank if one is given."""
    wanted = "a real number" if rank == 0 else "an array of real numbers"
    try:
        array = np.asarray(value)
        kind = array.dtype.kind
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must be {wanted}, got {_short(value)}") from error
    if kind not in "fiub":
        raise ValueError(f"{name} must be {wanted}, got {_short(value)}")
    if rank == 0 and array.ndim != 0:
        raise ValueError(f"{name} must be one number, got shape {array.shape}")
    if rank is not None and array.ndim != rank:
        raise ValueError(f"{name} must have {rank} dimension(s), got shape {array.shape}")
    if array.size == 0:
        raise ValueError(f"{name} must not be empty, got shape {array.shape}")
    if kind != "f":
        array = array.astype(float)
    bad = ~np.isfinite(array)
    if bad.any():
        index = tuple(int(i) for i in np.argwhere(bad)[0])
        where = f" at index {index}" if index else ""
        raise ValueError(f"{name} must be finite, got {array[index]}{where}")
    return array


def probabilities(name: str, value: object, *, rank: int | None = None) -> np.ndarray:
    """`value` as an array of non-negative numbers whose last axis sums to 1."""
    array = finite(name, value, rank=rank)
    if array.ndim == 0:
        raise ValueError(f"{name} must be an array of probabilities, got the number {array}")
    if array.min() < 0:
        index = tuple(int(i) for i in np.argwhere(array < 0)[0])
        raise ValueError(f"{name} must not be negative, got {array[index]} at index {index}")
    sums = array.sum(axis=-1, dtype=float)
    off = np.abs(sums - 1) > 1e-5
    if off.any():
        row = tuple(int(i) for i in np.argwhere(off)[0])
        where = f" in row {row[0] if len(row) == 1 else row}" if row else ""
        raise ValueError(f"{name} must sum to 1, got {sums[row]:.6g}{where}")
    return array


def singles(name: str, value: object) -> Array:
    """`value` as a JAX array of finite numbers, that also fit the precision of JAX."""
    if is_traced(value):
        return jnp.asarray(value)
    array = finite(name, value)
    largest = jnp.finfo(jnp.result_type(float)).max
    if np.abs(array).max() > largest:
        raise ValueError(f"{name} must not exceed {largest:.3g}, got {np.abs(array).max():.3g}")
    return jnp.asarray(array, jnp.result_type(float))


def weights(name: str, value: object, shape: tuple[int, ...]) -> Array:
    """Probabilities on the last axis of `shape`: equal ones for None, one vector for all rows."""
    if value is None:
        return jnp.full(shape, 1 / shape[-1])
    if not is_traced(value):
        value = probabilities(name, value).astype(np.float64)
        value = value / value.sum(axis=-1, keepdims=True)
    array = jnp.asarray(value)
    if array.shape not in (shape, shape[-1:]):
        raise ValueError(f"{name} must have shape {shape}, got {array.shape}")
    return jnp.broadcast_to(array, shape)


def number(name: str, value: object) -> float:
    """`value` as one finite float."""
    return float(finite(name, value, rank=0))


def positive(name: str, value: object) -> float:
    """A finite number above 0."""
    result = number(name, value)
    if result <= 0:
        raise ValueError(f"{name} must be positive, got {result:g}")
    return result


def discount(value: object) -> float:
    """`value` as a discount factor, 0 ≤ γ < 1."""
    gamma = number("gamma", value)
    if not 0 <= gamma < 1:
        raise ValueError(f"gamma must satisfy 0 <= gamma < 1, got {gamma:g}")
    return gamma


def fraction(name: str, value: object) -> float:
    """`value` as one number strictly between 0 and 1."""
    part = number(name, value)
    if not 0 < part < 1:
        raise ValueError(f"{name} must lie in (0, 1), got {part:g}")
    return part


def share(name: str, value: object) -> float:
    """`value` as one number above 0 and at most 1."""
    part = number(name, value)
    if not 0 < part <= 1:
        raise ValueError(f"{name} must lie in (0, 1], got {part:g}")
    return part


def tail_levels(value: object) -> np.ndarray:
    """`value` as tail levels, each in (0, 1]."""
    return _within("level", value, "(0, 1]", lambda level: (level > 0) & (level <= 1))


def quantile_levels(value: object) -> np.ndarray:
    """`value` as quantile levels, each in [0, 1]."""
    return _within("level", value, "[0, 1]", lambda level: (level >= 0) & (level <= 1))


def count(name: str, value: object, *, at_least: int = 1) -> int:
    """`value` as a whole number, not below `at_least`."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral | np.integer):
        raise ValueError(f"{name} must be a whole number, got {_short(value)}")
    if int(value) < at_least:
        raise ValueError(f"{name} must be at least {at_least}, got {value}")
    return int(value)


def instance(name: str, value: object, kind: type, hint: str) -> None:
    """Refuses a value of another class, with a hint at what would be right."""
    if not isinstance(value, kind):
        raise ValueError(f"{name} must be {hint}, got {type(value).__name__}")


def one_of(name: str, value: object, options: Iterable[str]) -> str:
    """`value` if it is one of `options`."""
    known = list(options)
    if not isinstance(value, str) or value not in known:
        choices = ", ".join(repr(option) for option in known)
        raise ValueError(f"{name} must be one of {choices}, got {_short(value)}")
    return value


def _within(name, value, interval, inside) -> np.ndarray:
    array = finite(name, value)
    if not inside(array).all():
        raise ValueError(f"{name} must lie in {interval}, got {array[~inside(array)].flat[0]:g}")
    return array


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
