"""The one way in which operations read a cluster: live, from a snapshot, or in tests from a dict.

A method returns a fact, or Skipped with the reason where an answer can do without it. It raises an EosctlError where
the fact is what was asked for. Both are kept: `coverage` says what was asked for and what of it was not read.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Final, Protocol

from eosctl.model.names import TopicPartition
from eosctl.sources.topic_reader import TopicReader

if TYPE_CHECKING:
    from eosctl.model.client_roles import ConnectorConfig
    from eosctl.model.clock import ClusterClock
    from eosctl.model.cluster_acls import ClusterAcls
    from eosctl.model.cluster_facts import ClusterFacts, ConfigTopicLog
    from eosctl.model.connect_groups import ConnectGroup, Groups
    from eosctl.model.coverage import Coverage
    from eosctl.model.evidence import InternalTopic, Preflight, Topics, TransactionLog, WorkerEvidence
    from eosctl.model.groups import ListedGroup, ShareGroups
    from eosctl.model.hanging import OpenTransaction, PendingCommit, WaitingGroup
    from eosctl.model.id_access import TransactionalIdAccess
    from eosctl.model.offset_stores import SourceSupport, StorePlace
    from eosctl.model.offsets import OffsetsTopic
    from eosctl.model.producers import AnsweredProducers
    from eosctl.model.skipped import Skipped
    from eosctl.model.topics import PartitionOffsets
    from eosctl.model.transaction_log import LogEnd, TransactionLogRecords
    from eosctl.model.transactions import Described, ListedTransactions, TransactionState
    from eosctl.model.versions import KafkaVersion, Release
    from eosctl.model.workers import ConnectFacts, ConnectorStatus

Configs = Mapping[str, Mapping[str, object]]
Wanted = Mapping[str, frozenset[int] | None]
"""Topic to the partitions wanted of it; None for all."""
Servers = frozenset[str]
CommitPlace = tuple[TopicPartition, int, int]
ALL_TOPICS: Final = "all topics"
"""What a list of all topics is noted as, where brokers may hide some."""


class ClusterReader(TopicReader, Protocol):
    """What can be asked of a Kafka cluster and the Connect cluster on it."""

    @property
    def group_id(self) -> str | None:
        """The Connect cluster's group.id, where it is known."""

    @property
    def coverage(self) -> Coverage:
        """What was asked for until now, and what of it was not read."""

    def adding(self) -> AbstractContextManager[None]:
        """What is asked for while the block runs only adds to the answer: without it no verdict changes and nothing is
        left out, so the answer is complete. Not for several threads.
        """

    @property
    def cluster_id(self) -> str | None:
        """The Kafka cluster's ID; None where it was not read."""

    @property
    def principal(self) -> str:
        """Who reads, as the brokers name the user."""

    def now(self) -> int:
        """The time that facts are judged at, in ms since the epoch."""

    def every(self, seconds: float) -> Iterator[None]:
        """Gives the turn back after each so many seconds; raises UsageError where facts never change."""

    # -- brokers ------------------------------------------------------------------------------------------------------

    def cluster(self) -> ClusterFacts | Skipped:
        """Cluster ID, brokers and the least transaction.max.timeout.ms among them."""

    def clock(self) -> ClusterClock | Skipped:
        """The cluster's clock beside the one of `now`."""

    def broker_settings(self) -> Mapping[int, Mapping[str, str] | Skipped] | Skipped:
        """The settings of each live broker that the rules ask for, by node ID."""

    def broker_releases(self) -> Mapping[int, Release | Skipped] | Skipped:
        """What the API versions of each live broker show of its release, by node ID."""

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
        """How each of these share groups reads, and from where."""

    def acls(self, topics: Collection[str]) -> ClusterAcls:
        """The bindings of the cluster, and which of these topics exist."""

    # -- Connect ------------------------------------------------------------------------------------------------------

    def config_topic(self, topic: str, *, principals: bool = False) -> ConfigTopicLog:
        """The config topic with its records, a stream that can be read once.

        With `principals` what names a client's principal stays readable; secrets are masked in both cases.
        """

    def sparing_workers(self) -> AbstractContextManager[None]:
        """While the block runs, `connect` and `connect_version` are Skipped where no worker answers soon: for answers
        that can do without, such as those that are wanted because of a worker that is stuck. Not for several threads.
        """

    def connect(self) -> ConnectFacts | Skipped:
        """What the workers say now. Raises the first error where workers were named and none answers."""

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
        """What each worker says of itself, by its address."""

    def connector_statuses(self) -> Mapping[str, ConnectorStatus] | Skipped:
        """Every connector with the states of its tasks, by name."""

    def preflight(self) -> Mapping[str, Preflight] | Skipped:
        """What each source connector says when exactly-once is required of it."""

    # -- offsets ------------------------------------------------------------------------------------------------------

    def source_support(self) -> SourceSupport | Skipped:
        """Whether the workers have exactly-once source support enabled."""

    def worker_offsets_topic(self) -> str | None:
        """The workers' offset.storage.topic, where the reader knows it."""

    def worker_servers(self) -> Servers | Skipped:
        """The workers' bootstrap.servers."""

    def worker_clients(self) -> Mapping[str, str]:
        """What of the workers' own settings decides where offsets lie and how they are read: WorkerSettings.clients."""

    def cluster_ids(self, places: Iterable[Servers | None]) -> Mapping[Servers, str | Skipped]:
        """The Kafka cluster behind each of these bootstrap.servers; None is no request.

        Servers that did not answer are not waited for again by this reader.
        """

    def offsets_topic(self, place: StorePlace) -> OffsetsTopic | Skipped | None:
        """The offsets topic there, folded; None: it does not exist; Skipped: not in the snapshot. May raise."""

    # -- transactions -------------------------------------------------------------------------------------------------

    def transactional_ids(
        self, *, states: Iterable[TransactionState] = (), producer_ids: Iterable[int] = ()
    ) -> ListedTransactions:
        """The IDs that the coordinators list, and why others may be missing."""

    def describe(
        self, transactional_ids: Iterable[str], coordinators: Mapping[str, int] | None = None
    ) -> Mapping[str, Described]:
        """What coordinators know of each ID: None where they do not know it, the error of one that did not answer.

        coordinators are the nodes that listed IDs of them; each is asked for its IDs first.
        """

    @property
    def unknown_id(self) -> str:
        """What it means that `describe` does not know an ID."""

    def access(self) -> TransactionalIdAccess | Skipped:
        """Whether brokers show every transactional ID to this principal."""

    def logged_ids(self) -> int | Skipped:
        """How many IDs the transaction log holds, whoever may see them."""

    def transaction_log(
        self, transactional_ids: Collection[str] = (), after: Mapping[int, LogEnd] | None = None
    ) -> TransactionLogRecords:
        """The transaction log, of the partitions that these IDs belong to (none: all). Records can be read once.

        With `after` only the records of these IDs, and only those after the ends of an earlier reading, where the log
        was neither truncated nor compacted since.
        """

    def leaderless(self, partitions: Iterable[TopicPartition]) -> frozenset[TopicPartition] | Skipped:
        """Those of the partitions that have no leader now."""

    # -- partitions ---------------------------------------------------------------------------------------------------

    def partitions(self, wanted: Wanted, broker: int | None = None) -> Mapping[TopicPartition, int]:
        """The wanted partitions (none named: all that may be described) and their leaders (NO_LEADER: none).

        Raises UsageError for a topic or partition that does not exist.
        """

    def producers(self, leaders: Mapping[TopicPartition, int], *, quiet: bool = False) -> AnsweredProducers:
        """The producers that these partitions' leaders remember, as far as they answer."""

    def offsets(self, partitions: Collection[TopicPartition]) -> Mapping[TopicPartition, PartitionOffsets | Skipped]:
        """Log start offset, last stable offset and high watermark of each."""

    def first_timestamps(
        self, offsets: Mapping[TopicPartition, int], leaders: Mapping[TopicPartition, int]
    ) -> Mapping[TopicPartition, int]:
        """The timestamp of the first batch at or after each offset, in ms."""

    def waiting_groups(
        self, offsets: Mapping[TopicPartition, PartitionOffsets]
    ) -> Mapping[TopicPartition, tuple[WaitingGroup, ...] | Skipped] | Skipped:
        """The groups that may wait at the last stable offset of each partition."""

    def committed_offsets(self, group_id: str) -> Mapping[TopicPartition, int] | Skipped:
        """Every offset that the group committed; of a share group its start offsets."""

    def pending_commits(
        self, transactions: Collection[OpenTransaction]
    ) -> Mapping[CommitPlace, tuple[PendingCommit, ...] | Skipped]:
        """The offset commits that open transactions hold up, by their place."""
