"""How many requests were sent."""

from threading import Lock


class RequestCount:
    """Counts the requests to one kind of peer, from any thread."""

    def __init__(self) -> None:
        self._lock, self.total = Lock(), 0

    def add(self) -> None:
        """One more was sent."""
        with self._lock:
            self.total += 1
