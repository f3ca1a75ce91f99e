"""Exact theory on finite chains, in float64: the oracle for everything that learns."""

from daleth.tabular.acyclic import exact_dsm, time_augment
from daleth.tabular.bellman import bellman, bellman_residual, dynamic_programming
from daleth.tabular.chain import MarkovChain
from daleth.tabular.dsm import ParticleDSM
from daleth.tabular.examples import TMaze, sierpinski_chain, t_maze, three_state_chain
from daleth.tabular.law import ReturnLaw, return_law, return_laws
from daleth.tabular.mdp import TabularMDP
from daleth.tabular.metrics import supremal_wasserstein
from daleth.tabular.moments import expected_returns, return_bounds, return_variances
from daleth.tabular.occupancy import SampledOccupancies, sample_occupancies
from daleth.tabular.projection import merge, project
from daleth.tabular.stochastic import stochastic_returns

__all__ = [
    "MarkovChain",
    "ParticleDSM",
    "ReturnLaw",
    "SampledOccupancies",
    "TMaze",
    "TabularMDP",
    "bellman",
    "bellman_residual",
    "dynamic_programming",
    "exact_dsm",
    "expected_returns",
    "merge",
    "project",
    "return_bounds",
    "return_law",
    "return_laws",
    "return_variances",
    "sample_occupancies",
    "sierpinski_chain",
    "stochastic_returns",
    "supremal_wasserstein",
    "t_maze",
    "three_state_chain",
    "time_augment",
]
