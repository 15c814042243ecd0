"""The offsets that bound what readers of a partition see, from the partition leaders (ListOffsets)."""

import time
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from eosctl.clients.codes import UNKNOWN_TOPIC_OR_PARTITION
from eosctl.clients.errors import protocol_error
from eosctl.clients.leaders import MOVED, NO_LEADER, partition_leaders
from eosctl.clients.messages import EARLIEST, LATEST, list_offsets
from eosctl.clients.window import Answer
from eosctl.clients.wire import Wire
from eosctl.errors import EosctlError, Throttled, TimedOut, Undecodable, Unreachable, UsageError
from eosctl.model.names import TopicPartition
from eosctl.model.records import IsolationLevel
from eosctl.model.skipped import Skipped
from eosctl.model.topics import PartitionOffsets

PAUSE_S: Final = 0.1
LEADERLESS_PATIENCE_S: Final = 2.0
"""How long a partition may be without a leader before it counts as lost: an election takes less."""


class _Bound(NamedTuple):
    timestamp: int
    isolation: IsolationLevel


# In this order on one connection: the log may grow in between, and no bound may pass the next.
_BOUNDS: Final = (
    _Bound(EARLIEST, IsolationLevel.READ_UNCOMMITTED),
    _Bound(LATEST, IsolationLevel.READ_COMMITTED),
    _Bound(LATEST, IsolationLevel.READ_UNCOMMITTED),
)


def partition_offsets(
    wire: Wire, partitions: Iterable[TopicPartition], *, timeout_s: float | None = None
) -> Mapping[TopicPartition, PartitionOffsets]:
    """Log start offset, last stable offset and high watermark of each partition.

    Leaders that moved are looked up again until the time is up. Raises UsageError for a topic or partition that does
    not exist, NotAuthorized where Describe is missing, TimedOut naming partitions that have no leader, Throttled where
    a quota leaves no time, Undecodable for offsets that cannot be.
    """
    patience = wire.timeout_s if timeout_s is None else timeout_s
    wanted = set(partitions)
    found, hopeless = _until(wire, wanted, patience, patience)
    if throttled := [each for each in hopeless.values() if isinstance(each, Throttled)]:
        raise throttled[0]
    if missing := sorted(wanted - found.keys()):
        raise TimedOut(f"no leader answered for {', '.join(map(str, missing))} within {patience:g} s")
    return found


def offsets_or_skipped(
    wire: Wire, partitions: Iterable[TopicPartition], *, timeout_s: float | None = None
) -> Mapping[TopicPartition, PartitionOffsets | Skipped]:
    """The same, with the reason in place of a partition that nobody answers for.

    One without a leader is waited for LEADERLESS_PATIENCE_S only: nobody will answer before its brokers are back.
    """
    patience = wire.timeout_s if timeout_s is None else timeout_s
    wanted = set(partitions)
    found, hopeless = _until(wire, wanted, patience, min(patience / 2, LEADERLESS_PATIENCE_S))
    return dict(found) | {
        each: Skipped.of(hopeless.get(each) or Unreachable(f"no leader answered for {each}"))
        for each in sorted(wanted - found.keys())
    }


def _until(
    wire: Wire, wanted: set[TopicPartition], patience: float, leaderless_patience: float
) -> tuple[dict[TopicPartition, PartitionOffsets], Mapping[TopicPartition, EosctlError]]:
    """What was answered in time, and why some of the others cannot be: no leader, or one that takes no request."""
    started = time.monotonic()
    found: dict[TopicPartition, PartitionOffsets] = {}
    hopeless: Mapping[TopicPartition, EosctlError] = {}
    while pending := wanted - found.keys():
        waited = time.monotonic() - started
        if waited >= (leaderless_patience if pending <= hopeless.keys() else patience):
            break
        answered, hopeless = _ask(wire, pending, patience - waited)
        found |= answered
        if all(each in hopeless and not hopeless[each].retriable for each in wanted - found.keys()):
            break
        time.sleep(PAUSE_S)
    return found, hopeless


def _ask(
    wire: Wire, pending: set[TopicPartition], remaining: float
) -> tuple[Mapping[TopicPartition, PartitionOffsets], Mapping[TopicPartition, EosctlError]]:
    leaders = partition_leaders(wire, {partition.topic for partition in pending}, timeout_s=remaining)
    led: dict[int, list[TopicPartition]] = {}
    hopeless: dict[TopicPartition, EosctlError] = {}
    for partition in sorted(pending):
        if partition not in leaders:
            raise UsageError(f"topic {partition.topic} has no partition {partition.partition}")
        if leaders[partition] == NO_LEADER:
            hopeless[partition] = Unreachable(f"{partition} has no leader")
        else:
            led.setdefault(leaders[partition], []).append(partition)
    window = wire.window(timeout_s=remaining)
    for node_id, group in led.items():
        for bound in _BOUNDS:
            window.put(bound, node_id, list_offsets(group, bound.timestamp, bound.isolation))
    offsets: dict[TopicPartition, dict[_Bound, int]] = {}
    for answer in window:
        if isinstance(answer.error, Throttled):
            hopeless |= dict.fromkeys(led[answer.node_id], answer.error)
        for partition, offset in _read(wire, answer).items():
            offsets.setdefault(partition, {})[answer.item] = offset
    found = {
        partition: _in_order(PartitionOffsets(partition, *(bounds[bound] for bound in _BOUNDS)))
        for partition, bounds in offsets.items()
        if len(bounds) == len(_BOUNDS)
    }
    return found, hopeless


def _in_order(offsets: PartitionOffsets) -> PartitionOffsets:
    """The same; raises Undecodable where they cannot be those of a log."""
    start, stable, end = offsets.log_start_offset, offsets.last_stable_offset, offsets.high_watermark
    if 0 <= start <= stable <= end:
        return offsets
    raise Undecodable(
        f"the leader of {offsets.topic_partition} answered ListOffsets with log start offset {start}, last stable "
        f"offset {stable} and high watermark {end}: none may be below 0 or above the next"
    )


def _read(wire: Wire, answer: Answer[_Bound]) -> Mapping[TopicPartition, int]:
    """Offsets in one answer, without the partitions to ask again."""
    if answer.error is not None:
        if isinstance(answer.error, Unreachable):
            return {}
        raise answer.error
    offsets = {}
    assert answer.response is not None
    for topic in answer.response.topics:
        for partition in topic.partitions:
            if partition.error_code in MOVED or partition.error_code == UNKNOWN_TOPIC_OR_PARTITION:
                continue
            if partition.error_code:
                resource = f"Topic {topic.name}"
                code = partition.error_code
                raise protocol_error(code, principal=wire.principal, operation="Describe", resource=resource)
            offsets[TopicPartition(topic.name, partition.partition_index)] = partition.offset
    return offsets
