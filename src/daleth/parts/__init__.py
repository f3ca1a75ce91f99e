"""The three parts of a δ-model, and how it is trained; any combination is a valid δ-model.

- a *representation* of an atom: noise-fed generators, or weighted particles, of atoms that are
  equally likely or not;
- a comparison of two *state measures*: the Gram matrix of a state kernel, fixed or adversarial, or
  the mean embedding in random features;
- a comparison of two *sets* of atoms: an inverse multiquadric with the median bandwidth, or the
  energy distance; or each atom with its own target alone, which makes a γ-model ensemble.
"""

from daleth.parts.optimisation import AveragedAdam, Optimisation, PlainAdam
from daleth.parts.part import Part
from daleth.parts.representation import (
    Generators,
    ParticleRepresentation,
    Particles,
    Representation,
    WeightedParticles,
)
from daleth.parts.set_comparison import Energy, InverseMultiquadric, Matched, SetComparison
from daleth.parts.state_comparison import Gram, RandomFeatures, StateComparison

PARTS: dict[str, type[Part]] = {
    part.__name__: part
    for part in (
        AveragedAdam,
        Energy,
        Generators,
        Gram,
        InverseMultiquadric,
        Matched,
        Particles,
        PlainAdam,
        RandomFeatures,
        WeightedParticles,
    )
}
"""The parts that a file may name."""

__all__ = [
    "PARTS",
    "AveragedAdam",
    "Energy",
    "Generators",
    "Gram",
    "InverseMultiquadric",
    "Matched",
    "Optimisation",
    "Part",
    "ParticleRepresentation",
    "Particles",
    "PlainAdam",
    "RandomFeatures",
    "Representation",
    "SetComparison",
    "StateComparison",
    "WeightedParticles",
]
