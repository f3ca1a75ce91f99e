"""Progress bars on long work: shown on a terminal, silent elsewhere."""

from collections.abc import Iterable, Iterator
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
