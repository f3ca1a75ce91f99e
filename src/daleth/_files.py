"""Files that never run code and are never half written: safetensors with our JSON metadata.

The layout is that of safetensors (eight bytes with the length of a JSON header, the header, the
arrays one after another), so any safetensors reader opens our files. Arrays are written piece by
piece and read as memory maps: neither side ever needs the whole file in memory.
"""

import json
import os
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np
from safetensors import SafetensorError, safe_open

_DTYPES = {
    "BOOL": np.dtype("?"),
    **{f"F{8 * size}": np.dtype(f"<f{size}") for size in (2, 4, 8)},
    **{f"I{8 * size}": np.dtype(f"<i{size}") for size in (1, 2, 4, 8)},
    **{f"U{8 * size}": np.dtype(f"<u{size}") for size in (1, 2, 4, 8)},
}
_CODES = {dtype: code for code, dtype in _DTYPES.items()}
_SIGNATURES = {
    b"PK\x03\x04": "a zip archive (an .npz or a torch file)",
    b"\x93NUMPY": "a NumPy .npy file",
    b"\x89HDF": "an HDF5 file",
    **{b"\x80" + bytes([protocol]): "a pickle" for protocol in range(2, 6)},
}
_MAX_HEADER_BYTES = 100_000_000
_PIECE_BYTES = 1 << 24


class FileFormat(NamedTuple):
    """What a file holds, such as `trajectories`, and the newest version that we can read."""

    name: str
    version: int


@contextmanager
def atomic_write(path: str | os.PathLike) -> Iterator[BinaryIO]:
    """Opens a file for writing that replaces `path` only after everything has reached the disk.

    The bytes go to a temporary file in the same folder. If anything fails, that file is removed
    and what stood at `path` stays whole.

    Example:
        >>> with atomic_write("notes.txt") as file:
        ...     _ = file.write(b"all or nothing")
    """
    target = Path(os.path.realpath(path))
    if target.is_dir():
        raise IsADirectoryError(f"{str(path)!r} is a folder, not the name of a file")
    if not target.parent.is_dir():
        raise FileNotFoundError(f"the folder of {str(path)!r} does not exist")
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(4)}.tmp")
    try:
        with open(temporary, "xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)


def write_tensors(
    path: str | os.PathLike,
    arrays: Mapping[str, np.ndarray],
    file_format: FileFormat,
    metadata: Mapping[str, object],
) -> None:
    """Writes named arrays and JSON metadata to one safetensors file, atomically.

    Args:
        path: where to write.
        arrays: the arrays; memory maps larger than memory are fine.
        file_format: what the file holds.
        metadata: anything that JSON can hold.
    """
    header: dict[str, object] = {
        "__metadata__": {
            "daleth": json.dumps({**file_format._asdict(), "metadata": dict(metadata)})
        }
    }
    # Wide types first, so that every array starts at a multiple of its item size.
    ordered = sorted(arrays.items(), key=lambda item: (-item[1].dtype.itemsize, item[0]))
    end = 0
    for name, array in ordered:
        code = _CODES.get(array.dtype.newbyteorder("<"))
        if code is None:
            raise ValueError(f"{name} cannot be stored: its dtype is {array.dtype}")
        begin, end = end, end + array.nbytes
        header[name] = {"dtype": code, "shape": array.shape, "data_offsets": [begin, end]}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with atomic_write(path) as file:
        file.write(len(text).to_bytes(8, "little"))
        file.write(text)
        for _, array in ordered:
            _write_array(file, array)


def read_tensors(
    path: str | os.PathLike, expected_format: FileFormat
) -> tuple[dict[str, np.ndarray], dict]:
    """Opens a file made by `write_tensors`; the arrays are read-only memory maps.

    Returns:
        The arrays by name, and the metadata.

    Raises:
        FileNotFoundError: if there is no such file.
        ValueError: with one sentence if the file is cut, damaged, foreign or too new.
    """
    header, begin = _read_header(path)
    ours = header.pop("__metadata__", {}).get("daleth")
    if ours is None:
        raise _not_ours(path, expected_format, "a safetensors file that daleth did not write")
    try:
        about = json.loads(ours)
        found, metadata = FileFormat(about["name"], int(about["version"])), about["metadata"]
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{str(path)!r} is damaged: its metadata makes no sense") from error
    if found.name != expected_format.name:
        raise _not_ours(path, expected_format, f"it holds {found.name}")
    if found.version > expected_format.version:
        raise ValueError(
            f"{str(path)!r} has version {found.version} of the {found.name} format, "
            f"this daleth reads up to {expected_format.version}: please update daleth"
        )
    raw = np.memmap(path, mode="r", dtype=np.uint8)
    return {name: _view(raw, begin, entry) for name, entry in header.items()}, metadata


def _write_array(file: BinaryIO, array: np.ndarray) -> None:
    rows = array if array.ndim else array[None]
    step = max(1, _PIECE_BYTES // max(1, rows[:1].nbytes))
    for start in range(0, len(rows), step):
        piece = rows[start : start + step]
        file.write(np.ascontiguousarray(piece, dtype=piece.dtype.newbyteorder("<")).tobytes())


def _read_header(path: str | os.PathLike) -> tuple[dict, int]:
    """The JSON header, checked by safetensors itself, and where the arrays begin."""
    if not os.path.exists(path):
        raise FileNotFoundError(f"there is no file {str(path)!r}")
    if os.path.isdir(path):
        raise ValueError(f"{str(path)!r} is a folder, not a file")
    size = os.path.getsize(path)
    with open(path, "rb") as file:
        start = file.read(9)
        length = int.from_bytes(start[:8], "little")
        # A pickle may start with the bytes of a plausible length, but no brace follows it.
        if start[8:] != b"{" or length > _MAX_HEADER_BYTES:
            raise ValueError(f"{str(path)!r} is not a safetensors file: it {_looks_like(start)}")
        text = b"{" + file.read(length - 1)
    if len(text) < length:
        raise ValueError(f"{str(path)!r} is cut short: it ends inside its header")
    try:
        header = json.loads(text)
        entries = [entry for name, entry in header.items() if name != "__metadata__"]
        promised = 8 + length + max((entry["data_offsets"][1] for entry in entries), default=0)
        if size < promised:
            raise ValueError(f"{str(path)!r} is cut short: {size} of {promised} bytes are there")
        with safe_open(path, framework="numpy"):
            return header, 8 + length
    except (json.JSONDecodeError, UnicodeDecodeError, LookupError, TypeError) as error:
        raise ValueError(f"{str(path)!r} is damaged: its header makes no sense") from error
    except SafetensorError as error:
        raise ValueError(f"{str(path)!r} is damaged: {error}") from error


def _looks_like(start: bytes) -> str:
    if not start:
        return "is empty"
    for signature, name in _SIGNATURES.items():
        if start.startswith(signature):
            return f"is {name}, which daleth never loads"
    return f"starts with the bytes {start!r}"


def _not_ours(path: str | os.PathLike, expected: FileFormat, found: str) -> ValueError:
    return ValueError(f"{str(path)!r} is not a daleth {expected.name} file: {found}")


def _view(raw: np.ndarray, begin: int, entry: dict) -> np.ndarray:
    start, end = entry["data_offsets"]
    dtype = _DTYPES[entry["dtype"]]
    return raw[begin + start : begin + end].view(dtype).reshape(entry["shape"])
