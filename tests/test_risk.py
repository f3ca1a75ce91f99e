"""Risk functionals: hand-worked values and the axioms that define them."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from daleth import ReturnDistribution

SIZE = 6  # one size, so that nothing is compiled twice
numbers = st.floats(-100, 100, width=32, allow_subnormal=False)
levels = st.sampled_from([0.01, 0.1, 0.25, 0.4, 0.9, 1.0])


masses = st.lists(st.integers(0, 9), min_size=SIZE, max_size=SIZE).filter(any)
laws = st.tuples(st.lists(numbers, min_size=SIZE, max_size=SIZE), masses)


def distribution(law):
    atoms, counts = law
    return ReturnDistribution(atoms, np.array(counts) / np.sum(counts))


FUNCTIONALS = {
    "mean": lambda g: g.mean(),
    "cvar": lambda g: g.cvar(0.3),
    "upper cvar": lambda g: g.cvar(0.3, tail="upper"),
    "var": lambda g: g.var(0.3),
    "distortion": lambda g: g.distortion_risk(lambda u: 1 - (1 - u) ** 2),
    "spectral": lambda g: g.spectral_risk(lambda u: 2 * (1 - u)),
    "entropic": lambda g: g.entropic_risk(0.05),
}
FUNCTIONALS = {name: jax.jit(functional) for name, functional in FUNCTIONALS.items()}
HOMOGENEOUS = set(FUNCTIONALS) - {"entropic"}


def transformed(g, function):
    return ReturnDistribution(function(g.atoms), g.weights)


def test_values_worked_by_hand():
    g = ReturnDistribution([3.0, -4.0, 0.0, 1.0], [0.1, 0.2, 0.3, 0.4])
    assert g.mean() == pytest.approx(-0.1)
    assert g.variance() == pytest.approx(0.1 * 9 + 0.2 * 16 + 0.4 - 0.01, rel=1e-5)
    # The worst 0.35 of the mass: all of -4, and 0.15 of the atom 0.
    assert g.cvar(0.35) == pytest.approx(-0.8 / 0.35, rel=1e-5)
    # The best 0.35: all of 3, and 0.25 of the atom 1.
    assert g.cvar(0.35, tail="upper") == pytest.approx((0.3 + 0.25) / 0.35, rel=1e-5)
    np.testing.assert_array_equal(g.quantile([0.0, 0.2, 0.21, 0.5, 0.9, 1.0]), [-4, -4, 0, 0, 1, 3])
    np.testing.assert_array_equal(g.var([0.1, 0.3], tail="upper"), [3, 1])
    np.testing.assert_allclose(g.cdf([-5, -4, 0.5, 3]), [0, 0.2, 0.5, 1], atol=1e-6)
    assert g.prob_below(0.0) == pytest.approx(0.2)
    assert g.prob_above(0.0) == pytest.approx(0.5)
    assert g.mean_variance(2.0) == pytest.approx(-0.1 - 2 * 4.49, rel=1e-5)


def test_entropic_risk_in_closed_form():
    g = ReturnDistribution([-1.0, 1.0])
    assert g.entropic_risk(2.0) == pytest.approx(-np.log(np.cosh(2.0)) / 2, rel=1e-5)
    assert g.entropic_risk(-2.0) == pytest.approx(np.log(np.cosh(2.0)) / 2, rel=1e-5)
    assert g.entropic_risk(0.0) == 0.0
    # Small aversions: the mean minus β/2 times the variance, to first order.
    wide = ReturnDistribution([0.0, 1000.0, 3.0])
    for aversion in (1e-6, 1e-7, 1e-8):
        expected = float(wide.mean()) - aversion / 2 * 222001.56
        assert wide.entropic_risk(aversion) == pytest.approx(expected, rel=1e-6)
    # Far tails neither overflow nor lose the answer: it tends to the smallest atom.
    assert ReturnDistribution([-900.0, 1000.0]).entropic_risk(50.0) == pytest.approx(-900, abs=0.1)


@settings(max_examples=30, deadline=None)
@given(laws, numbers)
def test_translation(law, shift):
    g = distribution(law)
    for name, functional in FUNCTIONALS.items():
        moved = functional(transformed(g, lambda x: x + np.float32(shift)))
        assert moved == pytest.approx(float(functional(g)) + shift, abs=2e-3), name


@settings(max_examples=30, deadline=None)
@given(laws, st.floats(0.125, 8, width=32))
def test_positive_homogeneity(law, factor):
    g = distribution(law)
    for name in HOMOGENEOUS:
        scaled = FUNCTIONALS[name](transformed(g, lambda x: np.float32(factor) * x))
        assert scaled == pytest.approx(factor * float(FUNCTIONALS[name](g)), rel=1e-4, abs=2e-3), (
            name
        )


@settings(max_examples=30, deadline=None)
@given(laws, st.lists(st.floats(0, 10, width=32), min_size=SIZE, max_size=SIZE))
def test_monotonicity(law, gains):
    g = distribution(law)
    better = transformed(g, lambda x: x + jnp.array(gains, jnp.float32))
    assert bool(better.dominates(g, order=1))
    assert bool(better.dominates(g, order=2))
    for name, functional in FUNCTIONALS.items():
        assert functional(better) >= functional(g) - 2e-3, name


@settings(max_examples=30, deadline=None)
@given(laws, levels)
def test_cvar_between_minimum_and_mean(law, level):
    g = distribution(law)
    support = np.asarray(g.atoms)[np.asarray(g.weights) > 0]
    assert g.cvar(1.0) == pytest.approx(float(g.mean()), abs=1e-3)
    assert g.cvar(1e-4) == pytest.approx(support.min(), abs=1e-1)
    assert support.min() - 1e-3 <= g.cvar(level) <= g.mean() + 1e-3
    assert g.cvar(level) <= g.var(level) + 1e-3


@settings(max_examples=30, deadline=None)
@given(laws, levels)
def test_cvar_is_the_rockafellar_uryasev_maximum(law, level):
    """CVaR_α = max_t t - E(t - G)^+ / α, attained at an atom."""
    g = distribution(law)
    shortfall = jnp.maximum(g.atoms[:, None] - g.atoms, 0) @ g.weights
    best = jnp.max(g.atoms - shortfall / level)
    assert g.cvar(level) == pytest.approx(float(best), rel=1e-3, abs=1e-2)


def test_cvar_is_concave_in_the_mixture():
    """Diversification: CVaR of a comonotone sum is the sum, of any other coupling no less."""
    one, two = jnp.array([-2.0, 0.0, 5.0]), jnp.array([4.0, -1.0, 0.0])
    together = ReturnDistribution(one + two).cvar(0.5)
    assert together >= ReturnDistribution(one).cvar(0.5) + ReturnDistribution(two).cvar(0.5)
    comonotone = ReturnDistribution(jnp.sort(one) + jnp.sort(two)).cvar(0.5)
    apart = ReturnDistribution(one).cvar(0.5) + ReturnDistribution(two).cvar(0.5)
    assert comonotone == pytest.approx(float(apart))


def test_spectral_risk_is_the_distortion_by_its_integral():
    g = ReturnDistribution([5.0, -3.0, 2.0, 2.5], [0.15, 0.25, 0.5, 0.1])
    spectral = g.spectral_risk(lambda u: 3 * (1 - u) ** 2)
    distorted = g.distortion_risk(lambda u: 1 - (1 - u) ** 3)
    assert spectral == pytest.approx(float(distorted), rel=1e-5)
    cvar = g.distortion_risk(lambda u: jnp.minimum(u / 0.3, 1.0))
    assert cvar == pytest.approx(float(g.cvar(0.3)), rel=1e-5)


def test_risk_compiles_and_batches():
    atoms = jnp.array(np.random.default_rng(0).normal(size=(3, 4, 7)))
    batch = ReturnDistribution(atoms)

    def summary(g):
        risk = (g.mean(), g.cvar(0.4), g.quantile(0.3), g.cdf(0.1), g.entropic_risk(1.0))
        return jnp.stack(risk)

    looped = np.array([[summary(ReturnDistribution(row)) for row in block] for block in atoms])
    np.testing.assert_allclose(jnp.moveaxis(summary(batch), 0, -1), looped, rtol=1e-5)
    np.testing.assert_allclose(
        jax.jit(jax.vmap(jax.vmap(summary)))(batch), looped, rtol=1e-4, atol=1e-6
    )


def test_gradient_of_cvar_is_the_tail_weight():
    atoms = jnp.array([3.0, -1.0, 0.5, 2.0])
    gradient = jax.grad(lambda x: ReturnDistribution(x).cvar(0.375))(atoms)
    np.testing.assert_allclose(gradient, [0, 0.25 / 0.375, 0.125 / 0.375, 0], atol=1e-6)
