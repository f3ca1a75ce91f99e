"""Rewards from expressions over named components: parsed, checked against a list, never run."""

import ast
import math
from collections.abc import Callable, Mapping, Sequence
from types import ModuleType
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from daleth._typing import Real, Reward
from daleth.rewards.components import (
    Component,
    as_states,
    backend,
    find_component,
    known_components,
)

_MAX_DEPTH = 100  # compiling and evaluating recurse, and Python has a limit to that


Operation = Callable[..., Any]
"""A function of NumPy or `jax.numpy`, and of arrays."""


class _Function(NamedTuple):
    call: Operation
    least: int = 1
    most: int = 1


def _of(name: str) -> Operation:
    return lambda xp, *values: getattr(xp, name)(*values)


def _truth(name: str) -> Operation:
    # Truth is 1 and falsehood 0, so that comparisons can be added and weighted.
    return lambda xp, *values: 1.0 * getattr(xp, name)(*values)


def _fold(pair: Operation) -> Operation:
    def of_many(xp: ModuleType, first: Any, *rest: Any) -> Any:
        for one in rest:
            first = pair(xp, first, one)
        return first

    return of_many


def _where(xp: ModuleType, condition: Any, value: Any, other: Any) -> Any:
    return xp.where(condition != 0, value, other)


FUNCTIONS = {
    "abs": _Function(_of("abs")),
    "arccos": _Function(_of("arccos")),
    "arcsin": _Function(_of("arcsin")),
    "arctan": _Function(_of("arctan")),
    "arctan2": _Function(_of("arctan2"), 2, 2),
    "ceil": _Function(_of("ceil")),
    "clip": _Function(_of("clip"), 3, 3),
    "cos": _Function(_of("cos")),
    "exp": _Function(_of("exp")),
    "floor": _Function(_of("floor")),
    "log": _Function(_of("log")),
    "max": _Function(_fold(_of("maximum")), 2, 20),
    "min": _Function(_fold(_of("minimum")), 2, 20),
    "round": _Function(_of("round")),
    "sign": _Function(_of("sign")),
    "sin": _Function(_of("sin")),
    "sqrt": _Function(_of("sqrt")),
    "tan": _Function(_of("tan")),
    "tanh": _Function(_of("tanh")),
    "where": _Function(_where, 3, 3),
}
"""What an expression may call."""

_BINARY: dict[type, Operation] = {
    ast.Add: _of("add"),
    ast.Sub: _of("subtract"),
    ast.Mult: _of("multiply"),
    ast.Div: _of("divide"),
    ast.FloorDiv: _of("floor_divide"),
    ast.Mod: _of("remainder"),
    ast.Pow: _of("power"),
}
_COMPARISONS: dict[type, Operation] = {
    ast.Lt: _truth("less"),
    ast.LtE: _truth("less_equal"),
    ast.Gt: _truth("greater"),
    ast.GtE: _truth("greater_equal"),
    ast.Eq: _truth("equal"),
    ast.NotEq: _truth("not_equal"),
}
_UNARY: dict[type, Operation] = {
    ast.UAdd: _of("positive"),
    ast.USub: _of("negative"),
    ast.Not: _truth("logical_not"),
}
_BOOLEAN: dict[type, Operation] = {
    ast.And: _fold(_truth("logical_and")),
    ast.Or: _fold(_truth("logical_or")),
}
_HINTS = {ast.BitXor: "a power is **", ast.BitAnd: "write and", ast.BitOr: "write or"}


def from_expression(
    expression: Any, *, names: Sequence[str] = (), env: str | None = None
) -> Reward:
    """The reward that an expression over the components of a state describes.

    Components are `x0`, `x1`, … and those that `names` or an environment name. There are numbers,
    `pi`, `+ - * / // % **`, comparisons (1 if true, 0 if not; chains such as `0 < x0 < 1`), `and`,
    `or`, `not`, `a if c else b`, and the functions in `FUNCTIONS`. A name before a bracket is a
    function, any other is a component: `cos(theta)` and `cos` of Pendulum are both fine.

    Args:
        expression: such as `"-(theta**2) - 0.1 * thetadot**2"`; it is read and never executed.
        names: what the components are called, in order.
        env: the name of an environment whose names are known, such as "pendulum".

    Returns:
        A vectorised function of states, `[..., d] -> [...]`.

    Example:
        >>> reward = from_expression("-abs(x) if y > 0 else 2", env="windy")
        >>> print(reward(jnp.array([[-1.5, 1.0], [3.0, -1.0]])))
        [-1.5  2. ]
    """
    value = _compile(_parsed(expression), known_components(names, env))

    def reward(states: Any) -> Float[Array, "*shape"]:
        states = as_states(states)
        with np.errstate(all="ignore"):  # as JAX; whoever asks checks that rewards are finite
            found = value(states)
        return jnp.broadcast_to(jnp.asarray(found, states.dtype), states.shape[:-1])

    return reward


def _parsed(expression: object) -> ast.expr:
    if not isinstance(expression, str) or not expression.strip():
        raise ValueError(f"reward must be an expression such as '-x0**2', got {expression!r}")
    try:
        tree = ast.parse(expression.strip(), mode="eval").body
    except SyntaxError as error:
        where = f" at character {error.offset}" if error.offset else ""
        raise ValueError(
            f"reward {expression!r} is not an expression: {error.msg}{where}"
        ) from error
    except (MemoryError, RecursionError, ValueError) as error:
        raise ValueError("reward is an expression too deep or too strange to read") from error
    if _depth(tree) > _MAX_DEPTH:
        raise ValueError(
            f"reward must not be nested deeper than {_MAX_DEPTH} levels, and every term of a sum "
            "is a level: write a function in a Python file instead"
        )
    return tree


def _depth(tree: ast.AST) -> int:
    level, depth = [tree], 0
    while level:
        level, depth = [child for node in level for child in ast.iter_child_nodes(node)], depth + 1
    return depth


def _compile(node: ast.expr, known: Mapping[str, Component]) -> Component:
    """A function of states for one node, from those of the nodes below it."""

    def compiled(*nodes: ast.expr) -> list[Component]:
        return [_compile(one, known) for one in nodes]

    match node:
        case ast.Constant(value=int() | float() as number):
            return _number(number)
        case ast.Name(id=name):
            return _name(name, known)
        case ast.UnaryOp(op=op, operand=operand):
            return _apply(_listed(_UNARY, op, node), compiled(operand))
        case ast.BinOp(left=left, op=ast.Pow(), right=ast.Constant(value=int() as power)):
            # Whole powers are exact for negative numbers too; of huge ones JAX makes huge code.
            if abs(power) <= 16:
                return _apply(lambda xp, base: base**power, compiled(left))
            return _apply(_of("power"), [*compiled(left), _number(power)])
        case ast.BinOp(left=left, op=op, right=right):
            return _apply(_listed(_BINARY, op, node), compiled(left, right))
        case ast.BoolOp(op=op, values=values):
            return _apply(_listed(_BOOLEAN, op, node), compiled(*values))
        case ast.Compare(left=left, ops=ops, comparators=others):
            links = [_listed(_COMPARISONS, op, node) for op in ops]
            return _chain(links, compiled(left, *others))
        case ast.IfExp(test=test, body=body, orelse=orelse):
            return _apply(_where, compiled(test, body, orelse))
        case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]):
            return _apply(_function(name, len(arguments)), compiled(*arguments))
    raise _refusal(node)


def _apply(operation: Operation, parts: Sequence[Component]) -> Component:
    return lambda states: operation(backend(states), *(part(states) for part in parts))


def _chain(links: Sequence[Operation], parts: Sequence[Component]) -> Component:
    """`a < b <= c` is `a < b and b <= c`."""

    def holds(states: Any) -> Any:
        values = [part(states) for part in parts]
        pairs = zip(links, values[:-1], values[1:], strict=True)
        return math.prod(link(backend(states), a, b) for link, a, b in pairs)

    return holds


def _number(number: Real) -> Component:
    if not abs(number) < 1e30:
        raise ValueError("reward must have numbers below 1e30, got a larger one")
    # An array from the start: of Python's numbers a power of a power may never end.
    return lambda states: backend(states).asarray(float(number), states.dtype)


def _name(name: str, known: Mapping[str, Component]) -> Component:
    if name == "pi":
        return _number(math.pi)
    found = find_component(name, known)
    if found is None:
        names = ", ".join([*known, "x0, x1, …", "pi"])
        hint = "" if known else "; more come with env= or names= (--env, --names)"
        raise ValueError(f"reward uses the unknown name {name!r}: known are {names}{hint}")
    return found


def _function(name: str, count: int) -> Operation:
    if name not in FUNCTIONS:
        raise ValueError(
            f"reward calls the unknown function {name!r}: known are {', '.join(FUNCTIONS)}"
        )
    function = FUNCTIONS[name]
    if not function.least <= count <= function.most:
        wanted = " to ".join(str(one) for one in sorted({function.least, function.most}))
        raise ValueError(f"{name} takes {wanted} argument(s) in a reward, got {count}")
    return function.call


def _listed(table: Mapping[type, Any], op: ast.AST, node: ast.expr) -> Operation:
    if type(op) not in table:
        raise _refusal(node, _HINTS.get(type(op), ""))
    return table[type(op)]


def _refusal(node: ast.expr, hint: str = "") -> ValueError:
    piece = ast.unparse(node)
    piece = piece if len(piece) <= 60 else piece[:57] + "..."
    return ValueError(
        f"reward must not contain {piece!r}{f' ({hint})' if hint else ''}: allowed are numbers, "
        "names of components, + - * / // % **, comparisons, and, or, not, 'a if c else b', and "
        f"the functions {', '.join(FUNCTIONS)}"
    )
