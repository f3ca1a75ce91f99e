"""The figures of the paper, one short file each; `daleth reproduce` runs them."""

from importlib import import_module
from types import ModuleType

from daleth import _checks

_FIGURES = (
    "t-maze",
    "three-state",
    "sierpinski",
    "windy-selection",
    "windy-atoms",
    "windy-returns",
    "pendulum-densities",
    "pendulum-cramer",
    "ablations",
)


def figure_names() -> list[str]:
    """The figures that `experiment` knows, quick ones first."""
    return list(_FIGURES)


def experiment(name: str) -> ModuleType:
    """The module behind a figure: its `Config` has every knob, its `run` draws and checks."""
    _checks.one_of("figure", name, _FIGURES)
    return import_module(f"daleth.experiments.{name.replace('-', '_')}")
