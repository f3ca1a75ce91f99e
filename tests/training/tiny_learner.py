"""A learner that compiles at once: Adam towards the mean of the next state, in normalised units."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float

from daleth.data import Normalisation, Trajectories
from daleth.measures import StateMeasures
from daleth.models.base import Model
from daleth.models.learner import Learner


class TinyModel(Model):
    """One atom on the mean of the next state, wherever it starts."""

    mean: Float[Array, "d"]
    normalisation: Normalisation
    gamma: float = eqx.field(static=True)
    state_dim: int = eqx.field(static=True)

    def atoms(self, source_state, key):
        return StateMeasures(self.normalisation.invert(self.mean)[None, None])


class TinyLearner(Learner):
    """`explode_at`: from this update on the loss is not a number."""

    gamma: float = eqx.field(static=True, default=0.9)
    learning_rate: float = eqx.field(static=True, default=0.01)
    batch_size: int = eqx.field(static=True, default=4)
    num_bootstrap_steps: int = eqx.field(static=True, default=1)
    layers: tuple[int, ...] = eqx.field(static=True, default=(2, 3))
    explode_at: int | None = eqx.field(static=True, default=None)
    explode: str = eqx.field(static=True, default="loss")

    def init(self, key, problem):
        mean = jax.random.uniform(key, (problem.state_dim,))
        return {"mean": mean, "adam": self._adam().init(mean), "name": jnp.tanh, "count": 0}

    def step(self, key, state, windows):
        def loss_of(mean):
            noise = jax.random.uniform(key, mean.shape, minval=-0.1, maxval=0.1)
            return jnp.mean((windows.states[:, 1] - mean - noise) ** 2)

        loss, gradient = jax.value_and_grad(loss_of)(state["mean"])
        moves, adam = self._adam().update(gradient, state["adam"])
        mean, count = state["mean"] + moves, state["count"] + 1
        if self.explode_at is not None and self.explode == "loss":
            loss = jnp.where(count >= self.explode_at, jnp.nan, loss)
        if self.explode_at is not None and self.explode == "parameters":
            mean = jnp.where(count >= self.explode_at, jnp.inf, mean)
        state = {"mean": mean, "adam": adam, "name": state["name"], "count": count}
        return state, {"loss": loss, "count": count.astype(float)}

    def model(self, state, problem):
        return TinyModel(
            mean=state["mean"],
            normalisation=problem.normalisation,
            gamma=self.gamma,
            state_dim=problem.state_dim,
        )

    def _adam(self) -> Any:
        return optax.adam(self.learning_rate)


def tiny_data(seed: int = 0) -> Trajectories:
    return Trajectories.from_arrays(np.random.default_rng(seed).normal(3, 2, size=(5, 20, 2)))
