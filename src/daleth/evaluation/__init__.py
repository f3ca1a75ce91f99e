"""Truth, scores and calibration."""

from daleth.evaluation.calibration import Calibration, pit
from daleth.evaluation.scores import (
    ScoreCard,
    atom_floor,
    cvar_error,
    dirac_ceiling,
    equivalent_rollouts,
    mean_absolute_difference,
    mean_error,
    score,
    skill,
    squared_cramer,
    squared_cramer_to_sample,
    wasserstein,
)
from daleth.evaluation.truth import true_returns

__all__ = [
    "Calibration",
    "ScoreCard",
    "atom_floor",
    "cvar_error",
    "dirac_ceiling",
    "equivalent_rollouts",
    "mean_absolute_difference",
    "mean_error",
    "pit",
    "score",
    "skill",
    "squared_cramer",
    "squared_cramer_to_sample",
    "true_returns",
    "wasserstein",
]
