"""Models as they were at the marks of a run, kept so that they can be scored again.

They lie in the cache and not in the repository. How answers are read off a model can change without
its training: then `time_to_accuracy.py --rescore` is a matter of seconds and not of hours.
"""

import hashlib
import json
import shutil
from pathlib import Path
from typing import NamedTuple

from problems import CACHE

import daleth
from daleth import load
from daleth._files import atomic_write
from daleth.models.base import Model


class Snapshot(NamedTuple):
    """A model when the clock had passed a mark."""

    seconds: float
    updates: int
    model: Model


def keep(run: tuple[object, ...], snapshots: list[Snapshot], compilation: float | None) -> None:
    """Writes the snapshots of a run in the place of older ones, and its seconds of compiling."""
    folder = _folder(run)
    (folder / "run.json").unlink(missing_ok=True)  # first: without it a folder counts for nothing
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for index, one in enumerate(snapshots):
        one.model.save(folder / f"{index}.safetensors")
    marks = [[one.seconds, one.updates] for one in snapshots]
    content = {"run": run, "compilation": compilation, "marks": marks}
    with atomic_write(folder / "run.json") as file:
        file.write(json.dumps(content).encode())


def kept(run: tuple[object, ...]) -> tuple[list[Snapshot], float | None] | None:
    """What `keep` was told, if the run was kept to its end."""
    folder = _folder(run)
    if not (folder / "run.json").exists():
        return None
    content = json.loads((folder / "run.json").read_text())
    snapshots = [
        Snapshot(seconds, updates, load(folder / f"{index}.safetensors"))
        for index, (seconds, updates) in enumerate(content["marks"])
    ]
    return snapshots, content["compilation"]


def checkpoint_folder(run: tuple[object, ...]) -> Path:
    """Where the training of a run can go on from, as long as the library is the same."""
    return CACHE / "checkpoints" / _digest((*run, _library()))


def _library() -> str:
    """A hash of the sources."""
    sources = sorted(Path(daleth.__file__).parent.rglob("*.py"))
    return hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()


def _folder(run: tuple[object, ...]) -> Path:
    return CACHE / "snapshots" / _digest(run)


def _digest(run: tuple[object, ...]) -> str:
    return hashlib.sha256(repr(run).encode()).hexdigest()[:16]
