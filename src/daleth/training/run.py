"""One run from where it stands to its end: chunk after chunk."""

import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from daleth._progress import progress_bar
from daleth.models.base import Model
from daleth.models.learner import State
from daleth.training.checkpoints import Checkpoints
from daleth.training.engine import Chunk, Engine, advance
from daleth.training.errors import NonFiniteLossError, TrainingInterrupted
from daleth.training.interrupts import put_off
from daleth.training.log import Writer
from daleth.training.schedule import Schedule

Callback = Callable[[int, Model], Mapping[str, Any] | None]


class Position(NamedTuple):
    """Where a run stands: the state, the updates done and the seconds they took."""

    state: State
    update: int
    seconds: float


class Evaluation(NamedTuple):
    """What the user wants to know on the way."""

    callback: Callback | None
    every: int

    def numbers(self, update: int, model: Callable[[], Model], last: bool) -> dict[str, float]:
        """What the callback says at this update, if it is asked now."""
        if self.callback is None or (update % self.every and not last):
            return {}
        found = self.callback(update, model())
        try:
            return {f"eval/{name}": float(value) for name, value in (found or {}).items()}
        except (AttributeError, TypeError, ValueError) as error:
            raise ValueError(
                f"callback must return numbers by name, or None, got {found!r}"
            ) from error


def train(
    engine: Engine,
    position: Position,
    schedule: Schedule,
    checkpoints: Checkpoints | None,
    writers: list[Writer],
    evaluation: Evaluation,
) -> Model:
    """Runs chunks until the schedule is finished or a signal comes; see `daleth.fit`."""
    clock_start = time.monotonic() - position.seconds
    finished = schedule.finished(position.update, position.seconds)
    done, total = schedule.position(position.update, position.seconds)
    with put_off() as interruption:
        with progress_bar("training", total, done) as move:
            if not finished:
                # Compiles, and does nothing else.
                advance(engine, position.state, position.update, position.update)
            while not finished and not interruption:
                position, numbers = _chunk(engine, position, schedule, clock_start, checkpoints)
                state, update, seconds = position
                finished = schedule.finished(update, seconds)
                numbers |= evaluation.numbers(update, lambda s=state: engine.model(s), finished)
                for writer in writers:
                    writer.write(update, numbers)
                # After the log, so that a run resumed from here finds its line there.
                if checkpoints is not None and checkpoints.due(update):
                    checkpoints.save(*position)
                move(schedule.position(update, seconds)[0], _note(update, numbers))
        if checkpoints is not None:
            checkpoints.save(*position)
    model = engine.model(position.state)
    if interruption.name is not None:
        message = f"training ended by {interruption.name} after {position.update} updates; "
        message += _kept(checkpoints, "continue with resume=True")
        raise TrainingInterrupted(message, position.update, model)
    return model


def _chunk(
    engine: Engine,
    position: Position,
    schedule: Schedule,
    clock_start: float,
    checkpoints: Checkpoints | None,
) -> tuple[Position, dict[str, float]]:
    """Some updates, where the run stands after them, and their line in the log."""
    before = time.monotonic()
    stop = schedule.next_stop(position.update, before - clock_start)
    chunk = advance(engine, position.state, position.update, stop)
    _check_finite(chunk, checkpoints)
    now = time.monotonic()
    update = int(chunk.update)
    count, took = update - position.update, now - before
    schedule.record(count, took)
    numbers = {name: float(mean) for name, mean in chunk.info.items()}
    numbers |= {"seconds": now - clock_start, "updates_per_second": count / took}
    return Position(chunk.state, update, now - clock_start), numbers


def _check_finite(chunk: Chunk, checkpoints: Checkpoints | None) -> None:
    if bool(chunk.finite_loss) and bool(chunk.finite_state):
        return
    what = "parameters are" if bool(chunk.finite_loss) else "loss is"
    update = int(chunk.update)
    raise NonFiniteLossError(
        f"the {what} no longer finite at update {update}; "
        + _kept(checkpoints, "it was left as it is")
        + "; try a smaller learning rate, and look at the data with data.describe()",
        update,
    )


def _kept(checkpoints: Checkpoints | None, hint: str) -> str:
    if checkpoints is None:
        return "no checkpoint was kept, since no folder was given"
    if checkpoints.latest is None:
        return f"no checkpoint had been written to {str(checkpoints.folder.parent)!r}"
    return (
        f"the last checkpoint is that of update {checkpoints.latest} in "
        f"{str(checkpoints.folder.parent)!r}, {hint}"
    )


def _note(update: int, numbers: Mapping[str, float]) -> str:
    rate, loss = numbers["updates_per_second"], numbers["loss"]
    return f"{update:,} updates, {rate:,.4g} updates/s, loss {loss:.4g}"
