import jax
import numpy as np
import pytest

from daleth import ReturnDistribution
from daleth.tabular import (
    MarkovChain,
    ParticleDSM,
    TabularMDP,
    bellman,
    dynamic_programming,
    exact_dsm,
    project,
    return_law,
    sample_occupancies,
    stochastic_returns,
    supremal_wasserstein,
    t_maze,
    time_augment,
)

KEY = jax.random.key(0)
EYE = np.eye(2)
CHAIN = MarkovChain([[0.5, 0.5], [0.0, 1.0]], gamma=0.5)
CYCLE = MarkovChain([[0, 1, 0], [0, 0, 1], [0.5, 0, 0.5]], gamma=0.5)
END = MarkovChain([[0, 1], [0, 1]], gamma=0.5)
DSM = ParticleDSM(EYE[:, None], 0.5)
DSM3 = ParticleDSM(np.eye(3)[:, None], 0.5)
MDP = TabularMDP(np.full((2, 3, 2), 0.5), 0.9)
COIN, NOTHING = ReturnDistribution([-1.0, 1.0]), ReturnDistribution([0.0])
BENT = [[0, 1, 5], [1, 0, 1], [5, 1, 0]]


def psi(matrix, gamma):
    return MarkovChain.from_successor_measure(matrix, gamma)


CASES = [
    # chains
    (lambda: MarkovChain([[0.5, 0.5]], 0.5), r"P must be square, got shape \(1, 2\)"),
    (lambda: MarkovChain([0.5, 0.5], 0.5), r"P must have 2 dimension\(s\), got shape \(2,\)"),
    (lambda: MarkovChain([[0.5, 0.4], [0, 1]], 0.5), "P must sum to 1, got 0.9 in row 0"),
    (lambda: MarkovChain([[1.5, -0.5], [0, 1]], 0.5), r"P must not be negative, got -0.5 at"),
    (lambda: MarkovChain([[np.nan, 1], [0, 1]], 0.5), r"P must be finite, got nan at index"),
    (lambda: MarkovChain("P", 0.5), "P must be an array of real numbers, got 'P'"),
    (lambda: MarkovChain([[1, 0], [1]], 0.5), "P must be an array of .* got"),
    (lambda: MarkovChain(np.zeros((0, 0)), 0.5), r"P must not be empty, got shape \(0, 0\)"),
    (lambda: MarkovChain(EYE, 1.0), "gamma must satisfy 0 <= gamma < 1, got 1"),
    (lambda: MarkovChain(EYE, -0.1), "gamma must satisfy 0 <= gamma < 1, got -0.1"),
    (lambda: MarkovChain(EYE, "0.9"), "gamma must be .* got '0.9'"),
    (lambda: MarkovChain(EYE, [0.9, 0.8]), r"gamma must be one number, got shape \(2,\)"),
    # successor measures
    (lambda: psi(EYE, 0.0), "gamma must be positive: with gamma = 0 every chain has psi = I"),
    (lambda: psi(np.full((2, 2), 0.5), 0.5), "psi must be invertible to be a successor measure"),
    (lambda: psi([[0.2, 0.8], [0, 1]], 0.5), "psi is not a successor measure for gamma = 0.5"),
    (lambda: psi([[0.5, 0.5]], 0.5), r"psi must be square, got shape \(1, 2\)"),
    # decision processes
    (lambda: TabularMDP(np.full((2, 2), 0.5), 0.9), r"P must have 3 dimension\(s\)"),
    (lambda: TabularMDP(np.full((3, 2, 2), 0.5), 0.9), r"P must have shape \[states, actions, st"),
    (lambda: MDP.chain(np.full((2, 2), 0.5)), r"policy must have shape .* = \(2, 3\), got \(2, 2"),
    (lambda: MDP.chain([[0.5, 0.5, 0.5]] * 2), "policy must sum to 1, got 1.5 in row 0"),
    # sampled occupancies
    (lambda: sample_occupancies(CHAIN, 2, 5, KEY), r"source_state must lie in 0..1, got 2"),
    (lambda: sample_occupancies(CHAIN, -1, 5, KEY), r"source_state must lie in 0..1, got -1"),
    (lambda: sample_occupancies(CHAIN, 0.5, 5, KEY), "source_state must be the index of a state"),
    (lambda: sample_occupancies(CHAIN, EYE, 5, KEY), "source_state must be the index of one state"),
    (lambda: sample_occupancies(CHAIN, 0, 0, KEY), "num_samples must be at least 1, got 0"),
    (lambda: sample_occupancies(CHAIN, 0, 5, KEY, 0.0), r"tolerance must lie in \(0, 1\), got 0"),
    (
        lambda: sample_occupancies(CHAIN, 0, 5, KEY).returns([1.0]),
        r"reward must have one number for each of the 2 states, got shape \(1,\)",
    ),
    # particle DSMs
    (lambda: ParticleDSM([], 0.5), r"occupancies must hold one array \[m, n\] for each state"),
    (lambda: ParticleDSM([EYE], 0.5), r"occupancies of state 0 must have shape \[m, 1\]"),
    (lambda: ParticleDSM([EYE, 2 * EYE], 0.5), "occupancies of state 1 must sum to 1, got 2"),
    (lambda: ParticleDSM([EYE, EYE[0]], 0.5), r"occupancies of state 1 must have 2 dimension"),
    (lambda: ParticleDSM([EYE, EYE], 0.5, [[1]]), "weights must hold one array for each of the 2"),
    (
        lambda: ParticleDSM([EYE, EYE], 0.5, [[1], [0, 1]]),
        "weights of state 0 must be 2 numbers, one per occupancy, got 1",
    ),
    (lambda: DSM.returns([1.0, np.inf], 0), r"reward must be finite, got inf at index \(1,\)"),
    (lambda: DSM.returns(3.0, 0), r"reward must have one number for each of the 2 states"),
    (lambda: DSM.returns("up", 0), "reward must be an array of real numbers, got 'up'"),
    (lambda: DSM.measures(0, points=[[1.0]]), "points must have one row for each of the 2 states"),
    # operators and metrics
    (lambda: bellman(CHAIN, DSM3), "dsm must be over the 2 states of the chain, got 3"),
    (lambda: bellman(MarkovChain(EYE, 0.9), DSM), "dsm must have the chain's gamma = 0.9, got 0.5"),
    (lambda: project(DSM, 0), "num_particles must be at least 1, got 0"),
    (
        lambda: dynamic_programming(CHAIN, 2, tolerance=2.0),
        r"tolerance must lie in \(0, 1\), got 2",
    ),
    (
        lambda: supremal_wasserstein(DSM, DSM3),
        "both DSMs must be over the same states, got 2 and 3",
    ),
    (lambda: supremal_wasserstein(DSM, DSM, EYE), "ground_metric must be non-negative, with zeros"),
    (lambda: supremal_wasserstein(DSM, DSM, [[0, 1], [2, 0]]), "ground_metric must be symmetric"),
    (lambda: supremal_wasserstein(DSM, DSM, BENT), r"ground_metric must have shape \(2, 2\)"),
    (lambda: supremal_wasserstein(DSM3, DSM3, BENT), "must satisfy the triangle inequality"),
    # laws
    (lambda: return_law(CHAIN, [1, 2, 3], 0), "reward must have one number for each of the 2 st"),
    (lambda: return_law(CHAIN, EYE, 0), r"reward must have 1 dimension\(s\), got shape \(2, 2\)"),
    (lambda: return_law(CHAIN, [0, 1], 0, 0.0), "resolution must be positive and at least"),
    (lambda: return_law(CHAIN, [0, 1], 0, 1e-9), "resolution must be positive and at least"),
    (lambda: return_law(CHAIN, [0, 1], "0"), "source_state must be the index of a state, got '0'"),
    (lambda: return_law(CHAIN, [1, 1], 0).cvar(0), r"level must lie in \(0, 1\], got 0"),
    (lambda: return_law(CHAIN, [1, 1], 0).quantile(1.1), r"level must lie in \[0, 1\], got 1.1"),
    (lambda: return_law(CHAIN, [1, 1], 0).cdf(np.nan), "value must be finite, got nan"),
    # random rewards and finite horizons
    (lambda: exact_dsm(CHAIN), "no cycle before absorption, but 0 -> 0 is one: time_augment"),
    (lambda: exact_dsm(CYCLE), "no cycle before absorption, but "),
    (
        lambda: exact_dsm(time_augment(CYCLE, 9), 3),
        r"there are \d trajectories .* max_particles = 3",
    ),
    (lambda: time_augment(CHAIN, 0), "horizon must be at least 1, got 0"),
    (lambda: stochastic_returns(CHAIN, [COIN, NOTHING], 0), "must have no cycle before absorption"),
    (lambda: stochastic_returns(END, [COIN, COIN], 0), "the reward of state 1 must be certain"),
    (lambda: stochastic_returns(END, [COIN], 0), "reward_laws must hold one law for each of the 2"),
    (
        lambda: stochastic_returns(END, [ReturnDistribution(EYE), NOTHING], 0),
        "the reward law of state 0 must be one ReturnDistribution",
    ),
    (
        lambda: stochastic_returns(time_augment(END, 9), [COIN] * 18 + [NOTHING], 0, max_atoms=99),
        "there are 128 outcomes or more, above max_atoms = 99",
    ),
    # named chains
    (lambda: t_maze(gamma=1.5), "gamma must satisfy 0 <= gamma < 1, got 1.5"),
    (lambda: t_maze(stem=1), "stem must be at least 2, got 1"),
]


@pytest.mark.parametrize(("call", "message"), CASES, ids=[message for _, message in CASES])
def test_bad_input_gets_one_clear_sentence(call, message):
    with pytest.raises(ValueError, match=message):
        call()
