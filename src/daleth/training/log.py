"""The log of a run: one line of JSON per chunk, and whatever else listens."""

import json
import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Protocol, runtime_checkable

from daleth._files import atomic_write

LOG_NAME = "log.jsonl"


@runtime_checkable
class Writer(Protocol):
    """Something that takes the numbers of a run."""

    def begin(self, update: int) -> None:
        """A run starts or goes on after `update` updates; what was written beyond is void."""

    def write(self, update: int, numbers: Mapping[str, float]) -> None:
        """The numbers of the chunk that ended with `update`."""

    def close(self) -> None:
        """The run has ended."""


class JsonlWriter:
    """One JSON object per line: `update`, `loss`, `seconds`, `updates_per_second` and more.

    `seconds` counts the whole run, with what was before a resumption. Numbers that are not finite
    become `null`.

    Example:
        >>> writer = JsonlWriter("log.jsonl")
        >>> writer.begin(0)
        >>> writer.write(100, {"loss": 0.5})
        >>> writer.close()
        >>> print(Path("log.jsonl").read_text(), end="")
        {"update": 100, "loss": 0.5}
    """

    def __init__(self, path: str | os.PathLike[str]):
        self.path = Path(path)
        self._file = None

    def begin(self, update: int) -> None:
        """Drops the lines beyond `update`, and a last line that a kill has cut."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        if self.path.exists():
            kept = self._lines_up_to(update)
            with atomic_write(self.path) as file:
                file.write(kept)
        self._file = open(self.path, "ab")  # noqa: SIM115

    def write(self, update: int, numbers: Mapping[str, float]) -> None:
        """Appends one line, and hands it to the system at once."""
        if self._file is None:
            raise ValueError("begin the log before the first line is written")
        plain = {name: value if math.isfinite(value) else None for name, value in numbers.items()}
        self._file.write(json.dumps({"update": update, **plain}).encode() + b"\n")
        self._file.flush()

    def close(self) -> None:
        """Closes the file."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _lines_up_to(self, update: int) -> bytes:
        *lines, cut = self.path.read_bytes().split(b"\n")
        try:
            numbers = [int(json.loads(line)["update"]) for line in lines]
            if not lines and cut and not b'{"update": '.startswith(cut[:11]):
                raise ValueError
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(
                f"{str(self.path)!r} is not a training log: choose another path for the log"
            ) from error
        kept = (line for line, number in zip(lines, numbers, strict=True) if number <= update)
        return b"".join(line + b"\n" for line in kept)


def as_writers(log: object, folder: Path | None, resume: bool) -> list[Writer]:
    """The writers of a run: those asked for, and a JSONL file in the folder of the run if any.

    Args:
        log: a path, a writer, or several; a path that does not end in `.jsonl` is a folder.
        folder: the folder of the run.
        resume: whether a file may be there already.
    """
    asked = list(log) if isinstance(log, list | tuple) else [log]
    writers = [JsonlWriter(folder / LOG_NAME)] if folder is not None else []
    writers += [_as_writer(one) for one in asked if one is not None]
    for writer in writers:
        if isinstance(writer, JsonlWriter) and writer.path.exists() and not resume:
            raise ValueError(
                f"there is a log at {str(writer.path)!r} already: choose another path, or "
                "hand in checkpoint= and resume=True to continue a run"
            )
    return writers


def _as_writer(one: object) -> Writer:
    if isinstance(one, str | os.PathLike):
        path = Path(one)
        return JsonlWriter(path if path.suffix == ".jsonl" else path / LOG_NAME)
    if isinstance(one, Writer):
        return one
    raise ValueError(f"log must be a path or a Writer, or several of them, got {one!r}")
