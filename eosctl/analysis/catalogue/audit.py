"""Findings of an audit: what the record batches themselves show."""

from typing import Final

from eosctl.model.report import FindingKind, Severity

OFFSET_SET_BACK: Final = FindingKind(
    id="EOS200",
    name="offset-set-back",
    title="source offset went back",
    severity=Severity.ERROR,
    cause="A write lowered one number of the source offset and raised none. The connector read the records between "
    "both offsets again, or had skipped them. A Debezium connector of MySQL or MariaDB that starts again within a "
    "transaction of the database may commit the transaction's start. That is no finding if the same session continued "
    "behind the offset before, and a warning if no later offset shows it.",
    fix="compare the records of both transactions in the output (`data` of the finding); find out who wrote the lower "
    "offset",
    source="KIP-618",
    commands=("audit",),
)
OFFSET_REPEATED: Final = FindingKind(
    id="EOS201",
    name="offset-repeated",
    title="source offset committed again with data",
    severity=Severity.WARNING,
    cause="Another producer session committed the same source offset again, with data for the same topics. The "
    "connector read records again, or it gives many records one offset.",
    fix="compare the records of both transactions in the output (`data` of the finding)",
    source="KIP-618",
    commands=("audit",),
)
PLAIN_OFFSETS_WRITE: Final = FindingKind(
    id="EOS202",
    name="plain-offsets-write",
    title="source offset outside any transaction",
    severity=Severity.ERROR,
    cause="The connector had committed in transactions before; a non-transactional write is not atomic with its data.",
    fix=(
        "find the writer: a worker with exactly-once support off (`eosctl upgrade-check --to enabled` names it), "
        "or a tool"
    ),
    source="KIP-618",
    commands=("audit",),
)
ZOMBIE_WRITER: Final = FindingKind(
    id="EOS203",
    name="zombie-writer",
    title="zombie wrote source offsets",
    severity=Severity.ERROR,
    cause="A producer continued in its session after another producer had taken over its source partition.",
    fix="end its process. If no other worker has its task, fence it with `eosctl fence --connector <connector>` (a "
    "task that runs elsewhere has already fenced it). Find out why no round of fencing fenced it",
    source="KIP-618",
    commands=("audit",),
)
OFFSETS_REMOVED: Final = FindingKind(
    id="EOS204",
    name="offsets-removed",
    title="source offsets were removed",
    severity=Severity.INFO,
    cause="A tombstone removed them (DELETE, PATCH with null, or the connector itself): a start finds no offset there.",
    fix="nothing, if it was intended; EOS206 counts the records that the connector then wrote again",
    source="KIP-875",
    commands=("audit",),
)
OFFSET_NOT_TAKEN_OVER: Final = FindingKind(
    id="EOS205",
    name="offset-not-taken-over",
    title="source offset was not taken over",
    severity=Severity.ERROR,
    cause="The connector changed its offsets topic, and the other topic did not hold the last offset. The "
    "connector began without an offset or from another offset. It read records again or skipped them.",
    fix="compare the records of both transactions in the output (`data` of the finding); next time move the "
    "connector with `eosctl migrate-offsets`",
    source="KIP-618; ConnectorOffsetBackingStore",
    commands=("audit",),
)
OFFSETS_ALTERED: Final = FindingKind(
    id="EOS206",
    name="offsets-altered",
    title="source offsets were altered",
    severity=Severity.WARNING,
    cause="While the connector was stopped, its own transactional ID committed another offset, or a tombstone, "
    "without data. PATCH and DELETE on the connector's offsets do this. The records between both offsets are in "
    "the output again, or are missing there. It is an info if no record was skipped or repeated.",
    fix=(
        "inform the readers of its topics; `data` of the finding has the records of both times. To read the "
        "skipped records, set the earlier offset: `eosctl offsets restore <file> --connector <connector>`"
    ),
    source="KIP-875",
    commands=("audit",),
)
SNAPSHOT_BEGUN_AGAIN: Final = FindingKind(
    id="EOS207",
    name="snapshot-begun-again",
    title="snapshot interrupted and begun again",
    severity=Severity.WARNING,
    cause="A task found the offset of a snapshot that had not ended. Debezium cannot resume an interrupted "
    "snapshot, and copies all tables again. Kafka delivered all committed records, so consumers have rows twice. No "
    "record deletes a row that was deleted between both snapshots: consumers keep it.",
    fix="let readers remove the rows of the first snapshot: `data` of the finding has its end and the beginning of the "
    "next one. Or let them keep the last row of each key, and find the deleted ones with `eosctl audit source`",
    source="Debezium's snapshot offsets",
    commands=("audit",),
)
SNAPSHOT_UNCLEAR: Final = FindingKind(
    id="EOS208",
    name="snapshot-unclear",
    title="snapshot interrupted, in a form that is not known",
    severity=Severity.WARNING,
    cause="The source offset belongs to an unfinished snapshot and has no known position.",
    fix="compare the records of both transactions in the output (`data` of the finding)",
    source="Debezium's snapshot offsets",
    commands=("audit",),
)
HALF_EVENT: Final = FindingKind(
    id="EOS209",
    name="half-event",
    title="change of which only a part is there",
    severity=Severity.ERROR,
    cause="A connector writes some changes as several records with one source offset, as Debezium does a change of "
    "a primary key: delete, tombstone, create. The connector was stopped or killed between these records, and "
    "resumed after them. Kafka delivered all committed records; consumers miss a row, or keep a deleted row. Or the "
    "topics have fewer records of a database transaction than Debezium's event_count says. It is "
    "a warning if the connector was not stopped there: then a transformation, a setting or a tolerated error "
    "dropped the other records.",
    fix="compare the row with the source, and write it there again: update it without a change, or run an "
    "incremental snapshot of the table. The connector then writes the row again. For a deletion write a tombstone "
    "of the key to the topic",
    source="Debezium's RelationalChangeRecordEmitter and EventDispatcher; debezium#7945",
    commands=("audit",),
)
EVIDENCE_ALTERED: Final = FindingKind(
    id="EOS240",
    name="evidence-altered",
    title="evidence file was altered",
    severity=Severity.ERROR,
    cause="The file or its signature was changed after `--evidence` wrote it, or another key signed it: "
    "the file proves nothing.",
    fix="copy the file and its signature again from their origin, and get the public key from the signer",
    source="OpenSSH, the signature format SSHSIG",
    commands=("verify",),
)
EVIDENCE_DIFFERS: Final = FindingKind(
    id="EOS241",
    name="evidence-differs",
    title="the cluster holds other records than the evidence",
    severity=Severity.ERROR,
    cause="The bytes of a range have another SHA-256 than when the audit read them, or the log ends before it: records "
    "were lost, or replaced. Kafka changes no stored batch of a topic without compaction.",
    fix="audit again, and compare with the report in the file; find out which broker became leader uncleanly, or lost "
    "its disk",
    source="KIP-98's message format; LogCleaner",
    commands=("verify",),
)
DATA_WITHOUT_OFFSETS: Final = FindingKind(
    id="EOS210",
    name="data-without-offsets",
    title="data committed without source offsets",
    severity=Severity.ERROR,
    cause="The transaction has data and no source offsets. A task that restarts writes the records again.",
    fix="find the writer by its producer ID: `eosctl transactions list --producer-id <producer-id>`. If "
    "that is a task of the connector, look for null offsets in its connector-specific offsets topic "
    "(workers from 3.8 on): `eosctl explain EOS089`",
    source="KIP-618",
    commands=("audit",),
)
MISSING_MARKER: Final = FindingKind(
    id="EOS211",
    name="missing-marker",
    title="transaction without its marker",
    severity=Severity.ERROR,
    cause="The transaction ended in other partitions and is open in this one.",
    fix="`eosctl transactions hanging --topic <topic>` shows which marker is missing; if the rest is committed, an "
    "abort here loses data",
    source="KIP-98, KIP-664",
    commands=("audit",),
)
MIXED_MARKERS: Final = FindingKind(
    id="EOS212",
    name="mixed-markers",
    title="transaction committed and aborted",
    severity=Severity.ERROR,
    cause="The transaction was committed in one partition and aborted in another, so consumers miss part of its data.",
    fix="compare the markers with kafka-dump-log.sh; `eosctl transactions log` shows the coordinator's decision",
    source="KIP-98",
    commands=("audit",),
)
DATA_OUTSIDE_TRANSACTION: Final = FindingKind(
    id="EOS213",
    name="data-outside-transaction",
    title="data outside any transaction",
    severity=Severity.ERROR,
    cause="A task that crashes and restarts repeats records that were written outside a transaction.",
    fix="find the writer: a worker with exactly-once support off, or another application that writes here",
    source="KIP-618",
    commands=("audit",),
)
HANGING_TRANSACTION: Final = FindingKind(
    id="EOS214",
    name="hanging-transaction",
    title="hanging transaction",
    severity=Severity.ERROR,
    cause="The transaction is open, and no coordinator will ever end it: read_committed consumers stop there.",
    fix="`eosctl transactions hanging --topic <topic>` shows whether to abort it or to write its commit marker",
    source="KIP-664",
    commands=("audit",),
)
OTHER_WRITER: Final = FindingKind(
    id="EOS215",
    name="other-writer",
    title="another application writes to the connector's topic",
    severity=Severity.WARNING,
    cause="No task has the transactional ID of this producer. It does not affect the verdict on the connector.",
    fix="`eosctl transactions list --producer-id <producer-id>` names it; give each writer its own topic if readers "
    "expect one only",
    source="KIP-618",
    commands=("audit",),
)
UNKNOWN_WRITER: Final = FindingKind(
    id="EOS216",
    name="unknown-writer",
    title="transactions of an unknown producer",
    severity=Severity.WARNING,
    cause="The coordinator has forgotten the producer's transactional ID, the audit may not see it, or it belongs "
    "to a connector of the same name in another group. The audit cannot decide whether the data belongs to this "
    "connector.",
    fix="let the audit see all transactional IDs (Describe) and __transaction_state; IDs idle for long are "
    "forgotten. Give connectors of the same name in several Connect clusters different topics",
    source="KIP-618",
    commands=("audit",),
)
UNCLEAR: Final = FindingKind(
    id="EOS217",
    name="unclear",
    title="data and offsets that cannot be matched",
    severity=Severity.WARNING,
    cause="Before transaction.version 2 nothing but the time of their markers joins the partitions of one transaction, "
    "and the clocks of brokers differ.",
    fix="let the audit read __transaction_state; transaction.version 2 makes it clear, too, with workers from 4.0 on",
    source="KIP-98, KIP-890",
    commands=("audit",),
)
UNJUDGED: Final = FindingKind(
    id="EOS218",
    name="unjudged",
    title="transactions older than the offsets topics",
    severity=Severity.INFO,
    cause="Compaction removed the offsets that were committed with them.",
    fix="audit more often than the topics are compacted: `eosctl audit --store <url>` keeps the evidence",
    source="KIP-618",
    commands=("audit",),
)
OFFSETS_WITHOUT_DATA: Final = FindingKind(
    id="EOS219",
    name="offsets-without-data",
    title="source offsets committed without data",
    severity=Severity.INFO,
    cause="The connector aborted the records (transaction.boundary=connector), offsets were altered, or data was "
    "deleted.",
    fix="nothing where the connector aborts, or offsets were altered or copied; where data was deleted: EOS232",
    source="KIP-618; ExactlyOnceWorkerSourceTask.buildTransactionManager",
    commands=("audit",),
)
START_WITHOUT_FENCING: Final = FindingKind(
    id="EOS220",
    name="start-without-fencing",
    title="start without fencing",
    severity=Severity.ERROR,
    cause="A task's producer began after a commit of task configs without a fencing round in between, so zombies "
    "could still write.",
    fix="check that every worker has exactly-once support enabled: `eosctl upgrade-check --to enabled`",
    source="KIP-618",
    commands=("audit",),
)
PLAIN_LEADER_WRITE: Final = FindingKind(
    id="EOS221",
    name="plain-leader-write",
    title="leader wrote outside transactions",
    severity=Severity.ERROR,
    cause="Earlier leaders wrote in transactions. A leader with exactly-once support disabled fences no leader before "
    "it, and no later leader can fence it.",
    fix="`eosctl upgrade-check --to enabled` names the worker; enable it there and restart it",
    source="KIP-618",
    commands=("audit",),
)
SOURCE_ROW_MISSING: Final = FindingKind(
    id="EOS222",
    name="source-row-missing",
    title="a row of the source table is not in the topic",
    severity=Severity.ERROR,
    cause="The transaction at the point of the comparison saw the row. The connector has passed that point, and the "
    "last record of the row's key is a deletion, or the topic has no record of it.",
    fix="write the row again: update it without a change, or run an incremental snapshot of the table; `eosctl "
    "audit` shows when it was lost",
    source="docs/source-audit.md",
    commands=("audit source",),
)
SOURCE_ROW_EXTRA: Final = FindingKind(
    id="EOS223",
    name="source-row-extra",
    title="a key of the topic is not in the source table",
    severity=Severity.ERROR,
    cause="The last record of the key is no deletion. A transaction of the source that saw the record's change did "
    "not see a row of the key. The deletion did not reach the topic, or another writer wrote the record.",
    fix="write a tombstone of the key to topic <topic>, and inform its readers",
    source="docs/source-audit.md",
    commands=("audit source",),
)
SOURCE_ROW_DIFFERS: Final = FindingKind(
    id="EOS224",
    name="source-row-differs",
    title="a row of the source table has other values in the topic",
    severity=Severity.ERROR,
    cause="The last record of the key before the point of comparison differs from the row at that point. A change "
    "did not reach the topic or came in another order, or another writer wrote the record.",
    fix="write the row again: an update that changes nothing, or an incremental snapshot of the table",
    source="docs/source-audit.md",
    commands=("audit source",),
)
LOST_RANGE: Final = FindingKind(
    id="EOS230",
    name="lost-range",
    title="offsets missing in the log",
    severity=Severity.ERROR,
    cause="Batches are missing in the middle of the log. A warning where the cleanup policy is not known.",
    fix=(
        "compare the segments of another replica (kafka-dump-log.sh). Kafka removes batches in the middle of a log "
        "only if the topic is compacted"
    ),
    source="Kafka's record batch format",
    commands=("audit",),
)
UNREADABLE_RANGE: Final = FindingKind(
    id="EOS231",
    name="unreadable-range",
    title="offsets that cannot be read",
    severity=Severity.WARNING,
    cause="Batches are damaged, or no broker serves them: the audit judges nothing there.",
    fix="compare the segments of another replica with kafka-dump-log.sh",
    source="Kafka's record batch format",
    commands=("audit",),
)
EXPIRED_RANGE: Final = FindingKind(
    id="EOS232",
    name="expired-range",
    title="offsets were deleted",
    severity=Severity.WARNING,
    cause="Retention or DeleteRecords removed them before an audit read them. An info where the topic's retention "
    "explains it.",
    fix="audit more often than the retention; find out who calls DeleteRecords or lowers the retention for a while",
    source="KIP-107; Partition.deleteRecordsOnLeader",
    commands=("audit",),
)
OPEN_TRANSACTION: Final = FindingKind(
    id="EOS233",
    name="open-transaction",
    title="transaction open at the end of the log",
    severity=Severity.INFO,
    cause="Records beyond the last stable offset are judged when the transaction has ended.",
    fix="audit again when it has ended; `eosctl transactions hanging` shows whether it ever will",
    source="KIP-98",
    commands=("audit",),
)


# Findings of a mirror's audit: what source and target hold of the same records.


MIRROR_GAP: Final = FindingKind(
    id="EOS320",
    name="mirror-gap",
    title="committed source records are not in the target",
    severity=Severity.ERROR,
    cause="The target holds records before and after them, or the mirror's committed offset is past them. The "
    "mirror skipped them and will never copy them.",
    fix="copy the records of these source offsets while the source still has them. Find out why the mirror's "
    "offset moved: its consumer was reset, or its connector's offsets were changed or lost",
    source="MirrorSourceTask.initializeConsumer (from 3.6 on)",
    commands=("mirror audit",),
)
MIRROR_REPEAT: Final = FindingKind(
    id="EOS321",
    name="mirror-repeat",
    title="source records are in the target more than once",
    severity=Severity.ERROR,
    cause="The mirror went back to an earlier offset, or two of its tasks wrote at the same time. Without "
    "exactly-once source support each restart may cause this. With it, only lost offsets cause it.",
    fix="run the mirror with exactly.once.source.support=enabled; where it has that, find out what moved its offsets "
    "with `eosctl audit`",
    source="MirrorSourceTask.initializeConsumer (from 3.6 on); KIP-618",
    commands=("mirror audit",),
)
MIRROR_DISORDER: Final = FindingKind(
    id="EOS322",
    name="mirror-disorder",
    title="source records are in the target in another order",
    severity=Severity.ERROR,
    cause="The target has two records in the opposite order of the source. Two tasks wrote at the same time, or "
    "skipped records were copied later.",
    fix="find out whether two workers ran the same task (`eosctl audit`); consumers that rely on order of a key have "
    "to look at these records",
    source="KIP-618",
    commands=("mirror audit",),
)
ABORTED_MIRRORED: Final = FindingKind(
    id="EOS323",
    name="aborted-mirrored",
    title="records of aborted source transactions are in the target",
    severity=Severity.ERROR,
    cause="The mirror's consumer uses read_uncommitted, its default. Records of aborted or open transactions "
    "become committed records of the target.",
    fix="set source.consumer.isolation.level=read_committed in the config of the MirrorSource connector",
    source="MirrorSourceTask.start; MirrorConnectorConfig",
    commands=("mirror audit",),
)
MIRROR_UNKNOWN: Final = FindingKind(
    id="EOS324",
    name="mirror-unknown",
    title="target records equal no source record",
    severity=Severity.WARNING,
    cause=(
        "A transform (SMT) changed them, another writer writes to the target topic, or the source no longer holds "
        "the original records. The verdict on these records is cannot-tell."
    ),
    fix="compare the records at the offsets that the finding names on both sides; let only the mirror write there",
    source="MirrorSourceTask.convertRecord",
    commands=("mirror audit",),
)
MIRROR_CHANGED: Final = FindingKind(
    id="EOS325",
    name="mirror-changed",
    title="records were changed on the way",
    severity=Severity.WARNING,
    cause="The records of both sides are equal only without their timestamps or headers. "
    "message.timestamp.type=LogAppendTime changes timestamps. A header.converter other than ByteArrayConverter "
    "changes header values.",
    fix="set header.converter=org.apache.kafka.connect.converters.ByteArrayConverter in the connector's config, and "
    "message.timestamp.type=CreateTime for the target topic; otherwise waive the finding",
    source="MirrorSourceTask.convertHeaders",
    commands=("mirror audit",),
)
SOURCE_PURGED: Final = FindingKind(
    id="EOS326",
    name="source-purged",
    title="source records were deleted before they were mirrored",
    severity=Severity.ERROR,
    cause="The log start offset of the source has passed the mirror's offset. Its consumer then begins at the "
    "earliest offset (auto.offset.reset) without a log message.",
    fix="the target never receives the committed records among them; raise retention.ms of the source, "
    "or give it more tasks",
    source="MirrorSourceTask.initializeConsumer (from 3.6 on)",
    commands=("mirror audit",),
)
SOURCE_RECREATED: Final = FindingKind(
    id="EOS327",
    name="source-recreated",
    title="source topic was deleted and created again under the mirror",
    severity=Severity.ERROR,
    cause="The mirror's offset is beyond the end of the source, or the target holds records that the source never "
    "had although its log begins at 0. The mirror uses offsets of the former topic for the new topic.",
    fix="reset the connector's offset of this partition to the offset of the new topic (`eosctl offsets restore "
    "<file> --connector <connector>`, or PATCH on its offsets). Compare the first records of the new topic with "
    "the target, because some may be missing there",
    source="MirrorSourceTask.initializeConsumer (from 3.6 on)",
    commands=("mirror audit",),
)
RETENTION_NEAR: Final = FindingKind(
    id="EOS328",
    name="mirror-retention",
    title="source records will be deleted before they are mirrored",
    severity=Severity.WARNING,
    cause="The oldest record that is not mirrored yet has reached half the age at which the source deletes it.",
    fix="raise retention.ms of the source topic until the mirror has caught up; find out why it is slow",
    source="UnifiedLog.deleteOldSegments",
    commands=("mirror audit",),
)
UNPAIRED: Final = FindingKind(
    id="EOS329",
    name="mirror-unpaired",
    title="a partition is on one side only",
    severity=Severity.WARNING,
    cause="The mirror writes each record to the partition of the same number. A partition that is missing in the "
    "target is not mirrored yet. A partition that is missing in the source was filled by another writer.",
    fix="wait for refresh.topics.interval.seconds, and look at the connector's log where it is still missing",
    source="MirrorSourceConnector.refreshTopicPartitions",
    commands=("mirror audit",),
)
MIRROR_BEGAN: Final = FindingKind(
    id="EOS330",
    name="mirror-began",
    title="the source holds records before the first mirrored one",
    severity=Severity.INFO,
    cause="The mirror began after the log start of the source (auto.offset.reset=latest, or an offset that was "
    "set), or the target no longer holds its first records. The verdict begins at the first record that both sides "
    "hold.",
    fix="nothing, if it was intended",
    source="MirrorSourceTask.initializeConsumer (from 3.6 on)",
    commands=("mirror audit",),
)
CHECKPOINT_AHEAD: Final = FindingKind(
    id="EOS331",
    name="checkpoint-ahead",
    title="a group's checkpoint skips records",
    severity=Severity.ERROR,
    cause="A consumer group that moves to the target would resume after its first unread record, and never "
    "read the records in between.",
    fix="set the group's offset in the target to the record that the finding names, before its consumers start there",
    source="OffsetSyncStore.translateDownstream",
    commands=("mirror audit",),
)
