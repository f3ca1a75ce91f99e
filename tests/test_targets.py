import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from daleth.measures import StateMeasures
from daleth.targets import (
    draw_offsets,
    exact_target,
    following,
    horizon,
    sampled_target,
    target_weights,
)

# By hand, for n = 3 and gamma = 1/2: (length, terminated, direct masses, bootstrap mass).
TABLE = [
    (3, False, [1 / 2, 1 / 4, 1 / 8, 0], 1 / 8),
    (3, True, [1 / 2, 1 / 4, 1 / 8, 1 / 8], 0),
    (2, False, [1 / 2, 1 / 4, 0, 0], 1 / 4),
    (2, True, [1 / 2, 1 / 4, 1 / 4, 0], 0),
    (1, True, [1 / 2, 1 / 2, 0, 0], 0),
    (0, True, [1, 0, 0, 0], 0),
]

batched = jax.jit(jax.vmap(target_weights, (0, 0, None, 0)), static_argnums=2)


@pytest.mark.parametrize(("length", "terminated", "direct", "bootstrap"), TABLE)
def test_weights_worked_by_hand(length, terminated, direct, bootstrap):
    weights = target_weights(jnp.array(length), jnp.array(terminated), 3, 0.5)
    assert weights.direct.tolist() == direct
    assert weights.bootstrap.item() == bootstrap
    assert weights.bootstrap_index.item() == length


def test_batched_and_compiled_is_the_same():
    lengths, terminated, direct, bootstrap = (
        jnp.array(column) for column in zip(*TABLE, strict=True)
    )
    weights = batched(lengths, terminated, 3, jnp.full(len(TABLE), 0.5))
    np.testing.assert_array_equal(weights.direct, direct)
    np.testing.assert_array_equal(weights.bootstrap, bootstrap)


@settings(max_examples=50, deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(0, 50), st.booleans(), st.floats(0, 0.999)), min_size=8, max_size=8
    )
)
def test_weights_are_a_probability_in_every_case(cases):
    lengths, terminated, gammas = (np.array(column) for column in zip(*cases, strict=True))
    weights = batched(lengths, terminated, 50, gammas.astype(np.float32))
    weights = jax.tree.map(np.asarray, weights)
    assert (weights.direct >= 0).all()
    assert (weights.bootstrap >= 0).all()
    total = weights.direct.sum(axis=1) + weights.bootstrap
    np.testing.assert_allclose(total, 1, atol=3e-6)
    # No mass lies behind the last real step.
    behind = np.arange(51) > lengths[:, None]
    assert not weights.direct[behind].any()


def test_without_a_future_all_mass_is_on_the_first_state():
    weights = target_weights(jnp.array(4), jnp.array(False), 4, 0.0)
    assert weights.direct.tolist() == [1, 0, 0, 0, 0]
    assert weights.bootstrap.item() == 0


def test_a_bootstrap_that_is_exact_reproduces_the_longer_target():
    # In the chain 0, 1, 2, ... the measure at x_2 is itself a target from x_2.
    long = target_weights(jnp.array(5), jnp.array(True), 5, 0.9)
    short = target_weights(jnp.array(2), jnp.array(False), 5, 0.9)
    inner = target_weights(jnp.array(3), jnp.array(True), 5, 0.9)
    composed = short.direct + short.bootstrap * jnp.roll(inner.direct, 2)
    np.testing.assert_allclose(composed, long.direct, rtol=1e-6)


@pytest.mark.parametrize("gamma", [0.0, 0.6])
@pytest.mark.parametrize(
    ("length", "terminated"), [(3, False), (2, False), (1, True), (3, True), (0, True)]
)
def test_a_future_behind_its_source_is_the_whole_target(length, terminated, gamma):
    """States are numbered, and the future at $x_K$ is the point -1."""
    states = jnp.minimum(jnp.arange(4.0), length)[:, None]
    ends = jnp.array(length), jnp.array(terminated)
    future = StateMeasures([[[-1.0]]])
    whole = exact_target(states, *ends, future.after(states[length], gamma), gamma).measures()
    ahead = exact_target(following(states), *ends, future, gamma).measures()
    for number in (-1, 0, 1, 2, 3):
        masses = [
            float(jnp.sum(one.point_weights * (one.points[..., 0] == number)))
            for one in (ahead.after(states[0], gamma), whole)
        ]
        assert masses[0] == pytest.approx(masses[1], abs=1e-6)


def test_horizon():
    assert horizon(0.5, 0.25) == 2
    assert horizon(0.5, 0.24) == 3
    assert horizon(0.0) == 1
    assert 0.95 ** horizon(0.95) <= 1e-6 < 0.95 ** (horizon(0.95) - 1)
    with pytest.raises(ValueError, match="tolerance must lie in"):
        horizon(0.9, 0.0)


@pytest.mark.parametrize("gamma", [0.0, 0.5, 0.9])
def test_offsets_are_geometric(key, gamma):
    offsets = np.asarray(draw_offsets(key, (20_000,), gamma))
    assert offsets.min() == 0
    for k in range(4):
        share, expected = (offsets == k).mean(), (1 - gamma) * gamma**k
        assert share == pytest.approx(expected, abs=4 * (expected / 20_000) ** 0.5 + 1e-9)


@pytest.mark.parametrize(("length", "terminated"), [(3, False), (2, False), (2, True), (3, True)])
def test_sampled_targets_have_the_exact_weights(key, length, terminated):
    """States are numbered and the model always answers -1, so shares are the masses."""
    gamma, num = 0.6, 40_000
    states = jnp.minimum(jnp.arange(4.0), length)[:, None]
    offsets = draw_offsets(key, (num,), gamma)
    drawn = sampled_target(
        states, jnp.array(length), jnp.array(terminated), offsets, jnp.full((num, 1), -1.0)
    )
    weights = target_weights(jnp.array(length), jnp.array(terminated), 3, gamma)
    for step in range(4):
        share = float((drawn[:, 0] == step).mean())
        assert share == pytest.approx(float(weights.direct[step]), abs=4 * 0.5 / num**0.5)
    assert float((drawn == -1).mean()) == pytest.approx(float(weights.bootstrap), abs=0.01)


@pytest.mark.parametrize(
    ("length", "terminated"),
    [(3, False), (2, False), (2, True)],
    ids=["full", "truncated", "terminated"],
)
def test_exact_targets_are_the_mean_of_sampled_ones(key, length, terminated):
    """Two atoms on two points each; mean embeddings in cosines within 4 standard errors."""
    gamma, num = 0.7, 20_000
    key_offset, key_choice = jax.random.split(key)
    states = jnp.array([[0.0], [1.0], [-1.0], [2.0]])[jnp.minimum(jnp.arange(4), length)]
    bootstrap = StateMeasures(jnp.array([[[0.5], [3.0]], [[-2.0], [1.5]]]))
    ends = states, jnp.array(length), jnp.array(terminated)

    exact = exact_target(*ends, bootstrap, gamma).measures()
    np.testing.assert_allclose(exact.point_weights.sum(axis=-1), 1, rtol=1e-6)
    offsets = draw_offsets(key_offset, (2, num), gamma)
    choice = jax.random.randint(key_choice, (2, num, 1), 0, 2)
    drawn = sampled_target(*ends, offsets, jnp.take_along_axis(bootstrap.points, choice, axis=1))

    def features(points):
        return np.cos(np.asarray(points) * np.linspace(0.3, 2.5, 6) + np.arange(6))

    wanted = (np.asarray(exact.point_weights)[..., None] * features(exact.points)).sum(axis=1)
    found = features(drawn)
    error = found.std(axis=1) / num**0.5
    assert (np.abs(found.mean(axis=1) - wanted) < 4 * error).all()
    assert (error < 0.01).all()


@pytest.mark.parametrize("gamma", [0.99, 0.999, 0.9999])
@pytest.mark.parametrize("terminated", [False, True])
def test_weights_sum_to_one_near_gamma_one(gamma, terminated):
    num_steps = horizon(gamma)
    weights = target_weights(jnp.array(num_steps), jnp.array(terminated), num_steps, gamma)
    total = np.asarray(weights.direct, np.float64).sum() + float(weights.bootstrap)
    assert total == pytest.approx(1, abs=2e-6)


def test_horizon_is_the_smallest():
    for gamma in (0.1, 0.5, 0.9, 0.999):
        steps = horizon(gamma)
        assert gamma**steps <= 1e-6 < gamma ** (steps - 1)


def test_offsets_near_one(key):
    """A geometric time has the mean γ / (1-γ), also where γ is not a float32."""
    gamma = 1 - 1e-6
    offsets = np.asarray(draw_offsets(key, (40_000,), gamma), float)
    assert offsets.mean() * (1 - gamma) == pytest.approx(1, abs=4 / 200)
