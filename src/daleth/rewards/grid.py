"""Rewards from tables: linear between the points of a grid, constant beyond its edges."""

import csv
import os
import zipfile
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from daleth import _checks
from daleth._typing import ArrayLike, Reward
from daleth.rewards.components import as_states, backend
from daleth.rewards.expression import from_expression


def from_grid(
    axes: Sequence[ArrayLike],
    values: ArrayLike,
    *,
    components: Sequence[str] = (),
    names: Sequence[str] = (),
    env: str | None = None,
) -> Reward:
    """The reward with these values at the points of a grid.

    Between the points it is interpolated linearly along every axis; outside of the grid it is
    that of the nearest point of the edge.

    Args:
        axes: the coordinates along each axis, rising or falling, at least two: `[n_0]`, `[n_1]`, …
        values: `[n_0, n_1, …]`.
        components: which component of the state belongs to each axis, such as
            `("theta", "velocity")`; by default the axes are all components of the state in order.
        names: what the components are called, in order.
        env: the name of an environment whose names are known, such as "pendulum".

    Example:
        >>> reward = from_grid([[0.0, 1.0], [0.0, 10.0]], [[0.0, 1.0], [2.0, 3.0]])
        >>> print(reward(jnp.array([[0.5, 0.0], [0.0, 5.0], [7.0, 99.0]])))
        [1.  0.5 3. ]
    """
    table = _checks.finite("values", values)
    if table.ndim != len(axes) or table.ndim == 0:
        raise ValueError(f"values must have one dimension per axis, {len(axes)}, got {table.ndim}")
    lines = []
    for index, axis in enumerate(axes):
        line = _checked_axis(index, axis, table.shape[index])
        if line[0] > line[-1]:
            line, table = line[::-1], np.flip(table, index)
        lines.append(line)
    if components and len(components) != len(lines):
        raise ValueError(f"there must be one component per axis, {len(lines)}, got {components}")
    chosen = components or [f"x{index}" for index in range(len(lines))]
    coordinates = [from_expression(name, names=names, env=env) for name in chosen]

    def reward(states: Any) -> Float[Array, "*shape"]:
        states = as_states(states)
        if not components and states.shape[-1] != len(lines):
            raise ValueError(
                f"this reward is a grid over states with {len(lines)} components, got "
                f"{states.shape[-1]}: say which ones the axes are, as in 'grid.csv:x0,x2'"
            )
        # Where between the points of its axis each coordinate lies; beyond an edge, on the edge.
        xp = backend(states)
        places = [
            xp.interp(xp.asarray(coordinate(states)), line, np.arange(len(line)))
            for coordinate, line in zip(coordinates, lines, strict=True)
        ]
        interpolate = _ndimage(xp).map_coordinates
        flat = [xp.ravel(place) for place in places]  # SciPy knows no single point
        found = interpolate(xp.asarray(table), flat, order=1, mode="nearest")
        return jnp.asarray(found, states.dtype).reshape(states.shape[:-1])

    return reward


def load_grid(
    path: str | os.PathLike[str],
    *,
    components: Sequence[str] = (),
    names: Sequence[str] = (),
    env: str | None = None,
) -> Reward:
    r"""A reward from a grid in a file; see `from_grid` for what it is between the points.

    A `.csv` file is a map of two components. Its first row holds the coordinates of the first
    component, its first column those of the second, the cell in the corner is not looked at, and
    the rest are rewards: what stands to the right has a large first component, and if the first
    column falls, what stands above has a large second one.

    A `.npz` file has arrays `axis0`, `axis1`, … and `values`, in any dimension.

    Example:
        >>> _ = Path("reward.csv").write_text(",0,1\n10,1,3\n0,0,2\n")
        >>> print(load_grid("reward.csv")(jnp.array([1.0, 5.0])))
        2.5
    """
    path = Path(path)
    if not path.exists():
        raise FileNotFoundError(f"there is no file {str(path)!r}")
    read = {".csv": _read_csv, ".npz": _read_npz}
    if path.suffix not in read:
        raise ValueError(f"a grid must be a .csv or .npz file, got {str(path)!r}")
    try:
        axes, values = read[path.suffix](path)
        return from_grid(axes, values, components=components, names=names, env=env)
    except ValueError as error:
        raise ValueError(f"the grid {str(path)!r} makes no reward: {error}") from error


def _ndimage(xp: ModuleType) -> ModuleType:
    return import_module("scipy.ndimage" if xp is np else "jax.scipy.ndimage")


def _checked_axis(index: int, axis: ArrayLike, size: int) -> np.ndarray:
    line = _checks.finite(f"axis {index}", axis, rank=1)
    if len(line) != size or size < 2:
        raise ValueError(
            f"axis {index} must have one coordinate for each of the {size} values along it, "
            f"and at least 2, got {len(line)}"
        )
    steps = np.diff(line)
    if not ((steps > 0).all() or (steps < 0).all()):
        raise ValueError(f"axis {index} must rise or fall from each coordinate to the next")
    return line


def _read_csv(path: Path) -> tuple[list[np.ndarray], np.ndarray]:
    with open(path, newline="", encoding="utf-8-sig") as file:
        rows = [row for row in csv.reader(file) if any(cell.strip() for cell in row)]
    if len(rows) < 3 or len(rows[0]) < 3:
        raise ValueError("it must have at least 3 rows and 3 columns, coordinates included")
    table = np.zeros((len(rows), len(rows[0])))
    for i, row in enumerate(rows):
        if len(row) != len(rows[0]):
            raise ValueError(f"row {i + 1} has {len(row)} cells, the first row has {len(rows[0])}")
        for j, cell in enumerate(row):
            if i or j:
                table[i, j] = _cell(cell, i + 1, j + 1)
    return [table[0, 1:], table[1:, 0]], table[1:, 1:].T


def _cell(text: str, row: int, column: int) -> float:
    try:
        return float(text)
    except ValueError as error:
        raise ValueError(
            f"the cell in row {row}, column {column} must be a number, got {text!r}"
        ) from error


def _read_npz(path: Path) -> tuple[list[np.ndarray], np.ndarray]:
    if not zipfile.is_zipfile(path):
        raise ValueError("it is not an .npz file, or it is damaged")
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = dict(file)
    except (OSError, ValueError, zipfile.BadZipFile) as error:
        raise ValueError(f"it cannot be read: {error}") from error
    if "values" not in arrays:
        raise ValueError(f"it has no array 'values', but {', '.join(arrays) or 'nothing'}")
    names = [f"axis{index}" for index in range(arrays["values"].ndim)]
    missing = [name for name in names if name not in arrays]
    if missing:
        raise ValueError(f"it has no array {missing[0]!r}, but {', '.join(arrays)}")
    return [arrays[name] for name in names], arrays["values"]
