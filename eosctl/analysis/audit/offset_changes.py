"""Effects of source offsets that were changed while their connector was stopped: repeated or missing records.

1. A change is a source offset, or a tombstone, that the connector's own producer commits without data in a session that
   began while the connector was stopped. The value that was there already changes nothing, and of several changes
   during one stop the last one counts. A task that was starting meanwhile may commit once more behind the stop: where
   the data of such a first commit may be gone (rule 3), an offset that goes on is no change.
2. Between two changes lies a pass: the connector went from the position of the change to that of its last write. A
   write covers what lies behind the position before it, up to its own. Without an offset a pass has it all ahead.
3. Records are repeated where a pass covers what passes before it had covered. They are counted twice: in the pass
   itself, and in the pass that had covered them before. Each count is exact where its ends are positions that were
   committed; otherwise a transaction reaches across an end, and belongs to it at most. Both counts bound the number.
   Where transactions of the passes before have no data, it may be gone, and they are no upper bound. Neither is a count
   with a transaction that is older than all records of one of the connector's topics: that may have been created again.
4. A pass that begins behind all that was covered leaves out what lies between, unless a later pass covers that. How
   many records these are Kafka does not show. Only positions that are offsets of a Kafka topic bound the number.
5. One transaction may have offsets of several source partitions, and its records show of which they are for none of
   them. It is repeated as a whole only if all of these are.
6. Debezium's sources have a memory of their own: a replication slot goes on from what was confirmed to it, whatever the
   offset says. So what passes before covered is only an upper bound.
7. Where positions cannot be compared, or are those of snapshots, nothing is known of the number. The same is true of
   what lies before the first write that is left.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import Enum
from itertools import groupby
from typing import Final, NamedTuple

from eosctl.analysis.audit.batches import Advance, Decode, compare_offsets
from eosctl.analysis.audit.findings import ProducerSession
from eosctl.analysis.audit.key_judgement import (
    HEARTBEATS,
    Data,
    KeyAnomalyKind,
    PlacedWrite,
    change_at,
    is_stopped,
    metadata_topic,
    written_at,
)
from eosctl.analysis.positions import debezium_reader
from eosctl.model.audit import (
    ConnectorHistory,
    KeyAnomaly,
    OffsetsChange,
    OffsetsWrite,
    OutputPart,
    RecordCount,
    total_records,
)
from eosctl.model.audit_states import KEPT_PLACES, ReadKey
from eosctl.model.names import ProducerIdAndEpoch

UNKNOWN: Final = RecordCount(0, None)
Position = bytes | None
"""The value of a source offset; None: the beginning."""


class KeyWrite(NamedTuple):
    """A write of a source offset of one connector, committed in a transaction."""

    raw: bytes | None
    key: ReadKey
    placed: PlacedWrite

    @property
    def position(self) -> Position:
        """The connector's position by this write."""
        return self.placed.write.value

    @property
    def at(self) -> OffsetsWrite | None:
        """The place of its commit."""
        return written_at(*self.placed)


class ChangeInputs(NamedTuple):
    """Inputs of the judgement of one connector's writes.

    altering are the `sessions_while_stopped`. data is the data in the transaction of a write (None: unknown). whole: no
    write is missing before the first one.
    """

    history: ConnectorHistory
    altering: Mapping[ProducerIdAndEpoch, bool]
    data: Callable[[OffsetsWrite | None], Data | None]
    decode: Decode
    whole: bool


class _Covered(Enum):
    """How much of the range of a write is repeated."""

    ALL = "all"
    PART = "part"
    NONE = "none"


class _Pass:
    """The writes from a position on, and the change that set it; None without a change."""

    def __init__(self, begin: Position, *, known: bool, change: KeyAnomaly | None = None) -> None:
        self.begin, self.known, self.change = begin, known, change
        self.writes: list[KeyWrite] = []

    @property
    def end(self) -> Position:
        return self.writes[-1].position if self.writes else self.begin

    def steps(self) -> Iterator[tuple[Position, KeyWrite]]:
        """Each write, with the position before it."""
        before = self.begin
        for write in self.writes:
            yield before, write
            before = write.position


class _Span(NamedTuple):
    """An interval without a hole; open: its beginning is unknown."""

    begin: Position
    end: Position
    open: bool


class _Stop:
    """Known changes during one stop, with the coverage of each write by both counts (rule 3).

    known: the number is known in part at least. before_known: the count by the previous passes is usable. obeyed: the
    source begins where the offset says (rule 6).
    """

    def __init__(self) -> None:
        self.places: list[KeyAnomaly] = []
        self.again: dict[OffsetsWrite, _Covered] = {}
        self.before: dict[OffsetsWrite, _Covered] = {}
        self.before_known = self.known = self.obeyed = True
        self.left_out: list[RecordCount] = []
        self.open = False


class _Order:
    """Positions of one key, in the order of their source."""

    def __init__(self, raw: bytes | None, decode: Decode) -> None:
        self._raw, self._decode = raw, decode
        self._decoded: dict[bytes, object] = {}

    def compare(self, before: Position, after: Position) -> Advance:
        if before == after:
            return Advance.SAME
        if before is None or after is None:
            return Advance.ADVANCED if before is None else Advance.BACK
        return compare_offsets(self._fields(before), self._fields(after), self._raw, self._decode)

    def _fields(self, value: bytes) -> object:
        if value not in self._decoded:
            try:
                self._decoded[value] = self._decode(value)
            except ValueError:
                self._decoded[value] = None
        return self._decoded[value]

    def is_up_to(self, one: Position, other: Position) -> bool:
        return self.compare(one, other) in {Advance.ADVANCED, Advance.SAME}

    def later(self, one: Position, other: Position) -> Position:
        return other if self.is_up_to(one, other) else one

    def is_debezium(self, position: Position) -> bool:
        fields = None if position is None else self._fields(position)
        return isinstance(fields, dict) and debezium_reader(fields) is not None

    def between(self, low: Position, high: Position) -> RecordCount:
        """The most records between two positions: known for offsets of a Kafka topic (rule 4)."""
        was, now = (None if each is None else self._fields(each) for each in (low, high))
        match was, now:
            case {"offset": int(first)}, {"offset": int(last)} if _is_kafka(self._raw):
                return RecordCount(0, last - first)
        return UNKNOWN


def _is_kafka(raw: bytes | None) -> bool:
    try:
        match json.loads(raw or b"null"):
            case [str(), {"topic": str(), "partition": int()}]:
                return True
    except ValueError:
        pass
    return False


def sessions_while_stopped(
    sessions: Iterable[ProducerSession], history: ConnectorHistory
) -> Mapping[ProducerIdAndEpoch, bool]:
    """The sessions that began while the connector was stopped, and whether a task may have begun each.

    A task that was starting may: it is then the first session of its producer since the connector last had tasks.
    """
    begun: dict[int, int] = {}
    found: dict[ProducerIdAndEpoch, bool] = {}
    for each in sorted(sessions, key=lambda session: session.timestamp):
        had_tasks = max(
            (time for time, _, kind, tasks in history.starts if kind == "commit" and tasks and time <= each.timestamp),
            default=None,
        )
        if is_stopped(history, each.timestamp):
            is_first = had_tasks is not None and begun.get(each.producer_id, -1) <= had_tasks
            found[ProducerIdAndEpoch(each.producer_id, each.producer_epoch)] = is_first
        begun[each.producer_id] = each.timestamp
    return found


def offset_changes(
    connector: str, writes: Mapping[bytes | None, Sequence[KeyWrite]], inputs: ChangeInputs
) -> tuple[OffsetsChange, ...]:
    """Effects of changed offsets of one connector, stop by stop; writes are each key's, in order."""
    carried = _carried(writes, inputs)
    whole_from = _whole_from(carried)
    stops: dict[int, _Stop] = {}
    for raw, mine in writes.items():
        _Key(raw, inputs, stops, whole_from).judge(mine)
    return tuple(_change(connector, stops[number], carried, inputs) for number in sorted(stops))


class _Key:
    """One key's passes, added to the stops that they began with."""

    def __init__(self, raw: bytes | None, inputs: ChangeInputs, stops: dict[int, _Stop], whole_from: int) -> None:
        self._inputs, self._stops, self._whole_from = inputs, stops, whole_from
        self._order = _Order(raw, inputs.decode)

    def judge(self, writes: Sequence[KeyWrite]) -> None:
        passes = self._passes(writes)
        spans: list[_Span] = []
        gaps: list[tuple[_Stop, Position, Position]] = []
        for number, each in enumerate(passes):
            stop = None if each.change is None else self._stop(each.change)
            if stop is not None and each.writes:
                gap = self._follow(stop, each, passes[:number], spans)
                gaps += [] if gap is None else [(stop, *gap)]
            if stop is not None and each is passes[-1]:
                stop.open |= not all(self._order.is_up_to(span.end, each.end) for span in spans)
                stop.open |= not each.writes
            if each.writes:
                self._merge(spans, _Span(each.begin, each.end, not each.known))
        for stop, low, high in gaps:
            if not any(self._holds(span, low, high) for span in spans):
                stop.left_out.append(self._order.between(low, high))

    def _passes(self, writes: Sequence[KeyWrite]) -> list[_Pass]:
        """Rules 1 and 2."""
        known = self._inputs.whole or not writes
        passes = [_Pass(None if known else writes[0].position, known=known)]
        last: KeyWrite | None = None
        for write in writes:
            if self._is_change(write, passes[-1].end):
                self._begin(passes, last, write)
            elif write.position is None:
                passes.append(_Pass(None, known=True))
            else:
                passes[-1].writes.append(write)
            last = write
        return passes

    def _is_change(self, write: KeyWrite, before: Position) -> bool:
        """Rule 1."""
        made = write.placed.write
        is_first = self._inputs.altering.get(ProducerIdAndEpoch(made.producer_id, made.producer_epoch))
        if is_first is None or write.at is None or self._inputs.data(write.at) != ():
            return False
        has_all_data = made.timestamp >= self._whole_from
        return has_all_data or not is_first or self._order.compare(before, write.position) is not Advance.ADVANCED

    def _begin(self, passes: list[_Pass], last: KeyWrite | None, write: KeyWrite) -> None:
        """Begins a pass at a change, in place of a pass without any effect."""
        reverted = passes[-1].change is not None and not passes[-1].writes
        if reverted:
            passes.pop()
            last = next((each.writes[-1] for each in reversed(passes) if each.writes), None)
        change = change_at(KeyAnomalyKind.ALTERED, write.key, (last or write).placed, write.placed)
        if last is None or write.position != passes[-1].end:
            passes.append(_Pass(write.position, known=True, change=change))
        elif reverted:
            self._stop(change)

    def _stop(self, change: KeyAnomaly) -> _Stop:
        commits = (time for time, _, kind, _ in self._inputs.history.starts if kind == "commit")
        stop = self._stops.setdefault(sum(time <= change.timestamp for time in commits), _Stop())
        stop.places.append(change)
        return stop

    def _follow(
        self, stop: _Stop, now: _Pass, before: Sequence[_Pass], spans: Sequence[_Span]
    ) -> tuple[Position, Position] | None:
        """Adds this pass's repeats to the stop, and returns the range that it leaves out."""
        if not self._inputs.whole and not spans:
            stop.known = False
        if not spans:
            return None
        if self._is_unclear(now, spans):
            stop.known = False
            return None
        stop.obeyed &= not self._order.is_debezium(now.writes[0].position)
        for was, write in now.steps():
            _note(stop.again, write, self._covered(was, write.position, spans))
        for span in spans:
            low, high = self._order.later(now.begin, span.begin), self._lower(now.end, span.end)
            if self._order.compare(low, high) is Advance.ADVANCED:
                self._count_before(stop, before, low, high)
            if span.open and self._order.compare(now.begin, span.begin) is Advance.ADVANCED:
                stop.before_known = False
        last = spans[0].end
        for span in spans[1:]:
            last = self._order.later(last, span.end)
        return (last, now.begin) if self._order.compare(last, now.begin) is Advance.ADVANCED else None

    def _is_unclear(self, now: _Pass, spans: Sequence[_Span]) -> bool:
        """Rule 7."""
        ends = [each for span in spans for each in (span.begin, span.end)]
        positions = [now.begin, now.writes[0].position, *ends]
        if any(each is not None and b'"snapshot' in each for each in positions):
            return True
        return any(self._order.compare(each, now.begin) is Advance.UNCLEAR for each in ends)

    def _covered(self, was: Position, now: Position, spans: Sequence[_Span]) -> _Covered:
        order = self._order
        if any(self._holds(span, was, now) for span in spans):
            stays = order.compare(was, now) is Advance.SAME
            at_an_end = stays and any(order.compare(now, span.end) is Advance.SAME for span in spans)
            return _Covered.PART if at_an_end else _Covered.ALL
        apart = (order.is_up_to(span.end, was) or (order.is_up_to(now, span.begin) and not span.open) for span in spans)
        return _Covered.NONE if all(apart) else _Covered.PART

    def _holds(self, span: _Span, low: Position, high: Position) -> bool:
        return self._order.is_up_to(span.begin, low) and self._order.is_up_to(high, span.end)

    def _lower(self, one: Position, other: Position) -> Position:
        return one if self._order.is_up_to(one, other) else other

    def _count_before(self, stop: _Stop, before: Sequence[_Pass], low: Position, high: Position) -> None:
        """The writes of the last pass that covered all of it."""
        whole = (
            each
            for each in reversed(before)
            if each.known and self._holds(_Span(each.begin, each.end, False), low, high)
        )
        covering = next(whole, None)
        if covering is None:
            stop.before_known = False
            return
        wanted = (_Span(low, high, False),)
        for was, write in covering.steps():
            _note(stop.before, write, self._covered(was, write.position, wanted))

    def _merge(self, spans: list[_Span], span: _Span) -> None:
        order = self._order
        for number, each in enumerate(spans):
            if order.is_up_to(each.begin, span.begin) and order.is_up_to(span.begin, each.end):
                spans[number] = each._replace(end=order.later(each.end, span.end))
                return
            if order.is_up_to(span.begin, each.begin) and order.is_up_to(each.begin, span.end):
                spans[number] = _Span(span.begin, order.later(each.end, span.end), span.open)
                return
        spans.append(span)


def _note(side: dict[OffsetsWrite, _Covered], write: KeyWrite, covered: _Covered) -> None:
    if write.at is not None:
        side[write.at] = covered


class _Carried(NamedTuple):
    """A transaction of the connector: the offsets that it committed, the records beside them, and when (ms)."""

    writes: tuple[OffsetsWrite, ...]
    data: Data
    at_ms: int


def _carried(writes: Mapping[bytes | None, Sequence[KeyWrite]], inputs: ChangeInputs) -> Sequence[_Carried]:
    """Transactions of all writes whose data is known, without records that are not from the source."""
    found: dict[tuple[int, Data, OffsetsWrite | None], list[tuple[int, OffsetsWrite]]] = {}
    besides = {topic for mine in writes.values() for each in mine[:1] if (topic := metadata_topic(each.key.text))}
    for each in (write for mine in writes.values() for write in mine):
        data = inputs.data(each.at)
        if each.at is not None and data is not None:
            kept = tuple(part for part in data if part.topic not in besides and not part.topic.startswith(HEARTBEATS))
            # Each write without data stands for a transaction; two of them may be of the same.
            which = (each.at.producer_id, kept, None if kept else each.at)
            found.setdefault(which, []).append((each.placed.write.timestamp, each.at))
    return [
        _Carried(tuple(write for _, write in mine), data, min(at_ms for at_ms, _ in mine))
        for (_, data, _), mine in found.items()
    ]


def _whole_from(carried: Sequence[_Carried]) -> int:
    """The time (ms) from which each topic of the connector has records; what is older may have lost some (rule 3)."""
    begun: dict[str, int] = {}
    for each in carried:
        for topic in _topics(each.data):
            begun[topic] = min(each.at_ms, begun.get(topic, each.at_ms))
    return max(begun.values(), default=0)


def _change(connector: str, stop: _Stop, carried: Sequence[_Carried], inputs: ChangeInputs) -> OffsetsChange:
    again, now = _count(stop.again, carried)
    first, before = _count(stop.before, carried)
    is_gone = _lacks_data(stop.before, inputs) or _is_older(stop.before, carried)
    if not stop.before_known or is_gone or not _topics(now) <= _topics(before):
        first = first._replace(at_most=None)
    if not stop.obeyed:
        first = first._replace(at_least=0)
    if any(inputs.data(each) is None for each in stop.again) or _is_older(stop.again, carried):
        again = again._replace(at_most=None)
    repeated = _both(again, first) if stop.known else UNKNOWN
    left_out = total_records(stop.left_out) if stop.known else UNKNOWN
    places = sorted(stop.places, key=lambda each: (each.timestamp, each.topic, each.partition, each.offset))
    kept = tuple(places[:KEPT_PLACES])
    return OffsetsChange(connector, kept[0].timestamp, kept, len(places), repeated, left_out, before, now, stop.open)


def _lacks_data(side: Iterable[OffsetsWrite], inputs: ChangeInputs) -> bool:
    """True if data may be gone or in unread topics, because not every transaction has some (rule 3)."""
    return any(not inputs.data(each) for each in side)


def _is_older(side: Mapping[OffsetsWrite, _Covered], carried: Sequence[_Carried]) -> bool:
    """True if some topic of the connector has no record from before all covered transactions (rule 3)."""
    covered = [
        each.at_ms
        for each in carried
        if any(side.get(write, _Covered.NONE) is not _Covered.NONE for write in each.writes)
    ]
    return min(covered, default=0) < (_whole_from(carried) if covered else 0)


def _topics(parts: Iterable[OutputPart]) -> set[str]:
    return {part.topic for part in parts}


def _count(
    side: Mapping[OffsetsWrite, _Covered], carried: Iterable[_Carried]
) -> tuple[RecordCount, tuple[OutputPart, ...]]:
    """Rule 5: the records of the transactions with these writes, and the places of those surely among them."""
    least = most = 0
    found: list[OutputPart] = []
    for writes, data, _ in carried:
        covered = {side.get(each, _Covered.NONE) for each in writes}
        if covered == {_Covered.NONE}:
            continue
        records = sum(part.records for part in data)
        most += records
        if covered == {_Covered.ALL}:
            least += records
            found += data
    return RecordCount(least, most), _joined(found)


def _joined(parts: Iterable[OutputPart]) -> tuple[OutputPart, ...]:
    joined = []
    for (topic, partition), group in groupby(sorted(parts), key=lambda part: part[:2]):
        mine = list(group)
        first, last = min(part.first for part in mine), max(part.last for part in mine)
        joined.append(OutputPart(topic, partition, first, last, sum(part.records for part in mine)))
    return tuple(joined)


def _both(one: RecordCount, other: RecordCount) -> RecordCount:
    """Combines both bounds. If they exclude each other, the source gave other records the second time."""
    most = [each.at_most for each in (one, other) if each.at_most is not None]
    low, high = max(one.at_least, other.at_least), min(most, default=None)
    return RecordCount(low, high) if high is None or low <= high else RecordCount(high, low)


def add_earlier_changes(now: Sequence[OffsetsChange], earlier: Iterable[OffsetsChange]) -> tuple[OffsetsChange, ...]:
    """Present changes, and those of earlier runs that compaction or retention has removed since.

    A harmless one that has disappeared had no effect: the offset was changed again.
    """
    found = {_place(each): each for each in now}
    for each in earlier:
        known = found.get(_place(each))
        if known is None and not each.is_harmless:
            found[_place(each)] = each
        elif known is not None and not each.open:
            repeated = each.repeated if known.repeated.at_most is None else known.repeated
            found[_place(each)] = known._replace(repeated=repeated)
    return tuple(sorted(found.values(), key=lambda each: (each.connector, each.timestamp, each.places)))


def _place(change: OffsetsChange) -> tuple[object, ...]:
    first = change.places[0]
    return change.connector, first.topic, first.partition, first.offset
