"""What one Kafka client of a Connect cluster is configured with: what the worker hands to it, and Kafka's defaults."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from eosctl.model.client_properties import HIDDEN, REFERENCE, Property, listed
from eosctl.model.client_roles import ClientRole
from eosctl.model.skipped import Skipped
from eosctl.model.versions import NEWEST, KafkaVersion
from eosctl.model.whole_numbers import whole

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
}
"""Which of Kafka's three clients each role is; its name is also the prefix of its settings."""

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


@dataclass(frozen=True, slots=True)
class ClientConfig:
    """The configuration of one client, for a role of a connector (or of none): properties with their origin.

    version is the worker's. unread is why the worker's own settings are not known (None: they are); then properties
    holds only what no worker setting can change.
    """

    role: ClientRole
    connector: str | None
    properties: Mapping[str, Property]
    version: KafkaVersion = NEWEST
    unread: Skipped | None = None

    def get(self, key: str) -> str | None:
        """The value of `key` as it is handed to the client, None where nobody gave it."""
        found = self.properties.get(key)
        return None if found is None else found.value

    def setting(self, key: str) -> str | Skipped:
        """The value of `key` that is in force, given or by default.

        Skipped where it is hidden or a reference that only the worker resolves, where the worker's settings decide
        and are not known, and for a key that this version has not, or without a known default.
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
        """Where `key` was given; the key itself where it has its default."""
        found = self.properties.get(key)
        return key if found is None else found.origin

    @property
    def bootstrap_servers(self) -> frozenset[str]:
        """The addresses it starts from, as the set of strings that Connect compares."""
        return server_set(self.get(SERVERS) or "")

    @property
    def servers_of_its_own(self) -> bool:
        """Whether somebody gave it other bootstrap.servers than the worker's."""
        found = self.properties.get(SERVERS)
        return found is not None and not found.origin.startswith(SERVERS)


def known_value(key: str, found: Property) -> str | Skipped:
    """The value as Kafka parses it, without blanks around it; Skipped where it is not what the worker sees."""
    if found.value == HIDDEN:
        return Skipped(f"the value of {found.origin or key} is hidden")
    if REFERENCE.search(found.value):
        return Skipped(f"{found.origin or key} is {found.value}, a reference that only the worker resolves")
    return found.value.strip()


def known_number(key: str, found: Property) -> int | Skipped:
    """The same as a whole number; Skipped for any other text."""
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
    """All layers in one; later ones win."""
    found: dict[str, Property] = {}
    for layer in layers:
        found |= layer
    return found


def stripped(properties: Mapping[str, Property], prefix: str) -> dict[str, Property]:
    """Those that begin with the prefix, without it (AbstractConfig.originalsWithPrefix)."""
    return {key[len(prefix) :]: each for key, each in properties.items() if key.startswith(prefix)}


def server_set(text: str) -> frozenset[str]:
    """The addresses in bootstrap.servers."""
    return frozenset(listed(text))
