r"""The characteristic function of the return, on a grid of frequencies.

With $c_x$ in the middle of the possible returns from $x$, and $R$ the largest range of returns,
$\psi_x(w) = E\, e^{i w (G_x - c_x)}$ obeys

$$ \psi_x(w) = e^{i w (r(x) - c_x)}
   \sum_{x'} P(x' \mid x)\, e^{i \gamma w c_{x'}} \psi_{x'}(\gamma w) $$

so a value at $w$ follows from values at $\gamma w$. These lie between the points of the grid, where
$\psi$ is interpolated: $|G_x - c_x| \le R/2$ makes $\psi$ band-limited, so on a grid twice as fine
as the sampling theorem asks for, a windowed sinc of 40 points is exact to rounding. One pass from
low to high frequencies does what would otherwise need $\log(wR) / \log(1/\gamma)$ steps for every
frequency by itself. The pass starts from the Taylor series at 0, on a grid so fine that it can
start there, and coarsens the grid by 2 whenever it has gone far enough.
"""

import math
from typing import NamedTuple

import numpy as np
from jaxtyping import Complex128

from daleth.tabular.chain import MarkovChain
from daleth.tabular.moments import central_moments

_HALF_WIDTH = 20  # points of the interpolation on either side
_TAYLOR_ORDER = 18  # 1/19! is below rounding where |w| R/2 <= 1
_BLOCK_SIZE = 1 << 15  # numbers gathered at once: bounds memory, and too few for BLAS to thread

INTERPOLATION_ERROR = 1e-13
"""Largest error of the interpolation of any band-limited characteristic function."""


class CharacteristicFunction(NamedTuple):
    r"""$\psi_x(k \Delta)$ for $k = 0, \dots, K$.

    Attributes:
        values: `[K + 1, n]`.
        error: a bound for the error of each value.
    """

    values: Complex128[np.ndarray, "K_plus_1 n"]
    error: float


def characteristic_function(
    chain: MarkovChain,
    reward: np.ndarray,
    centres: np.ndarray,
    spread: float,
    num_frequencies: int,
) -> CharacteristicFunction:
    r"""Values at the frequencies $k \pi / R$ for $k$ up to `num_frequencies`.

    Args:
        chain: a chain with $\gamma > 0$.
        reward: `[n]`.
        centres: the middles $c_x$ of the possible returns, `[n]`.
        spread: the largest range $R$ of possible returns, positive.
        num_frequencies: `K`.
    """
    final_spacing = math.pi / spread
    # Interpolation at γk needs points up to γk + q: from k = q/(1-γ) on these are known, and from
    # twice that on many k can be done at once.
    first = math.ceil(2 * _HALF_WIDTH / (1 - chain.gamma))
    num_coarsenings = math.ceil(math.log2(final_spacing * first * spread / 2))
    spacing = final_spacing / 2**num_coarsenings
    values = _taylor(chain, reward, centres, spread, spacing * np.arange(first + 1))
    for _ in range(num_coarsenings):
        values = _extend(chain, reward, centres, spacing, values, 2 * first)[::2]
        spacing *= 2
    values = _extend(chain, reward, centres, spacing, values, num_frequencies)
    largest_phase = final_spacing * num_frequencies * _largest_shift(reward, centres)
    error = _error(chain.gamma, num_frequencies, largest_phase)
    return CharacteristicFunction(values[: num_frequencies + 1], error)


def interpolation_weights(fraction: np.ndarray) -> np.ndarray:
    """Weights `[b, 40]` of the grid points around points at `fraction` `[b]` after the 20th.

    A sinc under the window exp(β (sqrt(1 - (t/q)²) - 1)) with β = πq/2, which falls off within
    the band that two-fold oversampling leaves empty.
    """
    offsets = np.arange(1 - _HALF_WIDTH, _HALF_WIDTH + 1)
    distance = fraction[:, None] - offsets
    height = np.sqrt(np.maximum(0, 1 - (distance / _HALF_WIDTH) ** 2))
    return np.sinc(distance) * np.exp(math.pi / 2 * _HALF_WIDTH * (height - 1))


def _taylor(chain, reward, centres, spread, frequencies) -> np.ndarray:
    # In units of R/2 every moment is at most 1.
    scale = 2 / spread
    moments = central_moments(chain, reward * scale, centres * scale, _TAYLOR_ORDER)
    orders = range(_TAYLOR_ORDER + 1)
    scaled = 1j * frequencies / scale
    powers = np.stack([scaled**j / math.factorial(j) for j in orders], axis=1)
    return powers @ moments


def _extend(chain, reward, centres, spacing, values, last) -> np.ndarray:
    """Appends the values at `spacing * k` up to `k = last`."""
    gamma, q = chain.gamma, _HALF_WIDTH
    known = len(values)
    if known > last:
        return values
    # Row q + k holds frequency k; those below 0 are the conjugates of those above.
    table = np.empty((q + last + 1, chain.num_states), dtype=complex)
    table[:q] = values[q:0:-1].conj()
    table[q : q + known] = values
    block = max(1, _BLOCK_SIZE // (2 * q * chain.num_states))
    while known <= last:
        stop = min(last + 1, int((known - q) / gamma), known + block)
        k = np.arange(known, stop)
        below = np.floor(gamma * k).astype(int)
        weights = interpolation_weights(gamma * k - below)
        # Real and imaginary parts side by side: a product of real numbers is twice as fast.
        neighbours = table.view(float)[below[:, None] + np.arange(1, 2 * q + 1)]
        future = (weights[:, None, :] @ neighbours)[:, 0].view(complex)
        frequency = spacing * k[:, None]
        future *= np.exp(1j * gamma * frequency * centres)
        table[q + known : q + stop] = np.exp(1j * frequency * (reward - centres)) * (
            future @ chain.P.T
        )
        known = stop
    return table[q:]


def _largest_shift(reward, centres) -> float:
    return float(np.abs(reward - centres).max() + np.abs(centres).max())


def _error(gamma: float, num_frequencies: int, largest_phase: float) -> float:
    """Errors of interpolation and of rounded phases add up on the way from frequency K to 0."""
    num_steps = 1 + math.log(math.pi * num_frequencies / 2) / math.log(1 / gamma)
    rounding = 2 * np.finfo(float).eps * largest_phase / (1 - gamma)
    return num_steps * INTERPOLATION_ERROR + rounding
