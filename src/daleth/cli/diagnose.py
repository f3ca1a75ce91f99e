"""`daleth diagnose`."""

import sys
from collections.abc import Sequence
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from tyro.conf import arg

from daleth.cli._arguments import (
    AsJson,
    ComponentNames,
    DataFile,
    EnvironmentName,
    ModelFile,
    Picture,
    Rewards,
    Risks,
    Seed,
    Sources,
)
from daleth.cli._output import show
from daleth.cli._pictures import check_picture
from daleth.cli._questions import key_of, read_criterion, read_sources

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from daleth._typing import Reward
    from daleth.data import Trajectories

OtherModels = Annotated[
    tuple[Path, ...],
    arg(metavar="MODEL", help="models of other seeds, to see how far they differ."),
]

NumStarts = Annotated[int, arg(metavar="N", help="start states at most: fewer are quicker.")]


def diagnose(
    model: ModelFile,
    data: DataFile,
    others: OtherModels = (),
    reward: Rewards = (),
    source: Sources = (),
    risk: Risks = (),
    env: EnvironmentName = None,
    names: ComponentNames = None,
    starts: NumStarts = 512,
    plot: Picture = None,
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Can I believe this model? Asks held-out trajectories; exit code 1 says no.

    Without rewards a bank of random ones is asked. Source states and risks are those that you
    mean to ask the model for.

    Example: daleth diagnose model.safetensors heldout.safetensors --source 0,0 --risk cvar:0.1
    """
    import numpy as np

    import daleth
    from daleth.data import Trajectories
    from daleth.evaluation.diagnosis import diagnose as examine

    check_picture(plot)
    risks = [read_criterion("--risk", text).name for text in risk]
    # What a reward of the user prints is not our answer.
    with redirect_stdout(sys.stderr):
        heldout = Trajectories.load(data)
        sources = read_sources(source, heldout.state_dim)
        report = examine(
            daleth.load(model),
            heldout,
            rewards=_read_rewards(reward, heldout, env, names) if reward else None,
            source_states=np.stack(list(sources.values())) if sources else None,
            risks=risks,
            num_starts=starts,
            others=[daleth.load(path) for path in others],
            key=key_of(seed),
        )
    if plot is not None:
        _write(plot, report.plot())
    record = {"model": str(model), "data": str(data), "seed": seed, **report.to_dict()}
    show(as_json, record, str(report) + (f"\nwrote {plot}" if plot else ""))
    if not report.fit_for_use:
        sys.exit(1)


def _read_rewards(
    texts: Sequence[str], data: "Trajectories", env: str | None, names: str | None
) -> "dict[str, Reward]":
    """Rewards by their text, each tried on the first states of the data."""
    import jax.numpy as jnp

    from daleth.rewards import parse, reward_values

    listed = [] if names is None else [name.strip() for name in names.split(",")]
    rewards = {text: parse(text, names=listed, env=env) for text in texts}
    for one in rewards.values():
        reward_values(one, jnp.asarray(data.states[:4]))
    return rewards


def _write(path: Path, figure: "Figure") -> None:
    from daleth._files import atomic_write

    with atomic_write(path) as file:
        figure.savefig(file, format=path.suffix[1:], dpi=160, facecolor="white")
