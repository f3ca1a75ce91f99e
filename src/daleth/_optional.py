"""Packages that only some users have."""

from importlib import import_module
from types import ModuleType


def require(name: str, extra: str) -> ModuleType:
    """The module `name`, or an ImportError that says which extra brings it."""
    try:
        return import_module(name)
    except ImportError as error:
        raise ImportError(
            f'this needs {name.partition(".")[0]}: pip install "daleth[{extra}]"'
        ) from error
