import jax.numpy as jnp
import numpy as np
import pytest

from daleth.tabular import ParticleDSM, exact_dsm, merge, project, t_maze


def random_dsm(seed: int, num_states: int, num_particles: int, gamma: float = 0.8) -> ParticleDSM:
    rng = np.random.default_rng(seed)
    occupancies = rng.dirichlet(np.ones(num_states), (num_states, num_particles))
    return ParticleDSM(occupancies, gamma, rng.dirichlet(np.ones(num_particles), num_states))


def test_returns_and_mean_by_hand():
    dsm = ParticleDSM([[[1, 0], [0.5, 0.5]], [[0, 1]]], 0.75, [[0.25, 0.75], [1]])
    returns = dsm.returns([1.0, 3.0], 0)
    np.testing.assert_allclose(returns.atoms, [4, 8])
    np.testing.assert_allclose(returns.weights, [0.25, 0.75])
    np.testing.assert_allclose(dsm.mean(), [[0.625, 0.375], [0, 1]])
    assert dsm.num_particles == (2, 1)


def test_many_rewards_in_one_call():
    dsm = random_dsm(0, 3, 5)
    rewards = np.random.default_rng(1).normal(size=(4, 3))
    together = dsm.returns(rewards, 2)
    assert together.batch_shape == (4,)
    for reward, one in zip(rewards, together.atoms, strict=True):
        np.testing.assert_allclose(one, dsm.returns(reward, 2).atoms, rtol=1e-6)


def test_rewards_as_functions_of_indices_or_places_give_the_same_returns():
    maze = t_maze()
    dsm = exact_dsm(maze.chain)
    expected = dsm.returns(maze.reward, maze.start)
    table = jnp.asarray(maze.reward)
    by_index = dsm.measures(maze.start).returns(lambda y: table[y[..., 0].astype(int)], 0.9)
    by_place = dsm.measures(maze.start, points=maze.cells).returns(
        lambda y: jnp.sign(y[..., 0]) * (abs(y[..., 0]) == 3) + 0.1 * (y[..., 1] == 0), 0.9
    )
    for returns in (by_index, by_place):
        np.testing.assert_allclose(returns.atoms, expected.atoms, rtol=1e-5)
        np.testing.assert_allclose(returns.weights, expected.weights)


def test_equal_particles_are_merged_and_weightless_ones_dropped():
    rows = [[0.2, 0.8], [0.7, 0.3], [0.2, 0.8], [1.0, 0.0]]
    dsm = merge(ParticleDSM([rows, [[0, 1]]], 0.5, [[0.1, 0.3, 0.6, 0.0], [1]]))
    order = np.argsort(dsm.occupancies[0][:, 0])
    np.testing.assert_allclose(dsm.occupancies[0][order], [[0.2, 0.8], [0.7, 0.3]])
    np.testing.assert_allclose(dsm.weights[0][order], [0.7, 0.3])


@pytest.mark.parametrize("num_particles", [1, 2, 7])
def test_projection_preserves_the_mean(num_particles):
    dsm = random_dsm(2, 4, 40)
    projected = project(dsm, num_particles)
    assert projected.num_particles == (num_particles,) * 4
    np.testing.assert_allclose(projected.mean(), dsm.mean(), atol=1e-15)


def test_projection_finds_the_clusters_that_are_there():
    rng = np.random.default_rng(3)
    centres = np.array([[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]])
    noise = rng.uniform(-0.01, 0.01, (30, 3))
    rows = np.repeat(centres, 10, axis=0) + noise - noise.mean(axis=1, keepdims=True)
    projected = project(ParticleDSM([rows] * 3, 0.5), 3)
    order = np.argsort(projected.occupancies[0] @ [1, 2, 3])
    np.testing.assert_allclose(projected.weights[0], 1 / 3)
    np.testing.assert_allclose(
        projected.occupancies[0][order], rows.reshape(3, 10, 3).mean(axis=1), atol=1e-12
    )


def test_projection_copes_with_weights_of_very_different_size():
    rows = np.array([[1 - p, p] for p in (0.1, 0.2, 0.3, 0.4)])
    dsm = ParticleDSM([rows, rows], 0.5, [[1.0, 1e-18, 1e-17, 1e-19], [1e-18, 1e-17, 1e-19, 1.0]])
    projected = project(dsm, 3)
    assert projected.num_particles == (3, 3)
    np.testing.assert_allclose(projected.mean(), dsm.mean(), atol=1e-15)
