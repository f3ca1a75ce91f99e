"""Learners by name."""

from collections.abc import Callable

from daleth import _checks
from daleth.models.learner import Learner


def _fast(gamma: float) -> Learner:
    from daleth.models.delta import fast_learner

    return fast_learner(gamma)


def _paper(gamma: float) -> Learner:
    from daleth.models.delta import paper_learner

    return paper_learner(gamma)


def _gamma_ensemble(gamma: float) -> Learner:
    from daleth.models.delta import gamma_ensemble_learner

    return gamma_ensemble_learner(gamma)


def _transition(gamma: float) -> Learner:
    from daleth.models.residual_gaussian import ResidualGaussianLearner

    return ResidualGaussianLearner(gamma=gamma)


PRESETS: dict[str, Callable[[float], Learner]] = {
    "fast": _fast,
    "paper": _paper,
    "gamma-ensemble": _gamma_ensemble,
    "transition": _transition,
}
"""A function of the discount factor for each name, which imports its learner when called.

`fast` is the default; `paper` is Algorithm 1 with the paper's numbers; `gamma-ensemble` and
`transition`, rollouts of a residual Gaussian one-step model, are baselines.
"""

DEFAULT_GAMMA = 0.95


def as_learner(model: object, gamma: object) -> Learner:
    """The learner that `fit` was asked for: one handed in, or a preset under a discount factor."""
    if isinstance(model, Learner):
        if gamma is not None and _checks.discount(gamma) != model.gamma:
            raise ValueError(
                f"gamma={gamma} contradicts the learner, whose gamma is {model.gamma}: leave it out"
            )
        _checks.discount(model.gamma)
        return model
    if not isinstance(model, str) or model not in PRESETS:
        known = ", ".join(repr(name) for name in PRESETS)
        raise ValueError(f"model must be a Learner or a preset ({known}), got {model!r}")
    return PRESETS[model](DEFAULT_GAMMA if gamma is None else _checks.discount(gamma))
