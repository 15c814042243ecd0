"""How the kinds of anomalies are reported: the kind of finding, and the sentence that counts what was found."""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from eosctl.analysis.audit.config_history import ConfigAnomalyKind
from eosctl.analysis.audit.key_anomalies import KeyAnomalyKind
from eosctl.analysis.audit.transaction_owners import AnomalyKind
from eosctl.analysis.catalogue import audit, config_topic, offsets
from eosctl.model.audit_report import count_words, total_records
from eosctl.model.audit_summaries import OffsetsChange
from eosctl.model.counts import counted
from eosctl.model.report import FindingKind, Severity
from eosctl.model.times import rfc3339

BROKEN: Final = frozenset(
    {
        audit.OFFSET_SET_BACK,
        audit.OFFSET_NOT_TAKEN_OVER,
        audit.PLAIN_OFFSETS_WRITE,
        audit.ZOMBIE_WRITER,
        audit.DATA_WITHOUT_OFFSETS,
        audit.MISSING_MARKER,
        audit.MIXED_MARKERS,
        audit.DATA_OUTSIDE_TRANSACTION,
        audit.HANGING_TRANSACTION,
        audit.START_WITHOUT_FENCING,
    }
)
"""Findings that exactly-once rules out."""

BESIDE: Final = frozenset({audit.OTHER_WRITER, audit.SNAPSHOT_BEGUN_AGAIN})
"""Findings that count and say nothing about the connectors whose topics they are in."""

ALTERED: Final = frozenset({audit.OFFSETS_ALTERED})
"""Findings that say that readers have records twice, or lack some, as somebody asked for."""


class Words(NamedTuple):
    """How a kind is reported by an audit: {n} is how often; {s}, {is}, {was} follow from it.

    cure and severity are those of the kind unless an audit has others.
    """

    kind: FindingKind
    message: str
    cure: str | None = None
    severity: Severity | None = None


KEY_WORDS: Final[Mapping[str, Words]] = {
    KeyAnomalyKind.MALFORMED_KEY: Words(
        offsets.MALFORMED_OFFSETS_KEY,
        "{n} key{s} of no source partition: workers ignore them",
        "find out who writes them; workers of 3.5.0, 3.5.1 and 3.6.0 lose other offsets over keys that are not JSON "
        "(KAFKA-15800)",
        Severity.INFO,
    ),
    KeyAnomalyKind.TWO_PARTITIONS: Words(
        offsets.KEY_IN_TWO_PARTITIONS,
        "{n} key{s} with a value in two partitions of one topic: which one a worker starts from is chance",
        severity=Severity.WARNING,
    ),
    KeyAnomalyKind.SAME_PARTITION: Words(
        offsets.LOGICAL_DUPLICATES,
        "{n} source partition{s} under two keys that differ in bytes: the connector uses one of them",
        "eosctl offsets show names them; remove the one that the connector does not write",
    ),
    KeyAnomalyKind.SET_BACK: Words(
        audit.OFFSET_SET_BACK,
        "{n} source offset{s} went back: records between both offsets were read again, or skipped before",
    ),
    KeyAnomalyKind.REPEATED: Words(
        audit.OFFSET_REPEATED,
        "{n} source offset{s} {was} committed again together with data, by another producer session: records were "
        "read again, or the offset shows no position",
    ),
    KeyAnomalyKind.NOT_TAKEN_OVER: Words(
        audit.OFFSET_NOT_TAKEN_OVER,
        "{n} source offset{s} {was} not taken over by another offsets topic: the connector began from nothing there, "
        "or from another offset, and read records again or skipped them",
    ),
    KeyAnomalyKind.SNAPSHOT: Words(
        audit.SNAPSHOT_BEGUN_AGAIN,
        "{n} snapshot{s} ended before all was copied, and another one was begun: readers have the rows of the first "
        "one twice",
    ),
    KeyAnomalyKind.SNAPSHOT_UNCLEAR: Words(
        audit.SNAPSHOT_UNCLEAR,
        "{n} snapshot{s} {was} interrupted, and the offset's form is not known: whether it was begun again, and rows "
        "are there twice, cannot be decided",
    ),
    KeyAnomalyKind.PLAIN_WRITE: Words(
        audit.PLAIN_OFFSETS_WRITE,
        "{n} source offset{s} {was} written outside any transaction after the connector committed in transactions",
    ),
    KeyAnomalyKind.ZOMBIE: Words(
        audit.ZOMBIE_WRITER,
        "{n} time{s} a producer wrote on after another one had taken over its source partition: a zombie",
    ),
}
TRANSACTION_WORDS: Final[Mapping[str, Words]] = {
    AnomalyKind.DATA_WITHOUT_OFFSETS: Words(
        audit.DATA_WITHOUT_OFFSETS,
        "{n} transaction{s} committed data without source offsets: a restart reads and writes it again",
    ),
    AnomalyKind.MISSING_MARKER: Words(
        audit.MISSING_MARKER, "{n} transaction{s} ended elsewhere and {is} open here: a marker is missing"
    ),
    AnomalyKind.MIXED_MARKERS: Words(
        audit.MIXED_MARKERS, "{n} transaction{s} {was} committed in one partition and aborted in another"
    ),
    AnomalyKind.UNCLEAR: Words(
        audit.UNCLEAR,
        "{n} transaction{s} with data could not be matched with their offsets: markers of several brokers' clocks",
    ),
    AnomalyKind.UNKNOWN_WRITER: Words(
        audit.UNKNOWN_WRITER,
        "{n} transaction{s} with data, and no source offsets, by a producer whose transactional ID is not known",
    ),
    AnomalyKind.OTHER_WRITER: Words(
        audit.OTHER_WRITER,
        "{n} transaction{s} with data that the connector did not write: another application writes to its topic",
    ),
    AnomalyKind.OFFSETS_WITHOUT_DATA: Words(
        audit.OFFSETS_WITHOUT_DATA,
        "{n} transaction{s} committed source offsets and no data: records that the connector aborted, offsets that "
        "were altered or copied, or data that is gone",
    ),
    AnomalyKind.UNJUDGED: Words(
        audit.UNJUDGED,
        "{n} transaction{s} with data {is} older than what is left of the offsets topics, and were not judged",
    ),
}
CONFIG_WORDS: Final[Mapping[str, Words]] = {
    ConfigAnomalyKind.PLAIN_LEADER: Words(
        audit.PLAIN_LEADER_WRITE,
        "{n} record{s} of the leader {was} written outside any transaction after transactional ones: a leader with "
        "exactly-once support off",
    ),
    ConfigAnomalyKind.INTERLEAVED_LEADERS: Words(
        config_topic.INTERLEAVED_LEADERS,
        "{n} time{s} two leaders wrote at once",
        "give each Connect cluster its own group ID and topics",
    ),
    ConfigAnomalyKind.INCONSISTENT: Words(
        config_topic.INCONSISTENT_CONNECTOR,
        "{n} connector{s} without all task configs: no worker that starts will run their tasks",
        "restart these connectors over REST; where the finding stays, stop and resume them, which writes all task "
        "configs (before Kafka 3.5: delete them and create them again)",
    ),
}
UNFENCED_WORDS: Final = Words(
    audit.START_WITHOUT_FENCING,
    "{n} producer{s} began after a commit of task configs without a fencing round: zombies were not kept out",
)


def change_words(changes: Sequence[OffsetsChange]) -> str:
    """What somebody's changes of one connector's offsets did, and when."""
    offsets = sum(each.offsets for each in changes)
    when = ", ".join(rfc3339(each.timestamp) for each in changes[:3]) + (" and later" if changes[3:] else "")
    were = "was" if offsets == 1 else "were"
    said = f"{counted(offsets, 'source offset')} {were} altered while the connector was stopped ({when})"
    done = [
        *count_words(total_records(each.repeated for each in changes), "written to its topics once more"),
        *count_words(total_records(each.left_out for each in changes), "left out"),
    ]
    if any(each.open for each in changes):
        done.append("the connector has not come as far again as it was")
    return f"{said}: {', and '.join(done) or 'no record was written once more or left out'}"
