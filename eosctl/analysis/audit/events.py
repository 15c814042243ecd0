"""The fold over a topic whose connector has a grammar: parts of events, and deletions with their tombstones.

1. Aborted records never get here. Those of a tail may still be aborted: they close events, and open none.
2. An event's parts may lie in several partitions, as its keys differ; they are put together by the start of the event.
   Parts of one partition come in the order in which they were written.
3. A deletion and its tombstone have the same key, so they lie in one partition, with nothing of their producer between.
4. A batch that holds none of the grammar's words counts by its header alone, unless a deletion waits for its tombstone.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from typing import Final, NamedTuple

from eosctl.analysis.audit.batches import Header
from eosctl.analysis.audit.database_transactions import DatabaseTransactionScan
from eosctl.analysis.grammars.grammar import Grammar, Readers, RecordWithHeaders, Unreadable
from eosctl.model.events import (
    KEPT_OPEN,
    Deletion,
    EventItem,
    EventPart,
    EventRole,
    EventSummary,
    EventWriter,
    FirstRecord,
    FollowedDeletion,
    OpenEvent,
    TopicEvents,
)
from eosctl.model.names import TopicPartition

MOST_FOLLOWED: Final = 1_000
"""The most deletions without tombstones to keep in a topic without tombstones: beyond this number their absence is
intended."""


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

    def __init__(self, grammar: Grammar, readers: Readers, connectors: tuple[str, ...]) -> None:
        self._grammar, self._readers = grammar, readers
        self._writers: dict[int, _Writer] = {}
        self.items: list[EventItem] = []
        self.transactions = DatabaseTransactionScan(connectors)

    def needs_records(self, header: Header) -> bool:
        """True if the records of the batch are needed although they hold none of the grammar's words."""
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
        is_deletion = self._grammar.is_deletion(record, self._readers)
        if writer.first is None or writer.unfinished is not None:
            tombstone_of = _digest(record.key) if record.value is None else None
            deletion_of = _digest(record.key) if is_deletion else None
            this = FirstRecord(record.offset, header.producer_epoch, tombstone_of, deletion_of)
            if writer.first is None:
                writer.first = this
            elif writer.unfinished is not None:
                _finish(writer, writer.unfinished, this)
        if self._grammar.counted is not None and (counted := self._grammar.counted(record)) is not None:
            self.transactions.add(counted, record, header)
        if is_deletion:
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


def _finish(writer: _Writer, deletion: Deletion, following: FirstRecord) -> None:
    """The record after a deletion decides on it; a repeated deletion is decided by the record after the repetition."""
    writer.unfinished = None
    if following.deletion_of == deletion.key:
        return
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


# Finds incomplete events of a connector from the parts in all partitions.
#
# 1. An event's key is left in one partition, and the other one written in the same or in another. A closing record
#    belongs to the latest event of its name that is not younger; where clocks went back, to any that is left.
# 2. The same event written again from its beginning by another session counts once, if nothing brought its key back
#    between both. Which session wrote the rest of an event does not matter.
# 3. A transformation may send both halves to different topics: an unmatched part in one topic is matched with parts in
#    the others.
# 4. Events of a tail open nothing: their transactions may still be aborted. A closing record may be in a tail, because
#    the last stable offsets of partitions are not read at the same moment. It may be aborted, too, so the event is
#    kept.
# 5. A later run needs unfinished events, and closing records whose events are in a tail.


Items = Mapping[TopicPartition, Sequence[EventItem]]
Name = tuple[str, str]


class EventConclusion(NamedTuple):
    """The summary, and the items that a later run goes on with."""

    summary: EventSummary
    left: Mapping[TopicPartition, tuple[EventItem, ...]]


class _Placed(NamedTuple):
    timestamp: int
    place: TopicPartition
    item: EventItem


_NONE: Final = TopicEvents("", 0, 0, 0)


def judge_events(settled: Items, tails: Items, before: EventSummary) -> EventConclusion:
    """Puts the parts of one bucket together; `before` counts what earlier runs found whole."""
    opened: dict[Name, list[_Placed]] = {}
    for place, items in settled.items():
        for item in _events(items):
            opened.setdefault(_name(item), []).append(_Placed(item.timestamp, place, item))
    closed, closed_later = _closings(settled), _closings(tails)
    whole = Counter({each.topic: each.whole for each in before.topics})
    open_: list[_Placed] = []
    undecided: list[_Placed] = []
    spare: list[_Placed] = []
    for name in sorted(opened.keys() | closed.keys()):
        matched, mine, theirs = _matched(opened.get(name, []), closed.get(name, []))
        whole.update(matched)
        spare += theirs
        _, still, _ = _matched(mine, closed_later.get(name, []))
        open_ += still
        undecided += [each for each in mine if each not in still]
    in_tails = {_name(each) for items in tails.values() for each in items if _opens(each)}
    open_ = _earliest(open_)
    kept = [*open_, *undecided, *(each for each in spare if _name(each.item) in in_tails)]
    return EventConclusion(
        EventSummary(tuple(_topics(whole, open_, spare)), tuple(map(_open, open_))), _left(kept, settled)
    )


def _closings(places: Items) -> dict[Name, list[_Placed]]:
    found: dict[Name, list[_Placed]] = {}
    for place, items in places.items():
        for item in items:
            if item.role is EventRole.CLOSES:
                found.setdefault(_name(item), []).append(_Placed(item.timestamp, place, item))
    return found


def _left(kept: Iterable[_Placed], settled: Items) -> dict[TopicPartition, tuple[EventItem, ...]]:
    """The items to keep, with the last time that each key of an event came back."""
    left: dict[TopicPartition, list[EventItem]] = {}
    for each in kept:
        left.setdefault(each.place, []).append(each.item)
    found: dict[TopicPartition, tuple[EventItem, ...]] = {}
    for place, items in left.items():
        starts = {each.start for each in items if _opens(each)}
        returns = (each for each in settled[place] if each.role is EventRole.RETURNS and each.start in starts)
        last = {each.start: each for each in returns}.values()
        found[place] = tuple(sorted((*items, *last), key=lambda item: (item.offset, item.role)))
    return found


def _name(item: EventItem) -> Name:
    return item.start, item.goal


def _opens(item: EventItem) -> bool:
    return item.role in {EventRole.OPENS, EventRole.CONTINUES}


class _Begun(NamedTuple):
    """The last event of its name, and how often its key had come back, or gone elsewhere, before."""

    item: EventItem
    turn: int


def _events(items: Sequence[EventItem]) -> Iterator[EventItem]:
    """One item for each event that begins in the partition, with the last of its records there (rule 2)."""
    begun: dict[Name, _Begun] = {}
    turns: Counter[str] = Counter()
    goals: dict[str, str] = {}
    for item in items:
        if item.role is EventRole.RETURNS:
            turns[item.start] += 1
        if not _opens(item):
            continue
        if goals.setdefault(item.start, item.goal) != item.goal:
            turns[item.start] += 1
            goals[item.start] = item.goal
        name = _name(item)
        known = begun.get(name)
        if known is not None and known.turn == turns[item.start] and _goes_on(known.item, item):
            begun[name] = known._replace(item=known.item._replace(last=item.last))
            continue
        if known is not None:
            yield known.item
        begun[name] = _Begun(item, turns[item.start])
    yield from (each.item for each in begun.values())


def _goes_on(event: EventItem, item: EventItem) -> bool:
    """Whether the record is its event's next one, or the event is written again by another session."""
    if item.role is EventRole.CONTINUES and event.role is EventRole.OPENS and event.offset == event.last:
        return True
    return (event.producer_id, event.producer_epoch) != (item.producer_id, item.producer_epoch)


def _matched(opened: Sequence[_Placed], closed: Sequence[_Placed]) -> tuple[Counter[str], list[_Placed], list[_Placed]]:
    """The number of complete events by topic, the incomplete ones, and the unused closing records (rules 1 and 3)."""
    whole: Counter[str] = Counter()
    mine, theirs = sorted(opened), sorted(closed)
    for same_topic in (True, False):
        for in_time in (True, False):
            mine, theirs = _pair(mine, theirs, whole, same_topic=same_topic, in_time=in_time)
    return whole, mine, theirs


def _pair(
    opened: list[_Placed], closed: list[_Placed], whole: Counter[str], *, same_topic: bool, in_time: bool
) -> tuple[list[_Placed], list[_Placed]]:
    left: list[_Placed] = []
    waiting = list(opened)
    for end in closed if waiting else ():
        fits = (
            number
            for number in range(len(waiting) - 1, -1, -1)
            if (not in_time or waiting[number].timestamp <= end.timestamp)
            and (not same_topic or waiting[number].place.topic == end.place.topic)
        )
        number = next(fits, None)
        if number is None:
            left.append(end)
        else:
            whole[waiting.pop(number).place.topic] += 1
    return waiting, left if opened else list(closed)


def _earliest(events: Iterable[_Placed]) -> list[_Placed]:
    """The earliest KEPT_OPEN of each topic."""
    kept: Counter[str] = Counter()
    found: list[_Placed] = []
    for each in sorted(events):
        kept[each.place.topic] += 1
        if kept[each.place.topic] <= KEPT_OPEN:
            found.append(each)
    return found


def _topics(whole: Counter[str], open_: Iterable[_Placed], spare: Iterable[_Placed]) -> Iterator[TopicEvents]:
    opened = Counter(each.place.topic for each in open_)
    unopened = Counter(each.place.topic for each in spare)
    for topic in sorted(whole.keys() | opened.keys() | unopened.keys()):
        yield TopicEvents(topic, whole[topic], opened[topic], unopened[topic])


def _open(each: _Placed) -> OpenEvent:
    item = each.item
    return OpenEvent(each.place.topic, each.place.partition, *item[1:])


def add_events(summaries: Iterable[EventSummary]) -> EventSummary:
    """The summaries of all buckets together."""
    topics: dict[str, TopicEvents] = {}
    events: list[OpenEvent] = []
    for summary in summaries:
        for each in summary.topics:
            known = topics.get(each.topic, _NONE)
            topics[each.topic] = TopicEvents(
                each.topic, known.whole + each.whole, known.open + each.open, known.unopened + each.unopened
            )
        events += summary.events
    return EventSummary(tuple(topics[name] for name in sorted(topics)), tuple(sorted(events)))
