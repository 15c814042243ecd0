"""One connector's offsets in one topic as digests, so that two readings can be compared without keeping both.

1. Only live offsets count: of each raw key in each partition the last committed record, unless it is a tombstone. A
   tombstone and no record are the same to a worker, and compaction turns the one into the other at any time.
2. The digest of records includes their offsets in the partition: a value that went away and came back is noticed.
3. The digest of values does not: it is known before the records are written.
"""

from collections.abc import Iterable
from hashlib import sha256
from struct import Struct
from typing import Final

from eosctl.codecs.offsets_topic import decode_offsets_key
from eosctl.model.offsets import Entry, OffsetKey, OffsetsTopic
from eosctl.model.plan_facts import OffsetsNow

_LENGTH: Final = Struct(">I").pack

Value = tuple[bytes, int, bytes]
"""Raw key, partition, value."""


def entries_by_connector(topic: OffsetsTopic) -> dict[str, list[Entry]]:
    """The well-formed keys of the topic by connector; a key that lies in two partitions has two entries."""
    found: dict[str, list[Entry]] = {}
    for part in topic.partitions:
        for raw, records in part.keys.items():
            key = decode_offsets_key(raw)
            if isinstance(key, OffsetKey):
                found.setdefault(key.connector, []).append((key, records))
    return found


def offsets_now(entries: Iterable[Entry]) -> OffsetsNow:
    """The digests of one connector's offsets in one topic, and the open transactions that wrote some."""
    live, producers = [], set()
    for key, records in entries:
        if records.open is not None:
            producers.add(str(records.open.producer))
        last = records.committed
        if last is not None and last.value is not None:
            live.append((key.raw, records.topic_partition.partition, last.value, last.offset))
    live.sort()
    values = [_framed(raw, partition, value) for raw, partition, value, _ in live]
    places = [row + _cell(b"%d" % each[3]) for row, each in zip(values, live, strict=True)]
    return OffsetsNow(_digest("records", places), _digest("values", values), tuple(sorted(producers)))


def value_digest(values: Iterable[Value]) -> str:
    """The digest of live offsets that are or will be in a topic, in any order."""
    return _digest("values", [_framed(*each) for each in sorted(values)])


def _framed(key: bytes, partition: int, value: bytes) -> bytes:
    return _cell(key) + _cell(b"%d" % partition) + _cell(value)


def _cell(cell: bytes) -> bytes:
    return _LENGTH(len(cell)) + cell


def _digest(name: str, rows: list[bytes]) -> str:
    return f"{name}:{sha256(b''.join(rows)).hexdigest()}"
