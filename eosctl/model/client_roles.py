"""Who is a Kafka client in a Connect cluster, and the workers and connectors whose settings decide on it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from eosctl.model.client_properties import Property
from eosctl.model.offset_stores import SOURCE_SUPPORT, SourceSupport
from eosctl.model.skipped import Skipped
from eosctl.model.versions import NEWEST, KafkaVersion
from eosctl.model.whole_numbers import MOST_TASK_DIGITS


class ClientRole(StrEnum):
    """One kind of Kafka client that Connect creates, and its principal.

    worker: the worker's own clients. producer, consumer, admin: a source connector's record producer, its offsets
    consumer, and its admin client, which fences. sink_consumer, dead_letter_queue, sink_admin: a sink connector's. The
    mirror roles are the clients that MirrorMaker 2's connectors make themselves, debezium_signals the consumer that
    Debezium's do. eosctl: this tool.
    """

    WORKER = "worker"
    PRODUCER = "producer"
    CONSUMER = "consumer"
    ADMIN = "admin"
    SINK_CONSUMER = "sink-consumer"
    DEAD_LETTER_QUEUE = "dead-letter-queue"
    SINK_ADMIN = "sink-admin"
    MIRROR_SOURCE_ADMIN = "mirror-source-admin"
    MIRROR_SOURCE_CONSUMER = "mirror-source-consumer"
    MIRROR_OFFSET_SYNCS = "mirror-offset-syncs"
    MIRROR_TARGET_ADMIN = "mirror-target-admin"
    MIRROR_TARGET_CONSUMER = "mirror-target-consumer"
    DEBEZIUM_SIGNALS = "debezium-signals"
    EOSCTL = "eosctl"


@dataclass(frozen=True, slots=True)
class WorkerConfig:
    """A worker's properties and where they were given. Their repr shows none: they hold passwords.

    version is the Kafka that it runs. dedicated says that it is one of a dedicated MirrorMaker, which accepts every
    override. unread is why it may have settings beside these; None: these are all.
    """

    properties: Mapping[str, Property]
    version: KafkaVersion = NEWEST
    dedicated: bool = False
    unread: Skipped | None = None

    def get(self, key: str, default: str = "") -> str:
        """The value of `key`, or `default`."""
        found = self.properties.get(key)
        return default if found is None else found.value

    @property
    def group_id(self) -> str:
        """The Connect cluster's name."""
        return self.get("group.id")

    @property
    def config_topic(self) -> str:
        """config.storage.topic."""
        return self.get("config.storage.topic")

    @property
    def offsets_topic(self) -> str:
        """offset.storage.topic: the worker-global offsets topic."""
        return self.get("offset.storage.topic")

    @property
    def status_topic(self) -> str:
        """status.storage.topic."""
        return self.get("status.storage.topic")

    @property
    def internal_topics(self) -> tuple[str, ...]:
        """Config, offsets and status topic."""
        return (self.config_topic, self.offsets_topic, self.status_topic)

    @property
    def phase(self) -> SourceSupport | None:
        """exactly.once.source.support; Kafka's default where it is not set; None: it may be among those unread."""
        if SOURCE_SUPPORT not in self.properties:
            return SourceSupport.DISABLED if self.unread is None else None
        return SourceSupport(self.get(SOURCE_SUPPORT).strip().lower())

    @property
    def phase_known_by(self) -> str:
        """What says the phase: whose answer, or which file, maybe by not setting it."""
        given = self.properties.get(SOURCE_SUPPORT)
        if given is not None:
            return given.origin.removesuffix(f" {SOURCE_SUPPORT}")
        group = self.properties.get("group.id")
        return f"{'' if group is None else group.origin.removesuffix(' group.id')}, which does not set it"

    @property
    def creates_topics(self) -> bool:
        """topic.creation.enable: whether connectors may have `topic.creation.*` settings (KIP-158)."""
        return self.get("topic.creation.enable", "true").strip().lower() == "true"

    @property
    def override_policy(self) -> str:
        """connector.client.config.override.policy (KIP-458); All since 3.0, and always in MirrorMaker.addHerder."""
        if self.dedicated:
            return "All"
        return self.get("connector.client.config.override.policy", "All").strip()


def class_name(text: str) -> str:
    """A connector's class without its package, and without the suffix that Connect lets people leave out."""
    return text.rpartition(".")[2].removesuffix("Connector")


@dataclass(frozen=True, slots=True)
class ConnectorConfig:
    """A connector's config and what is known of its tasks.

    task_count and task_count_record are those of the config topic, None where it was not read or has none; topics are
    the output topics that somebody named (a trailing `*` means a prefix), beyond those of the config. active_topics are
    those that Connect saw it use (KIP-558), where they were asked for. connect_cluster is the KafkaConnect that the
    label of a KafkaConnector names.
    """

    name: str
    properties: Mapping[str, Property]
    type: str | None = None
    task_count: int | None = None
    task_count_record: int | None = None
    topics: tuple[str, ...] = ()
    active_topics: tuple[str, ...] = ()
    connect_cluster: str | None = None

    def get(self, key: str, default: str = "") -> str:
        """The value of `key`, or `default`."""
        found = self.properties.get(key)
        return default if found is None else found.value

    @property
    def class_name(self) -> str:
        """connector.class as `class_name` has it."""
        return class_name(self.get("connector.class"))

    @property
    def is_sink(self) -> bool:
        """Whether it reads topics: by its type where known, otherwise by the settings that every sink must have."""
        if self.type is not None:
            return self.type == "sink"
        has_topics = bool({"topics", "topics.regex"} & set(self.properties))
        return has_topics and not self.class_name.startswith("Mirror")

    @property
    def offsets_topic(self) -> str | None:
        """offsets.storage.topic: its own offsets topic."""
        return self.get("offsets.storage.topic") or None

    @property
    def tasks_max(self) -> int:
        """tasks.max; 1 where it is not set or not a number."""
        text = self.get("tasks.max", "1").strip()
        return int(text) if text.isascii() and text.isdigit() and len(text) <= MOST_TASK_DIGITS else 1

    @property
    def most_tasks(self) -> int:
        """The most tasks that have run, are running, or may run: fencing goes over the last task count record."""
        return max(1, self.tasks_max, self.task_count or 0, self.task_count_record or 0)


@dataclass(frozen=True, slots=True)
class ConnectCluster:
    """Workers of one group.id (each may have a principal of its own) and the connectors that they run.

    certificates are subjects that are known by another way than the certificate itself, by the value of
    ssl.keystore.certificate.chain. resource is the name of the KafkaConnect or KafkaMirrorMaker2 that describes it.
    others are the names of source connectors that it runs beside `connectors`, of whom nobody asked; all_known says
    whether those two are all its connectors.
    """

    workers: tuple[WorkerConfig, ...]
    connectors: tuple[ConnectorConfig, ...]
    others: tuple[str, ...] = ()
    all_known: bool = True
    certificates: Mapping[str, str] = field(default_factory=dict)
    resource: str | None = None

    @property
    def group_id(self) -> str:
        """The group.id that they share."""
        return self.workers[0].group_id
