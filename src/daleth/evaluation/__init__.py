"""Truth, scores, calibration, and diagnosis without a simulator."""

from daleth.evaluation.calibration import Calibration, interpolated_pit, pit
from daleth.evaluation.diagnosis import diagnose
from daleth.evaluation.report import Diagnosis
from daleth.evaluation.reward_bank import reward_bank
from daleth.evaluation.scores import (
    ScoreCard,
    atom_floor,
    crps,
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
    "Diagnosis",
    "ScoreCard",
    "atom_floor",
    "crps",
    "cvar_error",
    "diagnose",
    "dirac_ceiling",
    "equivalent_rollouts",
    "interpolated_pit",
    "mean_absolute_difference",
    "mean_error",
    "pit",
    "reward_bank",
    "score",
    "skill",
    "squared_cramer",
    "squared_cramer_to_sample",
    "true_returns",
    "wasserstein",
]
