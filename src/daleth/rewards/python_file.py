"""Rewards from functions in Python files of the user, which are run."""

import os
import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

from daleth._typing import Reward


def from_file(path: str | os.PathLike[str], function: str) -> Reward:
    """The reward function of this name in a Python file.

    The file is run, as `python file.py` would, with another `__name__` than `"__main__"`: use
    files that you trust.

    Args:
        path: the file.
        function: the name of a function of states, `[..., d] -> [...]`.

    Example:
        >>> _ = Path("my_rewards.py").write_text("def too_fast(x): return 1.0 * (x[..., 0] > 3)")
        >>> import numpy as np
        >>> print(from_file("my_rewards.py", "too_fast")(np.array([[2.0], [4.0]])))
        [0. 1.]
    """
    # An IndexError says which component is missing: `reward_values` knows what to make of it.
    return in_one_sentence(load_function(path, function), f"reward {function}", IndexError)


def load_function(path: str | os.PathLike[str], function: str) -> Callable[..., Any]:
    """What a Python file calls by this name, if it can be called; the file is run."""
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"there is no file {str(path)!r}")
    try:
        found = runpy.run_path(str(path), run_name="daleth_user_file")
    except Exception as error:
        raise ValueError(f"{str(path)!r} could not be run: {_told(error)}") from error
    if not callable(found.get(function)):
        own = [name for name, one in found.items() if callable(one) and not name.startswith("_")]
        raise ValueError(
            f"{str(path)!r} has no function {function!r}, it has {', '.join(own) or 'none'}"
        )
    return found[function]


def in_one_sentence(
    function: Callable[..., Any], label: str, *passing: type[Exception]
) -> Callable[..., Any]:
    """The function, whose errors become a ValueError with its label, except for those passing."""

    def guarded(*arguments: Any) -> Any:
        try:
            return function(*arguments)
        except passing:
            raise
        except Exception as error:
            raise ValueError(f"{label} failed: {_told(error)}") from error

    return guarded


def _told(error: Exception) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())
