"""The δ-model of the paper: atoms trained together by a two-level maximum mean discrepancy."""

from jaxtyping import Array, Float

from daleth.discrepancy import two_level_mmd
from daleth.models.generative import GenerativeLearner


class DeltaLearner(GenerativeLearner):
    r"""Minimises the squared MMD between model distributions (equation 12, Algorithm 1).

    $$ \ell = \mathrm{MMD}^2_k\Big(\tfrac1m \sum_i \delta_{\theta_i(x)},
       \tfrac1m \sum_j \delta_{\bar\theta_j}\Big) $$

    where $\bar\theta_j$ is the n-step target and the model kernel $k$ an inverse multiquadric of
    the state MMD with the median bandwidth. Atoms are compared with *all* target atoms, so they
    share out the futures among them.
    """

    def discrepancy(
        self, samples: Float[Array, "m s f"], target_samples: Float[Array, "m s f"]
    ) -> Float[Array, ""]:
        """The two-level squared MMD of one source state."""
        return two_level_mmd(samples, target_samples)[0]
