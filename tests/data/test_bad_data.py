import numpy as np
import pytest

from daleth.data import Trajectories, WindowSampler
from daleth.data.normalise import Normalisation

STATES = np.arange(24.0).reshape(12, 2)
OFFSETS = [0, 4, 12]
GOOD = Trajectories(STATES, OFFSETS)
FLAGS = np.arange(12) == 5


def with_value(value, row, array=STATES):
    changed = array.copy()
    changed[row, 1] = value
    return changed


def arrays(**changes):
    return lambda: Trajectories(**({"states": STATES, "offsets": OFFSETS} | changes))


def episodes(*parts, **options):
    return lambda: Trajectories.from_episodes(list(parts), **options)


def flat(**changes):
    return lambda: Trajectories.from_flat(**({"states": STATES, "terminated": FLAGS} | changes))


def episode(**parts):
    return {"states": STATES[:3]} | parts


CASES = {
    "nan": (
        arrays(states=with_value(np.nan, 7)),
        r"states must be finite, got nan in row 7 \(episode 1, step 3\)",
    ),
    "inf in a later chunk of an episode list": (
        episodes(STATES[:3], with_value(-np.inf, 2)),
        r"states must be finite, got -inf in row 5 \(episode 1, step 2\)",
    ),
    "nan action": (
        arrays(actions=with_value(np.nan, 4)),
        r"actions must be finite, got nan in row 4 \(episode 1, step 0\)",
    ),
    "nan reward": (
        arrays(rewards=np.full(12, np.nan)),
        r"rewards must be finite, got nan in row 0",
    ),
    "too large for float32": (
        arrays(states=with_value(1e300, 7)),
        r"states must fit into float32, got 1e\+300",
    ),
    "lengths do not add up": (
        arrays(offsets=[0, 4, 11]),
        "the lengths of the episodes add up to 11, but there are 12 states",
    ),
    "offsets from 1": (arrays(offsets=[1, 12]), "offsets must start at 0, got 1"),
    "offsets that are not whole": (
        arrays(offsets=[0.0, 12.0]),
        "offsets must be at least 2 whole numbers",
    ),
    "offsets that go back": (arrays(offsets=[0, 8, 4, 12]), "episode 1 has a negative length"),
    "empty episode": (
        arrays(offsets=[0, 4, 4, 12]),
        "episode 1 is empty: an episode needs at least 2 states",
    ),
    "empty episode in a list": (episodes(STATES, []), "episode 1 is empty"),
    "no episodes": (episodes(), "there must be at least one episode, got none"),
    "one state": (
        episodes(STATES, STATES[:1]),
        "episode 1 has one state and so no transition: an episode needs at least 2 states",
    ),
    "actions of another length": (
        arrays(actions=np.zeros(11)),
        r"actions must have one row per state \(12\), got 11",
    ),
    "as many actions as states": (
        episodes(episode(actions=[0, 1]), episode(actions=[0, 1, 1])),
        "episode 1 has 3 states and so 2 transitions, but 3 actions",
    ),
    "rewards of another length": (
        episodes(episode(rewards=[0.0])),
        "episode 0 has 3 states and so 2 transitions, but 1 rewards",
    ),
    "actions in some episodes": (
        episodes(episode(actions=[0, 1]), episode()),
        "either all episodes have actions or none, episode 1 lacks them",
    ),
    "actions of mixed dtypes": (
        episodes(episode(actions=[0, 1]), episode(actions=[0.0, 1.0])),
        r"actions must have one dtype .* int32\[\] in episode 0 and float32\[\] in episode 1",
    ),
    "actions of mixed shapes": (
        episodes(episode(actions=np.ones((2, 1))), episode(actions=np.ones((2, 2)))),
        r"got float32\[1\] in episode 0 and float32\[2\] in episode 1",
    ),
    "huge whole-number actions": (
        arrays(actions=np.full(12, 2**40)),
        "actions must fit into int32, got 1099511627776",
    ),
    "objects": (
        arrays(states=STATES.astype(object)),
        "states must hold real numbers of one dtype, got object",
    ),
    "text among numbers": (
        episodes(STATES, [[0.0, "north"], [1.0, "south"]]),
        "states of episode 1 must hold real numbers of one dtype, got <U",
    ),
    "complex numbers": (
        arrays(states=STATES + 1j),
        "states must hold real numbers of one dtype, got complex128",
    ),
    "rows of different lengths": (
        episodes([[0.0, 1.0], [1.0]]),
        "states of episode 0 must be one array, got rows of different lengths",
    ),
    "different dimensions": (
        episodes(STATES, STATES[:, :1]),
        "the same dimension, got 2 in episode 0 and 1 in episode 1",
    ),
    "numbers instead of vectors": (
        episodes(STATES[:, 0]),
        r"states of episode 0 must have shape \[N, d\], got \(12,\): use x\[:, None\]",
    ),
    "no dimension at all": (
        lambda: Trajectories.from_arrays(np.zeros(3)),
        r"states must have shape \[E, T\+1, d\] or \[T\+1, d\], got \(3,\)",
    ),
    "other number of episodes": (
        lambda: Trajectories.from_arrays(np.zeros((2, 3, 1)), np.zeros((3, 2))),
        "same number of episodes, got {'states': 2, 'actions': 3}",
    ),
    "unknown key": (
        episodes({"observations": STATES}),
        "episode 0 has the unknown key 'observations', known are",
    ),
    "no states": (episodes({"actions": [0]}), "episode 0 has no 'states'"),
    "not a list": (lambda: Trajectories.from_episodes("abc"), "list of episodes, got str"),
    "unknown end": (
        episodes(STATES, ends="done"),
        "an end must be 'terminated', 'truncated' or 'open', got 'done'",
    ),
    "ends of another length": (
        episodes(STATES, ends=["open", "open"]),
        r"there must be one end per episode \(1\), got \(2,\)",
    ),
    "flags of another length": (
        flat(terminated=FLAGS[:5]),
        r"terminated must be true or false for each of the 12 rows, got bool of shape \(5,\)",
    ),
    "flags that are no flags": (flat(truncated=np.arange(12)), "truncated must be true or false"),
    "flat one-state episode": (flat(truncated=np.arange(12) == 6), "episode 1 has one state"),
    "flat actions": (flat(actions=np.zeros(11)), r"one row per state \(12\), got 11"),
    "broken chain": (
        flat(next_states=np.concatenate([STATES[1:4], STATES[:9]])),
        r"next_states\[3\] differs from states\[4\] although no flag in row 3 ends an episode",
    ),
    "nan in next states": (
        flat(next_states=with_value(np.nan, 8)),
        r"next_states must be finite, got nan in row 8 \(episode 1, step 2\)",
    ),
    "next states of another shape": (
        flat(next_states=STATES[1:]),
        r"next_states must have the shape of states \(12, 2\), got \(11, 2\)",
    ),
    "nothing flat": (flat(states=np.zeros((0, 2))), "states must not be empty"),
    "concatenating nothing": (lambda: Trajectories.concatenate([]), "at least one data set"),
    "concatenating what does not fit": (
        lambda: Trajectories.concatenate([GOOD, Trajectories(STATES, OFFSETS, rewards=FLAGS)]),
        r"rewards must be alike in all data sets, got \['float32\[\]', 'none'\]",
    ),
    "pairs without actions": (
        lambda: GOOD.measured(occupancy_of="state-action"),
        "occupancy_of='state-action' needs actions, these trajectories have none",
    ),
    "unknown occupancy": (
        lambda: GOOD.measured(occupancy_of="action"),
        "occupancy_of must be one of 'state', 'state-action', got 'action'",
    ),
    "sources of another dimension": (
        lambda: GOOD.describe(np.zeros((1, 3))),
        "source_states must have dimension 2 like the data",
    ),
    "windows without steps": (
        lambda: WindowSampler.uniform(GOOD, num_steps=0),
        "num_steps must be at least 1, got 0",
    ),
    "normalising nothing": (lambda: Normalisation.of(np.zeros((0, 2))), "must not be empty"),
}


@pytest.mark.parametrize("case", CASES)
def test_bad_data_gets_one_sentence(case):
    make, message = CASES[case]
    with pytest.raises(ValueError, match=message) as caught:
        make()
    assert "\n" not in str(caught.value)


def test_bad_split(key):
    with pytest.raises(ValueError, match=r"train_fraction must lie in \(0, 1\), got 1"):
        GOOD.split(1, key)
    with pytest.raises(ValueError, match="a split needs at least 2 episodes"):
        GOOD[:1].split(0.5, key)
