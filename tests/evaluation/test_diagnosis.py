"""A right model is fit for use; a wrong one is not, for the right reason."""

import dataclasses
import json
import re
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from daleth import EmpiricalModel, MonteCarloModel, StateMeasures, Trajectories, fit
from daleth.envs.linear_gaussian import LinearGaussian
from daleth.evaluation import diagnose, reward_bank
from daleth.evaluation.diagnosis import _is_training_data
from daleth.models import DiracAtMean
from daleth.models.base import Model
from daleth.models.residual_gaussian import ResidualGaussianLearner

GAMMA, NUM_ATOMS = 0.7, 64
ENV = LinearGaussian.random(2, spectral_radius=0.8)
SMALL: dict[str, Any] = {"num_starts": 150, "num_rewards": 6}


def only_action(key, state):
    return jnp.array(0)


class Wrong(Model):
    """Another model with futures pulled towards their mean and moved."""

    model: Model
    scale: float
    shift: float
    gamma: float = eqx.field(static=True, default=GAMMA)
    state_dim: int = eqx.field(static=True, default=2)

    def atoms(self, source_state, key):
        return self.batch_atoms(source_state[None], key[None])[0]

    def batch_atoms(self, source_states, keys):
        right = self.model.batch_atoms(source_states, keys)
        centre = right.points.mean(axis=1, keepdims=True)
        points = centre + self.scale * (right.points - centre) + self.shift
        return StateMeasures(points, right.point_weights, right.atom_weights)

    def numbers_per_source(self):
        return self.model.numbers_per_source()


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(1)
    states = [rng.normal(size=(150, 2))]
    for _ in range(30):
        noise = rng.normal(size=(150, 2)) @ np.asarray(ENV.noise_factor).T
        states.append(states[-1] @ np.asarray(ENV.matrix).T + noise)
    return Trajectories.from_arrays(np.stack(states, axis=1))


@pytest.fixture(scope="module")
def right():
    return MonteCarloModel(ENV, only_action, GAMMA, NUM_ATOMS, tolerance=1e-3)


@pytest.fixture(scope="module")
def report(data, right):
    return right.diagnose(data, source_states=[0.0, 0.0], risks=["cvar:0.1", "mean"], **SMALL)


def test_right_model_is_fit_for_use(report):
    assert report.reasons == ()
    assert report.num_starts == 150
    assert report.unseen_mass < 0.01
    # Intervals of 64 draws are slightly narrow: 1/65 of all returns lies beyond on either side.
    for level in (0.5, 0.9):
        assert report.coverage(level).value == pytest.approx(level, abs=0.05)
    assert abs(report.error.share) < 0.02
    assert abs(report.bellman.share) < 0.02
    assert report.skill().value > report.skill(report.nearest).value > 0.1
    assert report.atom_share < 0.01
    heights, errors = report.histogram()
    assert heights.mean() == pytest.approx(1)
    assert (np.abs(heights - 1) < 3 * errors).mean() > 0.8


@pytest.mark.parametrize(
    ("wrong", "reasons"),
    [
        (
            lambda model: Wrong(model=model, scale=0.5, shift=0.0),
            ["intervals are too narrow: those of 90% hold"],
        ),
        (
            lambda model: Wrong(model=model, scale=2.0, shift=0.0),
            ["intervals are too wide: those of 50% hold"],
        ),
        (
            lambda model: Wrong(model=model, scale=1.0, shift=0.5),
            ["the laws differ from realised returns", "differ from its own 2-step Bellman targets"],
        ),
        (DiracAtMean, ["those of 90% hold 0.0 ± 0.0 %.*1 ideal atom"]),
    ],
    ids=["narrow", "wide", "shifted", "dirac"],
)
def test_wrong_model_is_not_fit_for_the_right_reason(data, right, wrong, reasons):
    linear = {"first": lambda x: x[..., 0], "second": lambda x: x[..., 1]}
    found = diagnose(wrong(right), data, rewards=linear, num_starts=SMALL["num_starts"])
    assert not found.fit_for_use
    assert "NOT FIT FOR USE" in str(found)
    for words in reasons:
        assert any(re.search(words, reason) for reason in found.reasons), (words, found.reasons)


def test_questions_that_the_model_cannot_answer(data, right):
    sources = [[0.0, 0.0], [20.0, 0.0]]
    others = [Wrong(model=right, scale=1.0, shift=1.0)]
    found = diagnose(
        right, data, source_states=sources, risks=["cvar:0.05"], others=others, **SMALL
    )
    outside, tail, *seeds = found.reasons
    assert outside.startswith("source state(s) number 1 are outside of the data: up to")
    assert tail == "cvar:0.05 rests on 3.2 atoms, fewer than 5: take at least 100 atoms"
    assert [reason.partition(" by ")[0] for reason in seeds] == [
        "the models disagree about mean",
        "the models disagree about cvar:0.05",
    ]


def test_training_data_and_few_starts_are_no_evidence(report):
    arrays = {name: getattr(report, name)[:, :40] for name in ("pit", "crps", "climatology")}
    few = dataclasses.replace(report, is_training_data=True, nearest=None, **arrays)
    assert few.reasons[:2] == (
        "these are the data the model was trained on: give it held-out data",
        "too little to judge by: 40 independent start states, 50 are needed",
    )


def test_the_same_key_gives_the_same_report(data, right, report):
    same = diagnose(right, data, key=jax.random.key(0), **SMALL)
    np.testing.assert_array_equal(same.pit, report.pit)
    assert (same.error, same.bellman) == (report.error, report.bellman)


def test_training_data_are_known_by_their_fingerprint(data):
    learner = ResidualGaussianLearner(gamma=GAMMA, num_atoms=2, width=4, depth=1)
    learned = fit(data[:50], learner, updates=0)
    assert _is_training_data(learned, data[:50])
    assert _is_training_data(DiracAtMean(learned), data[:50])
    assert not _is_training_data(learned, data[50:])
    assert not _is_training_data(EmpiricalModel(data[:50], GAMMA, 20), data[50:])


def test_a_world_without_chance():
    """Standing still: returns are certain, and an exact model is calibrated by its ties."""
    states = np.repeat(np.random.default_rng(0).normal(size=(120, 1, 1)), 3, axis=1)
    data = Trajectories.from_arrays(states, ends="terminated")

    def constant(states):
        return jnp.ones(states.shape[:-1])

    class Still(Model):
        gamma: float = GAMMA
        state_dim: int = 1

        def atoms(self, source_state, key):
            return StateMeasures(jnp.broadcast_to(source_state, (10, 1, 1)))

    found = diagnose(Still(), data, rewards={"place": lambda x: x[..., 0], "one": constant})
    assert found.reasons == ()
    assert found.skill().value == pytest.approx(1, abs=1e-4)
    assert "the return of one is the same from every start state" in found.notes


def test_text_json_and_picture(report):
    text = str(report)
    assert text.splitlines()[0] == "model        gamma 0.7, 64 atom(s)"
    assert text.splitlines()[-1] == "verdict      fit for use"
    assert max(map(len, text.splitlines())) <= 98
    record = json.loads(json.dumps(report.to_dict(), allow_nan=False))
    assert record["fit_for_use"] is True
    assert record["coverage"]["0.9"]["value"] == report.coverage(0.9).value
    assert record["tail_atoms"] == {"cvar:0.1": pytest.approx(6.4, rel=1e-5)}
    assert len(record["rewards"]) == 6
    figure = report.plot()
    pit, coverage, skill, support = figure.axes
    bars = [patch.get_height() for patch in pit.patches[:20]]
    np.testing.assert_allclose(bars, report.histogram()[0])
    assert len(skill.lines[-1].get_xdata()) == 6
    assert coverage.get_xlabel() == "predicted"
    assert len(support.lines) == 3  # held-out states, the limit, one source


def test_reward_bank_is_bounded_and_seeded(data, key):
    bank = reward_bank(data.normalisation(), key, 8)
    values = np.stack([reward(jnp.asarray(data.states)) for reward in bank.values()])
    assert [name.partition("-")[0] for name in bank] == ["linear"] * 2 + ["wave"] * 6
    assert np.abs(values[2:]).max() <= 1
    assert values.std(axis=1).min() > 0.2  # no reward is all but constant
    again = reward_bank(data.normalisation(), key, 8)["wave-5"](jnp.asarray(data.states))
    np.testing.assert_array_equal(values[5], again)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"heldout": [1.0]}, "heldout must be Trajectories, got list"),
        ({"rewards": []}, "rewards must be functions of states"),
        ({"rewards": "pendulum"}, "rewards must be functions of states, got 'pendulum'"),
        ({"source_states": [0.0]}, r"source_states must have shape \[q, 2\], got \(1,\)"),
        ({"risks": "cvar:0.1"}, "risks must be a list such as"),
        ({"risks": ["cvar:2"]}, r"level must lie in \(0, 1\], got 2"),
        ({"risks": ["worst"]}, "by must be a function or one of"),
        ({"others": [3]}, "others must be models, got int"),
        ({"num_starts": 1}, "num_starts must be at least 2, got 1"),
        ({"max_unseen_mass": 0}, r"max_unseen_mass must lie in \(0, 1\), got 0"),
        ({"num_bootstrap_steps": 0}, "num_bootstrap_steps must be at least 1, got 0"),
        ({"num_rewards": 0}, "num_rewards must be at least 1, got 0"),
    ],
)
def test_bad_input_is_one_sentence(data, right, change, sentence):
    arguments = {"heldout": data, **change}
    with pytest.raises(ValueError, match=sentence):
        diagnose(right, arguments.pop("heldout"), **arguments)


def test_models_and_data_must_fit_together(data, right):
    line = Trajectories.from_arrays(np.zeros((3, 40, 1)))
    with pytest.raises(ValueError, match="states of 2 components like the model, got 1"):
        right.diagnose(line)
    other = MonteCarloModel(ENV, only_action, 0.5, 4)
    with pytest.raises(ValueError, match="others must have the gamma 0.7"):
        right.diagnose(data, others=[other])


def test_spread_over_seeds_leaves_out_what_never_varied(data, right):
    """A reward that held-out data never saw has no unit in which models could differ."""
    rewards = {"first": lambda x: x[..., 0], "never": lambda x: 1.0 * (x[..., 0] > 1e3)}
    others = [Wrong(model=right, scale=1.0, shift=1.0)]
    asked = {"risks": ["entropic:1", "quantile:0.25"], "num_starts": SMALL["num_starts"]}
    both = diagnose(right, data, rewards=rewards, others=others, **asked)
    one = diagnose(right, data, rewards=rewards["first"], others=others, **asked)
    assert list(both.seed_spread) == ["mean", "entropic:1", "quantile:0.25"]
    assert both.seed_spread == pytest.approx(one.seed_spread)
    assert both.tail_levels == {"quantile:0.25": 0.25}
