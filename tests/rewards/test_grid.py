"""Rewards written as tables."""

import jax
import numpy as np
import pytest

from daleth.rewards import from_grid, load_grid, parse

X, Y, Z = [0.0, 1.0, 4.0], [-1.0, 1.0], [0.0, 10.0]


def test_linear_functions_come_back_exactly_and_edges_go_on():
    """Interpolation along every axis is exact for products of linear functions."""
    x, y, z = np.meshgrid(X, Y, Z, indexing="ij")
    reward = from_grid([X, Y, Z], 1 + 2 * x * y - z)
    inside = np.random.default_rng(0).uniform([0, -1, 0], [4, 1, 10], size=(50, 3))
    a, b, c = inside.T
    np.testing.assert_allclose(reward(inside), 1 + 2 * a * b - c, rtol=1e-5, atol=1e-4)
    np.testing.assert_allclose(jax.jit(reward)(inside), reward(inside), rtol=1e-4, atol=1e-4)
    corner = reward(np.array([[99.0, 99.0, -99.0], [4.0, 1.0, 0.0]]))
    np.testing.assert_allclose(corner, [9.0, 9.0])


def test_a_falling_axis_and_chosen_components():
    values = [[5.0, 6.0], [3.0, 4.0], [1.0, 2.0]]
    falling = from_grid([X[::-1], Y], values, components=("x2", "x0"))
    rising = from_grid([X, Y], values[::-1], components=("x2", "x0"))
    states = np.array([[0.3, 99.0, 2.5], [-1.0, 99.0, 4.0]])
    np.testing.assert_allclose(falling(states), rising(states))
    assert falling(states)[1] == 5.0
    theta = from_grid([[-np.pi, np.pi]], [-np.pi, np.pi], components=("theta",), env="pendulum")
    np.testing.assert_allclose(theta(np.array([0.0, -1.0, 3.0])), -np.pi / 2, rtol=1e-6)


def test_a_csv_file_is_a_map(tmp_path):
    """To the right the first component grows, and here upwards the second."""
    path = tmp_path / "map.csv"
    path.write_text("y\\x,0,10\n1,7,8\n0,5,6\n")
    states = np.array([[0, 0], [10, 0], [0, 1], [10, 1], [5, 0.5]])
    np.testing.assert_allclose(load_grid(path)(states), [5, 6, 7, 8, 6.5])


def test_an_npz_file_equals_its_arrays(tmp_path):
    values = np.arange(12.0).reshape(3, 2, 2)
    path = tmp_path / "grid.npz"
    np.savez(path, axis0=X, axis1=Y, axis2=Z, values=values)
    states = np.random.default_rng(1).normal(size=(20, 3))
    expected = from_grid([X, Y, Z], values)(states)
    np.testing.assert_array_equal(parse(str(path))(states), expected)
    swapped = parse(f"{path}: c,b,a", names=("a", "b", "c"))(states[:, ::-1])
    np.testing.assert_array_equal(swapped, expected)


BAD_CSV = {
    "": "at least 3 rows and 3 columns",
    ",0,1\n0,1\n1,2,3\n": "row 2 has 2 cells, the first row has 3",
    ",0,1\n0,1,x\n1,2,3\n": "the cell in row 2, column 3 must be a number, got 'x'",
    ",0,1\n0,1,nan\n1,2,3\n": "values must be finite, got nan",
    ",0,0\n0,1,2\n1,2,3\n": "axis 0 must rise or fall",
}


@pytest.mark.parametrize("content", BAD_CSV)
def test_bad_csv(tmp_path, content):
    path = tmp_path / "bad.csv"
    path.write_text(content)
    with pytest.raises(ValueError, match=BAD_CSV[content]) as caught:
        load_grid(path)
    assert str(caught.value).startswith(f"the grid {str(path)!r} makes no reward: ")


BAD_NPZ = {
    "values": ({"axis0": X}, "it has no array 'values', but axis0"),
    "axis": ({"axis0": X, "values": np.zeros((3, 2))}, "it has no array 'axis1'"),
    "length": ({"axis0": X, "values": np.zeros(4)}, "axis 0 must have one coordinate for each of"),
    "pickle": ({"axis0": X, "values": np.array([None] * 3)}, "it cannot be read"),
}


@pytest.mark.parametrize("case", BAD_NPZ)
def test_bad_npz(tmp_path, case):
    arrays, message = BAD_NPZ[case]
    np.savez(tmp_path / "bad.npz", **arrays)
    with pytest.raises(ValueError, match=message):
        load_grid(tmp_path / "bad.npz")


def test_other_bad_grids(tmp_path):
    (tmp_path / "text.npz").write_text("not an archive")
    with pytest.raises(ValueError, match="it is not an .npz file, or it is damaged"):
        load_grid(tmp_path / "text.npz")
    with pytest.raises(ValueError, match="a grid must be a .csv or .npz file"):
        load_grid(tmp_path)
    with pytest.raises(ValueError, match="one dimension per axis, 1, got 2"):
        from_grid([X], [[1.0, 2.0, 3.0]])
    with pytest.raises(ValueError, match="one component per axis, 1, got"):
        from_grid([X], X, components=("x0", "x1"))
    with pytest.raises(ValueError, match="a grid over states with 1 components, got 2"):
        from_grid([X], X)(np.zeros((3, 2)))
