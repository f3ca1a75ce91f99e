"""Rewards written as expressions."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from daleth.envs import pendulum
from daleth.rewards import from_expression

STATES = np.array([[-2.0, 0.5], [0.0, 3.0], [1.5, -1.0]])
A, B = STATES.T

VALUES = {
    "3": [3, 3, 3],
    "x0": A,
    "b - a": B - A,
    "-a**2": -(A**2),
    "2**-b": 2.0**-B,
    "a**3 / 2 + 1e1": A**3 / 2 + 10,
    "a // 1": [-2, 0, 1],
    "a % 1.5": [1, 0, 0],
    "+a * (b - pi)": A * (B - np.pi),
    "a < b": [1, 1, 0],
    "-1 < a <= 1.5": [0, 1, 1],
    "a == 0 or b < 0": [0, 1, 1],
    "a != 0 and not b < 0": [1, 0, 0],
    "2 * (a > 0) - (b > 0)": [-1, -1, 2],
    "1 if a > 0 else -b": [-0.5, -3, 1],
    "log(a) if a > 0 else 0": [0, 0, np.log(1.5)],
    "where(b > 0, a, 7)": [-2, 0, 7],
    "min(a, b, 0)": [-2, 0, -1],
    "max(a, b)": [0.5, 3, 1.5],
    "clip(a, -1, 1)": [-1, 0, 1],
    "abs(a) + sign(a)": [1, 0, 2.5],
    "floor(b) + ceil(b) + round(a)": [-1, 6, 0],
    "sqrt(abs(a)) * exp(b)": np.sqrt(abs(A)) * np.exp(B),
    "sin(a) + cos(a) * tan(b) - tanh(a)": np.sin(A) + np.cos(A) * np.tan(B) - np.tanh(A),
    "arctan2(a, b) + arctan(a)": np.arctan2(A, B) + np.arctan(A),
    "arcsin(clip(a, -1, 1)) + arccos(0)": np.arcsin([-1, 0, 1]) + np.pi / 2,
    "True": [1, 1, 1],
}


@pytest.mark.parametrize("expression", VALUES)
def test_value(expression):
    reward = from_expression(expression, names=("a", "b"))
    np.testing.assert_allclose(reward(STATES), VALUES[expression], rtol=2e-6, atol=1e-6)


def test_any_batch_shape_and_inside_jit():
    reward = from_expression("-x0 if x1 > 0 else 1")
    grid = jnp.asarray(STATES).reshape(3, 1, 2)
    assert reward(STATES[0]).shape == ()
    np.testing.assert_array_equal(jax.jit(reward)(grid), [[2.0], [-0.0], [1.0]])
    np.testing.assert_array_equal(reward(grid), [[2.0], [-0.0], [1.0]])


def test_names_of_pendulum():
    """The reward of the paper, and a function beside the component of its name."""
    states = pendulum.pendulum_sources()
    written = from_expression("-(theta**2) - 0.1*thetadot**2", env="pendulum")
    np.testing.assert_allclose(written(states), pendulum.default(states), rtol=1e-6)
    beside = from_expression("cos(theta) - cos + velocity", env="pendulum")
    np.testing.assert_allclose(beside(states), states[:, 2], atol=1e-6)
    pairs = np.array([[1.0, 0.0, 1.0, 2.0]])
    with_action = from_expression("-theta**2 - 0.1*thetadot**2 - 0.001*action**2", env="pendulum")
    np.testing.assert_allclose(with_action(pairs), pendulum.default_with_action(pairs), rtol=1e-6)


REFUSED = {
    "": "reward must be an expression such as '-x0**2', got ''",
    "x0 +": "reward 'x0 +' is not an expression: invalid syntax",
    "x0 = 1": "is not an expression",
    "x0; x1": "is not an expression",
    "speed": "unknown name 'speed': known are a, b, x0, x1, …, pi",
    "e": "unknown name 'e'",
    "x0[0]": "must not contain 'x0[0]'",
    "a.real": "must not contain 'a.real'",
    "a.__class__()": "must not contain 'a.__class__()'",
    "'a' * 3": """must not contain "'a'": allowed are numbers, names of components""",
    "1j": "must not contain '1j'",
    "[a, b]": "must not contain '[a, b]'",
    "lambda: 1": "must not contain 'lambda: 1'",
    "(c := 1)": "must not contain '(c := 1)'",
    "[x for x in a]": "must not contain",
    "a ^ 2": "must not contain 'a ^ 2' (a power is **)",
    "a & b": "must not contain 'a & b' (write and)",
    "~a": "must not contain '~a'",
    "a @ b": "must not contain 'a @ b'",
    "a is b": "must not contain 'a is b'",
    "a in b": "must not contain 'a in b'",
    "__import__('os')": "unknown function '__import__': known are abs,",
    "eval('1')": "unknown function 'eval'",
    "min(*a)": "min takes 2 to 20 argument(s) in a reward, got 1",
    "max(*a, *b)": "must not contain '*a'",
    "clip(a, 0)": "clip takes 3 argument(s) in a reward, got 2",
    "round(a, ndigits=2)": "must not contain 'round(a, ndigits=2)'",
    "1e400": "numbers below 1e30",
    "1" + "0" * 400: "numbers below 1e30",
    "+".join("a" * 500): "must not be nested deeper than 100 levels",
    "(" * 500 + "a" + ")" * 500: "reward",
    "a\0": "reward",
}  # fmt: skip


@pytest.mark.parametrize("expression", REFUSED, ids=lambda text: repr(text[:20]))
def test_refused(expression):
    with pytest.raises(ValueError) as caught:  # noqa: PT011, the message is compared below
        from_expression(expression, names=("a", "b"))
    assert REFUSED[expression] in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_tower_of_powers_ends_at_once():
    assert not np.isfinite(from_expression("9**9**9**9")(STATES)).any()


def test_a_component_that_is_not_there():
    with pytest.raises(ValueError, match="uses x2, component 2 counted from 0, but states have 2"):
        from_expression("x2")(STATES)
    with pytest.raises(ValueError, match="uses action, component 3 .* states have 3 components"):
        from_expression("action", env="pendulum")(np.zeros((2, 3)))


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (("a b",), "names must be words such as speed, got 'a b'"),
        (("if",), "names must be words"),
        (("a", "a"), "names must be different from each other, got a, a"),
        (("x1", "x0"), "component 0 must not be called x1"),
        (("pi",), "component 0 must not be called pi"),
        ("ab", "names must be a sequence of names, got the string 'ab'"),
    ],
)
def test_bad_names(names, message):
    with pytest.raises(ValueError, match=message):
        from_expression("1", names=names)
