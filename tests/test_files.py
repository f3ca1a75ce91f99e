import io
import json
import pickle

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from daleth._files import FileFormat, atomic_write, read_tensors, write_tensors

FORMAT = FileFormat("numbers", 2)
ARRAYS = {
    "flag": np.array([True, False, True]),
    "wide": np.arange(6, dtype=np.float64).reshape(2, 3),
    "narrow": np.linspace(0, 1, 5, dtype=np.float32),
    "big_endian": np.arange(3, dtype=">i4"),
    "strided": np.arange(12, dtype=np.int64).reshape(3, 4)[:, ::2],
    "scalar": np.array(7, dtype=np.uint8),
    "none": np.zeros((0, 2), dtype=np.float32),
}


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "numbers.safetensors"
    write_tensors(path, ARRAYS, FORMAT, {"gamma": 0.9, "names": ["a", "ℸ"]})
    return path


def test_what_is_read_is_what_was_written_and_it_is_a_memory_map(path):
    arrays, metadata = read_tensors(path, FORMAT)
    assert metadata == {"gamma": 0.9, "names": ["a", "ℸ"]}
    assert arrays.keys() == ARRAYS.keys()
    for name, array in arrays.items():
        np.testing.assert_array_equal(array, ARRAYS[name])
        assert array.dtype == ARRAYS[name].dtype.newbyteorder("<")
        assert isinstance(array, np.memmap) or array.size == 0
        assert array.flags.aligned
        assert not array.flags.writeable


def test_the_safetensors_library_reads_our_file(path):
    arrays = load_file(path)
    for name, array in ARRAYS.items():
        np.testing.assert_array_equal(arrays[name], array)


def test_a_large_array_is_written_in_pieces(tmp_path, monkeypatch):
    monkeypatch.setattr("daleth._files._PIECE_BYTES", 100)
    array = np.arange(3000, dtype=np.float32).reshape(1000, 3)
    write_tensors(tmp_path / "a", {"x": array}, FORMAT, {})
    np.testing.assert_array_equal(load_file(tmp_path / "a")["x"], array)


def test_a_file_may_be_replaced_while_it_is_mapped(path):
    arrays, metadata = read_tensors(path, FORMAT)
    write_tensors(path, {"wide": arrays["wide"] + 1}, FORMAT, metadata)
    np.testing.assert_array_equal(arrays["wide"], ARRAYS["wide"])
    np.testing.assert_array_equal(read_tensors(path, FORMAT)[0]["wide"], ARRAYS["wide"] + 1)


def test_a_failed_write_leaves_the_old_file_whole_and_no_litter(path):
    before = path.read_bytes()

    def fail():
        with atomic_write(path) as file:
            file.write(b"half")
            raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        fail()
    with pytest.raises(ValueError, match="x cannot be stored: its dtype is complex128"):
        write_tensors(path, {"x": np.zeros(2, complex)}, FORMAT, {})
    with pytest.raises(TypeError):
        write_tensors(path, ARRAYS, FORMAT, {"x": object()})
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]


def _zip_bytes() -> bytes:
    buffer = io.BytesIO()
    np.savez(buffer, x=np.zeros(3))
    return buffer.getvalue()


def _foreign_bytes(tmp_path, metadata=None) -> bytes:
    save_file({"x": np.zeros(3, np.float32)}, tmp_path / "foreign", metadata)
    return (tmp_path / "foreign").read_bytes()


def _overlapping(good: bytes) -> bytes:
    length = int.from_bytes(good[:8], "little")
    header = json.loads(good[8 : 8 + length])
    header["narrow"]["data_offsets"][0] += 4
    text = json.dumps(header).encode().ljust(length)
    return len(text).to_bytes(8, "little") + text + good[8 + length :]


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda good, _: b"", "is not a safetensors file: it is empty"),
        (lambda good, _: good[:50], "is cut short: it ends inside its header"),
        (lambda good, _: good[:-30], r"is cut short: \d+ of \d+ bytes are there"),
        (lambda good, _: good + b"more", "is damaged"),
        (lambda good, _: good[:60] + b"\xff" + good[61:], "is damaged: its header makes no sense"),
        (lambda good, _: _overlapping(good), "is damaged"),
        (lambda good, _: pickle.dumps([1, 2]), "it is a pickle, which daleth never loads"),
        (lambda good, _: _zip_bytes(), r"it is a zip archive .* which daleth never loads"),
        (lambda good, _: b"time,x,y\n0,1,2\n", "not a safetensors file: it starts with the bytes"),
        (lambda good, tmp: _foreign_bytes(tmp), "is not a daleth numbers file: a safetensors file"),
        (
            lambda good, tmp: _foreign_bytes(tmp, {"daleth": "[]"}),
            "is damaged: its metadata makes no sense",
        ),
    ],
)
def test_a_bad_file_gets_one_sentence(path, tmp_path, damage, message):
    path.write_bytes(damage(path.read_bytes(), tmp_path))
    with pytest.raises(ValueError, match=f"numbers.safetensors' .*{message}"):
        read_tensors(path, FORMAT)


def test_a_pickle_like_header_length_is_still_a_safetensors_file(tmp_path):
    # The two bytes 0x80 0x04 open a pickle, and are also the length 1152 of a header.
    path = tmp_path / "a"
    write_tensors(path, {}, FORMAT, {})
    padding = ""
    while path.read_bytes()[:2] != pickle.dumps(0)[:2]:
        padding += 8 * " "
        write_tensors(path, {}, FORMAT, {"padding": padding})
        assert len(padding) < 1152
    assert read_tensors(path, FORMAT)[1] == {"padding": padding}


def test_other_kinds_newer_versions_and_missing_files_get_one_sentence(path, tmp_path):
    with pytest.raises(ValueError, match="is not a daleth model file: it holds numbers"):
        read_tensors(path, FileFormat("model", 1))
    with pytest.raises(ValueError, match=r"has version 2 .* reads up to 1: please update daleth"):
        read_tensors(path, FileFormat("numbers", 1))
    with pytest.raises(FileNotFoundError, match="there is no file '.*absent'"):
        read_tensors(tmp_path / "absent", FORMAT)
    with pytest.raises(ValueError, match="is a folder, not a file"):
        read_tensors(tmp_path, FORMAT)
    with pytest.raises(FileNotFoundError, match="the folder of '.*' does not exist"):
        write_tensors(tmp_path / "absent" / "a", ARRAYS, FORMAT, {})
