"""One-step transition kernels: how they are learned, and their rollouts as a model."""

import abc
from collections.abc import Callable
from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, Int, Key, PRNGKeyArray, PyTree

from daleth import _checks
from daleth._typing import Count, Real
from daleth.data import Normalisation, Problem, Windows
from daleth.measures import StateMeasures
from daleth.models.base import Model
from daleth.models.learner import Info, Learner
from daleth.parts import AveragedAdam, Optimisation
from daleth.targets import horizon, rollout_weights

_TRAJECTORIES_AT_ONCE = 2**14  # with layers of 256 numbers: 16 MiB each


class TransitionKernel(eqx.Module):
    r"""A sampler of $P^\pi(\cdot \mid x)$ in normalised units.

    Actions are no input: the data hold the next states that the policy's own actions led to. If
    actions are part of the state, the kernel draws the next action with the next state.
    """

    @abc.abstractmethod
    def sample(self, key: PRNGKeyArray, state: Float[Array, "d"]) -> Float[Array, "d"]:
        """Draws the next state."""


class StateRange(eqx.Module):
    """The smallest box that holds the states seen so far, in normalised units.

    It starts as the mean of the data, the one state that is known beforehand.
    """

    low: Float[Array, "d"]
    high: Float[Array, "d"]

    @classmethod
    def at_mean(cls, state_dim: int) -> "StateRange":
        """The box that holds the mean of the data only."""
        return cls(jnp.zeros(state_dim), jnp.zeros(state_dim))

    def widen(self, states: Float[Array, "*b d"]) -> "StateRange":
        """The box that holds these states too."""
        flat = states.reshape(-1, states.shape[-1])
        return StateRange(
            jnp.minimum(self.low, flat.min(axis=0)), jnp.maximum(self.high, flat.max(axis=0))
        )

    def clip(self, state: Float[Array, "d"]) -> Float[Array, "d"]:
        """The nearest state in the box."""
        return jnp.clip(state, self.low, self.high)


class RolloutModel(Model):
    r"""Realised occupancies of `num_atoms` rollouts of a learned transition kernel.

    Each atom is $\sum_{k<T} (1-\gamma) \gamma^k \delta_{x_k} + \gamma^T \delta_{x_T}$. The state
    $x_0$ is the source itself, bit for bit; the kernel draws the others, and $T$ is such that
    $\gamma^T \le$ `tolerance`. This is the `Rollout` baseline of section 6 of the paper.

    Errors of the kernel add up along a rollout; what they cannot do is run away, because drawn
    states stay in the box of the states seen in training. There is no switch for terminations:
    the kernel has learned that a terminal state leads to itself, so a rollout is absorbed as well
    as the kernel learned to stand still.
    """

    kernel: TransitionKernel
    state_range: StateRange
    normalisation: Normalisation
    gamma: float = eqx.field(static=True)
    num_atoms: int = eqx.field(static=True)
    num_steps: int = eqx.field(static=True)
    state_dim: int = eqx.field(static=True)

    def atoms(self, source_state: Float[Array, "d"], key: PRNGKeyArray) -> StateMeasures:
        """Points `[num_atoms, T + 1, d]`."""
        keys = jax.random.split(key, self.num_atoms)
        states = _in_chunks(partial(self._rollout, source_state), keys, _TRAJECTORIES_AT_ONCE)
        return StateMeasures(states, rollout_weights(self.num_steps, self.gamma))

    @eqx.filter_jit
    def batch_atoms(
        self, source_states: Float[Array, "b d"], keys: Key[Array, "b"]
    ) -> StateMeasures:
        """As for every model, a bounded number of trajectories at a time."""
        rows = max(1, _TRAJECTORIES_AT_ONCE // self.num_atoms)
        return _in_chunks(lambda pair: self.atoms(*pair), (source_states, keys), rows)

    def _rollout(
        self, source_state: Float[Array, "d"], key: PRNGKeyArray
    ) -> Float[Array, "t_plus_1 d"]:
        def advance(state, key_step):
            following = self.state_range.clip(self.kernel.sample(key_step, state))
            return following, following

        start = self.normalisation.apply(source_state)
        _, drawn = jax.lax.scan(advance, start, jax.random.split(key, self.num_steps))
        return jnp.concatenate([source_state[None], self.normalisation.invert(drawn)])


class TransitionState(eqx.Module):
    """The kernel, its moving average, the box of the states seen, the state of the optimiser."""

    kernel: TransitionKernel
    average: TransitionKernel
    state_range: StateRange
    optimiser: optax.OptState
    update: Int[Array, ""]


class TransitionLearner(Learner):
    """Learns a kernel from single transitions; a subclass says which kernel and which loss.

    Only the first transition of a window is used. The window of a terminal state repeats it, so
    the kernel learns $x' = x$ there; the last state of a truncated episode starts no window, so
    nothing false is learned from where the data were cut.

    Attributes:
        gamma: the discount factor of the rollouts; learning the kernel does not depend on it.
        width: the number of units in a hidden layer.
        depth: the number of hidden layers.
        optimisation: of parameters.
        max_gradient_norm: longer gradients are shortened to this norm.
        batch_size: the number of transitions in a step.
        num_bootstrap_steps: always 1; a window is one transition.
        num_atoms: the number of rollouts in an answer of the model.
        tolerance: the mass that a rollout may leave beyond its horizon.
    """

    gamma: Real = eqx.field(static=True, converter=_checks.discount)
    width: Count = eqx.field(static=True, default=256)
    depth: Count = eqx.field(static=True, default=2)
    optimisation: Optimisation = AveragedAdam(decay_updates=4000)
    max_gradient_norm: Real = eqx.field(static=True, default=10.0)
    batch_size: Count = eqx.field(static=True, default=256)
    num_bootstrap_steps: Count = eqx.field(static=True, default=1)
    num_atoms: Count = eqx.field(static=True, default=51)
    tolerance: Real = eqx.field(static=True, default=1e-3)

    def __check_init__(self) -> None:
        for name in ("width", "batch_size", "num_atoms"):
            _checks.count(name, getattr(self, name))
        _checks.count("depth", self.depth, at_least=0)
        _checks.positive("max_gradient_norm", self.max_gradient_norm)
        horizon(self.gamma, self.tolerance)
        if _checks.count("num_bootstrap_steps", self.num_bootstrap_steps) != 1:
            raise ValueError(
                "num_bootstrap_steps must be 1 for a kernel of single transitions, "
                f"got {self.num_bootstrap_steps}"
            )

    @abc.abstractmethod
    def make_kernel(self, key: PRNGKeyArray, state_dim: int) -> TransitionKernel:
        """The kernel before the first step."""

    @abc.abstractmethod
    def loss(
        self,
        key: PRNGKeyArray,
        kernel: Any,
        state: Float[Array, "d"],
        following: Float[Array, "d"],
    ) -> Float[Array, ""]:
        """The loss on one transition."""

    def init(self, key: PRNGKeyArray, problem: Problem) -> TransitionState:
        """A random kernel."""
        kernel = self.make_kernel(key, problem.state_dim)
        box = StateRange.at_mean(problem.state_dim)
        optimiser = self._optimiser().init(eqx.filter(kernel, eqx.is_array))
        return TransitionState(kernel, kernel, box, optimiser, jnp.int32(0))

    def step(
        self, key: PRNGKeyArray, state: TransitionState, windows: Windows
    ) -> tuple[TransitionState, Info]:
        """One step of Adam on the mean loss of a batch."""

        def mean_loss(kernel):
            keys = jax.random.split(key, len(windows.length))
            losses = jax.vmap(self.loss, in_axes=(0, None, 0, 0))
            return losses(keys, kernel, windows.states[:, 0], windows.states[:, 1]).mean()

        loss, gradient = jax.value_and_grad(mean_loss)(state.kernel)
        updates, optimiser = self._optimiser().update(gradient, state.optimiser)
        kernel = eqx.apply_updates(state.kernel, updates)
        average = self.optimisation.moved(state.average, kernel, state.update)
        box = state.state_range.widen(windows.states)
        info = {"loss": loss, "gradient_norm": optax.tree.norm(gradient)}
        return TransitionState(kernel, average, box, optimiser, state.update + 1), info

    def model(self, state: TransitionState, problem: Problem) -> RolloutModel:
        """Rollouts of the kernel that answers, in the units of the user."""
        return RolloutModel(
            kernel=self.optimisation.answering(state.average, state.kernel),
            state_range=state.state_range,
            normalisation=problem.normalisation,
            gamma=self.gamma,
            num_atoms=self.num_atoms,
            num_steps=horizon(self.gamma, self.tolerance),
            state_dim=problem.state_dim,
        )

    def _optimiser(self) -> optax.GradientTransformation:
        return optax.chain(
            optax.clip_by_global_norm(self.max_gradient_norm), self.optimisation.transformation()
        )


def _in_chunks(function: Callable, rows: PyTree[Array], at_once: int) -> PyTree[Array]:
    """`vmap`, with at most so many rows at a time."""
    if len(jax.tree.leaves(rows)[0]) <= at_once:
        return jax.vmap(function)(rows)
    return jax.lax.map(function, rows, batch_size=at_once)
