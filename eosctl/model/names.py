"""Names that Kafka and Kafka Connect give to things, and the transactional IDs that Connect builds from them."""

import re
from dataclasses import dataclass
from typing import Final

from eosctl.model.whole_numbers import MOST_TASK_DIGITS

TRANSACTION_LOG: Final = "__transaction_state"
LEADER_PREFIX: Final = "connect-cluster-"
_TOPIC_NAME: Final = re.compile(r"(?!\.{1,2}$)[a-zA-Z0-9._-]{1,249}", re.ASCII)


@dataclass(frozen=True, slots=True, order=True)
class TopicPartition:
    """One partition of one topic."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


@dataclass(frozen=True, slots=True, order=True)
class ConnectorTaskId:
    """Task `task` (from 0) of connector `connector`."""

    connector: str
    task: int

    def __str__(self) -> str:
        return f"{self.connector}-{self.task}"


@dataclass(frozen=True, slots=True, order=True)
class ProducerIdAndEpoch:
    """The identity under which a producer writes; the broker refuses lower epochs of the same producer ID."""

    producer_id: int
    producer_epoch: int

    def __str__(self) -> str:
        return f"{self.producer_id}/{self.producer_epoch}"


def is_topic_name(name: str) -> bool:
    """Whether a topic may have this name (Topic.validate); there is none of another one, and brokers refuse to look."""
    return _TOPIC_NAME.fullmatch(name) is not None


def task_transactional_id(group_id: str, task: ConnectorTaskId) -> str:
    """The transactional ID of a source task's producer: `<group.id>-<connector>-<task>`."""
    return f"{group_id}-{task.connector}-{task.task}"


def stem_and_task(transactional_id: str) -> tuple[str, int] | None:
    """`<group.id>-<connector>` and the task; None where no task can have the ID.

    Connect formats the number with %d: no zeros in front, and in some locales digits outside ASCII. It is a Java int.
    """
    stem, dash, number = transactional_id.rpartition("-")
    if not dash or not number.isdecimal() or len(number) > MOST_TASK_DIGITS or (len(number) > 1 and not int(number[0])):
        return None
    return stem, int(number)


def leader_transactional_id(group_id: str) -> str:
    """The transactional ID of the leader's config topic producer (DistributedConfig.transactionalProducerId)."""
    return LEADER_PREFIX + group_id


def java_hash(text: str) -> int:
    """String.hashCode of Java: 32-bit signed, over UTF-16 code units."""
    value = 0
    units = text.encode("utf-16-le", "surrogatepass")
    for low, high in zip(units[::2], units[1::2], strict=True):
        value = (31 * value + (high << 8 | low)) & 0xFFFFFFFF
    return value - (1 << 32) if value >= 1 << 31 else value


def coordinator_partition(transactional_id: str, partitions: int) -> int:
    """The partition of `__transaction_state` that holds this ID: abs(hash) modulo partitions, where abs(-2^31) is 0.

    So it is with a group and `__consumer_offsets`.
    """
    value = java_hash(transactional_id)
    return (0 if value == -(1 << 31) else abs(value)) % partitions
