"""Masking of connector and task properties, before any other code sees them.

A property value is shown when its key is known to hold no secret, or when it is nothing but references to config
providers such as `${file:/etc/kafka/db.properties:password}` (KIP-297), which a worker resolves and eosctl does not.
All others read `[hidden]`, Kafka's own word for a password. The rule, first match wins:

1. null is shown.
2. Only references: shown.
3. The key looks secret: hidden.
4. The key is known (Connect's own settings, client settings, settings of Kafka's file and mirror connectors, the name
   of Debezium's replication slot, the names that Iceberg's sink uses) and the value is text without
   `://user:password@`, a number or a boolean: shown.
5. Hidden.
"""

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Final

from eosctl.late_pattern import late_pattern
from eosctl.model.client_properties import HIDDEN

Mask = Callable[[Mapping[str, object]], dict[str, object]]

_REFERENCE: Final = late_pattern(r"(?:\$\{[^{}:]+:(?:[^{}:]*:)?[^{}]+\})+")
_SECRET: Final = late_pattern(
    r"pass|pwd|secret|token|credential|jaas|private|passphrase|keystore\.key|certificate|sasl\.oauthbearer"
    r"|api[._-]?key|access[._-]?key|account[._-]?key|shared[._-]?key|encryption[._-]?key|auth|signature|cookie|\bsas\b",
    re.IGNORECASE,
)
_USER_INFO: Final = late_pattern(r"://[^/\s]*@")

_NAMED_SECRET: Final = late_pattern(
    r"""(?<![\w.\-])(?=[\w.\-]*?(?:pass|pwd|secret|token|credential|passphrase|user\.info|authorization))
        (?P<before>[\w.\-]++["']?\s*+[=:]\s*+)
        (?:\\?"(?:[^"\\]|\\.)*+(?:"|\\?\Z)|'(?:[^'\\]|\\.)*+(?:'|\\?\Z)|(?:basic|bearer)\s+\S+|[^\s,;&)}\]]+)""",
    re.IGNORECASE | re.VERBOSE | re.DOTALL,
)
"""Each character is looked at once: peers choose texts. A quotation that does not end hides all that follows."""
_KNOWN_SCHEME: Final = late_pattern(r"(?:https?|sqlite|postgres(?:ql)?|sc|file)://", re.IGNORECASE)
_NO_PORT: Final = late_pattern(r"^([^:/?#]*):(?!\d{1,5}(?:[/?#,]|$)).*", re.DOTALL)
_PRIVATE_KEY: Final = late_pattern(r"(-----BEGIN [A-Z ]*PRIVATE KEY-----).*?(?=-----END|\Z)", re.DOTALL)

_CLIENT_PREFIX: Final = late_pattern(
    r"iceberg\.kafka\.|(?:(?:source|target)(?:\.cluster)?\.)?(?:(?:producer|consumer|admin)\.(?:override\.)?)?|offset-syncs\.topic\."
)
_NAMED: Final = late_pattern(
    r"(?:transforms|predicates)\.[^.]+\.(?:type|predicate|negate)"
    r"|topic\.creation\.[^.]+\.(?:include|exclude|partitions|replication\.factor|cleanup\.policy|retention\.ms"
    r"|min\.insync\.replicas|compression\.type)"
    r"|(?:key|value|header)\.converter\.schemas\.(?:enable|cache\.size)"
    r"|column\.(?:mask|truncate)\..+"
)

_CONNECT: Final = """
name connector.class task.class task.id tasks.max tasks.max.enforce connector.plugin.version
key.converter value.converter header.converter
key.converter.plugin.version value.converter.plugin.version header.converter.plugin.version
transforms predicates config.action.reload
topic topics topics.regex topic.creation.groups topic.creation.enable
errors.tolerance errors.retry.timeout errors.retry.delay.max.ms errors.log.enable errors.log.include.messages
errors.deadletterqueue.topic.name errors.deadletterqueue.topic.replication.factor
errors.deadletterqueue.context.headers.enable
offsets.storage.topic exactly.once.support transaction.boundary transaction.boundary.interval.ms
"""
_CLIENTS: Final = """
bootstrap.servers client.id group.id group.instance.id client.rack client.dns.lookup security.protocol sasl.mechanism
ssl.endpoint.identification.algorithm ssl.protocol ssl.enabled.protocols
acks enable.idempotence transactional.id transaction.timeout.ms linger.ms batch.size buffer.memory max.block.ms
max.request.size max.in.flight.requests.per.connection compression.type delivery.timeout.ms retries partitioner.class
retry.backoff.ms retry.backoff.max.ms reconnect.backoff.ms reconnect.backoff.max.ms request.timeout.ms
default.api.timeout.ms connections.max.idle.ms metadata.max.age.ms send.buffer.bytes receive.buffer.bytes
isolation.level auto.offset.reset max.poll.records max.poll.interval.ms session.timeout.ms heartbeat.interval.ms
fetch.min.bytes fetch.max.bytes fetch.max.wait.ms max.partition.fetch.bytes enable.auto.commit
"""
_FILE_AND_MIRROR: Final = """
file alias cluster.alias source.cluster.alias target.cluster.alias enabled
topics.exclude topics.blacklist groups groups.exclude groups.blacklist config.properties.exclude
task.assigned.partitions task.assigned.groups task.index partitions
replication.factor replication.policy.class replication.policy.separator
replication.policy.internal.topic.separator.enabled
refresh.topics.enabled refresh.topics.interval.seconds refresh.groups.enabled refresh.groups.interval.seconds
sync.topic.configs.enabled sync.topic.configs.interval.seconds sync.topic.acls.enabled sync.topic.acls.interval.seconds
sync.group.offsets.enabled sync.group.offsets.interval.seconds use.incremental.alter.configs
emit.heartbeats.enabled emit.heartbeats.interval.seconds emit.checkpoints.enabled emit.checkpoints.interval.seconds
emit.offset-syncs.enabled heartbeats.topic.replication.factor checkpoints.topic.replication.factor
offset-syncs.topic.location offset-syncs.topic.replication.factor offset.lag.max consumer.poll.timeout.ms
topic.filter.class group.filter.class config.property.filter.class forwarding.admin.class add.source.alias.to.metrics
heartbeats.replication.enabled
"""
_DEBEZIUM: Final = """
slot.name publication.name plugin.name snapshot.mode include.schema.changes provide.transaction.metadata
topic.prefix topic.delimiter topic.naming.strategy topic.heartbeat.prefix topic.transaction
notification.enabled.channels notification.sink.topic.name signal.enabled.channels signal.kafka.topic
signal.kafka.groupId signal.consumer.group.id
schema.include.list schema.exclude.list database.include.list database.exclude.list table.include.list
table.exclude.list skipped.operations converters unavailable.value.placeholder
decimal.handling.mode time.precision.mode binary.handling.mode bigint.unsigned.handling.mode
schema.history.internal schema.history.internal.kafka.topic schema.history.internal.kafka.bootstrap.servers
database.history database.history.kafka.topic database.history.kafka.bootstrap.servers
"""
_ICEBERG: Final = """
iceberg.catalog iceberg.catalog.type iceberg.tables iceberg.tables.dynamic-enabled iceberg.tables.auto-create-enabled
iceberg.control.topic iceberg.control.group-id-prefix iceberg.connect.group-id
iceberg.control.commit.interval-ms iceberg.control.commit.timeout-ms iceberg.control.commit.max-consecutive-failures
iceberg.coordinator.transactional.prefix iceberg.coordinator.transactional.suffix
"""
_HARMLESS: Final = frozenset(f"{_CONNECT} {_CLIENTS} {_FILE_AND_MIRROR} {_DEBEZIUM} {_ICEBERG}".split())


def mask_properties(properties: Mapping[str, object]) -> dict[str, object]:
    """The properties with every value hidden that the rule above does not show."""
    return {key: value if _may_show(key, value) else HIDDEN for key, value in properties.items()}


def keep_properties(properties: Mapping[str, object]) -> dict[str, object]:
    """The properties as they are: only for tests that compare every value with Kafka's own classes."""
    return dict(properties)


def mask_text(text: str) -> str:
    """Text such as a traceback, with values that look like secrets hidden.

    Hidden are private keys in PEM, the user and password of URLs, and values behind a name such as password or token.
    """
    text = _PRIVATE_KEY.sub(rf"\1{HIDDEN}", text)
    text = _USER_INFO.sub(f"://{HIDDEN}@", text)
    return _NAMED_SECRET.sub(rf"\g<before>{HIDDEN}", text)


def mask_url(text: str) -> str:
    """An address as typed, safe to show: a possible user or password is hidden.

    A mistyped one is no URL: everything before the last `@` is hidden, and so is a port that is no number, with all
    that follows.
    """
    scheme = _KNOWN_SCHEME.match(text)
    shown = scheme[0] if scheme is not None else ""
    _, at, host = text[len(shown) :].rpartition("@")
    place = _NO_PORT.sub(rf"\1:{HIDDEN}", host)
    return mask_text(f"{shown}{HIDDEN}@{place}" if at else f"{shown}{place}")


def looks_secret(key: str) -> bool:
    """True if the value of `key` may be a secret, by its name."""
    return _SECRET.search(key) is not None


def _may_show(key: str, value: object) -> bool:
    if value is None:
        return True
    if isinstance(value, str):
        if value.startswith("${") and _REFERENCE.fullmatch(value):
            return True
        if "://" in value and _USER_INFO.search(value):
            return False
    elif not isinstance(value, bool | int | float):
        return False
    return _is_harmless(key)


@lru_cache(maxsize=4096)  # a topic has few different keys and many records
def _is_harmless(key: str) -> bool:
    if _SECRET.search(key):
        return False
    if key in _HARMLESS or _NAMED.fullmatch(key):
        return True
    prefix = _CLIENT_PREFIX.match(key)
    return prefix is not None and key[prefix.end() :] in _HARMLESS
