"""Each figure is drawn with its numbers; the exact ones also hold, and quickly."""

import functools
import json
import time

import matplotlib.pyplot as plt
import numpy as np
import pytest

from daleth import EmpiricalModel, ReturnDistribution, StateMeasures
from daleth.experiments import _pendulum, _windy, experiment, figure_names, windy_atoms
from daleth.experiments.sierpinski import on_triangle
from daleth.experiments.windy_atoms import between, gram, to_mean
from daleth.experiments.windy_returns import entering
from daleth.experiments.windy_selection import REWARDS, Selection

EXACT = ("sierpinski", "t-maze", "three-state")
LEARNED = [name for name in figure_names() if name not in EXACT]


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def check_files(claim, files):
    picture, numbers = files
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert picture.stat().st_size > 10_000
    data = json.loads(numbers.read_text())
    assert data["claim"]["statement"] == claim.statement
    return data


@pytest.mark.parametrize("name", EXACT)
def test_exact_figure(name, tmp_path):
    module = experiment(name)
    started = time.perf_counter()
    claim, files = module.run(module.Config(out=tmp_path))
    assert time.perf_counter() - started < 30
    assert claim.held, str(claim)
    check_files(claim, files)


@pytest.mark.parametrize("name", LEARNED)
def test_learned_figure_without_learning(name, tmp_path, monkeypatch):
    """Nearest trajectories stand in for all learned models, each of which would be compiled."""
    for module in (_windy, windy_atoms):
        monkeypatch.setattr(module, "fit", lambda data, *_, **__: nearest(data, 4))
    monkeypatch.setattr(_pendulum, "learn", lambda *_: nearest(_pendulum.collect(2_000, 0), 5))
    run_tiny(name, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("name", LEARNED)
def test_learned_figure_on_a_tiny_budget(name, tmp_path):
    run_tiny(name, tmp_path)


@functools.cache
def nearest(data, num_atoms):
    return EmpiricalModel(data, _pendulum.GAMMA, num_atoms, max_unseen_mass=0.5)


def run_tiny(name, folder):
    module = experiment(name)
    claim, files = module.run(module.Config(out=folder, budget="tiny"))
    data = check_files(claim, files)
    assert data["seed"] == 0
    assert claim.evidence


def test_a_point_off_the_triangle_is_noticed():
    centre, corner = np.full((1, 3), 1 / 3), np.array([[1 - 2**-20, 2**-20, 0.0]])
    assert on_triangle(corner, 10).all()
    assert not on_triangle(centre, 10).any()


def laws(**by_policy):
    return {policy: ReturnDistribution(atoms) for policy, atoms in by_policy.items()}


# Means 5, 1, -2 and 0.4-CVaRs -10, 0, -3.
BOLD, SAFE, LOW = [-10.0, 20.0], [0.0, 2.0], [-3.0, -1.0]
AS_IN_THE_PAPER = {REWARDS[0]: laws(top=BOLD, bottom=SAFE), REWARDS[1]: laws(top=SAFE, bottom=LOW)}


def test_selection_finds_the_winner_of_each_question():
    selection = Selection(AS_IN_THE_PAPER, AS_IN_THE_PAPER)
    assert list(selection.winners("predicted").values()) == ["top", "bottom", "top", "top"]
    assert selection.claim().held
    assert [row.error for row in selection.rows() if row.policy == "top"] == [0.0] * 8


def test_selection_notices_a_wrong_ranking():
    wrong = {
        reward: {"top": both["bottom"], "bottom": both["top"]}
        for reward, both in AS_IN_THE_PAPER.items()
    }
    claim = Selection(wrong, AS_IN_THE_PAPER).claim()
    assert not claim.held
    assert "0 of 4 rankings" in claim.evidence
    assert not Selection(wrong, wrong).claim().held  # agreeing with a wrong truth is no success


def test_atoms_apart_and_alike():
    near, far = [[0.0, 0.0]], [[5.0, 0.0]]
    alike, apart = (StateMeasures([near, one]) for one in (near, far))
    assert between(gram(alike, alike)) == 0
    # κ is a sum of 5 rational quadratics: one unit apart, MMD² = 2 (5 - Σ (1 + 1/2α)^-α).
    kappa = sum((1 + 1 / (2 * a)) ** -a for a in (0.2, 0.5, 1.0, 2.0, 5.0))
    own = gram(apart, apart)
    assert between(own) == pytest.approx((2 * (5 - kappa)) ** 0.5, rel=1e-5)
    # Half way between two embeddings is half as far from both.
    assert to_mean(own, own, own) == pytest.approx(between(own) / 2, rel=1e-5)


def test_a_future_enters_red_by_the_time_it_spends_there():
    time_in_red = ReturnDistribution([0.0, 1.9, 2.1, 20.0])  # of 20 in all
    assert entering(time_in_red) == pytest.approx([0.5, 0.25, 0.25])
