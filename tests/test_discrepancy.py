"""Both levels of the MMD: values by hand, unbiasedness, gradients, and the efficient path."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from daleth.discrepancy import (
    SMALLEST_BANDWIDTH,
    Masses,
    mean_state_kernel,
    mean_state_kernel_within,
    median_bandwidth,
    model_discrepancy,
    pairwise_squared_mmd,
    pairwise_squared_mmd_within,
    squared_mmd,
    within_means,
)
from daleth.distances import SampleDistances, two_level_mmd
from daleth.kernels import inverse_multiquadric, rational_quadratic


def paper_loss(ys, yts):
    """The loss of Algorithm 1 from draws, and what it says of itself."""
    return two_level_mmd(SampleDistances(ys, yts), Masses.equal(len(ys), len(yts)))


loss_and_gradients = jax.jit(jax.value_and_grad(lambda a, b: paper_loss(a, b)[0], (0, 1)))


def one_over(z):
    """A state kernel for values by hand."""
    return 1 / (1 + z)


def plain_means(ys, yts, state_kernel=rational_quadratic):
    """All pairs of atoms and of samples at once, with nothing saved."""
    return state_kernel(((ys[:, None, :, None] - yts[None, :, None]) ** 2).sum(-1)).mean((2, 3))


def plain_loss(ys, yts):
    """The two-level loss from its definition, by sums over distinct samples."""
    num_atoms, s, _ = ys.shape
    everything = jnp.concatenate([ys, yts])
    distinct = rational_quadratic(((everything[:, :, None] - everything[:, None]) ** 2).sum(-1)) * (
        1 - jnp.eye(s)
    )
    u = distinct.sum((1, 2)) / (s * (s - 1))
    d = u[:, None] + u - 2 * plain_means(everything, everything)
    d = jnp.where(jnp.eye(2 * num_atoms) == 1, 0, d)
    blocks = d[:num_atoms, :num_atoms], d[num_atoms:, num_atoms:], d[:num_atoms, num_atoms:]
    floor = 0.5 * (2 * 5 - u[:num_atoms].mean() - u[num_atoms:].mean()) / s
    median = jnp.median(jnp.concatenate([block.ravel() for block in blocks]))
    bandwidth = jax.lax.stop_gradient(jnp.maximum(median, floor))
    rho = [
        jnp.where(b < 0, 1 - b / (2 * bandwidth), (1 + jnp.abs(b) / bandwidth) ** -0.5)
        for b in blocks
    ]
    return rho[0].mean() + rho[1].mean() - 2 * rho[2].mean()


def samples(seed, num_atoms, num_samples=6, state_dim=3):
    """Atoms at different places, and other atoms near them."""
    rng = np.random.default_rng(seed)
    places = 2 * rng.normal(size=(num_atoms, 1, state_dim))
    noise = rng.normal(size=(2, num_atoms, num_samples, state_dim))
    source, target = np.asarray(places + noise, np.float32)
    return jnp.asarray(source), jnp.asarray(target + np.float32(0.5))


def test_squared_mmd_by_hand():
    xs, ys = jnp.array([[0.0], [1.0], [2.0]]), jnp.array([[0.0], [3.0]])
    within_x = (1 / 2 + 1 / 5 + 1 / 2) / 3
    within_y = 1 / 10
    across = (1 + 1 / 10 + 1 / 2 + 1 / 5 + 1 / 5 + 1 / 2) / 6
    found = jax.jit(partial(squared_mmd, state_kernel=one_over))(xs, ys)
    np.testing.assert_allclose(found, within_x + within_y - 2 * across, rtol=1e-6)
    assert found < 0


def test_squared_mmd_is_unbiased():
    # Two measures on two points: the expectation is a sum over four pairs.
    # 4 standard errors: another seed would fail once in 16,000.
    p, q = np.array([0.3, 0.7]), np.array([0.6, 0.4])
    gram = one_over(np.array([[0.0, 4.0], [4.0, 0.0]]))
    truth = p @ gram @ p + q @ gram @ q - 2 * p @ gram @ q

    rng = np.random.default_rng(3)
    xs = 2 * rng.binomial(1, 0.7, size=(10_000, 3, 1)).astype(np.float32)
    ys = 2 * rng.binomial(1, 0.4, size=(10_000, 4, 1)).astype(np.float32)
    found = np.array(jax.jit(jax.vmap(lambda x, y: squared_mmd(x, y, one_over)))(xs, ys))
    assert abs(found.mean() - truth) < 4 * found.std() / 100


def test_all_pairs_of_atoms_are_the_squared_mmds_one_by_one():
    ys, yts = samples(0, 4)
    one_pair = jax.jit(squared_mmd)
    across = [[one_pair(y, yt) for yt in yts] for y in ys]
    np.testing.assert_allclose(jax.jit(pairwise_squared_mmd)(ys, yts), across, atol=2e-6)
    within = np.asarray(jax.jit(pairwise_squared_mmd_within)(ys))
    np.testing.assert_array_equal(np.diagonal(within), np.zeros(4))
    one_by_one = np.array([[one_pair(y, other) for other in ys] for y in ys])
    off = ~np.eye(4, dtype=bool)
    np.testing.assert_allclose(within[off], one_by_one[off], atol=2e-6)
    printed = -2 / 6 * (5 - np.asarray(jax.jit(within_means)(ys)))
    np.testing.assert_allclose(np.diagonal(one_by_one), printed, atol=2e-6)


@pytest.mark.parametrize("num_atoms", [4, 5])
def test_means_over_pairs_equal_the_plain_formula_in_value_and_gradient(num_atoms):
    ys, yts = samples(num_atoms, num_atoms)
    weights = np.random.default_rng(9).normal(size=(2, num_atoms, num_atoms)).astype(np.float32)

    def ours(a, b):
        means = mean_state_kernel(a, b), mean_state_kernel_within(a)
        return (weights * jnp.stack(means)).sum(), means

    def plain(a, b):
        means = plain_means(a, b), plain_means(a, a)
        return (weights * jnp.stack(means)).sum(), means

    gradients, found = jax.jit(jax.grad(ours, (0, 1), has_aux=True))(ys, yts)
    wanted_gradients, wanted = jax.jit(jax.grad(plain, (0, 1), has_aux=True))(ys, yts)
    np.testing.assert_allclose(found, wanted, rtol=1e-5)
    np.testing.assert_allclose(gradients, wanted_gradients, atol=1e-6)


def test_bandwidth_is_the_median_of_all_entries_but_not_below_the_floor():
    d_s, d_t = jnp.array([[0.0, 1.0], [1.0, 0.0]]), jnp.array([[0.0, 9.0], [9.0, 0.0]])
    d_st = jnp.array([[2.0, 4.0], [6.0, -1.0]])
    assert median_bandwidth(d_s, d_t, d_st) == 1.0
    assert median_bandwidth(d_s, d_t, d_st, floor=3.0) == 3.0
    gradient = jax.grad(lambda d: median_bandwidth(d_s, d_t, d))(d_st)
    np.testing.assert_array_equal(gradient, np.zeros((2, 2)))


def test_model_discrepancy_by_hand():
    zero = jnp.zeros((1, 1))
    one = Masses.equal(1, 1)
    found = model_discrepancy(zero, zero, jnp.array([[6.0]]), jnp.array(2.0), one)
    np.testing.assert_allclose(found, 1 + 1 - 2 * 0.5, rtol=1e-6)
    d_s = jnp.array([[0.0, 3.0], [3.0, 0.0]])
    d_st = jnp.array([[0.0, 3.0], [24.0, 0.0]])
    found = model_discrepancy(d_s, 8 * d_s, d_st, jnp.array(1.0), Masses.equal(2, 2))
    wanted = (2 + 2 * 0.5) / 4 + (2 + 2 * 0.2) / 4 - 2 * (2 + 0.5 + 0.2) / 4
    np.testing.assert_allclose(found, wanted, rtol=1e-6)
    unequal = Masses(jnp.array([0.25, 0.75]), jnp.array([1.0, 0.0]))
    found = model_discrepancy(d_s, 8 * d_s, d_st, jnp.array(1.0), unequal)
    # Of the target only its first atom is left, with ρ = 1 and 0.2 to the two atoms.
    wanted = (0.25**2 + 0.75**2 + 2 * 0.25 * 0.75 * 0.5) + 1 - 2 * (0.25 + 0.75 * 0.2)
    np.testing.assert_allclose(found, wanted, rtol=1e-6)


def test_a_negative_estimate_continues_the_kernel_along_its_tangent():
    bandwidth = jnp.array(2.0)
    zero = jnp.zeros((1, 1))

    def loss(d):
        one = Masses.equal(1, 1)
        return model_discrepancy(zero, zero, jnp.reshape(d, (1, 1)), bandwidth, one)

    np.testing.assert_allclose(loss(jnp.array(-0.4)), 2 - 2 * 1.1, rtol=1e-6)
    slopes = [jax.grad(loss)(jnp.array(d)) for d in (-0.4, -1e-6, 0.0, 1e-6)]
    np.testing.assert_allclose(slopes, 0.5, rtol=1e-5)


def test_with_one_atom_the_loss_is_a_monotone_function_of_the_squared_mmd():
    ys, _ = samples(0, 1, num_samples=16)
    shifts = jnp.array([0.0, 0.2, 0.5, 1.0, 2.0, 4.0])

    @jax.jit
    @jax.vmap
    def both(shift):
        return squared_mmd(ys[0], ys[0] + shift), *paper_loss(ys, ys + shift)

    distances, losses, infos = both(shifts)
    # A shift leaves the within-means, hence the floor, which is the bandwidth of one atom.
    bandwidth = infos["bandwidth_floor"][0]
    np.testing.assert_allclose(infos["squared_bandwidth"], bandwidth, rtol=1e-5)
    assert (jnp.diff(distances) > 0).all()
    assert (jnp.diff(losses) > 0).all()
    rho = inverse_multiquadric(distances[3:], bandwidth)
    assert (distances[3:] > 0).all()
    np.testing.assert_allclose(losses[3:], 2 - 2 * rho, rtol=1e-4)


def test_two_level_loss_equals_its_definition_in_value_and_gradient():
    ys, yts = samples(14, 4)
    value, gradients = loss_and_gradients(ys, yts)
    wanted, wanted_gradients = jax.jit(jax.value_and_grad(plain_loss, (0, 1)))(ys, yts)
    np.testing.assert_allclose(value, wanted, atol=1e-5)
    np.testing.assert_allclose(gradients, wanted_gradients, atol=1e-5)
    np.testing.assert_allclose(paper_loss(ys, yts)[0], value, atol=1e-6)


def test_gradient_of_the_two_level_loss_by_finite_differences():
    with jax.enable_x64(True):
        ys, yts = (jnp.asarray(np.asarray(a, np.float64)) for a in samples(5, 3, num_samples=4))
        gradients, info = jax.jit(jax.grad(paper_loss, (0, 1), has_aux=True))(ys, yts)

        @jax.jit
        def loss(a, b):
            # The bandwidth has no gradient, so it must not move in a finite difference either.
            d_s, d_t = pairwise_squared_mmd_within(a), pairwise_squared_mmd_within(b)
            d_st = pairwise_squared_mmd(a, b)
            masses = Masses.equal(len(a), len(b))
            return model_discrepancy(d_s, d_t, d_st, info["squared_bandwidth"], masses), d_st

        assert (loss(ys, yts)[1] < 0).any()
        for seed in range(3):
            a, b = np.random.default_rng(seed).normal(size=(2, *ys.shape))
            slope = np.sum(gradients[0] * a) + np.sum(gradients[1] * b)
            step = 1e-5
            rise = loss(ys + step * a, yts + step * b)[0] - loss(ys - step * a, yts - step * b)[0]
            np.testing.assert_allclose(slope, rise / (2 * step), rtol=1e-6)


def test_one_source_state_at_a_time_equals_each_alone():
    ys, yts = (jnp.stack(side) for side in zip(*(samples(i, 4) for i in range(3)), strict=True))

    @jax.jit
    @partial(jax.grad, argnums=(0, 1), has_aux=True)
    def batched(a, b):
        losses, _ = jax.lax.map(lambda pair: paper_loss(*pair), (a, b))
        return losses.sum(), losses

    gradients, losses = batched(ys, yts)
    for i in range(3):
        value, wanted = loss_and_gradients(ys[i], yts[i])
        np.testing.assert_allclose(losses[i], value, atol=1e-6)
        np.testing.assert_allclose([side[i] for side in gradients], wanted, atol=1e-6)


def test_equal_futures_do_not_scale_the_loss_by_noise():
    # All distances are noise around 0: the plain median would be noise too, often below 0.
    draws = np.random.default_rng(0).normal(size=(2, 32, 4, 32, 3)).astype(np.float32)
    draws[:, 0] = 0  # the first source state has one future, and that is one point
    losses, infos = jax.jit(jax.vmap(paper_loss))(*draws)
    np.testing.assert_allclose(infos["squared_bandwidth"], infos["bandwidth_floor"], rtol=1e-6)
    assert jnp.abs(losses).max() < 0.5
    assert losses[0] == 0
    assert infos["squared_bandwidth"][0] == np.float32(SMALLEST_BANDWIDTH)


def test_one_sample_is_refused():
    with pytest.raises(ValueError, match="at least 2 samples, got 1"):
        squared_mmd(jnp.zeros((1, 2)), jnp.zeros((3, 2)))
