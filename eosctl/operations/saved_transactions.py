"""The transactions commands answered from a snapshot: the same views over what was saved."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from eosctl.analysis.connect_waits import ConnectTopics, waiting_parts
from eosctl.analysis.hanging import find_candidates, join_open_transactions
from eosctl.analysis.last_stable import held_back, stability
from eosctl.errors import UsageError
from eosctl.model.hanging import HeldBack, JoinedTransactions, OpenTransaction
from eosctl.model.last_stable import PartitionStability
from eosctl.model.names import TopicPartition
from eosctl.model.partition_producers import NO_LEADER, PartitionProducers, ProducersFacts
from eosctl.model.producers import ActiveProducer
from eosctl.model.skipped import Skipped
from eosctl.model.snapshot import Snapshot
from eosctl.model.transaction_log import TRANSACTION_LOG, TransactionLogFacts
from eosctl.model.transactions import TransactionDescription
from eosctl.operations.owners import ConnectNames, saved_connect_names
from eosctl.operations.partitions import Wanted, chosen

ALL_AGES = -1 << 62
WHOEVER_SAVED = "whoever saved the snapshot"

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Saved:
    """A snapshot whose transactions were read, and the names that its transactional IDs are held against."""

    snapshot: Snapshot
    transactions: Mapping[str, TransactionDescription | Skipped]
    connect: ConnectNames

    @property
    def described(self) -> Mapping[str, TransactionDescription]:
        """The IDs whose coordinators answered."""
        return {name: each for name, each in self.transactions.items() if not isinstance(each, Skipped)}

    @property
    def silent_coordinators(self) -> tuple[str, ...]:
        """Why IDs may be missing or not described: coordinators that did not answer."""
        undescribed = (each.reason for each in self.transactions.values() if isinstance(each, Skipped))
        return tuple(dict.fromkeys((*self.snapshot.unlisted, *undescribed, *self._leaderless())))

    def _leaderless(self) -> tuple[str, ...]:
        """What snapshots of older versions tell of it."""
        producers = self.snapshot.producers
        partitions = {} if isinstance(producers, Skipped) else producers.partitions
        lost = [
            str(place)
            for place, each in partitions.items()
            if place.topic == TRANSACTION_LOG and each.leader == NO_LEADER
        ]
        if self.snapshot.unlisted or not lost:
            return ()
        return (f"when the snapshot was saved {', '.join(lost)} had no leader, so the IDs in them are not known",)

    @property
    def cluster_id(self) -> str | None:
        """The cluster it was saved from; None where that was not read."""
        cluster = self.snapshot.cluster
        return None if isinstance(cluster, Skipped) else cluster.cluster_id

    @property
    def log(self) -> TransactionLogFacts:
        """The transaction log; raises UsageError where it was not read."""
        return _section(self.snapshot.transaction_log, "transaction log")

    @property
    def producers(self) -> ProducersFacts:
        """The producers of all partitions; raises UsageError where they were not read."""
        return _section(self.snapshot.producers, "producers of partitions")

    @property
    def transactional_ids(self) -> dict[int, str]:
        """Producer ID to the transactional ID that held it."""
        return {each.producer.producer_id: name for name, each in self.described.items()}


def read_saved(path: Path, group_id: str | None) -> Saved:
    """The snapshot in the file; raises UsageError where it holds no transactions. group_id wins over its own."""
    from eosctl.sources.snapshot_file import read_snapshot_file

    snapshot = read_snapshot_file(path)
    transactions = _section(snapshot.transactions, "transactions")
    return Saved(snapshot, transactions, saved_connect_names(snapshot, group_id))


def _section(section: T | Skipped, noun: str) -> T:
    if isinstance(section, Skipped):
        raise UsageError(f"the snapshot holds no {noun}: {section.reason}")
    return section


def saved_partitions(saved: Saved, wanted: Wanted) -> dict[TopicPartition, PartitionProducers]:
    """The partitions wanted (all, where none is named); UsageError for a topic or partition that it does not have."""
    partitions = saved.producers.partitions
    missing = sorted(wanted.keys() - {each.topic for each in partitions})
    if missing:
        raise UsageError(f"the snapshot has no topic {', '.join(missing)}")
    leaders = {place: each.leader for place, each in partitions.items()}
    kept = chosen(leaders, wanted) if wanted else leaders
    return {place: partitions[place] for place in kept}


def saved_joined(
    saved: Saved, partitions: Mapping[TopicPartition, PartitionProducers], max_timeout_ms: int
) -> JoinedTransactions:
    """What KIP-664's rule judges, as it was saved; undecided where a coordinator that might know it did not answer.

    Raises NotAuthorized where not all IDs could be seen then.
    """
    from eosctl.sources.open_transactions import require_access

    require_access(saved.producers.access, WHOEVER_SAVED)
    candidates = find_candidates(_producers(partitions), saved.snapshot.as_of, max_timeout_ms)
    joined = join_open_transactions(candidates, saved.transactional_ids, saved.described)
    reasons = saved.silent_coordinators
    unknown = frozenset(each.producer.producer_id for each in joined if each.transactional_id is None)
    hidden = unknown if reasons else frozenset()
    return JoinedTransactions(
        tuple(each for each in joined if each.producer.producer_id not in hidden),
        tuple(each for each in joined if each.producer.producer_id in hidden),
        reasons,
    )


def _producers(partitions: Mapping[TopicPartition, PartitionProducers]) -> list[ActiveProducer]:
    return [active for each in partitions.values() for active in each.producers]


def saved_held_back(
    saved: Saved, transactions: Sequence[OpenTransaction], topics: ConnectTopics | None
) -> tuple[HeldBack, ...]:
    """What each open transaction kept from readers, in their order."""
    found = []
    for each in transactions:
        place = saved.producers.partitions[each.topic_partition]
        groups = place.waiting
        names = [] if isinstance(groups, Skipped) else [group.group_id for group in groups]
        commits = place.commits
        mine = commits if isinstance(commits, Skipped) else commits.get(each.producer.producer_id, ())
        offsets = Skipped("its offsets were not read") if place.offsets is None else place.offsets
        parts = waiting_parts(each.topic_partition.topic, names, topics)
        found.append(held_back(each, offsets, groups, parts, mine))
    return tuple(found)


def saved_stability(
    saved: Saved, partitions: Mapping[TopicPartition, PartitionProducers], *, all_of_them: bool
) -> tuple[tuple[PartitionStability, ...], int]:
    """Partitions with their last stable offsets, all or those held back; and how many hold nothing back."""
    offsets = {place: each.offsets for place, each in partitions.items() if each.offsets is not None}
    held = {place: each for place, each in offsets.items() if each.held_back > 0}
    opened = join_open_transactions(
        find_candidates(_producers(partitions), saved.snapshot.as_of, ALL_AGES),
        saved.transactional_ids,
        saved.described,
    )
    since = {place: each.since_ms for place, each in partitions.items() if each.since_ms is not None}
    return stability(offsets if all_of_them else held, opened, since), len(offsets) - len(held)
