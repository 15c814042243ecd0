"""Files that a broker keeps of a partition's producers beside its segments.

`<segment>.txnindex` (AbortedTxn of Kafka), the aborted transactions whose markers are in the segment, 34 bytes each:

    int16 version 0
    int64 producer ID, int64 first offset, int64 last offset (the marker's), int64 last stable offset after the abort

`<offset>.snapshot` (ProducerSnapshot.json of Kafka), the producers that the broker knew before this offset:

    int16 version 1
    uint32 CRC-32C of all that follows
    array of { int64 producer ID, int16 epoch, int32 last sequence, int64 last offset, int32 offset delta,
    int64 timestamp, int32 coordinator epoch, int64 first offset of the open transaction (-1: none is open) }

1. Kafka's own reader of an index takes the first byte of the version only, so it reads version 1 as 0. Here it is
   Unsupported, as is a newer snapshot: neither can be read, and neither is damaged.
2. Kafka's own reader passes over an entry that is cut off at the end of an index. Here it is damage.
3. A transaction begins before its marker, and markers follow each other: an index of zeros is damage.
"""

from struct import Struct
from typing import Final, NamedTuple

from eosctl.codecs.record_batches import crc32c
from eosctl.codecs.transaction_log import INT16, INT32, MessageBytes
from eosctl.errors import Undecodable, Unsupported
from eosctl.model.names import ProducerIdAndEpoch

INDEX_VERSION: Final = 0
SNAPSHOT_VERSION: Final = 1
UINT32: Final = Struct(">I")
ABORTED: Final = Struct(">hqqqq")
ENTRY: Final = Struct(">qhiqiqiq")
ENTRIES_AT: Final = INT16.size + UINT32.size


class IndexedAbort(NamedTuple):
    """An aborted transaction of an index; last_offset is its marker's, last_stable_offset the one after the abort."""

    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int


class SnapshotProducer(NamedTuple):
    """A producer of a snapshot; last_sequence and last_offset are of its last data (-1: none is remembered)."""

    producer: ProducerIdAndEpoch
    last_sequence: int
    last_offset: int
    offset_delta: int
    timestamp: int
    coordinator_epoch: int
    transaction_start_offset: int | None


def decode_transaction_index(data: bytes, base_offset: int) -> tuple[IndexedAbort, ...]:
    """The aborted transactions of the segment that begins at base_offset, in the order of their markers.

    Raises Unsupported for another version, Undecodable with the byte for what is no entry.
    """
    found: list[IndexedAbort] = []
    last = base_offset - 1
    for place in range(0, len(data), ABORTED.size):
        if len(data) - place >= INT16.size:
            _require_version(INT16.unpack_from(data, place)[0], INDEX_VERSION, f"the entry at byte {place}")
        if len(data) - place < ABORTED.size:
            raise Undecodable(f"the entry at byte {place} is cut off: {len(data) - place} of {ABORTED.size} bytes")
        _, *fields = ABORTED.unpack_from(data, place)
        each = IndexedAbort(*fields)
        if not 0 <= each.first_offset < each.last_offset or each.last_offset <= last or each.producer_id < 0:
            raise Undecodable(f"the entry at byte {place} is no aborted transaction behind offset {last}: {each}")
        found.append(each)
        last = each.last_offset
    return tuple(found)


def decode_producer_snapshot(data: bytes) -> tuple[SnapshotProducer, ...]:
    """The producers, in the file's order. Raises Unsupported for another version, Undecodable for damage."""
    fields = MessageBytes(data)
    _require_version(fields.take(INT16), SNAPSHOT_VERSION, "the snapshot")
    if fields.take(UINT32) != crc32c()(data[ENTRIES_AT:]):
        raise Undecodable("the CRC of the producer snapshot does not match")
    found = tuple(_producer(fields.several(ENTRY)) for _ in range(fields.take(INT32)))
    fields.end()
    return found


def _producer(fields: tuple[int, ...]) -> SnapshotProducer:
    producer_id, epoch, sequence, offset, delta, timestamp, coordinator_epoch, start = fields
    producer, opened = ProducerIdAndEpoch(producer_id, epoch), start if start >= 0 else None
    return SnapshotProducer(producer, sequence, offset, delta, timestamp, coordinator_epoch, opened)


def _require_version(found: int, known: int, what: str) -> None:
    if found != known:
        raise Unsupported(f"{what} has version {found}, which is not known ({known} is)")
