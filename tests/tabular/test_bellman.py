import numpy as np
import pytest

from daleth.tabular import (
    MarkovChain,
    ParticleDSM,
    bellman,
    bellman_residual,
    dynamic_programming,
    exact_dsm,
    return_law,
    sierpinski_chain,
    supremal_wasserstein,
    t_maze,
    three_state_chain,
)


def test_one_application_by_hand():
    chain = MarkovChain([[0.25, 0.75], [0, 1]], gamma=0.5)
    dsm = ParticleDSM([[[1, 0], [0, 1]], [[0, 1]]], 0.5, [[0.4, 0.6], [1]])
    applied = bellman(chain, dsm)
    # From 0: half at 0, and half of δ_0 (0.25 · 0.4) or of δ_1 (0.25 · 0.6 + 0.75), merged.
    order = np.argsort(applied.occupancies[0][:, 0])
    np.testing.assert_allclose(applied.occupancies[0][order], [[0.5, 0.5], [1, 0]])
    np.testing.assert_allclose(applied.weights[0][order], [0.9, 0.1])
    np.testing.assert_allclose(applied.occupancies[1], [[0, 1]])


def test_the_mean_obeys_the_bellman_equation_of_the_successor_measure():
    rng = np.random.default_rng(0)
    chain = MarkovChain(rng.dirichlet(np.ones(4), 4), gamma=0.8)
    dsm = ParticleDSM(rng.dirichlet(np.ones(4), (4, 3)), 0.8)
    expected = 0.2 * np.eye(4) + 0.8 * chain.P @ dsm.mean()
    np.testing.assert_allclose(bellman(chain, dsm).mean(), expected, atol=1e-14)


def starts(num_states: int, gamma: float):
    rng = np.random.default_rng(1)
    return {
        "successor measure": None,
        "diracs": ParticleDSM(np.eye(num_states)[:, None], gamma),
        "random": ParticleDSM(rng.dirichlet(np.ones(num_states), (num_states, 2)), gamma),
    }


@pytest.mark.parametrize("num_particles", [3, 8])
@pytest.mark.parametrize("start", ["successor measure", "diracs", "random"])
def test_dynamic_programming_reaches_the_three_futures_of_the_t_maze(start, num_particles):
    maze = t_maze(gamma=0.7)
    first = starts(maze.chain.num_states, 0.7)[start]
    dsm = dynamic_programming(maze.chain, num_particles, first, tolerance=1e-8)
    assert dsm.num_particles[maze.start] == 3
    np.testing.assert_allclose(np.sort(dsm.weights[maze.start]), [1 / 6, 1 / 3, 1 / 2])
    assert supremal_wasserstein(dsm, exact_dsm(maze.chain)) < 1e-7
    assert bellman_residual(maze.chain, dsm) < 1e-7


def test_the_exact_dsm_solves_its_equation_and_others_do_not():
    maze = t_maze()
    assert bellman_residual(maze.chain, exact_dsm(maze.chain)) < 1e-14
    only_mean = ParticleDSM(maze.chain.successor_measure()[:, None], 0.9)
    assert bellman_residual(maze.chain, only_mean) > 0.1


@pytest.mark.parametrize("chain", [three_state_chain(), sierpinski_chain()])
def test_more_particles_solve_the_equation_better_and_the_mean_is_always_exact(chain):
    residuals = []
    for num_particles in (1, 4, 16):
        dsm = dynamic_programming(chain, num_particles, tolerance=1e-6)
        residuals.append(bellman_residual(chain, dsm))
        np.testing.assert_allclose(dsm.mean(), chain.successor_measure(), atol=1e-14)
    assert residuals[0] > 2 * residuals[1] > 3 * residuals[2] > 0


def test_the_residual_bounds_the_distance_of_return_distributions():
    # W1 of returns <= range of r / (1-γ) · W̄(DSM), and W̄ <= residual / (1-γ) by contraction.
    chain, reward = three_state_chain(), np.array([0.0, 1.0, 3.0])
    dsm = dynamic_programming(chain, 16, tolerance=1e-6)
    bound = 3 / (1 - 0.7) * bellman_residual(chain, dsm) / (1 - 0.7)
    levels = (np.arange(1000) + 0.5) / 1000
    for state in range(3):
        law = return_law(chain, reward, state)
        w1 = np.abs(dsm.returns(reward, state).quantile(levels) - law.quantile(levels)).mean()
        assert 0.01 < w1 < bound


def test_with_no_discounted_future_one_sweep_is_the_answer():
    chain = MarkovChain([[0.5, 0.5], [0.5, 0.5]], gamma=0.0)
    dsm = dynamic_programming(chain, 4, ParticleDSM([[[0, 1]], [[1, 0]]], 0.0))
    np.testing.assert_array_equal(dsm.mean(), np.eye(2))
    assert dsm.num_particles == (1, 1)
