"""The training loop: from trajectories and a learner to a model."""

import os
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from daleth import _checks
from daleth._typing import Count, Real
from daleth.data import Trajectories
from daleth.models.base import Model
from daleth.training.checkpoints import Checkpoints, identity
from daleth.training.engine import prepare
from daleth.training.log import as_writers
from daleth.training.presets import as_learner
from daleth.training.run import Callback, Evaluation, Position, train
from daleth.training.schedule import Schedule


def fit(
    data: Any,
    model: Any = "fast",
    gamma: Real | None = None,
    *,
    updates: Count | None = None,
    minutes: Real | None = None,
    seed: Count = 0,
    occupancy_of: str = "state",
    starts: Any = "stratified",
    checkpoint: str | os.PathLike[str] | None = None,
    checkpoint_every: Count | None = None,
    resume: bool = False,
    log: Any = None,
    callback: Callback | None = None,
    callback_every: Count = 1000,
    chunk_updates: Count | None = None,
) -> Model:
    """Learns the distributional successor measure of the policy behind the data, without rewards.

    The same arguments and number of updates give the same model, bit for bit, whether the run is
    undisturbed, killed and resumed, or cut into other chunks. Ctrl-C and SIGTERM end it after the
    current chunk with a checkpoint and a `TrainingInterrupted`; a second one acts at once. On a
    terminal a bar shows updates per second, the loss and the time left.

    Args:
        data: `Trajectories`.
        model: a `Learner`, or the name of a preset.
        gamma: the discount factor, 0.95 by default; a `Learner` brings its own.
        updates: how many updates the run has, with those before a resumption; 10,000 if no time
            is given either.
        minutes: or how long it lasts, with the time before a resumption; looked at between chunks.
        seed: of everything random.
        occupancy_of: `"state"`, or `"state-action"` for the occupancy of pairs.
        starts: `"stratified"` draws windows from every region of the state space that the data
            know well, `"uniform"` from every state of the data, as often as from any other.
        checkpoint: the folder of the run: checkpoints, the last three of them, and `log.jsonl`.
        checkpoint_every: the updates between checkpoints; by default one a minute.
        resume: continue the run in that folder if there is one. Without this a folder that
            holds a run is refused.
        log: a `.jsonl` file, a folder for one, a `Writer`, or a sequence of these.
        callback: `callback(update, model)`, called every `callback_every` updates and at the end;
            the numbers it returns by name are logged as `eval/name`.
        callback_every: the updates between two such calls.
        chunk_updates: the updates in one compiled call and one line of the log; by default as
            many as take about a second.

    Returns:
        The model after the last update.

    Raises:
        NonFiniteLossError: if the loss or the parameters are no longer finite.
        TrainingInterrupted: after Ctrl-C or SIGTERM; it holds the model so far.

    Example:
        >>> import numpy as np
        >>> from daleth.models.residual_gaussian import ResidualGaussianLearner
        >>> walks = np.cumsum(np.random.default_rng(0).normal(size=(20, 50, 1)), axis=1)
        >>> learner = ResidualGaussianLearner(gamma=0.9, width=8, depth=1, num_atoms=5)
        >>> model = fit(Trajectories.from_arrays(walks), learner, updates=100)
        >>> model.returns(lambda x: x[..., 0], [0.0]).num_atoms
        5
    """
    learner = as_learner(model, gamma)
    folder = _folder(checkpoint, checkpoint_every, resume)
    every = checkpoint_every
    if every is not None:
        every = _checks.count("checkpoint_every", every)
    evaluation = Evaluation(callback, _checks.count("callback_every", callback_every))
    stops = [stop for stop in (every, evaluation.every if callback else None) if stop]
    schedule = Schedule(updates, minutes, chunk_updates, stops)
    seed = _checks.count("seed", seed, at_least=0)
    if seed >= 2**32:
        raise ValueError(f"seed must be below 2^32, got {seed}")
    starts = _checks.one_of("starts", starts, ("stratified", "uniform"))
    if not isinstance(data, Trajectories):
        raise ValueError(
            "data must be Trajectories, for example Trajectories.from_episodes(episodes), "
            f"got {type(data).__name__}"
        )
    engine, state = prepare(data.measured(occupancy_of), learner, seed, starts)
    with ExitStack() as stack:
        checkpoints, position = None, Position(state, 0, 0.0)
        if folder is not None:
            checkpoints = Checkpoints(folder, identity(engine, seed, starts), every)
            stack.callback(checkpoints.close)
            position = _start(checkpoints, position, resume)
        schedule.check_start(position.update)
        writers = as_writers(log, folder, resume)
        for writer in writers:
            writer.begin(position.update)
            stack.callback(writer.close)
        return train(engine, position, schedule, checkpoints, writers, evaluation)


def _folder(checkpoint: Any, checkpoint_every: object, resume: object) -> Path | None:
    if checkpoint is not None:
        folder = Path(checkpoint)
        if folder.exists() and not folder.is_dir():
            raise ValueError(f"checkpoint must be a folder, got the file {str(folder)!r}")
        return folder
    needy = {"resume": bool(resume), "checkpoint_every": checkpoint_every is not None}
    for name, given in needy.items():
        if given:
            raise ValueError(f"{name} needs the folder of the run: hand in checkpoint=")
    return None


def _start(checkpoints: Checkpoints, fresh: Position, resume: bool) -> Position:
    """Where the run in the folder stands, or the fresh start if there is none."""
    if checkpoints.latest is None:
        return fresh
    if not resume:
        raise ValueError(
            f"{str(checkpoints.folder.parent)!r} holds a run after {checkpoints.latest} updates "
            "already: hand in resume=True to continue it, or another folder"
        )
    return Position(*checkpoints.restore(fresh.state))
