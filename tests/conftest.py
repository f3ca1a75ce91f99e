"""Annotations are executed in tests: jaxtyping shapes, checked by beartype."""

import os

# Tests run side by side, one process a core: threads of one would only take time from another.
# Most of their time is compilation of code that runs once: optimising it does not pay.
_FLAGS = (
    "--xla_cpu_multi_thread_eigen=false",
    "--xla_backend_optimization_level=0",
    "--xla_llvm_disable_expensive_passes=true",
)
os.environ.setdefault("XLA_FLAGS", " ".join(_FLAGS))

import jax
import matplotlib as mpl
import pytest
from jaxtyping import install_import_hook

mpl.use("Agg")
install_import_hook("daleth", "beartype.beartype")


@pytest.fixture
def key():
    return jax.random.key(0)
