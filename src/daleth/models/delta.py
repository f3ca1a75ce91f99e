"""δ-models: atoms trained together towards n-step bootstrapped targets."""

import dataclasses
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, Int, PRNGKeyArray

from daleth import _checks
from daleth._typing import Count, Real
from daleth.data import Normalisation, Problem, Windows
from daleth.data.recurring import Recurring
from daleth.discrepancy import Masses
from daleth.measures import StateMeasures
from daleth.models.base import Model
from daleth.models.learner import Info, Learner
from daleth.parts import (
    AveragedAdam,
    Energy,
    Generators,
    Gram,
    InverseMultiquadric,
    Matched,
    Optimisation,
    Particles,
    PlainAdam,
    RandomFeatures,
    Representation,
    SetComparison,
    StateComparison,
    WeightedParticles,
)
from daleth.smoothing import FEWEST_ATOMS, nearest_atoms
from daleth.targets import (
    Target,
    draw_offsets,
    drawn_target,
    exact_target,
    following,
    sampled_target,
)

_FEW_ATOMS = 8


class DeltaState(eqx.Module):
    """The network, its average, the adversarial features if there are, and optimiser states."""

    network: Any
    average: Any
    optimiser: optax.OptState
    features: Any
    features_optimiser: optax.OptState
    update: Int[Array, ""]


class DeltaLearner(Learner):
    r"""Minimises a discrepancy between the atoms at a state and the atoms of its n-step target.

    $$ \ell(x_0, \dots, x_n) = D\Big( \tfrac1m \sum_i \delta_{\theta_i(x_0)},
       \tfrac1m \sum_j \delta_{\bar\theta_j} \Big), \quad
       \bar\theta_j = \sum_{k<n} (1-\gamma) \gamma^k \delta_{x_k} + \gamma^n \theta^-_j(x_n) $$

    (equation 12 and Algorithm 1 of the paper). Atoms are compared with *all* target atoms, so they
    share out the futures among them. What an atom is, how two state measures are compared and how
    two sets of them are compared are parts, see `daleth.parts`. The defaults are those of the
    preset `fast`, which `fast_learner` gives for any number of atoms; `paper_learner` and
    `gamma_ensemble_learner` give the paper's.

    One point of an atom is known: $\theta_i(x) = (1-\gamma) \delta_x + \gamma \theta'_i(x)$. With
    `known_source` the network stands for $\theta'_i$ alone, and its target has the states that
    follow, $x_1, x_2, \dots$, in the place of $x_0, x_1, \dots$ above.

    Attributes:
        gamma: the discount factor.
        representation: of atoms.
        state_comparison: of two state measures.
        set_comparison: of two sets of atoms.
        optimisation: of parameters.
        targets: `"exact"`, or `"sampled"` by geometric offsets, which needs drawn atoms.
        num_bootstrap_steps: `n`.
        batch_size: windows per update.
        num_target_atoms: target atoms per update, a random choice; 0 takes all.
        known_source: whether atoms have the source state as a point, or must learn it.
    """

    gamma: Real = eqx.field(static=True)
    representation: Representation = Particles()
    state_comparison: StateComparison = RandomFeatures()
    set_comparison: SetComparison = Energy(repulsion=1 / 3)
    optimisation: Optimisation = AveragedAdam()
    targets: str = eqx.field(static=True, default="exact")
    num_bootstrap_steps: Count = eqx.field(static=True, default=40)
    batch_size: Count = eqx.field(static=True, default=64)
    num_target_atoms: Count = eqx.field(static=True, default=8)
    known_source: bool = eqx.field(static=True, default=True)

    def __check_init__(self) -> None:
        _checks.discount(self.gamma)
        _checks.one_of("targets", self.targets, ("exact", "sampled"))
        if self.targets == "sampled" and not self.representation.drawn:
            raise ValueError('targets must be "exact" for atoms that are not drawn')
        if self.representation.weighted and not self.set_comparison.places:
            raise ValueError(
                "atoms that are trained alone are equally likely: "
                f"{type(self.set_comparison).__name__} cannot learn their weights"
            )
        _checks.count("num_bootstrap_steps", self.num_bootstrap_steps)
        _checks.count("batch_size", self.batch_size)
        _checks.count("num_target_atoms", self.num_target_atoms, at_least=0)
        if self.representation.weighted and self.num_target_atoms:
            raise ValueError(
                "num_target_atoms must be 0, which takes all, where the weights of atoms are "
                f"learned: a choice of {self.num_target_atoms} would not have the same masses"
            )

    def init(self, key: PRNGKeyArray, problem: Problem) -> DeltaState:
        """Fresh networks; the average starts as the network."""
        key_network, key_features = jax.random.split(key)
        network = self.representation.init(key_network, problem)
        features = self.state_comparison.init(key_features, problem.state_dim)
        optimiser, adversary = self.optimisation.transformation(), self.state_comparison.adversary()
        return DeltaState(
            network=network,
            average=network,
            optimiser=optimiser.init(eqx.filter(network, eqx.is_array)),
            features=features,
            features_optimiser=adversary.init(eqx.filter(features, eqx.is_array)),
            update=jnp.int32(0),
        )

    def step(
        self, key: PRNGKeyArray, state: DeltaState, windows: Windows
    ) -> tuple[DeltaState, Info]:
        """One ascent step of the features, if there are any, and one descent step of the atoms."""
        key_ascent, key_descent = jax.random.split(key)
        optimiser = self.optimisation.transformation()
        features, features_optimiser = state.features, state.features_optimiser
        if features is not None:
            ascent = eqx.filter_grad(lambda f: -self.loss(key_ascent, state, f, windows))(features)
            adversary = self.state_comparison.adversary()
            updates, features_optimiser = adversary.update(ascent, features_optimiser)
            features = eqx.apply_updates(features, updates)

        def descended(network: Any) -> Float[Array, ""]:
            changed = eqx.tree_at(lambda s: s.network, state, network)
            return self.loss(key_descent, changed, features, windows)

        loss, gradient = eqx.filter_value_and_grad(descended)(state.network)
        updates, optimiser_state = optimiser.update(gradient, state.optimiser)
        network = eqx.apply_updates(state.network, updates)
        average = self.optimisation.moved(state.average, network, state.update)
        following = DeltaState(
            network, average, optimiser_state, features, features_optimiser, state.update + 1
        )
        return following, {"loss": loss, "gradient_norm": optax.tree.norm(gradient)}

    def loss(
        self, key: PRNGKeyArray, state: DeltaState, features: Any, windows: Windows
    ) -> Float[Array, ""]:
        """The mean discrepancy over a batch of windows, with fresh draws."""
        key_prepare, key_chosen, key_partners, key_windows = jax.random.split(key, 4)
        prepared = self.state_comparison.prepare(features, key_prepare, windows.states.shape[-1])
        chosen = None
        num_atoms = self.representation.num_atoms
        if 0 < self.num_target_atoms < num_atoms and not self.set_comparison.all_targets:
            order = jax.random.permutation(key_chosen, num_atoms)
            chosen = order[: self.num_target_atoms]
        keys = jax.random.split(key_windows, len(windows.length))
        both = jax.vmap(self._source_and_target, (0, None, 0, None))(keys, state, windows, chosen)

        def discrepancy(pair: tuple[StateMeasures, Target]) -> Float[Array, ""]:
            source, target = pair
            compared = self.state_comparison.compare(
                prepared,
                source,
                target,
                drawn=self.representation.drawn,
                unbiased=self.set_comparison.unbiased,
            )
            masses = Masses(source.atom_weights, target.bootstrap.atom_weights)
            found = [self.set_comparison(one, masses, key_partners) for one in compared]
            return jnp.stack(found).sum()

        num_points = both[0].points.shape[1] * both[0].points.shape[2]
        together = self.state_comparison.windows_together(num_points, self.batch_size)
        return jnp.mean(jax.lax.map(discrepancy, both, batch_size=together))

    def model(self, state: DeltaState, problem: Problem) -> "DeltaModel":
        """The atoms, in the units of the user."""
        return DeltaModel(
            network=self.optimisation.answering(state.average, state.network),
            representation=self.representation,
            normalisation=problem.normalisation,
            recurring=problem.recurring,
            gamma=self.gamma,
            state_dim=problem.state_dim,
            known_source=self.known_source,
            placed=self.set_comparison.places,
        )

    def _source_and_target(
        self,
        key: PRNGKeyArray,
        state: DeltaState,
        window: Windows,
        chosen: Int[Array, "c"] | None,
    ) -> tuple[StateMeasures, Target]:
        """The atoms at $x_0$ and their target, for one window."""
        key_source, key_bootstrap, key_offset = jax.random.split(key, 3)
        source = self.representation.measures(state.network, window.states[0], key_source)
        last = window.states[window.length]
        bootstrap = self.representation.measures(state.average, last, key_bootstrap, chosen)
        states = following(window.states) if self.known_source else window.states
        ends = (states, window.length, window.terminated)
        if self.targets == "sampled":
            offsets = draw_offsets(key_offset, bootstrap.points.shape[:-1], self.gamma)
            target = drawn_target(sampled_target(*ends, offsets, bootstrap.points))
        else:
            target = exact_target(*ends, bootstrap, self.gamma)
        return source, jax.lax.stop_gradient(target)


def fast_learner(gamma: Real, num_atoms: Count = 51) -> DeltaLearner:
    """The defaults; fewer than 16 atoms with learned weights, up to 8 with a smaller network.

    Returns of fewer than 16 are answered as they are: not evened out, which wants equal weights.
    So they may have weights, with which few atoms stand for a law more closely, and no repulsion,
    which would take them from where they then serve best.

    Up to 8 can be arranged in several ways that are equally good nearby and not elsewhere. They
    learn faster with a smaller network of more points, and get more features and a rate that falls
    later, to find an arrangement for all states. The three kernels would each arrange them
    otherwise, so there is one.
    """
    if _checks.count("num_atoms", num_atoms) >= FEWEST_ATOMS:
        return DeltaLearner(gamma=gamma, representation=Particles(num_atoms=num_atoms))
    learner = DeltaLearner(
        gamma=gamma,
        representation=WeightedParticles(num_atoms=num_atoms),
        set_comparison=Energy(),
        num_target_atoms=0,
    )
    if num_atoms > _FEW_ATOMS:
        return learner
    return dataclasses.replace(
        learner,
        representation=WeightedParticles(
            num_atoms=num_atoms, num_points=32, width=128, num_frequencies=64
        ),
        state_comparison=RandomFeatures(num_features=32, linear=0, quadratic=0),
        optimisation=AveragedAdam(decay_updates=1500),
    )


def paper_learner(gamma: Real, num_atoms: Count = 51) -> DeltaLearner:
    """Algorithm 1 with the paper's table of hyperparameters."""
    return DeltaLearner(
        gamma=gamma,
        representation=Generators(num_atoms=num_atoms),
        state_comparison=Gram(),
        set_comparison=InverseMultiquadric(),
        optimisation=PlainAdam(),
        targets="sampled",
        num_bootstrap_steps=5,
        batch_size=32,
        num_target_atoms=0,
        known_source=False,
    )


def gamma_ensemble_learner(gamma: Real, num_atoms: Count = 51) -> DeltaLearner:
    """The paper's γ-model ensemble: its generators, each trained alone."""
    return dataclasses.replace(paper_learner(gamma, num_atoms), set_comparison=Matched())


class DeltaModel(Model):
    """Learned atoms in the units of the user."""

    network: Any
    representation: Representation
    normalisation: Normalisation
    recurring: Recurring
    gamma: float = eqx.field(static=True)
    state_dim: int = eqx.field(static=True)
    known_source: bool = eqx.field(static=True)
    placed: bool = eqx.field(static=True)

    def atoms(self, source_state: Float[Array, "d"], key: PRNGKeyArray) -> StateMeasures:
        """Points `[m, k, d]`, or one more if the source state is known to be one of them.

        Drawn afresh for each key where atoms are generators.
        """
        normalised = self.normalisation.apply(source_state)
        learned = self.representation.answer(self.network, normalised, key)
        points = self.normalisation.invert(learned.points)
        points = self.recurring.restore(points, self.normalisation.scale)
        measures = StateMeasures(points, learned.point_weights, learned.atom_weights)
        return measures.after(source_state, self.gamma) if self.known_source else measures

    def neighbours(self, measures: StateMeasures) -> Int[Array, "*batch m n"] | None:
        """Those of equal atoms trained together, if they are not too few to be evened out."""
        even = self.placed and not self.representation.weighted
        if not even or measures.num_atoms < FEWEST_ATOMS:
            return None
        return nearest_atoms(self.normalisation.apply(measures.points), measures.point_weights)
