"""Progress bars on long work: shown on a terminal, silent elsewhere."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TypeVar

T = TypeVar("T")


def track(items: Iterable[T], description: str, total: int | None = None) -> Iterator[T]:
    """Yields the items and shows how far it is, with the time left, if there is a terminal."""
    from rich.console import Console
    from rich.progress import track as rich_track

    console = Console(stderr=True)
    yield from rich_track(
        items, description, total=total, console=console, disable=not console.is_terminal
    )


@contextmanager
def progress_bar(
    description: str, total: float, completed: float = 0.0
) -> Iterator[Callable[[float, str], None]]:
    """A bar that is moved by hand, `move(completed, note)`, if there is a terminal.

    Args:
        description: what is going on.
        total: where the bar is full.
        completed: where it starts; the time left is judged by what is added.
    """
    from rich import progress
    from rich.console import Console

    console = Console(stderr=True)
    columns = (
        progress.TextColumn("{task.description}"),
        progress.BarColumn(),
        progress.TaskProgressColumn(),
        progress.TextColumn("{task.fields[note]}"),
        progress.TimeElapsedColumn(),
        progress.TextColumn("left"),
        progress.TimeRemainingColumn(),
    )
    shown = progress.Progress(*columns, console=console, disable=not console.is_terminal)
    with shown:
        start = int(completed)
        task = shown.add_task(description, total=total, completed=start, note="compiling")
        yield lambda completed, note: shown.update(task, completed=completed, note=note)
