import sys

import numpy as np
import pytest

from daleth.data import Trajectories

STATES = np.random.default_rng(0).normal(size=(9, 2)).astype(np.float32)


@pytest.fixture(autouse=True)
def local_datasets(tmp_path, monkeypatch):
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))


def episodes(actions):
    ends = ("terminated", "truncated", "open")
    return [
        {"states": STATES[3 * i : 3 * i + 3], "actions": actions, "rewards": [1.0, i], "end": end}
        for i, end in enumerate(ends)
    ]


@pytest.mark.parametrize("actions", [np.array([3, 1]), np.array([[0.5, -1.0], [0.0, 2.0]])])
def test_round_trip(assert_same, actions):
    data = Trajectories.from_episodes(episodes(actions))
    dataset = data.to_minari("daleth-test/counting-v0", author="nobody", description="a test")
    assert (dataset.total_episodes, dataset.total_steps) == (3, 6)
    assert_same(Trajectories.from_minari(dataset), data)
    assert_same(Trajectories.from_minari("daleth-test/counting-v0"), data)


def test_without_rewards_zeros_are_written():
    plain = [{**one, "rewards": None} for one in episodes([0, 1])]
    dataset = Trajectories.from_episodes(plain).to_minari("zeros-v0")
    rewards = Trajectories.from_minari(dataset).rewards
    assert rewards is not None
    assert rewards.tolist() == [0] * 9


def test_without_actions_there_is_one_sentence():
    with pytest.raises(ValueError, match="a Minari dataset needs actions"):
        Trajectories.from_arrays(STATES).to_minari("none-v0")


def test_observations_that_are_no_arrays_get_one_sentence():
    class Dataset:
        def iterate_episodes(self):
            data = Trajectories.from_episodes(episodes([0, 1])).to_minari("dict-v0")
            for episode in data.iterate_episodes():
                object.__setattr__(episode, "observations", {"x": episode.observations})
                yield episode

    with pytest.raises(
        ValueError, match="observations of the Minari dataset must be arrays, got dict"
    ):
        Trajectories.from_minari(Dataset())


def test_without_minari_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "minari", None)
    with pytest.raises(ImportError, match=r'this needs minari: pip install "daleth\[minari\]"'):
        Trajectories.from_minari("any-v0")
