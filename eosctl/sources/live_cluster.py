"""A cluster as its brokers and Connect workers answer now."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import cached_property, partial
from typing import TYPE_CHECKING, Final, TypeVar

from msgspec.structs import replace

from eosctl.clients import rest
from eosctl.clients.leaders import JUST_NOW_S, NO_LEADER
from eosctl.codecs import config_topic as config_records
from eosctl.codecs.client_properties import mask_all_but_principals
from eosctl.codecs.secrets import mask_properties
from eosctl.errors import ConfigError, EosctlError, Unreachable, UsageError
from eosctl.model import config_topic as config_topics
from eosctl.model import evidence, transaction_log, transactions
from eosctl.model.groups import ConnectGroup, Groups, no_such_group
from eosctl.model.names import TopicPartition
from eosctl.model.skipped import Cause, Skipped, not_asked, read_or_skip
from eosctl.model.topics import ClusterFacts, PartitionOffsets, RecordsDigest, RecordTally
from eosctl.model.transactions import AnsweredProducers
from eosctl.model.workers import ConnectFacts, ConnectorStatus, FoundWorkers, WorkerFacts, oldest_version
from eosctl.sources import (
    audit_log,
    connect_rest,
    kafka_acls,
    kafka_evidence,
    kafka_groups,
    kafka_log,
    kafka_topics,
    kafka_transaction_log,
    kafka_transactions,
    listed_transactions,
)
from eosctl.sources.cluster_reader import (
    ALL_TOPICS,
    CommitPlace,
    CoverageLog,
    KeptFacts,
    OtherClusters,
    Wanted,
    tracked,
    trusting,
    wanted_of,
)
from eosctl.sources.group_belongings import SAMPLE_TOPICS, GroupBelongings

if TYPE_CHECKING:
    from eosctl.clients.wire import Wire
    from eosctl.model.acls import ClusterAcls
    from eosctl.model.client_roles import ConnectorConfig
    from eosctl.model.config_topic import ConfigTopicLog
    from eosctl.model.groups import ConsumerMembers, ListedGroup, ShareGroups
    from eosctl.model.hanging import FirstBatch, OpenTransaction, PendingCommit, WaitingGroup
    from eosctl.model.offsets import ConnectorOffset, OffsetsTopic, StorePlace
    from eosctl.model.records import Record
    from eosctl.model.times import ClusterClock
    from eosctl.model.transaction_log import LogEnd, LoggedHolders, TransactionLogRecords
    from eosctl.model.transactions import Described, ListedTransactions, TransactionalIdAccess, TransactionState
    from eosctl.model.versions import KafkaVersion, Release
    from eosctl.model.workers import KnownPhase
    from eosctl.sources.cluster_reader import Configs, ProducersByPartition, ReadTopics, Replicas, Servers
    from eosctl.sources.discovery import Connections, Discovery, ListedGroups
    from eosctl.sources.kafka_log import NewFold


NO_BROKERS: Final = not_asked("no -b/--bootstrap-server was given")
NO_WORKERS: Final = not_asked("no --connect-url was given")
SOON_S: Final = 5.0
PROBED_S: Final = 600.0
"""How long later sessions keep a worker's report about itself, while the group has the same members."""
ACTIVE_TOPICS_KEPT_S: Final = 600.0
"""A request for each connector; a connector that runs seldom begins to write to another topic."""


F = TypeVar("F")


def soon(timeout_s: float) -> float:
    """How long a worker is waited for whose answer can be done without: a sixth of the timeout, or SOON_S if longer."""
    return min(timeout_s, max(SOON_S, timeout_s / 6))


Progress = Callable[..., AbstractContextManager[Callable[[int], None]]]

NO_TIME = Skipped("its leader did not answer with a batch", Cause.UNREACHABLE)


class LiveCluster(CoverageLog):
    """Queries the brokers and workers again for each fact.

    `progress` shows the progress of long reads. `new_fold` makes the fold for a partition of an offsets topic.
    `discovery` finds group and workers that the user did not name (None: no search). `kept` are facts that other
    readers share with it. connect_urls are other workers than those of the connections. named_topics are the roles
    (config, offsets, status) whose topic was named for this group.
    """

    def __init__(
        self,
        connections: Connections,
        group_id: str | None,
        progress: Progress,
        new_fold: NewFold,
        discovery: Discovery | None = None,
        kept: KeptFacts | None = None,
        connect_urls: tuple[str, ...] | None = None,
        named_topics: Collection[str] = (),
    ) -> None:
        super().__init__(kept)
        self._belongings = GroupBelongings(lambda: connections.wire, named_topics)
        self._given = connections.connect_urls if connect_urls is None else connect_urls
        self._timeout_s = connections.timeout_s
        self._silent = {} if kept is None else kept.silent
        self._tallies = {} if kept is None else kept.tallies
        self._are_spared = False
        self._found: FoundWorkers | None = None
        self._roots: connect_rest.KnownWorkers = {}
        self._read_groups: dict[str, ConnectGroup] = {}
        self._listed: ListedGroups | None = None
        self._described: dict[str, ConnectGroup | Skipped] = {}
        self._connections, self._progress, self._new_fold = connections, progress, new_fold
        self._group_id, self._discovery = group_id, discovery

    @property
    def _wire(self) -> Wire:
        return self._connections.wire

    def _find_workers(self) -> FoundWorkers:
        group_id, discovery = self.group_id, self._discovery
        if group_id is None or discovery is None:
            return FoundWorkers()
        try:
            return discovery.workers(group_id, self._described.get(group_id))
        except EosctlError as error:
            return FoundWorkers(unlisted={f"of Connect group {group_id}": Skipped.of(error)})

    @property
    def _unnamed(self) -> FoundWorkers:
        """Workers that the user did not name; empty for optional parts of an answer."""
        if self._found is None:
            if not self._needed:
                return FoundWorkers()
            self._found = self._find_workers()
            self._roots, self._read_groups = self._found.facts, dict(self._found.groups)
            self.note("worker", {**self._found.unread, **self._found.unlisted}, needed=False)
        return self._found

    def _processes(self) -> frozenset[str] | None:
        with self.optional_reads():
            group_id = self.group_id
            return None if group_id is None else self._member_ids(group_id)

    @cached_property
    def _probed(self) -> dict[str, bool]:
        """The workers' answers to the validate probe: no reader probes one twice, nor do readers that share facts.

        A worker with other settings was restarted, and is then another member of its group.
        """
        if self._kept is None:
            return {}
        processes = self._processes()
        return self._kept.probes(processes, 0.0 if processes is None else PROBED_S)

    def _keep(self, answers: Mapping[str, bool | Skipped]) -> None:
        self._probed.update((url, each) for url, each in answers.items() if isinstance(each, bool))

    @cached_property
    def _strangers(self) -> Mapping[str, Skipped]:
        """Named workers of other Connect groups, which are not queried."""
        if not self._given or not self._connections.client_properties.bootstrap_servers:
            return {}
        with self.optional_reads():
            group_id = self.group_id
        if group_id is None:
            return {}
        found = self._belongings.strangers(self._given, group_id, self._timeout_s)
        self.note("worker", found)
        return found

    def require_workers(self, group_id: str) -> None:
        """By the members of all Connect groups, and by where the connectors run that each worker shows."""
        self._group_id = group_id
        for url, each in self._belongings.strangers(self._given, group_id, self._timeout_s).items():
            raise UsageError(
                f"{url}: {each.reason}",
                hint="leave this --connect-url out, or give the group.id of its worker as --group-id",
            )

    @property
    def _urls(self) -> tuple[str, ...]:
        return tuple(url for url in self._given if url not in self._strangers)

    @property
    def _named(self) -> tuple[str, ...]:
        return tuple(url for url in self._urls if url not in self._silent)

    @property
    def _all(self) -> tuple[str, ...]:
        return (*self._urls, *self._unnamed.reached)

    @property
    def _answering(self) -> tuple[str, ...]:
        return tuple(url for url in self._all if url not in self._silent)

    @property
    def _speakers(self) -> tuple[str, ...]:
        """The workers to query in turn for a fact that all of them know."""
        return self._named or self._answering

    @property
    def _no_worker(self) -> Skipped:
        """Why there is no worker to query: none was named, or none answered before."""
        return next(iter((self._silent or self._strangers).values()), NO_WORKERS)

    def _with_silent(self, workers: Mapping[str, F | Skipped]) -> Mapping[str, F | Skipped]:
        """The same with the workers that did not answer before, in the order given."""
        self._silent.update((url, each) for url, each in workers.items() if isinstance(each, Skipped))
        known = {**workers, **self._silent, **self._strangers}
        return {url: known[url] for url in (*self._given, *self._unnamed.reached)}

    @contextmanager
    def sparing_workers(self) -> Iterator[None]:
        """Workers that do not answer soon are Skipped while the block runs."""
        before = self._timeout_s, self._are_spared
        self._timeout_s, self._are_spared = soon(self._timeout_s), True
        try:
            yield
        finally:
            self._timeout_s, self._are_spared = before

    def _of_workers(self, ask: Callable[[Sequence[str], float], F]) -> F | Skipped:
        """Their answer; Skipped if there is none to query, and if all are silent and spared."""
        urls = self._answering
        if not urls:
            return self._no_worker
        try:
            return ask(urls, self._timeout_s)
        except Unreachable as error:
            if not self._are_spared:
                raise
            self._silent |= dict.fromkeys(urls, Skipped.of(error))
            return self._no_worker

    @tracked("Connect workers", once=True)
    def connect(self) -> ConnectFacts | Skipped:
        """Workers in parallel, connectors from the first that answers."""
        facts = self._of_workers(lambda urls, within_s: connect_rest.read_connect(urls, within_s, self._take_roots()))
        if isinstance(facts, Skipped):
            return facts
        self._roots = {url: each for url, each in facts.workers.items() if isinstance(each, WorkerFacts)}
        return replace(facts, workers=self._with_silent(facts.workers))

    def _take_roots(self) -> connect_rest.KnownWorkers:
        """What workers answered to `GET /` a moment ago, for another fact of this reader; for one further fact only."""
        roots, self._roots = self._roots, {}
        return roots

    @tracked("the workers' version", once=True)
    def connect_version(self) -> KafkaVersion | Skipped:
        """The oldest, by `GET /` of each worker."""
        workers = self._of_workers(lambda urls, within_s: connect_rest.read_workers(urls, within_s, self._take_roots()))
        if isinstance(workers, Skipped):
            return workers
        silent = {url: each for url, each in workers.items() if isinstance(each, Skipped)}
        self.note("version of worker", silent)
        if self._are_spared:
            self._silent.update(silent)
        return oldest_version(workers.values())

    @tracked("connector configs", once=True)
    def connector_configs(self) -> Configs | Skipped | None:
        """From the first worker that answers; raises the first error where none does."""
        if not self._speakers:
            return self._no_worker if self._urls else None
        return connect_rest.read_connector_configs(self._speakers, self._timeout_s)

    @tracked("connector configs")
    def client_configs(self) -> Mapping[str, ConnectorConfig] | None:
        """From the first worker that answers; raises the first error where none does."""
        urls = self._named or self._urls
        return connect_rest.read_client_configs(urls, self._timeout_s) if urls else None

    @tracked("worker")
    def worker_evidence(self) -> Mapping[str, evidence.WorkerEvidence | Skipped] | Skipped:
        """Of all workers, named or members of the group: Skipped in place of one that does not answer.

        Raises the first error where none answers and there are no brokers to ask either, or where it is the user's.
        """
        unnamed = self._unnamed.silent
        if not self._answering:
            return unnamed or self._no_worker
        found = connect_rest.read_worker_evidence(self._answering, self._timeout_s, self._probed)
        self._keep({url: each.enabled for url, each in found.items() if isinstance(each, evidence.WorkerEvidence)})
        errors = [each for each in found.values() if isinstance(each, EosctlError)]
        nothing_read = len(errors) == len(found) and not self._connections.client_properties.bootstrap_servers
        for error in errors:
            if nothing_read or isinstance(error, UsageError | ConfigError):
                raise error
        answers = {url: Skipped.of(each) if isinstance(each, EosctlError) else each for url, each in found.items()}
        return {**self._with_silent(answers), **unnamed}

    @tracked("connector statuses", once=True)
    def connector_statuses(self) -> Mapping[str, ConnectorStatus] | Skipped:
        """From the first worker that answers."""
        urls, timeout_s = self._speakers, self._timeout_s
        return read_or_skip(lambda: connect_rest.read_first_connectors(urls, timeout_s)) if urls else self._no_worker

    @tracked("tasks of connector {0}")
    def ending_tasks(self, connector: str) -> tuple[str, ...]:
        """From the first worker that answers, until none is left or the time is up."""
        return rest.ask_worker(self._urls, self._timeout_s, partial(connect_rest.await_end, connector, self._timeout_s))

    @tracked("config of connector {0}")
    def config_digest(self, connector: str) -> str | None:
        """From the first worker that answers."""
        return rest.ask_worker(self._urls, self._timeout_s, partial(connect_rest.read_config_digest, connector))

    @tracked("offsets of connector")
    def connector_offsets(self, connectors: Collection[str]) -> Mapping[str, tuple[ConnectorOffset, ...] | Skipped]:
        """From the first worker that answers."""
        return connect_rest.read_answers(self._urls, connectors, self._timeout_s) if self._urls else {}

    @tracked("preflight of connector")
    def preflight(self, connectors: Collection[str] | None = None) -> Mapping[str, evidence.Preflight] | Skipped:
        """Each config is validated by one of the workers; nothing is created."""
        urls, timeout_s = self._named, self._timeout_s
        return (
            read_or_skip(lambda: connect_rest.read_preflight(urls, timeout_s, connectors)) if urls else self._no_worker
        )

    @tracked("the workers' exactly.once.source.support", once=True)
    def source_support(self) -> KnownPhase | Skipped:
        """By the validate probe, at every named worker."""
        urls = self._named
        if self._urls and not urls:
            return self._no_worker
        if not urls:
            return not_asked("give --exactly-once, --worker-config or --connect-url")
        known = self._probed
        asked = [url for url in urls if url not in known]
        probe = partial(connect_rest.probe_source_support, timeout_s=self._timeout_s)
        found = dict(zip(asked, rest.at_once(probe, asked, connect_rest.PARALLEL), strict=True))
        self._keep(answers := {**known, **found})
        return connect_rest.common_support({url: answers[url] for url in urls})

    def worker_offsets_topic(self) -> str | None:
        """No worker reports it."""
        return None

    def worker_servers(self) -> Servers | Skipped:
        return not_asked("give --worker-bootstrap-servers")

    def worker_clients(self) -> Mapping[str, str] | Skipped:
        return not_asked("without --worker-config, addresses and isolation levels that its file sets are not seen")

    @tracked("topics")
    def topic_names(self) -> frozenset[str]:
        facts = kafka_topics.topic_facts(self._wire)
        self.note(ALL_TOPICS, kafka_groups.hidden_topics(self._wire, facts))
        return frozenset(name for name, each in facts.items() if each)

    @tracked("topics")
    def topics(self, names: Collection[str], settings: Collection[str]) -> ReadTopics:
        """One request for each topic's settings."""
        return kafka_topics.describe_topics(self._wire, names, settings)

    @tracked("keys of topic {0}")
    def first_keys(self, topic: str) -> Sequence[bytes | None]:
        """The keys of the first records after the log start offset."""
        return tuple(kafka_log.first_keys(self._wire, [TopicPartition(topic, 0)]))

    @tracked("records of topic {0}")
    def records_digest(self, topic: str, most: int | None = None) -> RecordsDigest | Skipped:
        """Of the records at the beginning of the reading."""
        return kafka_log.records_digest(self._connections.wire, TopicPartition(topic, 0), most)

    @tracked("active topics of connector", once=True, kept_s=ACTIVE_TOPICS_KEPT_S)
    def active_topics(self, connectors: Sequence[str]) -> Mapping[str, tuple[str, ...] | Skipped] | Skipped:
        """From the first worker that answers."""
        urls, timeout_s = self._answering, self._timeout_s
        if not urls:
            return self._no_worker
        return read_or_skip(lambda: connect_rest.read_active_topics(urls, connectors, timeout_s))

    @tracked("offsets of")
    def bounds(self, partitions: Collection[TopicPartition]) -> Mapping[TopicPartition, PartitionOffsets]:
        """Last stable offsets of all partitions are asked before the first high watermark is."""
        before = kafka_log.partition_offsets(self._wire, partitions)
        after = kafka_log.partition_offsets(self._wire, partitions)
        return {place: replace(each, high_watermark=after[place].high_watermark) for place, each in before.items()}

    @tracked("record batches")
    def record_batches(self) -> audit_log.OpenSource | Skipped:
        """Fetched with the same identity."""
        return audit_log.OpenCluster(self._wire.properties, self._connections.timeout_s)

    def timeline(self) -> audit_log.RecordLog:
        """From the partitions' leaders."""
        return audit_log.LiveLog(self._wire)

    def clock(self) -> ClusterClock | Skipped:
        """By one request; its failure is no gap, because the facts that need it report it."""
        return read_or_skip(lambda: kafka_evidence.read_clock(self._wire, self._connections.now))

    @tracked("broker releases")
    def broker_releases(self) -> Mapping[int, Release | Skipped] | Skipped:
        """Of every live broker, from the first answer on each connection."""
        return read_or_skip(lambda: kafka_evidence.read_broker_releases(self._wire))

    @tracked("finalized features")
    def finalized_features(self) -> Mapping[str, int] | Skipped:
        """From the broker that answers first."""
        return read_or_skip(lambda: kafka_evidence.read_finalized_features(self._wire))

    @tracked("share group")
    def share_groups(self, group_ids: Collection[str]) -> ShareGroups | Skipped:
        """Three requests for each, one after the other."""
        return kafka_groups.read_share_groups(self._wire, group_ids)

    @tracked("partitions")
    def partitions(self, wanted: Wanted, broker: int | None = None) -> Mapping[TopicPartition, int]:
        """Internal topics are included. Brokers omit topics that may not be described."""
        wire = self._wire
        topics = kafka_topics.listed_topics(wire, wanted)
        if not wanted:
            self.note(ALL_TOPICS, kafka_groups.hidden_topics(wire, topics))
        leaders = kafka_transactions.cluster_partitions(wire, topics, broker=broker)
        return wanted_of(leaders, wanted)

    def producers(self, leaders: Mapping[TopicPartition, int], *, quiet: bool = False) -> AnsweredProducers:
        """All leaders are asked at once; a partition without leader is among the unanswered."""
        led = {place: leader for place, leader in leaders.items() if leader != NO_LEADER}
        if quiet:
            found = kafka_transactions.answering_producers(self._wire, led)
        else:
            with self._progress("asking leaders", len(led), unit="partitions") as advance:
                found = kafka_transactions.answering_producers(self._wire, led, on_answer=advance)
        silent = tuple(sorted({*(leaders.keys() - led.keys()), *found.unanswered}))
        self.note(
            "producers of", {place: Skipped(f"no leader answered for {place}", Cause.UNREACHABLE) for place in silent}
        )
        return AnsweredProducers(found.producers, silent)

    def producers_by_partition(self, leaders: Mapping[TopicPartition, int]) -> ProducersByPartition:
        with self._progress("asking leaders", len(leaders), unit="partitions") as advance:
            for found in kafka_transactions.producers_by_partition(self._wire, leaders):
                advance(1)
                yield found

    @tracked("replicas")
    def replicas(self) -> Replicas | Skipped:
        return read_or_skip(lambda: kafka_topics.replicas(self._wire))

    @tracked("offsets of")
    def offsets(self, partitions: Collection[TopicPartition]) -> Mapping[TopicPartition, PartitionOffsets | Skipped]:
        return kafka_log.offsets_or_skipped(self._wire, partitions) if partitions else {}

    @tracked("records of")
    def record_tallies(
        self, positions: Mapping[PartitionOffsets, Collection[int]], most_bytes: int | None = None
    ) -> Mapping[TopicPartition, RecordTally | Skipped]:
        """One partition after the other; needs Read on the topics.

        A tally is kept for the next request unless the topic is compacted, which changes the counts.
        """
        allowance, kept = kafka_log.Allowance(most_bytes), self._tallies
        ids = kafka_topics.uncompacted_topics(self._wire, {each.topic_partition.topic for each in positions})
        found: dict[TopicPartition, RecordTally | Skipped] = {}
        self._tallies = {}
        for bounds, starts in positions.items():
            place = bounds.topic_partition
            key = ids.get(place.topic, ""), place
            before = kept.get(key, RecordTally())
            found[place] = tally = read_or_skip(
                partial(kafka_log.tally_records, self._wire, bounds, starts, before, allowance)
            )
            if place.topic in ids and not isinstance(tally, Skipped):
                self._tallies[key] = tally
        if self._kept is not None:
            self._kept.tallies = self._tallies
        return found

    def first_timestamps(
        self, offsets: Mapping[TopicPartition, int], leaders: Mapping[TopicPartition, int]
    ) -> Mapping[TopicPartition, int]:
        """One small Fetch for each."""
        found = kafka_log.first_timestamps(self._wire, offsets, leaders)
        with self.optional_reads():
            self.note("time of the first batch in", {each: NO_TIME for each in offsets if each not in found})
        return found

    @tracked("first batches of open transactions")
    def first_batches(
        self, positions: Collection[tuple[TopicPartition, int]], leaders: Mapping[TopicPartition, int]
    ) -> Mapping[tuple[TopicPartition, int], FirstBatch] | Skipped:
        return kafka_log.first_batches(self._wire, positions, leaders)

    @tracked("committed offsets of groups in")
    def waiting_groups(
        self, offsets: Mapping[TopicPartition, PartitionOffsets]
    ) -> Mapping[TopicPartition, tuple[WaitingGroup, ...] | Skipped] | Skipped:
        """By the offsets that the consumer groups have committed."""
        groups = self.groups()
        if isinstance(groups, Skipped):
            return groups
        readers = {each.group_id: each for each in groups.values() if not each.is_connect}
        consumers = [name for name, each in readers.items() if not each.is_share]
        committed = read_or_skip(lambda: kafka_groups.committed_offsets(self._wire, consumers, offsets))
        if isinstance(committed, Skipped):
            return committed
        self.note("committed offsets of group", committed)
        queues = self.share_groups(sorted(readers.keys() - set(consumers))) if offsets else {}
        if isinstance(queues, Skipped):
            return queues
        return kafka_groups.waiting_groups_of(committed, queues, readers, offsets)

    @tracked("committed offsets of group {}")
    def committed_offsets(self, group_id: str) -> Mapping[TopicPartition, int] | Skipped:
        """From the group's coordinator, which leaves out topics that may not be described."""
        wire, groups = self._wire, self.groups()
        if not isinstance(groups, Skipped) and group_id in groups and groups[group_id].is_share:
            return kafka_groups.read_share_groups(wire, [group_id])[group_id].starts
        self.note(ALL_TOPICS, kafka_groups.hidden_topics(wire))
        return kafka_groups.committed_offsets(wire, [group_id], None)[group_id]

    @tracked("committed offsets of group")
    def committed_by_group(self) -> Mapping[str, Mapping[TopicPartition, int] | Skipped] | Skipped:
        """From all coordinators at once."""
        groups = self.groups()
        if isinstance(groups, Skipped):
            return groups
        consumers = [each.group_id for each in groups.values() if not each.is_connect and not each.is_share]
        return read_or_skip(lambda: kafka_groups.committed_offsets(self._wire, consumers, None))

    @tracked("members of groups")
    def consumer_members(self, group_ids: Collection[str]) -> ConsumerMembers | Skipped:
        return read_or_skip(lambda: kafka_groups.read_consumer_members(self._wire, group_ids))

    @tracked("pending offset commits in")
    def pending_commits(
        self, transactions: Collection[OpenTransaction]
    ) -> Mapping[CommitPlace, tuple[PendingCommit, ...] | Skipped]:
        """From `__consumer_offsets`; needs Read on it."""
        try:
            return kafka_groups.pending_commits(self._wire, transactions)
        except EosctlError as error:
            return {each.place: Skipped.of(error) for each in transactions}

    @property
    def group_id(self) -> str | None:
        """The named group, otherwise the only one; the coverage keeps the obstacle to finding it."""
        if self._group_id is not None or self._discovery is None:
            return self._group_id
        try:
            found = self._discovery.group(self._listed)
        except UsageError as error:
            found = not_asked(error.message)
        except EosctlError as error:
            found = Skipped.of(error)
        self.note("the Connect group", found)
        return None if isinstance(found, Skipped) else found

    @tracked("members of group {0}", once=True)
    def _member_ids(self, group_id: str) -> frozenset[str] | None:
        """None where the group has no members, or does not show them."""
        group = read_or_skip(lambda: kafka_groups.read_connect_group(self._wire, group_id))
        return None if isinstance(group, Skipped) else frozenset(each.member_id for each in group.members) or None

    def connect_group(self, group_id: str) -> ConnectGroup | Skipped:
        """The group as its coordinator describes it. The coverage suggests a group if there is no such.

        DescribeGroups knows no group of a newer protocol (KIP-848, KIP-932, KIP-1071): ListGroups shows its type.
        """
        read = self._read_groups.pop(group_id, None)  # just now, for its workers
        found = read_or_skip(lambda: read or kafka_groups.read_connect_group(self._wire, group_id))
        self._described[group_id] = found
        if not isinstance(found, ConnectGroup) or not found.lacking:
            self.note(f"group {group_id}", found)
            return found
        groups = read_or_skip(lambda: kafka_groups.listed_groups(self._wire))
        if not isinstance(groups, Skipped) and group_id in groups:
            listed = groups[group_id]
            return ConnectGroup(listed.state, listed.protocol_type, "", ())
        self.note(f"group {group_id}", self._absent(group_id, groups))
        return found

    def _absent(self, group_id: str, groups: Mapping[str, ListedGroup] | Skipped) -> Skipped:
        known = [] if isinstance(groups, Skipped) else [each.group_id for each in groups.values() if each.is_connect]
        return no_such_group(group_id, known)

    @tracked("Connect groups")
    def connect_groups(self, group_ids: Collection[str]) -> Groups | Skipped:
        """In one round, however many they are."""
        return read_or_skip(lambda: kafka_groups.read_connect_groups(self._wire, group_ids))

    @cached_property
    def _others(self) -> OtherClusters:
        return OtherClusters(trusting(self._wire), self._connections.timeout_s)

    @property
    def cluster_id(self) -> str | None:
        """As the brokers say; raises Unreachable where none answers."""
        return self._wire.cluster_id

    @property
    def principal(self) -> str:
        return self._wire.principal

    def ask_cluster_id(self) -> str:
        return self._wire.ask_cluster_id()

    def now(self) -> int:
        return self._connections.now()

    def every(self, seconds: float) -> Iterator[None]:
        while True:
            time.sleep(seconds)
            yield

    def cluster(self) -> ClusterFacts | Skipped:
        """Raises Unreachable where no broker answers."""
        addresses = self._addresses()
        if isinstance(addresses, Skipped):
            return addresses
        longest_ms = kafka_topics.max_transaction_timeout_ms(self._wire)
        # Only fencing uses it, and does without it.
        self.note("the brokers' transaction.max.timeout.ms", longest_ms, needed=False)
        return ClusterFacts(self._wire.cluster_id, addresses, longest_ms)

    @tracked("the cluster")
    def _addresses(self) -> Mapping[int, str] | Skipped:
        if not self._connections.client_properties.bootstrap_servers:
            return NO_BROKERS
        return {broker.node_id: f"{broker.host}:{broker.port}" for broker in self._wire.brokers()}

    @tracked("broker settings")
    def broker_settings(self) -> Mapping[int, Mapping[str, str] | Skipped] | Skipped:
        """Of every live broker."""
        return read_or_skip(lambda: kafka_evidence.read_broker_settings(self._wire))

    @tracked("{0} topic {1}")
    def internal_topic(self, role: str, name: str) -> evidence.InternalTopic:
        """Its settings are Skipped where DescribeConfigs is missing. Raises UsageError for another group's topic."""
        self.require_topic(role, name)
        return kafka_evidence.read_internal_topic(self._wire, role, name)

    @tracked("settings of topic")
    def topic_facts(self, names: Collection[str]) -> evidence.Topics | Skipped:
        """Two requests for each."""
        return read_or_skip(lambda: kafka_evidence.read_topics(self._wire, names))

    @tracked("the transaction log's partitions")
    def transaction_log_topic(self) -> evidence.TransactionLog | Skipped | None:
        return read_or_skip(lambda: kafka_evidence.read_transaction_log(self._wire))

    @tracked("groups", once=True)
    def groups(self) -> Mapping[str, ListedGroup] | Skipped:
        hidden = kafka_groups.hidden_groups(self._wire)
        listed = read_or_skip(lambda: kafka_groups.listed_groups(self._wire))
        self.note("all groups", why := hidden())
        self._listed = None if isinstance(listed, Skipped) else (listed, why)
        return self._belongings.learn_groups(listed)

    @tracked("ACLs")
    def acls(self, topics: Collection[str]) -> ClusterAcls:
        """Raises NotAuthorized where they may not be described."""
        if not self._connections.client_properties.bootstrap_servers:
            return kafka_acls.NO_CLUSTER
        return kafka_acls.read_cluster_acls(self._wire, topics)

    @tracked("the config topic", once=True)
    def config_topic(self, topic: str, *, principals: bool = False) -> ConfigTopicLog:
        """Raises UsageError for a topic that does not exist or is another group's. Records are decoded as they are
        fetched, unless shared.
        """
        settings = kafka_topics.settings_ahead(self._wire, topic)
        self.require_topic("config", topic)
        place = TopicPartition(topic, 0)
        offsets = kafka_log.partition_offsets(self._wire, [place])[place]
        records = self._counted(kafka_log.read_log(self._wire, place, offsets=offsets), offsets)
        mask = mask_all_but_principals(mask_properties) if principals else mask_properties
        facts = kafka_topics.topic_facts_or_skipped(self._wire, topic, settings, heard_s=JUST_NOW_S)
        decoded = self.noted("the config topic", config_records.decode_config_records(records, mask))
        return config_topics.ConfigTopicLog(topic, facts, offsets, decoded if self._kept is None else tuple(decoded))

    def require_topic(self, role: str, topic: str) -> None:
        """By who wrote to it last."""
        with self.optional_reads():
            group_id = self.group_id
        self._belongings.require(role, topic, group_id)

    def _counted(self, records: Iterator[Record], offsets: PartitionOffsets) -> Iterator[Record]:
        total = offsets.high_watermark - offsets.log_start_offset
        with self._progress("reading the config topic", total, unit="records") as advance:
            for record in records:
                advance(1)
                yield record

    def cluster_ids(self, places: Iterable[Servers | None]) -> Mapping[Servers, str | Skipped]:
        """Requested with the identity of the cluster at hand."""
        found = {servers: self._others.cluster_id(servers) for servers in dict.fromkeys(places) if servers is not None}
        self.note("the cluster at", {",".join(sorted(servers)): each for servers, each in found.items()})
        return found

    def groups_elsewhere(self, group_id: str, servers: Mapping[str, Servers]) -> Groups | Skipped:
        """Requested with the identity of the cluster at hand."""
        ids = self.cluster_ids(servers.values())
        found: dict[str, ConnectGroup | Skipped] = {}
        for name, place in servers.items():
            there = ids[place]
            if isinstance(there, Skipped):
                found[name] = there
            elif there != self.cluster_id:
                found[name] = read_or_skip(partial(self._group_at, place, group_id))
        self.note("the group elsewhere of connector", found)
        return found

    def _group_at(self, place: Servers, group_id: str) -> ConnectGroup | Skipped:
        with self._others.wire_to(place) as wire:
            return kafka_groups.read_connect_group(wire, group_id)

    @tracked("offsets topic {0}", once=True)
    def offsets_topic(self, place: StorePlace) -> OffsetsTopic | None:
        """Read from the cluster at hand, or from the one that its bootstrap.servers lead to."""
        if place.bootstrap_servers is None:
            if place.topic == SAMPLE_TOPICS["offsets"]:
                self.require_topic("offsets", place.topic)
            return kafka_log.read_offsets_topic(self._wire, place.topic, self._new_fold, self._progress)
        with self._others.wire_to(place.bootstrap_servers) as wire:
            return kafka_log.read_offsets_topic(wire, place.topic, self._new_fold, self._progress)

    @tracked("transactional IDs", once=True)
    def transactional_ids(
        self, *, states: Iterable[TransactionState] = (), producer_ids: Iterable[int] = (), under: str = ""
    ) -> ListedTransactions:
        """All brokers are asked at once."""
        found = listed_transactions.listed_transactions(
            self._wire, states=states, producer_ids=producer_ids, under=under
        )
        return self._belongings.learn_ids(found)

    def describe(
        self, transactional_ids: Iterable[str], coordinators: Mapping[str, int] | None = None
    ) -> Mapping[str, Described]:
        """All coordinators are asked at once."""
        described = kafka_transactions.describe_transactional_ids(self._wire, transactional_ids, coordinators)
        failed = {name: Skipped.of(each) for name, each in described.items() if isinstance(each, EosctlError)}
        self.note("transactional ID", failed)
        kind, reason = transactions.TransactionDescription, transactions.HIDDEN_PARTITIONS
        hidden = {name: reason for name, each in described.items() if isinstance(each, kind) and each.is_hidden}
        self.note("partitions of transactional ID", hidden)
        return described

    @property
    def unknown_id(self) -> str:
        """No coordinator holds it."""
        return "its coordinator does not know it: never used, or expired"

    @tracked("access to transactional IDs")
    def access(self) -> TransactionalIdAccess:
        """By probes that create nothing."""
        return kafka_transactions.transactional_id_access(self._wire)

    @tracked("the number of transactional IDs in the transaction log")
    def logged_ids(self) -> int | Skipped:
        """Counted in the transaction log; needs Read on it."""
        return read_or_skip(lambda: kafka_transaction_log.count_transactional_ids(self._wire))

    @tracked("the transaction log")
    def transaction_log(
        self,
        transactional_ids: Collection[str] = (),
        after: Mapping[int, LogEnd] | None = None,
        prefix: str = "",
        most_bytes: int | None = None,
    ) -> TransactionLogRecords:
        """Raises NotAuthorized where Read on it is missing."""
        found = kafka_transaction_log.transaction_log(self._wire, transactional_ids, after, prefix, most_bytes)
        return replace(found, records=self.noted("the transaction log", found.records))

    @tracked("the transaction log")
    def logged_holders(self, producer_ids: Collection[int], most_bytes: int | None = None) -> LoggedHolders:
        """Raises NotAuthorized where Read on it is missing."""
        wire, kept = self._wire, transaction_log.LoggedHolders() if self._kept is None else self._kept.holders
        epochs = kafka_transaction_log.leader_epochs(wire) if kafka_transactions.transaction_log_leaders(wire) else {}
        with self._progress("searching the transaction log", unit="offsets") as advance:
            found = kafka_transaction_log.find_holders(wire, epochs, kept.continued(producer_ids), most_bytes, advance)
        if self._kept is not None:
            self._kept.holders = found
        return found

    @tracked("leaders of open partitions")
    def leaderless(self, partitions: Iterable[TopicPartition]) -> frozenset[TopicPartition] | Skipped:
        return read_or_skip(lambda: kafka_topics.leaderless(self._wire, partitions))
