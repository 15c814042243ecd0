"""Connectors as the config topic describes them: ClusterConfigState, with the offsets its facts come from."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final, NamedTuple

from msgspec import Struct, field

from eosctl.model.records import IsolationLevel
from eosctl.model.versions import KafkaVersion

Properties = Mapping[str, object]
"""A connector or task configuration. Values are text or None as Connect writes them, but a reader takes any JSON."""


OFFSETS_TOPIC: Final = "offsets.storage.topic"
"""The setting that gives a source connector an offsets topic of its own (KIP-618)."""
HISTORIES: Final = ("schema.history.internal.kafka.", "database.history.kafka.")
"""Prefixes of the settings of Debezium's schema history topic: those from 2.0 on, and the older ones."""

HISTORY_KEEPERS: Final = ("MySql", "MariaDb", "SqlServer", "Oracle", "Db2", "Informix")
REBUILDING: Final = frozenset({"recovery", "schema_only_recovery", "when_needed"})
"""Values of snapshot.mode with which Debezium makes a schema history that is missing again."""


class SchemaHistory(Struct, frozen=True):
    """The topic, and the bootstrap.servers of its Kafka cluster, in which Debezium keeps the schema of a source."""

    topic: str
    servers: str | None


def schema_history(config: Properties) -> SchemaHistory | None:
    """The place of the config's schema history; None if it names no topic."""
    for prefix in HISTORIES:
        topic, servers = (config.get(f"{prefix}{each}") for each in ("topic", "bootstrap.servers"))
        if topic is not None:
            return SchemaHistory(str(topic), None if servers is None else str(servers))
    return None


def keeps_history_in_a_file(config: Properties) -> bool:
    """Whether Debezium keeps its schema history in a file of the worker's host."""
    kept = (str(config.get(key, "")) for key in ("schema.history.internal", "database.history"))
    return any(each.endswith((".FileSchemaHistory", ".FileDatabaseHistory")) for each in kept)


def needs_history(config: Properties) -> bool:
    """True if a task with an offset fails without its schema history: Debezium's classes, unless they rebuild it."""
    named = str(config.get("connector.class", ""))
    keeps = any(named.endswith(f"{each}Connector") for each in HISTORY_KEEPERS)
    return "debezium" in named and keeps and str(config.get("snapshot.mode", "")) not in REBUILDING


ICEBERG: Final = "org.apache.iceberg.connect.IcebergSinkConnector"


ICEBERG_START: Final = "iceberg.coordinator.transactional.suffix"
"""The setting in a task's config that ends the transactional IDs of the task, since the last start of the connector."""


class IcebergSink(NamedTuple):
    """The names that the clients of Iceberg's sink connector use; it makes them itself (Iceberg 1.5 to 1.12).

    Each task writes files, and announces them in control_topic, in a transaction that also commits the offsets of
    source_group. One task is the coordinator besides: it reads the announcements as a member of coordinator_group, and
    commits the files to the table. It runs where the first partition of described_group is assigned. workers_prefix
    begins the groups of the tasks, one for each start, which never commit. The transactional IDs are one of id_prefixes
    with a new UUID for each start of the connector, and the task's number.
    """

    source_group: str
    described_group: str
    control_topic: str
    workers_prefix: str
    id_prefixes: tuple[str, str]

    @property
    def coordinator_group(self) -> str:
        return f"{self.described_group}-coord"


def iceberg_sink(connector: str, config: Properties) -> IcebergSink | None:
    """The names by the connector's config; None for another connector (IcebergSinkConfig)."""
    if config.get("connector.class") not in {ICEBERG, "IcebergSinkConnector", "IcebergSink"}:
        return None

    def given(key: str, default: str) -> str:
        value = config.get(key)
        return default if value is None else str(value)

    own = f"connect-{connector}"
    prefix = given("iceberg.coordinator.transactional.prefix", "")
    return IcebergSink(
        source_group=given("consumer.override.group.id", own),
        described_group=given("iceberg.connect.group-id", own),
        control_topic=given("iceberg.control.topic", "control-iceberg"),
        workers_prefix=given("iceberg.control.group-id-prefix", "cg-control-"),
        id_prefixes=(f"{prefix}worker-txn-", f"{prefix}coordinator-txn-"),
    )


class TargetState(StrEnum):
    """Target state of a connector; STOPPED exists since 3.5 (KIP-875)."""

    STARTED = "STARTED"
    PAUSED = "PAUSED"
    STOPPED = "STOPPED"


class ConnectorType(StrEnum):
    """The direction in which a connector moves records; only sources have producers to fence."""

    SOURCE = "source"
    SINK = "sink"


class Reader(Struct, frozen=True):
    """A worker that reads the config topic: its version and isolation level.

    A worker reads committed only if its exactly.once.source.support is enabled; preparing and disabled read all.
    """

    version: KafkaVersion
    isolation_level: IsolationLevel = IsolationLevel.READ_COMMITTED


class SessionKey(Struct, frozen=True):
    """The key that signs requests between workers, without the key itself: creation_timestamp in ms since the epoch."""

    algorithm: str
    creation_timestamp: int
    offset: int


class ConnectorState(Struct, frozen=True):
    """A worker's state of one connector name after it has read the config topic.

    config is None if the connector is unknown (deleted, or only leftovers remain). task_count is None before any
    applied task commit. task_configs are the committed ones, by task number. deferred are those that wait for a commit;
    None: none was written since the connector was created, which differs from an empty map when the generation is
    counted. generation counts applied sets of task configs from 0, in the worker's memory only. missing_tasks are the
    task numbers that the last, incomplete commit did not have. The offsets are those of the last applied record of each
    kind. unclaimed_commit_offset is the last task commit that the worker ignored because it did not know the
    connector's config yet (KAFKA-16838). commit_timestamp is the time of the record at commit_offset, in ms since the
    epoch.
    """

    name: str
    config: Properties | None = None
    target_state: TargetState | None = None
    task_count: int | None = None
    task_configs: Mapping[int, Properties] = field(default_factory=dict)
    deferred: Mapping[int, Properties] | None = None
    task_count_record: int | None = None
    generation: int | None = None
    pending_fencing: bool = False
    inconsistent: bool = False
    missing_tasks: tuple[int, ...] = ()
    config_offset: int | None = None
    target_state_offset: int | None = None
    commit_offset: int | None = None
    task_count_offset: int | None = None
    unclaimed_commit_offset: int | None = None
    commit_timestamp: int | None = None

    @property
    def is_stopped(self) -> bool:
        return self.target_state is TargetState.STOPPED

    @property
    def known(self) -> bool:
        return self.config is not None

    @property
    def visible_tasks(self) -> tuple[int, ...]:
        """Task numbers that Connect would assign (ClusterConfigState.tasks): none while inconsistent."""
        return () if self.inconsistent else tuple(range(self.task_count or 0))


class ClusterConfigState(Struct, frozen=True):
    """The config topic as one reader has applied it.

    offset is one past the last record that is JSON, -1 if there was none. states holds every connector name in the
    records, known or not. blocked_at is the offset of the first record of an open transaction at which a read_committed
    reader waits, otherwise None; held_back counts the records from there on.
    """

    reader: Reader
    offset: int
    session_key: SessionKey | None
    states: Mapping[str, ConnectorState]
    blocked_at: int | None = None
    held_back: int = 0

    @property
    def connectors(self) -> tuple[str, ...]:
        return tuple(sorted(name for name, state in self.states.items() if state.known))

    def state(self, connector: str) -> ConnectorState:
        """The state under this name; an empty, unknown connector if the topic never mentions it."""
        return self.states.get(connector) or ConnectorState(connector)
