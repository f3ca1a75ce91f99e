r"""All squared MMDs between the atoms of one source state and the atoms of its target.

Whatever the estimator, these are inner products of mean embeddings put together,

$$ d(\theta_i, \bar\theta_j) = \langle\mu_i, \mu_i\rangle + \langle\bar\mu_j, \bar\mu_j\rangle
   - 2 \langle\mu_i, \bar\mu_j\rangle - b_i - \bar b_j, $$

where $b$ is the bias that independent draws put on a squared norm: $(\kappa(0) - U) / s$ with
the U-statistic $U$. Each set comparison asks for the distances that it needs, and the rest is never
computed.
"""

import abc

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from daleth.discrepancy import (
    SMALLEST_BANDWIDTH,
    Masses,
    bandwidth_floor,
    draw_bias,
    median_bandwidth,
    model_discrepancy,
    pairwise_squared_mmd,
    pairwise_squared_mmd_within,
    squared_mmd,
    weighted_mean_state_kernel,
    within_means,
)
from daleth.kernels import rational_quadratic, squared_distances

Partners = Int[Array, "p"] | slice
"""Which atoms; a slice costs no gathering."""


class Distances(eqx.Module):
    """Squared distances among `m` atoms, among `t` target atoms, and across."""

    @abc.abstractmethod
    def within(self) -> Float[Array, "m m"]:
        """Among atoms, with a diagonal of 0."""

    def within_to(self, partners: Partners) -> Float[Array, "m p"]:
        """Among atoms, to the partners alone, which are held fixed: no gradient moves them."""
        distances = self.facing(partners).across()
        atoms = jnp.arange(len(distances))
        return jnp.where(atoms[:, None] == atoms[partners], 0, distances)

    @abc.abstractmethod
    def facing(self, partners: Partners) -> "Distances":
        """The same with these atoms, held fixed, in the place of the targets."""

    @abc.abstractmethod
    def within_target(self) -> Float[Array, "t t"]:
        """Among target atoms, with a diagonal of 0."""

    @abc.abstractmethod
    def across(self) -> Float[Array, "m t"]:
        """Of each atom to each target atom."""

    @abc.abstractmethod
    def matched(self) -> Float[Array, "m"]:
        """Of each atom to its own target atom."""

    @abc.abstractmethod
    def resolution(self) -> Float[Array, ""]:
        """The squared distance that independent draws can resolve, 0 without draws."""


class EmbeddingDistances(Distances):
    """From mean embeddings, centred so that few digits cancel."""

    own: Float[Array, "m D"]
    other: Float[Array, "t D"]
    own_bias: Float[Array, "m"]
    other_bias: Float[Array, "t"]

    @classmethod
    def of(
        cls,
        own: Float[Array, "m D"],
        other: Float[Array, "t D"],
        own_bias: Float[Array, "m"] | None = None,
        other_bias: Float[Array, "t"] | None = None,
    ) -> "EmbeddingDistances":
        """Without biases if these are None."""
        centre = jax.lax.stop_gradient(other.mean(axis=0))
        own_bias = jnp.zeros(len(own)) if own_bias is None else own_bias
        other_bias = jnp.zeros(len(other)) if other_bias is None else other_bias
        return cls(own - centre, other - centre, own_bias, other_bias)

    def within(self) -> Float[Array, "m m"]:
        """Among atoms."""
        return _from_gram(self.own @ self.own.T, self.own_bias)

    def facing(self, partners: Partners) -> "EmbeddingDistances":
        """To atoms instead of targets."""
        held = jax.lax.stop_gradient((self.own[partners], self.own_bias[partners]))
        return EmbeddingDistances(self.own, held[0], self.own_bias, held[1])

    def within_target(self) -> Float[Array, "t t"]:
        """Among target atoms."""
        return _from_gram(self.other @ self.other.T, self.other_bias)

    def across(self) -> Float[Array, "m t"]:
        """Of each atom to each target atom."""
        own = jnp.sum(self.own**2, axis=-1) - self.own_bias
        other = jnp.sum(self.other**2, axis=-1) - self.other_bias
        return own[:, None] + other - 2 * self.own @ self.other.T

    def matched(self) -> Float[Array, "m"]:
        """Of each atom to its own target atom."""
        return jnp.sum((self.own - self.other) ** 2, axis=-1) - self.own_bias - self.other_bias

    def resolution(self) -> Float[Array, ""]:
        """Half the mean bias."""
        return jax.lax.stop_gradient((self.own_bias.mean() + self.other_bias.mean()) / 2)


class SampleDistances(Distances):
    """From draws with equal weights: the unbiased estimators of the paper."""

    ys: Float[Array, "m s d"]
    yts: Float[Array, "t s d"]

    def within(self) -> Float[Array, "m m"]:
        """Among atoms."""
        return pairwise_squared_mmd_within(self.ys)

    def facing(self, partners: Partners) -> "SampleDistances":
        """To atoms instead of targets."""
        return SampleDistances(self.ys, jax.lax.stop_gradient(self.ys[partners]))

    def within_target(self) -> Float[Array, "t t"]:
        """Among target atoms."""
        return pairwise_squared_mmd_within(self.yts)

    def across(self) -> Float[Array, "m t"]:
        """Of each atom to each target atom."""
        return pairwise_squared_mmd(self.ys, self.yts)

    def matched(self) -> Float[Array, "m"]:
        """Of each atom to its own target atom."""
        return jax.vmap(squared_mmd)(self.ys, self.yts)

    def resolution(self) -> Float[Array, ""]:
        """See `daleth.discrepancy.bandwidth_floor`."""
        ys, yts = jax.lax.stop_gradient((self.ys, self.yts))
        sizes = (ys.shape[1], yts.shape[1])
        return bandwidth_floor(within_means(ys), within_means(yts), *sizes)


class WeightedDistances(Distances):
    """From weighted points; the last `num_drawn` points of a measure are draws, the rest known."""

    ys: Float[Array, "m k d"]
    weights: Float[Array, "m k"]
    yts: Float[Array, "t l d"]
    target_weights: Float[Array, "t l"]
    num_drawn: int = eqx.field(static=True)

    def within(self) -> Float[Array, "m m"]:
        """Among atoms."""
        return _from_gram(self._gram(False, False), self._bias(self.ys, self.weights))

    def facing(self, partners: Partners) -> "WeightedDistances":
        """To atoms instead of targets."""
        held = jax.lax.stop_gradient((self.ys[partners], self.weights[partners]))
        return WeightedDistances(self.ys, self.weights, *held, self.num_drawn)

    def within_target(self) -> Float[Array, "t t"]:
        """Among target atoms."""
        return _from_gram(self._gram(True, True), self._bias(self.yts, self.target_weights))

    def across(self) -> Float[Array, "m t"]:
        """Of each atom to each target atom."""
        return self._norms(False)[:, None] + self._norms(True) - 2 * self._gram(False, True)

    def matched(self) -> Float[Array, "m"]:
        """Of each atom to its own target atom."""
        means = jax.vmap(_weighted_mean)(self.ys, self.weights, self.yts, self.target_weights)
        return self._norms(False) + self._norms(True) - 2 * means

    def resolution(self) -> Float[Array, ""]:
        """Half the mean bias."""
        own = self._bias(self.ys, self.weights).mean()
        return jax.lax.stop_gradient((own + self._bias(self.yts, self.target_weights).mean()) / 2)

    def _side(self, target: bool) -> tuple[Array, Array]:
        return (self.yts, self.target_weights) if target else (self.ys, self.weights)

    def _gram(self, first: bool, second: bool) -> Array:
        return weighted_mean_state_kernel(*self._side(first), *self._side(second))

    def _norms(self, target: bool) -> Array:
        points, weights = self._side(target)
        squared = jax.vmap(_weighted_mean)(points, weights, points, weights)
        return squared - self._bias(points, weights)

    def _bias(self, points: Array, weights: Array) -> Array:
        if self.num_drawn == 0:
            return jnp.zeros(len(points))
        drawn = points[:, -self.num_drawn :]
        mass = weights[:, -self.num_drawn :].sum(axis=-1)
        return mass**2 * draw_bias(_squared_norms(drawn), self.num_drawn)


def two_level_mmd(
    distances: Distances, masses: Masses
) -> tuple[Float[Array, ""], dict[str, Float[Array, ""]]]:
    r"""The loss of the paper's δ-model at one source state: Algorithm 1 from distances on.

    Returns:
        The loss, and `squared_bandwidth`, `bandwidth_floor` and `mean_squared_mmd` across.
    """
    matrices = (distances.within(), distances.within_target(), distances.across())
    floor = jnp.maximum(distances.resolution(), SMALLEST_BANDWIDTH)
    squared_bandwidth = median_bandwidth(*matrices, floor)
    info = {
        "squared_bandwidth": squared_bandwidth,
        "bandwidth_floor": floor,
        "mean_squared_mmd": jax.lax.stop_gradient(matrices[-1].mean()),
    }
    return model_discrepancy(*matrices, squared_bandwidth, masses), info


def _from_gram(gram: Float[Array, "m m"], bias: Float[Array, "m"]) -> Float[Array, "m m"]:
    norms = jnp.diagonal(gram) - bias
    distances = norms[:, None] + norms - 2 * gram
    return jnp.where(jnp.eye(len(gram), dtype=bool), 0, distances)


def _squared_norms(points: Float[Array, "m s d"]) -> Float[Array, "m"]:
    return jax.vmap(lambda y: rational_quadratic(squared_distances(y, y)).mean())(points)


def _weighted_mean(ys: Array, weights: Array, others: Array, other_weights: Array) -> Array:
    return weights @ rational_quadratic(squared_distances(ys, others)) @ other_weights
