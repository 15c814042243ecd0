"""Rules whose findings are those of inspect-config and of `offsets show`, passed on as they are."""

from collections.abc import Iterator
from typing import Final

from eosctl.analysis.catalogue import config_topic, offsets
from eosctl.model.evidence import Evidence
from eosctl.model.report import Finding, FindingKind
from eosctl.model.rules import Check, Rule
from eosctl.model.skipped import Skipped

CONFIG_TOPIC: Final = "inspection"
OFFSETS: Final = "offset_findings"


def _passing_on(kind: FindingKind, fact: str) -> Check:
    def check(evidence: Evidence) -> Iterator[Finding]:
        yield from (finding for finding in _findings(evidence, fact) if finding.kind == kind)

    return check


def _findings(evidence: Evidence, fact: str) -> tuple[Finding, ...]:
    source = evidence.inspection if fact == CONFIG_TOPIC else evidence.offset_findings
    if isinstance(source, Skipped):
        return ()
    return source if isinstance(source, tuple) else source.findings


def _rule(fact: str, kind: FindingKind, question: str, blocks: frozenset[str] = frozenset()) -> Rule:
    return Rule(kind, question, needs=(fact,), check=_passing_on(kind, fact), blocks=blocks)


RULES: Final = (
    _rule(CONFIG_TOPIC, config_topic.NOT_A_CONFIG_TOPIC, "Is the topic a config topic at all?"),
    _rule(CONFIG_TOPIC, config_topic.MIXED_WRITERS, "Were all leader writes transactional since the first one was?"),
    _rule(CONFIG_TOPIC, config_topic.INTERLEAVED_LEADERS, "Does one Connect cluster alone write the config topic?"),
    _rule(
        CONFIG_TOPIC, config_topic.OPEN_TRANSACTION, "Can workers with exactly-once read the config topic to its end?"
    ),
    _rule(CONFIG_TOPIC, config_topic.POISON_RECORD, "Can every record be read without losing those after it?"),
    _rule(CONFIG_TOPIC, config_topic.FATAL_RECORD, "Can a worker that starts read the config topic?"),
    _rule(CONFIG_TOPIC, config_topic.MALFORMED_RECORD, "Does every record have the form that Connect gives it?"),
    _rule(CONFIG_TOPIC, config_topic.INVALID_KEYS, "Does only Connect write to the config topic?"),
    _rule(
        CONFIG_TOPIC,
        config_topic.PENDING_FENCING_WITH_RUNNING_TASKS,
        "Was a round of fencing done before the tasks that run now started?",
    ),
    _rule(
        CONFIG_TOPIC,
        config_topic.TASK_COUNT_MISMATCH,
        "Does the last task count record say what was committed before it?",
    ),
    _rule(
        CONFIG_TOPIC,
        config_topic.COMMIT_WITHOUT_TASK_COUNT_RECORD,
        "Has every source connector that runs a task count record?",
    ),
    _rule(CONFIG_TOPIC, config_topic.INCONSISTENT_CONNECTOR, "Are the task configs of every commit still there?"),
    _rule(CONFIG_TOPIC, config_topic.COMMIT_BEFORE_CONFIG, "Does every connector config come before its task commit?"),
    _rule(CONFIG_TOPIC, config_topic.IMPOSSIBLE_CONNECTOR, "Can every connector run that there is?"),
    _rule(CONFIG_TOPIC, config_topic.ORPHAN_RECORDS, "Is nothing left of connectors that were deleted?"),
    _rule(OFFSETS, offsets.NOT_AN_OFFSETS_TOPIC, "Is the topic an offsets topic at all?"),
    _rule(
        OFFSETS,
        offsets.SHADOWED_OFFSET,
        "Does every connector with an offsets topic of its own find its position there?",
    ),
    _rule(OFFSETS, offsets.STORES_DISAGREE, "Do the two offset stores of a connector agree?"),
    _rule(OFFSETS, offsets.MALFORMED_OFFSET, "Can every offset be read?"),
    _rule(OFFSETS, offsets.OFFSETS_WRITTEN_ELSEWHERE, "Are offsets read from where they are written?"),
    _rule(OFFSETS, offsets.ORPHAN_OFFSETS, "Is nothing left of connectors that were deleted?"),
    _rule(OFFSETS, offsets.KEY_IN_TWO_PARTITIONS, "Is every offsets key in one partition only?"),
    _rule(OFFSETS, offsets.LOGICAL_DUPLICATES, "Is every source partition written in one way?"),
    _rule(OFFSETS, offsets.MALFORMED_OFFSETS_KEY, "Does every offsets key have Connect's form?"),
    _rule(OFFSETS, offsets.OPEN_TRANSACTION, "Can tasks read the offsets topics to their end?"),
    _rule(OFFSETS, offsets.NULL_PARTITION_LOST, "Does every connector name its source partitions?"),
    _rule(
        OFFSETS,
        offsets.UNCOMMITTED_OFFSET,
        "Would workers that are not enabled begin from committed offsets only?",
        blocks=frozenset({"preparing", "disabled"}),
    ),
)
