"""Findings about the records of offsets topics, and what workers and connectors find there."""

from typing import Final

from eosctl.model.report import FindingKind, OlderFix, Severity
from eosctl.model.versions import STOPPED_STATE

DELETED: Final = "delete it (DELETE /connectors/<connector>; its offsets stay)"
CREATED_AGAIN: Final = "create it again (PUT /connectors/<connector>/config)"

UNDELETABLE: Final = FindingKind(
    id="EOS089",
    name="offsets-undeletable",
    title="offsets that REST cannot delete",
    severity=Severity.INFO,
    cause="From 3.8 on tombstones go to the workers' offsets topic first, and the connector's own topic is written "
    "from that answer. By then the transaction is over (`Cannot add partition … while in state READY`), and the "
    "request ends with the 90 s that REST gives it (KAFKA-15018; measured with 3.9.2 and 4.3.1, and fine in 3.6.2). A "
    "running task whose commit holds a null offset commits its records without their offsets, turns FAILED, and writes "
    "them again at each start: such a connector needs the workers' offsets topic.",
    fix="reset with eosctl: `eosctl offsets export <file> --connector <connector>`, set the offsets in the file to "
    "null, and `eosctl offsets restore <file> --connector <connector> --stop --resume`",
    source="KIP-875, KAFKA-15018; ConnectorOffsetBackingStore.set",
)
SHADOWED_OFFSET: Final = FindingKind(
    id="EOS080",
    name="shadowed-offset",
    title="shadowed offset",
    severity=Severity.ERROR,
    cause="The merged view puts a missing offset of the own topic over the worker's: the connector begins from nothing "
    "and copies everything again. Measured: 1,000 duplicates of 1,000 records.",
    fix="stop it (PUT /connectors/<connector>/stop), take offsets.storage.topic out of its config (PUT "
    "/connectors/<connector>/config), then move: `eosctl migrate-offsets --connector <connector> --to-topic <topic> "
    "--stop --set-config --resume`",
    older=OlderFix(
        STOPPED_STATE,
        f"{DELETED}, move: `eosctl migrate-offsets --connector <connector> --to-topic <topic> --offsets-topic <the "
        f"workers' topic>`, then {CREATED_AGAIN}",
    ),
    source="KIP-618; ConnectorOffsetBackingStore.get",
    commands=("offsets show",),
)
STORES_DISAGREE: Final = FindingKind(
    id="EOS081",
    name="stores-disagree",
    title="offset stores disagree",
    severity=Severity.WARNING,
    cause="Only the connector's own topic is used.",
    fix="see which of the two the connector reached; if it is the workers': `eosctl migrate-offsets --connector "
    "<connector> --to-topic <its own topic> --offsets-topic <the workers' topic> --merge keep-source --stop "
    "--set-config --resume`",
    older=OlderFix(
        STOPPED_STATE,
        f"see which of the two the connector reached; if it is the workers': {DELETED}, `eosctl migrate-offsets "
        "--connector <connector> --to-topic <its own topic> --offsets-topic <the workers' topic> --merge keep-source`, "
        f"then {CREATED_AGAIN}",
    ),
    source="KIP-618; ConnectorOffsetBackingStore.get, ConnectorOffsetBackingStore.set",
    commands=("offsets show",),
)
MALFORMED_OFFSET: Final = FindingKind(
    id="EOS082",
    name="malformed-offset",
    title="offset that nobody can use",
    severity=Severity.ERROR,
    cause="A connector is given no offset where the value cannot be read.",
    fix="set these offsets again: `eosctl offsets restore <file> --connector <connector> --stop --resume`",
    older=OlderFix(
        STOPPED_STATE,
        f"{DELETED}, set these offsets again: `eosctl offsets restore <file> --connector <connector>`, then "
        f"{CREATED_AGAIN}",
    ),
    source="OffsetStorageReaderImpl.offsets",
    commands=("offsets show",),
)
OFFSETS_WRITTEN_ELSEWHERE: Final = FindingKind(
    id="EOS083",
    name="offsets-written-elsewhere",
    title="offsets are written elsewhere",
    severity=Severity.ERROR,
    cause="Offsets are read from where they are written only if the producer's and the consumer's bootstrap.servers "
    "are both overridden, or neither.",
    fix="override bootstrap.servers of the connector's producer, consumer and admin alike (producer.override.…, "
    "consumer.override.…, admin.override.bootstrap.servers)",
    source="KIP-618; Worker.offsetStoreForExactlyOnceSourceTask",
    commands=("offsets show",),
)
ORPHAN_OFFSETS: Final = FindingKind(
    id="EOS084",
    name="orphan-offsets",
    title="offsets of a deleted connector",
    severity=Severity.INFO,
    cause="A new connector of the same name begins there.",
    fix="nothing; or, before a new connector of this name is to begin from nothing, delete them: `eosctl offsets "
    "restore <file> --connector <connector>` with an offset of null for each",
    source="KIP-875; OffsetStorageReaderImpl.offsets",
    commands=(
        "offsets show",
        "audit",
    ),
)
KEY_IN_TWO_PARTITIONS: Final = FindingKind(
    id="EOS085",
    name="key-in-two-partitions",
    title="offset in two partitions",
    severity=Severity.ERROR,
    cause="Compaction is per partition, so both values stay and the order of reading decides. Something wrote with "
    "another partitioner than Java's (librdkafka's default is one), or partitions were added.",
    fix="stop the connector, put the right offset into every partition that holds the key (`eosctl offsets restore "
    "<file> --connector <connector>`), and move it to a new topic (`eosctl migrate-offsets --connector <connector> "
    "--to-topic <topic>`); or write a tombstone for each key into every partition but the one that murmur2 gives, and "
    "have it compacted away (delete.retention.ms=0) before a worker starts: one that reads it last forgets the offset",
    source="KafkaBasedLog.send, KafkaOffsetBackingStore.set",
    commands=(
        "offsets show",
        "audit",
        "migrate-offsets",
    ),
)
LOGICAL_DUPLICATES: Final = FindingKind(
    id="EOS086",
    name="logical-duplicates",
    title="one source partition under two keys",
    severity=Severity.WARNING,
    cause="Connect compares keys byte for byte.",
    fix="see which of them the connector goes on writing, and write a tombstone under the others",
    source="OffsetStorageReaderImpl.offsets",
    commands=(
        "offsets show",
        "audit",
    ),
)
MALFORMED_OFFSETS_KEY: Final = FindingKind(
    id="EOS087",
    name="malformed-offsets-key",
    title="malformed offsets key",
    severity=Severity.ERROR,
    cause="Workers log and ignore such a key; those of 3.5.0, 3.5.1 and 3.6.0 lose what follows in the same poll "
    "(KAFKA-15800).",
    fix="find out what else writes to this topic, which only Connect should, and write a tombstone under each such key",
    source="KAFKA-15800; OffsetUtils.processPartitionKey (from 3.5 on)",
    commands=(
        "offsets show",
        "audit",
    ),
)
NOT_AN_OFFSETS_TOPIC: Final = FindingKind(
    id="EOS093",
    name="not-an-offsets-topic",
    title="not an offsets topic",
    severity=Severity.ERROR,
    cause="None of its records has a key that Connect knows.",
    fix="change nothing in this topic; name the topic that offset.storage.topic of the workers (or "
    "offsets.storage.topic of the connector) names: --worker-offsets-topic TOPIC",
    source="OffsetUtils.processPartitionKey (from 3.5 on)",
    commands=("offsets show",),
    is_misnaming=True,
)
OPEN_TRANSACTION: Final = FindingKind(
    id="EOS088",
    name="open-transaction",
    title="open transaction blocks an offsets topic",
    severity=Severity.WARNING,
    cause="Tasks of workers that are enabled, and all tasks whose offsets topic is their own, read committed, and wait "
    "for an open transaction before they start. While no worker is enabled, nobody waits for one in the workers' "
    "topic, and it is an info.",
    fix="look again: a commit in progress ends by itself. If it does not, find its transactional ID and fence it with "
    "`eosctl fence`, or let transaction.timeout.ms pass",
    source="KIP-618; KafkaBasedLog.readToLogEnd",
    commands=("offsets show",),
)
NULL_PARTITION_LOST: Final = FindingKind(
    id="EOS090",
    name="null-partition-lost",
    title="null source partition is lost",
    severity=Severity.ERROR,
    cause="Workers from 4.2 on write an offset of the null partition and cannot look it up.",
    fix="the connector has to name its source partition, or to run on workers of 4.1",
    source="OffsetStorageReaderImpl.offsets; measured with 4.3.1",
    commands=("offsets show",),
)
PRODUCES_ELSEWHERE: Final = FindingKind(
    id="EOS091",
    name="produces-elsewhere",
    title="connector produces to another Kafka cluster",
    severity=Severity.ERROR,
    cause="A task that writes offsets with its own producer (exactly-once enabled, or an offsets topic of its own) "
    "keeps them, and its transactional IDs, in the cluster that producer.override.bootstrap.servers leads to. An info "
    "in `offsets show`; an error where a plan would read or write in the wrong cluster.",
    fix="give the brokers of the cluster where its offsets are with -b, and the workers with --connect-url",
    source="KIP-618, KIP-875",
    commands=(
        "offsets show",
        "migrate-offsets",
        "offsets restore",
        "offsets create-connector",
    ),
)
EXPORT_COMMITTED: Final = (
    "write the committed offset again: `eosctl offsets export <connector>.json --connector <connector> --exactly-once "
    "enabled`"
)
NEVER_COMMITTED: Final = (
    "(a source partition that never had a committed offset is not in the file: add it with an offset of null)"
)
REWRITTEN_BEFORE_CREATION: Final = (
    f"before a connector of this name is created, {EXPORT_COMMITTED}, then `eosctl offsets restore <connector>.json "
    f"--connector <connector>` {NEVER_COMMITTED}"
)
"""The fix where the connector was deleted."""
UNCOMMITTED_OFFSET: Final = FindingKind(
    id="EOS092",
    name="uncommitted-offset",
    title="offset of a transaction that was not committed",
    severity=Severity.ERROR,
    cause="Workers that are not enabled read the workers' offsets topic uncommitted: they take an offset for committed "
    "whose transaction was aborted or is open, and the records up to it, which no reader of committed records has, are "
    "skipped without a word. Measured: lines 101 to 150 of 150 never came. Workers that are enabled do not see it, so "
    "it is an info there until they go back to preparing or disabled.",
    fix=f"{EXPORT_COMMITTED}, then `eosctl offsets restore <connector>.json --connector <connector> --stop --resume` "
    f"{NEVER_COMMITTED}. Without --stop and --resume where the connector was deleted: Connect keeps its offsets, and a "
    "new one of its name begins there. On the way back from enabled keep the source connectors stopped until the roll "
    "is over (PUT /connectors/<connector>/stop)",
    older=OlderFix(
        STOPPED_STATE,
        f"{EXPORT_COMMITTED}, {DELETED}, `eosctl offsets restore <connector>.json --connector <connector>`, then "
        f"{CREATED_AGAIN}",
    ),
    source="KafkaOffsetBackingStore.configure; measured with 4.3.1",
    commands=("offsets show",),
)
KINDS: Final = (
    SHADOWED_OFFSET,
    STORES_DISAGREE,
    MALFORMED_OFFSET,
    OFFSETS_WRITTEN_ELSEWHERE,
    ORPHAN_OFFSETS,
    KEY_IN_TWO_PARTITIONS,
    LOGICAL_DUPLICATES,
    MALFORMED_OFFSETS_KEY,
    OPEN_TRANSACTION,
    UNDELETABLE,
    NULL_PARTITION_LOST,
    PRODUCES_ELSEWHERE,
    UNCOMMITTED_OFFSET,
    NOT_AN_OFFSETS_TOPIC,
)
