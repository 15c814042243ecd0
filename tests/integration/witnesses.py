"""Checks witnesses of broken verdicts with an ordinary consumer, which reads only the offsets that they name."""

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from confluent_kafka import Consumer, KafkaError, Message, TopicPartition

Row = Mapping[str, Any]
END_S = 30.0
TOMBSTONE = "tombstone"
"""The audit's word for a record without a value; no source offset is a bare word, because offsets are JSON."""


class Seen(NamedTuple):
    """A consumer's record at an offset: None if it came to the partition's end, or to a later record, before."""

    key: bytes | None
    value: bytes | None
    timestamp: int


def at(servers: str, record: Row, offset: int, isolation: str) -> Seen | None:
    """The record at this offset of the record's partition, for a consumer of this isolation level."""
    consumer = Consumer(
        {
            "bootstrap.servers": servers,
            "group.id": "witness",
            "isolation.level": isolation,
            "enable.partition.eof": True,
            "enable.auto.commit": False,
        }
    )
    try:
        consumer.assign([TopicPartition(record["topic"], record["partition"], offset)])
        found: Message | None = consumer.poll(END_S)
        assert found is not None, f"nothing was answered for {record}"
        error = found.error()
        if error is not None:
            assert error.code() == KafkaError._PARTITION_EOF, error
            return None
        return Seen(found.key(), found.value(), found.timestamp()[1]) if found.offset() == offset else None
    finally:
        consumer.close()


class Read(NamedTuple):
    """The records of a witness as both kinds of consumers have them."""

    rows: tuple[Row, ...]
    committed: tuple[Seen | None, ...]
    all: tuple[Seen | None, ...]


def read(servers: Mapping[str | None, str], witness: Row) -> Read:
    rows = tuple(witness["records"])
    places = [(servers[row["side"]], row, row["offset"]) for row in rows]
    committed, everything = (
        tuple(at(*place, isolation) for place in places) for isolation in ("read_committed", "read_uncommitted")
    )
    return Read(rows, committed, everything)


def number(seen: Seen | None) -> int | None:
    """The one number of a source offset; None where it is of another form."""
    assert seen is not None
    values = list(json.loads(seen.value or b"{}").values())
    return values[0] if len(values) == 1 and type(values[0]) is int else None


def keys(found: Read) -> set[bytes | None]:
    return {None if each is None else each.key for each in found.all}


def offsets_of(found: Read) -> Read:
    """The source offsets without the data that was committed with them, which readers have."""
    assert None not in found.committed
    kept = [number for number, row in enumerate(found.rows) if row["value"] is not None]
    return Read(*(tuple(each[number] for number in kept) for each in found))


def set_back(found: Read) -> bool:
    found = offsets_of(found)
    was, now = map(number, found.committed)
    return len(keys(found)) == 1 and (was is None or now is None or now < was)


def not_taken_over(found: Read) -> bool:
    found = offsets_of(found)
    topics = {row["topic"] for row in found.rows}
    return len(topics) == 2 and len(keys(found)) == 1


def plain(found: Read) -> bool:
    return len(found.rows) == 2 and len(keys(found)) == 1 and None not in found.committed


def zombie(found: Read) -> bool:
    offsets = [row["offset"] for row in found.rows]
    return (
        offsets == sorted(offsets)
        and len(keys(found)) == 1
        and found.rows[0]["producer_id"] == found.rows[2]["producer_id"]
    )


def committed(found: Read) -> bool:
    return None not in found.committed


def there(found: Read) -> bool:
    return None not in found.all


def hanging(found: Read) -> bool:
    return found.committed == (None,) and found.all != (None,)


def gap(found: Read) -> bool:
    """The source's record is committed, and is none of those where it would be."""
    *beside, missing = found.committed
    return missing is not None and missing.value not in [each.value for each in beside if each is not None]


def copied(found: Read) -> bool:
    original, copy = found.committed
    return original is not None and copy is not None and original[:2] == copy[:2]


def aborted(found: Read) -> bool:
    return found.committed[0] is None and found.all[0] is not None and found.committed[1] is not None


CHECKS: Mapping[str, Callable[[Read], bool]] = {
    "offset-set-back": set_back,
    "offset-not-taken-over": not_taken_over,
    "plain-offsets-write": plain,
    "zombie-writer": zombie,
    "data-without-offsets": committed,
    "missing-marker": there,
    "mixed-markers": there,
    "data-outside-transaction": committed,
    "hanging-transaction": hanging,
    "start-without-fencing": there,
    "half-event": committed,
    "mirror-gap": gap,
    "mirror-repeat": copied,
    "mirror-disorder": copied,
    "aborted-mirrored": aborted,
}


def check(data: Row, servers: str, source: str | None = None) -> set[str]:
    """The kinds of the witnesses in an audit's data; asserts that each broken verdict has one for each of its claims.

    Consumers see a witness's records as stated at their offsets; source is a mirror's.
    """
    by_side = {None: servers, "target": servers, "source": source or servers}
    claims = {claim for verdict in _broken(data) for claim in verdict["evidence"]}
    errors = {each["id"] for each in data["findings"] if each["severity"] == "error" and each["name"] in CHECKS}
    errors -= {each["id"] for each in data["findings"] if each["evidence"].get("places") == []}
    assert claims & errors <= {each["finding_id"] for each in data["witnesses"]}, claims
    for witness in data["witnesses"]:
        assert CHECKS[witness["name"]](read(by_side, witness)), witness
        for row in witness["records"]:
            if row["value"] is not None:
                seen = at(by_side[row["side"]], row, row["offset"], "read_uncommitted")
                assert seen is not None, row
                assert seen.value == (None if row["value"] == TOMBSTONE else row["value"].encode()), row
    return {each["name"] for each in data["witnesses"]}


def _broken(data: Row) -> Iterable[Row]:
    return (each for each in data.get("connectors", data.get("pairs", ())) if each["verdict"] == "broken")
