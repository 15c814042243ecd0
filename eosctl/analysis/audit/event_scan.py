"""The fold over a topic whose connector has a grammar: parts of events, and deletions with their tombstones.

1. Aborted records never get here. Those of a tail may still be aborted: they close events, and open none.
2. An event's parts may lie in several partitions, as its keys differ; they are put together by the start of the event.
   Parts of one partition come in the order in which they were written.
3. A deletion and its tombstone have the same key, so they lie in one partition, with nothing of their producer between.
4. A batch that holds none of the grammar's words counts by its header alone, unless a deletion waits for its tombstone.
"""

from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b
from typing import Final

from eosctl.analysis.audit.batches import Header
from eosctl.analysis.grammars.grammar import Grammar, Readers, RecordWithHeaders, Unreadable
from eosctl.model.events import (
    Deletion,
    EventItem,
    EventPart,
    EventRole,
    EventWriter,
    FirstRecord,
    FollowedDeletion,
)

MOST_FOLLOWED: Final = 1_000
"""Deletions without tombstones that are kept where no deletion has one: from then on there are none by intention."""


class _Writer:
    """A producer ID while its range is read."""

    __slots__ = ("bare", "first", "followed", "last_epoch", "last_offset", "last_timestamp", "tombstones", "unfinished",
                 "unreadable")  # fmt: skip

    def __init__(self) -> None:
        self.first: FirstRecord | None = None
        self.unfinished: Deletion | None = None
        self.last_offset = self.last_epoch = self.last_timestamp = -1
        self.tombstones = self.bare = self.unreadable = 0
        self.followed: list[FollowedDeletion] = []


class EventScan:
    """Give it every batch of committed records in offset order, then ask for `items` and `writers`."""

    def __init__(self, grammar: Grammar, readers: Readers) -> None:
        self._grammar, self._readers = grammar, readers
        self._writers: dict[int, _Writer] = {}
        self.items: list[EventItem] = []

    def needs_records(self, header: Header) -> bool:
        """Whether the records of the batch are needed even if none of the grammar's words is in them."""
        writer = self._writers.get(header.producer_id)
        return writer is None or writer.unfinished is not None

    def add_batch(self, header: Header, records: Iterable[RecordWithHeaders] | None) -> None:
        """Take in a batch; records None: it holds none of the grammar's words."""
        writer = self._writers.setdefault(header.producer_id, _Writer())
        for record in () if records is None else records:
            self._add(record, header, writer)
        if writer.first is not None:
            writer.last_offset, writer.last_epoch = header.last_offset, header.producer_epoch
            writer.last_timestamp = max(writer.last_timestamp, header.max_timestamp)

    def _add(self, record: RecordWithHeaders, header: Header, writer: _Writer) -> None:
        if writer.first is None or writer.unfinished is not None:
            this = FirstRecord(record.offset, header.producer_epoch, None if record.value else _tombstone_of(record))
            if writer.first is None:
                writer.first = this
            elif writer.unfinished is not None:
                _finish(writer, writer.unfinished, this)
        if self._grammar.is_deletion(record, self._readers):
            writer.unfinished = Deletion(record.offset, record.timestamp, header.producer_epoch, _digest(record.key))
        if record.headers:
            try:
                part = self._grammar.part(record, self._readers)
            except Unreadable:
                writer.unreadable += 1
                return
            if part is not None:
                self._take(part, record, header)

    def _take(self, part: EventPart, record: RecordWithHeaders, header: Header) -> None:
        place = (record.offset, record.offset, record.timestamp, header.producer_id, header.producer_epoch)
        self.items.append(EventItem(*part, *place))
        if part.role is EventRole.CLOSES:
            self.items.append(EventItem(EventRole.RETURNS, part.goal, part.start, *place))

    def writers(self) -> Iterator[EventWriter]:
        for producer_id, each in sorted(self._writers.items()):
            if each.first is not None:
                yield EventWriter(
                    producer_id,
                    each.first,
                    each.last_offset,
                    each.last_epoch,
                    each.last_timestamp,
                    each.unfinished,
                    each.tombstones,
                    each.bare,
                    tuple(each.followed),
                    each.unreadable,
                )


def _digest(key: bytes | None) -> bytes:
    return blake2b(key or b"", digest_size=8).digest()


def _tombstone_of(record: RecordWithHeaders) -> bytes | None:
    return _digest(record.key) if record.value is None else None


def _finish(writer: _Writer, deletion: Deletion, following: FirstRecord) -> None:
    """What follows a deletion decides on it."""
    writer.unfinished = None
    if following.tombstone_of == deletion.key:
        writer.tombstones += 1
    elif following.producer_epoch == deletion.producer_epoch:
        writer.bare += 1
    else:
        writer.followed.append(
            FollowedDeletion(
                deletion.offset,
                deletion.timestamp,
                deletion.producer_epoch,
                following.offset,
                following.producer_epoch,
            )
        )
        writer.bare, writer.followed = _bounded(writer.tombstones, writer.bare, writer.followed)


def _bounded(tombstones: int, bare: int, followed: Sequence[FollowedDeletion]) -> tuple[int, list[FollowedDeletion]]:
    if len(followed) > MOST_FOLLOWED and not tombstones:
        return bare + len(followed), []
    return bare, list(followed[: 10 * MOST_FOLLOWED])


def merge_writers(left: EventWriter, right: EventWriter) -> EventWriter:
    """The state of both ranges together; `right` is the later one."""
    both = _Writer()
    both.tombstones = left.tombstones + right.tombstones
    both.bare = left.bare_deletions + right.bare_deletions
    both.followed = list(left.followed)
    if left.unfinished is not None:
        _finish(both, left.unfinished, right.first)
    both.followed += right.followed
    bare, followed = _bounded(both.tombstones, both.bare, both.followed)
    return EventWriter(
        left.producer_id,
        left.first,
        right.last_offset,
        right.last_epoch,
        max(left.last_timestamp, right.last_timestamp),
        right.unfinished,
        both.tombstones,
        bare,
        tuple(followed),
        left.unreadable + right.unreadable,
    )


def join_writers(left: Iterable[EventWriter], right: Iterable[EventWriter]) -> tuple[EventWriter, ...]:
    """The producers of two neighbouring ranges, each once."""
    known = {each.producer_id: each for each in left}
    for each in right:
        before = known.get(each.producer_id)
        known[each.producer_id] = each if before is None else merge_writers(before, each)
    return tuple(known[producer_id] for producer_id in sorted(known))
