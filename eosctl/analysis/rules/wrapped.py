"""Rules whose findings other commands make: inspect-config of the config topic, offsets show of the offsets topics."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final, NamedTuple

from eosctl.analysis import config_findings, connector_findings, connector_offset_findings, offset_findings
from eosctl.analysis.connect_requests import for_connector
from eosctl.model.evidence import Evidence
from eosctl.model.report import Finding, Severity
from eosctl.model.rules import Check, Rule
from eosctl.model.skipped import Skipped

CONFIG_TOPIC: Final = "inspection"
OFFSETS: Final = "offset_findings"
CURE: Final = "the finding names the commands; `eosctl inspect-config` shows the topic"
OFFSETS_CURE: Final = "the finding names the commands; `eosctl offsets show` shows the offsets"


class Wrapped(NamedTuple):
    """A finding of another command under an ID of its own; cure, if any, replaces that of a finding that counts.

    counts_while names a figure of its evidence: where it is false the finding is history, and only an info.
    """

    id: str
    finding_id: str
    severity: Severity
    title: str
    question: str
    cause: str
    cure: str | None = None
    counts_while: str | None = None


ERROR, WARNING, INFO = Severity.ERROR, Severity.WARNING, Severity.INFO
OF_CONFIG_TOPIC: Final = (
    Wrapped("EOS060", config_findings.NOT_A_CONFIG_TOPIC, ERROR, "not a config topic",
            "Is the topic a config topic at all?", "None of its records has a key that Connect knows."),
    Wrapped("EOS061", config_findings.MIXED_WRITERS, ERROR, "leader without exactly-once wrote",
            "Were all leader writes transactional since the first one was?",
            "A leader that is disabled writes plainly, and fences no leader before it. Once a leader writes in "
            "transactions again the plain records are history, and only told.", counts_while="last_is_plain"),
    Wrapped("EOS062", config_findings.INTERLEAVED_LEADERS, ERROR, "two clusters share the config topic",
            "Does one Connect cluster alone write the config topic?",
            "Leaders with different group.id have different transactional IDs and do not fence each other."),
    Wrapped("EOS063", config_findings.OPEN_TRANSACTION, WARNING, "open transaction blocks the config topic",
            "Can workers with exactly-once read the config topic to its end?",
            "They read committed, and an open transaction holds everything behind it back."),
    Wrapped("EOS064", config_findings.POISON_RECORD, ERROR, "poison record in the config topic",
            "Can every record be read without losing those after it?",
            "Some malformed records make a worker drop the rest of a poll."),
    Wrapped("EOS065", config_findings.FATAL_RECORD, ERROR, "record that keeps workers from starting",
            "Can a worker that starts read the config topic?", "Some malformed records end a worker that starts."),
    Wrapped("EOS066", config_findings.MALFORMED_RECORD, WARNING, "malformed record in the config topic",
            "Does every record have the form that Connect gives it?", "Workers log such a record and ignore it."),
    Wrapped("EOS067", config_findings.INVALID_KEYS, INFO, "unknown keys in the config topic",
            "Does only Connect write to the config topic?", "Workers log such a key and ignore it."),
    Wrapped("EOS068", connector_findings.PENDING_FENCING_WITH_RUNNING_TASKS, ERROR, "tasks run that were not fenced",
            "Was a round of fencing done before the tasks that run now started?",
            "Tasks of workers that are not enabled start without one; older tasks may still write."),
    Wrapped("EOS069", connector_findings.TASK_COUNT_MISMATCH, WARNING, "task count record does not fit",
            "Does the last task count record say what was committed before it?",
            "The next round fences as many producers as the record says."),
    Wrapped("EOS070", connector_findings.COMMIT_WITHOUT_TASK_COUNT_RECORD, WARNING, "never started under exactly-once",
            "Has every source connector that runs a task count record?",
            "A connector gets one at its first start on a worker that is enabled."),
    Wrapped("EOS071", connector_findings.INCONSISTENT_CONNECTOR, WARNING, "task configs are missing",
            "Are the task configs of every commit still there?", "Compaction may leave a commit without its configs."),
    Wrapped("EOS072", connector_findings.COMMIT_BEFORE_CONFIG, WARNING, "task commit before its connector",
            "Does every connector config come before its task commit?",
            "Workers from 3.7.1 ignore a commit of a connector that they do not know yet (KAFKA-16838)."),
    Wrapped("EOS073", connector_findings.ORPHAN_RECORDS, INFO, "records of a deleted connector",
            "Is nothing left of connectors that were deleted?", "Connect keeps their task count records on purpose."),
)  # fmt: skip
OF_OFFSETS: Final = (
    Wrapped("EOS080", connector_offset_findings.SHADOWED_OFFSET, ERROR, "null shadow",
            "Does every connector with an offsets topic of its own find its position there?",
            "The merged view puts a missing offset of the own topic over the worker's: the connector begins from "
            "nothing and copies everything again. Measured: 1,000 duplicates of 1,000 records.",
            "stop it (PUT /connectors/<connector>/stop), take offsets.storage.topic out of its config (PUT "
            "/connectors/<connector>/config), then move: `eosctl migrate-offsets --connector <connector> --to-topic "
            "<topic> --stop --set-config --resume`"),
    Wrapped("EOS081", connector_offset_findings.STORES_DISAGREE, WARNING, "offset stores disagree",
            "Do the two offset stores of a connector agree?", "Only the connector's own topic is used.",
            "see which of the two the connector reached; if it is the workers': `eosctl migrate-offsets --connector "
            "<connector> --to-topic <its own topic> --offsets-topic <the workers' topic> --merge keep-source --stop "
            "--set-config --resume`"),
    Wrapped("EOS082", connector_offset_findings.MALFORMED_OFFSET, ERROR, "offset that nobody can use",
            "Can every offset be read?", "A connector is given no offset where the value cannot be read."),
    Wrapped("EOS083", connector_offset_findings.OFFSETS_WRITTEN_ELSEWHERE, ERROR, "offsets are written elsewhere",
            "Are offsets read from where they are written?",
            "With only one of the producer's and consumer's bootstrap.servers overridden they are not."),
    Wrapped("EOS084", connector_offset_findings.ORPHAN_OFFSETS, INFO, "offsets of a deleted connector",
            "Is nothing left of connectors that were deleted?", "A new connector of the same name begins there."),
    Wrapped("EOS085", offset_findings.KEY_IN_TWO_PARTITIONS, ERROR, "offset in two partitions",
            "Is every offsets key in one partition only?",
            "Compaction is per partition, so both values stay and the order of reading decides.",
            "find what wrote with another partitioner than Java's (librdkafka's default is one), or added partitions; "
            "write a tombstone for each key into every partition but the one that murmur2 gives, and have it compacted "
            "away (delete.retention.ms=0) before a worker starts: one that reads it last forgets the offset"),
    Wrapped("EOS086", offset_findings.LOGICAL_DUPLICATES, WARNING, "one source partition under two keys",
            "Is every source partition written in one way?", "Connect compares keys byte for byte."),
    Wrapped("EOS087", offset_findings.MALFORMED_OFFSETS_KEY, ERROR, "malformed offsets key",
            "Does every offsets key have Connect's form?", "Workers log and ignore such a key, or lose what follows."),
    Wrapped("EOS088", offset_findings.OPEN_TRANSACTION, WARNING, "open transaction blocks an offsets topic",
            "Can tasks read the offsets topics to their end?",
            "Tasks read committed, and wait for an open transaction before they start."),
    Wrapped("EOS090", connector_offset_findings.LOST_NULL, ERROR, "null source partition is lost",
            "Does every connector name its source partitions?",
            "Workers from 4.2 on write an offset of the null partition and cannot look it up."),
)  # fmt: skip


def _made_by(wrapped: Wrapped, fact: str) -> Check:
    def check(evidence: Evidence) -> Iterator[Finding]:
        for finding in _findings(evidence, fact):
            if finding.id == wrapped.finding_id:
                over = wrapped.counts_while is not None and finding.evidence.get(wrapped.counts_while) is False
                severity = Severity.INFO if over else finding.severity
                own = wrapped.cure if finding.counts else None
                cure = for_connector(own or finding.cure, finding.subject)
                evidence_ = {**finding.evidence, "finding": wrapped.finding_id}
                yield replace(finding, id=wrapped.id, severity=severity, cure=cure, evidence=evidence_)

    return check


def _findings(evidence: Evidence, fact: str) -> tuple[Finding, ...]:
    source = evidence.inspection if fact == CONFIG_TOPIC else evidence.offset_findings
    if isinstance(source, Skipped):
        return ()
    return source if isinstance(source, tuple) else source.findings


def _rule(wrapped: Wrapped, fact: str, cure: str) -> Rule:
    return Rule(
        id=wrapped.id,
        title=wrapped.title,
        severity=wrapped.severity,
        question=wrapped.question,
        needs=(fact,),
        cause=wrapped.cause,
        cure=wrapped.cure or cure,
        source="KIP-618" if fact == CONFIG_TOPIC else "KIP-618, KIP-875",
        check=_made_by(wrapped, fact),
    )


RULES: Final = (
    *(_rule(each, CONFIG_TOPIC, CURE) for each in OF_CONFIG_TOPIC),
    *(_rule(each, OFFSETS, OFFSETS_CURE) for each in OF_OFFSETS),
)
