"""Monte Carlo truth: exact in the corridor, cached, and never read from a damaged cache."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from daleth.envs import Corridor
from daleth.evaluation import true_returns
from daleth.evaluation import truth as truth_module
from daleth.policies import CategoricalPolicy, policy
from daleth.tabular import MarkovChain, expected_returns, return_variances
from daleth.targets import horizon

GAMMA, NUM = 0.8, 5000
ENV, WALK = Corridor(5), policy("corridor/uniform")
SOURCES = jnp.array([[1.0], [3.0]])
REWARDS = {"position": lambda x: x[..., 0], "at end": lambda x: x[..., 0] == 4}


@pytest.fixture
def simulations(monkeypatch):
    """Counts how often rollouts are really simulated."""
    calls = []
    simulate = truth_module._simulate

    def counted(*arguments):
        calls.append(arguments)
        return simulate(*arguments)

    monkeypatch.setattr(truth_module, "_simulate", counted)
    return calls


def truth(**changes):
    arguments = {"env": ENV, "policy": WALK, "rewards": REWARDS, "source_states": SOURCES}
    return true_returns(**{**arguments, "gamma": GAMMA, "num_rollouts": 50, **changes})


def test_moments_are_exact_within_four_standard_errors():
    chain = MarkovChain(ENV.transition_matrix(0.5), GAMMA)
    found = truth(num_rollouts=NUM)
    for name, reward in REWARDS.items():
        vector = np.asarray(reward(jnp.arange(5.0)[:, None]), float)
        means, variances = expected_returns(chain, vector), return_variances(chain, vector)
        for index, source in enumerate((1, 3)):
            g = found[name][index]
            assert g.num_atoms == NUM
            error = np.sqrt(variances[source] / NUM)
            assert g.mean() == pytest.approx(means[source], abs=4 * error)
            assert g.variance() == pytest.approx(variances[source], rel=0.1)


def test_many_rollouts_come_in_chunks(monkeypatch):
    monkeypatch.setattr(truth_module, "_CHUNK_NUMBERS", 20 * (horizon(GAMMA) + 1))
    g = truth()["position"]
    assert g.atoms.shape == (2, 50)
    assert len(np.unique(g.atoms[0, :20])) > 1
    assert not np.array_equal(g.atoms[0, :20], g.atoms[0, 20:40])  # no chunk is repeated


def test_cache_is_read_and_gives_the_same(tmp_path, simulations):
    first, second = truth(cache=tmp_path), truth(cache=tmp_path)
    assert len(simulations) == 1
    np.testing.assert_array_equal(first["at end"].atoms, second["at end"].atoms)
    np.testing.assert_array_equal(first["at end"].atoms, truth()["at end"].atoms)


def double(x):
    return 2 * x[..., 0]


def rarely(size):
    return lambda x: jnp.where(x[..., 0] > 1e6, size, 0.0)


def test_rewards_that_differ_where_nobody_looked_have_different_keys(tmp_path, simulations):
    for size in (1.0, 100.0, 1.0):
        truth(cache=tmp_path, rewards={"rare": rarely(size)})
    assert len(simulations) == 2


@pytest.mark.parametrize(
    "changes",
    [
        {"env": Corridor(7)},
        {"policy": CategoricalPolicy([0.4, 0.6])},
        {"gamma": 0.7},
        {"num_rollouts": 51},
        {"source_states": SOURCES + 1},
        {"key": jax.random.key(1)},
        {"rewards": {**REWARDS, "position": double}},
        {"rewards": {"position": REWARDS["position"]}},
    ],
    ids=["env", "policy", "gamma", "count", "source", "key", "reward", "names"],
)
def test_anything_that_changes_the_answer_changes_the_key(tmp_path, simulations, changes):
    truth(cache=tmp_path)
    truth(cache=tmp_path, **changes)
    assert len(simulations) == 2


def test_new_version_does_not_read_old_truth(tmp_path, simulations, monkeypatch):
    truth(cache=tmp_path)
    monkeypatch.setattr(truth_module, "__version__", "99")
    truth(cache=tmp_path)
    assert len(simulations) == 2


@pytest.mark.parametrize("damage", ["cut", "flip", "foreign", "empty"])
def test_damaged_cache_is_rebuilt(tmp_path, simulations, damage):
    first = truth(cache=tmp_path)
    (file,) = tmp_path.iterdir()
    whole = file.read_bytes()
    damaged = {
        "cut": whole[:-10],
        "flip": whole[:-1] + bytes([whole[-1] ^ 1]),
        "foreign": b"PK\x03\x04 not ours",
        "empty": b"",
    }
    file.write_bytes(damaged[damage])
    again = truth(cache=tmp_path)
    assert len(simulations) == 2
    np.testing.assert_array_equal(first["position"].atoms, again["position"].atoms)
    assert file.read_bytes() == whole


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"rewards": {}}, "rewards must be a non-empty mapping"),
        ({"rewards": [abs]}, "rewards must be a non-empty mapping"),
        ({"env": "windy"}, "env must be a daleth Environment"),
        ({"source_states": [1.0]}, "source_states must have 2 dimension"),
        ({"num_rollouts": 0}, "num_rollouts must be at least 1"),
        ({"policy": lambda key, state: jnp.array(0), "cache": "x"}, "an Equinox module"),
        ({"rewards": {"bad": lambda x: x[..., 0] / 0}}, "reward must be finite"),
    ],
)
def test_bad_input(changes, message):
    with pytest.raises(ValueError, match=message):
        truth(**changes)
