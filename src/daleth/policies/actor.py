"""The actor of soft actor-critic (SAC) for Pendulum, shipped with its weights."""

import os
from importlib.resources import as_file, files

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from daleth import _checks
from daleth._files import FileFormat, read_tensors, write_tensors
from daleth._typing import Real

_FORMAT = FileFormat("actor", 1)
_LAYERS = ("hidden_1", "hidden_2", "mean", "log_std")
_LOG_STD_RANGE = (-20.0, 2.0)


class GaussianActor(eqx.Module):
    r"""A squashed Gaussian policy with two hidden layers.

    $$a = c \tanh(\mu(x) + (\sigma(x) + \nu)\, \xi), \qquad \xi \sim N(0, I).$$

    A converged actor is nearly deterministic and so are its returns; the noise $\nu$ widens both.

    Attributes:
        hidden_1: `d → h`, followed by a rectifier, as is `hidden_2`.
        hidden_2: `h → h`.
        mean: `h → a`, $\mu$.
        log_std: `h → a`, $\log \sigma$, clipped to [-20, 2].
        action_scale: the largest action $c$, `[a]`.
        action_noise: $\nu$, added to the standard deviation before the squashing.
    """

    hidden_1: eqx.nn.Linear
    hidden_2: eqx.nn.Linear
    mean: eqx.nn.Linear
    log_std: eqx.nn.Linear
    action_scale: Float[Array, "a"]
    action_noise: Float[Array, ""]

    def __call__(self, key: PRNGKeyArray, state: Float[Array, "d"]) -> Float[Array, "a"]:
        """Draws an action."""
        hidden = jax.nn.relu(self.hidden_2(jax.nn.relu(self.hidden_1(state))))
        mean = self.mean(hidden)
        std = jnp.exp(jnp.clip(self.log_std(hidden), *_LOG_STD_RANGE)) + self.action_noise
        noise = jax.random.normal(key, mean.shape, mean.dtype)
        return self.action_scale * jnp.tanh(mean + std * noise)


def pendulum_sac(action_noise: Real = 0.0) -> GaussianActor:
    """The shipped actor for Pendulum.

    It was trained once by `scripts/train_pendulum_sac.py`; `pendulum_sac_provenance` says how.

    Args:
        action_noise: what to add to the standard deviation before the squashing. Returns are
            almost certain at 0, have narrow laws at 1 and wide ones with tails at 2.

    Example:
        >>> policy = pendulum_sac(action_noise=2.0)
        >>> hanging = jnp.array([-1.0, 0.0, 0.0])
        >>> print(policy(jax.random.key(0), hanging).shape)
        (1,)
    """
    noise = _checks.number("action_noise", action_noise)
    if noise < 0:
        raise ValueError(f"action_noise must not be negative, got {noise:g}")
    with as_file(_shipped()) as path:
        actor = load_actor(path)
    return eqx.tree_at(lambda actor: actor.action_noise, actor, jnp.asarray(noise, jnp.float32))


def pendulum_sac_provenance() -> dict[str, object]:
    """How the shipped actor was made: script, seed, versions, and its mean return."""
    with as_file(_shipped()) as path:
        return read_tensors(path, _FORMAT)[1]


def actor_from_arrays(arrays: dict[str, np.ndarray], action_scale: np.ndarray) -> GaussianActor:
    """An actor from `weight [out, in]` and `bias [out]` of each of its layers.

    Args:
        arrays: `hidden_1.weight`, `hidden_1.bias`, and so on for every layer.
        action_scale: the largest action, `[a]`.
    """
    layers = {name: _linear(arrays[f"{name}.weight"], arrays[f"{name}.bias"]) for name in _LAYERS}
    return GaussianActor(
        **layers, action_scale=jnp.asarray(action_scale), action_noise=jnp.zeros(())
    )


def save_actor(
    actor: GaussianActor, path: str | os.PathLike[str], provenance: dict[str, object]
) -> None:
    """Writes the weights and the story of an actor to a safetensors file; its noise is left out."""
    layers = {name: getattr(actor, name) for name in _LAYERS}
    arrays = {f"{name}.weight": np.asarray(layer.weight) for name, layer in layers.items()}
    arrays |= {f"{name}.bias": np.asarray(layer.bias) for name, layer in layers.items()}
    arrays["action_scale"] = np.asarray(actor.action_scale)
    write_tensors(path, arrays, _FORMAT, provenance)


def load_actor(path: str | os.PathLike[str]) -> GaussianActor:
    """Reads an actor from a file that `save_actor` wrote."""
    arrays, _ = read_tensors(path, _FORMAT)
    return actor_from_arrays(arrays, arrays["action_scale"])


def _linear(weight: np.ndarray, bias: np.ndarray) -> eqx.nn.Linear:
    num_out, num_in = weight.shape
    # The shapes alone: drawing weights only to replace them is slow.
    blank = eqx.filter_eval_shape(eqx.nn.Linear, num_in, num_out, key=jax.random.key(0))
    filled = (jnp.asarray(weight), jnp.asarray(bias))
    return eqx.tree_at(lambda layer: (layer.weight, layer.bias), blank, filled)


def _shipped():
    return files("daleth.policies") / "pendulum_sac.safetensors"
