"""How an atom is represented: a noise-fed generator, or weighted particles."""

import abc
import math
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from daleth import _checks
from daleth._typing import Count, Real
from daleth.data import Problem
from daleth.measures import StateMeasures
from daleth.networks import (
    Generator,
    ParticleNetwork,
    Plateaus,
    generate,
    generate_particles,
    make_generators,
    make_particle_network,
)
from daleth.parts.part import Part

_SMALLEST_RESOLUTION = 1e-6  # where all frames are one


class Representation(Part):
    """Maps a network and a source state to `m` state measures, in normalised units."""

    num_atoms: eqx.AbstractVar[int]
    drawn: ClassVar[bool]
    """Whether points are independent draws, and not the measure itself."""
    weighted: ClassVar[bool] = False
    """Whether the weights of atoms are learned; otherwise all are equal."""

    @abc.abstractmethod
    def init(self, key: PRNGKeyArray, problem: Problem) -> Any:
        """A fresh network for such data."""

    @abc.abstractmethod
    def measures(
        self,
        network: Any,
        source_state: Float[Array, "d"],
        key: PRNGKeyArray,
        chosen: Int[Array, "c"] | None = None,
    ) -> StateMeasures:
        """The atoms at one source state for a loss, all of them or the chosen ones."""

    def answer(
        self, network: Any, source_state: Float[Array, "d"], key: PRNGKeyArray
    ) -> StateMeasures:
        """The atoms at one source state as a model gives them to a user."""
        return self.measures(network, source_state, key)


class Generators(Representation):
    """`m` independent noise-fed networks, as in the paper; an atom is known by its draws.

    Attributes:
        num_atoms: `m`.
        num_state_samples: `s`, the draws from each atom in a loss.
        num_answer_samples: the draws from each atom in an answer of the model.
        num_noise: dimension of the noise.
        width: units of a hidden layer.
        depth: hidden layers.
    """

    num_atoms: Count = eqx.field(static=True, default=51)
    num_state_samples: Count = eqx.field(static=True, default=32)
    num_answer_samples: Count = eqx.field(static=True, default=256)
    num_noise: Count = eqx.field(static=True, default=8)
    width: Count = eqx.field(static=True, default=256)
    depth: Count = eqx.field(static=True, default=3)
    drawn: ClassVar[bool] = True

    def __check_init__(self) -> None:
        for name in ("num_atoms", "num_answer_samples", "num_noise", "width", "depth"):
            _checks.count(name, getattr(self, name))
        _checks.count("num_state_samples", self.num_state_samples, at_least=2)

    def init(self, key: PRNGKeyArray, problem: Problem) -> Generator:
        """Generators with a leading atom axis, whatever the data."""
        return make_generators(
            key, self.num_atoms, problem.state_dim, self.num_noise, self.width, self.depth
        )

    def measures(
        self,
        network: Generator,
        source_state: Float[Array, "d"],
        key: PRNGKeyArray,
        chosen: Int[Array, "c"] | None = None,
    ) -> StateMeasures:
        """Points `[m, num_state_samples, d]`, fresh draws for each key."""
        if chosen is not None:
            network = jax.tree.map(lambda leaf: leaf[chosen], network)
        return self._draw(network, source_state, key, self.num_state_samples)

    def answer(
        self, network: Generator, source_state: Float[Array, "d"], key: PRNGKeyArray
    ) -> StateMeasures:
        """Points `[m, num_answer_samples, d]`, fresh draws for each key."""
        return self._draw(network, source_state, key, self.num_answer_samples)

    def _draw(
        self, network: Generator, source_state: Array, key: PRNGKeyArray, num: int
    ) -> StateMeasures:
        noise = jax.random.normal(key, (len(network.biases[0]), num, self.num_noise))
        return StateMeasures(generate(network, source_state, noise))


class ParticleRepresentation(Representation):
    r"""One network maps a source state to all points of all atoms; nothing is drawn.

    $$ \theta_i(x) = \sum_l w_{il}(x) \delta_{y_{il}(x)} $$

    It gives each point a logit, and how these make weights is left to the two kinds below.

    Attributes:
        num_atoms: `m`.
        num_points: `k`, the learned points of an atom.
        width: units of a hidden layer.
        depth: hidden layers.
        num_frequencies: random Fourier features of the state beside the state as input.
        frequency_scale: their standard deviation over the states of the data, in radians, at most.
        largest_turn: the standard deviation of a phase over the resolution of the data, in radians,
            at most: where data are few for their dimension, frequencies are lower. Higher ones
            would let the network learn single futures by heart.
        plateau: half the width, in units of the data, of the outputs that give a value which recurs
            in the data (`daleth.data.recurring`) exactly, at most; 0 gives none.
    """

    num_atoms: Count = eqx.field(static=True, default=51)
    num_points: Count = eqx.field(static=True, default=16)
    width: Count = eqx.field(static=True, default=256)
    depth: Count = eqx.field(static=True, default=2)
    num_frequencies: Count = eqx.field(static=True, default=256)
    frequency_scale: float = eqx.field(static=True, default=2.5)
    largest_turn: float = eqx.field(static=True, default=0.25)
    plateau: Real = eqx.field(static=True, default=0.3)
    drawn: ClassVar[bool] = False

    def __check_init__(self) -> None:
        for name in ("num_atoms", "num_points", "width", "depth", "num_frequencies"):
            _checks.count(name, getattr(self, name))
        for name in ("frequency_scale", "largest_turn"):
            _checks.positive(name, getattr(self, name))
        if _checks.number("plateau", self.plateau) < 0:
            raise ValueError(f"plateau must not be negative, got {self.plateau:g}")

    def init(self, key: PRNGKeyArray, problem: Problem) -> ParticleNetwork:
        """One network for all atoms."""
        # A phase has the same spread over the data whatever the dimension of the state.
        finest = self.largest_turn / jnp.maximum(problem.resolution, _SMALLEST_RESOLUTION)
        frequency = jnp.minimum(self.frequency_scale / math.sqrt(problem.state_dim), finest)
        sizes = (self.num_points, self.width, self.depth, self.num_frequencies)
        return make_particle_network(
            key, self.num_atoms, problem.state_dim, *sizes, frequency, self._plateaus(problem)
        )

    def _plateaus(self, problem: Problem) -> Plateaus:
        values = problem.normalisation.apply(problem.recurring.values.T).T
        return Plateaus.at(values, problem.recurring.present, self.plateau)

    def measures(
        self,
        network: ParticleNetwork,
        source_state: Float[Array, "d"],
        key: PRNGKeyArray,
        chosen: Int[Array, "c"] | None = None,
    ) -> StateMeasures:
        """Points `[m, num_points, d]`; the key is not used."""
        del key
        points, logits = generate_particles(network, source_state, chosen)
        return StateMeasures(points, jax.nn.softmax(logits), self.atom_weights(logits))

    @abc.abstractmethod
    def atom_weights(self, logits: Float[Array, "m k"]) -> Float[Array, "m"] | None:
        """The weights of atoms, or nothing where all are equal."""


class Particles(ParticleRepresentation):
    """Particles of equally likely atoms: the weights of points are a softmax in each atom."""

    def atom_weights(self, logits: Float[Array, "m k"]) -> None:
        """All are equal."""


class WeightedParticles(ParticleRepresentation):
    r"""Particles of atoms that are not equally likely.

    The masses of all points of all atoms are one softmax,

    $$ p_i(x)\, w_{il}(x) = \frac{e^{a_{il}(x)}}{\sum_{jn} e^{a_{jn}(x)}}, $$

    so an atom is as likely as its points are together. Few atoms stand for a law more closely if
    they may differ in weight: a rare future then needs no whole $1/m$.
    """

    weighted: ClassVar[bool] = True

    def atom_weights(self, logits: Float[Array, "m k"]) -> Float[Array, "m"]:
        """The shares of the atoms in the softmax over all points."""
        return jax.nn.softmax(jax.nn.logsumexp(logits, axis=-1))
