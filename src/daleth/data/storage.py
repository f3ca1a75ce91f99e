"""Trajectories on disk: one safetensors file, opened as a memory map."""

import os

from daleth._files import FileFormat, read_tensors, write_tensors
from daleth.data import _validation
from daleth.data.episodes import parse_ends
from daleth.data.trajectories import Trajectories

_FORMAT = FileFormat("trajectories", 1)
_NAMES = ("states", "offsets", "ends", "actions", "rewards")


def save(data: Trajectories, path: str | os.PathLike) -> None:
    """Writes the trajectories to one file, atomically.

    Example:
        >>> save(Trajectories.from_arrays([[0.0], [1.0]]), "data.safetensors")
        >>> load("data.safetensors")
        Trajectories(1 episodes, 2 frames, state_dim=1)
    """
    arrays = {name: getattr(data, name) for name in _NAMES}
    present = {name: array for name, array in arrays.items() if array is not None}
    write_tensors(path, present, _FORMAT, {})


def load(path: str | os.PathLike) -> Trajectories:
    """Opens a file written by `save` without reading the states.

    Shapes and offsets are checked again; that every number is finite was checked before writing,
    and is not repeated, so that data larger than memory open at once.
    """
    arrays, _ = read_tensors(path, _FORMAT)
    missing = [name for name in _NAMES[:3] if name not in arrays]
    if missing:
        raise ValueError(f"{str(path)!r} has no {missing[0]}")
    states = _validation.as_states(arrays["states"])
    offsets = _validation.as_offsets(arrays["offsets"], len(states))
    actions, rewards = arrays.get("actions"), arrays.get("rewards")
    for name, array in {"actions": actions, "rewards": rewards}.items():
        if array is not None:
            _validation.check_rows(name, array, len(states))
    ends = parse_ends(arrays["ends"], len(offsets) - 1)
    return Trajectories._trusted(
        states=states, offsets=offsets, ends=ends, actions=actions, rewards=rewards
    )
