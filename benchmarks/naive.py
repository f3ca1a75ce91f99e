"""Algorithm 1 written down as it reads: all kernel values of a batch at once, general powers.

The same mathematics, networks and random draws as `daleth.models.delta.paper_learner`, so that
losses can be compared; only the way of computing differs. It is here to be measured, not used.
"""

import jax
import jax.numpy as jnp
from jax import Array

from daleth.kernels import ALPHAS
from daleth.models.delta import DeltaLearner
from daleth.networks import normalise


class NaiveDeltaLearner(DeltaLearner):
    """A δ-model of the paper's parts whose loss holds `O(b m² s²)` kernel values in memory."""

    def loss(self, key, state, features, windows) -> Array:
        """All source states of a batch at once."""
        assert features is not None, "the naive version has an adversarial state kernel"
        assert self.targets == "sampled", "the naive version compares draws"
        key_windows = jax.random.split(key, 4)[-1]
        keys = jax.random.split(key_windows, len(windows.length))
        both = jax.vmap(self._source_and_target, (0, None, 0, None))(keys, state, windows, None)
        source, target = both
        injection = normalise(features)

        def one(ys: Array, yts: Array) -> Array:
            fs, fts = injection(ys), injection(yts)
            scale = spread(yts) / spread(fts)
            return naive_two_level_mmd(scale * fs, scale * fts)

        return jax.vmap(one)(source.points, target.bootstrap.points).mean()


def naive_two_level_mmd(ys: Array, yts: Array) -> Array:
    """`daleth.distances.two_level_mmd` from full Gram matrices, for samples `[m, s, d]`."""
    num_atoms, num_samples, _ = ys.shape
    gram_s, gram_t, gram_st = gram(ys, ys), gram(yts, yts), gram(ys, yts)
    u_s, u_t = u_statistics(gram_s), u_statistics(gram_t)
    off_diagonal = 1 - jnp.eye(num_atoms)
    d_s = off_diagonal * (u_s[:, None] + u_s - 2 * gram_s.mean((2, 3)))
    d_t = off_diagonal * (u_t[:, None] + u_t - 2 * gram_t.mean((2, 3)))
    d_st = u_s[:, None] + u_t - 2 * gram_st.mean((2, 3))
    entries = jnp.concatenate([d_s.ravel(), d_t.ravel(), d_st.ravel()])
    floor = (2 * len(ALPHAS) - u_s.mean() - u_t.mean()) / (2 * num_samples)
    squared_bandwidth = jax.lax.stop_gradient(
        jnp.maximum(jnp.median(entries), jnp.maximum(floor, 1e-4))
    )

    def model_kernel(d: Array) -> Array:
        ratio = d / squared_bandwidth
        return jnp.where(ratio < 0, 1 - ratio / 2, (1 + jnp.maximum(ratio, 0)) ** -0.5)

    return (model_kernel(d_s) + model_kernel(d_t) - 2 * model_kernel(d_st)).mean()


def spread(points: Array) -> Array:
    """The root mean squared distance of all samples from their mean."""
    return jnp.sqrt(((points - points.mean((0, 1))) ** 2).sum(-1).mean() + 1e-6)


def gram(ys: Array, yts: Array) -> Array:
    """The state kernel of all pairs of samples of all pairs of atoms, `[m, m, s, s]`."""
    squared = ((ys[:, None, :, None] - yts[None, :, None]) ** 2).sum(-1)
    powers = [(1 + squared / (2 * alpha)) ** -alpha for alpha in ALPHAS]
    return sum(powers, start=jnp.zeros_like(squared))


def u_statistics(gram_within: Array) -> Array:
    """The mean over distinct samples of each atom, `[m]`."""
    own = jnp.einsum("iist->ist", gram_within)
    num_samples = own.shape[-1]
    distinct = own * (1 - jnp.eye(num_samples))
    return distinct.sum((1, 2)) / (num_samples * (num_samples - 1))
