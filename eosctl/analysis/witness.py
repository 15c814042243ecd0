"""A witness for each finding that breaks a verdict: the fewest records that show it, in words that a person can check.

One pure function a kind makes it of the finding's own evidence: a witness claims nothing that the finding does not. Of
several places it takes the earliest.
"""

import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from eosctl.analysis.catalogue import audit as kinds
from eosctl.late_pattern import late_pattern
from eosctl.model.audit import TimelineEvent, Witness, WitnessRecord
from eosctl.model.names import Side
from eosctl.model.report import ANY_BROKER, SOURCE_BROKER, Finding, FindingKind, Severity
from eosctl.model.text import pluralize
from eosctl.model.times import rfc3339

Place = Mapping[str, Any]
"""A place of a finding's evidence: topic, partition, offsets, and what else its kind knows."""
SHOWN: Final = late_pattern(r"(?P<topic>[\w.-]+)-(?P<partition>\d+)@(?P<offset>\d+): (?P<value>.*)", re.DOTALL)
"""The text that `key_judgement.shown` writes for an offset."""
HELD: Final = late_pattern(r" \(the topic held (?P<what>.*) before\)$", re.DOTALL)
OWNED: Final = late_pattern(r"producer ID (-?\d+) at offset (\d+)(?: and again at offset (\d+))?")
MOST_PRINTED: Final = 10
"""Records that one command prints at most: the first ones show it."""
CONFIG_EVENTS: Final = frozenset({"commit", "deleted"})
"""Changes of a connector; a round of fencing follows from one."""


class _Story(NamedTuple):
    words: str
    records: tuple[WitnessRecord, ...]


def audit_witnesses(findings: Iterable[Finding], timeline: Sequence[TimelineEvent]) -> Iterator[Witness]:
    """The witnesses of those findings of an audit that exactly-once rules out, in their order."""
    for finding in findings:
        make = AUDITED.get(finding.kind)
        if make is None or finding.severity is not Severity.ERROR:
            continue
        story = make(finding.subject, _first_place(finding), finding.evidence)
        if story is not None:
            yield _witness(finding, story, timeline)


def mirror_witnesses(findings: Iterable[Finding]) -> Iterator[Witness]:
    """The witnesses of those findings of a mirror's audit that break the verdict on a pair of partitions."""
    for finding in findings:
        make = MIRRORED.get(finding.kind)
        place = _first_place(finding)
        if make is not None and finding.severity is Severity.ERROR and "source_start" in place:
            topic, _, partition = finding.subject.rpartition("-")
            target = str(finding.evidence["target_topic"])
            yield _witness(finding, make(_Pair(topic, target, int(partition)), place), ())


def _first_place(finding: Finding) -> Place:
    """The earliest of its places; the evidence itself where it lists none."""
    places = finding.evidence.get("places")
    if not isinstance(places, list) or not places:
        return finding.evidence
    return min(places, key=lambda each: each["timestamp"] if each.get("timestamp", -1) >= 0 else 1 << 62)


def _witness(finding: Finding, story: _Story, timeline: Sequence[TimelineEvent]) -> Witness:
    broken = story.records[-1]
    named = finding.evidence.get("connectors")
    connectors = frozenset(named) if isinstance(named, list | tuple) else frozenset({finding.subject})
    at = broken.timestamp
    before = [
        each
        for each in timeline
        if each.kind in CONFIG_EVENTS and each.connector in connectors and at is not None and each.timestamp <= at
    ]
    event = max(before, key=lambda each: (each.timestamp, each.offset), default=None)
    commands = [command for each in story.records for command in _printing(each)]
    commands += [_trace(broken)] if broken.side is None else []
    if event is not None:
        commands.append(f"eosctl inspect-config --history --connector {shlex.quote(event.connector)} {ANY_BROKER}")
    return Witness(
        finding.id, finding.name, finding.subject, story.words, story.records, tuple(dict.fromkeys(commands)), event
    )


def _printing(record: WitnessRecord) -> Iterator[str]:
    """The command of Kafka's own that prints these records."""
    count = min(record.last_offset - record.offset + 1, MOST_PRINTED)
    broker = SOURCE_BROKER if record.side is Side.SOURCE else ANY_BROKER
    yield (
        f"kafka-console-consumer.sh {broker} --topic {record.topic} --partition {record.partition} --offset "
        f"{record.offset} --max-messages {count} --property print.offset=true --property print.timestamp=true "
        "--property print.key=true"
    )


def _trace(record: WitnessRecord) -> str:
    return f"eosctl transactions trace {record.topic}-{record.partition}@{record.offset} {ANY_BROKER}"


def _written(role: str, words: object, timestamp: int | None = None) -> WitnessRecord | None:
    """The record of an offsets topic that the words show."""
    found = SHOWN.fullmatch(str(words))
    if found is None:
        return None
    offset, value = int(found["offset"]), HELD.sub("", found["value"])
    return WitnessRecord(role, found["topic"], int(found["partition"]), offset, offset, value, timestamp)


def _two_writes(place: Place, before: str, after: str) -> tuple[WitnessRecord, ...]:
    """The offset before and the one after it, as far as their places are known."""
    found = (_written(before, place["before"]), _written(after, place["after"], place["timestamp"]))
    return tuple(each for each in found if each is not None)


def _value(record: WitnessRecord) -> str:
    return f"{record.value} at {record}"


def _set_back(_: str, place: Place, evidence: Mapping[str, Any]) -> _Story | None:
    records = _two_writes(place, "the source offset before", "the lower source offset after it")
    if len(records) < 2:
        return None
    words = (
        f"The source offset of {place['key']} was {_value(records[0])}. After it, it was set back to "
        f"{_value(records[1])}: a start from there reads records again that were read before."
    )
    return _with_data(words, records, place, evidence)


def _not_taken_over(subject: str, place: Place, evidence: Mapping[str, Any]) -> _Story | None:
    records = _two_writes(place, "the last source offset in the topic before", "the first one in the other topic")
    if len(records) < 2:
        return None
    held = HELD.search(str(place["after"]))
    words = (
        f"The source offset of {place['key']} was {_value(records[0])}. The other offsets topic held "
        f"{'another offset' if held is None else held['what']} before {_value(records[1])}: {subject} did not "
        "continue from the first offset."
    )
    return _with_data(words, records, place, evidence)


def _with_data(words: str, records: tuple[WitnessRecord, ...], place: Place, evidence: Mapping[str, Any]) -> _Story:
    """The two offsets with the data that was committed with each, where that is known."""
    data = [each for each in evidence.get("data", ()) if each.get("key") == place["key"]]
    before, after = (
        next(
            (_data(f"data committed with the offset {when}", each) for each in data if each["committed_with"] == when),
            None,
        )
        for when in ("before", "after")
    )
    said = words if before is None else f"{words} {before} was written with the first offset."
    said = said if after is None else f"{said} {after} was written with the last offset."
    first, last = records
    return _Story(said, (first, *(each for each in (before, after) if each is not None), last))


def _plain_write(subject: str, place: Place, _: Mapping[str, Any]) -> _Story | None:
    records = _two_writes(place, "a source offset that was committed in a transaction", "the one outside of any")
    if not records:
        return None
    words = (
        f"{subject} commits the source offset of {place['key']} in transactions, first {_value(records[0])}. The "
        f"record at {records[-1]} of the same key is in no transaction."
    )
    return _Story(words, records)


def _zombie(subject: str, place: Place, _: Mapping[str, Any]) -> _Story | None:
    heir, zombie = OWNED.match(str(place["before"])), OWNED.match(str(place["after"]))
    if heir is None or zombie is None or zombie[3] is None:
        return None
    topic, partition = str(place["topic"]), int(place["partition"])

    def record(role: str, producer: str, offset: str, timestamp: int | None = None) -> WitnessRecord:
        at = int(offset)
        return WitnessRecord(role, topic, partition, at, at, None, timestamp, int(producer))

    records = (
        record("a write of the zombie", zombie[1], zombie[2]),
        record("the write of the producer that took over", heir[1], heir[2]),
        record("a write of the zombie after that", zombie[1], zombie[3], place["timestamp"]),
    )
    words = (
        f"Producer ID {zombie[1]} wrote the source offset of {place['key']} at {records[0]}. Producer ID {heir[1]} "
        f"took over at {records[1]}. Producer ID {zombie[1]} wrote again at {records[2]}: it was not fenced."
    )
    return _Story(words, records)


def _data(role: str, place: Place, first: str = "first_offset", last: str = "last_offset") -> WitnessRecord:
    start = int(place[first])
    return WitnessRecord(
        role,
        str(place["topic"]),
        int(place["partition"]),
        start,
        int(place.get(last, start)),
        None,
        place.get("timestamp"),
        place.get("producer_id"),
        place.get("producer_epoch"),
        place.get("transactional_id"),
    )


def _without_offsets(subject: str, place: Place, _: Mapping[str, Any]) -> _Story | None:
    record = _data("data without source offsets", place)
    amount = pluralize(int(place.get("records", 1)), "record")
    words = (
        f"Producer {_producer(record)} committed {amount} of {subject} at {record}. No offsets topic has a record of "
        "the same transaction, so a restart reads them again."
    )
    return _Story(words, (record,))


def _producer(record: WitnessRecord) -> str:
    epoch = "" if record.producer_epoch is None else f"/{record.producer_epoch}"
    whose = "" if record.transactional_id is None else f" ({record.transactional_id})"
    return f"{record.producer_id}{epoch}{whose}"


def _missing_marker(_: str, place: Place, __: Mapping[str, Any]) -> _Story | None:
    record = _data("data without a marker after it", place)
    words = (
        f"Producer {_producer(record)} wrote {record} in a transaction that has ended in other partitions. In this "
        "partition no commit or abort marker of the producer follows."
    )
    return _Story(words, (record,))


def _mixed_markers(_: str, place: Place, __: Mapping[str, Any]) -> _Story | None:
    record = _data("data that ended otherwise than its transaction elsewhere", place)
    words = (
        f"The transaction of producer {_producer(record)} with {record} was committed in one partition and aborted in "
        "another."
    )
    return _Story(words, (record,))


def _outside(subject: str, place: Place, evidence: Mapping[str, Any]) -> _Story | None:
    record = _data("data outside any transaction", evidence)
    count = pluralize(int(evidence["records"]), "record")
    words = (
        f"{subject} writes in transactions. {count} of producer ID {record.producer_id} in "
        f"{record.topic}-{record.partition} are in none, the first at offset {record.offset}, the last at offset "
        f"{record.last_offset}."
    )
    return _Story(words, (record._replace(last_offset=record.offset), record._replace(offset=record.last_offset)))


def _hanging(_: str, place: Place, evidence: Mapping[str, Any]) -> _Story | None:
    record = _data("the first record of the transaction that hangs", evidence, "start_offset", "start_offset")
    words = (
        f"The transaction of producer {_producer(record)} is open from {record} on, and {evidence['reason']}. "
        "A read_committed consumer of the partition ends before that offset."
    )
    return _Story(words, (record,))


def _unfenced(subject: str, place: Place, _: Mapping[str, Any]) -> _Story | None:
    at = int(place["offset"])
    record = _data("the first write of the new producer", {**place, "first_offset": at})
    words = (
        f"The config topic has a commit of {pluralize(int(place['tasks']), 'task')} of {subject} at offset "
        f"{place['commit_offset']}. Producer {_producer(record)} began at {record} ({rfc3339(place['timestamp'])}). "
        "The topic has no task count record in between, so no round of zombie fencing fenced older producers."
    )
    return _Story(words, (record,))


def _half_event(subject: str, place: Place, _: Mapping[str, Any]) -> _Story | None:
    record = _data("the last record of the event in the topic", {**place, "first_offset": place["offset"]})
    missing = " and ".join(str(each) for each in place.get("missing", ()))
    if "transaction" in place:
        end = _data("the end of the transaction, with its number of records", _end_of(place))
        words = (
            f"Producer {_producer(record)} wrote records of database transaction {place['transaction']}, the last one "
            f"at {record}. By its end at {end} it has {place['event_count']}: number {missing} is missing."
        )
        return _Story(words, (record, end))
    following = place.get("next_offset")
    words = (
        f"Producer {_producer(record)} wrote a part of one event of {subject} at {record}. The event needs "
        f"{missing or 'another record'} after it, which is missing."
    )
    if not isinstance(following, int):
        return _Story(words, (record,))
    after = _data("the next record of the connector, of another event", {**place, "first_offset": following})
    after = after._replace(last_offset=following, timestamp=None, producer_epoch=place.get("next_epoch"))
    return _Story(f"{words} The connector continued at {after}.", (after, record))


def _end_of(place: Place) -> Place:
    return {"topic": place["end_topic"], "partition": place["end_partition"], "first_offset": place["end_offset"]}


Make = Callable[[str, Place, Mapping[str, Any]], _Story | None]
AUDITED: Final[Mapping[FindingKind, Make]] = {
    kinds.OFFSET_SET_BACK: _set_back,
    kinds.OFFSET_NOT_TAKEN_OVER: _not_taken_over,
    kinds.PLAIN_OFFSETS_WRITE: _plain_write,
    kinds.ZOMBIE_WRITER: _zombie,
    kinds.DATA_WITHOUT_OFFSETS: _without_offsets,
    kinds.MISSING_MARKER: _missing_marker,
    kinds.MIXED_MARKERS: _mixed_markers,
    kinds.DATA_OUTSIDE_TRANSACTION: _outside,
    kinds.HANGING_TRANSACTION: _hanging,
    kinds.START_WITHOUT_FENCING: _unfenced,
    kinds.HALF_EVENT: _half_event,
}
"""By kind of finding that breaks a verdict."""


# Witnesses of a mirror: the record of the source, and where it is, or should be, in the target.


class _Pair(NamedTuple):
    source: str
    target: str
    partition: int

    def of_source(self, role: str, place: Place) -> WitnessRecord:
        first, end, at = int(place["source_start"]), int(place["source_end"]), place["timestamp"]
        return self._record(role, Side.SOURCE, self.source, first, max(first, end - 1), at if at >= 0 else None)

    def of_target(self, role: str, place: Place) -> WitnessRecord:
        first, end = int(place["target_start"]), int(place["target_end"])
        return self._record(role, Side.TARGET, self.target, first, max(first, end - 1), None)

    def _record(self, role: str, side: Side, topic: str, first: int, last: int, at: int | None) -> WitnessRecord:
        return WitnessRecord(role, topic, self.partition, first, last, None, at, side=side)


def _gap(pair: _Pair, place: Place) -> _Story:
    missing = pair.of_source("committed records that the target does not hold", place)
    beside = pair.of_target("the record where they would be", place)
    beside = beside._replace(offset=max(0, beside.offset - 1), last_offset=beside.offset)
    words = (
        f"The source holds committed records at {missing}. In the target, {beside} are at their expected place, and "
        "none equals a missing record."
    )
    return _Story(words, (beside, missing))


def _repeat(pair: _Pair, place: Place) -> _Story:
    original, again = pair.of_source("the record", place), pair.of_target("the record again", place)
    words = f"The target holds {original} of the source a second time at {again}, after an equal record."
    return _Story(words, (original, again))


def _disorder(pair: _Pair, place: Place) -> _Story:
    original, late = pair.of_source("the record", place), pair.of_target("the record, too late", place)
    words = f"The target holds {original} of the source at {late}, after records that follow it in the source."
    return _Story(words, (original, late))


def _aborted(pair: _Pair, place: Place) -> _Story:
    original = pair.of_source("a record of an aborted transaction", place)
    copy = pair.of_target("its copy", place)
    words = (
        f"{original} of the source belong to an aborted transaction: a read_committed consumer does not see them. The "
        f"target holds them as committed records at {copy}."
    )
    return _Story(words, (original, copy))


MIRRORED: Final[Mapping[FindingKind, Callable[[_Pair, Place], _Story]]] = {
    kinds.MIRROR_GAP: _gap,
    kinds.MIRROR_REPEAT: _repeat,
    kinds.MIRROR_DISORDER: _disorder,
    kinds.ABORTED_MIRRORED: _aborted,
}
"""By kind of finding that breaks the verdict on a pair of partitions."""
