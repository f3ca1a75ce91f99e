"""Checkpoints of a run: written whole or not at all, the last few kept."""

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from daleth._optional import require
from daleth._version import __version__
from daleth.models.learner import State
from daleth.models.storage import plain_config
from daleth.training.engine import Engine

KEPT = 3
_SECONDS_BETWEEN = 60.0


def identity(engine: Engine, seed: int, starts: str) -> dict[str, Any]:
    """What two runs must share for one to continue the other."""
    learner = engine.learner
    return {
        "gamma": learner.gamma,
        "learner": type(learner).__name__,
        **{f"learner's {name}": value for name, value in plain_config(learner).items()},
        "seed": seed,
        "starts": starts,
        "data fingerprint": engine.origin.data_fingerprint,
    }


class Checkpoints:
    """The checkpoints in one folder, managed by Orbax.

    A checkpoint is written to a temporary folder that gets its name when all is on disk, so that
    a kill at any moment leaves the one before as it was.
    """

    def __init__(self, folder: Path, identity: Mapping[str, Any], every: int | None):
        self._ocp = ocp = require("orbax.checkpoint", "train")
        self.folder = folder.resolve() / "checkpoints"
        self._identity, self._every = dict(identity), every
        options = ocp.CheckpointManagerOptions(
            max_to_keep=KEPT,
            create=True,
            cleanup_tmp_directories=True,
            enable_async_checkpointing=False,
        )
        self._manager = ocp.CheckpointManager(self.folder, options=options)
        self._last_time = time.monotonic()

    @property
    def latest(self) -> int | None:
        """The number of updates at the newest checkpoint."""
        return self._manager.latest_step()

    def due(self, update: int) -> bool:
        """Whether a checkpoint is wanted now."""
        if self._every is not None:
            return update % self._every == 0
        return time.monotonic() - self._last_time >= _SECONDS_BETWEEN

    def save(self, state: State, update: int, seconds: float) -> None:
        """Writes a checkpoint, unless this update has one."""
        if update == self.latest:
            return
        about = {"identity": self._identity, "seconds": seconds, "daleth": __version__}
        args = self._ocp.args
        self._manager.save(
            update,
            args=args.Composite(
                state=args.StandardSave(_stored(state)), about=args.JsonSave(about)
            ),
        )
        self._last_time = time.monotonic()

    def restore(self, like: State) -> tuple[State, int, float]:
        """The newest state, its update and the seconds of training so far.

        Args:
            like: a state with the same structure.
        """
        update, args, named = self.latest or 0, self._ocp.args, _by_name(like)
        about = self._read(update, "about", args.JsonRestore())
        self._check(about["identity"])
        found = self._read(update, "state", args.StandardRestore(_stored(like)))
        arrays, rest = eqx.partition(like, eqx.is_array)
        leaves = [_unbound(found.get(name, leaf)) for name, leaf in named.items()]
        restored = jax.tree.unflatten(jax.tree.structure(arrays), leaves)
        return eqx.combine(restored, rest), update, float(about["seconds"])

    def close(self) -> None:
        """Waits for what is being written."""
        self._manager.close()

    def _check(self, found: Mapping[str, Any]) -> None:
        for name in {**self._identity, **found}:
            there, here = found.get(name), self._identity.get(name)
            if there != here:
                raise ValueError(
                    f"cannot resume the run in {str(self.folder.parent)!r}: "
                    f"its {name} is {there}, here it is {here}"
                )

    def _read(self, update: int, item: str, how: Any) -> Any:
        try:
            return self._manager.restore(update, args=self._ocp.args.Composite(**{item: how}))[item]
        except Exception as error:  # Orbax, TensorStore and the system each have their own
            raise ValueError(
                f"the checkpoint {str(self.folder / str(update))!r} cannot be read, it is damaged "
                "or from another version of daleth: remove it to go on from the one before"
            ) from error


def _by_name(state: State) -> dict[str, Any]:
    leaves, _ = jax.tree_util.tree_flatten_with_path(eqx.filter(state, eqx.is_array))
    return {f"{i:03d}{jax.tree_util.keystr(path)}": leaf for i, (path, leaf) in enumerate(leaves)}


def _stored(state: State) -> dict[str, Any]:
    """All arrays with elements: Orbax refuses the others, which hold nothing."""
    return {name: leaf for name, leaf in _by_name(state).items() if leaf.size}


def _unbound(leaf: jax.Array) -> jax.Array:
    """The array free of the device that Orbax binds it to, for which XLA would compile anew."""
    is_key = jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)
    return leaf if is_key else jnp.array(np.asarray(leaf))
