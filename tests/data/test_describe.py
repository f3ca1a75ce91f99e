import json

import jax.numpy as jnp
import numpy as np
import pytest

from daleth.data import Normalisation, Trajectories


@pytest.fixture
def data():
    first = {"states": [[0.0, 1.0], [2.0, 1.0]], "end": "terminated"}
    second = {"states": [[2.0, 1.0], [0.0, 1.0], [-0.0, 1.0], [6.0, 1.0]], "end": "truncated"}
    return Trajectories.from_episodes([first, second])


def test_figures_worked_by_hand(data):
    description = data.describe([[6.0, 1.0], [8.0, 1.0], [8.0, 3.0]])
    plain = description.to_dict()
    assert json.loads(json.dumps(plain)) == plain
    # The first dimension is 0 2 2 0 0 6: mean 5/3, variance 44/6 - 25/9 = 41/9.
    scale = np.sqrt(41 / 9)
    assert plain.pop("mean") == pytest.approx([5 / 3, 1])
    assert plain.pop("scale") == pytest.approx([scale, 1])
    distances = [0, 2 / scale, np.hypot(2 / scale, 2)]
    assert plain.pop("source_distances") == pytest.approx(distances)
    assert plain == {
        "num_episodes": 2,
        "num_frames": 6,
        "num_transitions": 4,
        "steps_per_episode": [1, 2.0, 3],
        "ends": {"terminated": 1, "truncated": 1, "open": 0},
        "low": [0, 1],
        "high": [6, 1],
        "num_duplicates": 3,
        "num_bytes": 6 * 2 * 4 + 3 * 8 + 2,
    }


def test_the_text_can_be_read(data):
    assert str(data.describe([[6.0, 1.0], [8.0, 1.0]])) == (
        "episodes    2 (6 frames, 4 transitions, 74 B)\n"
        "lengths     min 1, median 2, max 3 transitions\n"
        "ends        1 terminated, 1 truncated, 0 open\n"
        "duplicates  3 frames (50.0%) repeat an earlier state\n"
        "dimension          min        mean         max       scale\n"
        "0                    0       1.667           6       2.134\n"
        "1                    1           1           1           1\n"
        "coverage    2 source states, distance to the nearest frame in scales: "
        "median 0.469, max 0.937 (source 1)"
    )
    assert "coverage" not in str(data.describe())


@pytest.mark.parametrize("dim", [1, 2, 5])
def test_duplicates_and_distances_against_brute_force(monkeypatch, dim):
    monkeypatch.setattr("daleth.data.describe._CHUNK", 64)
    rng = np.random.default_rng(dim)
    states = rng.integers(-3, 4, size=(200, dim)).astype(np.float32)
    sources = rng.normal(size=(7, dim)).astype(np.float32)
    description = Trajectories.from_arrays(states).describe(sources)
    assert description.num_duplicates == 200 - len(np.unique(states, axis=0))
    differences = (states[:, None] - sources) / states.std(axis=0)
    expected = np.linalg.norm(differences, axis=-1).min(axis=0)
    assert description.source_distances == pytest.approx(expected, rel=1e-5)


def test_normalisation_has_mean_zero_and_deviation_one(monkeypatch):
    monkeypatch.setattr("daleth.data.normalise._CHUNK", 64)
    states = np.random.default_rng(0).normal([0, 3, 1e4], [1e-3, 1, 10], size=(300, 3))
    normalisation = Trajectories.from_arrays(states).normalisation()
    normalised = normalisation.apply(jnp.asarray(states, jnp.float32))
    np.testing.assert_allclose(normalised.mean(axis=0), 0, atol=1e-4)
    np.testing.assert_allclose(normalised.std(axis=0), 1, rtol=1e-4)
    np.testing.assert_allclose(normalisation.invert(normalised), states, rtol=1e-5, atol=1e-8)


@pytest.mark.parametrize("constant", [0.0, -7.0, 1e6, 1e-20])
def test_a_constant_dimension_has_scale_one(constant):
    # Rounding in the last digit of float32 is no variation.
    wobble = constant * (1 + 1e-7 * np.arange(3))
    normalisation = Normalisation.of(np.stack([wobble, [1.0, 2.0, 3.0]], axis=1))
    np.testing.assert_allclose(normalisation.scale, [1, np.sqrt(2 / 3)], rtol=1e-6)
