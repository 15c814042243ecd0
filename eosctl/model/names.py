"""Names that Kafka and Kafka Connect give to things, and the transactional IDs that Connect builds from them."""

import re
from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import Final, overload

from msgspec import Struct

from eosctl.errors import DID_YOU_MEAN, UsageError
from eosctl.late_pattern import late_pattern
from eosctl.model.whole_numbers import MOST_TASK_DIGITS

TRANSACTION_LOG: Final = "__transaction_state"
LEADER_PREFIX: Final = "connect-cluster-"
_TOPIC_NAME: Final = late_pattern(r"(?!\.{1,2}$)[a-zA-Z0-9._-]{1,249}", re.ASCII)
FLINK_SINK: Final = late_pattern(r"(?P<prefix>.*\D.*)-(?P<subtask>\d+)-(?P<number>\d+)")
"""The shape of the IDs of Flink's KafkaSink; number is the checkpoint that commits the transaction, or counts a pool.
IDs of others may have it too."""


class Side(StrEnum):
    """One of a plan's Kafka clusters and Connect clusters; both are the same if nothing moves to another one."""

    SOURCE = "source"
    TARGET = "target"

    @property
    def suffix(self) -> str:
        """The words of a plan after a name on this side."""
        return " (target)" if self is Side.TARGET else ""


class TopicPartition(Struct, frozen=True, order=True):
    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


class ConnectorTaskId(Struct, frozen=True, order=True):
    """Task `task` (from 0) of connector `connector`."""

    connector: str
    task: int

    def __str__(self) -> str:
        return f"{self.connector}-{self.task}"


class ProducerIdAndEpoch(Struct, frozen=True, order=True):
    """The identity under which a producer writes; the broker refuses lower epochs of the same producer ID."""

    producer_id: int
    producer_epoch: int

    def __str__(self) -> str:
        return f"{self.producer_id}/{self.producer_epoch}"


def is_topic_name(name: str) -> bool:
    """True if a topic may have this name (Topic.validate); brokers refuse a request for any other."""
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


MOST_NAMES: Final = 10_000
"""Names that are compared: of more, the first ones. A comparison costs some 10 µs."""


@overload
def did_you_mean(wanted: str, known: Iterable[str], otherwise: str) -> str: ...
@overload
def did_you_mean(wanted: str, known: Iterable[str], otherwise: None = None) -> str | None: ...
def did_you_mean(wanted: str, known: Iterable[str], otherwise: str | None = None) -> str | None:
    """A question with the known name most similar to `wanted`; `otherwise` if none is similar."""
    from difflib import get_close_matches

    by_lower = {name.lower(): name for name in sorted(known)[:MOST_NAMES]}
    found = get_close_matches(wanted.lower(), by_lower, 1)
    return f"{DID_YOU_MEAN}{by_lower[found[0]]}?" if found else otherwise


DEFAULT_TOPICS: Final = {
    "connect-configs": "--config-topic",
    "connect-offsets": "--worker-offsets-topic",
    "connect-status": "--status-topic",
}
"""The topics of Kafka's sample file for workers, which are the defaults, and the option that names another."""


def no_such_topic(name: str, known: Iterable[str]) -> UsageError:
    option = DEFAULT_TOPICS.get(name)
    otherwise = "is this the right cluster?" + (f" If the workers use another topic: {option} TOPIC" if option else "")
    return UsageError(f"topic {name} does not exist", hint=did_you_mean(name, known, otherwise))


def not_in_config_topic(names: Sequence[str], known: Iterable[str]) -> UsageError:
    return UsageError(
        f"the config topic does not mention connector {', '.join(names)}",
        hint=did_you_mean(
            names[0], known, "`eosctl inspect-config` lists the connectors; is --config-topic the right one?"
        ),
    )


FRESH_MS: Final = 5 * 60 * 1000
PATIENCE_MS: Final = 30 * 1000
FORGOTTEN_MS: Final = 24 * 60 * 60 * 1000


class CachedNames(Struct, frozen=True):
    """Names as they were at read_at, and when they were last asked for (both ms since the epoch).

    asked_at is later than read_at where the cluster did not answer the last time.
    """

    names: tuple[str, ...]
    read_at: int
    asked_at: int

    def is_due(self, now: int) -> bool:
        """Whether to ask again: after FRESH_MS, and after a failure not before PATIENCE_MS have passed."""
        return now - self.read_at >= FRESH_MS and now - self.asked_at >= PATIENCE_MS

    def known(self, now: int) -> tuple[str, ...]:
        return self.names if now - self.read_at < FORGOTTEN_MS else ()

    def unanswered(self, now: int) -> "CachedNames":
        return CachedNames(self.names, self.read_at, now)


NOTHING: Final = CachedNames((), 0, 0)
