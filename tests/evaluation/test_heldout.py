"""Start states that do not look into the future, and returns completed by the model."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from daleth import StateMeasures, Trajectories
from daleth.evaluation.heldout import bootstrapped_returns, draw_starts, seen_returns
from daleth.models.base import Model


class Standing(Model):
    """Two equally likely futures that stay at 0 or at 4: returns 0 or 8 for the state itself."""

    gamma: float = 0.5
    state_dim: int = 1

    def atoms(self, source_state, key):
        return StateMeasures(jnp.array([[[0.0]], [[4.0]]]))


def itself(states):
    return states[..., 0]


def dying(num_episodes, death_rate, time_limit, seed):
    """Episodes that count their steps and terminate at each with the same probability."""
    lives = np.random.default_rng(seed).geometric(death_rate, num_episodes)
    lengths = np.minimum(lives, time_limit) + 1
    states = [np.arange(length, dtype=float)[:, None] for length in lengths]
    ends = ["terminated" if life <= time_limit else "truncated" for life in lives]
    return Trajectories.from_episodes(states, ends)


def test_starts_have_a_future_and_stand_apart():
    data = Trajectories.from_arrays(np.zeros((6, 100, 1)))
    rows = draw_starts(data, 0.8, 1000, 0.05, np.random.default_rng(0))
    steps_needed = 14  # 0.8^14 < 0.05 < 0.8^13
    assert (99 - rows % 100).min() >= steps_needed
    same_episode = np.diff(rows // 100) == 0
    assert np.diff(rows)[same_episode].min() == steps_needed
    assert set(rows // 100) == set(range(6))
    assert len(draw_starts(data, 0.8, 10, 0.05, np.random.default_rng(0))) == 10


@pytest.mark.parametrize("max_unseen_mass", [0.05, 0.3])
def test_starts_do_not_prefer_terminations(max_unseen_mass):
    """Of the starts, a share of exactly the death rate must die with the next step.

    To keep all futures that are long *or terminated* would give shares of 7 % and 6 %: late in an
    episode, the time limit of 20 steps leaves only those that terminate.
    """
    data = dying(4000, death_rate=0.05, time_limit=20, seed=1)
    rows = draw_starts(data, 0.8, 10**6, max_unseen_mass, np.random.default_rng(0))
    last = np.searchsorted(data.offsets, rows, side="right")
    dies = (data.offsets[last] - 1 - rows == 1) & data.terminated[last - 1]
    error = np.sqrt(0.05 * 0.95 / len(rows))
    assert dies.mean() == pytest.approx(0.05, abs=3.5 * error)  # fails for 1 in 2,000 seeds
    assert len(rows) > 1000


def test_every_state_of_short_terminated_episodes_may_be_a_start():
    data = Trajectories.from_arrays(np.zeros((500, 4, 1)), ends="terminated")
    rows = draw_starts(data, 0.99, 10**6, 0.05, np.random.default_rng(0))
    assert set(rows % 4) == {0, 1, 2}  # not the absorbing state
    assert len(rows) == 500


def test_short_episodes_are_refused():
    data = Trajectories.from_arrays(np.zeros((3, 20, 1)))
    with pytest.raises(ValueError, match="too short for gamma 0.99.*more than 299 steps"):
        draw_starts(data, 0.99, 10, 0.05, np.random.default_rng(0))
    with pytest.raises(ValueError, match="1 independent start"):
        draw_starts(data[:1], 0.8, 10, 0.05, np.random.default_rng(0))


def test_bootstrapped_returns_by_hand(key):
    data = Trajectories.from_episodes(
        [[[1.0], [2.0], [3.0]], [[1.0], [2.0], [3.0]]], ends=["truncated", "terminated"]
    )
    seen = seen_returns(data, [itself, lambda x: -x[..., 0]], 0.5, np.array([0, 3]), num_steps=5)
    # 1 + 2/2, and after the termination in 3 also (3 + 3/2 + ...) / 4 = 6/4.
    np.testing.assert_allclose(seen.seen, [[2.0, 3.5], [-2.0, -3.5]])
    np.testing.assert_allclose(seen.unseen_mass, [0.25, 0.0])
    draws = np.stack(
        [
            bootstrapped_returns(Standing(), [itself, lambda x: -x[..., 0]], seen, one)
            for one in jax.random.split(key, 12)
        ]
    )
    # The model's returns at the cut are 0 or 8; an atom is one future for both rewards.
    assert set(draws[:, 0, 0]) == {2.0, 4.0}
    np.testing.assert_allclose(draws[:, 1], -draws[:, 0])
    np.testing.assert_allclose(draws[:, 0, 1], 3.5)
