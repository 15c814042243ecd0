"""Records of aborted and undecided source transactions: what a mirror that reads uncommitted copies as well."""

from collections import deque
from collections.abc import Iterable, Iterator

from eosctl.analysis.mirror.blocks import Block, Buffer, Runs
from eosctl.model.mirror import Stretch


class AbortedRecords:
    """Those of the source that were passed last, `most` at most, by digest.

    taken are offsets of those among them that the target was seen to hold by an earlier run.
    """

    def __init__(self, most: int, taken: Iterable[int] = ()) -> None:
        self._most = most
        self._places: dict[int, deque[tuple[int, int]]] = {}
        self._taken: dict[int, tuple[int, int]] = {}
        self._order: deque[tuple[int, int]] = deque()
        self.taken_offsets = set(taken)
        self._passed = -1

    def committed(self, blocks: Iterator[Block]) -> Iterator[Block]:
        """The committed records of a source; the others are kept here."""
        for block in blocks:
            if block.optional:
                self._keep(block)
            else:
                yield block

    def _keep(self, block: Block) -> None:
        for offset, digest, time in zip(block.offsets, block.digests, block.times, strict=True):
            if offset <= self._passed:
                continue
            self._passed = offset
            self._order.append((offset, digest))
            if offset in self.taken_offsets:
                self._taken[digest] = (offset, time)
            else:
                self._places.setdefault(digest, deque()).append((offset, time))
        while len(self._order) > self._most:
            self._forget(*self._order.popleft())

    def _forget(self, offset: int, digest: int) -> None:
        self.taken_offsets.discard(offset)
        if self._taken.get(digest, (-1, 0))[0] == offset:
            del self._taken[digest]
        places = self._places.get(digest)
        if places and places[0][0] == offset:
            places.popleft()
        if not places:
            self._places.pop(digest, None)

    def run(self, target: Buffer, *, again: bool) -> int:
        """How many records from the target's cursor on may be some of these; with `again` those taken before, too."""
        length = 0
        while target.at + length < target.end and self._holds(target.digest(target.at + length), again=again):
            length += 1
            target.load(length + 1)
        return length

    def _holds(self, digest: int, *, again: bool) -> bool:
        return bool(self._places.get(digest)) or (again and digest in self._taken)

    def pass_run(self, target: Buffer, run: int, found: Runs) -> None:
        """Pass so many records of the target, or as many as are some of these, and add them to `found`."""
        while run and (taken := self._take(target.digest(target.at))):
            run -= 1
            there = target.offset(target.at)
            stretch = Stretch(taken[0], taken[0] + 1, there, there + 1, 1, taken[1])
            found.add((0, target.at), (0, target.at + 1), stretch)
            target.at += 1

    def _take(self, digest: int) -> tuple[int, int] | None:
        """Source offset and time (ms) of the oldest one with this digest that was not taken yet, or of the last taken.

        A mirror that reads uncommitted and goes back copies records of aborted transactions again, too.
        """
        places = self._places.get(digest)
        if places:
            self._taken[digest] = places.popleft()
            self.taken_offsets.add(self._taken[digest][0])
        return self._taken.get(digest)
