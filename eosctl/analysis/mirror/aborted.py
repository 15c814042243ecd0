"""Records of aborted and undecided source transactions: what a mirror that reads uncommitted copies as well."""

from collections import deque
from collections.abc import Iterator

from eosctl.analysis.mirror.blocks import Block, Buffer


class AbortedRecords:
    """Those of the source that were passed last, `most` at most, by digest."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._places: dict[int, deque[tuple[int, int]]] = {}
        self._taken: dict[int, tuple[int, int]] = {}
        self._order: deque[int] = deque()

    def committed(self, blocks: Iterator[Block]) -> Iterator[Block]:
        """The committed records of a source; the others are kept here."""
        for block in blocks:
            if block.optional:
                self._keep(block)
            else:
                yield block

    def _keep(self, block: Block) -> None:
        for offset, digest in zip(block.offsets, block.digests, strict=True):
            self._places.setdefault(digest, deque()).append((offset, block.timestamp))
            self._order.append(digest)
        while len(self._order) > self._most:
            oldest = self._order.popleft()
            self._taken.pop(oldest, None)
            places = self._places.get(oldest)
            if places:
                places.popleft()
            if not places:
                self._places.pop(oldest, None)

    def run(self, target: Buffer, *, again: bool) -> int:
        """How many records from the target's cursor on may be some of these; with `again` those taken before, too."""
        length = 0
        while target.at + length < target.end and self._holds(target.digest(target.at + length), again=again):
            length += 1
        return length

    def _holds(self, digest: int, *, again: bool) -> bool:
        return bool(self._places.get(digest)) or (again and digest in self._taken)

    def take(self, digest: int) -> tuple[int, int] | None:
        """Source offset and time (ms) of the oldest one with this digest that was not taken yet, or of the last taken.

        A mirror that reads uncommitted and goes back copies records of aborted transactions again, too.
        """
        places = self._places.get(digest)
        if places:
            self._taken[digest] = places.popleft()
        return self._taken.get(digest)
