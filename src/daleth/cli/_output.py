"""Where results go: a table or JSON on standard output, and files that are checked beforehand."""

import json
import os
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path


def show(as_json: bool, record: Mapping[str, object], text: str) -> None:
    """Prints a result, for a program or for a reader."""
    sys.stdout.write((json.dumps(record, allow_nan=False) if as_json else text) + "\n")


def table(header: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Columns of one width each; words to the left, numbers to the right in four digits."""
    cells = [list(header), *([_cell(value) for value in row] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    words = [isinstance(value, str) for value in rows[0]]
    lines = [
        "  ".join(
            cell.ljust(width) if word else cell.rjust(width)
            for cell, width, word in zip(row, widths, words, strict=True)
        ).rstrip()
        for row in cells
    ]
    return "\n".join(lines)


def check_writable(path: Path, *, inputs: Sequence[Path] = ()) -> None:
    """Refuses, before any work is done, a file that could not be written after it.

    Args:
        path: the file to be written.
        inputs: files that must not be replaced by it.
    """
    if path.is_dir():
        raise IsADirectoryError(f"{str(path)!r} is a folder, not the name of a file")
    folder = Path(os.path.realpath(path)).parent
    if not folder.is_dir():
        raise FileNotFoundError(f"the folder of {str(path)!r} does not exist")
    for one in inputs:
        if one.exists() and path.exists() and one.samefile(path):
            raise ValueError(f"{str(path)!r} is read by this command: choose another output")
    try:
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise OSError(f"{str(path)!r} cannot be written: {error.strerror}") from error


def _cell(value: object) -> str:
    return value if isinstance(value, str) else f"{value:.4g}"
