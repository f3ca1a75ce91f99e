"""What a diagnosis found: the numbers, one page of text, JSON and a picture."""

import dataclasses
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from jaxtyping import Float

from daleth.evaluation import verdict
from daleth.evaluation.bellman import Discrepancy
from daleth.evaluation.support import Support

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NUM_BINS = 20


class Estimate(NamedTuple):
    """A number and its standard error; start states are the independent observations."""

    value: float
    error: float

    @staticmethod
    def of(per_start: Float[np.ndarray, "s"]) -> "Estimate":
        """The mean over start states; the rewards of one start were averaged before."""
        spread = per_start.std(ddof=1) if len(per_start) > 1 else np.inf
        return Estimate(float(per_start.mean()), float(spread / np.sqrt(len(per_start))))


@dataclasses.dataclass(frozen=True)
class Diagnosis:
    """The answer to "can I believe this model?"; print it, `plot()` it, or take `to_dict()`.

    Attributes:
        gamma: the discount factor of the model.
        num_atoms: the effective number of its atoms, 1 over the sum of squared weights.
        num_episodes: how many held-out episodes gave start states.
        unseen_mass: the mean share of a discounted future that lies behind the end of the data.
        reward_names: the `r` rewards.
        pit: PIT values of the realised returns, `[r, s]`.
        crps: scores of the model, `[r, s]`.
        climatology: scores of the law of all held-out returns, whatever the state, `[r, s]`.
        nearest: scores of the nearest trajectories of other episodes, `[r, s]`, if there are some.
        error: the discrepancy from realised returns.
        bellman: the discrepancy from bootstrapped returns of `num_bootstrap_steps`.
        num_bootstrap_steps: see `bellman`.
        atom_share: how much so many atoms alone add to a perfect score, as a share of it.
        support: distances from the data.
        tail_levels: what was asked for, by name, and the tail of the law that it rests on.
        seed_spread: how far several models differ, in standard deviations of held-out returns;
            empty if there is one model.
        is_training_data: whether the model was trained on these very data.
    """

    gamma: float
    num_atoms: float
    num_episodes: int
    unseen_mass: float
    reward_names: tuple[str, ...]
    pit: Float[np.ndarray, "r s"]
    crps: Float[np.ndarray, "r s"]
    climatology: Float[np.ndarray, "r s"]
    nearest: Float[np.ndarray, "r s"] | None
    error: Discrepancy
    bellman: Discrepancy
    num_bootstrap_steps: int
    atom_share: float
    support: Support
    tail_levels: dict[str, float]
    seed_spread: dict[str, float]
    is_training_data: bool

    @property
    def num_starts(self) -> int:
        """The number `s` of start states, each an independent observation."""
        return self.pit.shape[1]

    @cached_property
    def reasons(self) -> tuple[str, ...]:
        """Why the model is not fit for use; empty if it is."""
        return verdict.reasons(self)

    @cached_property
    def notes(self) -> tuple[str, ...]:
        """What one should know and what does not speak against the model."""
        return verdict.notes(self)

    @property
    def fit_for_use(self) -> bool:
        """Whether nothing that was looked at speaks against the model."""
        return not self.reasons

    def coverage(self, level: float) -> Estimate:
        """How often the central interval of mass `level` held the realised return."""
        return Estimate.of((np.abs(self.pit - 0.5) <= level / 2).mean(axis=0))

    def histogram(self) -> tuple[Float[np.ndarray, "bins"], Float[np.ndarray, "bins"]]:
        """Densities of PIT values in 20 equal bins, and the standard error of each when flat."""
        bins = np.minimum((self.pit * NUM_BINS).astype(int), NUM_BINS - 1)
        shares = np.stack([(bins == one).mean(axis=0) for one in range(NUM_BINS)])
        # One error for all bins, by pooling: an empty bin has no spread of its own.
        error = np.sqrt(shares.var(axis=1).mean() / self.num_starts)
        return NUM_BINS * shares.mean(axis=1), np.full(NUM_BINS, NUM_BINS * error)

    def relative(self, scores: Float[np.ndarray, "r s"]) -> Float[np.ndarray, "v s"]:
        """Scores in units of the mean climatology, of the rewards whose returns vary at all."""
        means = self.climatology.mean(axis=1, keepdims=True)
        return (scores / np.where(means > 0, means, 1.0))[means[:, 0] > 0]

    def skill(self, scores: Float[np.ndarray, "r s"] | None = None) -> Estimate:
        """One minus the score over that of climatology, for the model or other scores.

        The mean over rewards; 0 if the return of no reward varies.
        """
        ours = self.relative(self.crps if scores is None else scores)
        if not len(ours):
            return Estimate(0.0, 0.0)
        ours, theirs = (one.mean(axis=0) for one in (ours, self.relative(self.climatology)))
        ratio = float(ours.mean())
        return Estimate(1 - ratio, Estimate.of(ours - ratio * theirs).error)

    def plot(self) -> "Figure":
        """One figure: PIT, coverage, skill by reward, distance from the data."""
        from daleth.evaluation.diagnosis_plot import picture

        return picture(self)

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers for JSON."""
        heights, errors = self.histogram()
        rewards = zip(self.reward_names, self.crps, self.climatology, strict=True)
        return {
            "fit_for_use": self.fit_for_use,
            "reasons": list(self.reasons),
            "notes": list(self.notes),
            "gamma": self.gamma,
            "num_atoms": self.num_atoms,
            "num_starts": self.num_starts,
            "num_episodes": self.num_episodes,
            "unseen_mass": self.unseen_mass,
            "is_training_data": self.is_training_data,
            "coverage": {f"{level:g}": self.coverage(level)._asdict() for level in (0.5, 0.9)},
            "pit_density": {"heights": heights.tolist(), "standard_error": float(errors[0])},
            "skill": self.skill()._asdict(),
            "skill_of_nearest": None
            if self.nearest is None
            else self.skill(self.nearest)._asdict(),
            "rewards": {
                name: {"crps": float(ours.mean()), "climatology": float(theirs.mean())}
                for name, ours, theirs in rewards
            },
            "error": dataclasses.asdict(self.error),
            "bellman": {
                "num_bootstrap_steps": self.num_bootstrap_steps,
                **dataclasses.asdict(self.bellman),
            },
            "atom_share": self.atom_share,
            "support": {
                "median": float(np.median(self.support.heldout)),
                "limit": self.support.limit,
                "source_distances": self.support.sources.tolist(),
                "source_percentiles": self.support.percentiles.tolist(),
            },
            "tail_atoms": {
                name: level * self.num_atoms for name, level in self.tail_levels.items()
            },
            "seed_spread": self.seed_spread,
        }

    def __str__(self) -> str:
        return verdict.page(self)
