"""A cluster as its brokers and Connect workers answer now."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cached_property, partial
from typing import TYPE_CHECKING, Protocol

from eosctl.codecs.config_topic import decode_config_records
from eosctl.codecs.principals import mask_all_but_principals
from eosctl.codecs.secrets import mask_properties
from eosctl.errors import EosctlError
from eosctl.model import transaction_log as log_facts
from eosctl.model import transactions
from eosctl.model.cluster_facts import ClusterFacts, ConfigTopicLog
from eosctl.model.names import TopicPartition, coordinator_partition
from eosctl.model.skipped import Skipped, or_skipped
from eosctl.sources import (
    cluster_acls,
    connect_group,
    kafka_evidence,
    kafka_groups,
    kafka_log,
    kafka_offsets,
    kafka_topics,
    kafka_transactions,
    offsets_topics,
    transaction_log,
    transaction_log_leaders,
    transactional_id_access,
)
from eosctl.sources.coverage_log import KeptFacts, asked
from eosctl.sources.hidden_names import hidden_groups
from eosctl.sources.live_connect import NO_BROKERS
from eosctl.sources.live_groups import LiveGroups
from eosctl.sources.other_clusters import OtherClusters, trusting

if TYPE_CHECKING:
    from eosctl.clients.wire import Wire
    from eosctl.model.client_properties import ClientProperties
    from eosctl.model.cluster_acls import ClusterAcls
    from eosctl.model.connect_groups import ConnectGroup, Groups
    from eosctl.model.evidence import InternalTopic, Topics, TransactionLog
    from eosctl.model.groups import ListedGroup
    from eosctl.model.id_access import TransactionalIdAccess
    from eosctl.model.offset_stores import StorePlace
    from eosctl.model.offsets import OffsetsTopic
    from eosctl.model.records import Record
    from eosctl.model.topics import PartitionOffsets
    from eosctl.model.transaction_log import LogEnd, TransactionLogRecords
    from eosctl.model.transactions import Described, ListedTransactions, TransactionState
    from eosctl.sources.cluster_reader import Servers
    from eosctl.sources.discovery import Discovery
    from eosctl.sources.live_partitions import Progress
    from eosctl.sources.offsets_topics import NewFold


class Connections(Protocol):
    """What a live cluster is reached with. The wire connects at its first request."""

    @property
    def wire(self) -> Wire:
        """The brokers."""

    @property
    def client_properties(self) -> ClientProperties:
        """Address and identity."""

    @property
    def connect_urls(self) -> tuple[str, ...]:
        """The Connect workers' REST addresses."""

    @property
    def timeout_s(self) -> float:
        """How long one request may take."""

    def now(self) -> int:
        """The clock, in ms since the epoch."""


class LiveCluster(LiveGroups):
    """Asks the brokers and workers again at each question.

    `progress` shows how far long reads have come; `new_fold` makes what a partition of an offsets topic is folded with;
    `discovery` finds group and workers that nobody named, None: they are not looked for; `kept` are facts that other
    readers share with it.
    """

    def __init__(
        self,
        connections: Connections,
        group_id: str | None,
        progress: Progress,
        new_fold: NewFold,
        discovery: Discovery | None = None,
        kept: KeptFacts | None = None,
    ) -> None:
        super().__init__(connections.connect_urls, connections.timeout_s, kept)
        self._connections, self._progress, self._new_fold = connections, progress, new_fold
        self._group_id, self._discovery = group_id, discovery

    @property
    def _wire(self) -> Wire:
        return self._connections.wire

    @cached_property
    def _others(self) -> OtherClusters:
        return OtherClusters(trusting(self._wire), self._connections.timeout_s)

    @property
    def cluster_id(self) -> str | None:
        """As the brokers say; raises Unreachable where none answers."""
        return self._wire.cluster_id

    @property
    def principal(self) -> str:
        """Who reads, as the brokers name the user."""
        return self._wire.principal

    def now(self) -> int:
        """The clock, in ms since the epoch."""
        return self._connections.now()

    def every(self, seconds: float) -> Iterator[None]:
        """Sleeps in between."""
        while True:
            time.sleep(seconds)
            yield

    # -- brokers ------------------------------------------------------------------------------------------------------

    def cluster(self) -> ClusterFacts | Skipped:
        """Raises Unreachable where no broker answers."""
        addresses = self._addresses()
        if isinstance(addresses, Skipped):
            return addresses
        longest_ms = kafka_topics.max_transaction_timeout_ms(self._wire)
        # Only fencing uses it, and does without it.
        self.note("the brokers' transaction.max.timeout.ms", longest_ms, needed=False)
        return ClusterFacts(self._wire.cluster_id, addresses, longest_ms)

    @asked("the cluster")
    def _addresses(self) -> Mapping[int, str] | Skipped:
        if not self._connections.client_properties.bootstrap_servers:
            return NO_BROKERS
        return {broker.node_id: f"{broker.host}:{broker.port}" for broker in self._wire.brokers()}

    @asked("broker settings")
    def broker_settings(self) -> Mapping[int, Mapping[str, str] | Skipped] | Skipped:
        """Of every live broker."""
        return or_skipped(lambda: kafka_evidence.read_broker_settings(self._wire))

    @asked("{0} topic {1}")
    def internal_topic(self, role: str, name: str) -> InternalTopic:
        """Its settings are Skipped where DescribeConfigs is missing."""
        return kafka_evidence.read_internal_topic(self._wire, role, name)

    @asked("settings of topic")
    def topic_facts(self, names: Collection[str]) -> Topics | Skipped:
        """Two requests for each."""
        return or_skipped(lambda: kafka_evidence.read_topics(self._wire, names))

    @asked("the transaction log's partitions")
    def transaction_log_topic(self) -> TransactionLog | Skipped | None:
        """None before the first transactional ID is used."""
        return or_skipped(lambda: kafka_evidence.read_transaction_log(self._wire))

    @asked("groups", once=True)
    def groups(self) -> Mapping[str, ListedGroup] | Skipped:
        """As all brokers list them."""
        self.note("all groups", hidden_groups(self._wire))
        return or_skipped(lambda: kafka_groups.listed_groups(self._wire))

    @asked("ACLs")
    def acls(self, topics: Collection[str]) -> ClusterAcls:
        """Raises NotAuthorized where they may not be described."""
        if not self._connections.client_properties.bootstrap_servers:
            return cluster_acls.NO_CLUSTER
        return cluster_acls.read_cluster_acls(self._wire, topics)

    # -- Connect ------------------------------------------------------------------------------------------------------

    @asked("the config topic", once=True)
    def config_topic(self, topic: str, *, principals: bool = False) -> ConfigTopicLog:
        """Raises UsageError where the topic does not exist. Records are decoded as they are fetched, unless shared."""
        place = TopicPartition(topic, 0)
        offsets = kafka_offsets.partition_offsets(self._wire, [place])[place]
        records = self._counted(kafka_log.read_log(self._wire, place, offsets=offsets), offsets)
        mask = mask_all_but_principals(mask_properties) if principals else mask_properties
        facts = kafka_topics.topic_facts_or_skipped(self._wire, topic)
        decoded = self.noted("the config topic", decode_config_records(records, mask))
        return ConfigTopicLog(topic, facts, offsets, decoded if self._kept is None else tuple(decoded))

    def _counted(self, records: Iterator[Record], offsets: PartitionOffsets) -> Iterator[Record]:
        total = offsets.high_watermark - offsets.log_start_offset
        with self._progress("reading the config topic", total, unit="records") as advance:
            for record in records:
                advance(1)
                yield record

    # -- offsets ------------------------------------------------------------------------------------------------------

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
                found[name] = or_skipped(partial(self._group_at, place, group_id))
        self.note("the group elsewhere of connector", found)
        return found

    def _group_at(self, place: Servers, group_id: str) -> ConnectGroup | Skipped:
        with self._others.wire_to(place) as wire:
            return connect_group.read_connect_group(wire, group_id)

    @asked("offsets topic {0}", once=True)
    def offsets_topic(self, place: StorePlace) -> OffsetsTopic | None:
        """Read from the cluster at hand, or from the one that its bootstrap.servers lead to."""
        if place.bootstrap_servers is None:
            return offsets_topics.read_offsets_topic(self._wire, place.topic, self._new_fold, self._progress)
        with self._others.wire_to(place.bootstrap_servers) as wire:
            return offsets_topics.read_offsets_topic(wire, place.topic, self._new_fold, self._progress)

    # -- transactions -------------------------------------------------------------------------------------------------

    @asked("transactional IDs", once=True)
    def transactional_ids(
        self, *, states: Iterable[TransactionState] = (), producer_ids: Iterable[int] = ()
    ) -> ListedTransactions:
        """All brokers are asked at once."""
        return kafka_transactions.listed_transactions(self._wire, states=states, producer_ids=producer_ids)

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

    @asked("access to transactional IDs")
    def access(self) -> TransactionalIdAccess:
        """By probes that create nothing."""
        return transactional_id_access.transactional_id_access(self._wire)

    @asked("the number of transactional IDs in the transaction log")
    def logged_ids(self) -> int | Skipped:
        """Counted in the transaction log; needs Read on it."""
        return or_skipped(lambda: transaction_log.count_transactional_ids(self._wire))

    @asked("the transaction log")
    def transaction_log(
        self, transactional_ids: Collection[str] = (), after: Mapping[int, LogEnd] | None = None
    ) -> TransactionLogRecords:
        """Raises NotAuthorized where Read on it is missing."""
        wire, names = self._wire, () if after is None else transactional_ids
        leaders = transaction_log_leaders.transaction_log_leaders(wire)
        wanted = {coordinator_partition(name, len(leaders)) for name in transactional_ids} if leaders else ()
        epochs = transaction_log.leader_epochs(wire) if names and leaders else {}
        offsets, unread = transaction_log.transaction_log_offsets(wire, sorted(wanted or leaders))
        ends = transaction_log.log_ends(offsets, epochs)
        following = transaction_log.read_following(wire, offsets, ends, after, names) if after else None
        records = transaction_log.read_transaction_log(wire, offsets, names) if following is None else following
        return log_facts.TransactionLogRecords(
            leaders=dict(leaders),
            expiration_ms=kafka_topics.id_expiration_ms(wire),
            records=self.noted("the transaction log", records),
            unread=unread,
            ends=ends,
            continues=following is not None,
        )

    @asked("leaders of open partitions")
    def leaderless(self, partitions: Iterable[TopicPartition]) -> frozenset[TopicPartition] | Skipped:
        """By their metadata."""
        return or_skipped(lambda: kafka_topics.leaderless(self._wire, partitions))
