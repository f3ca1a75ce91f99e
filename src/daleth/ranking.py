"""Ranking of policies by any risk criterion, with ties where the data cannot tell."""

import dataclasses
import math
import statistics
from collections.abc import Callable, Mapping
from typing import Any

import jax
import numpy as np
from jaxtyping import Array, PRNGKeyArray

from daleth import _checks, risk
from daleth._typing import ArrayLike, Count, Real, Reward
from daleth.returns import ReturnDistribution


@dataclasses.dataclass(frozen=True)
class Criterion:
    """A number read off a return distribution, and which way is better."""

    name: str
    function: Callable[[ReturnDistribution], Array]
    higher_is_better: bool = True


_CRITERIA: dict[str, tuple[bool, Callable[[ReturnDistribution, float], Array]]] = {
    "cvar": (True, lambda g, x: g.cvar(x)),
    "entropic": (True, lambda g, x: g.entropic_risk(x)),
    "mean_variance": (True, lambda g, x: g.mean_variance(x)),
    "prob_above": (True, lambda g, x: g.prob_above(x)),
    "prob_below": (False, lambda g, x: g.prob_below(x)),
    "quantile": (True, lambda g, x: g.quantile(x)),
    "var": (True, lambda g, x: g.var(x)),
}


def criterion(by: "str | Criterion | Callable[[ReturnDistribution], Array]") -> Criterion:
    """Reads a criterion: `"mean"`, `"cvar:0.4"`, `"prob_below:-10"`, …, or a function.

    A function is taken as better when higher; hand in a `Criterion` to say otherwise.

    Example:
        >>> print(criterion("cvar:0.5").function(ReturnDistribution([-1.0, 1.0])))
        -1.0
    """
    if isinstance(by, Criterion):
        return by
    if callable(by):
        return Criterion(getattr(by, "__name__", "custom"), by)
    if by == "mean":
        return Criterion("mean", lambda g: g.mean())
    name, _, argument = str(by).partition(":")
    forms = "'mean', " + ", ".join(f"'{known}:<number>'" for known in _CRITERIA)
    if name not in _CRITERIA:
        raise ValueError(f"by must be a function or one of {forms}, got {by!r}")
    try:
        value = float(argument)
    except ValueError as error:
        raise ValueError(f"{name} needs a number, as in '{name}:0.1', got {by!r}") from error
    higher_is_better, function = _CRITERIA[name]
    return Criterion(str(by), lambda g: function(g, value), higher_is_better)


@dataclasses.dataclass(frozen=True)
class Ranked:
    """One candidate: its value, its standard error if one is known, its place."""

    name: str
    value: float
    standard_error: float | None
    place: int


@dataclasses.dataclass(frozen=True)
class Ranking:
    """Candidates from best to worst; a place is one more than the number of those that beat it."""

    criterion: str
    rows: tuple[Ranked, ...]
    confidence: float

    @property
    def best(self) -> tuple[str, ...]:
        """The names on the first place: more than one if they are tied."""
        return tuple(row.name for row in self.rows if row.place == 1)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return dataclasses.asdict(self)

    def __str__(self) -> str:
        places = [row.place for row in self.rows]
        width = max(len(str(row.name)) for row in self.rows)
        lines = [f"by {self.criterion}"]
        for row in self.rows:
            tie = "=" if places.count(row.place) > 1 else " "
            error = "" if row.standard_error is None else f" ± {row.standard_error:.3g}"
            lines.append(f"{row.place:>3}{tie} {row.name!s:{width}}  {row.value:.6g}{error}")
        return "\n".join(lines)


def rank(
    candidates: Mapping[str, Any],
    by: "str | Criterion | Callable[[ReturnDistribution], Array]" = "mean",
    *,
    reward: Reward | None = None,
    source_state: ArrayLike | None = None,
    num_resamples: Count = 0,
    confidence: Real = 0.95,
    key: PRNGKeyArray | None = None,
) -> Ranking:
    """Ranks policies by a criterion of their return distributions.

    A candidate's place is one more than the number of candidates that are better beyond chance:
    two values differ if their gap exceeds the normal quantile of `confidence` times the standard
    error of the gap. Standard errors come from seeds, if a distribution has one batch axis
    `[seeds, m]`, or from a bootstrap over atoms, if `num_resamples > 0`: right for atoms that are
    independent rollouts, not for the atoms of a model. With neither, only equal values tie.

    Args:
        candidates: return distributions by name; or models by name, with `reward` and
            `source_state` to ask them for.
        by: see `criterion`.
        reward: a reward, for models.
        source_state: `[d]`, for models.
        num_resamples: how many bootstrap resamples.
        confidence: of the two-sided comparison of each pair.
        key: for the bootstrap.

    Example:
        >>> safe, bold = ReturnDistribution([1.0, 1.0]), ReturnDistribution([-9.0, 15.0])
        >>> print(rank({"safe": safe, "bold": bold}, by="cvar:0.5"))
        by cvar:0.5
          1  safe  1
          2  bold  -9
    """
    chosen = criterion(by)
    if not isinstance(candidates, Mapping) or not candidates:
        raise ValueError(
            "candidates must be a non-empty mapping from name to distribution or model"
        )
    confidence = _checks.fraction("confidence", confidence)
    num_resamples = _checks.count("num_resamples", num_resamples, at_least=0)
    if num_resamples == 1:
        raise ValueError("num_resamples must be 0 or at least 2, got 1")
    key_models, key_resample = jax.random.split(jax.random.key(0) if key is None else key)
    distributions = _distributions(candidates, reward, source_state, key_models)
    rng = np.random.default_rng(np.asarray(jax.random.key_data(key_resample)))
    estimates = {
        name: _estimate(name, g, chosen, num_resamples, rng) for name, g in distributions.items()
    }
    return _place(estimates, chosen, confidence)


def _distributions(
    candidates: Mapping[str, Any], reward: Any, source_state: Any, key: PRNGKeyArray
) -> dict[str, ReturnDistribution]:
    distributions, gammas = {}, {}
    for name, candidate in candidates.items():
        if isinstance(candidate, ReturnDistribution):
            distributions[name] = candidate
            continue
        if not hasattr(candidate, "returns"):
            raise ValueError(
                f"candidate {name!r} must be a ReturnDistribution or a model, got {candidate!r}"
            )
        if not callable(reward) or np.ndim(source_state) != 1:
            raise ValueError("ranking models needs one reward= and one source_state=, a vector [d]")
        distributions[name] = candidate.returns(reward, source_state, key=key)
        gammas[name] = candidate.gamma
    if len(set(gammas.values())) > 1:
        listed = ", ".join(f"{name}: {gamma:g}" for name, gamma in gammas.items())
        raise ValueError(f"models to be ranked must share one gamma, got {listed}")
    return distributions


def _estimate(
    name: str,
    g: ReturnDistribution,
    chosen: Criterion,
    num_resamples: int,
    rng: np.random.Generator,
) -> tuple[float, float | None]:
    """The value of a criterion and its standard error."""
    if len(g.batch_shape) > 1:
        raise ValueError(
            f"candidate {name!r} must have atoms [m] or [seeds, m], got shape {g.atoms.shape}"
        )
    if g.batch_shape == (1,):
        raise ValueError(f"candidate {name!r} must have at least 2 seeds, or no axis of seeds")
    values = np.asarray(chosen.function(g), float)
    if values.shape != g.batch_shape:
        raise ValueError(
            f"criterion {chosen.name!r} must give one number per distribution, "
            f"got shape {values.shape} for batch {g.batch_shape}"
        )
    if not np.isfinite(values).all():
        raise ValueError(f"criterion {chosen.name!r} gave {values} for candidate {name!r}")
    if g.batch_shape:
        return float(values.mean()), float(values.std(ddof=1) / np.sqrt(values.size))
    if not num_resamples:
        return float(values), None
    draws = [float(chosen.function(_resample(g, rng))) for _ in range(num_resamples)]
    return float(values), float(np.std(draws, ddof=1))


def _resample(g: ReturnDistribution, rng: np.random.Generator) -> ReturnDistribution:
    """A bootstrap sample, as other weights on the same atoms."""
    (weights,) = risk.as_doubles(g.weights)
    counts = rng.multinomial(g.num_atoms, weights / weights.sum())
    return ReturnDistribution(g.atoms, counts / g.num_atoms)


def _place(
    estimates: Mapping[str, tuple[float, float | None]], chosen: Criterion, confidence: float
) -> Ranking:
    threshold = statistics.NormalDist().inv_cdf((1 + confidence) / 2)
    sign = 1 if chosen.higher_is_better else -1

    def beats(one: tuple[float, float | None], other: tuple[float, float | None]) -> bool:
        error = math.hypot(one[1] or 0.0, other[1] or 0.0)
        rounding = 1e-6 * max(abs(one[0]), abs(other[0]))  # equal laws, summed in another order
        return sign * (one[0] - other[0]) > threshold * error + rounding

    rows = [
        Ranked(name, *estimate, 1 + sum(beats(rival, estimate) for rival in estimates.values()))
        for name, estimate in estimates.items()
    ]
    rows.sort(key=lambda row: (row.place, -sign * row.value))
    return Ranking(chosen.name, tuple(rows), confidence)
