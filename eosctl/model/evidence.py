"""Facts about a Connect cluster and its Kafka cluster, for the rules. Skipped: not read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from eosctl.model.config_topic import ConfigTopicLog, Inspection
from eosctl.model.connectors import IcebergSink
from eosctl.model.groups import ConnectGroup, Groups, ShareGroups
from eosctl.model.hanging import ProducersFacts
from eosctl.model.names import TopicPartition, coordinator_partition
from eosctl.model.offsets import OffsetsFacts, OffsetsReport
from eosctl.model.report import Finding, Result
from eosctl.model.skipped import Cause, Coverage, Skipped, Unread, not_asked, unread_in
from eosctl.model.timeline import TimelineFacts
from eosctl.model.times import ClusterClock
from eosctl.model.topics import ClusterFacts, MirroredPartition, PartitionOffsets, TopicFacts
from eosctl.model.transaction_log import CommitHistory, LogReading, TransactionLogFacts, TransactionLogValue
from eosctl.model.transactions import TransactionDescription
from eosctl.model.versions import CAPPED_MIN_ISR, KafkaVersion, Release, all_since
from eosctl.model.workers import SOURCE_SUPPORT, ConnectFacts, ConnectorStatus, SourceSupport

if TYPE_CHECKING:
    from eosctl.model.acl_plan import AclDifference
    from eosctl.model.leftovers import Leftover

NOT_READ: Final = Skipped("it was not read")
UNKNOWN_PRINCIPAL: Final = "User:?"
"""A principal that neither the user nor a properties file names."""
Properties = Mapping[str, str]


class WorkerEvidence(Struct, frozen=True):
    """One worker's statements about itself.

    enabled is the answer of the validate probe: whether this very worker has exactly.once.source.support=enabled; the
    probe does not distinguish preparing from disabled. connectors are the names that this worker knows; plugins the
    classes of its connector plugins with the versions of each, the newest last.
    """

    url: str
    version: KafkaVersion | Skipped
    kafka_cluster_id: str
    enabled: bool | Skipped = NOT_READ
    connectors: frozenset[str] | Skipped = NOT_READ
    plugins: Mapping[str, tuple[str, ...]] | Skipped = NOT_READ


class Preflight(Struct, frozen=True):
    """The workers' validation messages for a source connector with exactly-once required; none if it supports it.

    One worker for each set of plugin versions was queried (KIP-891).
    """

    by_worker: Mapping[str, tuple[str, ...] | Skipped]

    @property
    def answers(self) -> Mapping[str, tuple[str, ...]]:
        return {url: each for url, each in self.by_worker.items() if not isinstance(each, Skipped)}

    @property
    def messages(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(message for each in self.answers.values() for message in each))

    @property
    def unread(self) -> tuple[Skipped, ...]:
        return tuple(each for each in self.by_worker.values() if isinstance(each, Skipped))


class InternalTopic(Struct, frozen=True):
    """One of the workers' topics: its role (config, offsets or status) and its settings.

    is_another: none of its first records has a key of Connect; only for the status topic.
    """

    role: str
    name: str
    facts: TopicFacts | Skipped | None
    is_another: bool = False


class TransactionLog(Struct, frozen=True):
    """`__transaction_state`: its settings, and the broker that leads each partition and so coordinates its IDs."""

    facts: TopicFacts
    leaders: Mapping[int, int]

    def coordinator(self, transactional_id: str) -> int:
        """The node that coordinates this ID; -1 where its partition has no leader."""
        return self.leaders.get(coordinator_partition(transactional_id, self.facts.partitions), -1)


Topics = Mapping[str, TopicFacts | Skipped | None]
"""Topics by name; None: the topic does not exist."""
Outputs = Mapping[str, tuple[str, ...] | Skipped]
"""The topics that each connector writes to, by its name."""


class IcebergState(Struct, frozen=True):
    """An Iceberg sink's control topic (None: it does not exist), and the second group, which its coordinator reads in.

    coordinators are the members of the group. committed are its offsets. unread_since is the time of the first record
    at or after each committed offset, in ms since the epoch; without an entry there is no such record.
    """

    sink: IcebergSink
    coordinators: int | Skipped
    committed: Mapping[TopicPartition, int] | Skipped
    topic: TopicFacts | Skipped | None
    offsets: Mapping[TopicPartition, PartitionOffsets | Skipped] | Skipped
    unread_since: Mapping[TopicPartition, int] | Skipped


class ClusterEvidence(Struct, frozen=True):
    """The part of Evidence that only a snapshot's own section keeps; its other sections hold or give the rest.

    active_topics are those that Connect saw each connector use.
    """

    workers: Mapping[str, WorkerEvidence | Skipped] | Skipped
    group: ConnectGroup | Skipped
    brokers: Mapping[int, Properties | Skipped] | Skipped
    internal_topics: tuple[InternalTopic, ...]
    transaction_log: TransactionLog | Skipped | None
    leaderless: frozenset[TopicPartition] | Skipped
    broker_releases: Mapping[int, Release | Skipped] | Skipped
    active_topics: Outputs | Skipped = NOT_READ
    topics: Topics | Skipped = NOT_READ
    other_groups: Groups | Skipped = NOT_READ
    groups_elsewhere: Groups | Skipped = NOT_READ
    finalized_features: Mapping[str, int] | Skipped = NOT_READ
    share_groups: ShareGroups | Skipped = NOT_READ


class Evidence(Struct, frozen=True):
    """All facts that rules may use, by name.

    clock compares the cluster's clock with ours, which gave as_of. workers has the workers by REST address, with their
    validate probe (Skipped: no answer); worker_files the user's properties files by name, without secrets. statuses are
    the answers of REST about connectors; preflight the answers to `exactly.once.support=required` about source
    connectors. inspection is the config topic's. brokers has each broker's settings, broker_releases the releases that
    their API versions show. finalized_features are feature levels by name, without those at level 0.

    transaction_log is None if the topic does not exist yet. transactions describes the IDs of the leader and the tasks:
    a missing ID is unknown to its coordinator, Skipped means that the coordinator did not answer. leaderless are
    partitions of their open transactions without a leader. transactional_ids are all IDs that the cluster lists;
    unlisted gives the reasons why IDs may be missing. open_transactions are the coordinators' answers about ongoing
    transactions; decided are transactions that were decided more than a minute ago and have missing markers. logged is
    the last record of each of these IDs in the transaction log, idle_since its time (ms since the epoch) if the ID has
    no ongoing transaction. commits are each ID's commits (no entry: none in the log). log_reading is the state that the
    next reading of the log continues.

    offset_findings are the findings of `offsets show`, offsets its whole answer if the evidence is about one connector.
    groups has the protocol type (consumer, connect, …) of each group by name, share_groups the share groups among them.
    acl_differences compares the cluster's ACLs with the needs of workers and connectors in each phase, acl_in_force
    with their needs in the present phase of each worker (Skipped: unknown). outputs are the topics that each source
    connector writes to in this cluster; topics has their settings and those of connector-specific offsets topics.
    other_groups are Connect groups that may have an ID of the tasks; groups_elsewhere, by connector that writes to
    another Kafka cluster, is the group there with the workers' group.id. mirrors are the positions of MirrorSource
    connectors in their source clusters. iceberg has the state of each Iceberg sink. about are the source connectors
    that were queried one by one (None: all).
    """

    as_of: int
    clock: ClusterClock | Skipped = NOT_READ
    group_id: str | Skipped = NOT_READ
    cluster_id: str | Skipped = NOT_READ
    workers: Mapping[str, WorkerEvidence | Skipped] | Skipped = NOT_READ
    group: ConnectGroup | Skipped = NOT_READ
    worker_files: Mapping[str, Properties] | Skipped = NOT_READ
    statuses: Mapping[str, ConnectorStatus] | Skipped = NOT_READ
    preflight: Mapping[str, Preflight] | Skipped = NOT_READ
    inspection: Inspection | Skipped = NOT_READ
    brokers: Mapping[int, Properties | Skipped] | Skipped = NOT_READ
    broker_releases: Mapping[int, Release | Skipped] | Skipped = NOT_READ
    finalized_features: Mapping[str, int] | Skipped = NOT_READ
    internal_topics: tuple[InternalTopic, ...] | Skipped = NOT_READ
    transaction_log: TransactionLog | Skipped | None = NOT_READ
    transactions: Mapping[str, TransactionDescription | Skipped] | Skipped = NOT_READ
    leaderless: frozenset[TopicPartition] | Skipped = NOT_READ
    transactional_ids: tuple[str, ...] | Skipped = NOT_READ
    unlisted: tuple[str, ...] = ()
    open_transactions: tuple[TransactionDescription, ...] | Skipped = NOT_READ
    decided: tuple[Leftover, ...] | Skipped = NOT_READ
    logged: Mapping[str, TransactionLogValue | Skipped] | Skipped = NOT_READ
    idle_since: Mapping[str, int | Skipped] | Skipped = NOT_READ
    commits: Mapping[str, CommitHistory | Skipped] | Skipped = NOT_READ
    log_reading: LogReading | None = None
    offset_findings: tuple[Finding, ...] | Skipped = NOT_READ
    offsets: OffsetsReport | Skipped = NOT_READ
    groups: Mapping[str, str] | Skipped = NOT_READ
    share_groups: ShareGroups | Skipped = NOT_READ
    acl_differences: Mapping[SourceSupport, AclDifference] | Skipped = NOT_READ
    acl_in_force: AclDifference | Skipped = NOT_READ
    outputs: Outputs | Skipped = NOT_READ
    topics: Topics | Skipped = NOT_READ
    other_groups: Groups | Skipped = NOT_READ
    groups_elsewhere: Groups | Skipped = NOT_READ
    mirrors: tuple[MirroredPartition | Skipped, ...] | Skipped = NOT_READ
    iceberg: Mapping[str, IcebergState] | Skipped = NOT_READ
    about: frozenset[str] | None = None

    def missing(self, names: Iterable[str]) -> tuple[tuple[str, Skipped], ...]:
        found = ((name, getattr(self, name)) for name in names)
        return tuple((name, fact) for name, fact in found if isinstance(fact, Skipped))

    @property
    def answering(self) -> tuple[WorkerEvidence, ...]:
        workers = () if isinstance(self.workers, Skipped) else self.workers.values()
        return tuple(worker for worker in workers if isinstance(worker, WorkerEvidence))

    @property
    def versions(self) -> tuple[KafkaVersion, ...]:
        return tuple(each.version for each in self.answering if not isinstance(each.version, Skipped))

    @property
    def worker_releases(self) -> tuple[Release, ...] | None:
        """The versions of the workers; None if a worker did not answer or names no version, or without any worker."""
        found = tuple(Release(version, version.next_patch) for version in self.versions)
        return None if self.silent or not found or len(found) < len(self.answering) else found

    @property
    def known_broker_releases(self) -> tuple[Release, ...] | None:
        """The releases by the brokers' API versions; None if one is not known."""
        releases = self.broker_releases
        if isinstance(releases, Skipped):
            return None
        found = tuple(each for each in releases.values() if not isinstance(each, Skipped))
        return found if len(found) == len(releases) else None

    @property
    def min_isr_is_capped(self) -> bool | None:
        """True if all brokers are of CAPPED_MIN_ISR or newer, False if one is older; None: unknown."""
        releases = () if isinstance(self.broker_releases, Skipped) else self.broker_releases.values()
        return all_since(CAPPED_MIN_ISR, releases)

    @property
    def silent(self) -> Mapping[str, Skipped]:
        workers = {} if isinstance(self.workers, Skipped) else self.workers
        return {url: fact for url, fact in workers.items() if isinstance(fact, Skipped)}

    def sources(self) -> tuple[str, ...]:
        """The source connectors that the evidence is about."""
        return tuple(name for name in self.all_sources() if self.about is None or name in self.about)

    def all_sources(self) -> tuple[str, ...]:
        statuses = {} if isinstance(self.statuses, Skipped) else self.statuses
        names = {name for name, status in statuses.items() if status.type == "source"}
        if not isinstance(self.inspection, Skipped):
            names |= {
                each.state.name for each in self.inspection.connectors if each.type == "source" and each.state.known
            }
        return tuple(sorted(names))

    def config(self, connector: str) -> Mapping[str, object]:
        """The connector's masked config by the config topic; empty where it is not known."""
        if isinstance(self.inspection, Skipped):
            return {}
        return self.inspection.state.state(connector).config or {}

    def configured(self, key: str) -> Mapping[str, str]:
        files = {} if isinstance(self.worker_files, Skipped) else self.worker_files
        return {name: properties[key] for name, properties in files.items() if key in properties}


def declared_support(properties: Properties) -> SourceSupport | None:
    """The phase in a worker's properties file; None if a worker refuses the value.

    A dedicated MirrorMaker's file has one phase for each of its clusters: None.
    """
    if "clusters" in properties:
        return None
    text = properties.get(SOURCE_SUPPORT, SourceSupport.DISABLED.value).lower()
    return SourceSupport(text) if text in set(SourceSupport) else None


NOT_ASKED: Final = not_asked("not asked")
NO_SECTIONS: Final = frozenset({"as_of", "group_id", "unlisted", "clock", "timeline"})


class Snapshot(Struct, frozen=True):
    """Facts about one cluster, read at as_of (ms since the epoch).

    group_id names the Connect cluster, None if it was not given. transactions describes every requested transactional
    ID that its coordinator knows, Skipped if the coordinator did not answer. unlisted gives the reasons why IDs or
    topics may be missing. offsets are those of source connectors. transaction_log has the last records of each ID,
    producers the producers of all partitions. clock compares the cluster's clock with ours, which gave as_of. timeline
    has the events of the last days.
    """

    as_of: int
    cluster: ClusterFacts | Skipped
    group_id: str | None
    config_topic: ConfigTopicLog | Skipped
    transactions: Mapping[str, TransactionDescription | Skipped] | Skipped
    connect: ConnectFacts | Skipped
    offsets: OffsetsFacts | Skipped = NOT_ASKED
    transaction_log: TransactionLogFacts | Skipped = NOT_ASKED
    producers: ProducersFacts | Skipped = NOT_ASKED
    evidence: ClusterEvidence | Skipped = NOT_ASKED
    clock: ClusterClock | Skipped = NOT_ASKED
    timeline: TimelineFacts | Skipped = NOT_ASKED
    unlisted: tuple[str, ...] = ()

    @property
    def coverage(self) -> Coverage:
        sections = {name: getattr(self, name) for name in self.__struct_fields__ if name not in NO_SECTIONS}
        unread = [each for name, fact in sections.items() for each in unread_in(name.replace("_", " "), fact)]
        unread += (Unread("transactional IDs and topics", reason, Cause.UNREACHABLE) for reason in self.unlisted)
        return Coverage(tuple(sections), tuple(unread))


class SnapshotFile(Result, frozen=True):
    snapshot: Snapshot
    file: str
