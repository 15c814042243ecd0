"""Derives the answer of inspect-config from the config topic, read once."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Collection, Iterator, Mapping
from itertools import chain
from typing import Final

from msgspec import Struct

from eosctl.analysis import output_topics
from eosctl.analysis.catalogue import internal_topics as kinds
from eosctl.analysis.catalogue.internal_topics import CLEANUP, IMPOSSIBLE_CONNECTOR
from eosctl.analysis.config_topic import Survey
from eosctl.analysis.connect_requests import for_connector, restart_tasks
from eosctl.model.client_properties import HIDDEN, is_broker_address, split_list
from eosctl.model.client_roles import SERVERS, ConnectorConfig, as_properties
from eosctl.model.config_topic import (
    Disposition,
    InspectedConnector,
    Inspection,
    MalformedKey,
    NextStart,
    NextStartRule,
    RecordKind,
)
from eosctl.model.connectors import OFFSETS_TOPIC, ConnectorState, ConnectorType, TargetState
from eosctl.model.names import ConnectorTaskId, is_topic_name, task_transactional_id
from eosctl.model.report import Finding, FindingKind, Severity, worst_first
from eosctl.model.skipped import Skipped, not_asked
from eosctl.model.text import pluralize
from eosctl.model.times import rfc3339
from eosctl.model.topics import PartitionOffsets, TopicFacts
from eosctl.model.versions import KafkaVersion
from eosctl.model.whole_numbers import MOST_TASKS, whole
from eosctl.model.workers import connector_path


class _Case(Struct, frozen=True):
    connector: InspectedConnector
    cluster_has_records: bool
    version: KafkaVersion
    as_of: int = 0

    def finding(
        self, kind: FindingKind, message: str, *, cure: str | None = None, severity: Severity | None = None
    ) -> Finding:
        """A finding about this connector, with its figures as evidence, and the kind's fix where no other is given."""
        state = self.connector.state
        running = self.connector.running_tasks
        evidence: dict[str, object] = {
            "task_count": state.task_count,
            "task_count_record": state.task_count_record,
            "last_commit_offset": state.commit_offset,
            "last_task_count_offset": state.task_count_offset,
            "config_offset": state.config_offset,
            "running_tasks": {"skipped": running.reason} if isinstance(running, Skipped) else running,
        }
        cure = for_connector(kind.fix_for(self.version), state.name) if cure is None else cure
        return kind.finding(state.name, message, evidence, cure=cure, severity=severity)

    @property
    def running(self) -> int:
        """Number of tasks known to run; 0 where it was not requested."""
        running = self.connector.running_tasks
        return 0 if isinstance(running, Skipped) else running


def connector_findings(
    connector: InspectedConnector, cluster_has_records: bool, version: KafkaVersion, as_of: int = 0
) -> Iterator[Finding]:
    """All findings about one connector, with the fixes for workers of this version.

    cluster_has_records: there is any task count record. as_of is in ms since the epoch, 0 if unknown.
    """
    case = _Case(connector, cluster_has_records, version, as_of)
    for rule in _RULES:
        finding = rule(case)
        if finding is not None:
            yield finding


MOST_RESTARTED: Final = 1_000
"""A record may claim more tasks than a fix can name."""


def _restart(case: _Case) -> str:
    state = case.connector.state
    return f"{restart_tasks(state.name, range(min(state.task_count or 0, MOST_RESTARTED)))}; {kinds.ONCE_MORE}"


def _pending_with_running_tasks(case: _Case) -> Finding | None:
    state = case.connector.state
    fencing = case.connector.next_start.rule in {NextStartRule.FENCE, NextStartRule.SINGLE_TASK}
    # A stop commits 0 tasks before the workers end those that run: none of these was started after the commit.
    starts = state.target_state is TargetState.STARTED and state.task_count != 0
    if not fencing or not starts or not case.running:
        return None
    return _start_in_progress(case) or case.finding(
        kinds.PENDING_FENCING_WITH_RUNNING_TASKS,
        f"{_unfenced(case)}: they started without a round of fencing, so older tasks may still write",
        cure="make sure that every worker has exactly.once.source.support=enabled (`eosctl upgrade-check --to "
        f"enabled`), then restart the tasks: {_restart(case)}",
    )


def _unfenced(case: _Case) -> str:
    return (
        f"{pluralize(case.running, 'task runs', 'tasks run')} although the task commit at offset "
        f"{case.connector.state.commit_offset} was not followed by a task count record"
    )


FENCING_ROUND_MS: Final = 90_000
"""How long a worker waits for the leader's round of fencing (DistributedHerder, the request's timeout)."""


def _start_in_progress(case: _Case) -> Finding | None:
    """The finding while the commit is young: tasks from before it run until the round of fencing has ended."""
    committed = case.connector.state.commit_timestamp
    if committed is None or not case.as_of or case.as_of - committed >= FENCING_ROUND_MS:
        return None
    until = rfc3339(committed + FENCING_ROUND_MS)
    if committed - case.as_of >= FENCING_ROUND_MS:
        reason = f"the commit has a time in the future, {rfc3339(committed)}, so its age is unknown"
        cure = "compare the clocks of the workers with this machine's, and look again"
        return _unknown_start(case, reason, cure, Severity.WARNING)
    reason = f"a start may be in progress, with tasks from before it: a round of fencing may take until {until}"
    return _unknown_start(case, reason, f"nothing yet; look again after {until}", Severity.INFO)


def _unknown_start(case: _Case, reason: str, cure: str, severity: Severity) -> Finding:
    kind = kinds.PENDING_FENCING_WITH_RUNNING_TASKS
    return case.finding(kind, f"{_unfenced(case)}; {reason}", cure=cure, severity=severity)


def _count_mismatch(case: _Case) -> Finding | None:
    state = case.connector.state
    applies = state.known and not state.pending_fencing and state.commit_offset is not None
    if not applies or state.task_count_record is None or state.task_count_record == state.task_count:
        return None
    fenced, running = (pluralize(each or 0, "producer") for each in (state.task_count_record, state.task_count))
    return case.finding(
        kinds.TASK_COUNT_MISMATCH,
        f"the task count record has {state.task_count_record} tasks and the task commit before it "
        f"{state.task_count}: the next round will fence {fenced}, not {running}",
    )


def _commit_without_record(case: _Case) -> Finding | None:
    state = case.connector.state
    unrecorded = state.known and state.commit_offset is not None and state.task_count_record is None
    started = state.target_state is TargetState.STARTED and bool(state.task_count)
    if case.connector.type is not ConnectorType.SOURCE or not (unrecorded and started and case.cluster_has_records):
        return None
    tasks = pluralize(state.task_count or 0, "task was", "tasks were")
    return case.finding(
        kinds.COMMIT_WITHOUT_TASK_COUNT_RECORD,
        f"{tasks} committed at offset {state.commit_offset} but no task count record exists, "
        "though other connectors have one: these tasks never started under exactly-once",
        cure=f"when every worker has exactly.once.source.support=enabled, restart the tasks: {_restart(case)}",
    )


def _inconsistent(case: _Case) -> Finding | None:
    state = case.connector.state
    if not (state.known and state.inconsistent):
        return None
    missing = ", ".join(map(str, state.missing_tasks[:10])) + (" …" if len(state.missing_tasks) > 10 else "")
    return case.finding(
        kinds.INCONSISTENT_CONNECTOR,
        f"the task commit at offset {state.commit_offset} needs {state.task_count} task configs, and compaction "
        f"removed the config of task {missing}. A worker that starts now runs no tasks of the connector until it is "
        "configured again",
        severity=Severity.WARNING,
    )


def _commit_before_config(case: _Case) -> Finding | None:
    state = case.connector.state
    if not state.known or state.unclaimed_commit_offset is None or state.task_count is not None:
        return None
    return case.finding(
        kinds.COMMIT_BEFORE_CONFIG,
        f"the task commit at offset {state.unclaimed_commit_offset} is before the connector config at offset "
        f"{state.config_offset} (compaction removed the older config). Workers from 3.7.1 ignore it and start "
        "without tasks",
    )


def _impossible(case: _Case) -> Finding | None:
    state = case.connector.state
    if not state.known:
        return None
    config = state.config or {}
    connector = ConnectorConfig(state.name, as_properties(config), case.connector.type)
    reasons = [*why_impossible(connector), *_no_class(config.get("connector.class", "")), *_too_many(state)]
    if not reasons:
        return None
    return case.finding(kinds.IMPOSSIBLE_CONNECTOR, f"no worker can run it: {'; '.join(reasons)}")


def _no_class(value: object) -> Iterator[str]:
    if value is None:
        yield "it has no connector.class"
    elif not isinstance(value, str) or value == HIDDEN:
        yield "its connector.class is no text, and workers answer 500 to requests for all connectors"


def _too_many(state: ConnectorState) -> Iterator[str]:
    record = state.task_count_record or 0
    if record > MOST_TASKS:
        yield f"its task count record claims {record} tasks; eosctl checks the IDs of at most {MOST_TASKS}"


def _orphans(case: _Case) -> Finding | None:
    state = case.connector.state
    if state.known:
        return None
    return case.finding(
        kinds.ORPHAN_RECORDS,
        f"records remain of a connector that does not exist: {case.connector.next_start.words.partition('; ')[2]}",
    )


_RULES: Final[tuple[Callable[[_Case], Finding | None], ...]] = (
    _pending_with_running_tasks,
    _count_mismatch,
    _commit_without_record,
    _inconsistent,
    _commit_before_config,
    _impossible,
    _orphans,
)


# The rule for the leader's round of zombie fencing at the next start of a connector's tasks.
#
# With P pending fencing, R the last task count record (or none) and T the number of tasks last committed
# (DistributedHerder.doFenceZombieSourceTasks, KIP-618):
#
# 1. not P: nothing is fenced and nothing written.
# 2. P, no R: the first start under exactly-once; nothing is fenced, R := T is written.
# 3. P, R = 1 and T = 1: the one producer has the same transactional ID as before and fences it itself; R := T is
#    written.
# 4. otherwise: the producers of tasks 0 … R-1 are fenced, then R := T is written.
#
# A STOPPED connector commits no tasks, and resuming it commits some, so its next start falls under 2 to 4 in any case.


def next_start(state: ConnectorState, connector_type: ConnectorType | None, group_id: str | None) -> NextStart:
    """The rule for this connector; group_id of its Connect cluster names the transactional IDs in the words."""
    if connector_type is ConnectorType.SINK:
        return NextStart(NextStartRule.NONE, 0, "a sink: its tasks have no producers to fence")
    if not state.known:
        return NextStart(NextStartRule.NONE, 0, _unknown(state, group_id))
    rule, fences, words = _source(state, group_id)
    if connector_type is None and rule is NextStartRule.FIRST_START:
        words += ", if it is a source"
    return NextStart(rule, fences, words)


def _source(state: ConnectorState, group_id: str | None) -> tuple[NextStartRule, int, str]:
    record = state.task_count_record
    if not state.pending_fencing:
        return NextStartRule.NONE, 0, _not_pending(state)
    if record is None:
        return NextStartRule.FIRST_START, 0, "first exactly-once start: nothing to fence"
    if record == 1 and state.task_count == 1:
        return NextStartRule.SINGLE_TASK, 0, "1 -> 1: no fencing, the same ID fences itself"
    fences = max(record, 0)
    return (
        NextStartRule.FENCE,
        fences,
        f"the next start will fence {_producers(state.name, fences, group_id)}: "
        + (
            f"the task commit at offset {state.commit_offset} is later than the task count record at offset "
            f"{state.task_count_offset}" + _resumed(state)
        ),
    )


def _resumed(state: ConnectorState) -> str:
    if state.is_stopped and state.task_count_record == 1:
        return " (none if it resumes with one task)"
    return ""


def _not_pending(state: ConnectorState) -> str:
    if state.task_count_record is None:
        return "no task commit yet: nothing to fence"
    return f"already fenced: the task count record at offset {state.task_count_offset} is later than " + (
        "any task commit" if state.commit_offset is None else f"the task commit at offset {state.commit_offset}"
    )


def _unknown(state: ConnectorState, group_id: str | None) -> str:
    record = state.task_count_record
    if record is None or record <= 0:
        return "no such connector; a new one of this name would have nothing to fence"
    return f"no such connector; a new one of this name would fence {_producers(state.name, record, group_id)}"


def _producers(name: str, count: int, group_id: str | None) -> str:
    if count <= 0:
        return "no producers"
    first = task_transactional_id(group_id or "<group.id>", ConnectorTaskId(name, 0))
    if count == 1:
        return f"1 producer ({first})"
    return f"{count} producers ({first} … -{count - 1})"


# Checks the cleanup policy of Connect's topics, which has to keep the last record of each key, and no more.
#
# Workers refuse to start over another policy that they may read (TopicAdmin.verifyTopicCleanupPolicyOnlyCompact). An
# empty one, which brokers accept from 4.2 on, passes that check: it looks like one that may not be read.


def cleanup_policy_finding(subject: str, topic: str, policy: str, what: str) -> Finding | None:
    """Finding on this cleanup policy of a topic that holds `what` (connectors, offsets); None for `compact`."""
    words = {word.strip().lower() for word in policy.split(",")} - {""}
    if words == {"compact"}:
        return None
    cure, evidence = CLEANUP.fix.replace("<topic>", topic), {"cleanup_policy": policy}
    if words:
        message = f"cleanup.policy is {policy}, not compact: {what} are deleted with time, and workers refuse to start"
        return CLEANUP.finding(subject, message, evidence, cure=cure)
    message = (
        "cleanup.policy is empty. The topic is neither cut nor compacted and grows with every record. Each start "
        "of a worker reads the whole topic"
    )
    return CLEANUP.finding(subject, message, evidence, cure=cure, severity=Severity.WARNING)


_SHOWN_KEY: Final = 100


def topic_findings(topic: str, facts: TopicFacts | Skipped) -> Iterator[Finding]:
    """Partition count and cleanup policy, which every worker checks before it starts (where it may read them)."""
    if isinstance(facts, Skipped):
        return
    if facts.partitions > 1:
        message = f"the config topic has {facts.partitions} partitions: every worker refuses to start"
        yield kinds.PARTITIONS.finding(topic, message, {"partitions": facts.partitions})
    policy = facts.setting("cleanup.policy")
    found = None if isinstance(policy, Skipped) else cleanup_policy_finding(topic, topic, policy, "connectors")
    if found is not None:
        yield found


def not_a_config_topic(topic: str, survey: Survey) -> Finding | None:
    """The finding that excludes all others: the topic has records, and none belongs to a config topic."""
    census = survey.census
    if census.is_config_topic:
        return None
    return kinds.NOT_A_CONFIG_TOPIC.finding(
        topic,
        f"none of the {census.records} records has a key of Kafka Connect's config topic",
        {"records": census.records, "examples": [key for _, key in census.invalid_keys.examples]},
    )


def record_findings(topic: str, survey: Survey) -> Iterator[Finding]:
    census = survey.census
    yield from _writer_findings(topic, survey)
    for malformed in census.malformed:
        yield _malformed_finding(malformed)
    if census.invalid_keys.count:
        records = pluralize(census.invalid_keys.count, "record has", "records have")
        yield kinds.INVALID_KEYS.finding(
            topic,
            f"{records} a key that no worker knows; workers log and ignore them",
            {"count": census.invalid_keys.count, "examples": [list(each) for each in census.invalid_keys.examples]},
        )


def open_transaction(
    topic: str, group_id: str | None, survey: Survey, offsets: PartitionOffsets | Skipped
) -> list[Finding]:
    """A transaction without an end: seen in the records, or from the last stable offset below the high watermark."""
    first = survey.census.first_open
    stable = None if isinstance(offsets, Skipped) or not offsets.held_back else offsets.last_stable_offset
    if first is None and stable is None:
        return []
    start = stable if first is None else first.offset
    producer = None if first is None else first.producer
    writer = f" of producer {producer}" if producer else ""
    leader = f"connect-cluster-{group_id}" if group_id else "connect-cluster-<group.id>"
    finding = kinds.OPEN_TRANSACTION.finding(
        topic,
        f"a transaction{writer} is open from offset {start} on: workers with exactly-once enabled cannot start, and "
        "running ones see nothing later, until it ends",
        {"start_offset": start, "producer": str(producer) if producer else None, "records": survey.census.open},
        cure=(
            f"wait for its timeout. If it stays open, find its owner with `eosctl transactions describe {leader}` "
            f"and end it with `eosctl fence --transactional-id {leader}`. Then change a config, so that the leader "
            "initializes its ID again, and repeat the request if it answers 500. Do not use "
            "`restart?includeTasks=true`: after it the leader refuses every change until it is restarted. If the "
            f"coordinator does not know the transaction, `eosctl transactions hanging --topic {topic}` shows how to "
            "end it"
        ),
    )
    return [finding]


def _writer_findings(topic: str, survey: Survey) -> Iterator[Finding]:
    writes, interleaving = survey.census.privileged, survey.census.interleaving
    if writes.plain_after:
        now = "the last one among them" if writes.last_is_plain else "though the last one is transactional again"
        yield kinds.MIXED_WRITERS.finding(
            topic,
            f"{writes.plain_after} leader records between offsets {writes.first_plain_after} and "
            f"{writes.last_plain_after} are non-transactional, after transactional records, {now}. A leader without "
            "exactly-once source support wrote them, and no leader fenced it",
            {
                "plain_after_transactional": writes.plain_after,
                "first_offset": writes.first_plain_after,
                "last_offset": writes.last_plain_after,
                "last_transactional_offset": writes.last_transactional,
                "last_is_plain": writes.last_is_plain,
            },
            severity=Severity.ERROR if writes.last_is_plain else Severity.INFO,
        )
    if interleaving is not None:
        yield kinds.INTERLEAVED_LEADERS.finding(
            topic,
            f"two leaders write by turns: producer {interleaving.earlier} wrote at offset {interleaving.offset}, after "
            f"producer {interleaving.later} at offset {interleaving.later_offset} had taken over",
            {
                "producers": [str(interleaving.earlier), str(interleaving.later)],
                "offset": interleaving.offset,
                "count": interleaving.count,
            },
        )


def _malformed_finding(malformed: MalformedKey) -> Finding:
    kind, effect = _EFFECTS[malformed.disposition]
    key = "null" if malformed.key is None else malformed.key[:_SHOWN_KEY]
    times = f" ({malformed.count} times)" if malformed.count > 1 else ""
    harmless = malformed.reason == TOMBSTONE
    return kind.finding(
        key,
        f"record `{key}` at offset {malformed.last_offset}{times}: {malformed.reason}; {effect}",
        {"offset": malformed.last_offset, "count": malformed.count, "kind": malformed.kind.value},
        cure=_rewrite(malformed),
        severity=Severity.INFO if harmless else None,
    )


TOMBSTONE: Final = "the value is a tombstone"

_EFFECTS: Final = {
    Disposition.UNREADABLE: (kinds.MALFORMED_RECORD, "workers log and ignore it"),
    Disposition.IGNORED: (kinds.MALFORMED_RECORD, "workers log and ignore it"),
    Disposition.POISON: (
        kinds.POISON_RECORD,
        "a worker that reads it throws and loses the later records of the same poll, so the workers' views of the "
        "topic differ",
    ),
    Disposition.FATAL: (kinds.FATAL_RECORD, "a worker that reads it while it starts does not start"),
}


def _rewrite(malformed: MalformedKey) -> str:
    """The command that writes a good record under the same key, so that compaction removes the bad one."""
    path = connector_path(malformed.connector or "")
    by_kind = {
        RecordKind.CONNECTOR_CONFIG: f"write it again: PUT {path}/config",
        RecordKind.TASK_CONFIG: f"have the tasks configured again: change the connector, PUT {path}/config",
        RecordKind.TASK_COMMIT: f"have the tasks configured again: change the connector, PUT {path}/config",
        RecordKind.TASK_COUNT: f"have it written again: restart the tasks of {malformed.connector} on an exactly-once "
        "worker after a change of its configuration",
        RecordKind.TARGET_STATE: f"write it again: PUT {path}/pause or /resume",
        RecordKind.SESSION_KEY: "the leader writes a new one within inter.worker.key.ttl.ms",
        RecordKind.RESTART_REQUEST: "nothing: restart requests are not replayed",
        RecordKind.LOGGER_LEVEL: "nothing: logger levels are not replayed",
        RecordKind.INVALID_KEY: "nothing: a record with this key means nothing to Connect",
    }
    if malformed.key is None:
        return kinds.FATAL_RECORD.fix
    return f"{by_kind[malformed.kind]}; compaction then removes the old record"


NOT_ASKED = not_asked("not asked")


class ReportedConnectors(Struct, frozen=True):
    """The answer of Connect REST: types maps a name to "source" or "sink", running_tasks to its number of RUNNING
    tasks.

    A name missing from running_tasks has none. as_of is the time of reading in ms since the epoch, 0 if unknown.
    """

    types: Mapping[str, str] | Skipped = NOT_ASKED
    running_tasks: Mapping[str, int] | Skipped = NOT_ASKED
    as_of: int = 0


NOTHING_REPORTED: Final = ReportedConnectors()


def inspect(
    survey: Survey,
    *,
    topic: str,
    topic_facts: TopicFacts | Skipped = NOT_ASKED,
    offsets: PartitionOffsets | Skipped = NOT_ASKED,
    reported: ReportedConnectors = NOTHING_REPORTED,
    group_id: str | None = None,
    selected: Collection[str] = (),
) -> Inspection:
    """Connectors with their next start, and findings, of all connectors or of those `selected`.

    Where types were skipped, a task count record still proves a source.
    """
    names = [name for name in sorted(survey.state.states) if _is_relevant(survey.state.state(name))]
    chosen = [name for name in names if not selected or name in selected]
    connectors = tuple(_inspected(survey.state.state(name), reported, group_id) for name in chosen)
    has_records = any(state.task_count_record is not None for state in survey.state.states.values())
    version = survey.state.reader.version
    other = not_a_config_topic(topic, survey)
    findings = (
        (other,)
        if other is not None
        else (
            *topic_findings(topic, topic_facts),
            *open_transaction(topic, group_id, survey, offsets),
            *record_findings(topic, survey),
            *chain.from_iterable(connector_findings(each, has_records, version, reported.as_of) for each in connectors),
        )
    )
    return Inspection(
        topic=topic,
        state=survey.state,
        census=survey.census,
        topic_facts=topic_facts,
        connectors=connectors,
        findings=worst_first(findings),
        absent=tuple(sorted(set(selected) - set(names))),
        skipped=dict(
            _skipped(topic_facts, offsets=offsets, types=reported.types, running_tasks=reported.running_tasks)
        ),
    )


def _is_relevant(state: ConnectorState) -> bool:
    """True if the connector exists, or its remaining records would affect a new one of this name."""
    remains = (state.commit_offset, state.unclaimed_commit_offset, state.task_count_offset)
    return state.known or any(offset is not None for offset in remains) or bool(state.deferred)


def _inspected(
    state: ConnectorState,
    reported: ReportedConnectors,
    group_id: str | None,
) -> InspectedConnector:
    running_tasks, connector_type = reported.running_tasks, _type_of(state, reported.types)
    running = running_tasks if isinstance(running_tasks, Skipped) else running_tasks.get(state.name, 0)
    return InspectedConnector(state, connector_type, running, next_start(state, connector_type, group_id))


def _type_of(state: ConnectorState, types: Mapping[str, str] | Skipped) -> ConnectorType | None:
    reported = None if isinstance(types, Skipped) else types.get(state.name)
    if reported in set(ConnectorType):
        return ConnectorType(reported)
    return None if state.task_count_record is None else ConnectorType.SOURCE


def _skipped(topic: TopicFacts | Skipped, **others: object) -> Iterator[tuple[str, Skipped]]:
    for name, fact in {"topic": topic, **others}.items():
        if isinstance(fact, Skipped):
            yield name, fact
    policy = topic.setting("cleanup.policy") if isinstance(topic, TopicFacts) else None
    if isinstance(policy, Skipped):
        yield "cleanup_policy", policy


# Reasons why an existing connector can never run, by its name and its config alone.
#
# 1. Its name is empty, has control characters (ConnectorConfig.configDef), or is longer than a string of the group's
#    protocol: then the leader cannot hand out any task of any connector, and every worker ends.
# 2. A topic that it names is no legal topic name (Topic.validate): its own offsets topic, a sink's topics,
#    FileStreamSource's topic. Other connectors may rewrite their settings before use.
# 3. A setting of Connect's own has an illegal value (ConnectorConfig, SourceConnectorConfig). References to a config
#    provider are not judged: only a worker knows their values.
#
# A value that is no text is masked where secrets may be; one of these settings is never a secret.


MOST_NAME_BYTES: Final = 2**15 - 1
FILE_SOURCE: Final = "FileStreamSource"
FILE_SINK: Final = "FileStreamSink"
SHOWN: Final = 60


def why_impossible(connector: ConnectorConfig) -> Iterator[str]:
    """Each reason, in words that follow the connector's name; none where it may run."""
    yield from _name(connector.name)
    for setting, name in dict.fromkeys(_topics(connector)):
        if "${" not in name and not is_topic_name(name):
            yield f"{setting} {_shown(name)} is not a topic's name"
    yield from _brokers(connector)
    for setting, accepts, wanted in _SETTINGS if not connector.is_sink else _SETTINGS[:1]:
        text = connector.get(setting)
        if setting in connector.properties and "${" not in text and not accepts(text.strip()):
            yield f"{setting} is {_shown(text)}, not {wanted}"


def _brokers(connector: ConnectorConfig) -> Iterator[str]:
    """Addresses that a client of it cannot be made with (ClientUtils.parseAndValidateAddresses)."""
    for key in sorted(key for key in connector.properties if key.endswith(f".override.{SERVERS}")):
        text = connector.get(key)
        if text != HIDDEN and "${" not in text and not all(map(is_broker_address, split_list(text) or [""])):
            yield f"{key} {_shown(text)} is not HOST:PORT,…"


def impossible_connector(connector: ConnectorConfig, effect: str = "") -> Iterator[Finding]:
    """The finding that the connector can never run; effect is the consequence for the answer."""
    reasons = list(why_impossible(connector))
    if reasons:
        yield IMPOSSIBLE_CONNECTOR.finding(
            connector.name,
            f"no worker can run it: {'; '.join(reasons)}{effect}",
            {"reasons": reasons},
            cure=for_connector(IMPOSSIBLE_CONNECTOR.fix, connector.name),
        )


def _name(name: str) -> Iterator[str]:
    if not name.strip():
        yield "its name is empty"
    if any(unicodedata.category(char) == "Cc" for char in name):
        yield "its name has control characters"
    length = len(name.encode("utf-8", "surrogatepass"))
    if length > MOST_NAME_BYTES:
        yield f"its name has {length} bytes, and no worker of the group survives one of more than {MOST_NAME_BYTES}"


def _topics(connector: ConnectorConfig) -> Iterator[tuple[str, str]]:
    """The names one by one, and where they stand."""
    if connector.is_sink:
        if connector.type is not None or connector.class_name == FILE_SINK:  # a guess is no reason
            yield from (("topics", name) for name in split_list(connector.get("topics")))
        return
    if OFFSETS_TOPIC in connector.properties:
        yield OFFSETS_TOPIC, connector.get(OFFSETS_TOPIC)
    if connector.class_name == FILE_SOURCE:
        yield from (("topic", pattern.name) for pattern in output_topics.named_or_configured(connector))


def _shown(text: str) -> str:
    if text == HIDDEN:
        return "no text"
    return repr(text) if len(text) <= SHOWN else f"{text[:SHOWN]!r}… ({len(text)} characters)"


def _whole_number(least: int, most: int) -> Callable[[str], bool]:
    def accepts(text: str) -> bool:
        number = whole(text)
        return number is not None and least <= number <= most

    return accepts


def _one_of(*words: str) -> Callable[[str], bool]:
    accepted: Collection[str] = frozenset(words)
    return lambda text: text.lower() in accepted


_SETTINGS: Final = (
    ("tasks.max", _whole_number(1, 2**31 - 1), "a whole number from 1 on"),
    ("exactly.once.support", _one_of("requested", "required"), "requested or required"),
    ("transaction.boundary", _one_of("poll", "interval", "connector"), "poll, interval or connector"),
    ("transaction.boundary.interval.ms", _whole_number(1, 2**63 - 1), "a whole number of ms from 1 on"),
)
