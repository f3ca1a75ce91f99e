"""Annotations are executed in tests: jaxtyping shapes, checked by beartype."""

import os

# Tests run side by side, one process a core: threads of one would only take time from another.
os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false")

import jax
import matplotlib as mpl
import pytest
from jaxtyping import install_import_hook

mpl.use("Agg")
install_import_hook("daleth", "beartype.beartype")


@pytest.fixture
def key():
    return jax.random.key(0)
