"""The request to move a connector's offsets, and the facts that were read for it."""

from collections.abc import Mapping
from enum import StrEnum

from msgspec import Struct, field

from eosctl.model.names import ConnectorTaskId, Side, task_transactional_id
from eosctl.model.offsets import ConnectorOffset, OffsetsTopic, SourceRead
from eosctl.model.plan import StopConnector
from eosctl.model.preconditions import ConnectorFacts, TopicNow
from eosctl.model.skipped import Skipped, not_asked
from eosctl.model.versions import KafkaVersion
from eosctl.model.workers import KnownPhase, LiveOwners


class KeptHistory(Struct, frozen=True):
    """The schema history topic of a connector whose offsets are written; topic None: a file of the worker.

    cluster_id is the topic's Kafka cluster; records counts the topic's records. is_copied: the topic of this name in
    the target of a move begins with the same records. is_needed: the connector's tasks fail without it.
    """

    topic: str | None
    cluster_id: str | Skipped = field(default_factory=lambda: not_asked("it is a file"))
    records: int = 0
    is_copied: bool = False
    is_needed: bool = True


class MergeRule(StrEnum):
    FAIL = "fail"
    KEEP_TARGET = "keep-target"
    KEEP_SOURCE = "keep-source"


class Move(Struct, frozen=True):
    """One connector's offsets from a topic of the source side to a topic of the target side, perhaps under a new name.

    setting is the connector's offsets.storage.topic afterwards, former_setting the present one; None: not set.
    unchanged: the setting stays. named: the user named the source topic of a connector that does not exist; assumed:
    the user did not.
    """

    connector: str
    new_name: str
    source_topic: str
    target_topic: str
    setting: str | None = None
    former_setting: str | None = None
    unchanged: bool = False
    assumed: bool = False
    named: bool = False

    @property
    def renamed(self) -> bool:
        return self.connector != self.new_name

    @property
    def to_workers(self) -> bool:
        """True if the offsets move to the worker-global offsets topic."""
        return self.setting is None and not self.unchanged


class MigrationRequest(Struct, frozen=True):
    """A request to move offsets.

    Group IDs name the Connect clusters. partitions and replication_factor are for target topics that do not exist yet.
    replication_factor None copies the factor of the source offsets topic, which Connect made with the workers'
    offset.storage.replication.factor; -1 is the broker's default. just_stopped are the steps by which this command
    has stopped connectors. stays: the connector remains in its Connect cluster and produces to the other Kafka cluster.
    force: fence the IDs of its producers although a task of another connector has them.
    """

    moves: tuple[Move, ...]
    source_group_id: str
    target_group_id: str
    other_cluster: bool = False
    merge: MergeRule = MergeRule.FAIL
    stop: bool = False
    set_config: bool = False
    resume: bool = False
    partitions: int = 25
    replication_factor: int | None = None
    just_stopped: tuple[StopConnector, ...] = ()
    stays: bool = False
    force: bool = False

    @property
    def elsewhere(self) -> bool:
        """Whether the connector will live in another Connect cluster."""
        return (self.other_cluster and not self.stays) or self.source_group_id != self.target_group_id

    @property
    def new_side(self) -> Side:
        return Side.TARGET if self.elsewhere else Side.SOURCE

    def target_id(self, move: Move) -> str:
        """The transactional ID of task 0 after the move: offsets are written in its name."""
        return task_transactional_id(self.target_group_id, ConnectorTaskId(move.new_name, 0))


class ConnectClusters(Struct, frozen=True):
    """IDs of Kafka clusters: where the source's workers keep their topics, and where connectors produce to.

    producers holds the connectors whose config sends their producer somewhere (producer.override.bootstrap.servers);
    exactly_once is the setting of the source's workers.
    """

    workers: str | Skipped = field(default_factory=lambda: not_asked("not asked"))
    producers: Mapping[str, str | Skipped] = field(default_factory=dict)
    servers: Mapping[str, str] = field(default_factory=dict)
    exactly_once: KnownPhase | Skipped = field(default_factory=lambda: not_asked("not asked"))


class MigrationFacts(Struct, frozen=True):
    """The facts for a move. Connectors, topics and offsets are by side and name.

    offsets omit topics that do not exist. fenced_ids are the transactional IDs of the connectors' tasks that
    coordinators know, by side; live_owners are the present owners of IDs. A connector with an unknown state is Skipped.
    answers are the source workers' offsets of a STOPPED connector (GET /connectors/C/offsets), Skipped if they fail;
    workers before 3.5 report none. source_workers: the user gave the address of one. target_brokers counts the live
    brokers of the target; None: unknown. worker_version is the oldest of the source's workers. source is the state of
    the system that the connector reads; None: not requested. histories are the schema histories of connectors that move
    to another Kafka cluster, Skipped if unread.
    """

    as_of: int
    cluster_ids: Mapping[Side, str]
    connectors: Mapping[tuple[Side, str], ConnectorFacts | Skipped]
    topics: Mapping[tuple[Side, str], TopicNow | None]
    offsets: Mapping[tuple[Side, str], OffsetsTopic]
    fenced_ids: Mapping[Side, tuple[str, ...]] = field(default_factory=dict)
    transaction_timeout_ms: int = 60_000
    live_owners: Mapping[Side, LiveOwners] = field(default_factory=dict)
    clusters: ConnectClusters = field(default_factory=ConnectClusters)
    answers: Mapping[str, tuple[ConnectorOffset, ...] | Skipped] = field(default_factory=dict)
    source_workers: bool = True
    target_brokers: int | None = None
    worker_version: KafkaVersion | Skipped = field(default_factory=lambda: not_asked("not asked"))
    source: SourceRead | None = None
    histories: Mapping[str, KeptHistory | Skipped] = field(default_factory=dict)
