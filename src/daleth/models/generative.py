"""Noise-fed generators as atoms: what δ-models and γ-model ensembles have in common.

Both are `m` generators trained towards n-step bootstrapped targets by one descent step on a
discrepancy between samples, after one ascent step of an adversarial state kernel. They differ in
that discrepancy alone.
"""

import abc

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, PRNGKeyArray

from daleth import _checks
from daleth._typing import Count, Real
from daleth.data import Normalisation, Windows
from daleth.measures import StateMeasures
from daleth.models.base import Model
from daleth.models.learner import Info, Learner, Problem
from daleth.networks import (
    Generator,
    InvertibleFeatures,
    generate,
    make_features,
    make_generators,
    normalise,
)
from daleth.targets import draw_offsets, sampled_target

_CACHED_PAIRS = 2**20


class GenerativeState(eqx.Module):
    """Generators and, if the state kernel is adversarial, its features, with their optimisers."""

    generators: Generator
    target_generators: Generator
    generator_optimiser: optax.OptState
    features: InvertibleFeatures | None
    features_optimiser: optax.OptState


class GenerativeLearner(Learner):
    """Algorithm 1 of the paper, with the table of hyperparameters as defaults.

    Attributes:
        gamma: the discount factor.
        num_atoms: `m`.
        num_state_samples: `s` per atom.
        num_bootstrap_steps: `n`.
        batch_size: windows per update.
        learning_rate: of Adam, for generators and features alike.
        target_step: how far target parameters move towards parameters in an update.
        num_noise: dimension of the generators' noise.
        width: units of a hidden layer, in generators and features.
        depth: hidden layers of a generator.
        num_features: dimension of the adversarial features; 0 leaves the state kernel fixed.
    """

    gamma: Real = eqx.field(static=True)
    num_atoms: Count = eqx.field(static=True, default=51)
    num_state_samples: Count = eqx.field(static=True, default=32)
    num_bootstrap_steps: Count = eqx.field(static=True, default=5)
    batch_size: Count = eqx.field(static=True, default=32)
    learning_rate: Real = eqx.field(static=True, default=6.25e-5)
    target_step: Real = eqx.field(static=True, default=0.01)
    num_noise: Count = eqx.field(static=True, default=8)
    width: Count = eqx.field(static=True, default=256)
    depth: Count = eqx.field(static=True, default=3)
    num_features: Count = eqx.field(static=True, default=8)

    def __check_init__(self) -> None:
        _checks.discount(self.gamma)
        for name in ("num_atoms", "num_bootstrap_steps", "batch_size", "num_noise", "width"):
            _checks.count(name, getattr(self, name))
        _checks.count("num_state_samples", self.num_state_samples, at_least=2)
        _checks.count("num_features", self.num_features, at_least=0)
        _checks.count("depth", self.depth)
        if _checks.number("learning_rate", self.learning_rate) <= 0:
            raise ValueError(f"learning_rate must be positive, got {self.learning_rate:g}")
        if not 0 < _checks.number("target_step", self.target_step) <= 1:
            raise ValueError(f"target_step must lie in (0, 1], got {self.target_step:g}")

    @abc.abstractmethod
    def discrepancy(
        self, samples: Float[Array, "m s f"], target_samples: Float[Array, "m s f"]
    ) -> Float[Array, ""]:
        """How far the atoms of one source state are from their targets, in features."""

    def init(self, key: PRNGKeyArray, problem: Problem) -> GenerativeState:
        """Fresh networks; target parameters start as the parameters."""
        key_generators, key_features = jax.random.split(key)
        generators = self._generators(key_generators, problem.state_dim)
        features = None
        if self.num_features:
            # An injection cannot have fewer features than states have components.
            num_features = max(self.num_features, problem.state_dim)
            sizes = (problem.state_dim, num_features, self.width)
            features = make_features(key_features, self.num_atoms, *sizes)
        optimiser = self._optimiser()
        return GenerativeState(
            generators,
            generators,
            optimiser.init(eqx.filter(generators, eqx.is_array)),
            features,
            optimiser.init(eqx.filter(features, eqx.is_array)),
        )

    def step(
        self, key: PRNGKeyArray, state: GenerativeState, windows: Windows
    ) -> tuple[GenerativeState, Info]:
        """One ascent step of the features, one descent step of the generators."""
        key_ascent, key_descent = jax.random.split(key)
        optimiser = self._optimiser()
        features, features_optimiser = state.features, state.features_optimiser
        if features is not None:
            ascent = eqx.filter_grad(lambda f: -self.loss(key_ascent, state, f, windows))(features)
            updates, features_optimiser = optimiser.update(ascent, features_optimiser)
            features = eqx.apply_updates(features, updates)

        def descended(generators):
            changed = eqx.tree_at(lambda s: s.generators, state, generators)
            return self.loss(key_descent, changed, features, windows)

        loss, gradient = eqx.filter_value_and_grad(descended)(state.generators)
        updates, generator_optimiser = optimiser.update(gradient, state.generator_optimiser)
        generators = eqx.apply_updates(state.generators, updates)
        targets = jax.tree.map(
            lambda old, new: old + self.target_step * (new - old),
            state.target_generators,
            generators,
        )
        info = {"loss": loss, "gradient_norm": optax.tree.norm(gradient)}
        return GenerativeState(
            generators, targets, generator_optimiser, features, features_optimiser
        ), info

    def loss(
        self,
        key: PRNGKeyArray,
        state: GenerativeState,
        features: InvertibleFeatures | None,
        windows: Windows,
    ) -> Float[Array, ""]:
        """The mean discrepancy over a batch of windows, with fresh noise and offsets."""
        keys = jax.random.split(key, len(windows.length))
        samples, targets = jax.vmap(self._samples, (0, None, 0))(keys, state, windows)
        if features is not None:
            injection = jax.vmap(normalise(features))  # one normalisation for both sides
            samples, targets = injection(samples), injection(targets)
        # Side by side while their kernel values fit the processor's cache, else one by one.
        pairs_per_window = (self.num_atoms * self.num_state_samples) ** 2
        together = min(self.batch_size, max(1, _CACHED_PAIRS // pairs_per_window))
        each = jax.lax.map(
            lambda pair: self.discrepancy(*pair), (samples, targets), batch_size=together
        )
        return jnp.mean(each)

    def model(self, state: GenerativeState, problem: Problem) -> "GenerativeModel":
        """The generators, in the units of the user."""
        return GenerativeModel(
            generators=state.generators,
            normalisation=problem.normalisation,
            gamma=self.gamma,
            state_dim=problem.state_dim,
            num_noise=self.num_noise,
        )

    def _samples(
        self, key: PRNGKeyArray, state: GenerativeState, window: Windows
    ) -> tuple[Float[Array, "m s d"], Float[Array, "m s d"]]:
        """Samples of the atoms at $x_0$ and of their targets, for one window."""
        key_noise, key_bootstrap, key_offset = jax.random.split(key, 3)
        shape = (self.num_atoms, self.num_state_samples)
        noise = jax.random.normal(key_noise, (*shape, self.num_noise))
        samples = generate(state.generators, window.states[0], noise)
        noise = jax.random.normal(key_bootstrap, (*shape, self.num_noise))
        bootstrap = generate(state.target_generators, window.states[window.length], noise)
        offsets = draw_offsets(key_offset, shape, self.gamma)
        target = sampled_target(window.states, window.length, window.terminated, offsets, bootstrap)
        return samples, jax.lax.stop_gradient(target)

    def _generators(self, key: PRNGKeyArray, state_dim: int) -> Generator:
        sizes = (self.num_noise, self.width, self.depth)
        return make_generators(key, self.num_atoms, state_dim, *sizes)

    def _optimiser(self) -> optax.GradientTransformation:
        return optax.adam(self.learning_rate, b1=0.9, b2=0.999)


class GenerativeModel(Model):
    """`m` generators with a leading atom axis; an atom is answered by `num_state_samples` draws."""

    generators: Generator
    normalisation: Normalisation
    gamma: float = eqx.field(static=True)
    state_dim: int = eqx.field(static=True)
    num_noise: int = eqx.field(static=True)
    num_state_samples: int = eqx.field(static=True, default=256)

    def atoms(self, source_state: Float[Array, "d"], key: PRNGKeyArray) -> StateMeasures:
        """Points `[m, num_state_samples, d]`, fresh draws for each key."""
        num_atoms = jax.tree.leaves(self.generators)[0].shape[0]
        noise = jax.random.normal(key, (num_atoms, self.num_state_samples, self.num_noise))
        points = generate(self.generators, self.normalisation.apply(source_state), noise)
        return StateMeasures(self.normalisation.invert(points))
