import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxtyping import Array, Float, Int, PRNGKeyArray

from daleth.data import Trajectories
from daleth.envs.base import Box, Discrete, Environment


class Count(Environment):
    """Counts up by the action, from a random letter; terminates at nine or above."""

    max_episode_steps = 6

    @property
    def state_names(self):
        return ("letter", "count")

    @property
    def state_space(self):
        return Box((0.0, 0.0), (3.0, 11.0))

    @property
    def action_space(self):
        return Discrete(3)

    def reset(self, key: PRNGKeyArray):
        letter = jax.random.randint(key, (), 0, 4)
        return jnp.stack([letter, 0]).astype(float)

    def step(self, key: PRNGKeyArray, state: Float[Array, "d"], action: Int[Array, ""]):
        following = state.at[1].add(action)
        return following, following[1] >= 9


def policy(key: PRNGKeyArray, state: Float[Array, "d"]) -> Int[Array, ""]:
    return jax.random.randint(key, (), 0, 3)


# By default 47 steps have 7 copies; 256 frames of all copies are made at once.
@pytest.mark.parametrize(
    ("num_steps", "num_parallel"),
    [(47, None), (1000, 7), (7 * 200, 7), (7 * 256, 7), (5, 9)],
)
def test_every_episode_obeys_the_environment(key, num_steps, num_parallel):
    data = Trajectories.from_environment(Count(), policy, num_steps, key, num_parallel=num_parallel)
    assert data.num_frames - data.num_episodes == num_steps
    num_open = 0
    for episode in data:
        letters, counts = episode.states.T
        assert counts[0] == 0
        assert len(set(letters)) == 1
        np.testing.assert_array_equal(np.diff(counts), episode.actions)
        assert (counts[:-1] < 9).all()
        expected = "OPEN" if len(counts) < 7 else "TRUNCATED"
        assert episode.end.name == ("TERMINATED" if counts[-1] >= 9 else expected)
        num_open += episode.end.name == "OPEN"
    assert num_open <= (num_parallel or 7)


def test_actions_and_starts_are_random_and_reproducible(key, assert_same):
    data, again = (
        Trajectories.from_environment(Count(), policy, 6000, key, num_parallel=7) for _ in range(2)
    )
    assert_same(data, again)
    # The chance that a count of n uniform draws from c is off by five deviations is below 1e-6.
    letters = np.bincount(data.states[data.offsets[:-1], 0].astype(int), minlength=4)
    final = np.isin(np.arange(data.num_frames), data.offsets[1:] - 1)
    actions = np.bincount(np.asarray(data.actions)[~final], minlength=3)
    for counts in (letters, actions):
        mean, classes = counts.mean(), len(counts)
        assert np.abs(counts - mean).max() < 5 * np.sqrt(mean * (1 - 1 / classes))


def test_starts_and_the_time_limit_may_be_overridden(key):
    data = Trajectories.from_environment(
        Count(), policy, 40, key, start=lambda key: jnp.array([7.0, -50.0]), max_episode_steps=10
    )
    np.testing.assert_array_equal(data.states[data.offsets[:-1]], [[7, -50]] * 4)
    assert data.lengths.tolist() == [11] * 4
    with pytest.raises(ValueError, match="max_episode_steps must be at least 1, got 0"):
        Trajectories.from_environment(Count(), policy, 40, key, max_episode_steps=0)


@pytest.mark.parametrize("start", [[2.0], lambda key: jnp.zeros(1)])
def test_a_start_of_another_dimension_is_refused(start, key):
    with pytest.raises(ValueError, match=r"start must be a state of shape \(2,\), got \(1,\)"):
        Trajectories.from_environment(Count(), policy, 10, key, start=start)
