"""How two state measures are compared: by a Gram matrix, or by mean embeddings."""

import abc
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, PRNGKeyArray

from daleth import _checks
from daleth._typing import Count, Real
from daleth.distances import Distances, EmbeddingDistances, SampleDistances, WeightedDistances
from daleth.measures import StateMeasures
from daleth.networks import InvertibleFeatures, NormalisedFeatures, normalise
from daleth.parts.part import Part
from daleth.random_features import CosineFeatures, draw_features
from daleth.targets import Target

_CACHED_PAIRS = 2**20
_SMALLEST_SPREAD = 1e-3  # of normalised states, where all points are one


class StateComparison(Part):
    """Gives all squared MMDs between the atoms of one source state and those of its target."""

    @abc.abstractmethod
    def init(self, key: PRNGKeyArray, state_dim: int) -> Any:
        """Parameters that an adversary trains, or None."""

    def adversary(self) -> optax.GradientTransformation:
        """How the adversary moves them, if there is one."""
        return optax.identity()

    @abc.abstractmethod
    def prepare(self, parameters: Any, key: PRNGKeyArray, state_dim: int) -> Any:
        """What both sides of all losses of an update share."""

    @abc.abstractmethod
    def compare(
        self, prepared: Any, source: StateMeasures, target: Target, *, drawn: bool, unbiased: bool
    ) -> tuple[Distances, ...]:
        """The squared distances at one source state, under each state kernel that there is.

        A loss is the sum of the discrepancies that they give.

        Args:
            prepared: what `prepare` gave.
            source: the atoms, in normalised units.
            target: their target.
            drawn: whether points of atoms are draws.
            unbiased: whether squared distances are to be unbiased, and then sometimes negative,
                where points are draws.
        """

    @abc.abstractmethod
    def windows_together(self, num_points: int, batch_size: int) -> int:
        """How many windows are best compared side by side, with so many points in all atoms."""


class Gram(StateComparison):
    r"""The rational quadratic state kernel of all pairs of points, as in the paper.

    An adversary may train features $f_\xi$ of states, and the state kernel is then that of
    features (section 5.2). Three things differ from Algorithm 1, because small models did not learn
    as it is printed:

    - One $\xi$ serves all atoms. Algorithm 1 prints a $\xi_i$ for each, but then distances between
      different atoms are not those of one kernel, and the adversary can hold atoms apart until
      each follows its own target alone, as in a γ-model ensemble.
    - Features are scaled to the spread of the states that they come from, the same on both sides.
      Otherwise the adversary can spread all points until the kernel is flat between them, and lost
      points find no way back.
    - The adversary has a learning rate of its own, that of the paper's table. Where generators
      learn faster, it must not.

    Attributes:
        num_features: dimension of the adversarial state features; 0 leaves the state kernel fixed.
        width: units of their hidden layers.
        learning_rate: of the adversary.
    """

    num_features: Count = eqx.field(static=True, default=8)
    width: Count = eqx.field(static=True, default=256)
    learning_rate: Real = eqx.field(static=True, default=6.25e-5)

    def __check_init__(self) -> None:
        _checks.count("num_features", self.num_features, at_least=0)
        _checks.count("width", self.width)
        _checks.positive("learning_rate", self.learning_rate)

    def init(self, key: PRNGKeyArray, state_dim: int) -> InvertibleFeatures | None:
        """Invertible features, if the state kernel is not fixed."""
        if self.num_features == 0:
            return None
        # An injection cannot have fewer features than states have components.
        num_features = max(self.num_features, state_dim)
        return InvertibleFeatures(key, state_dim, num_features, self.width)

    def adversary(self) -> optax.GradientTransformation:
        """Adam, as for generators."""
        return optax.adam(self.learning_rate, b1=0.9, b2=0.999)

    def prepare(
        self, parameters: InvertibleFeatures | None, key: PRNGKeyArray, state_dim: int
    ) -> NormalisedFeatures | None:
        """One normalisation of the features for both sides."""
        del key, state_dim
        return None if parameters is None else normalise(parameters)

    def compare(
        self,
        prepared: NormalisedFeatures | None,
        source: StateMeasures,
        target: Target,
        *,
        drawn: bool,
        unbiased: bool,
    ) -> tuple[Distances, ...]:
        """From kernel values of features, if there are, or of states."""
        target_measures = target.measures()
        ys, yts, weights = source.points, target_measures.points, target_measures.point_weights
        if prepared is not None:
            spread = _spread(yts, weights)
            ys, yts = prepared(ys), prepared(yts)
            scale = spread / _spread(yts, weights)
            ys, yts = scale * ys, scale * yts
        if drawn and unbiased and not target.has_known_part:
            return (SampleDistances(ys, yts),)
        num_drawn = source.points.shape[-2] if drawn and unbiased else 0
        return (WeightedDistances(ys, source.point_weights, yts, weights, num_drawn),)

    def windows_together(self, num_points: int, batch_size: int) -> int:
        """As many as keep their kernel values in the processor's cache, else one by one."""
        return min(batch_size, max(1, _CACHED_PAIRS // num_points**2))


class RandomFeatures(StateComparison):
    r"""Mean embeddings in random features of the state kernel, drawn afresh for every update.

    $$ \mu(\theta) = \sum_k w_k \varphi(y_k), \qquad a_1 \sum_k w_k y_k, \qquad
       a_2 \sum_k w_k y_k^2 $$

    Beside the cosines $\varphi$ of the rational quadratic kernel stand the first two moments of
    each component, since smooth rewards depend on them most. These are three kernels, each with
    distances of its own, and not one kernel that is their sum: among many features that vary much,
    a set comparison hardly sees how the moments vary, and with a discount near 1 these vary little.

    Attributes:
        num_features: cosines, `D`.
        length_scales: of the kernel, log-uniform between these, in units of the data and times
            $d / 3$ for states of more than three components.
        linear: $a_1$; 0 leaves first moments out.
        quadratic: $a_2$; 0 leaves second moments out.
    """

    num_features: Count = eqx.field(static=True, default=16)
    length_scales: tuple[float, float] = eqx.field(static=True, default=(0.5, 3.0))
    linear: Real = eqx.field(static=True, default=0.7)
    quadratic: Real = eqx.field(static=True, default=0.2)

    def __check_init__(self) -> None:
        _checks.count("num_features", self.num_features)
        low, high = self.length_scales
        if not 0 < _checks.number("length_scales", low) <= _checks.number("length_scales", high):
            raise ValueError(
                f"length_scales must be two positive numbers in order, got {self.length_scales}"
            )
        for name in ("linear", "quadratic"):
            if _checks.number(name, getattr(self, name)) < 0:
                raise ValueError(f"{name} must not be negative, got {getattr(self, name):g}")

    def init(self, key: PRNGKeyArray, state_dim: int) -> None:
        """Nothing is trained."""

    def prepare(self, parameters: None, key: PRNGKeyArray, state_dim: int) -> CosineFeatures:
        """Fresh features: what a draw leaves out, the next one sees."""
        wider = max(1.0, state_dim / 3)
        low, high = self.length_scales
        return draw_features(key, state_dim, self.num_features, (low * wider, high * wider))

    def compare(
        self,
        prepared: CosineFeatures,
        source: StateMeasures,
        target: Target,
        *,
        drawn: bool,
        unbiased: bool,
    ) -> tuple[EmbeddingDistances, ...]:
        """From mean embeddings of atoms and of targets, one kernel after the other.

        Only distances in cosines are unbiased. Estimates in moments have no bound: draws that
        lie far apart would make some of them as negative as one likes, and an inverse
        multiquadric gains by each. The price is a bias that pulls `s` draws together, by a share
        of `1/s` of their variance.
        """
        moments: list[Callable[[Array], Array]] = []
        if self.linear:
            moments.append(lambda states: self.linear * states)
        if self.quadratic:
            moments.append(lambda states: self.quadratic * states**2)
        cosines = _embedded(prepared, source, target, drawn and unbiased)
        return (cosines, *(_embedded(one, source, target, unbiased=False) for one in moments))

    def windows_together(self, num_points: int, batch_size: int) -> int:
        """All: one matrix product for the whole batch."""
        del num_points
        return batch_size


def _embedded(
    features: Callable[[Array], Array], source: StateMeasures, target: Target, unbiased: bool
) -> EmbeddingDistances:
    """The distances of mean embeddings in these features."""

    def embed(points: Array, weights: Array) -> Float[Array, "*m D"]:
        return (weights[..., None, :] @ features(points))[..., 0, :]

    def bias(points: Array) -> Float[Array, "m"] | None:
        """What independent draws add to the squared norm of a mean embedding."""
        if not unbiased:
            return None
        return jnp.sum(jnp.var(features(points), axis=-2, ddof=1), axis=-1) / points.shape[-2]

    own = embed(source.points, source.point_weights)
    bootstrap = target.bootstrap
    other = target.bootstrap_mass * embed(bootstrap.points, bootstrap.point_weights)
    other += embed(target.states, target.state_weights)
    target_bias = bias(bootstrap.points)
    if target_bias is not None:
        target_bias = target.bootstrap_mass**2 * target_bias
    return EmbeddingDistances.of(own, other, bias(source.points), target_bias)


def _spread(points: Float[Array, "m k d"], weights: Float[Array, "m k"]) -> Float[Array, ""]:
    """The root mean squared distance of the points of all atoms from their mean."""
    shares = (weights / jnp.sum(weights))[..., None]
    mean = jnp.sum(shares * points, axis=(0, 1))
    return jnp.sqrt(jnp.sum(shares * (points - mean) ** 2) + _SMALLEST_SPREAD**2)
