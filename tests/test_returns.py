"""The value object: forms, dominance, sampling, batches."""

import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from daleth import ReturnDistribution


@pytest.fixture
def g():
    return ReturnDistribution([3.0, -4.0, 0.0, 1.0], [0.1, 0.2, 0.3, 0.4])


def test_is_immutable(g):
    with pytest.raises(AttributeError, match="assign"):
        g.atoms = jnp.zeros(4)


def test_first_order_dominance_implies_second_but_not_back():
    sure, spread = ReturnDistribution([0.0]), ReturnDistribution([-1.0, 1.0])
    assert bool(sure.dominates(spread, order=2))
    assert not bool(sure.dominates(spread, order=1))
    assert not bool(spread.dominates(sure, order=2))
    higher = ReturnDistribution([-0.5, 1.0])
    assert bool(higher.dominates(spread, order=1))
    assert not bool(spread.dominates(higher, order=1))
    assert bool(spread.dominates(spread, order=1))


def test_sample_has_the_law(g, key):
    draws = g.sample(key, 40_000)
    frequencies = [(draws == atom).mean() for atom in g.atoms]
    # Four standard errors: fails with probability below 3e-4 if the key were drawn afresh.
    np.testing.assert_allclose(frequencies, g.weights, atol=4 * 0.5 / 200)


def test_sample_of_a_batch_keeps_rows_apart(key):
    batch = ReturnDistribution([[0.0, 1.0], [10.0, 11.0]], [0.5, 0.5])
    draws = batch.sample(key, 100)
    assert draws.shape == (2, 100)
    assert set(np.unique(draws[0])) == {0, 1}
    assert set(np.unique(draws[1])) == {10, 11}


def test_mid_quantiles_are_the_closest_equal_atoms():
    uniform = ReturnDistribution(np.linspace(0, 1, 1001))
    np.testing.assert_allclose(
        uniform.mid_quantiles(4).atoms, [0.125, 0.375, 0.625, 0.875], atol=1e-3
    )


def test_dictionary_round_trip(g):
    again = ReturnDistribution(**json.loads(json.dumps(g.to_dict())))
    assert bool(again == g)


def test_repr_tells_the_law(g):
    assert repr(g).startswith("ReturnDistribution(mean=-0.1, std=2.1")
    assert "4 atoms" in repr(g)
    batch = ReturnDistribution(jnp.zeros((2, 5)))
    assert repr(batch) == "ReturnDistribution(batch=(2,), 5 atoms)"


def test_indexing_a_batch():
    batch = ReturnDistribution(jnp.arange(6.0).reshape(3, 2))
    np.testing.assert_array_equal(batch[1].atoms, [2, 3])
    np.testing.assert_array_equal(batch[-1].atoms, [4, 5])
    np.testing.assert_array_equal(batch[..., 0].atoms, [0, 1])
    assert batch[:2].batch_shape == (2,)
    assert [float(g.mean()) for g in batch] == [0.5, 2.5, 4.5]
    for wrong in (7, (0, 0)):
        with pytest.raises(IndexError):
            batch[wrong]
    with pytest.raises(IndexError, match="no batch axis"):
        batch[1][0]
    with pytest.raises(TypeError, match="no batch axis"):
        iter(batch[1])


def test_weights_are_normalised_so_that_all_answers_agree():
    g = ReturnDistribution([1e5, 1e5], [0.500009, 0.5])
    assert g.mean() == g.cvar(1.0) == 1e5
    assert g.std() == 0


def test_a_rare_catastrophe_is_not_dominating():
    rare = ReturnDistribution([-1e6, 0.0], [5e-7, 1 - 5e-7])
    assert not bool(rare.dominates(ReturnDistribution([-10.0]), order=1))
    assert not bool(rare.dominates(ReturnDistribution([-0.4]), order=2))


def test_a_dirac_has_no_spread_and_a_gradient():
    gradient = jax.grad(lambda x: ReturnDistribution(x).std())(jnp.ones(3))
    np.testing.assert_array_equal(gradient, 0)


def test_unused_atoms_are_not_in_the_support():
    g = ReturnDistribution([-100.0, 0.0, 100.0], [0.0, 1.0, 0.0])
    assert g.quantile(0.0) == 0.0
    assert g.quantile(1.0) == 0.0
    assert g.cvar(0.01) == 0.0
    assert g.entropic_risk(3.0) == 0.0


@pytest.mark.parametrize("value", [0.1, 0.7, -0.3])
def test_a_value_is_equal_to_the_atom_made_from_it(value):
    """0.7 in single precision is below 0.7, 0.1 is above 0.1."""
    g = ReturnDistribution([value])
    assert (g.cdf(value), g.prob_below(value), g.prob_above(value)) == (1, 0, 0)
    assert jax.jit(lambda v: g.prob_below(v))(value) == 0


def test_values_beyond_single_precision_are_beyond_all_atoms(g):
    assert (g.prob_below(1e39), g.prob_above(1e39)) == (1, 0)


def test_a_spread_around_rounded_atoms_is_dominated():
    sure, spread = ReturnDistribution([0.2]), ReturnDistribution([0.1, 0.3])
    assert bool(sure.dominates(spread, order=2))
    assert not bool(ReturnDistribution([0.1999]).dominates(spread, order=2))


def test_the_last_quantile_is_the_largest_atom_with_mass():
    rare = ReturnDistribution([0.0, 1000.0, 2000.0], [1 - 5e-7, 5e-7, 0.0])
    assert rare.quantile(1.0) == 1000
    assert jax.jit(lambda g: g.quantile(1.0))(rare) == 1000
