"""What a number of atoms can do for all rewards at once, if they are fitted to the truth itself.

    .venv/bin/python benchmarks/fitted_atoms.py

The floor of the other benchmarks is for one reward: its best quantiles. The atoms of a model serve
every reward together, and in many directions so few points lie less well than in one. Here m points
are fitted at each source state of the random bank to true returns of all its 64 rewards together,
by the energy distance and without any network: what learned atoms could reach, about, as they are.
A δ-model evens out their returns, and can be below.
"""

import argparse
from typing import Any

import jax
import jax.numpy as jnp
from _record import merge
from jaxtyping import Array, Float
from problems import NUM_BANK_ROLLOUTS, PROBLEMS, Setting

from daleth import ReturnDistribution
from daleth.evaluation import true_returns

NUM_STEPS = 400


def fit_points(samples: Float[Array, "n R"], num_points: int) -> Float[Array, "m R"]:
    """Points that are nearest to a sample in energy distance, by gradient descent."""
    centred = samples - samples.mean(axis=0)
    size = jnp.sqrt(jnp.mean(jnp.sum(centred**2, axis=-1)))
    scaled = centred / size

    def energy(points: Array) -> Array:
        return 2 * mean_distance(points, scaled) - mean_distance(points, points)

    def descend(step: Array, points: Array) -> Array:
        rate = 0.3 * num_points / (1 + step / 50) ** 0.75
        return points - rate * jax.grad(energy)(points)

    points = jax.lax.fori_loop(0, NUM_STEPS, descend, scaled[:num_points])
    return points * size + samples.mean(axis=0)


def mean_distance(these: Array, those: Array) -> Array:
    squared = jnp.sum(these**2, -1)[:, None] + jnp.sum(those**2, -1) - 2 * these @ those.T
    return jnp.mean(jnp.sqrt(jnp.maximum(squared, 0) + 1e-8))


def run(setting: Setting, num_atoms: int) -> dict[str, Any]:
    """The error of fitted points on the random bank, beside the floor of single rewards."""
    questions = setting.random
    drawn = true_returns(
        setting.env,
        setting.policy,
        rewards=questions.rewards,
        source_states=questions.sources,
        gamma=setting.gamma,
        num_rollouts=NUM_BANK_ROLLOUTS,
        key=jax.random.key(4),
    )
    # The rewards see the same rollouts, so these are draws of all returns together.
    samples = jnp.stack([law.atoms for law in drawn.values()], axis=-1)
    points = jax.jit(jax.vmap(lambda one: fit_points(one, num_atoms)))(samples)
    answers = dict(zip(drawn, jnp.moveaxis(points, -1, 0), strict=True))
    ceiling = questions.ceiling()
    fitted = questions.mean_error(lambda name: ReturnDistribution(answers[name]))
    return {
        "problem": setting.name,
        "atoms": num_atoms,
        "floor of one reward": questions.floor(num_atoms) / ceiling,
        "fitted to all rewards": fitted / ceiling,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--problems", nargs="+", default=list(PROBLEMS), choices=PROBLEMS)
    parser.add_argument("--atoms", type=int, help="instead of those of the problem")
    options = parser.parse_args()
    for problem in options.problems:
        setting = PROBLEMS[problem]()
        row = run(setting, options.atoms or setting.num_atoms)
        print(row, flush=True)
        merge("fitted_atoms", [row], key=("problem", "atoms"))


if __name__ == "__main__":
    main()
