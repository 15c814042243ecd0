"""Checkpoints while two sides are compared: which source record lies at a source offset, and which at a target offset.

A group that goes on in the target at an offset reads the records from there on. It must not be behind the first source
record that the group has not read: then records in between would be skipped. Before it, some are read again.
"""

from bisect import bisect_left
from collections.abc import Sequence

from eosctl.analysis.mirror.blocks import Buffer
from eosctl.model.mirror import Checkpoint, Translated


class Marks:
    """The places of source records at which checkpoints point, on both sides."""

    def __init__(self, checkpoints: Sequence[Checkpoint]) -> None:
        self._checkpoints = checkpoints
        self._in_source = sorted({each.upstream for each in checkpoints}, reverse=True)
        self._in_target = sorted({each.downstream for each in checkpoints if each.downstream >= 0}, reverse=True)
        self._source_places: dict[int, int] = {}
        self._target_places: dict[int, int] = {}

    def match(self, source: Buffer, target: Buffer, count: int) -> None:
        """So many records at both cursors are equal; they are about to be passed."""
        wanted = self._in_target
        last = target.offset(target.at + count - 1) if wanted else 0
        while wanted and wanted[-1] <= last:
            offset = wanted.pop()
            found = max(bisect_left(target.offsets, offset), target.at - target.base)
            self._target_places[offset] = source.at + found - (target.at - target.base)

    def pass_source(self, source: Buffer) -> None:
        """The source's cursor has moved on; what lies before it is still kept."""
        wanted = self._in_source
        while wanted and wanted[-1] <= source.offset(source.at):
            offset = wanted.pop()
            if source.base and (not source.offsets or offset < source.offsets[0]):
                continue  # it was leapt over, and nobody counted the records there
            self._source_places[offset] = source.base + bisect_left(source.offsets, offset)

    def end_target(self, place: int) -> None:
        """Nothing of the target is left: offsets behind its end point at the source record that comes next."""
        self._target_places.update(dict.fromkeys(self._in_target, place))

    def translated(self, end: int) -> tuple[Translated, ...]:
        """The checkpoints that both sides could be asked for; `end` is the place behind the source's last record."""
        self._source_places.update(dict.fromkeys(self._in_source, end))
        return tuple(
            Translated(each, self._source_places[each.upstream] - self._target_places[each.downstream])
            for each in self._checkpoints
            if each.upstream in self._source_places and each.downstream in self._target_places
        )
