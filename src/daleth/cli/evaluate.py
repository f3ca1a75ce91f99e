"""`daleth evaluate`."""

import sys
from collections.abc import Sequence
from contextlib import redirect_stdout
from typing import TYPE_CHECKING, Any

from daleth.cli._arguments import (
    AsJson,
    ComponentNames,
    EnvironmentName,
    ModelFile,
    Picture,
    Rewards,
    Risks,
    Seed,
    Sources,
)
from daleth.cli._output import show, table
from daleth.cli._pictures import check_picture, draw
from daleth.cli._questions import key_of, read_criterion, read_questions

if TYPE_CHECKING:
    from daleth.ranking import Criterion
    from daleth.returns import ReturnDistribution

_QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


def evaluate(
    model: ModelFile,
    reward: Rewards = (),
    source: Sources = (),
    risk: Risks = (),
    env: EnvironmentName = None,
    names: ComponentNames = None,
    plot: Picture = None,
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """The whole return distribution of any reward: mean, deviation, quantiles, risks.

    Example: daleth evaluate model.safetensors --reward -x0**2 --source 0,0 --risk cvar:0.1
    """
    import numpy as np

    import daleth

    check_picture(plot)
    criteria = [read_criterion("--risk", text) for text in risk]
    # What a reward of the user prints is not our answer.
    with redirect_stdout(sys.stderr):
        loaded = daleth.load(model)
        asked = read_questions(reward, source, loaded.state_dim, env, names)
        returns = loaded.returns(
            list(asked.rewards.values()),
            np.stack(list(asked.sources.values())),
            key=key_of(seed),
        )
    laws = {
        text: dict(zip(asked.sources, of_sources, strict=True))
        for text, of_sources in zip(asked.rewards, returns, strict=True)
    }
    rows = [
        {"reward": text, "source": state, **_summary(law, criteria)}
        for text, of_sources in laws.items()
        for state, law in of_sources.items()
    ]
    if plot is not None:
        draw(plot, laws)
    record = {"model": str(model), "gamma": loaded.gamma, "seed": seed, "returns": rows}
    show(as_json, record, _text(rows) + (f"\nwrote {plot}" if plot else ""))


def _summary(law: "ReturnDistribution", criteria: "Sequence[Criterion]") -> dict[str, Any]:
    levels = law.quantile(_QUANTILES).tolist()
    return {
        "mean": float(law.mean()),
        "std": float(law.std()),
        "quantiles": {f"{level:g}": value for level, value in zip(_QUANTILES, levels, strict=True)},
        "risks": {one.name: float(one.function(law)) for one in criteria},
    }


def _text(rows: Sequence[dict[str, Any]]) -> str:
    quantiles, risks = rows[0]["quantiles"], rows[0]["risks"]
    header = ["reward", "source", "mean", "sd", *(f"q{level}" for level in quantiles), *risks]
    return table(
        header,
        [
            [
                *(row[name] for name in ("reward", "source", "mean", "std")),
                *row["quantiles"].values(),
                *row["risks"].values(),
            ]
            for row in rows
        ],
    )
