"""Ranking: who wins, and who cannot be told apart."""

import dataclasses

import numpy as np
import pytest

from daleth import ReturnDistribution, rank
from daleth.ranking import Criterion, criterion

SAFE, BOLD = ReturnDistribution([1.0, 1.0]), ReturnDistribution([-9.0, 15.0])


@dataclasses.dataclass
class FixedModel:
    distribution: ReturnDistribution
    gamma: float = 0.9

    def returns(self, reward, source_state, *, key):
        return self.distribution


@pytest.mark.parametrize(
    ("by", "winner"),
    [
        ("mean", "bold"),
        ("cvar:0.4", "safe"),
        ("cvar:1", "bold"),
        ("quantile:0.9", "bold"),
        ("var:0.1", "safe"),
        ("prob_below:0", "safe"),
        ("prob_above:2", "bold"),
        ("entropic:1", "safe"),
        ("mean_variance:0.1", "safe"),
        (lambda g: g.quantile(1.0), "bold"),
        (Criterion("spread", lambda g: g.std(), higher_is_better=False), "safe"),
    ],
)
def test_each_criterion_picks_its_winner(by, winner):
    ranking = rank({"safe": SAFE, "bold": BOLD}, by=by)
    assert ranking.best == (winner,)
    assert [row.place for row in ranking.rows] == [1, 2]


def test_criterion_of_a_name_is_the_method():
    assert criterion("cvar:0.4").function(BOLD) == BOLD.cvar(0.4)
    assert not criterion("prob_below:-1").higher_is_better


def test_models_are_asked_for_their_returns():
    models = {"safe": FixedModel(SAFE), "bold": FixedModel(BOLD)}
    assert rank(models, reward=abs, source_state=[0.0]).best == ("bold",)
    with pytest.raises(ValueError, match="needs one reward= and one source_state="):
        rank(models)
    models["other"] = FixedModel(BOLD, gamma=0.5)
    with pytest.raises(ValueError, match="must share one gamma, got safe: 0.9"):
        rank(models, reward=abs, source_state=[0.0])


def test_equal_values_share_a_place_without_intervals():
    ranking = rank({"a": SAFE, "b": ReturnDistribution([0.0, 2.0]), "c": BOLD})
    assert ranking.best == ("c",)
    assert [row.place for row in ranking.rows] == [1, 2, 2]
    assert "  2= a" in str(ranking)


def test_seeds_decide_what_is_a_tie():
    rng = np.random.default_rng(0)
    atoms = rng.normal(size=(5, 40))
    noisy = ReturnDistribution(atoms)
    slightly_better = ReturnDistribution(atoms[::-1] + 1e-3)
    far_better = ReturnDistribution(atoms + 5)
    ranking = rank({"noisy": noisy, "slightly": slightly_better, "far": far_better})
    assert ranking.best == ("far",)
    assert {row.name for row in ranking.rows if row.place == 2} == {"noisy", "slightly"}
    assert ranking.rows[0].standard_error == pytest.approx(
        atoms.mean(1).std(ddof=1) / 5**0.5, rel=1e-3
    )


def test_bootstrap_error_is_the_error_of_the_mean(key):
    rollouts = ReturnDistribution(np.random.default_rng(1).normal(size=400))
    ranking = rank({"a": rollouts}, num_resamples=400, key=key)
    expected = float(rollouts.std()) / 20
    assert ranking.rows[0].standard_error == pytest.approx(expected, rel=0.15)
    assert ranking.to_dict()["rows"][0]["name"] == "a"


def test_the_same_law_in_another_order_ties():
    atoms = np.random.default_rng(3).gumbel(10, 20, size=301)
    shuffled = np.random.default_rng(4).permutation(atoms)
    ranking = rank({"a": ReturnDistribution(atoms), "b": ReturnDistribution(shuffled)})
    assert ranking.best == ("a", "b") or ranking.best == ("b", "a")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"reward": abs, "source_state": [[0.0], [1.0]]}, "one source_state="),
        ({"reward": [abs], "source_state": [0.0]}, "one reward="),
    ],
)
def test_models_are_ranked_at_one_state_for_one_reward(arguments, message):
    with pytest.raises(ValueError, match=message):
        rank({"a": FixedModel(SAFE)}, **arguments)
