"""Which keys Kafka's admin, producer and consumer clients know since which release, and until which.

Made from the clients' own ConfigDefs by `python -m tests.oracle.client_keys`: do not edit.
"""

from typing import Final

SINCE: Final = {
    "3.3": """
acks allow.auto.create.topics auto.commit.interval.ms auto.offset.reset batch.size bootstrap.servers buffer.memory
check.crcs client.dns.lookup client.id client.rack compression.type connections.max.idle.ms default.api.timeout.ms
delivery.timeout.ms enable.auto.commit enable.idempotence exclude.internal.topics fetch.max.bytes fetch.max.wait.ms
fetch.min.bytes group.id group.instance.id heartbeat.interval.ms interceptor.classes internal.leave.group.on.close
internal.throw.on.fetch.stable.offset.unsupported isolation.level key.deserializer key.serializer linger.ms
max.block.ms max.in.flight.requests.per.connection max.partition.fetch.bytes max.poll.interval.ms max.poll.records
max.request.size metadata.max.age.ms metadata.max.idle.ms metric.reporters metrics.num.samples metrics.recording.level
metrics.sample.window.ms partition.assignment.strategy partitioner.adaptive.partitioning.enable
partitioner.availability.timeout.ms partitioner.class partitioner.ignore.keys receive.buffer.bytes
reconnect.backoff.max.ms reconnect.backoff.ms request.timeout.ms retries retry.backoff.ms
sasl.client.callback.handler.class sasl.jaas.config sasl.kerberos.kinit.cmd sasl.kerberos.min.time.before.relogin
sasl.kerberos.service.name sasl.kerberos.ticket.renew.jitter sasl.kerberos.ticket.renew.window.factor
sasl.login.callback.handler.class sasl.login.class sasl.login.connect.timeout.ms sasl.login.read.timeout.ms
sasl.login.refresh.buffer.seconds sasl.login.refresh.min.period.seconds sasl.login.refresh.window.factor
sasl.login.refresh.window.jitter sasl.login.retry.backoff.max.ms sasl.login.retry.backoff.ms sasl.mechanism
sasl.oauthbearer.clock.skew.seconds sasl.oauthbearer.expected.audience sasl.oauthbearer.expected.issuer
sasl.oauthbearer.jwks.endpoint.refresh.ms sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms
sasl.oauthbearer.jwks.endpoint.retry.backoff.ms sasl.oauthbearer.jwks.endpoint.url sasl.oauthbearer.scope.claim.name
sasl.oauthbearer.sub.claim.name sasl.oauthbearer.token.endpoint.url security.protocol security.providers
send.buffer.bytes session.timeout.ms socket.connection.setup.timeout.max.ms socket.connection.setup.timeout.ms
ssl.cipher.suites ssl.enabled.protocols ssl.endpoint.identification.algorithm ssl.engine.factory.class
ssl.key.password ssl.keymanager.algorithm ssl.keystore.certificate.chain ssl.keystore.key ssl.keystore.location
ssl.keystore.password ssl.keystore.type ssl.protocol ssl.provider ssl.secure.random.implementation
ssl.trustmanager.algorithm ssl.truststore.certificates ssl.truststore.location ssl.truststore.password
ssl.truststore.type transaction.timeout.ms transactional.id value.deserializer value.serializer
""",
    "3.4": """
auto.include.jmx.reporter
""",
    "3.7": """
bootstrap.controllers enable.metrics.push group.protocol group.remote.assignor retry.backoff.max.ms
""",
    "3.8": """
compression.gzip.level compression.lz4.level compression.zstd.level metadata.recovery.strategy
""",
    "3.9": """
sasl.oauthbearer.header.urlencode
""",
    "4.0": """
metadata.recovery.rebootstrap.trigger.ms
""",
    "4.1": """
sasl.oauthbearer.assertion.algorithm sasl.oauthbearer.assertion.claim.aud sasl.oauthbearer.assertion.claim.exp.seconds
sasl.oauthbearer.assertion.claim.iss sasl.oauthbearer.assertion.claim.jti.include
sasl.oauthbearer.assertion.claim.nbf.seconds sasl.oauthbearer.assertion.claim.sub sasl.oauthbearer.assertion.file
sasl.oauthbearer.assertion.private.key.file sasl.oauthbearer.assertion.private.key.passphrase
sasl.oauthbearer.assertion.template.file sasl.oauthbearer.client.credentials.client.id
sasl.oauthbearer.client.credentials.client.secret sasl.oauthbearer.jwt.retriever.class
sasl.oauthbearer.jwt.validator.class sasl.oauthbearer.scope share.acknowledgement.mode
transaction.two.phase.commit.enable
""",
    "4.2": """
config.providers share.acquire.mode
""",
    "4.4": """
bootstrap.resolve.timeout.ms buffer.memory.allocation.strategy metadata.cluster.check.enable partitioner.rack.aware
sasl.oauthbearer.allow.unverified.audience sasl.oauthbearer.allow.unverified.issuer
""",
}
"""New keys by release; keys of the first one listed may be older."""

UNTIL: Final = {
    "4.0": """
auto.include.jmx.reporter
""",
    "4.2": """
internal.leave.group.on.close
""",
}
"""Keys by the first release that does not know them any more."""
