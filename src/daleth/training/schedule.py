"""When a run stops, and how many updates fit into the next chunk."""

from collections.abc import Sequence

from daleth import _checks

_CHUNK_SECONDS = 1.0  # long enough to cost nothing, short enough for a bar, a log and Ctrl-C
_MAX_GROWTH = 8
_MAX_UPDATES = 2**31 - 1
DEFAULT_UPDATES = 10_000


class Schedule:
    """A budget of updates or of time, cut into chunks.

    Args:
        updates: how many updates the run has; 10,000 if no time is given either.
        minutes: or how long it lasts.
        chunk_updates: the length of a chunk; by default what takes about a second.
        stops: chunks also end at the multiples of these numbers.
    """

    def __init__(
        self,
        updates: object,
        minutes: object,
        chunk_updates: object = None,
        stops: Sequence[int] = (),
    ):
        if updates is not None and minutes is not None:
            raise ValueError("fit takes updates= or minutes=, got both")
        self._updates, self._seconds = _MAX_UPDATES, float("inf")
        if minutes is None:
            updates = DEFAULT_UPDATES if updates is None else updates
            self._updates = _checks.count("updates", updates, at_least=0)
            if self._updates > _MAX_UPDATES:
                raise ValueError(f"updates must be below 2^31, got {updates}")
        else:
            self._seconds = 60 * _checks.positive("minutes", minutes)
        self._fixed = chunk_updates is not None
        self._length = _checks.count("chunk_updates", chunk_updates) if self._fixed else 1
        self._rate = 0.0
        self._stops = tuple(stops)

    def check_start(self, update: int) -> None:
        """Raises if a resumed run is already beyond its end."""
        if update > self._updates:
            raise ValueError(
                f"the run has done {update} updates already: updates={self._updates} counts them "
                "all, from the start of the run"
            )

    def finished(self, update: int, seconds: float) -> bool:
        """Whether the budget is used up."""
        return update >= self._updates or seconds >= self._seconds

    def next_stop(self, update: int, seconds: float) -> int:
        """Where the chunk ends that starts after `update` updates and `seconds` seconds."""
        length = self._length
        if self._rate and not self._fixed:
            length = int(max(1, min(length, (self._seconds - seconds) * self._rate)))
        multiples = ((update // stop + 1) * stop for stop in self._stops)
        return min(self._updates, update + length, *multiples)

    def record(self, count: int, seconds: float) -> None:
        """Learns from a chunk of `count` updates that took `seconds`."""
        self._rate = count / max(seconds, 1e-9)
        if not self._fixed:
            wanted = int(self._rate * _CHUNK_SECONDS)
            self._length = max(1, min(wanted, _MAX_GROWTH * self._length))

    def position(self, update: int, seconds: float) -> tuple[float, float]:
        """How far the run is, and where it ends, in updates or seconds."""
        if self._seconds < float("inf"):
            return min(seconds, self._seconds), self._seconds
        return float(update), float(self._updates)
