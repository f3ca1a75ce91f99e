"""Networks as frozen PyTrees of arrays: generators, particle networks, invertible features."""

from daleth.networks.generators import Generator, generate, make_generators
from daleth.networks.invertible import (
    InvertibleFeatures,
    NormalisedFeatures,
    normalise,
)
from daleth.networks.particles import ParticleNetwork, generate_particles, make_particle_network
from daleth.networks.plateaus import Plateaus

__all__ = [
    "Generator",
    "InvertibleFeatures",
    "NormalisedFeatures",
    "ParticleNetwork",
    "Plateaus",
    "generate",
    "generate_particles",
    "make_generators",
    "make_particle_network",
    "normalise",
]
