"""The settings of a broker, a worker and their logging, as each Kafka version wants them."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from eosctl.errors import UsageError
from eosctl.model.versions import KafkaVersion
from eosctl.sandbox.jars import DEFAULT_KAFKA_VERSION, check_plugin, parse_kafka_version

USERS = ("worker", "connector", "admin", "tool")
EXACTLY_ONCE = ("disabled", "preparing", "enabled")
MOST_BROKERS = 3
MOST_WORKERS = 3


@dataclass(frozen=True, slots=True)
class SandboxSpec:
    """The requested sandbox; by default one 4.3.1 broker in a temporary directory.

    `kafka_version` is the version of the brokers, and of the workers where `connect_version` names no other.

    `broker_config` and `worker_config` win over the sandbox's own settings, for every broker and worker.
    `exactly_once` is the workers' `exactly.once.source.support`. `users` are SASL users beside worker, connector,
    admin and tool. `port` is the plaintext port of broker 1; other ports, and this one when None, are free ones.
    `plugins` are further plugins of the workers: directories of jars, or `group:artifact:version`. `postgres` starts a
    PostgreSQL with logical decoding, whose data end with it.
    `features` are levels to format the storage with, as `{"transaction.version": "0"}` (KIP-1022, from 4.0 on).
    A named `directory` is kept after the stop, and starting on it again resumes its data.
    """

    kafka_version: str = DEFAULT_KAFKA_VERSION
    connect_version: str | None = None
    brokers: int = 1
    workers: int = 0
    exactly_once: str = "enabled"
    broker_config: Mapping[str, str] = field(default_factory=dict)
    worker_config: Mapping[str, str] = field(default_factory=dict)
    users: Sequence[str] = ()
    features: Mapping[str, str] = field(default_factory=dict)
    plugins: Sequence[str] = ()
    postgres: bool = False
    group_id: str = "connect-cluster"
    directory: Path | None = None
    port: int | None = None
    broker_java_options: Sequence[str] = ()
    worker_java_options: Sequence[str] = ()
    deadline_s: float = 120.0

    def __post_init__(self) -> None:
        """Raises UsageError when the numbers or names are outside what a sandbox can be."""
        parse_kafka_version(self.kafka_version)
        parse_kafka_version(self.workers_version)
        if not 1 <= self.brokers <= MOST_BROKERS:
            raise UsageError(f"a sandbox has 1 to {MOST_BROKERS} brokers, not {self.brokers}")
        if not 0 <= self.workers <= MOST_WORKERS:
            raise UsageError(f"a sandbox has 0 to {MOST_WORKERS} workers, not {self.workers}")
        if self.exactly_once not in EXACTLY_ONCE:
            raise UsageError(f"exactly-once is {', '.join(EXACTLY_ONCE)}, not {self.exactly_once!r}")
        if self.directory is not None and "," in str(self.directory):
            raise UsageError(f"{self.directory} has a comma, at which Kafka would split log.dirs")
        for plugin in self.plugins:
            check_plugin(plugin)
        for user in self.users:
            if not re.fullmatch(r"[A-Za-z0-9_-]+", user):
                raise UsageError(f"user name {user!r} has characters outside A-Z a-z 0-9 _ -")

    @property
    def version(self) -> KafkaVersion:
        return parse_kafka_version(self.kafka_version)

    @property
    def workers_version(self) -> str:
        return self.connect_version or self.kafka_version

    @property
    def all_users(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*USERS, *self.users)))

    @property
    def voters(self) -> range:
        """Node IDs of the quorum voters: all three of three brokers, otherwise broker 1 alone.

        Two voters would stop as soon as either of them stops.
        """
        return range(1, 4) if self.brokers == MOST_BROKERS else range(1, 2)


HOST = "127.0.0.1"
PLAIN_LOGIN = "org.apache.kafka.common.security.plain.PlainLoginModule"


@dataclass(frozen=True, slots=True)
class BrokerPorts:
    """The ports of one node: PLAINTEXT (ANONYMOUS, super user), SASL_PLAINTEXT (users) and CONTROLLER."""

    plaintext: int
    sasl: int
    controller: int


def broker_properties(
    spec: SandboxSpec, node: int, ports: Sequence[BrokerPorts], passwords: Mapping[str, str], data: Path
) -> dict[str, str]:
    """The server.properties of broker `node` (from 1); `ports` are those of all brokers in order of node ID."""
    own = ports[node - 1]
    voter = node in spec.voters
    listeners = f"PLAINTEXT://{HOST}:{own.plaintext},SASL_PLAINTEXT://{HOST}:{own.sasl}"
    quorum = ",".join(f"{voter}@{HOST}:{ports[voter - 1].controller}" for voter in spec.voters)
    return {
        "process.roles": "broker,controller" if voter else "broker",
        "node.id": str(node),
        "controller.quorum.voters": quorum,
        "controller.listener.names": "CONTROLLER",
        "listeners": f"{listeners},CONTROLLER://{HOST}:{own.controller}" if voter else listeners,
        "advertised.listeners": listeners,
        "inter.broker.listener.name": "PLAINTEXT",
        "log.dirs": str(data),
        **_security(passwords),
        **_replication(spec),
        "group.initial.rebalance.delay.ms": "0",
        # A killed broker is let in again when its old session has ended: 9 s by default.
        "broker.session.timeout.ms": "5000",
        "broker.heartbeat.interval.ms": "1000",
        "log.cleaner.dedupe.buffer.size": "16777216",
        # Every broker creates all of them at the first transaction and the first group: Kafka's 50 take longer than the
        # start of a broker.
        "offsets.topic.num.partitions": "6",
        "transaction.state.log.num.partitions": "6",
        # Without it an idle controller writes a record to the disk of every voter each half second.
        "metadata.max.idle.interval.ms": "0",
        **spec.broker_config,
    }


def _security(passwords: Mapping[str, str]) -> dict[str, str]:
    users = " ".join(f'user_{name}="{password}"' for name, password in passwords.items())
    return {
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,SASL_PLAINTEXT:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT",
        "sasl.enabled.mechanisms": "PLAIN",
        "listener.name.sasl_plaintext.plain.sasl.jaas.config": f"{PLAIN_LOGIN} required {users};",
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:ANONYMOUS",
        "allow.everyone.if.no.acl.found": "false",
    }


def _replication(spec: SandboxSpec) -> dict[str, str]:
    factor = str(spec.brokers)
    in_sync = "2" if spec.brokers == 3 else "1"
    settings = {
        "default.replication.factor": factor,
        "offsets.topic.replication.factor": factor,
        "transaction.state.log.replication.factor": factor,
        "transaction.state.log.min.isr": in_sync,
    }
    if spec.version.major >= 4:
        settings["share.coordinator.state.topic.replication.factor"] = factor
        settings["share.coordinator.state.topic.min.isr"] = in_sync
    return settings


def worker_properties(
    spec: SandboxSpec, bootstrap_servers: str, rest_port: int, plugin_path: Iterable[Path]
) -> dict[str, str]:
    """The worker.properties of a ConnectDistributed that answers REST on `rest_port`."""
    version = parse_kafka_version(spec.workers_version)
    version_settings = {"plugin.discovery": "service_load"} if version >= KafkaVersion(3, 6, 0) else {}
    # With 0, workers before 3.6.1 never give a lost worker's tasks to another (KAFKA-15693).
    delay_ms = "0" if version >= KafkaVersion(3, 6, 1) else "1"
    replication = str(spec.brokers)
    return {
        "bootstrap.servers": bootstrap_servers,
        "group.id": spec.group_id,
        "key.converter": "org.apache.kafka.connect.storage.StringConverter",
        "value.converter": "org.apache.kafka.connect.storage.StringConverter",
        "config.storage.topic": "connect-configs",
        "offset.storage.topic": "connect-offsets",
        "status.storage.topic": "connect-status",
        "config.storage.replication.factor": replication,
        "offset.storage.replication.factor": replication,
        "status.storage.replication.factor": replication,
        "exactly.once.source.support": spec.exactly_once,
        # With Kafka's 25 each worker and each task reads 25 partitions.
        "offset.storage.partitions": "6",
        # An idle consumer, one for each task and each internal topic, otherwise asks its broker twice a second.
        "fetch.max.wait.ms": "2000",
        "consumer.fetch.max.wait.ms": "2000",
        "offset.flush.interval.ms": "1000",
        "scheduled.rebalance.max.delay.ms": delay_ms,
        "listeners": f"http://{HOST}:{rest_port}",
        "rest.advertised.host.name": HOST,
        "plugin.path": ",".join(map(str, plugin_path)),
        **version_settings,
        **spec.worker_config,
    }


def client_properties(user: str, password: str, bootstrap_servers: str) -> dict[str, str]:
    """The client.properties with which a Java client is `User:<user>` on the SASL listener."""
    return {
        "bootstrap.servers": bootstrap_servers,
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "PLAIN",
        "sasl.jaas.config": f'{PLAIN_LOGIN} required username="{user}" password="{password}";',
    }


def worker_sasl_properties(
    passwords: Mapping[str, str], worker: str, connector: str, bootstrap_servers: str
) -> dict[str, str]:
    """The worker settings by which a worker is `User:<worker>`, and its connectors' clients are `User:<connector>`.

    Connectors' clients are those behind the prefixes `producer.`, `consumer.` and `admin.`.
    """
    own = client_properties(worker, passwords[worker], bootstrap_servers)
    theirs = client_properties(connector, passwords[connector], bootstrap_servers)
    prefixed = {f"{role}.{key}": value for role in ("producer", "consumer", "admin") for key, value in theirs.items()}
    return {**own, **prefixed}


def properties_text(settings: Mapping[str, str]) -> str:
    """`settings` as a Java properties file; non-ASCII and control characters become `\\uXXXX` of UTF-16 units."""
    return "".join(f"{_escaped(key, ' :=#!')}={_escaped(value, ' ')}\n" for key, value in settings.items())


def _escaped(text: str, special: str) -> str:
    units = text.replace("\\", "\\\\").encode("utf-16-be")
    characters = (int.from_bytes(units[i : i + 2], "big") for i in range(0, len(units), 2))
    written = "".join(chr(unit) if 0x20 <= unit < 0x7F else f"\\u{unit:04x}" for unit in characters)
    if special == " ":
        return f"\\{written}" if written.startswith(" ") else written
    return "".join(f"\\{character}" if character in special else character for character in written)


LOG4J = """log4j.rootLogger=INFO, stdout
log4j.appender.stdout=org.apache.log4j.ConsoleAppender
log4j.appender.stdout.layout=org.apache.log4j.PatternLayout
log4j.appender.stdout.layout.ConversionPattern=[%d] %p %m (%c:%L)%n
"""
LOG4J2 = """appender.stdout.type=Console
appender.stdout.name=STDOUT
appender.stdout.layout.type=PatternLayout
appender.stdout.layout.pattern=[%d] %p %m (%c:%L)%n
rootLogger.level=INFO
rootLogger.appenderRef.stdout.ref=STDOUT
"""


def logging_configuration(version: KafkaVersion) -> tuple[str, str]:
    """Logging properties of this version (INFO and worse to stdout), and the system property that names their file."""
    return (LOG4J2, "log4j2.configurationFile") if version.major >= 4 else (LOG4J, "log4j.configuration")
