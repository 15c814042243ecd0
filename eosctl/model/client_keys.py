"""Which keys a Kafka client knows, and which of those that make up its identity eosctl cannot follow."""

from collections.abc import Iterable
from typing import Final

_KNOWN: Final = """
acks allow.auto.create.topics auto.commit.interval.ms auto.offset.reset batch.size bootstrap.controllers
bootstrap.servers buffer.memory check.crcs client.dns.lookup client.id client.rack compression.gzip.level
compression.lz4.level compression.type compression.zstd.level config.providers connections.max.idle.ms
default.api.timeout.ms delivery.timeout.ms enable.auto.commit enable.idempotence enable.metrics.push
exclude.internal.topics fetch.max.bytes fetch.max.wait.ms fetch.min.bytes group.id group.instance.id group.protocol
group.remote.assignor heartbeat.interval.ms interceptor.classes internal.leave.group.on.close
internal.throw.on.fetch.stable.offset.unsupported isolation.level key.deserializer key.serializer linger.ms
max.block.ms max.in.flight.requests.per.connection max.partition.fetch.bytes max.poll.interval.ms max.poll.records
max.request.size metadata.max.age.ms metadata.max.idle.ms metadata.recovery.rebootstrap.trigger.ms
metadata.recovery.strategy metric.reporters metrics.num.samples metrics.recording.level metrics.sample.window.ms
partition.assignment.strategy partitioner.adaptive.partitioning.enable partitioner.availability.timeout.ms
partitioner.class partitioner.ignore.keys receive.buffer.bytes reconnect.backoff.max.ms reconnect.backoff.ms
request.timeout.ms retries retry.backoff.max.ms retry.backoff.ms sasl.client.callback.handler.class sasl.jaas.config
sasl.kerberos.kinit.cmd sasl.kerberos.min.time.before.relogin sasl.kerberos.service.name
sasl.kerberos.ticket.renew.jitter sasl.kerberos.ticket.renew.window.factor sasl.login.callback.handler.class
sasl.login.class sasl.login.connect.timeout.ms sasl.login.read.timeout.ms sasl.login.refresh.buffer.seconds
sasl.login.refresh.min.period.seconds sasl.login.refresh.window.factor sasl.login.refresh.window.jitter
sasl.login.retry.backoff.max.ms sasl.login.retry.backoff.ms sasl.mechanism sasl.oauthbearer.assertion.algorithm
sasl.oauthbearer.assertion.claim.aud sasl.oauthbearer.assertion.claim.exp.seconds sasl.oauthbearer.assertion.claim.iss
sasl.oauthbearer.assertion.claim.jti.include sasl.oauthbearer.assertion.claim.nbf.seconds
sasl.oauthbearer.assertion.claim.sub sasl.oauthbearer.assertion.file sasl.oauthbearer.assertion.private.key.file
sasl.oauthbearer.assertion.private.key.passphrase sasl.oauthbearer.assertion.template.file
sasl.oauthbearer.client.credentials.client.id sasl.oauthbearer.client.credentials.client.secret
sasl.oauthbearer.clock.skew.seconds sasl.oauthbearer.expected.audience sasl.oauthbearer.expected.issuer
sasl.oauthbearer.header.urlencode sasl.oauthbearer.jwks.endpoint.refresh.ms
sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms sasl.oauthbearer.jwks.endpoint.retry.backoff.ms
sasl.oauthbearer.jwks.endpoint.url sasl.oauthbearer.jwt.retriever.class sasl.oauthbearer.jwt.validator.class
sasl.oauthbearer.scope sasl.oauthbearer.scope.claim.name sasl.oauthbearer.sub.claim.name
sasl.oauthbearer.token.endpoint.url security.protocol security.providers send.buffer.bytes session.timeout.ms
share.acknowledgement.mode share.acquire.mode socket.connection.setup.timeout.max.ms
socket.connection.setup.timeout.ms ssl.cipher.suites ssl.enabled.protocols ssl.endpoint.identification.algorithm
ssl.engine.factory.class ssl.key.password ssl.keymanager.algorithm ssl.keystore.certificate.chain ssl.keystore.key
ssl.keystore.location ssl.keystore.password ssl.keystore.type ssl.protocol ssl.provider
ssl.secure.random.implementation ssl.trustmanager.algorithm ssl.truststore.certificates ssl.truststore.location
ssl.truststore.password ssl.truststore.type transaction.timeout.ms transaction.two.phase.commit.enable
transactional.id value.deserializer value.serializer
"""
CLIENT_KEYS: Final = frozenset(_KNOWN.split())
"""Settings of Kafka's admin, producer and consumer clients, 3.3 to 4.3."""

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

_OWN: Final = frozenset({"basic.auth.user.info", MOST_BATCH_BYTES})
_PREFIXES: Final = ("config.providers", "listeners.https.ssl.")


def unknown_keys(keys: Iterable[str]) -> tuple[str, ...]:
    """Those of `keys` that neither Kafka's clients nor eosctl know, sorted."""
    return tuple(sorted(key for key in keys if key not in CLIENT_KEYS | _OWN and not key.startswith(_PREFIXES)))


def keys_not_followed(keys: Iterable[str]) -> tuple[str, ...]:
    """Those of `keys` that a Java client would follow and eosctl cannot, sorted."""
    return tuple(sorted(NOT_FOLLOWED & set(keys)))
