"""Ctrl-C and SIGTERM, put off to a moment that suits."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager


class Interruption:
    """Which signal came first, if one came."""

    name: str | None = None

    def __bool__(self) -> bool:
        return self.name is not None


@contextmanager
def put_off() -> Iterator[Interruption]:
    """Notes the first Ctrl-C or SIGTERM instead of acting on it; a second one acts at once.

    On leaving, all handlers are what they were. Signals that are ignored stay ignored. Only the
    main thread may set handlers: in another thread nothing is changed and nothing is noted.
    """
    noted = Interruption()
    previous = {}
    if threading.current_thread() is threading.main_thread():
        handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
        # None stands for a handler from outside Python, which we could not put back.
        previous = {
            number: handler
            for number, handler in handlers.items()
            if handler not in (None, signal.SIG_IGN)
        }

    def put_back() -> None:
        for number, handler in previous.items():
            signal.signal(number, handler)

    def note(number: int, _frame: object) -> None:
        noted.name = "Ctrl-C" if number == signal.SIGINT else signal.Signals(number).name
        put_back()

    for number in previous:
        signal.signal(number, note)
    try:
        yield noted
    finally:
        put_back()
