"""The transition kernel of the paper: a noise-fed generator of next states."""

import equinox as eqx
import jax
from jaxtyping import Array, Float, PRNGKeyArray

from daleth import _checks
from daleth._typing import Count
from daleth.discrepancy import within_means
from daleth.kernels import rational_quadratic, squared_distances
from daleth.models.transition import TransitionKernel, TransitionLearner
from daleth.networks import Generator
from daleth.parts import AveragedAdam, Optimisation


class PaperTransitionLearner(TransitionLearner):
    r"""A δ-model with $\gamma = 0$ and one atom, its targets shifted by one step.

    The paper's appendix on experimental details, baselines. With samples $y_1, …, y_s$ of the
    generator at $x$, and the observed next state $x'$ as the one sample of the target, the loss is

    $$ \frac{1}{\binom{s}{2}} \sum_{l<k} \kappa(y_l, y_k) - \frac{2}{s} \sum_l \kappa(y_l, x') $$

    which is the unbiased squared MMD without the target's own term: one observation has no pairs,
    and the term does not depend on the generator. The state kernel is the paper's mixture of
    rational quadratics on normalised states, and fixed: the paper trains features for it
    adversarially, which changes how fast the minimum is found and not where it lies. Defaults are
    those of the paper's table but for the batch, the learning rate and the average: with one sample
    of the target instead of 32, a loss is noisier.

    Attributes:
        num_state_samples: the samples of the generator in a loss.
        num_noise: the dimension of its noise.

    Example:
        >>> PaperTransitionLearner(gamma=0.9).config()["num_noise"]
        8
    """

    num_state_samples: Count = eqx.field(static=True, default=32)
    num_noise: Count = eqx.field(static=True, default=8)
    depth: Count = eqx.field(static=True, default=3)
    optimisation: Optimisation = AveragedAdam(learning_rate=1e-3, decay_updates=2000)
    batch_size: Count = eqx.field(static=True, default=128)

    def __check_init__(self) -> None:
        _checks.count("num_state_samples", self.num_state_samples, at_least=2)
        for name in ("num_noise", "depth"):
            _checks.count(name, getattr(self, name))

    def make_kernel(self, key: PRNGKeyArray, state_dim: int) -> "GeneratorKernel":
        """A random generator."""
        generator = Generator(key, state_dim, self.num_noise, self.width, self.depth)
        return GeneratorKernel(generator, self.num_noise)

    def loss(
        self,
        key: PRNGKeyArray,
        kernel: "GeneratorKernel",
        state: Float[Array, "d"],
        following: Float[Array, "d"],
    ) -> Float[Array, ""]:
        """The squared MMD to one observed next state, without the target's own term."""
        noise = jax.random.normal(key, (self.num_state_samples, self.num_noise))
        samples = jax.vmap(kernel.generator, in_axes=(None, 0))(state, noise)
        across = rational_quadratic(squared_distances(samples, following[None]))
        return within_means(samples[None])[0] - 2 * across.mean()


class GeneratorKernel(TransitionKernel):
    """Next states from noise."""

    generator: Generator
    num_noise: int = eqx.field(static=True)

    def sample(self, key: PRNGKeyArray, state: Float[Array, "d"]) -> Float[Array, "d"]:
        """Draws the next state."""
        return self.generator(state, jax.random.normal(key, (self.num_noise,)))
