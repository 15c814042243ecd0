"""Who is a Kafka client in a Connect cluster, and the workers and connectors whose settings decide on it."""

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Final

from msgspec import Struct, field

from eosctl.model.client_properties import HIDDEN, REFERENCE, Property, split_list
from eosctl.model.connectors import OFFSETS_TOPIC
from eosctl.model.skipped import Skipped
from eosctl.model.versions import NEWEST, KafkaVersion
from eosctl.model.whole_numbers import MOST_TASK_DIGITS, whole
from eosctl.model.workers import SOURCE_SUPPORT, SourceSupport


class ClientRole(StrEnum):
    """One kind of Kafka client that Connect creates, and its principal.

    worker: the worker's own clients. producer, consumer, admin: a source connector's record producer, its offsets
    consumer, and its admin client, which fences. sink_consumer, dead_letter_queue, sink_admin: a sink connector's. The
    mirror roles are the clients that MirrorMaker 2's connectors make themselves, debezium_signals the consumer that
    Debezium's do, iceberg all those of Iceberg's sink. streams: a Kafka Streams application, which is no part of
    Connect. eosctl: this tool.
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
    ICEBERG = "iceberg"
    STREAMS = "streams"
    EOSCTL = "eosctl"


CONNECTOR: Final = "connector"
"""Stands for every client of a connector."""
OTHER: Final = frozenset({ClientRole.WORKER, ClientRole.STREAMS, ClientRole.EOSCTL})
"""Roles that are no client of a connector."""


class StreamsApplication(Struct, frozen=True):
    """A Kafka Streams application with exactly_once_v2; the topics that it reads and writes, without internal ones."""

    application_id: str
    reads: tuple[str, ...]
    writes: tuple[str, ...]


class WorkerConfig(Struct, frozen=True):
    """A worker's properties and their origin. The repr shows none of them: they hold passwords.

    version is the worker's Kafka version. dedicated: a worker of a dedicated MirrorMaker, which accepts every override.
    unread is the reason why it may have other settings; None: these are all.
    """

    properties: Mapping[str, Property]
    version: KafkaVersion = NEWEST
    dedicated: bool = False
    unread: Skipped | None = None

    def get(self, key: str, default: str = "") -> str:
        found = self.properties.get(key)
        return default if found is None else found.value

    @property
    def group_id(self) -> str:
        return self.get("group.id")

    @property
    def config_topic(self) -> str:
        return self.get("config.storage.topic")

    @property
    def offsets_topic(self) -> str:
        return self.get("offset.storage.topic")

    @property
    def status_topic(self) -> str:
        return self.get("status.storage.topic")

    @property
    def internal_topics(self) -> tuple[str, ...]:
        return (self.config_topic, self.offsets_topic, self.status_topic)

    @property
    def phase(self) -> SourceSupport | None:
        """exactly.once.source.support, or Kafka's default; None: the setting may be among the unread ones."""
        if SOURCE_SUPPORT not in self.properties:
            return SourceSupport.DISABLED if self.unread is None else None
        return SourceSupport(self.get(SOURCE_SUPPORT).strip().lower())

    @property
    def phase_known_by(self) -> str:
        """The source of the phase: a worker's answer, or a file, even one that does not set it."""
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


class ConnectorConfig(Struct, frozen=True):
    """A connector's config and its task counts.

    task_count and task_count_record are from the config topic, None if it was not read or has none. topics are the
    output topics that the user named beyond the config (a trailing `*` means a prefix). active_topics are those that
    Connect saw it use (KIP-558), if requested. connect_cluster is the KafkaConnect in the label of a KafkaConnector.
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
        found = self.properties.get(key)
        return default if found is None else found.value

    @property
    def values(self) -> Mapping[str, str]:
        """The config without the origin of each setting."""
        return {key: each.value for key, each in self.properties.items()}

    @property
    def class_name(self) -> str:
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
        return self.get(OFFSETS_TOPIC) or None

    @property
    def tasks_max(self) -> int:
        text = self.get("tasks.max", "1").strip()
        return int(text) if text.isascii() and text.isdigit() and len(text) <= MOST_TASK_DIGITS else 1

    @property
    def most_tasks(self) -> int:
        """The most tasks that have run, are running, or may run: fencing goes over the last task count record."""
        return max(1, self.tasks_max, self.task_count or 0, self.task_count_record or 0)


class ConnectCluster(Struct, frozen=True):
    """Workers of one group.id (each may have its own principal) and their connectors.

    certificates are subjects known from elsewhere than the certificate, by the value of ssl.keystore.certificate.chain.
    resource is the name of the KafkaConnect or KafkaMirrorMaker2. others are further source connectors of the cluster
    that were not requested. all_known: `connectors` and `others` are all its connectors.
    """

    workers: tuple[WorkerConfig, ...]
    connectors: tuple[ConnectorConfig, ...]
    others: tuple[str, ...] = ()
    all_known: bool = True
    certificates: Mapping[str, str] = field(default_factory=dict)
    resource: str | None = None

    @property
    def group_id(self) -> str:
        return self.workers[0].group_id


SERVERS: Final = "bootstrap.servers"
ADMIN: Final = "admin"
PRODUCER: Final = "producer"
CONSUMER: Final = "consumer"
KINDS: Final[Mapping[ClientRole, str]] = {
    ClientRole.WORKER: ADMIN,
    ClientRole.PRODUCER: PRODUCER,
    ClientRole.CONSUMER: CONSUMER,
    ClientRole.ADMIN: ADMIN,
    ClientRole.SINK_CONSUMER: CONSUMER,
    ClientRole.DEAD_LETTER_QUEUE: PRODUCER,
    ClientRole.SINK_ADMIN: ADMIN,
    ClientRole.MIRROR_SOURCE_ADMIN: ADMIN,
    ClientRole.MIRROR_SOURCE_CONSUMER: CONSUMER,
    ClientRole.MIRROR_OFFSET_SYNCS: PRODUCER,
    ClientRole.MIRROR_TARGET_ADMIN: ADMIN,
    ClientRole.MIRROR_TARGET_CONSUMER: CONSUMER,
    ClientRole.ICEBERG: CONSUMER,
}
"""The kind of Kafka client of each role; its name is also the prefix of its settings."""

DEFAULTS: Final[Mapping[str, Mapping[str, str]]] = {
    ADMIN: {"retry.backoff.ms": "100", "retry.backoff.max.ms": "1000", "security.protocol": "PLAINTEXT"},
    PRODUCER: {
        "acks": "all",
        "delivery.timeout.ms": "120000",
        "enable.idempotence": "true",
        "max.in.flight.requests.per.connection": "5",
        "retries": "2147483647",
        "security.protocol": "PLAINTEXT",
        "transaction.timeout.ms": "60000",
    },
    CONSUMER: {"auto.offset.reset": "latest", "isolation.level": "read_uncommitted", "security.protocol": "PLAINTEXT"},
}
"""AdminClientConfig, ProducerConfig and ConsumerConfig: the defaults that eosctl asks for."""
SINCE: Final[Mapping[str, KafkaVersion]] = {"retry.backoff.max.ms": KafkaVersion(3, 7)}
"""Keys of DEFAULTS that clients before that version do not know."""


class ClientConfig(Struct, frozen=True):
    """The configuration of one client, for a role of a connector (or of none): properties with their origin.

    version is the worker's. unread is the reason why the worker's own settings are unknown (None: they are known); then
    properties holds only settings that no worker setting can change.
    """

    role: ClientRole
    connector: str | None
    properties: Mapping[str, Property]
    version: KafkaVersion = NEWEST
    unread: Skipped | None = None

    def get(self, key: str) -> str | None:
        found = self.properties.get(key)
        return None if found is None else found.value

    def setting(self, key: str) -> str | Skipped:
        """The effective value of `key`, given or by default.

        Skipped if it is hidden, if it is a reference that only the worker resolves, if unknown worker settings decide,
        if this version has no such key, or if the default is unknown.
        """
        if self.version < SINCE.get(key, self.version):
            return Skipped(f"clients of Kafka {self.version} do not know {key}")
        found = self.properties.get(key)
        if found is not None:
            return known_value(key, found)
        if self.unread is not None:
            return self.unread
        default = DEFAULTS[KINDS[self.role]].get(key)
        return Skipped(f"{key} is not set, and its default is not known here") if default is None else default

    def number(self, key: str) -> int | Skipped:
        """The same as a whole number; Skipped for any other text, with which Kafka makes no client."""
        value = self.setting(key)
        return value if isinstance(value, Skipped) else known_number(key, Property(value, self.origin(key)))

    def origin(self, key: str) -> str:
        """The place that sets `key`; the key itself if it has its default."""
        found = self.properties.get(key)
        return key if found is None else found.origin

    @property
    def bootstrap_servers(self) -> frozenset[str]:
        """The addresses it starts from, as the set of strings that Connect compares."""
        return server_set(self.get(SERVERS) or "")

    @property
    def servers_of_its_own(self) -> bool:
        found = self.properties.get(SERVERS)
        return found is not None and not found.origin.startswith(SERVERS)


def known_value(key: str, found: Property) -> str | Skipped:
    """The value as Kafka parses it, without blanks around it; Skipped if the worker sees another value."""
    if found.value == HIDDEN:
        return Skipped(f"the value of {found.origin or key} is hidden")
    if REFERENCE.search(found.value):
        return Skipped(f"{found.origin or key} is {found.value}, a reference that only the worker resolves")
    return found.value.strip()


def known_number(key: str, found: Property) -> int | Skipped:
    value = known_value(key, found)
    if isinstance(value, Skipped):
        return value
    number = whole(value)
    return Skipped(f"{found.origin or key} is {value!r}, not a whole number") if number is None else number


def as_properties(settings: Mapping[str, object], file: str | None = None) -> dict[str, Property]:
    """Settings as they are read, each with its origin: its own key, of this file where one is named."""
    return {
        key: Property(str(value), key if file is None else f"{key} of {file}")
        for key, value in settings.items()
        if value is not None
    }


def merged(layers: Iterable[Mapping[str, Property]]) -> dict[str, Property]:
    found: dict[str, Property] = {}
    for layer in layers:
        found |= layer
    return found


def stripped(properties: Mapping[str, Property], prefix: str) -> dict[str, Property]:
    """Those that begin with the prefix, without it (AbstractConfig.originalsWithPrefix)."""
    return {key[len(prefix) :]: each for key, each in properties.items() if key.startswith(prefix)}


def server_set(text: str) -> frozenset[str]:
    return frozenset(split_list(text))
