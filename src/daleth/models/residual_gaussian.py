"""The residual Gaussian transition kernel: the one-step model of a practitioner."""

import itertools

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from daleth.models.transition import TransitionKernel, TransitionLearner

_MIN_LOG_STD, _MAX_LOG_STD = -7.0, 2.0  # 0.001 to 7 standard deviations of the data


class ResidualGaussianLearner(TransitionLearner):
    r"""Maximum likelihood for $x' = x + \mu(x) + \sigma(x) \odot \varepsilon$.

    The loss is the negative log-likelihood of the observed next state, up to a constant,

    $$ \sum_j \log \sigma_j(x) + \tfrac12 \big( (x'_j - x_j - \mu_j(x)) / \sigma_j(x) \big)^2 $$

    The paper's rollouts use the generator of `PaperTransitionLearner`; this kernel cannot bend or
    split its noise, and is smooth, quick to train and hard to beat where noise is additive. A
    terminal state leads to itself, so $\sigma$ falls there, down to a thousandth of the scale of
    the data and not to zero: absorbed rollouts still tremble by that much.

    Example:
        >>> learner = ResidualGaussianLearner(gamma=0.9, width=64)
        >>> learner.config()["width"], learner.num_bootstrap_steps
        (64, 1)
    """

    def make_kernel(self, key: PRNGKeyArray, state_dim: int) -> "ResidualGaussianKernel":
        """A kernel that stands still on average."""
        return ResidualGaussianKernel(key, state_dim, self.width, self.depth)

    def loss(
        self,
        key: PRNGKeyArray,
        kernel: "ResidualGaussianKernel",
        state: Float[Array, "d"],
        following: Float[Array, "d"],
    ) -> Float[Array, ""]:
        """The negative log-likelihood of one transition, without its constant; no key is used."""
        mean, log_std = kernel.mean_and_log_std(state)
        return jnp.sum(log_std + 0.5 * ((following - mean) * jnp.exp(-log_std)) ** 2)


class ResidualGaussianKernel(TransitionKernel):
    """A Gaussian around a learned change of state, with a learned diagonal covariance."""

    layers: tuple[eqx.nn.Linear, ...]

    def __init__(self, key: PRNGKeyArray, state_dim: int, width: int, depth: int):
        sizes = itertools.pairwise([state_dim, *[width] * depth, 2 * state_dim])
        keys = jax.random.split(key, depth + 1)
        *hidden, head = (
            eqx.nn.Linear(*size, key=key_layer) for size, key_layer in zip(sizes, keys, strict=True)
        )
        still = jax.tree.map(jnp.zeros_like, head)
        self.layers = (*hidden, still)

    def mean_and_log_std(
        self, state: Float[Array, "d"]
    ) -> tuple[Float[Array, "d"], Float[Array, "d"]]:
        """Mean of the next state and logarithm of its standard deviation."""
        *hidden, head = self.layers
        features = state
        for layer in hidden:
            features = jax.nn.silu(layer(features))
        change, raw = jnp.split(head(features), 2)
        # Soft bounds: gradients fade near them and never vanish.
        below = _MAX_LOG_STD - jax.nn.softplus(_MAX_LOG_STD - raw)
        return state + change, _MIN_LOG_STD + jax.nn.softplus(below - _MIN_LOG_STD)

    def sample(self, key: PRNGKeyArray, state: Float[Array, "d"]) -> Float[Array, "d"]:
        """Draws the next state."""
        mean, log_std = self.mean_and_log_std(state)
        return mean + jnp.exp(log_std) * jax.random.normal(key, state.shape)
