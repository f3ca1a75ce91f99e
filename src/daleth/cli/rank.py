"""`daleth rank`."""

import sys
from collections.abc import Sequence
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from tyro.conf import UseAppendAction, arg

from daleth.cli._arguments import (
    AsJson,
    ComponentNames,
    EnvironmentName,
    ModelFiles,
    Picture,
    Rewards,
    Seed,
    Sources,
)
from daleth.cli._output import show
from daleth.cli._pictures import check_picture, draw
from daleth.cli._questions import key_of, read_criterion, read_questions

if TYPE_CHECKING:
    from daleth.models.base import Model

PolicyNames = Annotated[
    UseAppendAction[tuple[str, ...]],
    arg(name="name", metavar="NAME", help="of each policy in order; by default that of its file."),
]
Criterion = Annotated[str, arg(metavar="RISK", help="mean, cvar:0.4, prob_below:-10, ...")]


def rank(
    models: ModelFiles,
    reward: Rewards = (),
    source: Sources = (),
    by: Criterion = "mean",
    name: PolicyNames = (),
    env: EnvironmentName = None,
    names: ComponentNames = None,
    plot: Picture = None,
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Ranks policies by a risk measure of their returns, for any reward.

    Example: daleth rank top.safetensors bottom.safetensors --reward x0 --source 0,0 --by cvar:0.4
    """
    import numpy as np

    import daleth

    check_picture(plot)
    criterion = read_criterion("--by", by)
    policies = _names(models, name)
    # What a reward of the user prints is not our answer.
    with redirect_stdout(sys.stderr):
        loaded = {policy: daleth.load(path) for policy, path in zip(policies, models, strict=True)}
        _check_alike(loaded)
        state_dim = next(iter(loaded.values())).state_dim
        asked = read_questions(reward, source, state_dim, env, names)
        sources, key = np.stack(list(asked.sources.values())), key_of(seed)
        functions = list(asked.rewards.values())
        returns = {one: model.returns(functions, sources, key=key) for one, model in loaded.items()}
    panels, rankings = {}, []
    for i, text in enumerate(asked.rewards):
        for j, state in enumerate(asked.sources):
            laws = {policy: of_policy[i, j] for policy, of_policy in returns.items()}
            panels[f"{text} from {state}"] = laws
            rankings.append((text, state, daleth.rank(laws, by=criterion)))
    if plot is not None:
        draw(plot, panels)
    record = {"models": dict(zip(policies, map(str, models), strict=True)), "seed": seed}
    record["rankings"] = [_record(*one) for one in rankings]
    text = "\n\n".join(f"{text} from {state}, {found}" for text, state, found in rankings)
    show(as_json, record, text + (f"\nwrote {plot}" if plot else ""))


def _names(models: Sequence[Path], given: Sequence[str]) -> list[str]:
    if not models:
        raise ValueError("rank needs the files of models, such as top.safetensors")
    if given and len(given) != len(models):
        raise ValueError(f"give one --name per model, {len(models)}, got {len(given)}")
    names = list(given) or [path.stem for path in models]
    if len(set(names)) < len(names):
        raise ValueError(
            f"policies must have different names, got {', '.join(names)}: give one --name per model"
        )
    return names


def _check_alike(models: "dict[str, Model]") -> None:
    for attribute, words in {"gamma": "gamma", "state_dim": "number of state components"}.items():
        found = {name: getattr(model, attribute) for name, model in models.items()}
        if len(set(found.values())) > 1:
            listed = ", ".join(f"{name}: {value:g}" for name, value in found.items())
            raise ValueError(f"models to be ranked must share one {words}, got {listed}")


def _record(reward: str, source: str, ranking: Any) -> dict[str, Any]:
    return {"reward": reward, "source": source, "best": list(ranking.best), **ranking.to_dict()}
