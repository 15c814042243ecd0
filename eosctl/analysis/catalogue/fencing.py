"""Findings about rounds of zombie fencing: before one, and after one."""

from typing import Final

from eosctl.model.report import FindingKind, Severity

ON_WORKERS: Final = "admin.retry.backoff.ms=5 and admin.retry.backoff.max.ms=5 on all workers"

BUDGET: Final = FindingKind(
    id="EOS030",
    name="fencing-too-slow",
    title="fencing takes longer than Connect waits",
    severity=Severity.ERROR,
    cause="Admin.fenceProducers waits its retry back-off between two IDs of one coordinator: with workers from 3.7 on "
    "some 95 tasks at one broker exceed the 90 s that Connect gives a round, before 3.7 some 900. Measured: 100 IDs "
    "take 91 to 94 s by default and 0.2 s with a back-off of 1 ms. Fencing from outside does not replace the round.",
    fix="set admin.override.retry.backoff.ms=5 and admin.override.retry.backoff.max.ms=5 in the connector's config "
    "(PUT /connectors/<connector>/config; connector.client.config.override.policy must allow it, as the default `All` "
    f"does), or {ON_WORKERS} and restart them one by one",
    source="KIP-580, KIP-618; Worker.fenceZombies, AdminApiDriver.poll; measured with 3.9.2 and 4.3.1",
)
LIMIT: Final = FindingKind(
    id="EOS031",
    name="fencing-timeout-refused",
    title="brokers refuse Connect's fencing timeout",
    severity=Severity.ERROR,
    cause="From 3.7.1 on workers send their 90 s as the transaction timeout of each InitProducerId (KAFKA-16047).",
    fix="set transaction.max.timeout.ms=900000 (the default) in every broker's server.properties and restart the "
    "brokers one by one",
    source="KAFKA-16047; FenceProducersHandler.buildSingleRequest; measured with 3.9.2",
)
NOT_PROVED: Final = FindingKind(
    id="EOS032",
    name="fencing-not-proved",
    title="fencing is not proved",
    severity=Severity.ERROR,
    cause="After fencing, the coordinator still has an open transaction of the old producer, the same producer ID and "
    "epoch, or did not refuse the old producer.",
    fix="run `eosctl fence --transactional-id <id>` again and keep its owner stopped",
    source="KIP-98, KIP-618",
    commands=("fence",),
)
KINDS: Final = (
    BUDGET,
    LIMIT,
    NOT_PROVED,
)
