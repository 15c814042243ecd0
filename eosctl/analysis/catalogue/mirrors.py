"""Findings of a mirror's audit: what source and target hold of the same records."""

from typing import Final

from eosctl.model.report import FindingKind, Severity

MIRROR_GAP: Final = FindingKind(
    id="EOS320",
    name="mirror-gap",
    title="committed source records are not in the target",
    severity=Severity.ERROR,
    cause="The target holds records before and behind them, or the mirror's committed offset is behind them: the "
    "mirror skipped them and will not copy them any more.",
    fix="copy the records of these source offsets while the source still has them; find out what moved the mirror's "
    "offset (a reset of its consumer, changed or lost offsets of its connector)",
    source="MirrorSourceTask.initializeConsumer",
    commands=("mirror audit",),
)
MIRROR_REPEAT: Final = FindingKind(
    id="EOS321",
    name="mirror-repeat",
    title="source records are in the target more than once",
    severity=Severity.ERROR,
    cause="The mirror went back to an earlier offset, or two of its tasks wrote at the same time: without exactly-once "
    "source support each restart may do so, with it lost offsets do.",
    fix="run the mirror with exactly.once.source.support=enabled; where it has that, find out what moved its offsets "
    "with `eosctl audit`",
    source="MirrorSourceTask.initializeConsumer; KIP-618",
    commands=("mirror audit",),
)
MIRROR_DISORDER: Final = FindingKind(
    id="EOS322",
    name="mirror-disorder",
    title="source records are in the target in another order",
    severity=Severity.ERROR,
    cause="A record lies in the target behind one that follows it in the source: two tasks wrote at the same time, or "
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
    cause="The mirror's consumer reads uncommitted, which is its default: records of transactions that were aborted, "
    "or are not decided yet, become committed records of the target.",
    fix="set source.consumer.isolation.level=read_committed in the config of the MirrorSource connector",
    source="MirrorSourceTask.start; MirrorConnectorConfig",
    commands=("mirror audit",),
)
MIRROR_UNKNOWN: Final = FindingKind(
    id="EOS324",
    name="mirror-unknown",
    title="target records equal no source record",
    severity=Severity.WARNING,
    cause="A transform (SMT) changed them, something else writes to the target topic, or the source no longer holds "
    "what they were copied from: cannot-tell.",
    fix="compare the records at the offsets that the finding names on both sides; let only the mirror write there",
    source="MirrorSourceTask.convertRecord",
    commands=("mirror audit",),
)
MIRROR_CHANGED: Final = FindingKind(
    id="EOS325",
    name="mirror-changed",
    title="records were changed on the way",
    severity=Severity.WARNING,
    cause="No record is equal on both sides as a whole; without timestamp or headers they are. "
    "message.timestamp.type=LogAppendTime changes timestamps, and a header.converter that is no ByteArrayConverter the "
    "values of headers.",
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
    cause="The log start offset of the source has passed the mirror's offset. Its consumer then begins at the earliest "
    "offset (auto.offset.reset) and says nothing.",
    fix="what was committed of them is lost to the target; raise retention.ms of the source, or give it more tasks",
    source="MirrorSourceTask.initializeConsumer",
    commands=("mirror audit",),
)
SOURCE_RECREATED: Final = FindingKind(
    id="EOS327",
    name="source-recreated",
    title="source topic was deleted and created again under the mirror",
    severity=Severity.ERROR,
    cause="The mirror's offset lies behind the end of the source, or the target holds records that a source whose log "
    "begins at 0 never had: offsets of the former topic are taken for those of the new one.",
    fix="reset the connector's offset of this partition to that of the new topic (`eosctl offsets restore <file> "
    "--connector <connector>`, or PATCH on its offsets), and look for records at the beginning of the new topic that "
    "the target lacks",
    source="MirrorSourceTask.initializeConsumer",
    commands=("mirror audit",),
)
RETENTION_NEAR: Final = FindingKind(
    id="EOS328",
    name="mirror-retention",
    title="source records will be deleted before they are mirrored",
    severity=Severity.WARNING,
    cause="The oldest record that is not mirrored yet has reached half the age at which the source deletes it.",
    fix="raise retention.ms of the source topic until the mirror has caught up; look at why it is behind",
    source="UnifiedLog.deleteOldSegments",
    commands=("mirror audit",),
)
UNPAIRED: Final = FindingKind(
    id="EOS329",
    name="mirror-unpaired",
    title="a partition is on one side only",
    severity=Severity.WARNING,
    cause="The mirror writes each record to the partition of the same number. A partition that the target lacks is "
    "not mirrored yet; one that the source lacks was filled by something else.",
    fix="wait for refresh.topics.interval.seconds, and look at the connector's log where it is still missing",
    source="MirrorSourceConnector.refreshTopicPartitions",
    commands=("mirror audit",),
)
MIRROR_BEGAN: Final = FindingKind(
    id="EOS330",
    name="mirror-began",
    title="the source holds records before the first mirrored one",
    severity=Severity.INFO,
    cause="The mirror began behind the log start of the source (auto.offset.reset=latest, or an offset that was set), "
    "or the target no longer holds its first records. The verdict begins at the first record that both sides hold.",
    fix="nothing, if it was intended",
    source="MirrorSourceTask.initializeConsumer",
    commands=("mirror audit",),
)
CHECKPOINT_AHEAD: Final = FindingKind(
    id="EOS331",
    name="checkpoint-ahead",
    title="a group's checkpoint skips records",
    severity=Severity.ERROR,
    cause="A consumer group that moves to the target would go on behind the first record that it has not read: records "
    "in between are never read.",
    fix="set the group's offset in the target to the record that the finding names, before its consumers start there",
    source="OffsetSyncStore.translateDownstream",
    commands=("mirror audit",),
)

KINDS: Final = (
    MIRROR_GAP,
    MIRROR_REPEAT,
    MIRROR_DISORDER,
    ABORTED_MIRRORED,
    MIRROR_UNKNOWN,
    MIRROR_CHANGED,
    SOURCE_PURGED,
    SOURCE_RECREATED,
    RETENTION_NEAR,
    UNPAIRED,
    MIRROR_BEGAN,
    CHECKPOINT_AHEAD,
)
