"""Where a digest lies among the records of a side that are kept; extended as records come, made again as they go."""

from collections.abc import Container
from typing import Final

from eosctl.analysis.mirror.blocks import Buffer

MOST_CANDIDATES: Final = 32


class DigestIndex:
    """Places by digest. It is made at the first question, so that sides that are equal pay nothing for it."""

    def __init__(self, window: int) -> None:
        self._window = window
        self.clear()

    def clear(self) -> None:
        """Forget everything: another buffer is asked from now on."""
        self._places: dict[int, list[int]] = {}
        self._begin = self._end = 0

    def places(self, buffer: Buffer, digest: int) -> list[int]:
        """All places in the buffer with this digest, in order."""
        if self._begin < buffer.base - self._window or not self._places:
            self._places, self._begin, self._end = {}, buffer.base, buffer.base
        for place in range(max(self._end, buffer.base), buffer.end):
            self._places.setdefault(buffer.digest(place), []).append(place)
        self._end = buffer.end
        return [place for place in self._places.get(digest, ()) if place >= buffer.base]

    def candidates(self, source: Buffer, digest: int, missing: Container[int]) -> list[int]:
        """The nearest of them: ahead of the cursor, and behind it, first those that are missing.

        None is farther than the window: what is found does not depend on how much happens to be kept.
        """
        there = [place for place in self.places(source, digest) if -self._window <= place - source.at < self._window]
        ahead = [place for place in there if place >= source.at][:MOST_CANDIDATES]
        behind = [place for place in there if place < source.at]
        lacking = [place for place in behind if place in missing][:MOST_CANDIDATES]
        return [*ahead, *lacking, *behind[-MOST_CANDIDATES:]]
