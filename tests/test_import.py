"""What importing daleth may bring in, and what it may cost."""

import subprocess
import sys

import pytest

import daleth

OPTIONAL = {
    "gymnasium",
    "matplotlib",
    "minari",
    "orbax",
    "ot",
    "ray",
    "sbx",
    "seaborn",
    "starlette",
}
OPTIONAL |= {"stable_baselines3", "tensorboard", "torch", "uvicorn", "wandb"}
HEAVY = {"equinox", "jax", "numpy", "optax", "rich", "scipy", "tyro"}

CORE = "import daleth; [getattr(daleth, name) for name in daleth.__all__]"


def run(code: str) -> str:
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    return result.stdout


def loaded_by(code: str) -> set[str]:
    return set(
        run(f"{code}; import sys; print(*{{m.partition('.')[0] for m in sys.modules}})").split()
    )


def test_importing_daleth_loads_nothing_heavy():
    assert not loaded_by("import daleth") & (OPTIONAL | HEAVY)


def test_public_names_load_nothing_optional():
    loaded = loaded_by(CORE)
    assert "jax" in loaded
    assert not loaded & OPTIONAL
    assert "scipy.stats" not in run(f"{CORE}; import sys; print(*sys.modules)").split()


def test_import_costs_at_most_half_a_second_more_than_jax():
    """The smallest of three differences, each measured inside one process: machines are noisy."""
    code = (
        "import time; a = time.perf_counter(); import jax; b = time.perf_counter(); "
        "import daleth; print(time.perf_counter() - b)"
    )
    assert min(float(run(code)) for _ in range(3)) <= 0.5


def test_public_names_cost_at_most_twice_the_import_of_jax():
    """A ratio within one process, because the machine may be busy."""
    code = (
        "import time; a = time.perf_counter(); import jax; b = time.perf_counter(); "
        f"{CORE}; print((time.perf_counter() - b) / (b - a))"
    )
    assert min(float(run(code)) for _ in range(2)) <= 2


def test_rooms_load_on_first_use():
    assert daleth.tabular.MarkovChain is daleth.MarkovChain
    assert daleth.evaluation.score is daleth.score


def test_names_are_sorted_and_exist():
    assert sorted(daleth.__all__) == daleth.__all__
    assert dir(daleth) == sorted(daleth.__all__)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        daleth.nothing  # noqa: B018
