"""Trajectories, what is known about them, and windows drawn from them."""

from daleth.data.describe import Description
from daleth.data.episodes import End, Episode
from daleth.data.normalise import Normalisation
from daleth.data.problem import Problem
from daleth.data.trajectories import Trajectories
from daleth.data.windows import Windows, WindowSampler

__all__ = [
    "Description",
    "End",
    "Episode",
    "Normalisation",
    "Problem",
    "Trajectories",
    "WindowSampler",
    "Windows",
]
