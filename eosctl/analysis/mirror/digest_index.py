"""Where a digest lies among the records of a side that are kept; extended as records come, made again as they go."""

from eosctl.analysis.mirror.blocks import Buffer


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
