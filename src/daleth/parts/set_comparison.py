"""How two sets of atoms are compared, once all distances between their atoms are known."""

import abc
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from daleth import _checks
from daleth._typing import Count, Real
from daleth.discrepancy import Masses, mean_over_pairs
from daleth.distances import Distances, two_level_mmd
from daleth.parts.part import Part

_SOFTENING = 1e-8


class SetComparison(Part):
    """A discrepancy between the atoms of one source state and those of its target."""

    unbiased: ClassVar[bool]
    """Whether squared distances should be unbiased where points are draws."""
    all_targets: ClassVar[bool]
    """Whether every target atom is needed, or a random choice of them tells the same."""
    places: ClassVar[bool] = True
    """Whether atoms are placed together, and their set is the law, or each is trained alone."""

    @abc.abstractmethod
    def __call__(self, distances: Distances, masses: Masses, key: PRNGKeyArray) -> Float[Array, ""]:
        """The discrepancy; 0 between a set and itself. The key is for what is left to chance."""


class InverseMultiquadric(SetComparison):
    """The squared MMD under an inverse multiquadric with the median bandwidth (Algorithm 1)."""

    unbiased: ClassVar[bool] = True
    all_targets: ClassVar[bool] = False

    def __call__(self, distances: Distances, masses: Masses, key: PRNGKeyArray) -> Float[Array, ""]:
        """See `daleth.distances.two_level_mmd`."""
        del key
        return two_level_mmd(distances, masses)[0]


class Energy(SetComparison):
    r"""The energy distance between sets of mean embeddings.

    $$ 2 \sum_{ij} p_i q_j \lVert \mu_i - \bar\mu_j \rVert - \sum_{ij} p_i p_j \lVert \mu_i
       - \mu_j \rVert - \sum_{ij} q_i q_j \lVert \bar\mu_i - \bar\mu_j \rVert $$

    Weights are $1/m$ and $1/t$ where atoms are equally likely. There is no bandwidth and nothing to
    clip. It is the squared Cramér distance of returns, up to a factor, averaged over random rewards
    in the span of the features: the very metric by which return distributions are scored. Its
    gradient has the same mean if the atoms $\mu_j$ of the second sum are a random choice of all,
    and if equally likely targets are: the cost is linear in `m`. These partners are held fixed, and
    the gradient of the others is doubled instead. Were they moved too, those that happen to be
    partners would be pushed apart far more than the rest.

    A few atoms lie closer together than the law that they are placed to stand for, and the average
    of parameters draws them closer still. With a `repulsion` of $r$ the second sum is multiplied by
    $m / (m - r)$. On a line, that moves the best equal atoms from the quantiles at the levels
    $(i - 1/2)/m$ to those at

    $$ \frac12 + \frac{i - (m + 1)/2}{m - r}. $$

    With 1 the sum would be unbiased for atoms that are draws, but atoms that are placed would fly
    apart: the last level would be that of the largest return. Equal sets then are no longer at 0.
    Weights that are learned would be drawn together by it.

    Attributes:
        num_partners: how many atoms an atom is compared with in the second sum, at most.
        repulsion: between 0, the energy distance itself, and 1, which is out.
    """

    num_partners: Count = eqx.field(static=True, default=64)
    repulsion: Real = eqx.field(static=True, default=0.0)
    unbiased: ClassVar[bool] = False
    all_targets: ClassVar[bool] = False

    def __check_init__(self) -> None:
        _checks.count("num_partners", self.num_partners)
        if not 0 <= _checks.number("repulsion", self.repulsion) < 1:
            raise ValueError(f"repulsion must lie in [0, 1), got {self.repulsion:g}")

    def __call__(self, distances: Distances, masses: Masses, key: PRNGKeyArray) -> Float[Array, ""]:
        """A V-statistic over atoms, but for the repulsion."""
        num_atoms = len(masses.own)
        partners = slice(None)
        if num_atoms > self.num_partners:
            partners = jax.random.permutation(key, num_atoms)[: self.num_partners]
        held = jax.lax.stop_gradient(masses.own[partners])
        held *= num_atoms / len(held)
        one_sided = mean_over_pairs(_lengths(distances.within_to(partners)), masses.own, held)
        one_sided *= num_atoms / (num_atoms - self.repulsion)
        within = 2 * one_sided - jax.lax.stop_gradient(one_sided)
        across = mean_over_pairs(_lengths(distances.across()), masses.own, masses.other)
        target = _lengths(distances.within_target())
        return 2 * across - within - mean_over_pairs(target, masses.other, masses.other)


class Matched(SetComparison):
    r"""The sum of squared MMDs of each atom to its own target, which makes a γ-model ensemble.

    Each member learns the successor measure; what differs between members is what the data leave
    open, not what chance does in the environment (appendix D.1 of the paper).
    """

    unbiased: ClassVar[bool] = True
    all_targets: ClassVar[bool] = True
    places: ClassVar[bool] = False

    def __call__(self, distances: Distances, masses: Masses, key: PRNGKeyArray) -> Float[Array, ""]:
        """Atoms do not meet other atoms, and have no weights beside them."""
        del masses, key
        return jnp.sum(distances.matched())


def _lengths(squared: Array) -> Array:
    # The same softening everywhere: it cancels between equal sets, and gradients stay finite.
    return jnp.sqrt(jnp.maximum(squared, 0) + _SOFTENING)
