"""Monte Carlo in a simulator, answering the same call as every learned model."""

from functools import partial
from typing import Any

import equinox as eqx
import jax
from jaxtyping import Array, Float, PRNGKeyArray

from daleth import _checks
from daleth._typing import Count, Real
from daleth.envs.base import Environment
from daleth.measures import StateMeasures
from daleth.models.base import Model
from daleth.policies.base import Policy
from daleth.policies.rollout import rollout
from daleth.targets import horizon, rollout_weights


class MonteCarloModel(Model):
    r"""Realised occupancies of `num_atoms` independent rollouts from the source state itself.

    Each atom is $\sum_{k<T} (1-\gamma) \gamma^k \delta_{x_k} + \gamma^T \delta_{x_T}$ with $x_0$
    the source state, no time limit, and $T$ such that $\gamma^T \le$ `tolerance`: within that
    total variation of a draw from the distributional successor measure.
    """

    env: Environment
    policy: Policy
    gamma: float = eqx.field(static=True)
    num_atoms: int = eqx.field(static=True)
    num_steps: int = eqx.field(static=True)
    state_dim: int = eqx.field(static=True)

    def __init__(
        self,
        env: Any,
        policy: Policy,
        gamma: Real,
        num_atoms: Count,
        tolerance: Real = 1e-6,
    ):
        hint = "a daleth Environment; for one of Gymnasium there is GymnasiumModel"
        _checks.instance("env", env, Environment, hint)
        self.env, self.policy = env, policy
        self.gamma = _checks.discount(gamma)
        self.num_atoms = _checks.count("num_atoms", num_atoms)
        self.num_steps = horizon(gamma, tolerance)
        self.state_dim = len(env.state_names)

    def atoms(self, source_state: Float[Array, "d"], key: PRNGKeyArray) -> StateMeasures:
        """Points `[num_atoms, T + 1, d]`."""
        follow = partial(
            rollout, self.env, self.policy, source_state=source_state, num_steps=self.num_steps
        )
        states, _, _ = jax.vmap(lambda key_rollout: follow(key=key_rollout))(
            jax.random.split(key, self.num_atoms)
        )
        return StateMeasures(states, rollout_weights(self.num_steps, self.gamma))

    def numbers_per_source(self) -> int:
        """The points of all rollouts."""
        return self.num_atoms * (self.num_steps + 1) * self.state_dim
