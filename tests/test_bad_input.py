# pyright: reportArgumentType=false, reportCallIssue=false
"""Bad input: one clear sentence that says what is wrong and what would be right."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from daleth import ReturnDistribution, StateMeasures, rank
from daleth.envs.windy import hopscotch
from daleth.evaluation import Calibration, pit, squared_cramer_to_sample
from daleth.ranking import criterion
from daleth.rewards import reward_values

NAN, INF = float("nan"), float("inf")
G = ReturnDistribution([0.0, 1.0, 2.0])
POINTS = np.zeros((2, 3, 1))
MEASURES = StateMeasures(POINTS)
STATES = jnp.zeros((5, 2))
KEY = jax.random.key(0)

CASES = {
    "atoms nan": (
        lambda: ReturnDistribution([0.0, NAN]),
        "atoms must be finite, got nan at index (1,)",
    ),
    "atoms inf": (
        lambda: ReturnDistribution([[0.0, INF]]),
        "atoms must be finite, got inf at index (0, 1)",
    ),
    "atoms empty": (lambda: ReturnDistribution([]), "atoms must not be empty"),
    "atoms string": (
        lambda: ReturnDistribution("many"),
        "atoms must be an array of real numbers, got 'many'",
    ),
    "atoms strings": (
        lambda: ReturnDistribution(["a", "b"]),
        "atoms must be an array of real numbers",
    ),
    "atoms complex": (
        lambda: ReturnDistribution(np.array([1j])),
        "atoms must be an array of real numbers",
    ),
    "atoms ragged": (
        lambda: ReturnDistribution([[1.0], [1.0, 2.0]]),
        "atoms must be an array of real numbers",
    ),
    "atoms number": (lambda: ReturnDistribution(1.0), "atoms must be a vector [m]"),
    "weights sum": (
        lambda: ReturnDistribution([0, 1], [0.5, 0.6]),
        "weights must sum to 1, got 1.1",
    ),
    "weights row": (
        lambda: ReturnDistribution(np.zeros((2, 2)), [[1, 0], [0, 0.5]]),
        "got 0.5 in row 1",
    ),
    "weights negative": (
        lambda: ReturnDistribution([0, 1], [1.5, -0.5]),
        "weights must not be negative, got -0.5 at index (1,)",
    ),
    "weights nan": (
        lambda: ReturnDistribution([0, 1], [NAN, 1]),
        "weights must be finite, got nan at index (0,)",
    ),
    "weights shape": (
        lambda: ReturnDistribution([0, 1, 2], [0.5, 0.5]),
        "weights must have shape (3,), got (2,)",
    ),
    "weights string": (
        lambda: ReturnDistribution([0, 1], "equal"),
        "weights must be an array of real numbers, got 'equal'",
    ),
    "cvar negative": (lambda: G.cvar(-0.1), "level must lie in (0, 1], got -0.1"),
    "cvar zero": (lambda: G.cvar(0.0), "level must lie in (0, 1], got 0"),
    "cvar above": (lambda: G.cvar(1.5), "level must lie in (0, 1], got 1.5"),
    "cvar one of many": (lambda: G.cvar([0.1, 2.0]), "level must lie in (0, 1], got 2"),
    "cvar nan": (lambda: G.cvar(NAN), "level must be finite, got nan"),
    "cvar string": (lambda: G.cvar("0.1"), "level must be an array of real numbers, got '0.1'"),
    "cvar tail": (
        lambda: G.cvar(0.1, tail="left"),
        "tail must be one of 'lower', 'upper', got 'left'",
    ),
    "var level": (lambda: G.var(7), "level must lie in (0, 1], got 7"),
    "quantile level": (lambda: G.quantile(1.01), "level must lie in [0, 1], got 1.01"),
    "quantile negative": (lambda: G.quantile([-1.0]), "level must lie in [0, 1], got -1"),
    "cdf nan": (lambda: G.cdf(NAN), "value must be finite, got nan"),
    "prob string": (
        lambda: G.prob_below("low"),
        "value must be an array of real numbers, got 'low'",
    ),
    "entropic nan": (lambda: G.entropic_risk(NAN), "aversion must be finite"),
    "entropic vector": (
        lambda: G.entropic_risk([1.0, 2.0]),
        "aversion must be one number, got shape (2,)",
    ),
    "mean-variance string": (
        lambda: G.mean_variance("much"),
        "aversion must be a real number, got 'much'",
    ),
    "distortion ends": (
        lambda: G.distortion_risk(lambda u: u / 2),
        "distortion must increase from h(0) = 0 to h(1) = 1",
    ),
    "distortion falls": (
        lambda: G.distortion_risk(lambda u: u + jnp.sin(2 * jnp.pi * u)),
        "distortion must increase",
    ),
    "spectrum mass": (
        lambda: G.spectral_risk(lambda u: 2 * u + 1),
        "spectrum must be non-negative and integrate to 1",
    ),
    "dominance order": (lambda: G.dominates(G, order=3), "order must be 1 or 2, got 3"),
    "sample count": (lambda: G.sample(KEY, 0), "num_samples must be at least 1, got 0"),
    "sample half": (lambda: G.sample(KEY, 1.5), "num_samples must be a whole number, got 1.5"),
    "mid quantiles": (lambda: G.mid_quantiles(-3), "num_atoms must be at least 1, got -3"),
    "points rank": (
        lambda: StateMeasures(np.zeros((3, 2))),
        "points must have shape [..., m, k, d], got shape (3, 2)",
    ),
    "points nan": (lambda: StateMeasures([[[NAN]]]), "points must be finite"),
    "point weights shape": (
        lambda: StateMeasures(POINTS, np.ones((2, 1))),
        "point_weights must have shape (2, 3)",
    ),
    "point weights sum": (
        lambda: StateMeasures(POINTS, np.ones((2, 3))),
        "point_weights must sum to 1, got 3 in row 0",
    ),
    "atom weights sum": (
        lambda: StateMeasures(POINTS, None, [0.4, 0.4]),
        "atom_weights must sum to 1, got 0.8",
    ),
    "gamma one": (
        lambda: MEASURES.returns(lambda x: x[..., 0], 1.0),
        "gamma must satisfy 0 <= gamma < 1, got 1",
    ),
    "gamma negative": (
        lambda: MEASURES.returns(lambda x: x[..., 0], -0.1),
        "gamma must satisfy 0 <= gamma < 1, got -0.1",
    ),
    "gamma string": (
        lambda: MEASURES.returns(lambda x: x[..., 0], "0.9"),
        "gamma must be a real number, got '0.9'",
    ),
    "no rewards": (
        lambda: MEASURES.returns([], 0.9),
        "reward must be a function or a non-empty sequence",
    ),
    "reward not callable": (
        lambda: reward_values(3.0, STATES),
        "reward must be a function of states, got 3.0",
    ),
    "reward shape": (
        lambda: reward_values(lambda x: x * 1.0, STATES),
        "reward must map states [n, 2] to [n] numbers",
    ),
    "reward nan": (
        lambda: reward_values(lambda x: jnp.log(x[..., 0] - 1), STATES),
        "reward must be finite, got nan at state",
    ),
    "rank unknown": (
        lambda: rank({"a": G}, by="best"),
        "by must be a function or one of 'mean', 'cvar:<number>'",
    ),
    "rank no number": (
        lambda: rank({"a": G}, by="cvar"),
        "cvar needs a number, as in 'cvar:0.1', got 'cvar'",
    ),
    "rank level": (lambda: rank({"a": G}, by="cvar:2"), "level must lie in (0, 1], got 2"),
    "rank empty": (lambda: rank({}), "candidates must be a non-empty mapping"),
    "rank confidence": (
        lambda: rank({"a": G}, confidence=95),
        "confidence must lie in (0, 1), got 95",
    ),
    "rank nonsense": (
        lambda: rank({"a": 3}),
        "candidate 'a' must be a ReturnDistribution or a model, got 3",
    ),
    "rank batch": (
        lambda: rank({"a": ReturnDistribution(np.zeros((2, 2, 2)))}),
        "must have atoms [m] or [seeds, m]",
    ),
    "criterion shape": (
        lambda: rank({"a": G}, by=lambda g: g.atoms),
        "must give one number per distribution",
    ),
    "criterion word": (
        lambda: criterion("var:low"),
        "var needs a number, as in 'var:0.1', got 'var:low'",
    ),
    "sampled truth": (
        lambda: squared_cramer_to_sample(G, ReturnDistribution([0.0, 1.0], [0.2, 0.8])),
        "a sampled truth must have equal weights",
    ),
    "one draw": (
        lambda: squared_cramer_to_sample(G, ReturnDistribution([0.0])),
        "at least 2 draws",
    ),
    "pit count": (
        lambda: pit(ReturnDistribution(np.zeros((3, 2))), [0.0], KEY),
        "observed must hold one return per prediction, (3,), got shape (1,)",
    ),
    "too large": (lambda: ReturnDistribution([1e39]), "atoms must not exceed 3.4e+38, got 1e+39"),
    "one resample": (
        lambda: rank({"a": G}, num_resamples=1),
        "num_resamples must be 0 or at least 2, got 1",
    ),
    "one seed": (lambda: rank({"a": ReturnDistribution([[0.0]])}), "must have at least 2 seeds"),
    "criterion nan": (
        lambda: rank({"a": G}, by=lambda g: g.mean() * NAN),
        "gave nan for candidate 'a'",
    ),
    "confidence word": (
        lambda: rank({"a": G}, confidence="x"),
        "confidence must be a real number, got 'x'",
    ),
    "dominates list": (lambda: G.dominates([1.0]), "other must be a ReturnDistribution, got [1.0]"),
    "distortion nan": (lambda: G.distortion_risk(lambda u: u * NAN), "distortion must be finite"),
    "distortion number": (
        lambda: G.distortion_risk(lambda u: 0.5),
        "distortion must give one number per level",
    ),
    "aversion huge": (lambda: G.entropic_risk(1e39), "aversion must lie within ±1e30"),
    "band confidence": (
        lambda: Calibration([0.5]).band(confidence=2),
        "confidence must lie in (0, 1), got 2",
    ),
    "missing component": (
        lambda: reward_values(lambda x: x[..., 7], STATES),
        "reward must be a function of states with 2 components",
    ),
    "foreign reward": (
        lambda: reward_values(hopscotch, jnp.zeros((4, 3))),
        "states with 2 components, got shape",
    ),
    "pit range": (lambda: Calibration([0.2, 1.4]), "PIT values must lie in [0, 1]"),
}


@pytest.mark.parametrize("name", CASES)
def test_message(name):
    call, message = CASES[name]
    with pytest.raises(ValueError) as caught:  # noqa: PT011, the message is compared below
        call()
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
