"""What every benchmark leaves behind: JSON with machine and versions, and a Markdown table."""

import fcntl
import json
import os
import platform
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any

from daleth._files import atomic_write

RESULTS = Path(__file__).parents[1] / "docs" / "benchmarks"
MARKS = (10, 30, 60, 120, 300, 600)  # seconds of training after which a model is scored
_PACKAGES = ("daleth", "jax", "jaxlib", "equinox", "numpy", "gymnasium")


def machine() -> dict[str, Any]:
    """The processor, its cores, and the versions of what was measured."""
    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text().splitlines() if cpuinfo.exists() else []
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return {
        "processor": models[0] if models else platform.processor(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        **{package: version(package) for package in _PACKAGES},
    }


def write(path: Path, text: str) -> None:
    """Whole or not at all: earlier results are hours of work."""
    with atomic_write(path) as file:
        file.write(text.encode())


def record(name: str, title: str, rows: list[dict[str, Any]], note: str) -> None:
    """Prints a table and writes it with its numbers to `docs/benchmarks/`."""
    about = machine()
    lines = [f"# {title}", "", note, "", *table(rows)]
    lines += ["", ", ".join(f"{key} {value}" for key, value in about.items()), ""]
    RESULTS.mkdir(parents=True, exist_ok=True)
    write(RESULTS / f"{name}.md", "\n".join(lines))
    content = {"machine": about, "note": note, "rows": rows}
    write(RESULTS / f"{name}.json", json.dumps(content, indent=1))
    print("\n".join(lines))


def merge(
    name: str, rows: list[dict[str, Any]], key: tuple[str, ...], note: str = ""
) -> list[dict[str, Any]]:
    """Puts rows into `docs/benchmarks/name.json` in the place of older ones of the same key."""
    path = RESULTS / f"{name}.json"
    RESULTS.mkdir(parents=True, exist_ok=True)
    with _alone_in(RESULTS):
        fresh = {tuple(row[column] for column in key) for row in rows}
        kept = [row for row in rows_of(name) if tuple(row[column] for column in key) not in fresh]
        merged = kept + rows
        write(path, json.dumps({"machine": machine(), "note": note, "rows": merged}, indent=1))
    return merged


@contextmanager
def _alone_in(folder: Path) -> Iterator[None]:
    """Other processes that ask for the same wait: two may have rows to merge at once."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def mark(seconds: float) -> int:
    """The mark that a snapshot was taken at; 0 before the first."""
    return max(one for one in (0, *MARKS) if one <= seconds)


def rows_of(name: str) -> list[dict[str, Any]]:
    """What a benchmark has left behind."""
    path = RESULTS / f"{name}.json"
    return json.loads(path.read_text())["rows"] if path.exists() else []


def note_of(name: str) -> str:
    """What `record` was told about the rows, or nothing."""
    path = RESULTS / f"{name}.json"
    return json.loads(path.read_text()).get("note", "") if path.exists() else ""


def table(rows: list[dict[str, Any]]) -> list[str]:
    """The lines of a Markdown table."""
    columns = list(rows[0])
    lines = ["| " + " | ".join(columns) + " |", "|" + "---|" * len(columns)]
    return lines + [
        "| " + " | ".join(_cell(row[column]) for column in columns) + " |" for row in rows
    ]


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
    return f"{value:,}" if isinstance(value, int) else str(value)
