"""γ-model ensembles: the same generators, each trained alone (appendix D.1 of the paper)."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from daleth.discrepancy import squared_mmd
from daleth.models.generative import GenerativeLearner


class GammaLearner(GenerativeLearner):
    r"""Minimises $\sum_i \mathrm{MMD}^2_\kappa(\theta_i(x), \bar\theta_i)$.

    Each member learns the successor measure; what differs between members is what the data leave
    open, not what chance does in the environment.
    """

    def discrepancy(
        self, samples: Float[Array, "m s f"], target_samples: Float[Array, "m s f"]
    ) -> Float[Array, ""]:
        """The sum over members of the squared state MMD to their own targets."""
        return jnp.sum(jax.vmap(squared_mmd)(samples, target_samples))
