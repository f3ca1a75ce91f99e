"""A hash that tells data sets apart."""

import hashlib

import numpy as np

from daleth.data import Trajectories

_MAX_ROWS_BYTES = 1 << 26  # states beyond 64 MiB are hashed in part: a tenth of a second


def fingerprint(data: Trajectories) -> str:
    """A hash of shapes, offsets, ends and states, in hexadecimal.

    Small data are hashed whole. Of the states of large data only rows at equal distances are
    looked at, so that memory maps open quickly: a hash against mistakes, not against malice.
    Actions and rewards do not enter, since no learner sees them.

    Example:
        >>> walk = Trajectories.from_arrays([[0.0], [1.0], [2.0]])
        >>> fingerprint(walk)
        '...'
        >>> fingerprint(walk) == fingerprint(Trajectories.from_arrays([[0.0], [1.0], [3.0]]))
        False
    """
    digest = hashlib.blake2b(digest_size=16)
    stride = -(-data.states.nbytes // _MAX_ROWS_BYTES)
    for array in (data.offsets, data.ends, data.states[::stride]):
        digest.update(f"{array.dtype.str} {array.shape}".encode())
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()
