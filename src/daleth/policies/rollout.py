"""Trajectories of a policy in an environment, as one pure function."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PRNGKeyArray, Shaped

from daleth.envs.base import Environment
from daleth.policies.base import Policy


def rollout(
    env: Environment,
    policy: Policy,
    key: PRNGKeyArray,
    source_state: Float[Array, "d"],
    num_steps: int,
) -> tuple[Float[Array, "t_plus_1 d"], Shaped[Array, "t *a"], Bool[Array, "t"]]:
    """The states $x_0, …, x_t$ from one source state, for `t = num_steps`.

    A state in which the episode terminates is absorbing: it repeats to the end.

    Returns:
        States `[t+1, d]`, actions `[t, *a]`, and whether the episode had terminated after each
        step, `[t]`.
    """

    def advance(carry, key):
        state, absorbed = carry
        key_action, key_step = jax.random.split(key)
        action = policy(key_action, state)
        following, terminated = env.step(key_step, state, action)
        following = jnp.where(absorbed, state, following)
        absorbed = absorbed | terminated
        return (following, absorbed), (following, action, absorbed)

    start = (source_state, jnp.array(False))
    keys = jax.random.split(key, num_steps)
    _, (states, actions, absorbed) = jax.lax.scan(advance, start, keys)
    return jnp.concatenate([source_state[None], states]), actions, absorbed
