"""Policies: callables of a key and a state, and trajectories of them."""

from daleth.policies.actor import GaussianActor, pendulum_sac, pendulum_sac_provenance
from daleth.policies.adapters import from_numpy, from_sb3
from daleth.policies.base import Policy
from daleth.policies.registry import policy, policy_names
from daleth.policies.rollout import rollout
from daleth.policies.simple import BoxUniformPolicy, CategoricalPolicy, ConstantPolicy, uniform

__all__ = [
    "BoxUniformPolicy",
    "CategoricalPolicy",
    "ConstantPolicy",
    "GaussianActor",
    "Policy",
    "from_numpy",
    "from_sb3",
    "pendulum_sac",
    "pendulum_sac_provenance",
    "policy",
    "policy_names",
    "rollout",
    "uniform",
]
