"""Findings about those who read what the connectors write."""

from typing import Final

from eosctl.model.report import FindingKind, Severity

SET_ISOLATION: Final = (
    "kafka-configs.sh --alter --entity-type groups --entity-name {} --add-config share.isolation.level=read_committed"
)

UNCOMMITTED: Final = FindingKind(
    id="EOS120",
    name="consumers-read-uncommitted",
    title="consumers that read uncommitted",
    severity=Severity.WARNING,
    cause="A consumer reads records of aborted transactions unless it sets isolation.level=read_committed; that is not "
    "its default, and no broker reports it. A share group has the group setting share.isolation.level, by "
    "default read_uncommitted too.",
    fix="set isolation.level=read_committed in every consumer of the connectors' topics; for a share group: "
    f"{SET_ISOLATION.format('<group>')}",
    source="KIP-98, KIP-932; ConsumerConfig.ISOLATION_LEVEL_CONFIG, GroupConfig.SHARE_ISOLATION_LEVEL_CONFIG",
)
SINK: Final = FindingKind(
    id="EOS121",
    name="sink-reads-uncommitted",
    title="sink connector that reads uncommitted",
    severity=Severity.INFO,
    cause="A sink's consumer has the worker's `consumer.` settings and the connector's `consumer.override.` ones, and "
    "reads records of aborted transactions unless isolation.level=read_committed is among them: exactly-once of the "
    "source that wrote its topics ends there.",
    fix="set consumer.override.isolation.level=read_committed: PUT /connectors/<connector>/config, or "
    "consumer.isolation.level=read_committed on all workers",
    source="Worker.baseConsumerConfigs",
)
HELD_BACK: Final = FindingKind(
    id="EOS122",
    name="consumers-held-back",
    title="consumers wait for a transaction in progress",
    severity=Severity.INFO,
    cause="Who reads committed gets no record behind the first one of a transaction that has not ended (the last "
    "stable offset). Its coordinator aborts it when its timeout has passed; no commit of another producer helps.",
    fix="see which groups wait: `eosctl transactions lso`. Where its producer is gone: `eosctl fence "
    "--transactional-id <transactional-id>` ends it now",
    source="KIP-98; TransactionCoordinator.abortTimedOutTransactions",
)
KINDS: Final = (UNCOMMITTED, SINK, HELD_BACK)
