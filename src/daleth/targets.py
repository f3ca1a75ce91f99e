"""The n-step bootstrapped target, sampled and exact, for every way in which a window can end."""

import math

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from daleth import _checks
from daleth._typing import Real
from daleth.measures import StateMeasures


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
    # Powers in double precision: near γ = 1 those of a rounded γ do not sum to 1.
    powers = gamma ** np.arange(num_steps + 1)
    remaining = jnp.asarray(powers, jnp.float32)[length]
    occupied = jnp.where(step < length, jnp.asarray((1 - gamma) * powers, jnp.float32), 0)
    absorbed = jnp.where((step == length) & terminated, remaining, 0)
    bootstrap = jnp.where(terminated, 0, remaining)
    return TargetWeights(occupied + absorbed, bootstrap, length)


def rollout_weights(num_steps: int, gamma: float) -> Float[Array, "frames"]:
    """The masses of the states of a rollout; the last one stands for all that would follow."""
    return target_weights(jnp.array(num_steps), jnp.array(True), num_steps, gamma).direct


def following(states: Float[Array, "frames d"]) -> Float[Array, "frames d"]:
    r"""The states of a window one step later, $x_1, \dots, x_n, x_n$.

    With them, and with length and end as they are, a target is that of the future $\theta'$ in
    $\theta(x) = (1-\gamma) \delta_x + \gamma \theta'(x)$:

    $$ \sum_{k<K} (1-\gamma)\gamma^k \delta_{x_{k+1}} + \gamma^K \theta'(x_K) $$

    The state $x_K$ repeats behind step `K`, so an absorbing state again keeps all that is left.
    """
    return jnp.concatenate([states[1:], states[-1:]])


class Target(eqx.Module):
    r"""The target atoms of one window: $\sum_k w_k \delta_{x_k} + \beta\, \theta_j$.

    Attributes:
        states: the known part that all atoms share, `[f, d]`; may be empty.
        state_weights: its masses, `[f]`.
        bootstrap: the model's own atoms.
        bootstrap_mass: $\beta$.
    """

    states: Float[Array, "f d"]
    state_weights: Float[Array, "f"]
    bootstrap: StateMeasures
    bootstrap_mass: Float[Array, ""]

    @property
    def has_known_part(self) -> bool:
        """Whether there is more than the model's own atoms."""
        return len(self.states) > 0

    def measures(self) -> StateMeasures:
        """All points of each target atom, those of the known part first."""
        num_atoms, shape = self.bootstrap.num_atoms, self.states.shape
        points = jnp.concatenate(
            [jnp.broadcast_to(self.states, (num_atoms, *shape)), self.bootstrap.points], axis=1
        )
        known = jnp.broadcast_to(self.state_weights, (num_atoms, shape[0]))
        own = self.bootstrap_mass * self.bootstrap.point_weights
        weights = jnp.concatenate([known, own], axis=1)
        return StateMeasures(points, weights, self.bootstrap.atom_weights)


def exact_target(
    states: Float[Array, "frames d"],
    length: Int[Array, ""],
    terminated: Bool[Array, ""],
    bootstrap: StateMeasures,
    gamma: float,
) -> Target:
    r"""The n-step target of one window as it stands, with nothing drawn; see `target_weights`.

    Args:
        states: $x_0, \dots, x_n$, with $x_K$ repeated behind step `K = length`.
        length: the number of real steps.
        terminated: whether the episode terminated in $x_K$.
        bootstrap: the model's atoms at $x_K$.
        gamma: the discount factor.
    """
    weights = target_weights(length, terminated, len(states) - 1, gamma)
    return Target(states, weights.direct, bootstrap, weights.bootstrap)


def drawn_target(points: Float[Array, "m s d"]) -> Target:
    """Draws from the target atoms themselves, as `sampled_target` gives them."""
    dimension = points.shape[-1]
    nothing = (jnp.zeros((0, dimension)), jnp.zeros(0))
    return Target(*nothing, StateMeasures(points), jnp.ones(()))


def draw_offsets(key: PRNGKeyArray, shape: tuple[int, ...], gamma: float) -> Int[Array, "*shape"]:
    r"""Geometric times: $P(Y = k) = (1-\gamma) \gamma^k$ for $k = 0, 1, \dots$.

    A state of the trajectory at such a time is a draw from the occupancy (section 5.1).
    """
    uniform = jax.random.uniform(key, shape, minval=jnp.finfo(jnp.float32).tiny)
    # In double precision: near γ = 1 the logarithm of a rounded γ is another.
    log_gamma = math.log(gamma) if gamma else -math.inf
    return jnp.floor(jnp.log(uniform) / log_gamma).astype(jnp.int32)


def sampled_target(
    states: Float[Array, "frames d"],
    length: Int[Array, ""],
    terminated: Bool[Array, ""],
    offsets: Int[Array, "*s"],
    bootstrap_samples: Float[Array, "*s d"],
) -> Float[Array, "*s d"]:
    r"""Draws from the n-step target of one window (Algorithm 1 of the paper).

    The state $x_Y$ where the offset $Y$ falls inside the window, else a draw from the model's own
    measure at $x_K$, or $x_K$ itself if the episode terminated there.

    Args:
        states: $x_0, \dots, x_n$, with $x_K$ repeated behind step `K = length`.
        length: the number of real steps.
        terminated: whether the episode terminated in $x_K$.
        offsets: geometric times.
        bootstrap_samples: draws from the measure at $x_K$.
    """
    realised = states[jnp.minimum(offsets, length)]
    known = (offsets < length) | terminated
    return jnp.where(known[..., None], realised, bootstrap_samples)


def horizon(gamma: Real, tolerance: Real = 1e-6) -> int:
    r"""The smallest $T \ge 1$ with $\gamma^T \le$ `tolerance`.

    Example:
        >>> horizon(0.95)
        270
    """
    gamma, tolerance = _checks.discount(gamma), _checks.fraction("tolerance", tolerance)
    if gamma == 0:
        return 1
    steps = max(1, math.floor(math.log(tolerance) / math.log(gamma)))
    return steps if gamma**steps <= tolerance else steps + 1
