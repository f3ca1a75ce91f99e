"""Can I believe this model? An answer from held-out trajectories, without a simulator."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from daleth import _checks
from daleth._typing import ArrayLike, Count, Real, Reward
from daleth.data import Trajectories
from daleth.evaluation import heldout as held
from daleth.evaluation.bellman import discrepancy
from daleth.evaluation.calibration import interpolated_pit
from daleth.evaluation.references import atom_share, climatology_crps, nearest_returns
from daleth.evaluation.report import Diagnosis
from daleth.evaluation.reward_bank import reward_bank
from daleth.evaluation.scores import crps
from daleth.evaluation.support import support
from daleth.models.base import Model
from daleth.models.empirical import EmpiricalModel
from daleth.models.mean import DiracAtMean
from daleth.ranking import criterion
from daleth.returns import ReturnDistribution
from daleth.targets import horizon

_REALISED = 1e-3  # realised returns are summed until so little of the future is left
_ROUNDING = 1e-6


def diagnose(
    model: Any,
    heldout: Any,
    *,
    rewards: Any = None,
    source_states: ArrayLike | None = None,
    risks: Any = (),
    others: Any = (),
    num_starts: Count = 512,
    num_rewards: Count = 64,
    num_bootstrap_steps: Count | None = None,
    max_unseen_mass: Real = 0.05,
    key: PRNGKeyArray | None = None,
) -> Diagnosis:
    r"""Compares what a model predicts with what followed in trajectories it has not seen.

    Start states are drawn from the held-out data such that most of their future is seen and
    futures hardly overlap (`heldout.draw_starts`). A return is summed to the end of the episode;
    what is cut off, a mass $\gamma^K$, is filled in by one draw from the model where the episode
    ends, which leaves the law unchanged if the model is right (`heldout.bootstrapped_returns`).
    Rewards of one start state are dependent, so they are averaged first, and standard errors and
    p-values come from start states alone. The model is asked three times for every start state.

    Args:
        model: the `Model`.
        heldout: `Trajectories` of the same policy that the model was not trained on.
        rewards: a reward, a sequence, or rewards by name; by default a bank of random ones.
        source_states: states `[d]` or `[q, d]` that will be asked for, to see whether the data
            cover them.
        risks: what will be asked for, such as "cvar:0.1", to see whether enough atoms carry it.
        others: models of other seeds, to see how far they differ.
        num_starts: start states at most.
        num_rewards: the size of the default bank.
        num_bootstrap_steps: the length of Bellman targets; by default that at which half of the
            future is left.
        max_unseen_mass: how much of a future may lie behind the end of the data.
        key: for all choices; the same key gives the same report.

    Returns:
        A report that ends in a verdict.

    Example:
        >>> from daleth import EmpiricalModel, Trajectories
        >>> walks = np.random.default_rng(0).normal(size=(100, 40, 1)).cumsum(axis=1)
        >>> data = Trajectories.from_arrays(walks)
        >>> report = diagnose(EmpiricalModel(data[:50], 0.7, 20), data[50:], num_rewards=4)
        >>> print(str(report).splitlines()[0])
        model        gamma 0.7, 20 atom(s)
    """
    _check_inputs(model, heldout, others)
    unseen = _checks.fraction("max_unseen_mass", max_unseen_mass)
    num_starts = _checks.count("num_starts", num_starts, at_least=2)
    if num_bootstrap_steps is None:
        num_bootstrap_steps = horizon(model.gamma, 0.5)
    num_steps = _checks.count("num_bootstrap_steps", num_bootstrap_steps)
    tails, sources = _tail_levels(risks), _sources(model, source_states)
    key_rows, key_bank, key_laws = jax.random.split(jax.random.key(0) if key is None else key, 3)
    units = heldout.normalisation()
    named = reward_bank(units, key_bank, num_rewards) if rewards is None else _by_name(rewards)

    rng = np.random.default_rng(np.asarray(jax.random.key_data(key_rows)))
    rows = held.draw_starts(heldout, model.gamma, num_starts, unseen, rng)
    longest = min(horizon(model.gamma, _REALISED), int(heldout.lengths.max()) - 1)
    asked = list(named.values())
    seen = _compare(model, heldout, asked, rows, (longest, num_steps), key_laws)
    near = nearest_returns(heldout, model.gamma, unseen, asked, rows, longest)
    rounding = _ROUNDING * np.abs(seen.realised).max(axis=1)
    scores = np.asarray(crps(seen.predicted, seen.realised), float)
    scale = np.maximum(scores.mean(axis=1), rounding + np.finfo(float).tiny)
    positions = np.asarray(units.apply(seen.starts), float)
    climate = climatology_crps(seen.realised)
    weights = np.asarray(seen.predicted.weights[0], float)
    num_atoms = float((1 / (weights**2).sum(axis=-1)).mean())
    return Diagnosis(
        gamma=model.gamma,
        num_atoms=num_atoms,
        num_episodes=len(np.unique(np.searchsorted(heldout.offsets, rows, side="right"))),
        unseen_mass=float(seen.unseen_mass.mean()),
        reward_names=tuple(named),
        pit=seen.pit,
        crps=scores,
        climatology=np.where((climate.mean(axis=1) > rounding)[:, None], climate, 0.0),
        nearest=None if near is None else np.asarray(crps(near, seen.realised), float),
        error=discrepancy(seen.predicted, seen.realised, scale, positions, rng),
        bellman=discrepancy(seen.predicted, seen.targets, scale, positions, rng),
        num_bootstrap_steps=num_steps,
        atom_share=atom_share(seen.realised, max(1, round(num_atoms))),
        support=support(heldout, units, rows, horizon(model.gamma, unseen), sources),
        tail_levels=tails,
        seed_spread=_seed_spread(seen, others, asked, list(risks), rounding, key_laws),
        is_training_data=_is_training_data(model, heldout),
    )


class _Comparison(NamedTuple):
    """Laws predicted at the start states, and what followed there."""

    starts: Float[Array, "s d"]
    predicted: ReturnDistribution
    realised: Float[np.ndarray, "r s"]
    targets: Float[np.ndarray, "r s"]
    pit: Float[np.ndarray, "r s"]
    unseen_mass: Float[np.ndarray, "s"]


def _compare(
    model: Model,
    data: Trajectories,
    rewards: list[Reward],
    rows: Int[np.ndarray, "s"],
    num_steps: tuple[int, int],
    key: PRNGKeyArray,
) -> _Comparison:
    key_start, key_end, key_next, key_pit = jax.random.split(key, 4)
    starts = jnp.asarray(data.states[rows])
    futures, windows = (
        held.seen_returns(data, rewards, model.gamma, rows, steps) for steps in num_steps
    )
    predicted = held.predicted_returns(model, rewards, starts, key_start, "asking at the starts")
    realised = held.bootstrapped_returns(model, rewards, futures, key_end)
    targets = held.bootstrapped_returns(model, rewards, windows, key_next)
    pit = interpolated_pit(predicted, realised, key_pit)
    return _Comparison(starts, predicted, realised, targets, pit, futures.unseen_mass)


def _seed_spread(
    seen: _Comparison,
    others: Sequence[Model],
    rewards: list[Reward],
    risks: list[str],
    rounding: Float[np.ndarray, "r"],
    key: PRNGKeyArray,
) -> dict[str, float]:
    """Standard deviation over models, in units of that of realised returns, mean over the rest.

    Rewards whose realised returns do not vary have no such unit and are left out.
    """
    deviations = seen.realised.std(axis=1)
    varying = deviations > rounding
    if not others or not varying.any():
        return {}
    laws = [seen.predicted]
    laws += [
        held.predicted_returns(
            other, rewards, seen.starts, jax.random.fold_in(key, number), "asking another model"
        )
        for number, other in enumerate(others)
    ]
    units = deviations[varying, None]
    spreads = {}
    for asked in map(criterion, ("mean", *(risks or ["cvar:0.1"]))):
        answers = np.stack([np.asarray(asked.function(law), float) for law in laws])
        spreads[asked.name] = float((answers[:, varying].std(axis=0, ddof=1) / units).mean())
    return spreads


def _check_inputs(model: Any, heldout: Any, others: Any) -> None:
    _checks.instance("model", model, Model, "a model")
    _checks.instance("heldout", heldout, Trajectories, "Trajectories")
    if heldout.state_dim != model.state_dim:
        raise ValueError(
            f"heldout must have states of {model.state_dim} components like the model, "
            f"got {heldout.state_dim}"
        )
    for other in others:
        _checks.instance("others", other, Model, "models")
        if (other.gamma, other.state_dim) != (model.gamma, model.state_dim):
            raise ValueError(
                f"others must have the gamma {model.gamma:g} and {model.state_dim} state "
                f"components of the model, got {other.gamma:g} and {other.state_dim}"
            )


def _by_name(rewards: Any) -> dict[str, Reward]:
    if callable(rewards):
        return {"reward": rewards}
    if isinstance(rewards, Mapping):
        named = {str(name): one for name, one in rewards.items()}
    elif isinstance(rewards, Sequence) and not isinstance(rewards, str):
        named = {f"reward-{number}": one for number, one in enumerate(rewards)}
    else:
        raise ValueError(f"rewards must be functions of states, got {rewards!r}")
    if not named or not all(callable(one) for one in named.values()):
        raise ValueError(f"rewards must be functions of states, got {rewards!r}")
    return named


def _tail_levels(risks: Any) -> dict[str, float]:
    """The risks that rest on the atoms of a tail, with the mass of that tail."""
    if isinstance(risks, str) or not isinstance(risks, Sequence):
        raise ValueError(f"risks must be a list such as ['cvar:0.1'], got {risks!r}")
    levels = {}
    for risk in risks:
        name = criterion(risk).name
        kind, _, level = name.partition(":")
        if kind in ("cvar", "var"):
            levels[name] = float(_checks.tail_levels(float(level)))
        if kind == "quantile":
            below = float(_checks.quantile_levels(float(level)))
            levels[name] = min(below, 1 - below)
    return levels


def _sources(model: Model, source_states: ArrayLike | None) -> Float[np.ndarray, "q d"]:
    if source_states is None:
        return np.zeros((0, model.state_dim))
    sources = np.atleast_2d(_checks.finite("source_states", source_states)).astype(float)
    if sources.ndim != 2 or sources.shape[1] != model.state_dim:
        raise ValueError(
            f"source_states must have shape [q, {model.state_dim}], got {np.shape(source_states)}"
        )
    return sources


def _is_training_data(model: Model, data: Trajectories) -> bool:
    from daleth.training.fingerprints import fingerprint

    while isinstance(model, DiracAtMean):
        model = model.model
    if isinstance(model, EmpiricalModel):
        return np.array_equal(model.states, data.states)
    return model.origin is not None and model.origin.data_fingerprint == fingerprint(data)
