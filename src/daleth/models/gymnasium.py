"""Monte Carlo in a Gymnasium environment that has no JAX dynamics: the same answer, slower."""

import copy
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key, PRNGKeyArray

from daleth import _checks
from daleth._optional import require
from daleth._progress import track
from daleth._typing import Count, Real
from daleth.data.sources._stepping import plain_action
from daleth.measures import StateMeasures
from daleth.models.base import Model
from daleth.targets import horizon, target_weights

SetState = Callable[[Any, np.ndarray], Any]


def reset_to_state(env: Any, state: np.ndarray) -> None:
    """Starts an episode in a state, in environments that take it from `options["state"]`."""
    # A seed of its own for each copy, for environments that keep a generator beside Gymnasium's.
    seed = int(env.unwrapped.np_random.integers(2**31))
    observed = np.ravel(env.reset(seed=seed, options={"state": state})[0])
    if observed.shape != state.shape or not np.allclose(observed, state, atol=1e-4):
        raise ValueError(
            'this environment does not start from reset(options={"state": ...}); '
            "hand in set_state=, a function of (env, state) that puts it there"
        )


def stay(env: Any, state: np.ndarray) -> None:
    """Leaves an environment where it stands."""


class GymnasiumModel(Model):
    """Rollouts of a policy in a Gymnasium environment from a chosen state.

    Each rollout steps a copy of `env` with a random state of its own, which `set_state(env, state)`
    has put into the source state. Ways to do that:

    - `reset_to_state`, the default: `env.reset(options={"state": state})`; an environment that
      then observes something else does not support this, and the error says so;
    - `stay`: nothing, for an environment that stands in the source state already; its noise must
      come from Gymnasium's `np_random`, the only one that can be made anew;
    - a function of yours, for example one that writes `env.unwrapped.state`; the copy has been
      reset with a seed of its own before.

    The state is what the environment observes. Outermost time limits are taken off: a return has
    none.
    """

    gamma: float = eqx.field(static=True)
    num_atoms: int = eqx.field(static=True)
    num_steps: int = eqx.field(static=True)
    state_dim: int = eqx.field(static=True)
    env: Any
    policy: Callable
    set_state: SetState

    def __init__(
        self,
        env: Any,
        policy: Callable,
        gamma: Real,
        num_atoms: Count,
        *,
        set_state: SetState = reset_to_state,
        tolerance: Real = 1e-6,
    ):
        limits = require("gymnasium.wrappers", "gym").TimeLimit
        while isinstance(env, limits):
            env = env.env
        if getattr(env.observation_space, "shape", None) is None:
            raise ValueError(f"observations must be arrays, got {env.observation_space}")
        self.env, self.policy = env, policy
        self.set_state = set_state
        self.gamma = _checks.discount(gamma)
        self.num_atoms = _checks.count("num_atoms", num_atoms)
        self.num_steps = horizon(gamma, tolerance)
        self.state_dim = int(np.prod(env.observation_space.shape))

    def atoms(self, source_state: Float[Array, "d"], key: PRNGKeyArray) -> StateMeasures:
        """Points `[num_atoms, T + 1, d]`; cannot be compiled."""
        state = np.asarray(source_state)
        rollouts = track(jax.random.split(key, self.num_atoms), "rollouts", self.num_atoms)
        futures = [self._rollout(state, key_rollout) for key_rollout in rollouts]
        points, weights = (np.stack(part) for part in zip(*futures, strict=True))
        return StateMeasures(points, weights)

    def batch_atoms(
        self, source_states: Float[Array, "b d"], keys: Key[Array, "b"]
    ) -> StateMeasures:
        """One source state after another."""
        each = [self.atoms(state, key) for state, key in zip(source_states, keys, strict=True)]
        return jax.tree.map(lambda *leaves: jnp.stack(leaves), *each)

    def numbers_per_source(self) -> int:
        """The points of all rollouts."""
        return self.num_atoms * (self.num_steps + 1) * self.state_dim

    def _rollout(self, state: np.ndarray, key: PRNGKeyArray) -> tuple[np.ndarray, np.ndarray]:
        key_env, key_policy = jax.random.split(key)
        env = _fresh_copy(self.env, int(jax.random.bits(key_env)))
        if self.set_state is not stay:
            env.reset(seed=int(env.unwrapped.np_random.integers(2**31)))
        self.set_state(env, state)
        states, length, terminated = [state], 0, False
        for key_action in jax.random.split(key_policy, self.num_steps):
            action = np.asarray(self.policy(key_action, jnp.asarray(states[-1])))
            observed, _, terminated, truncated, _ = env.step(plain_action(action))
            states.append(np.ravel(observed).astype(np.float32))
            length += 1
            if terminated:
                break
            if truncated:
                raise ValueError(
                    f"the environment truncated after {length} of {self.num_steps} steps; "
                    "hand in an environment without a time limit of its own"
                )
        padding = [states[-1]] * (self.num_steps - length)
        weights = target_weights(jnp.array(length), jnp.array(True), self.num_steps, self.gamma)
        return np.stack(states + padding), np.asarray(weights.direct)


def _fresh_copy(env: Any, seed: int) -> Any:
    """A copy with a random state of its own: plain copies would all draw the same noise."""
    try:
        duplicate = copy.deepcopy(env)
    except Exception as error:
        raise ValueError(
            f"{env} cannot be copied ({error}), so its returns cannot be simulated; "
            "an environment with JAX dynamics (daleth.envs) needs no copies"
        ) from error
    duplicate.unwrapped.np_random = np.random.default_rng(seed)
    return duplicate
