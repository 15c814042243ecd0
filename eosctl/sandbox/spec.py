"""What a sandbox should be."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from eosctl.errors import UsageError
from eosctl.model.versions import KafkaVersion
from eosctl.sandbox.plugins import check_plugin
from eosctl.sandbox.versions import DEFAULT_KAFKA_VERSION, parse_kafka_version

USERS = ("worker", "connector", "admin", "tool")
EXACTLY_ONCE = ("disabled", "preparing", "enabled")
MOST_BROKERS = 3
MOST_WORKERS = 3


@dataclass(frozen=True, slots=True)
class SandboxSpec:
    """What a sandbox should be; what is left out is one 4.3.1 broker in a temporary directory.

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
        """`kafka_version` as numbers."""
        return parse_kafka_version(self.kafka_version)

    @property
    def workers_version(self) -> str:
        """The version of the workers."""
        return self.connect_version or self.kafka_version

    @property
    def all_users(self) -> tuple[str, ...]:
        """The SASL users: the four standing ones, then the named ones, each once."""
        return tuple(dict.fromkeys((*USERS, *self.users)))

    @property
    def voters(self) -> range:
        """Node IDs of the quorum voters: all three of three brokers, otherwise broker 1 alone.

        Two voters would stop as soon as either of them stops.
        """
        return range(1, 4) if self.brokers == MOST_BROKERS else range(1, 2)
