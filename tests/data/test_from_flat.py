import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from daleth.data import Trajectories

RNG = np.random.default_rng(0)


def random_episodes(steps, ends):
    return [
        {
            "states": RNG.normal(size=(num + 1, 2)),
            "actions": RNG.normal(size=(num, 3)),
            "rewards": RNG.normal(size=num),
            "end": end,
        }
        for num, end in zip(steps, ends, strict=True)
    ]


def flags(episodes, rows_of):
    """The flag arrays, with the last row of an episode flagged as it ended."""
    return {
        name: np.concatenate(
            [
                np.arange(rows_of(e)) == rows_of(e) - 1
                if e["end"] == name
                else np.zeros(rows_of(e))
                for e in episodes
            ]
        )
        for name in ("terminated", "truncated")
    }


def join(episodes, pick):
    return np.concatenate([pick(episode) for episode in episodes])


@settings(max_examples=20, deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(1, 4), st.sampled_from(["terminated", "truncated"])), max_size=5
    ),
    st.sampled_from(["terminated", "truncated", "open"]),
)
def test_both_flat_layouts_give_the_episodes_they_were_made_of(assert_same, parts, last_end):
    parts = [*parts, (3, last_end)]
    episodes = random_episodes(*zip(*parts, strict=True))
    expected = Trajectories.from_episodes(episodes)
    transitions = Trajectories.from_flat(
        join(episodes, lambda e: e["states"][:-1]),
        **flags(episodes, lambda e: len(e["actions"])),
        next_states=join(episodes, lambda e: e["states"][1:]),
        actions=join(episodes, lambda e: e["actions"]),
        rewards=join(episodes, lambda e: e["rewards"]),
    )
    assert_same(transitions, expected)
    frames = Trajectories.from_flat(
        join(episodes, lambda e: e["states"]),
        **flags(episodes, lambda e: len(e["states"])),
        actions=join(episodes, lambda e: np.append(e["actions"], [[9, 9, 9]], axis=0)),
        rewards=join(episodes, lambda e: np.append(e["rewards"], 9)),
    )
    assert_same(frames, expected)


def test_termination_goes_before_truncation():
    data = Trajectories.from_flat([[0.0], [1.0]], [False, True], [False, True])
    assert data.terminated.tolist() == [True]


def test_arrays_of_one_length(assert_same):
    states, actions = RNG.normal(size=(3, 5, 2)), RNG.integers(4, size=(3, 4))
    data = Trajectories.from_arrays(states, actions, ends=["open", "truncated", "terminated"])
    expected = [
        {"states": states[i], "actions": actions[i], "end": end}
        for i, end in enumerate(["open", "truncated", "terminated"])
    ]
    assert_same(data, Trajectories.from_episodes(expected))
    assert_same(Trajectories.from_arrays(states[0], actions[0]), data[:1])


@pytest.mark.parametrize("dtype", [np.float16, np.float64, np.int64, np.uint8, bool])
def test_real_numbers_of_any_dtype_become_float32(dtype):
    data = Trajectories.from_arrays(np.array([[0], [1]], dtype))
    assert data.states.dtype == np.float32
    assert data.states.tolist() == [[0], [1]]
