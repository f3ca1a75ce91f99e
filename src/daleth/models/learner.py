"""What a learner is: hyperparameters, and three pure functions that a training loop calls."""

import abc
import dataclasses
from typing import Any

import equinox as eqx
from jaxtyping import Array, Float, PRNGKeyArray, PyTree

from daleth.data import Problem, Windows
from daleth.models.base import Model

State = PyTree
"""Arrays that the next step needs: parameters, target parameters, optimiser states."""
Info = dict[str, Float[Array, ""]]
"""Diagnostics of one step by name; `"loss"` is always among them."""


class Learner(eqx.Module):
    """An algorithm as a value: all its fields are static hyperparameters.

    Hyperparameters are numbers, strings, booleans, None or tuples of these, so that a file can
    hold them; the arrays of a state stay finite as long as all is well.

    A training loop draws windows, puts them into normalised units, and calls `step`; a model in
    the units of the user comes out of `model` at any time.
    """

    gamma: eqx.AbstractVar[float]
    """The discount factor."""
    batch_size: eqx.AbstractVar[int]
    """The number of windows in a step."""
    num_bootstrap_steps: eqx.AbstractVar[int]
    """The length `n` of a window."""

    @abc.abstractmethod
    def init(self, key: PRNGKeyArray, problem: Problem) -> State:
        """The state before the first step."""

    @abc.abstractmethod
    def step(self, key: PRNGKeyArray, state: State, windows: Windows) -> tuple[State, Info]:
        """One update on a batch of windows with normalised states."""

    @abc.abstractmethod
    def model(self, state: State, problem: Problem) -> Model:
        """The model that a state stands for."""

    def config(self) -> dict[str, Any]:
        """The hyperparameters by name: `type(self)(**config)` is this learner again."""
        return {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
