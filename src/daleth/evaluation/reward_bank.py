"""A bank of random rewards: questions that nobody had in mind when the model was trained."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from daleth import _checks
from daleth._typing import Count
from daleth.data import Normalisation

_LENGTHS = (0.5, 2.0)  # of a frequency: waves of 3 to 12 standard deviations of the states


class LinearReward(eqx.Module):
    r"""$r(x) = \omega \cdot z$ of the normalised state $z$."""

    direction: Float[Array, "d"]
    normalisation: Normalisation

    @eqx.filter_jit
    def __call__(self, states: Float[Array, "*batch d"]) -> Float[Array, "*batch"]:
        """Rewards `[..., d] -> [...]`."""
        return self.normalisation.apply(jnp.asarray(states)) @ self.direction


class FourierReward(eqx.Module):
    r"""$r(x) = \cos(\omega \cdot z + \varphi)$ of the normalised state $z$."""

    frequency: Float[Array, "d"]
    phase: Float[Array, ""]
    normalisation: Normalisation

    @eqx.filter_jit
    def __call__(self, states: Float[Array, "*batch d"]) -> Float[Array, "*batch"]:
        """Rewards `[..., d] -> [...]`."""
        normalised = self.normalisation.apply(jnp.asarray(states))
        return jnp.cos(normalised @ self.frequency + self.phase)


def reward_bank(
    normalisation: Normalisation, key: PRNGKeyArray, num_rewards: Count = 64
) -> dict[str, LinearReward | FourierReward]:
    """Random rewards by name: a quarter linear, the others waves of moderate frequency.

    Directions are uniform on the sphere, the lengths of frequencies uniform in [0.5, 2] and phases
    uniform, in normalised units: the same key asks the same questions of every model.

    Args:
        normalisation: the units, those of the data.
        key: decides all of it.
        num_rewards: the size of the bank.

    Example:
        >>> units = Normalisation.of([[0.0, 1.0], [2.0, 5.0]])
        >>> bank = reward_bank(units, jax.random.key(0), num_rewards=4)
        >>> list(bank), bank["wave-1"](jnp.zeros((3, 2))).shape
        (['linear-0', 'wave-1', 'wave-2', 'wave-3'], (3,))
    """
    num_rewards = _checks.count("num_rewards", num_rewards)
    rng = np.random.default_rng(np.asarray(jax.random.key_data(key)))
    directions = rng.normal(size=(num_rewards, len(normalisation.mean)))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    lengths = rng.uniform(*_LENGTHS, size=num_rewards)
    phases = rng.uniform(0, 2 * np.pi, size=num_rewards)
    bank: dict[str, LinearReward | FourierReward] = {}
    for index, (direction, length, phase) in enumerate(
        zip(directions, lengths, phases, strict=True)
    ):
        if index < num_rewards // 4:
            direction = jnp.asarray(direction, jnp.float32)
            bank[f"linear-{index}"] = LinearReward(direction, normalisation)
        else:
            frequency, shift = (
                jnp.asarray(one, jnp.float32) for one in (length * direction, phase)
            )
            bank[f"wave-{index}"] = FourierReward(frequency, shift, normalisation)
    return bank
