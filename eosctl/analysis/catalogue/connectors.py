"""Findings about source connectors: whether they can do exactly-once, and overrides that spoil it."""

from typing import Final

from eosctl.model.report import FindingKind, Severity

UNSUPPORTED: Final = FindingKind(
    id="EOS100",
    name="exactly-once-unsupported",
    title="connector does not support exactly-once",
    severity=Severity.WARNING,
    cause="A connector that does not keep its position in source offsets, or whose source cannot be read again from "
    "there, writes duplicates whatever the worker does.",
    fix="use a release or a mode of the connector that supports it; its validation says which setting is in the way",
    source="KIP-618; SourceConnector.exactlyOnceSupport",
)
NEVER_ASKED: Final = FindingKind(
    id="EOS101",
    name="exactly-once-not-required",
    title="connector was never asked",
    severity=Severity.INFO,
    cause="The default, `requested`, checks nothing. `required` is refused (400) until every worker is enabled, and "
    "for a connector that does not implement exactlyOnceSupport().",
    fix="set exactly.once.support=required: PUT /connectors/<connector>/config",
    source="KIP-618; DistributedHerder.validateSourceConnectorExactlyOnceSupport",
)
IGNORED: Final = FindingKind(
    id="EOS102",
    name="override-ignored",
    title="override is ignored",
    severity=Severity.WARNING,
    cause="Workers with exactly-once set transactional.id, enable.idempotence and isolation.level themselves.",
    fix="remove the setting from the connector's config",
    source="KIP-618; Worker.exactlyOnceSourceTaskProducerConfigs",
)
BREAKING: Final = FindingKind(
    id="EOS103",
    name="override-breaks-idempotence",
    title="override breaks idempotence",
    severity=Severity.ERROR,
    cause="An idempotent producer needs acks=all, at most 5 requests in flight and retries. A connector has the "
    "worker's `producer.` settings where it has no `producer.override.` of its own.",
    fix="remove the setting from the connector's config, or from the workers' files",
    source="ProducerConfig.postProcessAndValidateIdempotenceConfigs, Worker.baseProducerConfigs",
)
TOO_LONG: Final = FindingKind(
    id="EOS104",
    name="transaction-timeout-too-long",
    title="transaction timeout above the brokers' maximum",
    severity=Severity.ERROR,
    cause="InitProducerId with a longer timeout than transaction.max.timeout.ms is refused "
    "(InvalidTxnTimeoutException).",
    fix="raise transaction.max.timeout.ms of the brokers (restart them one by one), or lower "
    "producer.override.transaction.timeout.ms of the connector",
    source="KIP-98; TransactionCoordinator.handleInitProducerId",
)
INTERVAL: Final = FindingKind(
    id="EOS105",
    name="transaction-interval-too-long",
    title="interval longer than the transaction timeout",
    severity=Severity.ERROR,
    cause="A transaction that is open for longer than transaction.timeout.ms is aborted by its coordinator.",
    fix="set transaction.boundary.interval.ms below producer.override.transaction.timeout.ms",
    source="KIP-618, KIP-98; ExactlyOnceWorkerSourceTask.buildTransactionManager, "
    "TransactionCoordinator.abortTimedOutTransactions",
)
MIRROR: Final = FindingKind(
    id="EOS106",
    name="mirror-reads-uncommitted",
    title="MirrorMaker reads uncommitted",
    severity=Severity.WARNING,
    cause="Exactly-once of a mirror holds for what its consumer reads.",
    fix="set source.consumer.isolation.level=read_committed: PUT /connectors/<connector>/config; in dedicated mode, "
    "which has no such request, set <source>.consumer.isolation.level=read_committed in mm2.properties and restart "
    "the nodes",
    source="MirrorConnectorConfig.sourceConsumerConfig, MirrorMakerConfig.connectorBaseConfig",
)
DEDICATED: Final = FindingKind(
    id="EOS107",
    name="mirror-without-internal-rest",
    title="dedicated MirrorMaker without internal REST",
    severity=Severity.WARNING,
    cause="Nodes of a dedicated MirrorMaker open no REST server unless dedicated.mode.enable.internal.rest says so "
    "(from 3.5 on). One node alone is its own leader and needs none; of several, only the leader can have tasks "
    "fenced.",
    fix="set dedicated.mode.enable.internal.rest=true and listeners on every node, and restart them",
    source="KIP-710; MirrorMaker.addHerder",
)
FAILED: Final = FindingKind(
    id="EOS108",
    name="tasks-failed",
    title="tasks of a source failed",
    severity=Severity.WARNING,
    cause="Under exactly-once a task fails where fencing, its producer or its offsets topic fails; Connect does not "
    "start it again by itself.",
    fix="read why: GET /connectors/<connector>/status; then restart each of them: POST "
    "/connectors/<connector>/tasks/<task>/restart. `restart?includeTasks=true` does it with one request, but a leader "
    "whose transactional ID expired or was fenced refuses that, and then every change until it is restarted (EOS110)",
    source="KIP-618; WorkerTask.onFailure",
)
UNBOUND: Final = FindingKind(
    id="EOS109",
    name="connector-transactions-unbound",
    title="transactions that the connector ends, without a timeout of their own",
    severity=Severity.WARNING,
    cause="With transaction.boundary=connector the connector says when its transaction ends, and nothing else does. "
    "One that is open for longer than transaction.timeout.ms is aborted by its coordinator, and the task is FAILED; "
    "the producer's default is 60000 ms, whatever the connector does.",
    fix="set producer.override.transaction.timeout.ms to more than its longest transaction takes (PUT "
    "/connectors/<connector>/config; connector.client.config.override.policy must allow it), and to no more than "
    "transaction.max.timeout.ms of the brokers",
    source="ExactlyOnceWorkerSourceTask.buildTransactionManager, TransactionCoordinator.abortTimedOutTransactions",
)
KINDS: Final = (
    UNSUPPORTED,
    NEVER_ASKED,
    IGNORED,
    BREAKING,
    TOO_LONG,
    INTERVAL,
    MIRROR,
    DEDICATED,
    FAILED,
    UNBOUND,
)
