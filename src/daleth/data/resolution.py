"""How fine the structure is that data can show: where many frames lie close together."""

import numpy as np
from jaxtyping import Float
from scipy.spatial.distance import cdist

from daleth.data.normalise import Normalisation

_MANY_FRAMES = 10_000
_LARGEST_SHARE = 0.25
_PROBES = 128
_CANDIDATES = 1 << 16


def resolution(states: Float[np.ndarray, "n d"], normalisation: Normalisation) -> float:
    """The distance within which a typical frame has 10,000 others, in normalised units.

    Or a quarter of the data, if there are fewer than 40,000 frames. The median over 128 frames,
    each with 65,536 others, drawn in the same way whenever the data are the same. What varies over
    shorter distances can be learned by heart, but not be told from chance.

    Example:
        >>> line = np.linspace(0, 1, 50_000, dtype=np.float32)[:, None]  # a fifth: 0.1 either side
        >>> print(round(resolution(line, Normalisation.of(line)) * line.std(), 2))
        0.1
    """
    rng = np.random.default_rng(0)
    drawn = states[rng.integers(len(states), size=_PROBES + min(_CANDIDATES, len(states)))]
    drawn = (drawn - np.asarray(normalisation.mean)) / np.asarray(normalisation.scale)
    distances = cdist(drawn[:_PROBES], drawn[_PROBES:])
    share = min(_LARGEST_SHARE, _MANY_FRAMES / len(states))
    return float(np.median(np.quantile(distances, share, axis=1)))
