"""A reward from what a user typed: a name, a function in a file, a grid, or an expression."""

import re
from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp

from daleth._typing import Reward
from daleth.rewards.components import ANY_DIMENSION
from daleth.rewards.expression import from_expression
from daleth.rewards.grid import load_grid
from daleth.rewards.python_file import from_file

_PYTHON = re.compile(r"(.+\.py)(?::(.*))?", re.DOTALL)
_GRID = re.compile(r"(.+\.(?:csv|npz))(?::(.*))?", re.DOTALL)


def parse(text: Any, *, names: Sequence[str] = (), env: str | None = None) -> Reward:
    """Reads a reward.

    ```
    pendulum/stay-left               a reward of an environment by its name
    my_rewards.py:speed_limit        a function in a Python file, which is run
    reward.csv, reward.npz           values on a grid, see load_grid
    reward.csv:theta,velocity        the same, over these components
    -(theta**2) - 0.1*thetadot**2    an expression, see from_expression
    ```

    Args:
        text: one of these.
        names: what the components of the state are called, in order.
        env: the name of an environment whose names are known, such as "pendulum".

    Returns:
        A vectorised function of states, `[..., d] -> [...]`.

    Example:
        >>> import numpy as np
        >>> states = np.array([[0.0, -1.0, 3.0], [0.0, 1.0, 0.0]])
        >>> print(parse("pendulum/stay-left")(states))
        [-1.  0.]
        >>> print(parse("min(0, sin)", env="pendulum")(states))
        [-1.  0.]
        >>> print(parse("speed > 2", names=("cos", "sin", "speed"))(states))
        [1. 0.]
    """
    from daleth.envs import registry

    if not isinstance(text, str):
        raise ValueError(f"reward must be a text, got {text!r}")
    text = text.strip()
    if python := _PYTHON.fullmatch(text):
        path, function = python.groups()
        if not function:
            raise ValueError(f"say which function of the file is the reward, as in {path}:function")
        return from_file(path, function)
    if grid := _GRID.fullmatch(text):
        path, listed = grid.groups()
        components = () if listed is None else tuple(one.strip() for one in listed.split(","))
        return load_grid(path, components=components, names=names, env=env)
    # x/y is a quotient, pendulum/y the misspelt name of a reward, unless someone says otherwise.
    world = text.partition("/")[0]
    if world in registry.environment_names() and world not in names:
        return from_name(text)
    return from_expression(text, names=names, env=env)


def from_name(name: str) -> Reward:
    """The reward of an environment by its name, of states or of (state, action) side by side.

    Which of both it is asked for shows in the number of components; for pairs a term in the
    action is kept. An environment of any dimension has rewards of states alone.

    Example:
        >>> import numpy as np
        >>> reward = from_name("pendulum/default")
        >>> print(reward(np.array([1.0, 0.0, 1.0])), reward(np.array([1.0, 0.0, 1.0, 2.0])))
        -0.1 -0.104
    """
    from daleth.envs import registry

    of_states, of_pairs = registry.reward(name), registry.state_action_reward(name)
    world = name.partition("/")[0]
    if world in ANY_DIMENSION:
        return of_states
    num_components = len(registry.environment(world).state_names)

    def reward(states: Any) -> Any:
        states = jnp.asarray(states)
        is_pair = states.shape[-1] == num_components + 1
        return of_pairs(states) if is_pair else of_states(states)

    return reward
