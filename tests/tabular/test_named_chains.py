import numpy as np
import pytest

from daleth.tabular import (
    exact_dsm,
    expected_returns,
    return_law,
    sample_occupancies,
    sierpinski_chain,
    t_maze,
    three_state_chain,
)


def test_three_state_chain_has_rows_that_sum_to_one():
    chain = three_state_chain()
    np.testing.assert_allclose(chain.P, [[0.5, 0.5, 0], [0, 0, 1], [1 / 3, 1 / 3, 1 / 3]])
    assert chain.gamma == 0.7


def test_second_state_is_a_scaled_copy_of_the_third():
    # It goes to the third state for certain, so G_1 = r(1) + γ G_2 in law.
    reward = np.array([0.0, 1.0, 3.0])
    levels = np.linspace(0.05, 0.95, 19)
    second, third = (return_law(three_state_chain(), reward, state) for state in (1, 2))
    np.testing.assert_allclose(
        second.quantile(levels), 1 + 0.7 * third.quantile(levels), atol=2 * third.resolution
    )


def test_sierpinski_occupancies_avoid_the_middle_triangle(key):
    # The future part 2M - δ_x lies in the triangle; its middle part, all coordinates below 1/2,
    # is a hole, and the same holds inside each corner after zooming in by 2.
    draws = sample_occupancies(sierpinski_chain(), 0, 20_000, key).occupancies
    zoomed = 2 * draws - [1, 0, 0]
    for _ in range(6):
        corner = zoomed.argmax(axis=1)
        assert (zoomed.max(axis=1) >= 0.5 - 1e-4).all()
        zoomed = 2 * zoomed - np.eye(3)[corner]


def test_the_t_maze_has_three_futures():
    maze = t_maze()
    occupancies = exact_dsm(maze.chain).occupancies[maze.start]
    # 0.1 for the foot at time 0, and the end of the way from time 6 on, with weight γ⁶.
    ends = {maze.names[i]: row for row in occupancies for i in [int(row.argmax())]}
    assert set(ends) == {"back 3", "right 3", "left 3"}
    for name, row in ends.items():
        assert row[maze.names.index(name)] == pytest.approx(0.9**6)
        assert row[maze.start] == pytest.approx(0.1)


def test_mean_and_cvar_tell_different_stories_in_the_t_maze():
    maze = t_maze()
    returns = exact_dsm(maze.chain).returns(maze.reward, maze.start)
    tail = 0.9**6 / (1 - 0.9)
    atoms = np.array([0.1 - tail, 0.1 + 0.1 * tail, 0.1 + tail])
    assert float(returns.mean()) == pytest.approx(atoms @ [1 / 3, 1 / 6, 1 / 2], rel=1e-5)
    assert float(returns.mean()) > 1
    assert float(returns.cvar(1 / 3)) == pytest.approx(atoms[0], rel=1e-5)
    assert float(returns.mean()) == pytest.approx(
        expected_returns(maze.chain, maze.reward)[maze.start], rel=1e-5
    )


def test_cells_of_the_t_maze_are_neighbours_and_rewards_belong_to_cells():
    maze = t_maze(stem=5, arm=2)
    assert maze.chain.num_states == len(maze.names) == 5 + 4 + 2 + 2
    for source, target in np.argwhere(maze.chain.P > 0):
        distance = np.abs(maze.cells[source] - maze.cells[target]).sum()
        assert distance == (0 if source == target else 1)
    by_cell = {}
    for cell, reward in zip(maze.cells.tolist(), maze.reward, strict=True):
        assert by_cell.setdefault(tuple(cell), reward) == reward
    assert len(by_cell) == 5 + 2 + 2
