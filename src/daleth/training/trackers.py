"""Writers for TensorBoard and Weights & Biases; each needs `pip install "daleth[track]"`."""

import os
import time
from collections.abc import Mapping
from typing import Any

from daleth._optional import require


class TensorBoardWriter:
    """Scalars in an event file for TensorBoard.

    Args:
        folder: where the event files go; `tensorboard --logdir` wants this folder or one above.
    """

    def __init__(self, folder: str | os.PathLike[str]):
        writers = require("tensorboard.summary.writer.event_file_writer", "track")
        self._events = require("tensorboard.compat.proto.event_pb2", "track")
        self._summaries = require("tensorboard.compat.proto.summary_pb2", "track")
        self._writer = writers.EventFileWriter(os.fspath(folder))

    def begin(self, update: int) -> None:
        """Tells TensorBoard to forget what it has beyond `update`."""
        session = self._events.SessionLog(status=self._events.SessionLog.START)
        self._add(update + 1, session_log=session)

    def write(self, update: int, numbers: Mapping[str, float]) -> None:
        """One scalar per number."""
        scalars = self._summaries.Summary()
        for name, value in numbers.items():
            scalars.value.add(tag=name, simple_value=value)
        self._add(update, summary=scalars)

    def close(self) -> None:
        """Writes what is still in memory."""
        self._writer.close()

    def _add(self, step: int, **what: Any) -> None:
        self._writer.add_event(self._events.Event(step=step, wall_time=time.time(), **what))


class WandbWriter:
    """A run at Weights & Biases.

    Args:
        project: the name of the project.
        options: more arguments of `wandb.init`, such as `name`, `config` or `mode="offline"`;
            to go on with a run there, `id` and `resume="allow"`.
    """

    def __init__(self, project: str, **options: Any):
        self._wandb = require("wandb", "track")
        self._options = {"project": project, **options}
        self._run: Any = None

    def begin(self, update: int) -> None:
        """Opens the run; of an update that comes twice, W&B keeps what came first."""
        self._run = self._wandb.init(**self._options)

    def write(self, update: int, numbers: Mapping[str, float]) -> None:
        """One line of numbers."""
        self._run.log(dict(numbers), step=update)

    def close(self) -> None:
        """Ends the run."""
        if self._run is not None:
            self._run.finish()
            self._run = None
