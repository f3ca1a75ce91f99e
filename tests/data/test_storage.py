import numpy as np
import pytest

from daleth._files import FileFormat, write_tensors
from daleth.data import Trajectories


def is_mapped(array):
    return isinstance(array, np.memmap) or (array is not None and is_mapped(array.base))


@pytest.mark.parametrize("with_rest", [True, False])
def test_round_trip_as_a_memory_map(tmp_path, assert_same, with_rest):
    rest = {"actions": np.arange(5), "rewards": np.ones(5)} if with_rest else {}
    data = Trajectories(np.arange(10.0).reshape(5, 2), [0, 2, 5], ["open", "terminated"], **rest)
    data.save(tmp_path / "data.safetensors")
    loaded = Trajectories.load(tmp_path / "data.safetensors")
    assert_same(loaded, data)
    # A slice stays on disk too, and data may be saved over the file they are read from.
    assert is_mapped(loaded.states)
    assert is_mapped(loaded[1:].states)
    assert not is_mapped(data.states)
    loaded[1:].save(tmp_path / "data.safetensors")
    assert_same(Trajectories.load(tmp_path / "data.safetensors"), data[1:])
    assert_same(loaded, data)


def test_a_file_whose_arrays_do_not_fit_together_gets_one_sentence(tmp_path):
    path = tmp_path / "bad.safetensors"
    good = {
        "states": np.zeros((4, 1), np.float32),
        "offsets": np.array([0, 4]),
        "ends": np.zeros(1, np.uint8),
    }
    cases = [
        ({"offsets": np.array([0, 5])}, "add up to 5, but there are 4 states"),
        ({"ends": np.full(1, 7, np.uint8)}, "an end must be a number up to 2, got 7"),
        ({"ends": np.zeros(2, np.uint8)}, "one end per episode"),
        ({"actions": np.zeros(3, np.int32)}, r"actions must have one row per state \(4\), got 3"),
    ]
    for change, message in cases:
        write_tensors(path, good | change, FileFormat("trajectories", 1), {})
        with pytest.raises(ValueError, match=message):
            Trajectories.load(path)
    write_tensors(path, {"states": good["states"]}, FileFormat("trajectories", 1), {})
    with pytest.raises(ValueError, match="bad.safetensors' has no offsets"):
        Trajectories.load(path)
