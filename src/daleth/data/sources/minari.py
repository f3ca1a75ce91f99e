"""Trajectories from a Minari dataset, and to one."""

import warnings
from typing import Any

import numpy as np

from daleth._optional import require
from daleth.data.episodes import End, end_of
from daleth.data.sources.arrays import from_episodes
from daleth.data.trajectories import Trajectories


def from_minari(dataset: Any) -> Trajectories:
    """Reads all episodes of a Minari dataset.

    Observations have to be vectors or whole numbers. An episode whose last step has neither flag
    is open.

    Args:
        dataset: a `minari.MinariDataset`, or the id of one that is stored locally (`minari
            download <id>` fetches it).
    """
    minari = require("minari", "minari")
    if isinstance(dataset, str):
        dataset = minari.load_dataset(dataset)
    return from_episodes([_from_minari_episode(one) for one in dataset.iterate_episodes()])


def _from_minari_episode(episode: Any) -> dict:
    parts = {"observations": episode.observations, "actions": episode.actions}
    for name, value in parts.items():
        if not isinstance(value, np.ndarray):
            raise ValueError(
                f"{name} of the Minari dataset must be arrays, got {type(value).__name__} in "
                f"episode {episode.id}: build the episodes by hand and use from_episodes"
            )
    states = episode.observations
    return {
        "states": states[:, None] if states.ndim == 1 else states,
        "actions": episode.actions,
        "rewards": episode.rewards,
        "end": end_of(episode.terminations[-1], episode.truncations[-1]),
    }


def to_minari(data: Trajectories, dataset_id: str, **metadata: Any) -> Any:
    """Writes a local Minari dataset, under the folder that Minari uses.

    Minari has a reward for each step: without rewards zeros are written. It also has an action for
    each step, so the trajectories need actions. Spaces are as wide as the data.

    Args:
        data: the trajectories.
        dataset_id: such as `"pendulum/noisy-v0"`.
        **metadata: what `minari.create_dataset_from_buffers` takes besides, such as `author`.

    Returns:
        The `minari.MinariDataset`.
    """
    minari, gymnasium = require("minari", "minari"), require("gymnasium", "minari")
    if data.actions is None:
        raise ValueError("a Minari dataset needs actions, these trajectories have none")
    defaults = {
        "observation_space": _box(gymnasium, data.states),
        "action_space": _action_space(gymnasium, data.actions),
    }
    buffer = [_to_minari_episode(minari, episode) for episode in data]
    with warnings.catch_warnings():
        # Minari warns of every piece of metadata that is left out.
        warnings.filterwarnings("ignore", ".*is (set to )?None", UserWarning)
        return minari.create_dataset_from_buffers(dataset_id, buffer, **(defaults | metadata))


def _to_minari_episode(minari: Any, episode: Any) -> Any:
    num_steps = len(episode.states) - 1
    flags = {}
    for name, end in {"terminations": End.TERMINATED, "truncations": End.TRUNCATED}.items():
        flags[name] = np.zeros(num_steps, bool)
        flags[name][-1] = episode.end == end
    rewards = np.zeros(num_steps) if episode.rewards is None else episode.rewards
    return minari.data_collector.EpisodeBuffer(
        observations=episode.states, actions=episode.actions, rewards=rewards, **flags
    )


def _box(gymnasium: Any, rows: np.ndarray) -> Any:
    return gymnasium.spaces.Box(rows.min(axis=0), rows.max(axis=0), dtype=rows.dtype.type)


def _action_space(gymnasium: Any, actions: np.ndarray) -> Any:
    if actions.ndim == 1 and actions.dtype.kind == "i" and actions.min() >= 0:
        return gymnasium.spaces.Discrete(int(actions.max()) + 1)
    return _box(gymnasium, actions)
