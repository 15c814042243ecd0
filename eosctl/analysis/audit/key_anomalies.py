"""What can be wrong with a key of an offsets topic, and how a place is reported in words."""

from enum import StrEnum
from typing import NamedTuple

from eosctl.model.audit_states import KeyState, ReadKey, Write
from eosctl.model.audit_summaries import KeyAnomaly
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


class Placed(NamedTuple):
    """A key's state, and the partition that it is of."""

    place: TopicPartition
    state: KeyState


def trouble_at(
    kind: KeyAnomalyKind, key: ReadKey, place: TopicPartition, at: Write, before: str, after: str
) -> KeyAnomaly:
    """An anomaly at a write, with what was there before and after, as `shown` tells it."""
    return KeyAnomaly(
        kind.value, key.connector, place.topic, place.partition, at.offset, at.timestamp, key.text, before, after
    )


def shown(place: TopicPartition, write: Write) -> str:
    """Partition, offset and value of a write."""
    value = "tombstone" if write.value is None else write.value[:200].decode("utf-8", "backslashreplace")
    return f"{place} offset {write.offset}: {value}"
