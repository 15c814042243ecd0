"""Open transactions under a prefix of transactional IDs, each with the sibling that committed a later one.

1. A Flink job has one ID for each transaction or a pool of IDs, a sink of Iceberg a new UUID for each start: siblings
   differ in their last number or UUID only.
2. A subtask of a Flink job commits its transactions in the order in which they began: one that is open while a sibling
   has committed a later one was left behind, by a restart from a later state or by a client that is gone.
3. Producers of a pool (Spring's, or the older Flink producer's subtasks) are siblings as well, and independent of each
   other. By the log alone the two look the same, so the sibling is named, and the transaction stays open.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from eosctl.late_pattern import late_pattern
from eosctl.model.hanging import NO_LEADER
from eosctl.model.leftovers import Leftover, LeftoverKind, MissingMarker
from eosctl.model.names import TopicPartition, coordinator_partition
from eosctl.model.skipped import Skipped
from eosctl.model.topics import TopicFacts
from eosctl.model.transaction_log import TransactionLogValue
from eosctl.model.transactions import AnsweredProducers, TransactionState
from eosctl.model.versions import CAPPED_MIN_ISR, KafkaVersion, Release, all_since

_LAST_PART: Final = late_pattern(
    r"[-_.]?(?:\d+|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})$", re.IGNORECASE
)
_COMMITTED: Final = frozenset({TransactionState.PREPARE_COMMIT, TransactionState.COMPLETE_COMMIT})


def writer_of(transactional_id: str) -> str | None:
    """The ID without its last number or UUID; None where it has neither."""
    found = _LAST_PART.search(transactional_id)
    return transactional_id[: found.start()] if found and found.start() else None


class LeftoverFold:
    """Takes in the last values of the IDs of one partition of the log after the other.

    Of an ID without a transaction in progress it keeps nothing, of a writer the latest commit. So memory is bounded by
    the IDs of the largest partition, and by the writers.
    """

    def __init__(self) -> None:
        self._open: dict[str, TransactionLogValue] = {}
        self._committed: dict[str, tuple[int, str]] = {}
        self.ids = 0
        self.misplaced = 0
        """Open ones in a partition where no coordinator looks for them (EOS300): none can end them."""

    def add_all(self, values: Mapping[str, TransactionLogValue], partition: int = 0, partitions: int = 0) -> None:
        """partition is where they lie, of so many (0: not known)."""
        self.ids += len(values)
        for name, value in values.items():
            if value.state.is_open:
                at_home = not partitions or coordinator_partition(name, partitions) == partition
                self.misplaced += not at_home
                if at_home:
                    self._open[name] = value
            if value.state in _COMMITTED and (writer := writer_of(name)) is not None:
                here = value.start_ms, name
                self._committed[writer] = max(self._committed.get(writer, here), here)

    def found(self) -> tuple[Leftover, ...]:
        """The IDs that have a transaction in progress, the oldest first."""
        found = [_leftover(name, value, self._committed) for name, value in self._open.items()]
        return tuple(sorted(found, key=lambda each: (each.value.start_ms, each.transactional_id)))


def find_leftovers(values: Mapping[str, TransactionLogValue]) -> tuple[Leftover, ...]:
    """IDs with a transaction in progress, by their last records; the oldest first."""
    fold = LeftoverFold()
    fold.add_all(values)
    return fold.found()


def _leftover(name: str, value: TransactionLogValue, committed: Mapping[str, tuple[int, str]]) -> Leftover:
    if value.state is not TransactionState.ONGOING:
        return Leftover(name, LeftoverKind.PREPARED, value)
    start, sibling = committed.get(writer_of(name) or "", (-1, ""))
    return Leftover(name, LeftoverKind.OPEN, value, sibling if start > value.start_ms else None)


# Why markers of a decided transaction do not arrive. Its coordinator sends them to the leaders of the partitions, again
# and again, and its description lists the partitions whose leaders have not confirmed theirs.


MARKERS_MS: Final = 60_000
"""Markers take less than a minute where brokers are well: a restart of a leader takes as long."""


class Answering(NamedTuple):
    """What is known of the brokers and topics that a marker goes to, Skipped: not read.

    releases are of brokers by node ID, topics by name.
    """

    releases: Mapping[int, Release | Skipped] | Skipped
    topics: Mapping[str, TopicFacts | Skipped | None] | Skipped


def missing_markers(
    partitions: Iterable[TopicPartition],
    leaders: Mapping[TopicPartition, int],
    answered: AnsweredProducers,
    producer_id: int,
    coordinator: int,
    known: Answering,
) -> tuple[MissingMarker, ...]:
    """One for each of these partitions, which the coordinator's description has; answered is what their leaders say."""
    still_open = {
        each.topic_partition
        for each in answered.producers
        if each.producer.producer_id == producer_id and each.transaction_start_offset is not None
    }
    found = []
    for place in sorted(partitions):
        leader = leaders.get(place, NO_LEADER)
        if leader == NO_LEADER:
            found.append(MissingMarker(place, None, "it has no leader: start the brokers that hold its replicas"))
        elif place in answered.unanswered:
            found.append(MissingMarker(place, leader, "its leader does not answer: restart that broker"))
        elif place in still_open:
            found.append(MissingMarker(place, leader, _why_not_written(place.topic, leader, coordinator, known)))
        else:
            why = f"the marker is written, and broker {coordinator}, the coordinator, has not noted it: restart it"
            found.append(MissingMarker(place, leader, why))
    return tuple(found)


UNVERSIONED: Final = KafkaVersion(4, 2), KafkaVersion(4, 3)
"""KAFKA-20322: 4.2.0 sends older brokers no markers; both have the same API versions; 4.2.1 sends them."""


def _why_not_written(topic: str, leader: int, coordinator: int, known: Answering) -> str:
    """Its leader answers, and the transaction is open there. A leader refuses a marker as it refuses acks=all.

    No quota is a reason: brokers exempt WriteTxnMarkers from request quotas (KafkaApis.handleWriteTxnMarkersRequest).
    """
    releases = {} if isinstance(known.releases, Skipped) else known.releases
    facts = known.topics if isinstance(known.topics, Skipped) else known.topics.get(topic)
    is_capped = all_since(CAPPED_MIN_ISR, [releases[leader]] if leader in releases else [])
    short = facts.shortage(is_capped) if isinstance(facts, TopicFacts) else facts
    if isinstance(facts, TopicFacts) and isinstance(short, str):
        what = "its leader answers and refuses the marker while too few replicas are in sync"
        is_thin = facts.lacks_replicas(is_capped)
        cure = "raise the replication factor" if is_thin else "start the brokers of its replicas"
        return f"{what}: {short}; {cure}"
    if _sends_none(releases.get(coordinator), releases.get(leader)):
        return (
            f"its leader answers and has no marker: it is older than 4.2, and broker {coordinator}, the coordinator, "
            "is of 4.2: 4.2.0 sends it none (KAFKA-20322), 4.2.1 does"
        )
    unsure = f". Whether enough replicas are in sync is not known: {short.reason}" if isinstance(short, Skipped) else ""
    return (
        f"its leader answers and has no marker: broker {coordinator}, the coordinator, does not reach its inter-broker "
        f"listener (`advertised.listeners`), or it refuses the marker. The coordinator's log has the reason{unsure}"
    )


def _sends_none(coordinator: Release | Skipped | None, leader: Release | Skipped | None) -> bool:
    if not isinstance(coordinator, Release) or not isinstance(leader, Release):
        return False
    return coordinator == Release(*UNVERSIONED) and leader.at_least < coordinator.at_least
