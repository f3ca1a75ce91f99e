"""Trajectories: episodes of different lengths in flat arrays."""

import dataclasses
import os
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, overload

import jax
import numpy as np
from jaxtyping import Bool, Float32, Int64, PRNGKeyArray, Shaped, UInt8

from daleth import _checks
from daleth._typing import ArrayLike, Count, Real
from daleth.data import _validation
from daleth.data.episodes import End, Episode, parse_ends

if TYPE_CHECKING:
    from daleth.data.describe import Description
    from daleth.data.normalise import Normalisation
    from daleth.envs.base import Environment
    from daleth.policies.base import Policy


@dataclasses.dataclass(frozen=True, init=False, eq=False, repr=False)
class Trajectories:
    """Episodes of one policy: what every learner eats.

    Episode `i` is the rows `offsets[i] : offsets[i+1]` of `states`, that is
    $x_0, …, x_T$ with the final state included, so an episode has at least two rows. Actions and
    rewards have the same number of rows: row `t` belongs to the transition from `states[t]` to
    `states[t+1]`, and the row of a final state is a filler of zeros. Rewards are kept for the
    user; learners never look at them. Numbers are float32 (whole-number actions int32), and the
    arrays are read-only and may be memory maps.

    Attributes:
        states: `[N, d]`.
        offsets: `[E+1]`.
        ends: `[E]`, the `End` of each episode.
        actions: `[N]` or `[N, a]`, or none.
        rewards: `[N]`, or none.

    Example:
        >>> data = Trajectories.from_episodes([[[0.0], [1.0], [2.0]], [[5.0], [4.0]]])
        >>> data
        Trajectories(2 episodes, 5 frames, state_dim=1)
        >>> data.episode(1).states.tolist()
        [[5.0], [4.0]]
    """

    states: Float32[np.ndarray, "n d"]
    offsets: Int64[np.ndarray, "boundaries"]
    ends: UInt8[np.ndarray, "e"]
    actions: Shaped[np.ndarray, "n *a"] | None
    rewards: Float32[np.ndarray, "n"] | None

    def __init__(
        self,
        states: ArrayLike,
        offsets: ArrayLike,
        ends: object = "open",
        actions: ArrayLike | None = None,
        rewards: ArrayLike | None = None,
    ):
        checked = _validation.as_states(states)
        offsets = _validation.as_offsets(offsets, len(checked))
        rows = {
            "states": checked,
            "actions": None if actions is None else _validation.as_actions(actions),
            "rewards": None if rewards is None else _validation.as_rewards(rewards),
        }
        for name, array in rows.items():
            if array is not None:
                _validation.check_rows(name, array, len(checked))
                _validation.check_finite(name, array, offsets)
        self._set(**rows, offsets=offsets, ends=parse_ends(ends, len(offsets) - 1))

    def _set(self, **arrays: np.ndarray | None) -> None:
        for name, array in arrays.items():
            if array is not None:
                # What the user can still write to must not change under checked data.
                array = array.copy() if array.flags.writeable else array.view()
                array.flags.writeable = False
            object.__setattr__(self, name, array)

    @staticmethod
    def _trusted(**arrays: np.ndarray | None) -> "Trajectories":
        """From arrays that have been checked before."""
        data = object.__new__(Trajectories)
        data._set(**arrays)
        return data

    def __len__(self) -> int:
        return self.num_episodes

    def __repr__(self) -> str:
        parts = [f"{self.num_episodes} episodes", f"{self.num_frames} frames"]
        parts.append(f"state_dim={self.state_dim}")
        parts += [name for name in ("actions", "rewards") if getattr(self, name) is not None]
        return f"Trajectories({', '.join(parts)})"

    @property
    def num_episodes(self) -> int:
        """The number `E` of episodes."""
        return len(self.ends)

    @property
    def num_frames(self) -> int:
        """The number `N` of states; there are `N - E` transitions."""
        return len(self.states)

    @property
    def state_dim(self) -> int:
        """The dimension `d` of a state."""
        return self.states.shape[1]

    @property
    def lengths(self) -> Int64[np.ndarray, "e"]:
        """The number of states of each episode, the final one included."""
        return np.diff(self.offsets)

    @property
    def terminated(self) -> Bool[np.ndarray, "e"]:
        """Whether each episode ended in an absorbing state."""
        return self.ends == End.TERMINATED

    def episode(self, index: int) -> Episode:
        """One episode; its arrays are views."""
        if not -self.num_episodes <= index < self.num_episodes:
            raise IndexError(f"there are {self.num_episodes} episodes, got number {index}")
        number = range(self.num_episodes)[index]
        start, stop = self.offsets[number : number + 2]
        actions, rewards = (
            None if array is None else array[start : stop - 1]
            for array in (self.actions, self.rewards)
        )
        return Episode(self.states[start:stop], actions, rewards, End(self.ends[number]))

    def __iter__(self) -> Iterator[Episode]:
        return (self.episode(index) for index in range(self.num_episodes))

    @overload
    def __getitem__(self, index: int) -> Episode: ...

    @overload
    def __getitem__(self, index: slice | Sequence[int] | np.ndarray) -> "Trajectories": ...

    def __getitem__(self, index):
        """One episode; or the episodes of a slice, a list of numbers or a mask `[E]`."""
        if isinstance(index, int | np.integer):
            return self.episode(int(index))
        chosen = np.arange(self.num_episodes)[index]
        if len(chosen) == 0:
            raise IndexError(f"no episode of {self.num_episodes} is selected by {index!r}")
        lengths = self.lengths[chosen]
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        if isinstance(index, slice) and index.step in (None, 1):
            rows: Any = slice(self.offsets[chosen[0]], self.offsets[chosen[-1] + 1])
        else:
            rows = np.arange(offsets[-1]) + np.repeat(self.offsets[chosen] - offsets[:-1], lengths)
        arrays = (self.states, self.actions, self.rewards)
        states, actions, rewards = (None if one is None else one[rows] for one in arrays)
        return Trajectories._trusted(
            states=states, offsets=offsets, ends=self.ends[chosen], actions=actions, rewards=rewards
        )

    def split(
        self, train_fraction: Real, key: PRNGKeyArray
    ) -> tuple["Trajectories", "Trajectories"]:
        """Training and held-out episodes, drawn without replacement; both have at least one.

        Args:
            train_fraction: the share of the episodes that goes to the first part, in (0, 1).
            key: decides which ones.
        """
        fraction = _checks.fraction("train_fraction", train_fraction)
        if self.num_episodes < 2:
            raise ValueError("a split needs at least 2 episodes, got 1")
        size = min(max(round(fraction * self.num_episodes), 1), self.num_episodes - 1)
        order = np.asarray(jax.random.permutation(key, self.num_episodes))
        return self[np.sort(order[:size])], self[np.sort(order[size:])]

    @staticmethod
    def from_arrays(
        states: ArrayLike,
        actions: ArrayLike | None = None,
        rewards: ArrayLike | None = None,
        ends: object = "open",
    ) -> "Trajectories":
        """From states `[E, T+1, d]` or `[T+1, d]`; see `daleth.data.sources.arrays`."""
        from daleth.data.sources.arrays import from_arrays

        return from_arrays(states, actions, rewards, ends)

    @staticmethod
    def from_episodes(episodes: object, ends: object = "open") -> "Trajectories":
        """From a list of arrays `[T+1, d]` or of dicts; see `daleth.data.sources.arrays`."""
        from daleth.data.sources.arrays import from_episodes

        return from_episodes(episodes, ends)

    @staticmethod
    def from_flat(
        states: ArrayLike,
        terminated: ArrayLike,
        truncated: ArrayLike | None = None,
        *,
        next_states: ArrayLike | None = None,
        actions: ArrayLike | None = None,
        rewards: ArrayLike | None = None,
    ) -> "Trajectories":
        """From a replay buffer with flags; see `daleth.data.sources.flat`."""
        from daleth.data.sources.flat import from_flat

        rest = {"next_states": next_states, "actions": actions, "rewards": rewards}
        return from_flat(states, terminated, truncated, **rest)

    @staticmethod
    def from_environment(
        env: "Environment",
        policy: "Policy",
        num_steps: Count,
        key: PRNGKeyArray,
        *,
        num_parallel: Count | None = None,
        start: Callable | ArrayLike | None = None,
        max_episode_steps: Count | None = None,
    ) -> "Trajectories":
        """Millions of steps per second in JAX; see `daleth.data.sources.environment`."""
        from daleth.data.sources.environment import from_environment

        rest: dict = {"num_parallel": num_parallel, "max_episode_steps": max_episode_steps}
        return from_environment(env, policy, num_steps, key, start=start, **rest)

    @staticmethod
    def from_gymnasium(
        env: Any, policy: Callable, num_steps: Count, key: PRNGKeyArray
    ) -> "Trajectories":
        """Steps a Gymnasium environment, single or vector; see `daleth.data.sources.gym`."""
        from daleth.data.sources.gym import from_gymnasium

        return from_gymnasium(env, policy, num_steps, key)

    @staticmethod
    def from_minari(dataset: Any) -> "Trajectories":
        """From a Minari dataset or its id; see `daleth.data.sources.minari`."""
        from daleth.data.sources.minari import from_minari

        return from_minari(dataset)

    def to_minari(self, dataset_id: str, **metadata: Any) -> Any:
        """Writes a local Minari dataset; see `daleth.data.sources.minari`."""
        from daleth.data.sources.minari import to_minari

        return to_minari(self, dataset_id, **metadata)

    @staticmethod
    def concatenate(parts: Sequence["Trajectories"]) -> "Trajectories":
        """The episodes of several data sets, one after another."""
        from daleth.data.sources.arrays import concatenate

        return concatenate(parts)

    def measured(self, occupancy_of: str = "state") -> "Trajectories":
        """What the occupancy is measured of: the `"state"`, or `"state-action"`, `[N', d+a]`.

        For `"state-action"` the result has the vectors (state, action) as its states, and
        learners need to know nothing else; see `daleth.data.measured`.
        """
        from daleth.data.measured import state_action_trajectories

        _checks.one_of("occupancy_of", occupancy_of, ("state", "state-action"))
        return self if occupancy_of == "state" else state_action_trajectories(self)

    def normalisation(self) -> "Normalisation":
        """Mean and standard deviation of the states; travels with a model."""
        from daleth.data.normalise import Normalisation

        return Normalisation.of(self.states)

    def describe(self, source_states: ArrayLike | None = None) -> "Description":
        """Sizes, ends, ranges, duplicates, and how near the data come to given source states."""
        from daleth.data.describe import describe

        return describe(self, source_states)

    def save(self, path: str | os.PathLike) -> None:
        """Writes one safetensors file, atomically."""
        from daleth.data.storage import save

        save(self, path)

    @staticmethod
    def load(path: str | os.PathLike) -> "Trajectories":
        """Opens a file written by `save`; the arrays stay on disk until they are looked at."""
        from daleth.data.storage import load

        return load(path)
