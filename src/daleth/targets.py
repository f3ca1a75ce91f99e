"""Weights of the n-step bootstrapped target, for every way in which a window can end."""

import math

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from daleth import _checks
from daleth._typing import Real


class TargetWeights(eqx.Module):
    """The masses of a target; together they sum to 1.

    Attributes:
        direct: the masses on the states of the window themselves, `[n+1]`.
        bootstrap: the mass of the model's own measure at `bootstrap_index`.
        bootstrap_index: the step of the window at which the model is asked.
    """

    direct: Float[Array, "frames"]
    bootstrap: Float[Array, ""]
    bootstrap_index: Int[Array, ""]


def target_weights(
    length: Int[Array, ""],
    terminated: Bool[Array, ""],
    num_steps: int,
    gamma: float | Float[Array, ""],
) -> TargetWeights:
    r"""The weights of one window with `K = length` real steps, `K <= n = num_steps`.

    $$ \sum_{k<K} (1-\gamma)\gamma^k \delta_{x_k} + \gamma^K \begin{cases}
       \delta_{x_K} & \text{if the episode terminated in } x_K \\
       \theta(x_K) & \text{otherwise} \end{cases} $$

    With `K = n` and no termination this is the multi-step target of section 5 of the paper. An
    absorbing state keeps all the mass that is left. A truncated or open episode, and a window
    that is simply full, are the same case: the model is asked at the last state there is.

    Args:
        length: the number `K` of steps inside the window.
        terminated: whether the episode terminated in $x_K$.
        num_steps: the longest window `n`.
        gamma: the discount factor.

    Example:
        >>> weights = target_weights(jnp.array(2), jnp.array(False), num_steps=3, gamma=0.5)
        >>> weights.direct.tolist(), weights.bootstrap.item(), weights.bootstrap_index.item()
        ([0.5, 0.25, 0.0, 0.0], 0.25, 2)
    """
    step = jnp.arange(num_steps + 1)
    remaining = jnp.asarray(gamma, float) ** length
    occupied = jnp.where(step < length, (1 - gamma) * jnp.asarray(gamma, float) ** step, 0)
    absorbed = jnp.where((step == length) & terminated, remaining, 0)
    bootstrap = jnp.where(terminated, 0, remaining)
    return TargetWeights(occupied + absorbed, bootstrap, length)


def horizon(gamma: Real, tolerance: Real = 1e-6) -> int:
    r"""The smallest $T \ge 1$ with $\gamma^T \le$ `tolerance`.

    Example:
        >>> horizon(0.95)
        270
    """
    gamma, tolerance = _checks.discount(gamma), _checks.number("tolerance", tolerance)
    if not 0 < tolerance < 1:
        raise ValueError(f"tolerance must lie in (0, 1), got {tolerance:g}")
    return 1 if gamma == 0 else max(1, math.ceil(math.log(tolerance) / math.log(gamma)))
