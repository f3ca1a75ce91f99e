"""Gaussian successor features: mean and covariance of a feature occupancy, the moment baseline."""

from collections.abc import Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax.scipy.special import ndtri
from jaxtyping import Array, Float, Int, Key, PRNGKeyArray

from daleth import _checks
from daleth._typing import ArrayLike, Count, Real, Reward
from daleth.data import Normalisation, Problem, Windows
from daleth.measures import StateMeasures
from daleth.models.base import Model
from daleth.models.feature_moments import (
    FourierFeatures,
    MomentNetwork,
    fit_reward,
    herd,
    occupancy_moments,
    symmetric,
)
from daleth.models.learner import Info, Learner
from daleth.parts import AveragedAdam, Optimisation
from daleth.returns import ReturnDistribution
from daleth.rewards import reward_values
from daleth.targets import target_weights

_SOURCES_AT_ONCE = 1024


class SuccessorFeaturesState(eqx.Module):
    """Features, networks, and some states of the data on which rewards will be fitted."""

    features: FourierFeatures
    network: MomentNetwork
    average: MomentNetwork
    data_states: Float[Array, "a d"]
    update: Int[Array, ""]
    optimiser: optax.OptState


class SuccessorFeaturesLearner(Learner):
    r"""Temporal differences for the first two moments of $S = \sum_k (1-\gamma)\gamma^k \phi(x_k)$.

    A window of $K$ steps gives $S = D + \gamma^K S(x_K)$ with $D$ the part that was seen. With
    $T = D + \gamma^K M(x_K)$ the mean $M$ and the covariance $C$ obey

    $$ M(x) = E\, T, \qquad C(x) = E\, (T - M(x)) (T - M(x))^T + \gamma^{2K} C(x_K) $$

    the second by the law of total variance; it is the recursion of the second moment without the
    difference of large numbers. Both are regressed towards targets from an average of the
    network. The part of $S$ at the source itself, $(1-\gamma)\phi(x)$, is exact, and a terminal
    state keeps the mass that is left.

    Attributes:
        gamma: the discount factor.
        num_frequencies: the number of random frequencies, each with a cosine and a sine.
        frequency_scale: their size; about 1 over the finest length, in units of the data's scale.
        width: the number of units in a hidden layer.
        depth: the number of hidden layers; 0 means linear temporal differences.
        optimisation: of parameters.
        max_gradient_norm: longer gradients are shortened to this norm.
        batch_size: the number of windows in a step.
        num_bootstrap_steps: the length of a window.
        num_atoms: the number of atoms in an answer of the model.
        num_state_samples: the number of points of an atom beside the source state.
        num_data_states: how many states are kept to fit rewards on.

    Example:
        >>> learner = SuccessorFeaturesLearner(gamma=0.9, num_frequencies=8)
        >>> learner.num_bootstrap_steps
        10
    """

    gamma: Real = eqx.field(static=True, converter=_checks.discount)
    num_frequencies: Count = eqx.field(static=True, default=32)
    frequency_scale: Real = eqx.field(static=True, default=1.5)
    width: Count = eqx.field(static=True, default=128)
    depth: Count = eqx.field(static=True, default=1)
    optimisation: Optimisation = AveragedAdam(decay_updates=3000)
    max_gradient_norm: Real = eqx.field(static=True, default=1.0)
    batch_size: Count = eqx.field(static=True, default=64)
    num_bootstrap_steps: Count = eqx.field(static=True, default=10)
    num_atoms: Count = eqx.field(static=True, default=51)
    num_state_samples: Count = eqx.field(static=True, default=32)
    num_data_states: Count = eqx.field(static=True, default=512)

    def __check_init__(self) -> None:
        for name in ("width", "batch_size", "num_bootstrap_steps", "num_atoms"):
            _checks.count(name, getattr(self, name))
        _checks.count("num_state_samples", self.num_state_samples)
        _checks.count("num_data_states", self.num_data_states, at_least=2)
        _checks.count("num_frequencies", self.num_frequencies, at_least=0)
        _checks.count("depth", self.depth, at_least=0)
        for name in ("frequency_scale", "max_gradient_norm"):
            _checks.positive(name, getattr(self, name))

    def init(self, key: PRNGKeyArray, problem: Problem) -> SuccessorFeaturesState:
        """Random networks; standard normal states stand in for data that have not come yet."""
        key_frequencies, key_network, key_states = jax.random.split(key, 3)
        dimension = problem.state_dim
        features = FourierFeatures(
            key_frequencies, dimension, self.num_frequencies, self.frequency_scale
        )
        num_features = dimension + 2 * self.num_frequencies
        network = MomentNetwork(key_network, num_features, self.width, self.depth)
        data_states = jax.random.normal(key_states, (self.num_data_states, dimension))
        optimiser = self._optimiser().init(eqx.filter(network, eqx.is_array))
        return SuccessorFeaturesState(
            features, network, network, data_states, jnp.int32(0), optimiser
        )

    def step(
        self, key: PRNGKeyArray, state: SuccessorFeaturesState, windows: Windows
    ) -> tuple[SuccessorFeaturesState, Info]:
        """One step of Adam on both regressions; nothing is random here."""

        def mean_losses(network):
            losses = jax.vmap(lambda window: self.losses(network, state, window))(windows)
            of_mean, of_covariance = (loss.mean() for loss in losses)
            return of_mean + of_covariance, {"mean": of_mean, "covariance": of_covariance}

        (loss, parts), gradient = jax.value_and_grad(mean_losses, has_aux=True)(state.network)
        updates, optimiser = self._optimiser().update(gradient, state.optimiser)
        network = eqx.apply_updates(state.network, updates)
        average = self.optimisation.moved(state.average, network, state.update)
        # A ring of the newest start states: one new in a step, so that they are independent.
        slot = state.update % self.num_data_states
        data_states = state.data_states.at[slot].set(windows.states[0, 0])
        new = SuccessorFeaturesState(
            state.features, network, average, data_states, state.update + 1, optimiser
        )
        return new, {"loss": loss, **{f"loss_{name}": part for name, part in parts.items()}}

    def losses(
        self, network: MomentNetwork, state: SuccessorFeaturesState, window: Windows
    ) -> tuple[Float[Array, ""], Float[Array, ""]]:
        """Squared errors of the mean and of the covariance on one window."""
        weights = target_weights(
            window.length, window.terminated, self.num_bootstrap_steps, self.gamma
        )
        features = jax.vmap(state.features)(window.states)
        last = features[weights.bootstrap_index]
        mean, covariance = occupancy_moments(network, features[0], self.gamma)
        mean_last, covariance_last = occupancy_moments(state.average, last, self.gamma)
        realised = weights.direct @ features + weights.bootstrap * mean_last
        deviation = realised - jax.lax.stop_gradient(mean)
        rows, columns = jnp.tril_indices(len(deviation))
        spread = deviation[rows] * deviation[columns] + weights.bootstrap**2 * covariance_last
        return jnp.mean((mean - realised) ** 2), jnp.mean((covariance - spread) ** 2)

    def model(self, state: SuccessorFeaturesState, problem: Problem) -> "GaussianSuccessorFeatures":
        """Gaussian returns from the network that answers, in the units of the user."""
        return GaussianSuccessorFeatures(
            features=state.features,
            network=self.optimisation.answering(state.average, state.network),
            data_states=state.data_states,
            normalisation=problem.normalisation,
            gamma=self.gamma,
            num_atoms=self.num_atoms,
            num_state_samples=self.num_state_samples,
            state_dim=problem.state_dim,
        )

    def _optimiser(self) -> optax.GradientTransformation:
        return optax.chain(
            optax.clip_by_global_norm(self.max_gradient_norm), self.optimisation.transformation()
        )


class GaussianSuccessorFeatures(Model):
    r"""Gaussian returns from mean `M` and covariance `C` of the occupancy of features.

    A reward $r \approx b + c \cdot \phi$ has the return

    $$ G \sim N\big( (1-\gamma)^{-1} (b + c \cdot M(x)),\; (1-\gamma)^{-2}\, c^T C(x)\, c \big) $$

    `returns` answers with mid-quantile atoms of this law, in closed form and not through `atoms`.
    Rewards are fitted by least squares on `data_states`; a warning says when the features miss
    more than a tenth of a reward. Two moments cannot tell a skewed or split law from a Gaussian.

    `atoms` draws feature occupancies from the Gaussian and looks for states that have them: the
    source state, and points chosen from `data_states` one after another (herding). These are
    probability measures, so they agree with `returns` only as far as the Gaussian is one over
    occupancies that can happen.
    """

    features: FourierFeatures
    network: MomentNetwork
    data_states: Float[Array, "a d"]
    normalisation: Normalisation
    gamma: float = eqx.field(static=True)
    num_atoms: int = eqx.field(static=True)
    num_state_samples: int = eqx.field(static=True)
    state_dim: int = eqx.field(static=True)

    def returns(
        self,
        reward: Reward | Sequence[Reward],
        source_state: ArrayLike,
        *,
        key: PRNGKeyArray | None = None,
    ) -> ReturnDistribution:
        """Mid-quantile atoms of the Gaussian return; shapes as for every model, no key needed."""
        mean, std = self.return_mean_and_std(reward, source_state)
        levels = (jnp.arange(self.num_atoms) + 0.5) / self.num_atoms
        return ReturnDistribution(mean[..., None] + std[..., None] * ndtri(levels))

    def return_mean_and_std(
        self, reward: Reward | Sequence[Reward], source_state: ArrayLike
    ) -> tuple[Float[Array, "*shape"], Float[Array, "*shape"]]:
        """Mean and standard deviation of the Gaussian return, `[*batch]` or `[R, *batch]`."""
        batch, flat, _ = self._sources(source_state, None)
        sources = flat.reshape(*batch, self.state_dim)
        if callable(reward):
            return self._mean_and_std(*self.fit(reward), sources)
        if not isinstance(reward, Sequence) or not reward:
            raise ValueError("reward must be a function or a non-empty sequence of functions")
        answers = [self._mean_and_std(*self.fit(one), sources) for one in reward]
        means, stds = zip(*answers, strict=True)
        return jnp.stack(means), jnp.stack(stds)

    def fit(self, reward: Reward) -> tuple[Float[Array, ""], Float[Array, "p"]]:
        r"""The coefficients $b$ and $c$ of $r \approx b + c \cdot \phi$ on `data_states`."""
        values = reward_values(reward, self.normalisation.invert(self.data_states))
        features = jax.vmap(self.features)(self.data_states)
        bias, coefficients = fit_reward(
            *(np.asarray(each, np.float64) for each in (features, values))
        )
        return jnp.float32(bias), jnp.float32(coefficients)

    # Choices between near points turn on the last bit: one compiled form for one and for many
    # source states, so that both give the same answer.
    @eqx.filter_jit
    def atoms(self, source_state: Float[Array, "d"], key: PRNGKeyArray) -> StateMeasures:
        """Points `[num_atoms, num_state_samples + 1, d]`, the source state first."""
        features = self.features(self.normalisation.apply(source_state))
        mean, triangle = self.network(features)
        values, vectors = jnp.linalg.eigh(symmetric(triangle, len(mean)))
        # The symmetric root does not depend on which eigenvectors were found, and the floor keeps
        # the rounding of eigenvalues near 0 from growing under the root.
        floor = 1e-5 * jnp.abs(values).max() + jnp.finfo(values.dtype).tiny
        scales = jnp.maximum(values, 0) / jnp.sqrt(jnp.maximum(values, 0) + floor)
        root = (vectors * scales) @ vectors.T
        noise = jax.random.normal(key, (self.num_atoms, len(mean)))
        known = jax.vmap(self.features)(self.data_states)
        chosen = jax.vmap(lambda occupancy: herd(known, occupancy, self.num_state_samples))(
            mean + noise @ root
        )
        ahead = self.normalisation.invert(self.data_states)[chosen]
        here = jnp.broadcast_to(source_state, (self.num_atoms, 1, self.state_dim))
        weights = jnp.full(self.num_state_samples + 1, self.gamma / self.num_state_samples)
        return StateMeasures(
            jnp.concatenate([here, ahead], axis=1), weights.at[0].set(1 - self.gamma)
        )

    @eqx.filter_jit
    def batch_atoms(
        self, source_states: Float[Array, "b d"], keys: Key[Array, "b"]
    ) -> StateMeasures:
        """As for every model, one source state after another."""
        return jax.lax.map(lambda pair: self.atoms(*pair), (source_states, keys))

    @eqx.filter_jit
    def _mean_and_std(
        self, bias: Array, coefficients: Array, sources: Array
    ) -> tuple[Array, Array]:
        def one(source_state):
            features = self.features(self.normalisation.apply(source_state))
            mean, triangle = occupancy_moments(self.network, features, self.gamma)
            variance = coefficients @ symmetric(triangle, len(mean)) @ coefficients
            return bias + coefficients @ mean, jnp.sqrt(jnp.maximum(variance, 0))

        flat = sources.reshape(-1, self.state_dim)
        answers = jax.lax.map(one, flat, batch_size=min(len(flat), _SOURCES_AT_ONCE))
        scale = 1 / (1 - self.gamma)
        mean, std = (scale * answer.reshape(sources.shape[:-1]) for answer in answers)
        return mean, std
