"""How the kinds of trouble are told: their severity, what was found, and what to do next."""

from collections.abc import Mapping
from typing import Final, NamedTuple

from eosctl.analysis.audit.config_history import ConfigAnomalyKind
from eosctl.analysis.audit.key_anomalies import KeyAnomalyKind
from eosctl.analysis.audit.transaction_owners import AnomalyKind
from eosctl.model.report import Severity

PLAIN_DATA: Final = "data-outside-transaction"
UNFENCED: Final = "start-without-fencing"
LOST: Final = "lost-range"
DAMAGED: Final = "unreadable-range"
EXPIRED: Final = "expired-range"
EXPIRED_CURE: Final = "audit more often than the topic's retention, and find out who calls DeleteRecords"
OPEN: Final = "open-transaction"
HANGING: Final = "hanging-transaction"
HANGING_CURE: Final = "eosctl transactions hanging --topic shows it, eosctl transactions abort ends it"
ORPHAN: Final = "orphan-offsets"
REMOVED: Final = "offsets-removed"

BROKEN: Final = frozenset(
    {
        KeyAnomalyKind.SET_BACK.value,
        KeyAnomalyKind.REPEATED.value,
        KeyAnomalyKind.PLAIN_WRITE.value,
        KeyAnomalyKind.ZOMBIE.value,
        AnomalyKind.DATA_WITHOUT_OFFSETS.value,
        AnomalyKind.MISSING_MARKER.value,
        AnomalyKind.MIXED_MARKERS.value,
        PLAIN_DATA,
        HANGING,
        UNFENCED,
    }
)
"""Findings that exactly-once rules out."""

BESIDE: Final = frozenset({AnomalyKind.OTHER_WRITER.value})
"""Findings that count and say nothing about the connectors whose topics they are in."""


class Words(NamedTuple):
    """How a kind of trouble is told: {n} is how often; {s}, {is}, {was} follow from it."""

    severity: Severity
    message: str
    cure: str


KEY_WORDS: Final[Mapping[str, Words]] = {
    KeyAnomalyKind.MALFORMED_KEY: Words(
        Severity.INFO,
        "{n} key{s} of no source partition: workers ignore them",
        "find out who writes them; connectors are not affected from Kafka 3.5.2, 3.6.1 and 3.7.0 on (KAFKA-15800)",
    ),
    KeyAnomalyKind.TWO_PARTITIONS: Words(
        Severity.WARNING,
        "{n} key{s} with a value in two partitions of one topic: which one a worker starts from is chance",
        "eosctl offsets show names them; remove the stale ones with a tombstone in their own partition",
    ),
    KeyAnomalyKind.SAME_PARTITION: Words(
        Severity.WARNING,
        "{n} source partition{s} under two keys that differ in bytes: the connector uses one of them",
        "eosctl offsets show names them; remove the one that the connector does not write",
    ),
    KeyAnomalyKind.SET_BACK: Words(
        Severity.ERROR,
        "{n} source offset{s} went back: what lies between was read and written again",
        "compare the records between both offsets in the output; find out who wrote the lower one",
    ),
    KeyAnomalyKind.REPEATED: Words(
        Severity.ERROR,
        "{n} source offset{s} {was} committed again together with data, by another producer session: records were "
        "read again",
        "compare the records of both transactions in the output; see eosctl explain shadowed-offset",
    ),
    KeyAnomalyKind.PLAIN_WRITE: Words(
        Severity.ERROR,
        "{n} source offset{s} {was} written outside any transaction after the connector committed in transactions",
        "find the writer: a worker with exactly-once support off (eosctl upgrade-check), or a tool",
    ),
    KeyAnomalyKind.ZOMBIE: Words(
        Severity.ERROR,
        "{n} time{s} a producer wrote on after another one had taken over its source partition: a zombie",
        "eosctl fence --connector fences it; find out why no fencing round did",
    ),
}
TRANSACTION_WORDS: Final[Mapping[str, Words]] = {
    AnomalyKind.DATA_WITHOUT_OFFSETS: Words(
        Severity.ERROR,
        "{n} transaction{s} committed data without source offsets: a restart reads and writes it again",
        "find the writer by its producer ID: eosctl transactions list --producer-id",
    ),
    AnomalyKind.MISSING_MARKER: Words(
        Severity.ERROR,
        "{n} transaction{s} ended elsewhere and {is} open here: a marker is missing",
        "eosctl transactions hanging --topic shows it; if the rest is committed, to abort here is to lose data",
    ),
    AnomalyKind.MIXED_MARKERS: Words(
        Severity.ERROR,
        "{n} transaction{s} {was} committed in one partition and aborted in another",
        "compare the markers with eosctl transactions log; part of the data is missing for readers",
    ),
    AnomalyKind.UNCLEAR: Words(
        Severity.WARNING,
        "{n} transaction{s} with data could not be matched with their offsets: markers of several brokers' clocks",
        "transaction.version 2 (Kafka 4.0) makes it clear, and so does __transaction_state: let the audit read it",
    ),
    AnomalyKind.UNKNOWN_WRITER: Words(
        Severity.WARNING,
        "{n} transaction{s} with data, and no source offsets, by a producer whose transactional ID is not known",
        "let the audit see all transactional IDs (Describe) and __transaction_state; IDs idle for long are forgotten",
    ),
    AnomalyKind.OTHER_WRITER: Words(
        Severity.WARNING,
        "{n} transaction{s} with data that the connector did not write: another application writes to its topic",
        "eosctl transactions list --producer-id names it; give each writer its own topic if readers expect one only",
    ),
    AnomalyKind.OFFSETS_WITHOUT_DATA: Words(
        Severity.INFO,
        "{n} transaction{s} committed source offsets and no data: filtered records, altered or copied offsets",
        "nothing to do where records are filtered or offsets were altered",
    ),
    AnomalyKind.UNJUDGED: Words(
        Severity.INFO,
        "{n} transaction{s} with data {is} older than what is left of the offsets topics, and were not judged",
        "audit more often than the topics are compacted: eosctl audit --store keeps what it saw",
    ),
}
CONFIG_WORDS: Final[Mapping[str, Words]] = {
    ConfigAnomalyKind.PLAIN_LEADER: Words(
        Severity.ERROR,
        "{n} record{s} of the leader {was} written outside any transaction after transactional ones: a leader with "
        "exactly-once support off",
        "eosctl upgrade-check --to enabled names the worker; enable it there and restart it",
    ),
    ConfigAnomalyKind.INTERLEAVED_LEADERS: Words(
        Severity.ERROR,
        "{n} time{s} two leaders wrote at once",
        "give each Connect cluster its own group ID and topics",
    ),
    ConfigAnomalyKind.INCONSISTENT: Words(
        Severity.ERROR,
        "{n} connector{s} without all task configs: no worker that reads the topic anew will run their tasks",
        "write the connector's config again over REST; the leader then publishes its tasks",
    ),
}


UNFENCED_WORDS: Final = Words(
    Severity.ERROR,
    "{n} producer{s} began after a commit of task configs without a fencing round: zombies were not kept out",
    "check that every worker has exactly-once support enabled: eosctl upgrade-check --to enabled",
)
