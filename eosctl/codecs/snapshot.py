"""Snapshot files: JSON lines, so that a cut file is noticed and a long config topic is written as it is read.

    {"kind": "eosctl.snapshot", "version": 1, "as_of": 1790000000000, "group_id": "connect-cluster"}
    {"cluster": {…}}                  one line for each other field of Snapshot, as codecs.json_nouns derives it
    {"config_topic": {…}}
    {"config_record": {…}}            after the config topic a line for each record
    {"offsets": {…}}
    {"offsets_key": {…}}              after the offsets topics a line for each key of each partition
    {"transaction_log": {…}}
    {"log_record": {…}}               after the transaction log a line for each record
    {"producers": {…}}
    {"partition": {…}}                after the producers a line for each partition
    {"timeline": {…}}
    {"event": {…}}                    after the timeline a line for each event
    {"end": 7}                        the number of lines before this one

Secrets are never in a snapshot: they end where the topic's bytes are decoded.
"""

from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from json import JSONEncoder
from typing import Any, Final, NamedTuple, get_type_hints

from msgspec.structs import replace

from eosctl.codecs.json_nouns import JsonNoun, check_version
from eosctl.codecs.json_text import load_json
from eosctl.codecs.offsets_topic import decode_offsets_key
from eosctl.errors import Undecodable
from eosctl.model.config_topic import ConfigRecord, ConfigTopicLog
from eosctl.model.evidence import Snapshot
from eosctl.model.hanging import PartitionProducers, ProducersFacts
from eosctl.model.offsets import KeyRecords, OffsetsFacts, OffsetsPartition, OffsetsTopic
from eosctl.model.records import Record
from eosctl.model.skipped import Cause, Skipped
from eosctl.model.timeline import Event, TimelineFacts
from eosctl.model.transaction_log import LogRecord, TransactionLogFacts

OLDER: Final = Skipped("the snapshot is from an eosctl that saved none", Cause.NOT_SAVED)
KIND: Final = "eosctl.snapshot"
VERSION: Final = 1


class SnapshotHeader(NamedTuple):
    kind: str
    version: int
    as_of: int
    group_id: str | None


class OffsetsKey(NamedTuple):
    """KeyRecords of a partition of the offsets topic that stands at index `topic` in its section."""

    topic: int
    partition: int
    committed: Record | None
    open: Record | None
    aborted: Record | None
    records: int | None


LINES: Final[Mapping[type, tuple[str, JsonNoun[Any]]]] = {
    ConfigTopicLog: ("config_record", JsonNoun(ConfigRecord)),
    OffsetsFacts: ("offsets_key", JsonNoun(OffsetsKey)),
    TransactionLogFacts: ("log_record", JsonNoun(LogRecord)),
    ProducersFacts: ("partition", JsonNoun(PartitionProducers)),
    TimelineFacts: ("event", JsonNoun(Event)),
}
"""Sections with a line for each of their items: the name of such a line and its type."""


IN_LINES: Final[Mapping[type, Mapping[str, object]]] = {
    ConfigTopicLog: {"records": ()},
    OffsetsPartition: {"keys": {}, "decoded": {}},
    TransactionLogFacts: {"records": ()},
    ProducersFacts: {"partitions": {}},
    TimelineFacts: {"events": ()},
}
"""The fields that these lines hold."""


SECTIONS: Final[Mapping[str, JsonNoun[Any]]] = {
    name: JsonNoun(hint, IN_LINES)
    for name, hint in get_type_hints(Snapshot).items()
    if name not in SnapshotHeader._fields
}
"""The contents of the section lines: the fields of Snapshot, in the order of the file."""


def encode_snapshot(snapshot: Snapshot) -> Iterator[str]:
    # ASCII alone: a JSON escape in Kafka may be half of a surrogate pair, which UTF-8 cannot hold.
    encode = JSONEncoder(check_circular=False, separators=(",", ":")).encode
    count = 0
    for count, value in enumerate(_values(snapshot), 1):  # noqa: B007  # counted for the last line
        yield encode(value)
    yield encode({"end": count})


def _values(snapshot: Snapshot) -> Iterator[dict[str, Any]]:
    yield SnapshotHeader(KIND, VERSION, snapshot.as_of, snapshot.group_id)._asdict()
    for name, noun in SECTIONS.items():
        section = getattr(snapshot, name)
        yield {name: noun.encode(section)}
        if type(section) in LINES:
            line, item = LINES[type(section)]
            for each in _taken_apart(section):
                yield {line: item.encode(each)}


def _taken_apart(section: object) -> Iterable[object]:
    match section:
        case ConfigTopicLog() | TransactionLogFacts():
            return section.records
        case ProducersFacts():
            return section.partitions.values()
        case TimelineFacts():
            return section.events
        case OffsetsFacts():
            return (
                OffsetsKey(number, part.topic_partition.partition, *records[1:])
                for number, topic in enumerate(section.topics.values())
                if isinstance(topic, OffsetsTopic)
                for part in topic.partitions
                for records in part.keys.values()
            )
    return ()


def _put_together(section: Any, items: Iterator[Any]) -> object:  # noqa: ANN401  # any section that has lines
    match section:
        case ConfigTopicLog():
            return replace(section, records=tuple(items))
        case TransactionLogFacts():
            return replace(section, records=tuple(items))
        case ProducersFacts():
            return replace(section, partitions={each.topic_partition: each for each in items})
        case TimelineFacts():
            return replace(section, events=tuple(items))
    return _with_keys(section, items)


def _with_keys(facts: OffsetsFacts, items: Iterator[OffsetsKey]) -> OffsetsFacts:
    places = {
        (number, part.topic_partition.partition): part.topic_partition
        for number, topic in enumerate(facts.topics.values())
        if isinstance(topic, OffsetsTopic)
        for part in topic.partitions
    }
    keys: dict[tuple[int, int], dict[bytes | None, KeyRecords]] = {place: {} for place in places}
    for each in items:
        place, last = each[:2], each.committed or each.open or each.aborted
        if last is None or place not in places:
            raise Undecodable(f"the snapshot has an offsets_key line without record or partition: {place}")
        keys[place][last.key] = KeyRecords(places[place], *each[2:])

    def with_keys(number: int, topic: OffsetsTopic) -> OffsetsTopic:
        found = ((part, keys[number, part.topic_partition.partition]) for part in topic.partitions)
        parts = (replace(part, keys=own, decoded={raw: decode_offsets_key(raw) for raw in own}) for part, own in found)
        return replace(topic, partitions=tuple(parts))

    topics = {
        place: with_keys(number, topic) if isinstance(topic, OffsetsTopic) else topic
        for number, (place, topic) in enumerate(facts.topics.items())
    }
    return replace(facts, topics=topics)


def decode_snapshot(lines: Iterable[str]) -> Snapshot:
    """The snapshot in the lines of a file.

    Raises Undecodable (naming the line) where the file is cut or is not a snapshot, Unsupported where it has another
    version.
    """
    numbered = _numbered(lines)
    _, head = next(numbered, (1, None))
    stranger = Undecodable("this is not a snapshot", hint="`eosctl snapshot save FILE` writes one")
    check_version(head, "snapshot", KIND, VERSION, stranger)
    header = JsonNoun[SnapshotHeader](SnapshotHeader).decode(head, "line 1 of the snapshot")
    found: dict[str, Any] = {}
    section = ""
    for name, group in groupby(numbered, _name):
        line, item = LINES.get(type(found.get(section)), ("", None))
        if name == "end":
            _check_end(*next(group))
            break
        if name == line and item is not None:
            found[section] = _put_together(found[section], _decoded(item, name, group))
        elif name in SECTIONS and name not in found:
            section = name
            found[section], *more = _decoded(SECTIONS[name], name, group)
            if more:
                raise Undecodable(f"the snapshot has {name} more than once")
        else:
            raise _no_part(next(group)[0])
    else:
        raise Undecodable("the snapshot is cut: its last line is missing", hint="save it again, or copy it whole")
    found.setdefault("timeline", OLDER)
    for name in SECTIONS:
        if name not in found:
            raise Undecodable(f"the snapshot has no {name} line")
    return Snapshot(as_of=header.as_of, group_id=header.group_id, **found)


def _numbered(lines: Iterable[str]) -> Iterator[tuple[int, object]]:
    for number, line in enumerate(lines, 1):
        try:
            yield number, load_json(line, halves=True)
        except (ValueError, RecursionError) as error:
            cut = "" if line.endswith("\n") else ", perhaps because the file is cut"
            hint = "is it a snapshot? `eosctl snapshot save FILE` writes one" if number == 1 else None
            raise Undecodable(f"line {number} of the snapshot is not JSON{cut}", hint=hint) from error


def _name(line: tuple[int, object]) -> str:
    _, value = line
    return next(iter(value)) if isinstance(value, dict) and len(value) == 1 else ""


def _decoded(noun: JsonNoun[Any], name: str, lines: Iterator[tuple[int, Any]]) -> Iterator[Any]:
    for number, value in lines:
        yield noun.decode(value[name], f"line {number} of the snapshot", name)


def _check_end(number: int, line: object) -> None:
    if line != {"end": number - 1}:
        raise _no_part(number)


def _no_part(number: int) -> Undecodable:
    return Undecodable(f"line {number} of the snapshot is no part of a snapshot")
