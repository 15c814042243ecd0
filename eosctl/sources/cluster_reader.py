"""The one way in which operations read a cluster: live, from a snapshot, or in tests from a dict.

A method returns a fact, or Skipped with the reason if an answer can do without it. It raises an EosctlError if the fact
is the answer itself. `coverage` keeps both: the requested facts and the unread ones.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import wraps
from threading import Lock
from time import monotonic
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar, cast

from msgspec import Struct
from msgspec.structs import replace

from eosctl.clients.wire import Wire
from eosctl.errors import EosctlError, UsageError
from eosctl.model import transaction_log
from eosctl.model.client_properties import ClientProperties
from eosctl.model.names import TopicPartition
from eosctl.model.skipped import Coverage, Skipped, read_or_skip, unread_in
from eosctl.model.topics import PartitionOffsets, RecordsDigest, RecordTally, TopicDescription
from eosctl.model.workers import LiveOwners, possible_groups

if TYPE_CHECKING:
    from eosctl.model.acls import ClusterAcls
    from eosctl.model.client_roles import ConnectorConfig
    from eosctl.model.config_topic import ConfigTopicLog
    from eosctl.model.evidence import InternalTopic, Preflight, Topics, TransactionLog, WorkerEvidence
    from eosctl.model.groups import ConnectGroup, ConsumerMembers, Groups, ListedGroup, ShareGroups
    from eosctl.model.hanging import FirstBatch, OpenTransaction, PendingCommit, WaitingGroup
    from eosctl.model.offsets import ConnectorOffset, OffsetsTopic, StorePlace
    from eosctl.model.timeline import TimelineFacts
    from eosctl.model.times import ClusterClock
    from eosctl.model.topics import ClusterFacts
    from eosctl.model.transaction_log import LogEnd, LoggedHolders, TransactionLogRecords
    from eosctl.model.transactions import (
        ActiveProducer,
        AnsweredProducers,
        Described,
        ListedTransactions,
        TransactionalIdAccess,
        TransactionState,
    )
    from eosctl.model.versions import KafkaVersion, Release
    from eosctl.model.workers import ConnectFacts, ConnectorStatus, KnownPhase
    from eosctl.sources.audit_log import OpenSource, RecordLog


# Requests about topics and their record batches: a part of ClusterReader.


ReadTopics = Mapping[str, TopicDescription]


class TopicReader(Protocol):
    """Topics, who writes to them, and their record batches."""

    def topic_names(self) -> frozenset[str]:
        """Every topic that may be described."""

    def topics(self, names: Collection[str], settings: Collection[str]) -> ReadTopics:
        """Each of these topics that exists, with these settings."""

    def first_keys(self, topic: str) -> Sequence[bytes | None]:
        """Keys of the first records in partition 0."""

    def records_digest(self, topic: str, most: int | None = None) -> RecordsDigest | Skipped:
        """The digest of the first `most` committed records (None: of all) in partition 0."""

    def active_topics(self, connectors: Sequence[str]) -> Mapping[str, tuple[str, ...] | Skipped] | Skipped:
        """The topics that each connector was seen to use since its last reset (KIP-558)."""

    def bounds(self, partitions: Collection[TopicPartition]) -> Mapping[TopicPartition, PartitionOffsets]:
        """The offsets of these partitions at one moment: a transaction that ended below a last stable offset lies below
        every high watermark.

        Raises UsageError for a partition that does not exist, TimedOut for one without a leader.
        """

    def record_batches(self) -> OpenSource | Skipped:
        """Opens the record batches of partitions, in this process and in others."""

    def timeline(self) -> RecordLog | TimelineFacts | Skipped:
        """The partitions to read events from, or the events that were saved."""


Configs = Mapping[str, Mapping[str, object]]
Wanted = Mapping[str, frozenset[int] | None]
"""Topic to its wanted partitions; None for all."""
Servers = frozenset[str]
CommitPlace = tuple[TopicPartition, int, int]
ProducersByPartition = Iterator[tuple[TopicPartition, "Iterable[ActiveProducer] | Skipped"]]
Replicas = Mapping[TopicPartition, Sequence[int]]
ALL_TOPICS: Final = "all topics"
"""The name of a list of all topics in the coverage if brokers may hide some."""


class ClusterReader(TopicReader, Protocol):
    """Requests about a Kafka cluster and the Connect cluster on it."""

    @property
    def group_id(self) -> str | None:
        """The Connect cluster's group.id, where it is known."""

    @property
    def coverage(self) -> Coverage:
        """The facts requested until now, and the unread ones."""

    def optional_reads(self) -> AbstractContextManager[None]:
        """Facts requested in this block only add to the answer: without them no verdict changes and nothing is left
        out, so the answer is complete. Not for several threads."""

    @property
    def cluster_id(self) -> str | None:
        """The Kafka cluster's ID; None where it was not read."""

    @property
    def principal(self) -> str:
        """Who reads, as the brokers name the user."""

    def ask_cluster_id(self) -> str:
        """The Kafka cluster's ID as a broker answers now; raises OtherCluster where it is another one than before."""

    def now(self) -> int:
        """The time that facts are judged at, in ms since the epoch."""

    def every(self, seconds: float) -> Iterator[None]:
        """Yields at this interval in seconds; raises UsageError if facts never change."""

    # -- brokers ------------------------------------------------------------------------------------------------------

    def cluster(self) -> ClusterFacts | Skipped:
        """Cluster ID, brokers and the least transaction.max.timeout.ms among them."""

    def clock(self) -> ClusterClock | Skipped:
        """The cluster's clock beside the one of `now`."""

    def broker_settings(self) -> Mapping[int, Mapping[str, str] | Skipped] | Skipped:
        """The settings of each live broker that the rules ask for, by node ID."""

    def broker_releases(self) -> Mapping[int, Release | Skipped] | Skipped:
        """Each live broker's release by its API versions, by node ID."""

    def finalized_features(self) -> Mapping[str, int] | Skipped:
        """The level of each feature that the cluster has finalized, by name; one at level 0 is not there."""

    def internal_topic(self, role: str, name: str) -> InternalTopic:
        """The workers' topic for `role` (config, offsets or status) with its settings."""

    def topic_facts(self, names: Collection[str]) -> Topics | Skipped:
        """Each of these topics with its settings; None where it does not exist."""

    def transaction_log_topic(self) -> TransactionLog | Skipped | None:
        """`__transaction_state` and who leads its partitions; None before the first transactional ID is used."""

    def groups(self) -> Mapping[str, ListedGroup] | Skipped:
        """Every group that may be described, by ID."""

    def share_groups(self, group_ids: Collection[str]) -> ShareGroups | Skipped:
        """The isolation level and the start offsets of each of these share groups."""

    def acls(self, topics: Collection[str]) -> ClusterAcls:
        """The bindings of the cluster, and which of these topics exist."""

    # -- Connect ------------------------------------------------------------------------------------------------------

    def require_topic(self, role: str, topic: str) -> None:
        """Raises UsageError where this topic for `role` (config, offsets or status) is known to be another Connect
        group's, or is a default that nothing shows to be this group's.
        """

    def require_workers(self, group_id: str) -> None:
        """The group is this reader's from here on. Raises UsageError where a named worker is known to be of another."""

    def config_topic(self, topic: str, *, principals: bool = False) -> ConfigTopicLog:
        """The config topic with its records, a stream that can be read once.

        With `principals` what names a client's principal stays readable; secrets are masked in both cases.
        """

    def sparing_workers(self) -> AbstractContextManager[None]:
        """In this block, `connect` and `connect_version` are Skipped if no worker answers soon: for answers that can
        do without, such as those about a stuck worker. Not for several threads."""

    def connect(self) -> ConnectFacts | Skipped:
        """The workers' present answer. Raises the first error if workers were named and none answers."""

    def connect_version(self) -> KafkaVersion | Skipped:
        """The version that the workers speak together: the oldest of those that name one."""

    def connector_configs(self) -> Configs | Skipped | None:
        """Source connectors' configs as Connect REST has them, masked; None where no worker was named."""

    def client_configs(self) -> Mapping[str, ConnectorConfig] | None:
        """Each connector's config with its secrets, to find principals in; None where no worker was named."""

    def connect_group(self, group_id: str) -> ConnectGroup | Skipped:
        """The group that the workers form."""

    def connect_groups(self, group_ids: Collection[str]) -> Groups | Skipped:
        """Each of these groups with the tasks of its members; without members where it does not exist."""

    def groups_elsewhere(self, group_id: str, servers: Mapping[str, Servers]) -> Groups | Skipped:
        """The group of this ID in the Kafka cluster behind the bootstrap.servers of each connector.

        A connector whose servers lead to this cluster is left out.
        """

    def worker_evidence(self) -> Mapping[str, WorkerEvidence | Skipped] | Skipped:
        """Each worker's report about itself, by its address."""

    def connector_statuses(self) -> Mapping[str, ConnectorStatus] | Skipped:
        """Every connector with the states of its tasks, by name."""

    def ending_tasks(self, connector: str) -> tuple[str, ...]:
        """Numbers of the tasks of a connector that does not exist which have not ended; their end is waited for."""

    def config_digest(self, connector: str) -> str | None:
        """The digest of the connector's config (codecs.connector_files); None where it does not exist."""

    def connector_offsets(self, connectors: Collection[str]) -> Mapping[str, tuple[ConnectorOffset, ...] | Skipped]:
        """The workers' answer about each connector's offsets, without those that they cannot report (before 3.5)."""

    def preflight(self, connectors: Collection[str] | None = None) -> Mapping[str, Preflight] | Skipped:
        """The answer of each of these source connectors (None: all) when exactly-once is required."""

    # -- offsets ------------------------------------------------------------------------------------------------------

    def source_support(self) -> KnownPhase | Skipped:
        """Whether the workers have exactly-once source support enabled."""

    def worker_offsets_topic(self) -> str | None:
        """The workers' offset.storage.topic, where the reader knows it."""

    def worker_servers(self) -> Servers | Skipped:
        """The workers' bootstrap.servers."""

    def worker_clients(self) -> Mapping[str, str] | Skipped:
        """The workers' own settings that decide where offsets lie and how they are read: WorkerSettings.clients."""

    def cluster_ids(self, places: Iterable[Servers | None]) -> Mapping[Servers, str | Skipped]:
        """The Kafka cluster behind each of these bootstrap.servers; None is no request.

        Servers that did not answer are not waited for again by this reader.
        """

    def offsets_topic(self, place: StorePlace) -> OffsetsTopic | Skipped | None:
        """The offsets topic there, folded; None: it does not exist; Skipped: not in the snapshot. May raise."""

    # -- transactions -------------------------------------------------------------------------------------------------

    def transactional_ids(
        self, *, states: Iterable[TransactionState] = (), producer_ids: Iterable[int] = (), under: str = ""
    ) -> ListedTransactions:
        """The IDs that the coordinators list, and why others may be missing.

        under is a prefix of IDs that the principal may Describe, where it may not Describe all.
        """

    def describe(
        self, transactional_ids: Iterable[str], coordinators: Mapping[str, int] | None = None
    ) -> Mapping[str, Described]:
        """The coordinators' state of each ID: None if they do not know it, the error if one did not answer.

        coordinators are the nodes that listed some of the IDs; each gets its IDs first.
        """

    @property
    def unknown_id(self) -> str:
        """The meaning of an ID that `describe` does not know."""

    def access(self) -> TransactionalIdAccess | Skipped:
        """Whether brokers show every transactional ID to this principal."""

    def logged_ids(self) -> int | Skipped:
        """The number of IDs in the transaction log, also those hidden from the principal."""

    def transaction_log(
        self,
        transactional_ids: Collection[str] = (),
        after: Mapping[int, LogEnd] | None = None,
        prefix: str = "",
        most_bytes: int | None = None,
    ) -> TransactionLogRecords:
        """The transaction log, of the partitions that these IDs belong to (none: all). Records can be read once.

        With `after` only the records of these IDs, and only those after the ends of an earlier reading, if the log was
        neither truncated nor compacted since. With `prefix` records of other IDs may be left out. After most_bytes the
        records end with Refused.
        """

    def logged_holders(self, producer_ids: Collection[int], most_bytes: int | None = None) -> LoggedHolders:
        """The IDs that held these producer IDs, in the whole transaction log.

        Reads at most so many bytes; the next request for some of these producer IDs goes on there.
        """

    def leaderless(self, partitions: Iterable[TopicPartition]) -> frozenset[TopicPartition] | Skipped:
        """The partitions without a leader now."""

    # -- partitions ---------------------------------------------------------------------------------------------------

    def partitions(self, wanted: Wanted, broker: int | None = None) -> Mapping[TopicPartition, int]:
        """The wanted partitions (none named: all that may be described) and their leaders (NO_LEADER: none).

        Raises UsageError for a topic or partition that does not exist.
        """

    def producers(self, leaders: Mapping[TopicPartition, int], *, quiet: bool = False) -> AnsweredProducers:
        """The producers that these partitions' leaders remember, as far as they answer."""

    def producers_by_partition(self, leaders: Mapping[TopicPartition, int]) -> ProducersByPartition:
        """The same for each of these partitions once, for very many: only a few answers are in memory at a time."""

    def replicas(self) -> Replicas | Skipped:
        """The brokers of each partition that may be described."""

    def offsets(self, partitions: Collection[TopicPartition]) -> Mapping[TopicPartition, PartitionOffsets | Skipped]:
        """Log start offset, last stable offset and high watermark of each."""

    def record_tallies(
        self, positions: Mapping[PartitionOffsets, Collection[int]], most_bytes: int | None = None
    ) -> Mapping[TopicPartition, RecordTally | Skipped]:
        """Counts of the content between each of these offsets and the last stable offset of its partition.

        Reads the records, at most so many bytes, in the order of the positions; the next request goes on there.
        """

    def first_timestamps(
        self, offsets: Mapping[TopicPartition, int], leaders: Mapping[TopicPartition, int]
    ) -> Mapping[TopicPartition, int]:
        """The timestamp of the first batch at or after each offset, in ms."""

    def first_batches(
        self, positions: Collection[tuple[TopicPartition, int]], leaders: Mapping[TopicPartition, int]
    ) -> Mapping[tuple[TopicPartition, int], FirstBatch] | Skipped:
        """The first batch at or after each of these offsets; those not read are left out."""

    def waiting_groups(
        self, offsets: Mapping[TopicPartition, PartitionOffsets]
    ) -> Mapping[TopicPartition, tuple[WaitingGroup, ...] | Skipped] | Skipped:
        """The groups that may wait at the last stable offset of each partition."""

    def committed_offsets(self, group_id: str) -> Mapping[TopicPartition, int] | Skipped:
        """Every offset that the group committed; of a share group its start offsets."""

    def consumer_members(self, group_ids: Collection[str]) -> ConsumerMembers | Skipped:
        """The members of each of these consumer groups."""

    def committed_by_group(self) -> Mapping[str, Mapping[TopicPartition, int] | Skipped] | Skipped:
        """Every offset that each of the listed consumer groups committed."""

    def pending_commits(
        self, transactions: Collection[OpenTransaction]
    ) -> Mapping[CommitPlace, tuple[PendingCommit, ...] | Skipped]:
        """The offset commits that open transactions hold up, by their place."""


def read_live_owners(
    reader: ClusterReader,
    transactional_ids: Iterable[str],
    connectors: Mapping[str, ConnectorStatus] | None,
    own_group: str | None = None,
    besides: str | None = None,
) -> LiveOwners:
    """The present owners of the IDs, by the groups that may have them and by the connectors of own_group that REST
    reports (None: no REST). The group `besides` is left out."""
    wanted = possible_groups(transactional_ids) - {besides}
    groups = reader.connect_groups(wanted) if wanted else {}
    described = dict.fromkeys(wanted, groups) if isinstance(groups, Skipped) else groups
    return LiveOwners.of(described, own_group, connectors)


def read_task_states(reader: ClusterReader) -> Mapping[str, ConnectorStatus] | Skipped:
    """The connectors with the states of their tasks, where a worker answers soon: groups show most without them.

    A worker that is stuck is why producers are fenced.
    """
    with reader.optional_reads(), reader.sparing_workers():
        connect = reader.connect()
    return connect if isinstance(connect, Skipped) else connect.connectors


def require_sources(statuses: Mapping[str, ConnectorStatus] | Skipped, names: Iterable[str]) -> None:
    """UsageError for a connector that workers call a sink: its position is its consumer group's."""
    known = {} if isinstance(statuses, Skipped) else statuses
    for name in names:
        if name in known and known[name].type == "sink":
            raise UsageError(
                f"connector {name} is a sink: it has no source offsets and no transactional IDs",
                hint="a sink's position is in its consumer group (an Iceberg sink has two): "
                f"`eosctl connector show {name}` shows it",
            )


# Facts that readers were asked for and did not read, and facts that several readers of one session share.


F = TypeVar("F", bound=Callable[..., Any])
R = TypeVar("R")


class KeptFact(Struct, frozen=True):
    """A fact, the notes of its reading, and its expiry for later sessions (on the monotonic clock)."""

    fact: object
    noted: Coverage
    until: float


class KeptFacts:
    """Facts that several readers of one session share, each by its question; a few are for later sessions, too.

    silent are the workers that did not answer in this session, by their addresses. tallies are of topics' records, by
    the ID of the topic and the partition. holders are from the transaction log.
    """

    def __init__(self) -> None:
        self.by_question: dict[tuple[object, ...], KeptFact] = {}
        self.tallies: dict[tuple[str, TopicPartition], RecordTally] = {}
        self.silent: dict[str, Skipped] = {}
        self.holders = transaction_log.LoggedHolders()

    def probes(self, processes: object, kept_s: float) -> dict[str, bool]:
        """The answers of each of these processes by address, to be extended; later sessions use them as well."""
        kept = KeptFact({}, Coverage(), monotonic() + kept_s)
        return cast("dict[str, bool]", self.by_question.setdefault(("probes", processes), kept).fact)

    def next_session(self) -> None:
        """Forgets the facts of the session that is over, and those that are too old."""
        now = monotonic()
        self.silent = {}
        self.by_question = {question: kept for question, kept in self.by_question.items() if kept.until > now}


class CoverageLog:
    """The facts requested of a reader, in order. Readers inherit it; threads may share one.

    With `kept`, some facts come from an earlier reader; not for several threads.
    """

    def __init__(self, kept: KeptFacts | None = None) -> None:
        self._coverage, self._lock, self._needed, self._kept = Coverage(), Lock(), True, kept

    @property
    def coverage(self) -> Coverage:
        """The facts requested until now, and the unread ones."""
        return self._coverage

    @contextmanager
    def optional_reads(self) -> Iterator[None]:
        """Facts requested in this block are optional."""
        before, self._needed = self._needed, False
        try:
            yield
        finally:
            self._needed = before

    def note(self, what: str, fact: object, *, needed: bool = True) -> None:
        """Keep that `what` was requested, and the Skipped parts of `fact`."""
        with self._lock:
            unread = (
                each if needed and self._needed else replace(each, needed=False) for each in unread_in(what, fact)
            )
            self._coverage += Coverage((what,), tuple(unread))

    def noted(self, what: str, records: Iterable[R]) -> Iterator[R]:
        """The same records; the error that ends them is kept in the coverage as `what`."""
        try:
            yield from records
        except EosctlError as error:
            self.note(what, Skipped.of(error))
            raise


def tracked(what: str, *, once: bool = False, kept_s: float = 0.0) -> Callable[[F], F]:
    """A reader's method whose answer, or error, is kept in its coverage as `what`; {} is its first argument.

    once: readers that share their facts request it once, as far as the answer was complete; with options, each time.
    Sessions that share them, too, request it again when it was `kept_s` old at the end of the session before.
    """

    def decorate(method: F) -> F:
        def ask(reader: CoverageLog, *args: object, **options: object) -> object:
            name = what.format(*args) if "{" in what else what
            try:
                fact = method(reader, *args, **options)
            except EosctlError as error:
                reader.note(name, Skipped.of(error))
                raise
            reader.note(name, fact)
            return fact

        @wraps(method)
        def ask_once(reader: CoverageLog, *args: object, **options: object) -> object:
            kept = reader._kept
            if kept is None or not once or any(options.values()):
                return ask(reader, *args, **options)
            question = (method.__name__, *args)
            if question not in kept.by_question:
                before, reader._coverage = reader._coverage, Coverage()
                try:
                    fact = ask(reader, *args, **options)
                finally:
                    noted, reader._coverage = reader._coverage, before + reader._coverage
                if noted.unread:
                    return fact
                kept.by_question[question] = KeptFact(fact, noted, monotonic() + kept_s)
            found = kept.by_question[question]
            reader._coverage += found.noted
            return found.fact

        return ask_once  # type: ignore[return-value]  # the same signature

    return decorate


# The requested ones of the existing partitions.


def wanted_of(leaders: Mapping[TopicPartition, int], wanted: Wanted) -> Mapping[TopicPartition, int]:
    """The wanted partitions; none named: all. UsageError for one that does not exist."""
    for topic, indexes in wanted.items():
        for index in sorted(indexes or ()):
            if TopicPartition(topic, index) not in leaders:
                raise UsageError(f"topic {topic} has no partition {index}")
    return {
        place: leader
        for place, leader in leaders.items()
        if not wanted or (place.topic in wanted and _is_among(place.partition, wanted[place.topic]))
    }


def _is_among(index: int, indexes: frozenset[int] | None) -> bool:
    return indexes is None or index in indexes


# Kafka clusters that are reached by other bootstrap.servers, with the identity of the cluster at hand.


def trusting(wire: Wire) -> ClientProperties:
    """The identity of the wire, which trusts the brokers that its cluster advertises as much as those it began with."""
    return wire.properties.naming(f"{each.host}:{each.port}" for each in wire.brokers())


class OtherClusters:
    """Connections by bootstrap.servers that configs of connectors and workers name.

    Credentials are shown to none but the brokers that `identity` trusts. Servers that did not answer once are not
    waited for again.
    """

    def __init__(self, identity: ClientProperties, timeout_s: float) -> None:
        self._identity, self._timeout_s = identity, timeout_s
        self._failed: dict[Servers, EosctlError] = {}

    @contextmanager
    def wire_to(self, servers: Servers) -> Iterator[Wire]:
        """The brokers there, while the block runs. Raises the first error of servers that failed before."""
        if servers in self._failed:
            raise self._failed[servers]
        there = self._identity.at(sorted(servers), "a connector's or a worker's config")
        with Wire(there, timeout_s=self._timeout_s) as wire:
            yield wire

    def cluster_id(self, servers: Servers) -> str | Skipped:
        """The ID of the cluster behind these servers."""
        return read_or_skip(lambda: self._cluster_id(servers))

    def _cluster_id(self, servers: Servers) -> str:
        try:
            with self.wire_to(servers) as wire:
                return wire.cluster_id
        except EosctlError as error:
            self._failed[servers] = error
            raise


def read_producer_cluster(wires: Iterable[Wire], servers: Collection[str], connector: str) -> str | Skipped:
    """The ID of the cluster that the config of `connector` sends its producer to.

    It is asked with the identity of the first of the wires that trusts these brokers.
    """
    named_by = f"the config of connector {connector}"
    known = [(trusting(each).at(servers, named_by), each.timeout_s) for each in wires]
    properties, timeout_s = next((each for each in known if each[0].named_by is None), known[0])
    try:
        with Wire(properties, timeout_s=timeout_s) as wire:
            return wire.cluster_id
    except EosctlError as error:
        return Skipped.of(error)
