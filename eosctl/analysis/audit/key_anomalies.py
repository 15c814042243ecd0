"""What can be wrong with a key of an offsets topic, and how a place is reported in words."""

from enum import StrEnum
from typing import NamedTuple

from eosctl.model.audit_states import KeyState, ReadKey, Write
from eosctl.model.audit_summaries import KeyAnomaly, OffsetsWrite
from eosctl.model.names import TopicPartition


class KeyAnomalyKind(StrEnum):
    """What can be wrong with a key."""

    MALFORMED_KEY = "malformed-offsets-key"
    TWO_PARTITIONS = "key-in-two-partitions"
    SAME_PARTITION = "logical-duplicates"
    SET_BACK = "offset-set-back"
    REPEATED = "offset-repeated"
    PLAIN_WRITE = "plain-offsets-write"
    ZOMBIE = "zombie-writer"
    COPIED = "offset-copied"
    NOT_TAKEN_OVER = "offset-not-taken-over"
    ALTERED = "offsets-altered"
    SNAPSHOT = "snapshot-begun-again"
    SNAPSHOT_UNCLEAR = "snapshot-unclear"


class PlacedWrite(NamedTuple):
    """A write, and its partition."""

    place: TopicPartition
    write: Write


class Placed(NamedTuple):
    """A key's state, and the partition that it is of."""

    place: TopicPartition
    state: KeyState


def trouble_at(
    kind: KeyAnomalyKind, key: ReadKey, place: TopicPartition, at: Write, before: str, after: str
) -> KeyAnomaly:
    """An anomaly at a write, with what was there before and after, as `shown` writes it."""
    return KeyAnomaly(
        kind.value, key.connector, place.topic, place.partition, at.offset, at.timestamp, key.text, before, after
    )


def shown(place: TopicPartition, write: Write) -> str:
    """Partition, offset and value of a write."""
    value = "tombstone" if write.value is None else write.value[:200].decode("utf-8", "backslashreplace")
    return f"{place}@{write.offset}: {value}"


def change_at(kind: KeyAnomalyKind, key: ReadKey, was: PlacedWrite, now: PlacedWrite, more: str = "") -> KeyAnomaly:
    """An anomaly at a write, held against another one: what their transactions carried can be looked up."""
    found = trouble_at(kind, key, *now, shown(*was), shown(*now) + more)
    return found._replace(was=written_at(*was), now=written_at(*now))


def written_at(place: TopicPartition, write: Write) -> OffsetsWrite | None:
    """Where it was committed; None outside any transaction."""
    if not write.transactional:
        return None
    return OffsetsWrite(place.topic, place.partition, write.offset, write.producer_id)
