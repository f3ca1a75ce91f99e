r"""Pendulum: the dynamics of Gymnasium's Pendulum-v1, the paper's four rewards and nine sources.

Two of the four rewards have a term in the action. Under a random policy the state does not settle
the action, so such a reward is no function of the state. Hence two forms: functions of states,
`[..., 3]`, leave the action term out; functions of (state, action), `[..., 4]`, keep it and are
for measures over (state, action). `above_horizon` follows the paper's prose,
$|\theta| \ge \pi/2$, where its formula has $\theta \ge \pi/2$.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from daleth import _checks
from daleth._typing import ArrayLike, Real
from daleth.envs.base import Action, Box, Environment, with_components

MAX_SPEED = 8.0
MAX_TORQUE = 2.0
_TIME_STEP = 0.05
_GRAVITY = 10.0


class Pendulum(Environment):
    r"""A pole of unit mass and length on a motor too weak to lift it at once.

    With $\theta = 0$ upright, gravity $g = 10$, time step $h = 0.05$ and torque $a \in [-2, 2]$,

    $$\dot\theta' = \mathrm{clip}_{\pm 8}(\dot\theta + (\tfrac{3g}{2} \sin\theta + 3a) h), \qquad
      \theta' = \theta + \dot\theta' h.$$

    The state is $(\cos\theta, \sin\theta, \dot\theta)$. Episodes never terminate. They start at
    any angle, as in Gymnasium with speeds up to 1; `Pendulum(max_start_speed=MAX_SPEED)` spreads
    the starts over all states, which makes every source state common in the data.

    Attributes:
        max_start_speed: starts have $|\dot\theta|$ uniform up to this.
        action_noise: standard deviation of Gaussian noise on the torque, before it is clipped.

    Example:
        >>> env = Pendulum()
        >>> hanging = jnp.array([-1.0, 0.0, 0.0])
        >>> state, terminated = env.step(jax.random.key(0), hanging, jnp.array([2.0]))
        >>> print(state[2].round(3), terminated)
        0.3 False
    """

    max_start_speed: Real = eqx.field(static=True, default=1.0)
    action_noise: Real = eqx.field(static=True, default=0.0)

    def __check_init__(self) -> None:
        speed = _checks.number("max_start_speed", self.max_start_speed)
        if not 0 <= speed <= MAX_SPEED:
            raise ValueError(f"max_start_speed must lie in [0, {MAX_SPEED:g}], got {speed:g}")
        noise = _checks.number("action_noise", self.action_noise)
        if noise < 0:
            raise ValueError(f"action_noise must not be negative, got {noise:g}")

    @property
    def state_names(self) -> tuple[str, ...]:
        """Cosine and sine of the angle, and its velocity."""
        return ("cos", "sin", "velocity")

    @property
    def state_space(self) -> Box:
        """The box around the cylinder of states."""
        return Box((-1.0, -1.0, -MAX_SPEED), (1.0, 1.0, MAX_SPEED))

    @property
    def action_space(self) -> Box:
        """The torque."""
        return Box((-MAX_TORQUE,), (MAX_TORQUE,))

    def reset(self, key: PRNGKeyArray) -> Float[Array, "3"]:
        """Draws any angle and a speed up to `max_start_speed`."""
        key_angle, key_speed = jax.random.split(key)
        angle = jax.random.uniform(key_angle, minval=-jnp.pi, maxval=jnp.pi)
        bound = self.max_start_speed
        speed = jax.random.uniform(key_speed, minval=-bound, maxval=bound)
        return from_angle(angle, speed)

    def step(
        self, key: PRNGKeyArray, state: Float[Array, "3"], action: Action
    ) -> tuple[Float[Array, "3"], Bool[Array, ""]]:
        """Applies the torque, clipped to its range, for one time step."""
        angle = _angle(state)
        torque = action[0]
        if self.action_noise:
            torque += self.action_noise * jax.random.normal(key, (), state.dtype)
        torque = jnp.clip(torque, -MAX_TORQUE, MAX_TORQUE)
        push = 1.5 * _GRAVITY * jnp.sin(angle) + 3.0 * torque
        velocity = jnp.clip(state[2] + push * _TIME_STEP, -MAX_SPEED, MAX_SPEED)
        return from_angle(angle + velocity * _TIME_STEP, velocity), jnp.array(False)


def from_angle(angle: ArrayLike, velocity: ArrayLike) -> Float[Array, "*shape 3"]:
    r"""The states $(\cos\theta, \sin\theta, \dot\theta)$, `[...], [...] -> [..., 3]`."""
    angle, velocity = jnp.broadcast_arrays(jnp.asarray(angle), jnp.asarray(velocity))
    return jnp.stack([jnp.cos(angle), jnp.sin(angle), velocity], axis=-1)


def pendulum_sources() -> Float[Array, "9 3"]:
    r"""The states with $\theta \in \{\pi/2, \pi, 3\pi/2\}$ and $\dot\theta \in \{-4, 0, 4\}$."""
    # Whole numbers, because the cosine of a rounded π/2 is on either side of the horizon.
    quarter_turns = [(0.0, 1.0), (-1.0, 0.0), (0.0, -1.0)]
    return jnp.array([[c, s, velocity] for c, s in quarter_turns for velocity in (-4.0, 0.0, 4.0)])


def default(states: ArrayLike) -> Float[Array, "*shape"]:
    r"""$-(\theta^2 + 0.1 \dot\theta^2)$: Gymnasium's reward without its action term."""
    states = with_components(states, 3, 4)
    return -(_angle(states) ** 2 + 0.1 * states[..., 2] ** 2)


def above_horizon(states: ArrayLike) -> Float[Array, "*shape"]:
    r"""$-1\{|\theta| \ge \pi/2\}$, without its action term."""
    states = with_components(states, 3, 4)
    return -(jnp.abs(_angle(states)) >= jnp.pi / 2).astype(states.dtype)


def stay_left(states: ArrayLike) -> Float[Array, "*shape"]:
    r"""$\min(0, \sin\theta)$."""
    return jnp.minimum(0.0, with_components(states, 3, 4)[..., 1])


def ccw_penalty(states: ArrayLike) -> Float[Array, "*shape"]:
    r"""$+1\{\dot\theta < 0\}$, the sign that the paper prints."""
    states = with_components(states, 3, 4)
    return (states[..., 2] < 0).astype(states.dtype)


def default_with_action(pairs: ArrayLike) -> Float[Array, "*shape"]:
    r"""$-(\theta^2 + 0.1 \dot\theta^2 + 0.001 a^2)$, Gymnasium's reward, `[..., 4] -> [...]`."""
    return default(pairs) - 0.001 * _torque(pairs) ** 2


def above_horizon_with_action(pairs: ArrayLike) -> Float[Array, "*shape"]:
    r"""$-(1\{|\theta| \ge \pi/2\} + 0.1 a^2)$, `[..., 4] -> [...]`."""
    return above_horizon(pairs) - 0.1 * _torque(pairs) ** 2


def _angle(states: Array) -> Array:
    return jnp.arctan2(states[..., 1], states[..., 0])


def _torque(pairs: ArrayLike) -> Array:
    return jnp.clip(with_components(pairs, 4)[..., 3], -MAX_TORQUE, MAX_TORQUE)
