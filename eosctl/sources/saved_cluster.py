"""A cluster as a snapshot keeps it, and the files of snapshots and records."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Final, TypeVar

from eosctl.codecs.config_topic import decode_config_records
from eosctl.codecs.record_lines import read_record_lines
from eosctl.codecs.snapshot import decode_snapshot
from eosctl.errors import EosctlError, Undecodable, Unreachable, Unsupported, UsageError
from eosctl.files import RECORDS, SNAPSHOT, open_lines
from eosctl.model.acls import ClusterAcls
from eosctl.model.client_roles import ConnectorConfig
from eosctl.model.config_topic import ConfigRecord, ConfigTopicLog
from eosctl.model.evidence import ClusterEvidence, InternalTopic, Preflight, Snapshot
from eosctl.model.groups import ConnectGroup, Groups, ShareGroups
from eosctl.model.hanging import (
    NO_LEADER,
    FirstBatch,
    OpenTransaction,
    PartitionProducers,
    PendingCommit,
    ProducersFacts,
    WaitingGroup,
)
from eosctl.model.names import TopicPartition, coordinator_partition
from eosctl.model.offsets import ConnectorOffset, OffsetsFacts, OffsetsTopic, StorePlace, WorkerSettings
from eosctl.model.skipped import Cause, Skipped, not_asked
from eosctl.model.timeline import TimelineFacts
from eosctl.model.times import ClusterClock
from eosctl.model.topics import PartitionOffsets, RecordsDigest, RecordTally, TopicDescription, TopicFacts
from eosctl.model.transaction_log import (
    NEWER,
    LogEnd,
    LoggedHolders,
    NewerLogRecord,
    TransactionLogRecord,
    TransactionLogRecords,
)
from eosctl.model.transactions import (
    AnsweredProducers,
    Described,
    ListedTransactions,
    TransactionDescription,
    TransactionListing,
    TransactionState,
    why_undescribed,
)
from eosctl.model.workers import ConnectFacts, oldest_version
from eosctl.sources.audit_log import OpenSource
from eosctl.sources.cluster_reader import (
    CommitPlace,
    Configs,
    CoverageLog,
    ProducersByPartition,
    ReadTopics,
    Servers,
    Wanted,
    tracked,
    wanted_of,
)

NOT_SAVED: Final = Skipped("snapshots do not hold it", Cause.NOT_SAVED)

T = TypeVar("T")


def section_of(section: T | Skipped, noun: str) -> T:
    """The section of a snapshot; UsageError where it was not read when the snapshot was saved."""
    if isinstance(section, Skipped):
        raise UsageError(f"the snapshot holds no {noun}: {section.reason}")
    return section


def saved(what: str, fact: Callable[[Snapshot], T]) -> "Callable[[SavedCluster], T]":
    """A question without arguments, whose answer the snapshot has; `what` is its name in the coverage."""

    @tracked(what)
    def answer(reader: "SavedCluster") -> T:
        return fact(reader.snapshot)

    return answer


def in_evidence(fact: Callable[[ClusterEvidence], T]) -> Callable[[Snapshot], T | Skipped]:
    """A fact of the snapshot's evidence; Skipped where that was not read."""
    return lambda it: it.evidence if isinstance(it.evidence, Skipped) else fact(it.evidence)


def in_producers(fact: Callable[[ProducersFacts], T]) -> Callable[[Snapshot], T | Skipped]:
    """The same of its producers of partitions."""
    return lambda it: it.producers if isinstance(it.producers, Skipped) else fact(it.producers)


def in_connect(fact: Callable[[ConnectFacts], T]) -> Callable[[Snapshot], T | Skipped]:
    """The same fact in the workers' saved report."""
    return lambda it: it.connect if isinstance(it.connect, Skipped) else fact(it.connect)


NO_BATCHES: Final = Skipped("a snapshot holds no record batches", Cause.NOT_SAVED)
SAVING_PRINCIPAL: Final = "the principal that saved the snapshot"


class SavedCluster(CoverageLog):
    """Answers every question from one snapshot. UsageError where the section that a question is about was not read."""

    def __init__(self, snapshot: Snapshot, group_id: str | None = None) -> None:
        super().__init__()
        self.snapshot = snapshot
        self.group_id = group_id or snapshot.group_id

    @property
    def _offsets(self) -> OffsetsFacts:
        return section_of(self.snapshot.offsets, "offsets")

    @property
    def _evidence(self) -> ClusterEvidence | Skipped:
        return self.snapshot.evidence

    @staticmethod
    def sparing_workers() -> AbstractContextManager[None]:
        """They answered when the snapshot was saved, or did not."""
        return nullcontext()

    connect = saved("Connect workers", lambda it: it.connect)
    connect_version = saved("the workers' version", in_connect(lambda it: oldest_version(it.workers.values())))

    def connector_configs(self) -> Configs | Skipped | None:
        """The config topic has them."""
        return None

    def client_configs(self) -> Mapping[str, ConnectorConfig] | None:
        """No snapshot holds secrets."""
        return None

    worker_evidence = saved("worker", in_evidence(lambda it: it.workers))
    connector_statuses = saved("connector statuses", in_connect(lambda it: it.connectors))

    def ending_tasks(self, connector: str) -> tuple[str, ...]:
        """They ended, or did not, after the snapshot was saved."""
        raise UsageError(f"a snapshot does not show whether tasks of {connector} have ended: ask the cluster")

    def config_digest(self, connector: str) -> str | None:
        """No snapshot holds secrets."""
        raise UsageError(f"a snapshot does not hold the whole config of connector {connector}: ask the cluster")

    def connector_offsets(self, connectors: Collection[str]) -> Mapping[str, tuple[ConnectorOffset, ...] | Skipped]:
        return dict.fromkeys(connectors, NOT_SAVED)

    @tracked("preflight of connectors")
    def preflight(self, connectors: Collection[str] | None = None) -> Mapping[str, Preflight] | Skipped:
        return NOT_SAVED

    @property
    def _worker(self) -> WorkerSettings:
        return self._offsets.worker

    source_support = saved(
        "the workers' exactly.once.source.support", lambda it: section_of(it.offsets, "offsets").worker.exactly_once
    )

    def worker_offsets_topic(self) -> str | None:
        """The one that was saved; None where no offsets were."""
        offsets = self.snapshot.offsets
        return None if isinstance(offsets, Skipped) else offsets.worker.offsets_topic

    def worker_servers(self) -> Servers | Skipped:
        return self._worker.bootstrap_servers

    def worker_clients(self) -> Mapping[str, str] | Skipped:
        return self._worker.clients

    @tracked("topics")
    def topic_names(self) -> frozenset[str]:
        """The topics of partitions with producers, and Connect's internal topics."""
        return frozenset(self._partition_counts())

    def _partition_counts(self) -> Mapping[str, int]:
        producers = self.snapshot.producers
        counts = {name: each.partitions for name, each in self._facts().items()}
        for place in () if isinstance(producers, Skipped) else producers.partitions:
            counts[place.topic] = max(counts.get(place.topic, 0), place.partition + 1)
        return counts

    def _facts(self) -> Mapping[str, TopicFacts]:
        log = self.snapshot.config_topic
        found = [*(each.facts for each in self._offsets_topics()), *(() if isinstance(log, Skipped) else (log.facts,))]
        return {each.name: each for each in found if not isinstance(each, Skipped)}

    def _offsets_topics(self) -> Iterator[OffsetsTopic]:
        offsets = self.snapshot.offsets
        for place, topic in () if isinstance(offsets, Skipped) else offsets.topics.items():
            if place.bootstrap_servers is None and isinstance(topic, OffsetsTopic):
                yield topic

    @tracked("topics")
    def topics(self, names: Collection[str], settings: Collection[str]) -> ReadTopics:
        """Settings are those of Connect's own topics."""
        counts, facts = self._partition_counts(), self._facts()
        return {
            name: TopicDescription(name, counts[name], None, facts[name].settings if name in facts else NOT_SAVED)
            for name in names
            if name in counts
        }

    @tracked("settings of topic")
    def topic_facts(self, names: Collection[str]) -> Mapping[str, TopicFacts | Skipped | None] | Skipped:
        """Skipped for one that no connector had when the snapshot was saved."""
        known = self._evidence if isinstance(self._evidence, Skipped) else self._evidence.topics
        return known if isinstance(known, Skipped) else {name: known.get(name, NOT_SAVED) for name in names}

    @tracked("share groups")
    def share_groups(self, group_ids: Collection[str]) -> ShareGroups | Skipped:
        return self._evidence if isinstance(self._evidence, Skipped) else self._evidence.share_groups

    def first_keys(self, topic: str) -> Sequence[bytes | None]:
        """The keys of an offsets topic: a snapshot has no records of other topics."""
        return tuple(key for each in self._offsets_topics() if each.topic == topic for key in each.raw_keys())

    @tracked("records of topic {0}")
    def records_digest(self, topic: str, most: int | None = None) -> RecordsDigest | Skipped:  # the port's
        """No records but those of internal topics are saved."""
        return NO_BATCHES

    @tracked("active topics")
    def active_topics(self, connectors: Sequence[str]) -> Mapping[str, tuple[str, ...] | Skipped] | Skipped:
        known = NOT_SAVED if isinstance(self._evidence, Skipped) else self._evidence.active_topics
        return known if isinstance(known, Skipped) else {name: known.get(name, NOT_SAVED) for name in connectors}

    @tracked("offsets of")
    def bounds(self, partitions: Collection[TopicPartition]) -> Mapping[TopicPartition, PartitionOffsets]:
        producers = self.snapshot.producers
        known = {} if isinstance(producers, Skipped) else producers.partitions
        return {
            place: each.offsets for place, each in known.items() if place in partitions and each.offsets is not None
        }

    @tracked("record batches")
    def record_batches(self) -> OpenSource | Skipped:
        return NO_BATCHES

    @tracked("the timeline")
    def timeline(self) -> TimelineFacts | Skipped:
        """The events of the days before it was saved."""
        return self.snapshot.timeline

    @property
    def cluster_id(self) -> str | None:
        """The cluster it was saved from; None where that was not read."""
        cluster = self.snapshot.cluster
        return None if isinstance(cluster, Skipped) else cluster.cluster_id

    @property
    def principal(self) -> str:
        return SAVING_PRINCIPAL

    def ask_cluster_id(self) -> str:
        return section_of(self.snapshot.cluster, "cluster").cluster_id

    def now(self) -> int:
        return self.snapshot.as_of

    def every(self, seconds: float) -> Iterator[None]:
        """Raises UsageError."""
        raise UsageError("a snapshot does not change, so it cannot be watched")

    @property
    def _producers(self) -> ProducersFacts:
        return section_of(self.snapshot.producers, "producers of partitions")

    @property
    def _described(self) -> Mapping[str, TransactionDescription | Skipped]:
        return section_of(self.snapshot.transactions, "transactions")

    cluster = saved("the cluster", lambda it: it.cluster)

    def clock(self) -> ClusterClock | Skipped:
        return self.snapshot.clock

    broker_settings = saved("broker settings", in_evidence(lambda it: it.brokers))
    broker_releases = saved("broker releases", in_evidence(lambda it: it.broker_releases))
    finalized_features = saved("finalized features", in_evidence(lambda it: it.finalized_features))

    @tracked("{0} topic {1}")
    def internal_topic(self, role: str, name: str) -> InternalTopic:
        """Skipped where another topic was saved for the role."""
        saved = () if isinstance(self._evidence, Skipped) else self._evidence.internal_topics
        found = (each for each in saved if (each.role, each.name) == (role, name))
        return next(found, InternalTopic(role, name, NOT_SAVED))

    transaction_log_topic = saved("the transaction log's partitions", in_evidence(lambda it: it.transaction_log))
    groups = saved("groups", in_producers(lambda it: it.groups))

    @tracked("ACLs")
    def acls(self, topics: Collection[str]) -> ClusterAcls:
        return ClusterAcls(NOT_SAVED, self.cluster_id)

    def require_topic(self, role: str, topic: str) -> None:
        """It was asked as the snapshot was saved."""

    def require_workers(self, group_id: str) -> None:
        """None is asked."""

    def config_topic(self, topic: str, *, principals: bool = False) -> ConfigTopicLog:
        """The saved one, regardless of its name. Coverage keeps why it was not read then."""
        self.note("the config topic", self.snapshot.config_topic)
        return section_of(self.snapshot.config_topic, "config topic")

    @tracked("group {0}")
    def connect_group(self, group_id: str) -> ConnectGroup | Skipped:
        return in_evidence(lambda it: it.group)(self.snapshot)

    @tracked("Connect groups")
    def connect_groups(self, group_ids: Collection[str]) -> Groups | Skipped:
        """The workers' own, and those that might have had an ID of their connectors' tasks."""
        others = self._evidence if isinstance(self._evidence, Skipped) else self._evidence.other_groups
        known = {} if isinstance(others, Skipped) else others
        return {
            each: self.connect_group(each) if each == self.group_id else known.get(each, NOT_SAVED)
            for each in group_ids
        }

    @tracked("the groups elsewhere")
    def groups_elsewhere(self, group_id: str, servers: Mapping[str, Servers]) -> Groups | Skipped:
        return in_evidence(lambda it: it.groups_elsewhere)(self.snapshot)

    def cluster_ids(self, places: Iterable[Servers | None]) -> Mapping[Servers, str | Skipped]:
        return {servers: NOT_SAVED for servers in places if servers is not None}

    @tracked("offsets topic {0}")
    def offsets_topic(self, place: StorePlace) -> OffsetsTopic | Skipped | None:
        return self._offsets.topics.get(place, Skipped("it is not in the snapshot", Cause.NOT_SAVED))

    @tracked("transactional IDs")
    def transactional_ids(
        self, *, states: Iterable[TransactionState] = (), producer_ids: Iterable[int] = (), under: str = ""
    ) -> ListedTransactions:
        known = [each for each in self._described.values() if not isinstance(each, Skipped)]
        wanted_states, wanted_ids = frozenset(states), frozenset(producer_ids)
        listed = (
            TransactionListing(each.transactional_id, each.producer.producer_id, each.state, each.coordinator)
            for each in known
            if (not wanted_states or each.state in wanted_states)
            and (not wanted_ids or each.producer.producer_id in wanted_ids)
        )
        return ListedTransactions(tuple(sorted(listed)), {}, self._unlisted)

    @property
    def _unlisted(self) -> tuple[str, ...]:
        """Why IDs may be missing or not described."""
        undescribed = why_undescribed(self._described)
        return (*self.snapshot.unlisted, *(() if undescribed is None else (undescribed.reason,)))

    def describe(
        self, transactional_ids: Iterable[str], coordinators: Mapping[str, int] | None = None
    ) -> Mapping[str, Described]:
        """None where the snapshot has no such ID; Unreachable where a coordinator that may know it did not answer."""
        found = {name: self._described.get(name) for name in transactional_ids}
        answers = {name: self._absent if each is None else _unreachable(each) for name, each in found.items()}
        failed = {name: Skipped.of(each) for name, each in answers.items() if isinstance(each, EosctlError)}
        self.note("transactional ID", failed)
        return answers

    @property
    def _absent(self) -> Unreachable | None:
        for reason in self._unlisted:
            return Unreachable(f"{self.unknown_id}, or its coordinator did not answer: {reason}")
        return None

    @property
    def unknown_id(self) -> str:
        """It was not listed when the snapshot was saved."""
        return (
            "the snapshot does not have it: no coordinator knew it, or the principal that saved the snapshot "
            "might not see it"
        )

    access = saved("access to transactional IDs", in_producers(lambda it: it.access))

    def logged_ids(self) -> int | Skipped:
        """A snapshot keeps the last records of each ID only."""
        return NOT_SAVED

    @tracked("the transaction log")
    def transaction_log(
        self,
        transactional_ids: Collection[str] = (),
        after: Mapping[int, LogEnd] | None = None,
        prefix: str = "",
        most_bytes: int | None = None,
    ) -> TransactionLogRecords:
        """The last records of each ID."""
        log = section_of(self.snapshot.transaction_log, "transaction log")
        wanted = {coordinator_partition(name, len(log.leaders)) for name in transactional_ids} if log.leaders else ()
        unread = {place: why for place, why in log.unread.items() if not transactional_ids or place in wanted}
        left_out = max(0, log.read - len(log.records))
        return TransactionLogRecords(log.leaders, log.expiration_ms, log.records, unread, left_out)

    @tracked("the transaction log")
    def logged_holders(self, producer_ids: Collection[int], most_bytes: int | None = None) -> LoggedHolders:
        """By the last records of each ID."""
        log, wanted = section_of(self.snapshot.transaction_log, "transaction log"), frozenset(producer_ids)
        known = [each for each in log.records if isinstance(each, TransactionLogRecord)]
        newer = {each.partition: NEWER for each in log.records if isinstance(each, NewerLogRecord)}
        held = frozenset(each for record in known for each in record.holders(wanted))
        return LoggedHolders(wanted, held, unread={**newer, **log.unread})

    @tracked("leaders of open partitions")
    def leaderless(self, partitions: Iterable[TopicPartition]) -> frozenset[TopicPartition] | Skipped:
        """For partitions of transactions that were open when the snapshot was saved."""
        known = self._evidence if isinstance(self._evidence, Skipped) else self._evidence.leaderless
        return known if isinstance(known, Skipped) else known & frozenset(partitions)

    @tracked("partitions")
    def partitions(self, wanted: Wanted, broker: int | None = None) -> Mapping[TopicPartition, int]:
        """Raises UsageError for a topic that was not saved, and for a broker: replicas are not saved."""
        if broker is not None:
            raise UsageError("a snapshot does not hold the brokers of replicas, so it cannot answer --broker")
        leaders = {place: each.leader for place, each in self._producers.partitions.items()}
        missing = sorted(wanted.keys() - {each.topic for each in leaders})
        if missing:
            raise UsageError(f"the snapshot has no topic {', '.join(missing)}")
        return wanted_of(leaders, wanted)

    def _at(self, places: Iterable[TopicPartition]) -> Mapping[TopicPartition, PartitionProducers]:
        known = self._producers.partitions
        return {place: known[place] for place in places if place in known}

    def producers(self, leaders: Mapping[TopicPartition, int], *, quiet: bool = False) -> AnsweredProducers:
        """As the leaders remembered them when the snapshot was saved."""
        found = self._at(leaders)
        silent = tuple(place for place, each in found.items() if each.leader == NO_LEADER)
        self.note(
            "producers of", {place: Skipped(f"no leader answered for {place}", Cause.UNREACHABLE) for place in silent}
        )
        return AnsweredProducers(tuple(active for each in found.values() for active in each.producers), silent)

    def producers_by_partition(self, leaders: Mapping[TopicPartition, int]) -> ProducersByPartition:
        """As the leaders remembered them when the snapshot was saved."""
        for place, each in self._at(leaders).items():
            silent = Skipped(f"no leader answered for {place}", Cause.UNREACHABLE)
            yield place, silent if each.leader == NO_LEADER else each.producers

    replicas = saved("replicas", lambda _: NOT_SAVED)

    @tracked("offsets of")
    def offsets(self, partitions: Collection[TopicPartition]) -> Mapping[TopicPartition, PartitionOffsets | Skipped]:
        return {
            place: each.offsets or Skipped("its offsets were not read") for place, each in self._at(partitions).items()
        }

    @tracked("records of")
    def record_tallies(
        self, positions: Mapping[PartitionOffsets, Collection[int]], most_bytes: int | None = None
    ) -> Mapping[TopicPartition, RecordTally | Skipped]:
        """A snapshot has no records of topics."""
        return {each.topic_partition: NOT_SAVED for each in positions}

    def first_timestamps(
        self,
        offsets: Mapping[TopicPartition, int],
        leaders: Mapping[TopicPartition, int],
    ) -> Mapping[TopicPartition, int]:
        """The timestamps of the first batch after the last stable offset."""
        return {place: each.since_ms for place, each in self._at(offsets).items() if each.since_ms is not None}

    @tracked("first batches of open transactions")
    def first_batches(
        self, positions: Collection[tuple[TopicPartition, int]], leaders: Mapping[TopicPartition, int]
    ) -> Mapping[tuple[TopicPartition, int], FirstBatch] | Skipped:
        """A snapshot has none."""
        return NOT_SAVED

    @tracked("committed offsets of groups in")
    def waiting_groups(
        self, offsets: Mapping[TopicPartition, PartitionOffsets]
    ) -> Mapping[TopicPartition, tuple[WaitingGroup, ...] | Skipped] | Skipped:
        return {place: each.waiting for place, each in self._at(offsets).items()}

    def committed_offsets(self, group_id: str) -> Mapping[TopicPartition, int]:
        """Raises UsageError: it has only those that lie where something is held back."""
        raise UsageError(f"a snapshot does not hold all offsets that group {group_id} committed: ask the cluster")

    @tracked("committed offsets of groups")
    def committed_by_group(self) -> Skipped:
        """It has only those that lie where something is held back."""
        return NOT_SAVED

    @tracked("members of groups")
    def consumer_members(self, group_ids: Collection[str]) -> Skipped:
        return NOT_SAVED

    @tracked("pending offset commits in")
    def pending_commits(
        self, transactions: Collection[OpenTransaction]
    ) -> Mapping[CommitPlace, tuple[PendingCommit, ...] | Skipped]:
        known = self._at([each.topic_partition for each in transactions])
        commits = {each: known[each.topic_partition].commits for each in transactions if each.topic_partition in known}
        return {
            each.place: here if isinstance(here, Skipped) else here.get(each.producer.producer_id, ())
            for each, here in commits.items()
        }


def _unreachable(described: TransactionDescription | Skipped) -> Described:
    return Unreachable(described.reason) if isinstance(described, Skipped) else described


def read_snapshot_file(path: Path) -> Snapshot:
    try:
        with open_lines(path, SNAPSHOT) as lines:
            return decode_snapshot(_text(lines))
    except (Undecodable, Unsupported) as error:
        raise type(error)(f"{path}: {error.message}", hint=error.hint) from error


def _text(lines: Iterator[bytes]) -> Iterator[str]:
    for number, line in enumerate(lines, 1):
        try:
            yield line.decode("utf-8")
        except UnicodeDecodeError as error:
            raise Undecodable(f"line {number} is not UTF-8, so this is no snapshot") from error


NOT_LIVE: Final = not_asked("records were read from a file")


def read_records_file(path: Path, group_id: str | None, connect: ConnectFacts | Skipped) -> Snapshot:
    """The records in `path`, a stream that can be read once, besides the workers' report.

    as_of is 0: unknown. The stream raises errors that name the file and the line.
    """
    log = ConfigTopicLog(path.name, NOT_LIVE, NOT_LIVE, _records(path))
    return Snapshot(0, NOT_LIVE, group_id, log, NOT_LIVE, connect)


def _records(path: Path) -> Iterator[ConfigRecord]:
    with open_lines(path, RECORDS) as lines:
        yield from decode_config_records(read_record_lines(lines, str(path)))
