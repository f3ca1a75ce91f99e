"""`daleth fit`."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from tyro.conf import FlagCreatePairsOff, arg

from daleth.cli._arguments import AsJson, DataFile, Seed
from daleth.cli._output import check_writable, show

OptionalFloat = Annotated[float | None, arg(metavar="FLOAT", help_behavior_hint="")]
OptionalInt = Annotated[int | None, arg(metavar="INT", help_behavior_hint="")]
OptionalPath = Annotated[Path | None, arg(metavar="PATH", help_behavior_hint="")]
OptionalName = Annotated[str | None, arg(metavar="PRESET", help_behavior_hint="")]


class _LastLine:
    """Remembers where training ended."""

    def __init__(self) -> None:
        self.update, self.numbers = 0, dict[str, float]()

    def begin(self, update: int) -> None:
        self.update = update

    def write(self, update: int, numbers: Mapping[str, float]) -> None:
        self.update, self.numbers = update, dict(numbers)

    def close(self) -> None:
        pass


def fit(
    data: DataFile,
    out: Annotated[Path, arg(metavar="FILE")],
    gamma: OptionalFloat = None,
    model: OptionalName = None,
    updates: OptionalInt = None,
    minutes: OptionalFloat = None,
    seed: Seed = 0,
    starts: str = "stratified",
    occupancy_of: str = "state",
    checkpoint: OptionalPath = None,
    checkpoint_every: OptionalInt = None,
    resume: Annotated[FlagCreatePairsOff[bool], arg(help_behavior_hint="")] = False,
    log: OptionalPath = None,
    as_json: AsJson = False,
) -> None:
    """Learns the distributional successor measure of a policy from its trajectories.

    Example: daleth fit data.safetensors --gamma 0.95 --minutes 5 --out model.safetensors

    Args:
        data: trajectories, as collected.
        out: the file of the model.
        gamma: the discount factor, 0.95 if not given.
        model: the name of a preset; a wrong name lists them.
        updates: how many updates the run has, with those before a resumption; 10,000 by default.
        minutes: or how long it lasts.
        seed: of everything random.
        starts: stratified over regions of the state space, or uniform over the states of the data.
        occupancy_of: state, or state-action for rewards that look at actions.
        checkpoint: the folder of the run, for checkpoints and log.
        checkpoint_every: updates between checkpoints; one a minute if not given.
        resume: continue the run in the folder.
        log: a .jsonl file, or a folder for one.
        as_json: print one JSON object instead of text.
    """
    check_writable(out, inputs=[data])
    import daleth

    asked: dict[str, Any] = {"model": model, "gamma": gamma, "updates": updates, "minutes": minutes}
    last = _LastLine()
    trained = daleth.fit(
        daleth.Trajectories.load(data),
        **{name: value for name, value in asked.items() if value is not None},
        seed=seed,
        starts=starts,
        occupancy_of=occupancy_of,
        checkpoint=checkpoint,
        checkpoint_every=checkpoint_every,
        resume=resume,
        log=[last, log],
    )
    trained.save(out)
    origin = trained.origin
    record = {
        "out": str(out),
        "learner": None if origin is None else type(origin.learner).__name__,
        "gamma": trained.gamma,
        "state_dim": trained.state_dim,
        "updates": last.update,
        "seconds": last.numbers.get("seconds"),
        "loss": last.numbers.get("loss"),
        "seed": seed,
    }
    show(
        as_json,
        record,
        f"wrote {out}: {record['learner']}, gamma {trained.gamma:g}, "
        f"{trained.state_dim} state components, {last.update:,} updates",
    )
