"""What the components of a state are called."""

import keyword
import re
from collections.abc import Callable, Mapping, Sequence
from types import ModuleType
from typing import Any

import jax.numpy as jnp
import numpy as np

from daleth import _checks

Component = Callable[[Any], Any]
"""A function of states, `[..., d] -> [...]`, that are arrays of NumPy or traced by JAX."""

ANY_DIMENSION = ("linear-gaussian",)
"""Environments whose states have as many components as one likes."""

_NUMBERED = re.compile(r"x(\d{1,9})")


def as_states(states: Any) -> Any:
    """States as floats: in NumPy if the numbers are at hand, since there nothing is compiled."""
    return backend(states).asarray(states, jnp.result_type(float))


def backend(states: object) -> ModuleType:
    """NumPy for numbers at hand, JAX for those that are being traced."""
    return jnp if _checks.is_traced(states) else np


def component(index: int, name: str | None = None) -> Component:
    """The component with this number, which is called `name`, `x0`, `x1`, … if not said."""
    name = f"x{index}" if name is None else name

    def of_states(states: Any) -> Any:
        # JAX would take the last component instead of one that is not there.
        if index >= states.shape[-1]:
            raise ValueError(
                f"reward uses {name}, component {index} counted from 0, "
                f"but states have {states.shape[-1]} components"
            )
        return states[..., index]

    return of_states


def known_components(names: Sequence[str] = (), env: str | None = None) -> dict[str, Component]:
    """Components by name: those of an environment, and those that `names` calls in order.

    Pendulum has `theta` and `thetadot` besides `cos`, `sin` and `velocity`. Where occupancies of
    pairs are measured, `action` is the component behind the state.
    """
    found: dict[str, Component] = {}
    if env is not None:
        found |= _of_environment(env)
    if isinstance(names, str):
        raise ValueError(f"names must be a sequence of names, got the string {names!r}")
    for index, name in enumerate(names):
        _check_name(name, index)
        found[name] = component(index, name)
    if len(set(names)) < len(names):
        raise ValueError(f"names must be different from each other, got {', '.join(names)}")
    return found


def find_component(name: str, known: Mapping[str, Component]) -> Component | None:
    """The component of this name, where `x0`, `x1`, … are always known."""
    if name in known:
        return known[name]
    numbered = _NUMBERED.fullmatch(name)
    return component(int(numbered.group(1))) if numbered else None


def _of_environment(env: str) -> dict[str, Component]:
    from daleth.envs import registry  # environments are heavy, and a grid or a file needs none

    names = (*registry.environment(env).state_names, "action")
    if env in ANY_DIMENSION:
        return {}
    found = {name: component(index, name) for index, name in enumerate(names)}
    if env == "pendulum":
        cos, sin = component(0, "theta"), component(1, "theta")
        found["theta"] = lambda states: backend(states).arctan2(sin(states), cos(states))
        found["thetadot"] = component(2, "thetadot")
    return found


def _check_name(name: object, index: int) -> None:
    if not isinstance(name, str) or not name.isidentifier() or keyword.iskeyword(name):
        raise ValueError(f"names must be words such as speed, got {name!r}")
    numbered = _NUMBERED.fullmatch(name)
    if name == "pi" or (numbered and int(numbered.group(1)) != index):
        raise ValueError(f"component {index} must not be called {name}, which is something else")
