import dataclasses

import jax
import numpy as np
import pytest

from daleth.data import End, Trajectories

EPISODES = [
    {"states": [[0.0], [1.0], [2.0]], "actions": [1, 1], "rewards": [5.0, 6.0], "end": "truncated"},
    {"states": [[9.0], [8.0]], "actions": [2], "rewards": [7.0], "end": "terminated"},
    {"states": [[3.0], [4.0], [5.0], [6.0]], "actions": [1, 2, 1], "rewards": [0, 1, 0]},
]


@pytest.fixture
def data():
    return Trajectories.from_episodes(EPISODES)


def test_layout_has_final_states_and_zeros_in_their_other_rows(data):
    assert data.states.ravel().tolist() == [0, 1, 2, 9, 8, 3, 4, 5, 6]
    assert data.offsets.tolist() == [0, 3, 5, 9]
    assert data.actions.tolist() == [1, 1, 0, 2, 0, 1, 2, 1, 0]
    assert data.rewards.tolist() == [5, 6, 0, 7, 0, 0, 1, 0, 0]
    assert data.ends.tolist() == [End.TRUNCATED, End.TERMINATED, End.OPEN]
    assert (data.states.dtype, data.actions.dtype) == (np.float32, np.int32)
    assert (len(data), data.num_frames, data.state_dim) == (3, 9, 1)
    assert repr(data) == "Trajectories(3 episodes, 9 frames, state_dim=1, actions, rewards)"


def test_episodes_come_back_as_they_went_in(data):
    for given, episode in zip(EPISODES, data, strict=True):
        assert episode.states.tolist() == given["states"]
        assert episode.actions.tolist() == given["actions"]
        assert episode.rewards.tolist() == given["rewards"]
        assert episode.end.name.lower() == given.get("end", "open")
    assert data[-1].states.tolist() == EPISODES[2]["states"]
    with pytest.raises(IndexError):
        data.episode(3)


@pytest.mark.parametrize("index", [slice(1, 3), [2, 1], slice(None, None, -1), [True, False, True]])
def test_selecting_episodes(data, assert_same, index):
    chosen = np.arange(3)[index]
    expected = Trajectories.from_episodes([EPISODES[number] for number in chosen])
    assert_same(data[index], expected)


def test_a_slice_copies_nothing(data):
    assert np.shares_memory(data[1:].states, data.states)
    with pytest.raises(IndexError, match="no episode of 3 is selected"):
        data[3:]


def test_frozen_and_without_effect_on_the_arrays_of_the_user():
    states = np.zeros((4, 1), np.float32)
    data = Trajectories(states, [0, 4])
    with pytest.raises(ValueError, match="read-only"):
        data.states[0] = 1
    with pytest.raises(dataclasses.FrozenInstanceError):
        data.__setattr__("states", states)
    states[0] = np.nan
    assert np.isfinite(data.states).all()


def test_split_parts_are_disjoint_and_complete(key):
    data = Trajectories.from_arrays(np.arange(20.0).reshape(10, 2, 1))
    train, held_out = data.split(0.7, key)
    assert (len(train), len(held_out)) == (7, 3)
    first_states = [episode.states[0, 0] for part in (train, held_out) for episode in part]
    assert sorted(first_states) == list(range(0, 20, 2))
    assert first_states != [
        episode.states[0, 0] for p in data.split(0.7, jax.random.key(1)) for episode in p
    ]
    assert [len(part) for part in data.split(0.999, key)] == [9, 1]


def test_concatenating_the_parts_gives_the_whole(data, assert_same):
    assert_same(Trajectories.concatenate([data[:1], data[1:]]), data)


def test_state_action_vectors_leave_out_the_unknown_last_pair(data):
    measured = data.measured(occupancy_of="state-action")
    # Episode 1 terminated: its absorbing state stays, with action 0. The others lose one frame.
    assert [episode.states.tolist() for episode in measured] == [
        [[0, 1], [1, 1]],
        [[9, 2], [8, 0]],
        [[3, 1], [4, 2], [5, 1]],
    ]
    assert measured.ends.tolist() == data.ends.tolist()
    assert measured.actions is None
    assert data.measured(occupancy_of="state") is data


def test_state_action_vectors_drop_episodes_without_a_transition_between_pairs():
    episodes = [
        {"states": [[0.0], [1.0]], "actions": [[7.0, 8.0]], "end": "truncated"},
        {"states": [[2.0], [3.0]], "actions": [[5.0, 6.0]], "end": "terminated"},
    ]
    data = Trajectories.from_episodes(episodes)
    measured = data.measured(occupancy_of="state-action")
    assert [episode.states.tolist() for episode in measured] == [[[2, 5, 6], [3, 0, 0]]]
    with pytest.raises(ValueError, match="no episode has two pairs of state and action"):
        data[:1].measured(occupancy_of="state-action")
