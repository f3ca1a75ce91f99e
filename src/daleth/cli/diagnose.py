"""`daleth diagnose`."""

import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import Annotated

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
from daleth.cli._pictures import check_picture, write_figure
from daleth.cli._questions import key_of, read_criterion, read_rewards, read_sources

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
            rewards=read_rewards(reward, heldout.states[:4], env, names) if reward else None,
            source_states=np.stack(list(sources.values())) if sources else None,
            risks=risks,
            num_starts=starts,
            others=[daleth.load(path) for path in others],
            key=key_of(seed),
        )
    if plot is not None:
        write_figure(plot, report.plot())
    record = {"model": str(model), "data": str(data), "seed": seed, **report.to_dict()}
    show(as_json, record, str(report) + (f"\nwrote {plot}" if plot else ""))
    if not report.fit_for_use:
        sys.exit(1)
