"""How parameters move, and which average of them makes targets and answers."""

import abc
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, Int

from daleth import _checks
from daleth._typing import Count, Real
from daleth.parts.part import Part


class Optimisation(Part):
    """A gradient transformation, and an average of the parameters it passes through."""

    answers_average: ClassVar[bool]
    """Whether a model answers by the average, or by the last parameters."""

    @abc.abstractmethod
    def transformation(self) -> optax.GradientTransformation:
        """What makes updates out of gradients."""

    @abc.abstractmethod
    def averaging_step(self, update: Int[Array, ""]) -> Float[Array, ""]:
        """How far the average moves towards the parameters, in the update counted from 0."""

    def moved(self, average: Any, parameters: Any, update: Int[Array, ""]) -> Any:
        """The average after these parameters, those of the update counted from 0."""
        step = self.averaging_step(update)
        return jax.tree.map(lambda old, new: old + step * (new - old), average, parameters)

    def answering(self, average: Any, parameters: Any) -> Any:
        """Which of the two a model answers by."""
        return average if self.answers_average else parameters


class PlainAdam(Optimisation):
    """Adam at a constant rate and targets that follow at a constant pace, as in the paper.

    Attributes:
        learning_rate: of Adam.
        target_step: how far target parameters move towards parameters in an update.
    """

    learning_rate: Real = eqx.field(static=True, default=6.25e-5)
    target_step: Real = eqx.field(static=True, default=0.01)
    answers_average: ClassVar[bool] = False

    def __check_init__(self) -> None:
        _checks.positive("learning_rate", self.learning_rate)
        _checks.share("target_step", self.target_step)

    def transformation(self) -> optax.GradientTransformation:
        """Adam."""
        return optax.adam(self.learning_rate, b1=0.9, b2=0.999)

    def averaging_step(self, update: Int[Array, ""]) -> Float[Array, ""]:
        """Always the same."""
        del update
        return jnp.asarray(self.target_step, jnp.float32)


class AveragedAdam(Optimisation):
    r"""Adam with a falling rate, and an average over a growing stretch of the run.

    The rate is $\alpha / (1 + t/T)^{3/4}$ after a short warm-up: averages of parameters want an
    exponent between 1/2 and 1. The average after $t$ updates reaches back over about $t / (c+1)$ of
    them. Neither has to know when the run will end, so the model is good at any time.

    The stretch is short and the rate falls fast, because atoms wander among themselves, since only
    their set matters, and the average of wandering atoms is nearer to their mean than they are: it
    would answer with too little spread.

    Attributes:
        learning_rate: $\alpha$.
        decay_updates: $T$.
        averaging: $c$.
        warmup_updates: over which the rate rises from 0.
    """

    learning_rate: Real = eqx.field(static=True, default=2e-3)
    decay_updates: Count = eqx.field(static=True, default=500)
    averaging: Real = eqx.field(static=True, default=20.0)
    warmup_updates: Count = eqx.field(static=True, default=200)
    answers_average: ClassVar[bool] = True

    def __check_init__(self) -> None:
        _checks.positive("learning_rate", self.learning_rate)
        _checks.positive("averaging", self.averaging)
        _checks.count("decay_updates", self.decay_updates)
        _checks.count("warmup_updates", self.warmup_updates)

    def transformation(self) -> optax.GradientTransformation:
        """Adam with the falling rate."""

        def rate(update: Any) -> Array:
            rising = jnp.minimum(1.0, (update + 1) / self.warmup_updates)
            return self.learning_rate * rising / (1 + update / self.decay_updates) ** 0.75

        return optax.adam(rate, b1=0.9, b2=0.999)

    def averaging_step(self, update: Int[Array, ""]) -> Float[Array, ""]:
        """1 at first, then ever less."""
        return (self.averaging + 1) / (update + self.averaging + 1)
