"""The configuration of a Kafka client: Java client properties, their origins, and the principal."""

import re
from collections.abc import Collection, Iterable, Mapping
from enum import StrEnum
from typing import ClassVar, Final, Self

from msgspec import Struct, field
from msgspec.structs import replace

from eosctl.errors import OtherCluster, Refused
from eosctl.late_pattern import late_pattern
from eosctl.model.client_keys_by_release import SINCE
from eosctl.model.hidden_fields import HiddenFields

HIDDEN: Final = "[hidden]"
"""Stands for a value that may be a secret."""
UNREAD: Final = "[unread]"
"""Replaces a value that was not read; the property's origin gives the reason."""
REFERENCE: Final = late_pattern(r"\$\{([^}:]*):(?:([^}:]*):)?([^}]*)\}")
"""A reference to a config provider in a value: `${provider:path:key}` or `${provider:key}` (KIP-297)."""


TRUSTED: Final = "eosctl.trusted.bootstrap.servers"
"""A client property: brokers beside bootstrap.servers that the user's credentials may be shown to."""
ANONYMOUS: Final = "User:ANONYMOUS"


def split_list(text: str) -> list[str]:
    """The parts of a list as Kafka splits it: at commas, without blanks around them and without empty ones."""
    return [part for each in text.split(",") if (part := each.strip())]


class SecurityProtocol(StrEnum):
    PLAINTEXT = "PLAINTEXT"
    SSL = "SSL"
    SASL_PLAINTEXT = "SASL_PLAINTEXT"
    SASL_SSL = "SASL_SSL"

    @property
    def uses_sasl(self) -> bool:
        return self in {SecurityProtocol.SASL_PLAINTEXT, SecurityProtocol.SASL_SSL}

    @property
    def uses_tls(self) -> bool:
        return self in {SecurityProtocol.SSL, SecurityProtocol.SASL_SSL}


class Property(HiddenFields, frozen=True):
    """The value of one client property and where it was given; its repr never shows the value."""

    hidden: ClassVar = ("value",)

    value: str
    origin: str


class SaslCredentials(HiddenFields, frozen=True):
    """SASL mechanism, and the user name and password of PLAIN and SCRAM (None for other mechanisms)."""

    hidden: ClassVar = ("password",)

    mechanism: str
    username: str | None = None
    password: str | None = None


_ADDRESS: Final = late_pattern(r"(?:.*://)?(?:\[[^\[\]]+\]|[^\[\]]+):([0-9]{1,5})", re.DOTALL)


def is_broker_address(text: str) -> bool:
    """True if the text is HOST:PORT, as bootstrap.servers lists them.

    The Java client also takes PROTOCOL://HOST:PORT.
    """
    found = _ADDRESS.fullmatch(text)
    return found is not None and 0 < int(found[1]) < 1 << 16


class ClientProperties(Struct, frozen=True):
    """The address of a cluster, and the identity to use there.

    bootstrap_servers are `host:port`. properties are the merged Java client properties, each with its origin. named_by
    is the source of the brokers' names if the user did not give them, such as a plan file or a connector's config.
    also_named are other brokers that the user named, or that the user's brokers advertise. cluster_id is the required
    cluster, None: any.
    """

    bootstrap_servers: tuple[str, ...]
    security_protocol: SecurityProtocol = SecurityProtocol.PLAINTEXT
    sasl: SaslCredentials | None = None
    properties: Mapping[str, Property] = field(default_factory=dict)
    named_by: str | None = None
    also_named: frozenset[str] = frozenset()
    cluster_id: str | None = None

    def get(self, key: str) -> str | None:
        found = self.properties.get(key)
        return None if found is None else found.value

    def origin(self, key: str) -> str | None:
        found = self.properties.get(key)
        return None if found is None else found.origin

    @property
    def principal(self) -> str:
        """The principal as far as the client side knows it.

        1. SASL with a user name (PLAIN, SCRAM): `User:<name>`, as the broker's default principal builder makes it.
        2. Other SASL mechanisms and TLS with a client certificate: the broker derives the name, so the text names
           what it is derived from.
        3. No authentication: `User:ANONYMOUS`.
        """
        if self.sasl is not None:
            return f"User:{self.sasl.username}" if self.sasl.username else f"the {self.sasl.mechanism} principal"
        for key in ("ssl.keystore.location", "ssl.keystore.certificate.chain"):
            if self.security_protocol.uses_tls and key in self.properties:
                return f"the principal of {self.get(key) if key.endswith('location') else self.origin(key)}"
        return ANONYMOUS

    def at(self, servers: Collection[str], named_by: str) -> Self:
        """The same identity at brokers that `named_by` names, unless the user named all of them as well."""
        trusted = {*self.bootstrap_servers, *self.also_named, *split_list(self.get(TRUSTED) or "")}
        is_trusted = self.named_by is None and {each.lower() for each in servers} <= {each.lower() for each in trusted}
        unnamed = None if is_trusted else named_by
        return replace(self, bootstrap_servers=tuple(servers), named_by=unnamed, cluster_id=None)

    def naming(self, servers: Iterable[str]) -> Self:
        return replace(self, also_named=self.also_named.union(servers))

    def require_cluster(self, found: str, address: str) -> None:
        """Raises OtherCluster if the cluster at this address is not the required one."""
        if self.cluster_id not in {None, found}:
            raise OtherCluster(
                f"{address} is Kafka cluster {found} now, and the brokers that answered before are {self.cluster_id}",
                hint="two clusters answer at one address, or the address was changed. Check that it leads to the "
                "right cluster, then run the command again",
            )

    def confirmed(self) -> Self:
        return replace(self, named_by=None)

    @property
    def needs_confirmation(self) -> bool:
        """True if credentials would be shown to brokers that the user did not name."""
        return self.named_by is not None and self.principal != ANONYMOUS

    def require_named(self) -> None:
        """Raises Refused if a password, ticket, token or certificate would go to brokers that the user did not name.

        A broker may keep a secret that it is shown, so only the user's own words decide which brokers get it.
        """
        if not self.needs_confirmation:
            return
        servers = ",".join(self.bootstrap_servers)
        raise Refused(
            f"the brokers {servers} are named by {self.named_by} and not by you: the credentials of {self.principal} "
            "are not shown to them",
            hint=f"if these brokers are the right ones, name them: -b {servers}, or {TRUSTED}={servers} with -X or in "
            "--command-config",
        )


CLIENT_KEYS: Final = frozenset(key for keys in SINCE.values() for key in keys.split())
"""Settings of Kafka's admin, producer and consumer clients, of every release from 3.3 to 4.4."""

MIRROR_CLIENT_KEYS: Final = frozenset(
    key for key in CLIENT_KEYS if key in {"bootstrap.servers", "security.protocol"} or key.startswith(("ssl.", "sasl."))
)
"""Settings of a whole cluster in MirrorMaker (MirrorClientConfig.CLIENT_CONFIG_DEF)."""

_IN_JAVA_ONLY: Final = """
security.providers ssl.provider ssl.engine.factory.class ssl.keymanager.algorithm ssl.trustmanager.algorithm
ssl.secure.random.implementation sasl.client.callback.handler.class sasl.login.class
"""
NOT_FOLLOWED: Final = frozenset(_IN_JAVA_ONLY.split())
"""Settings of the identity that name Java classes or Java's own algorithms."""

MOST_BATCH_BYTES: Final = "eosctl.batch.max.bytes"

_OWN: Final = frozenset({"basic.auth.user.info", MOST_BATCH_BYTES, TRUSTED})
_PREFIXES: Final = ("config.providers", "listeners.https.ssl.")


def unknown_keys(keys: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(key for key in keys if key not in CLIENT_KEYS | _OWN and not key.startswith(_PREFIXES)))


def keys_not_followed(keys: Iterable[str]) -> tuple[str, ...]:
    """The keys that a Java client would follow and eosctl cannot, sorted."""
    return tuple(sorted(NOT_FOLLOWED & set(keys)))
