"""Which keys a Kafka client knows, and which of those that make up its identity eosctl cannot follow."""

from collections.abc import Iterable
from typing import Final

from eosctl.model.client_keys_by_release import SINCE
from eosctl.model.client_properties import TRUSTED

CLIENT_KEYS: Final = frozenset(key for keys in SINCE.values() for key in keys.split())
"""Settings of Kafka's admin, producer and consumer clients, of every release from 3.3 to 4.4."""

MIRROR_CLIENT_KEYS: Final = frozenset(
    key for key in CLIENT_KEYS if key in {"bootstrap.servers", "security.protocol"} or key.startswith(("ssl.", "sasl."))
)
"""What a setting of a whole cluster may be in MirrorMaker (MirrorClientConfig.CLIENT_CONFIG_DEF)."""

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
    """Those of `keys` that neither Kafka's clients nor eosctl know, sorted."""
    return tuple(sorted(key for key in keys if key not in CLIENT_KEYS | _OWN and not key.startswith(_PREFIXES)))


def keys_not_followed(keys: Iterable[str]) -> tuple[str, ...]:
    """Those of `keys` that a Java client would follow and eosctl cannot, sorted."""
    return tuple(sorted(NOT_FOLLOWED & set(keys)))
