"""The verdict: what speaks against a model, by thresholds that stand here and in every sentence."""

import textwrap
from typing import TYPE_CHECKING, Any

import numpy as np

from daleth.evaluation.support import OUTSIDE

if TYPE_CHECKING:
    from daleth.evaluation.report import Diagnosis
else:
    Diagnosis = Any  # a report holds its verdict: the import would go round in a circle

MIN_STARTS = 50
COVERAGE_TOLERANCE = 0.05
STANDARD_ERRORS = 3.0
ERROR_SHARE = 0.05
P_VALUE = 0.01
MIN_TAIL_ATOMS = 5.0
SEED_SPREAD = 0.25

_WIDTH = 98


def reasons(found: Diagnosis) -> tuple[str, ...]:
    """Why a model is not fit for use."""
    against: list[str] = []
    if found.is_training_data:
        against.append("these are the data the model was trained on: give it held-out data")
    if found.num_starts < MIN_STARTS:
        against.append(
            f"too little to judge by: {found.num_starts} independent start states, "
            f"{MIN_STARTS} are needed"
        )
    against += _calibration(found)
    for name, gap in (
        ("realised returns", found.error),
        (f"its own {found.num_bootstrap_steps}-step Bellman targets", found.bellman),
    ):
        if gap.share > ERROR_SHARE and gap.p_value <= P_VALUE:
            against.append(
                f"the laws differ from {name}: {gap.share:.1%} of the score is error "
                f"(limit {ERROR_SHARE:.0%}, p = {gap.p_value:.3g})"
            )
    skill = found.skill()
    if skill.value < -STANDARD_ERRORS * skill.error - 0.01:
        against.append(
            f"worse than ignoring the state: skill {skill.value:.2f} ± {skill.error:.2f} against "
            "the law of all held-out returns (limit 0)"
        )
    return (*against, *_questions(found))


def notes(found: Diagnosis) -> tuple[str, ...]:
    """What one should know and what does not speak against the model."""
    told: list[str] = []
    if found.nearest is not None and found.climatology.any():
        lead = found.skill(found.nearest).value - found.skill().value
        pairs = (found.relative(found.crps) - found.relative(found.nearest)).mean(axis=0)
        if lead > STANDARD_ERRORS * pairs.std() / np.sqrt(len(pairs)):
            told.append(
                f"the nearest held-out trajectories score better, by {lead:.3f} of skill: "
                "EmpiricalModel may serve you better, or this model could be trained for longer"
            )
    if found.atom_share > ERROR_SHARE:
        told.append(
            f"{found.num_atoms:.3g} atom(s) alone add {found.atom_share:.1%} to a perfect score: "
            "a model with more atoms would do better"
        )
    steady = [
        name
        for name, scores in zip(found.reward_names, found.climatology, strict=True)
        if scores.mean() <= 0
    ]
    if steady:
        told.append(f"the return of {', '.join(steady)} is the same from every start state")
    return tuple(told)


def page(found: Diagnosis) -> str:
    """The diagnosis as one page of text."""
    half, most = (found.coverage(level) for level in (0.5, 0.9))
    skill, support = found.skill(), found.support
    lowest = MIN_TAIL_ATOMS / found.num_atoms
    lines = {
        "model": f"gamma {found.gamma:g}, {found.num_atoms:.3g} atom(s)",
        "held-out": f"{found.num_starts} start states in {found.num_episodes} episodes, "
        f"{len(found.reward_names)} reward(s); on average {found.unseen_mass:.1%} of a future is "
        "behind the end of its episode, where the model's own draw stands in",
        "calibration": f"50 % intervals hold {_percent(half)} and 90 % intervals "
        f"{_percent(most)} of the realised returns",
        "score": f"CRPS skill {skill.value:.3f} ± {skill.error:.3f}, where 0 ignores the state and "
        f"1 is perfect; {_nearest(found)}",
        "error": f"{_share(found.error)} of the score is error against realised returns, "
        f"{_share(found.bellman)} against {found.num_bootstrap_steps}-step Bellman targets; "
        f"{found.num_atoms:.3g} ideal atom(s) would cost {found.atom_share:.2%}",
        "tails": f"CVaR rests on {MIN_TAIL_ATOMS:g} atoms or more "
        + (f"from level {lowest:.2g} up" if lowest <= 1 else "at no level"),
        "support": f"held-out states have a neighbour within {np.median(support.heldout):.2g} "
        f"standard deviations (median; {OUTSIDE:.0%} within {support.limit:.2g}); "
        f"{_sources(found)}",
    }
    if found.seed_spread:
        spreads = ", ".join(f"{name} {value:.2g}" for name, value in found.seed_spread.items())
        lines["seeds"] = f"models differ by, in standard deviations of the returns: {spreads}"
    rows = [*lines.items(), *(("note", note) for note in found.notes)]
    rows.append(("verdict", "fit for use" if found.fit_for_use else "NOT FIT FOR USE"))
    rows += [("", f"- {reason}") for reason in found.reasons]
    return "\n".join(
        textwrap.fill(f"{name:<13}{text}", _WIDTH, subsequent_indent=" " * 13)
        for name, text in rows
    )


def _calibration(found: Diagnosis) -> list[str]:
    against = []
    ideal = 1 - 1 / found.num_atoms
    for level in (0.5, 0.9):
        held = found.coverage(level)
        gap = held.value - level
        cause = f"; {found.num_atoms:.3g} ideal atom(s) hold {ideal:.0%}" * (ideal < level)
        if abs(gap) > max(COVERAGE_TOLERANCE, STANDARD_ERRORS * held.error):
            against.append(
                f"intervals are too {'narrow' if gap < 0 else 'wide'}: those of {level:.0%} hold "
                f"{_percent(held)} (limits: {100 * COVERAGE_TOLERANCE:g} points and "
                f"{STANDARD_ERRORS:g} standard errors{cause})"
            )
    return against


def _questions(found: Diagnosis) -> list[str]:
    """What speaks against asking this model the questions that the user has in mind."""
    against = []
    support = found.support
    outside = support.outside()
    if len(outside):
        which = ", ".join(str(number) for number in outside[:5]) + ", …" * (len(outside) > 5)
        against.append(
            f"source state(s) number {which} are outside of the data: up to "
            f"{support.sources.max():.2g} standard deviations from the nearest frame, while "
            f"{OUTSIDE:.0%} of held-out states are within {support.limit:.2g}"
        )
    for name, level in found.tail_levels.items():
        if level * found.num_atoms < MIN_TAIL_ATOMS:
            against.append(
                f"{name} rests on {level * found.num_atoms:.3g} atoms, fewer than "
                f"{MIN_TAIL_ATOMS:g}: take at least {MIN_TAIL_ATOMS / level:.0f} atoms"
            )
    for name, spread in found.seed_spread.items():
        if spread > SEED_SPREAD:
            against.append(
                f"the models disagree about {name} by {spread:.2f} standard deviations of returns "
                f"(limit {SEED_SPREAD:g})"
            )
    return against


def _percent(estimate) -> str:
    return f"{100 * estimate.value:.1f} ± {100 * estimate.error:.1f} %"


def _share(gap) -> str:
    return f"{max(gap.share, 0):.1%} (p = {gap.p_value:.2g})"


def _nearest(found: Diagnosis) -> str:
    if found.nearest is None:
        return "too few episodes for nearest trajectories"
    return f"the nearest held-out trajectories have {found.skill(found.nearest).value:.3f}"


def _sources(found: Diagnosis) -> str:
    num = len(found.support.sources)
    if not num:
        return "no source state was asked for"
    return f"{len(found.support.outside())} of {num} source state(s) asked for are outside"
