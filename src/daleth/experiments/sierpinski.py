"""A fractal: the distributional successor measure of the uniform three-state chain with γ = 1/2.

Paper, appendix C.1: 10,000 samples per state. The law is neither discrete nor continuous.
"""

import dataclasses
from pathlib import Path

import jax
import numpy as np

from daleth import plots
from daleth._optional import require
from daleth.experiments._output import Claim, save
from daleth.tabular import sample_occupancies, sierpinski_chain


@dataclasses.dataclass(frozen=True)
class Config:
    """Every knob of this figure."""

    out: Path = Path("figures")
    num_trajectories: int = 10_000
    depth: int = 16
    seed: int = 0


def run(config: Config) -> tuple[Claim, list[Path]]:
    """Draws the figure and checks that every sample lies on the triangle."""
    chain = sierpinski_chain()
    keys = jax.random.split(jax.random.key(config.seed), 3)
    draws = [
        sample_occupancies(chain, x, config.num_trajectories, keys[x], 1e-15) for x in range(3)
    ]
    means = chain.successor_measure()

    figure, axes = require("matplotlib.pyplot", "plots").subplots(
        1, 3, figsize=(11, 3.7), layout="constrained"
    )
    for x, ax in enumerate(axes):
        plots.simplex_frame(ax, ("$x_1$", "$x_2$", "$x_3$"))
        points = plots.on_simplex(draws[x].occupancies)
        ax.plot(*points.T, ".", color=plots.BLUE, ms=1.4, mew=0, rasterized=True)
        ax.plot(*plots.on_simplex(means[x]), "o", color=plots.RED, ms=7, mec="white", zorder=4)
        ax.set_title(rf"from $x_{x + 1}$", fontsize=12)

    share = float(np.mean([on_triangle(d.occupancies, config.depth).mean() for d in draws]))
    claim = Claim(
        "every distribution is supported on a copy of the Sierpiński triangle",
        share == 1.0,
        f"{share:.1%} of {3 * config.num_trajectories:,} samples lie on it to depth {config.depth}",
    )
    data = {"successor_measure": means.tolist(), "share_on_triangle": share, "depth": config.depth}
    return claim, save(config.out, "sierpinski", figure, data, claim)


def on_triangle(occupancies: np.ndarray, depth: int) -> np.ndarray:
    r"""Which occupancies `[N, 3]` lie on the Sierpiński triangle, to `depth` subdivisions.

    $M = \sum_t 2^{-(t+1)} e_{X_t}$ gives the binary digit $t$ to exactly one coordinate, and the
    triangle is the set of all such points.
    """
    digits = np.floor(occupancies * 2**depth).astype(np.int64)
    return (digits[:, 0] ^ digits[:, 1] ^ digits[:, 2]) == (2**depth - 1)
