"""Annotations are executed in tests: jaxtyping shapes, checked by beartype."""

import jax
import matplotlib as mpl
import pytest
from jaxtyping import install_import_hook

mpl.use("Agg")
install_import_hook("daleth", "beartype.beartype")


@pytest.fixture
def key():
    return jax.random.key(0)
