import numpy as np
import pytest


@pytest.fixture(scope="session")
def assert_same():
    """Checks that two data sets hold the same episodes."""

    def check(first, second):
        for name in ("states", "offsets", "ends", "actions", "rewards"):
            one, other = getattr(first, name), getattr(second, name)
            assert (one is None) == (other is None), name
            if one is not None:
                np.testing.assert_array_equal(one, other, err_msg=name)
                assert one.dtype == other.dtype, name

    return check
