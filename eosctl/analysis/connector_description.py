"""One connector, from the evidence of the rules and the answers of other commands."""

import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from msgspec.structs import replace

from eosctl.analysis.catalogue import connect as kinds
from eosctl.analysis.client_configs import clients_of, connector_config, servers_elsewhere
from eosctl.analysis.connect_requests import CommandLine, restart_tasks
from eosctl.analysis.errors import explain_error
from eosctl.analysis.rules.connectors import SAYS_NOTHING, TIMEOUT, interval_ms
from eosctl.analysis.rules.workers import probes
from eosctl.model.acl_plan import PlannedBinding
from eosctl.model.client_roles import ClientRole, class_name
from eosctl.model.config_topic import InspectedConnector, Inspection, NextStart
from eosctl.model.connector_description import (
    NO_SINK,
    DescribedConnector,
    DescribedId,
    ExactlyOnce,
    LastCommit,
    ListedConnector,
    TaskStates,
)
from eosctl.model.connectors import ConnectorType, TargetState
from eosctl.model.evidence import Evidence
from eosctl.model.groups import ConnectGroup
from eosctl.model.hanging import LastStableOffsets
from eosctl.model.names import stem_and_task
from eosctl.model.offsets import MergedOffset
from eosctl.model.report import Explained, Explanation, Finding, NextStep, Severity
from eosctl.model.rules import Diagnosis
from eosctl.model.skipped import Skipped, not_asked
from eosctl.model.status_topic import StatusKind, StatusRecord
from eosctl.model.text import first_few
from eosctl.model.times import ClusterClock, lasting
from eosctl.model.transaction_log import CommitHistory
from eosctl.model.transactions import TransactionDescription
from eosctl.model.workers import ConnectorStatus, TaskStatus, WrittenStatus, connector_path, host_port

FAILED: Final = "FAILED"
RUNNING: Final = "RUNNING"
WORST: Final = (FAILED, "UNASSIGNED", "RESTARTING", "DESTROYED", "STOPPED", "PAUSED", RUNNING)
"""States of a connector and its tasks: the first that one of them has is the state of the whole."""
CAUSES_SHOWN: Final = 2
AT_REST: Final = frozenset({"PAUSED", "STOPPED"})
NOT_ENABLED: Final = "the workers do not have exactly.once.source.support=enabled: tasks write without transactions"
MIXED: Final = "only some workers have exactly.once.source.support=enabled"
ELSEWHERE: Final = not_asked("it writes to another Kafka cluster, whose coordinators have its IDs: ask there")


def describe_connector(
    diagnosis: Diagnosis,
    name: str,
    outputs: LastStableOffsets | Skipped,
    line: CommandLine,
    written: WrittenStatus | None = None,
) -> DescribedConnector:
    """The connector by the evidence of this diagnosis, which is about it alone.

    written is its status by the status topic, which counts where no worker says it.
    """
    evidence = diagnosis.evidence
    status, inspected = status_of(evidence, name), inspected_of(evidence, name)
    findings, others = _findings(diagnosis, name, status)
    words = _words(evidence, name, status, inspected, written)
    written = written if isinstance(status, Skipped) else None
    status = status if written is None else written.status
    is_sink = type_of(status, inspected) is ConnectorType.SINK
    tasks = status if isinstance(status, Skipped) else () if status is None else _worst_first(status.tasks)
    described = DescribedConnector(
        name=name,
        as_of=evidence.as_of,
        cluster_id=None if isinstance(evidence.cluster_id, Skipped) else evidence.cluster_id,
        diagnosis=diagnosis,
        type=type_of(status, inspected),
        connector_class=_class_of(inspected),
        state=status if isinstance(status, Skipped) else None if status is None else state_of(status),
        worker=status.worker_id if isinstance(status, ConnectorStatus) else None,
        trace=status.trace if isinstance(status, ConnectorStatus) else None,
        target_state=_target_state(inspected),
        words=words,
        tasks=tasks,
        exactly_once=NO_SINK if is_sink else exactly_once(evidence, name),
        transactional_ids=NO_SINK if is_sink else _transactional_ids(evidence, name),
        offsets=NO_SINK if is_sink else _offsets(evidence, name),
        next_start=_next_start(inspected),
        last_commit=NO_SINK if is_sink else _last_commit(evidence, name),
        outputs=outputs,
        acls_missing=_acls_missing(evidence),
        findings=findings,
        others=others,
        written_ms=None if written is None else written.at_ms,
        iceberg=None if isinstance(evidence.iceberg, Skipped) else evidence.iceberg.get(name),
    )
    return _with_steps(described, line)


def status_of(evidence: Evidence, name: str) -> ConnectorStatus | Skipped | None:
    """Its status by the workers; None where they do not know it."""
    return evidence.statuses if isinstance(evidence.statuses, Skipped) else evidence.statuses.get(name)


def inspected_of(evidence: Evidence, name: str) -> InspectedConnector | Skipped | None:
    """The connector by the config topic; None where it mentions none of that name that exists."""
    inspection = evidence.inspection
    return inspection if isinstance(inspection, Skipped) else _among(inspection, name)


def last_statuses(records: Iterable[StatusRecord]) -> Mapping[str, tuple[StatusRecord, ...]]:
    """The records of the status topic from which workers answer: the last one of a connector, then those of its tasks.

    For each key as KafkaStatusBackingStore keeps them: a record that it discards changes nothing, a tombstone removes.
    A connector without its own status is left out: workers answer 404 then.
    """
    of_status, last = {StatusKind.CONNECTOR, StatusKind.TASK}, dict[str, dict[int | None, StatusRecord]]()
    for each in records:
        if each.kind in of_status and not each.reason:
            last.setdefault(each.connector, {})[each.task] = each
    found = {}
    for name, by_task in last.items():
        there = {task: each for task, each in by_task.items() if each.state is not None}
        own = there.pop(None, None)
        if own is not None:
            found[name] = (own, *(there[task] for task in sorted(there, key=lambda task: task or 0)))
    return found


def _among(inspection: Inspection, name: str) -> InspectedConnector | None:
    return next((each for each in inspection.connectors if each.state.name == name and each.state.known), None)


def type_of(
    status: ConnectorStatus | Skipped | None, inspected: InspectedConnector | Skipped | None
) -> ConnectorType | None:
    """By the workers, otherwise by the config topic."""
    if isinstance(status, ConnectorStatus) and status.type is not None:
        return ConnectorType(status.type)
    return inspected.type if isinstance(inspected, InspectedConnector) else None


def state_of(status: ConnectorStatus) -> str:
    """The worst of its own state and its tasks' states."""
    states = {status.state, *(each.state for each in status.tasks)}
    if status.state in AT_REST and FAILED not in states:
        return status.state
    return next((each for each in WORST if each in states), status.state)


def _worst_first(tasks: Iterable[TaskStatus]) -> tuple[TaskStatus, ...]:
    return tuple(sorted(tasks, key=lambda each: (each.state == RUNNING, each.state != FAILED, each.task)))


def _class_of(inspected: InspectedConnector | Skipped | None) -> str | None:
    if not isinstance(inspected, InspectedConnector):
        return None
    value = (inspected.state.config or {}).get("connector.class")
    return None if value is None else class_name(str(value))


def _target_state(inspected: InspectedConnector | Skipped | None) -> TargetState | Skipped | None:
    return inspected.state.target_state if isinstance(inspected, InspectedConnector) else inspected


def _next_start(inspected: InspectedConnector | Skipped | None) -> NextStart | Skipped:
    if inspected is None:
        return Skipped("the config topic does not mention it")
    return inspected if isinstance(inspected, Skipped) else inspected.next_start


def _words(
    evidence: Evidence,
    name: str,
    status: ConnectorStatus | Skipped | None,
    inspected: InspectedConnector | Skipped | None,
    written: WrittenStatus | None,
) -> str:
    """Its state in a sentence, with the causes of FAILED parts."""
    if isinstance(status, Skipped) and written is not None:
        ago = lasting(max(0, _cluster_now(evidence) - written.at_ms))
        return (
            f"by the status topic, last written {ago} ago, {_state_words(written.status)}"
            f"{_absent_workers(evidence, written.status)}; whether this is so now is unknown: {status.reason}"
        )
    if status is None or isinstance(status, Skipped):
        target = _target_state(inspected)
        wanted = "" if target is None or isinstance(target, Skipped) else f", and should be {target.value}"
        if status is None:
            return f"{name}: the workers report no status of it (the config topic has it{wanted})"
        return f"{name}: whether it runs is unknown{wanted}: {status.reason}"
    return _state_words(status)


def _absent_workers(evidence: Evidence, status: ConnectorStatus) -> str:
    """Which of its workers left the group since they wrote that they run it."""
    if not isinstance(evidence.group, ConnectGroup):
        return ""
    members = {host_port(each.url) for each in evidence.group.members if each.url}
    running = [each.worker_id for each in status.tasks if each.state == RUNNING]
    running += [status.worker_id] if status.worker_id is not None and status.state == RUNNING else []
    gone = sorted({each for each in running if host_port(each) not in members})
    return f"; {first_few(gone)} {'is' if len(gone) == 1 else 'are'} not in the Connect group now" if gone else ""


def _state_words(status: ConnectorStatus) -> str:
    state, counted = state_of(status), Counter(each.state for each in status.tasks)
    tasks = ", ".join(f"{count} {each}" for each, count in counted.most_common()) or "none"
    said = f"{status.name} is {state}; tasks: {tasks}"
    causes = _causes(status)
    if causes:
        more = f" (and {len(causes) - CAUSES_SHOWN} other causes)" if len(causes) > CAUSES_SHOWN else ""
        said += f": {'; '.join(causes[:CAUSES_SHOWN])}{more}"
    elif state == RUNNING and not status.tasks:
        said += ": it has no task that could copy anything"
    return said


def _causes(status: ConnectorStatus) -> tuple[str, ...]:
    """The FAILED parts and their causes: the connector itself first, then each cause of tasks with their numbers."""
    said = []
    if status.state == FAILED:
        said.append(f"the connector failed on {status.worker_id}: {_innermost(status.trace) or 'no trace is reported'}")
    by_cause: dict[str, list[int]] = {}
    for task in status.tasks:
        if task.state == FAILED:
            by_cause.setdefault(task.cause or "no trace is reported", []).append(task.task)
    for cause, numbers in by_cause.items():
        noun = "task" if len(numbers) == 1 else "tasks"
        said.append(f"{noun} {first_few([str(each) for each in sorted(numbers)])}: {cause}")
    return tuple(said)


def _innermost(trace: str | None) -> str | None:
    return None if trace is None else trace.splitlines()[-1].removeprefix("Caused by: ")


def exactly_once(evidence: Evidence, name: str) -> ExactlyOnce:
    """The effective support: workers, the connector's answer to the preflight check, boundary and timeout."""
    config = connector_config(evidence, name)
    enabled, others, unknown = probes(evidence)
    boundary = (config.get("transaction.boundary") or "poll").lower()
    interval = interval_ms(evidence, name) if boundary == "interval" else None
    worker: str | Skipped = "enabled" if not others else "mixed" if enabled else "not enabled"
    if unknown and not (enabled and others):
        worker = Skipped("; ".join(f"{place}: {each.reason}" for place, each in unknown.items()))
    effective, why = _effective(evidence, name, worker)
    return ExactlyOnce(
        worker=worker,
        connector=(config.get("exactly.once.support") or "requested").lower(),
        boundary=boundary,
        interval_ms=interval if isinstance(interval, int) else None,
        timeout_ms=_timeout_ms(evidence, name),
        effective=effective,
        why=why,
    )


def _effective(evidence: Evidence, name: str, worker: str | Skipped) -> tuple[str, str]:
    if isinstance(worker, Skipped):
        return "unknown", f"whether the workers have it enabled is not known: {worker.reason}"
    if worker != "enabled":
        return ("partly", MIXED) if worker == "mixed" else ("no", NOT_ENABLED)
    answer = evidence.preflight if isinstance(evidence.preflight, Skipped) else evidence.preflight.get(name)
    if answer is None or isinstance(answer, Skipped) or not answer.answers:
        reason = f": {answer.reason}" if isinstance(answer, Skipped) else " was not answered"
        return "unknown", f"tasks write in transactions; whether the connector supports it{reason}"
    if any(SAYS_NOTHING in each for each in answer.messages):
        return "unknown", "tasks write in transactions; the connector does not declare whether it supports exactly-once"
    if answer.messages:
        return "partly", f"tasks write in transactions, but the connector reports: {'; '.join(answer.messages)}"
    return "yes", "the workers have it enabled, and the connector declares support"


def _timeout_ms(evidence: Evidence, name: str) -> int | None:
    """As its coordinator has it, otherwise as the config says; None where it is the workers' and not known."""
    for each in _described(evidence, name):
        if isinstance(each, TransactionDescription):
            return each.timeout_ms
    clients = clients_of(evidence, name, ClientRole.PRODUCER, exactly_once=True)
    found = [each.number(TIMEOUT) for each in clients]
    known = [each for each in found if isinstance(each, int)]
    return max(known, default=None) if len(known) == len(found) else None


def _described(evidence: Evidence, name: str) -> Iterator[TransactionDescription | Skipped]:
    known = {} if isinstance(evidence.transactions, Skipped) else evidence.transactions
    yield from (each for id_, each in known.items() if _is_of(evidence, id_, name))


def _is_of(evidence: Evidence, transactional_id: str, name: str) -> bool:
    stem = stem_and_task(transactional_id)
    return stem is not None and stem[0] == f"{evidence.group_id}-{name}"


def _transactional_ids(evidence: Evidence, name: str) -> tuple[DescribedId, ...] | Skipped:
    """The IDs that coordinators know, and those that only the transaction log has."""
    if servers_elsewhere(evidence, name) is not None:
        return ELSEWHERE
    known, commits = evidence.transactions, evidence.commits
    if isinstance(known, Skipped):
        return known
    histories = {} if isinstance(commits, Skipped) else commits
    names = [each for each in dict.fromkeys((*known, *histories)) if _is_of(evidence, each, name)]
    now = _cluster_now(evidence)
    return tuple(
        _described_id(each, known.get(each), commits if isinstance(commits, Skipped) else histories.get(each), now)
        for each in sorted(names, key=lambda each: (stem_and_task(each) or ("", 0))[1])
    )


def _described_id(
    name: str,
    described: TransactionDescription | Skipped | None,
    history: CommitHistory | Skipped | None,
    now: int,
) -> DescribedId:
    last = history.last_ms if isinstance(history, CommitHistory) else history
    if not isinstance(described, TransactionDescription):
        return DescribedId(name, described, last_commit_ms=last)
    opened = None if described.start_ms is None or not described.state.is_open else max(0, now - described.start_ms)
    producer = described.producer
    return DescribedId(name, described.state.value, producer.producer_id, producer.producer_epoch, opened, last)


def _cluster_now(evidence: Evidence) -> int:
    """The time by the cluster's clock where that was measured, in ms since the epoch."""
    clock = evidence.clock
    return evidence.as_of + (clock.ahead_ms if isinstance(clock, ClusterClock) else 0)


def _offsets(evidence: Evidence, name: str) -> tuple[MergedOffset, ...] | Skipped:
    if isinstance(evidence.offsets, Skipped):
        return evidence.offsets
    mine = (each for each in evidence.offsets.connectors if each.name == name)
    return tuple(offset for each in mine for offset in each.offsets if offset.live)


def _last_commit(evidence: Evidence, name: str) -> LastCommit | Skipped | None:
    if isinstance(evidence.commits, Skipped):
        return evidence.commits
    if servers_elsewhere(evidence, name) is not None:
        return ELSEWHERE
    found = [each for id_, each in evidence.commits.items() if _is_of(evidence, id_, name)]
    histories = [each for each in found if isinstance(each, CommitHistory)]
    if not histories:
        return next((each for each in found if isinstance(each, Skipped)), None)
    last = max(histories, key=lambda each: each.last_ms)
    ago_ms = max(0, _cluster_now(evidence) - last.last_ms)
    return LastCommit(last.last_ms, ago_ms, last.longest_ms, last.intervals)


def _acls_missing(evidence: Evidence) -> tuple[PlannedBinding, ...] | Skipped:
    found = evidence.acl_in_force
    return found if isinstance(found, Skipped) else found.missing_required


def _findings(
    diagnosis: Diagnosis, name: str, status: ConnectorStatus | Skipped | None
) -> tuple[tuple[Finding, ...], tuple[Finding, ...]]:
    """The findings that concern the connector, and the others, which are about the cluster.

    An error about workers, brokers or internal topics concerns each source connector.
    """
    is_source = name in diagnosis.evidence.sources()
    mine: list[Finding] = []
    others: list[Finding] = []
    for each in diagnosis.reported:
        concerns = is_about(each, diagnosis.evidence, name) or (is_source and each.severity is Severity.ERROR)
        (mine if concerns else others).append(each)
    if (
        isinstance(status, ConnectorStatus)
        and state_of(status) == FAILED
        and not any(each.kind == kinds.FAILED for each in mine)
    ):
        mine.insert(0, _failed(name, status))
    return tuple(mine), tuple(others)


def _failed(name: str, status: ConnectorStatus) -> Finding:
    """That a sink, or the connector itself, has failed: `doctor` looks at tasks of sources."""
    failed = [each.task for each in status.tasks if each.state == FAILED]
    restart = f"POST {connector_path(name)}/restart" if status.state == FAILED else restart_tasks(name, failed)
    return kinds.FAILED.finding(
        name,
        "; ".join(_causes(status)),
        {"tasks": failed},
        cure=f"remove the cause (`eosctl explain --connector {shlex.quote(name)}`), then {restart}",
    )


def is_about(finding: Finding, evidence: Evidence, name: str) -> bool:
    """True if the finding is the connector's own: its subject is the connector, one of its IDs, or one of its own
    topics."""
    subject, outputs = finding.subject, {} if isinstance(evidence.outputs, Skipped) else evidence.outputs
    written = outputs.get(name, ())
    topics = set() if isinstance(written, Skipped) else set(written)
    topics |= {connector_config(evidence, name).get("offsets.storage.topic")} - {""}
    named = finding.evidence.get("connectors", ())
    return (
        subject == name
        or subject in topics
        or _is_of(evidence, subject, name)
        or finding.evidence.get("connector") == name
        or (isinstance(named, Sequence) and name in named)
    )


# The next steps: from its state, then from the fixes of its findings.


def _with_steps(described: DescribedConnector, line: CommandLine) -> DescribedConnector:
    steps: dict[str, str] = {}
    by_state, by_findings = _by_state(described, line), _by_findings(described, line)
    for each in (*by_findings, *by_state) if described.state in AT_REST else (*by_state, *by_findings):
        steps.setdefault(each.command, each.why)
    return replace(described, steps=tuple(NextStep(why, command) for command, why in steps.items()))


def _by_state(described: DescribedConnector, line: CommandLine) -> Iterator[NextStep]:
    name, path = shlex.quote(described.name), connector_path(described.name)
    tasks = () if isinstance(described.tasks, Skipped) else described.tasks
    failed = sorted(each.task for each in tasks if each.state == FAILED)
    if described.written_ms is not None:
        yield NextStep("show its history", line.eosctl(f"eosctl timeline --connector {name}"))
        return  # the other steps are requests to a worker, and none answers
    if described.state == FAILED:
        yield NextStep("explain the trace", line.eosctl(f"eosctl explain --connector {name}"))
    itself = described.trace is not None
    yield from _restarts(described.name, failed, line, itself=itself)
    if described.state in AT_REST:
        if described.type is not ConnectorType.SINK:
            yield NextStep("show the offsets it resumes from", line.eosctl(f"eosctl offsets show --connector {name}"))
        evidence = described.diagnosis.evidence
        mine = [each for each in described.findings if is_about(each, evidence, described.name)]
        if not any(each.severity is Severity.ERROR for each in mine):
            why = f"it is {described.state} on purpose, or was forgotten: resume it"
            yield from _request(why, line.curl("PUT", f"{path}/resume"))


# The meaning of a connector's traces.


MOST_COMMANDS: Final = 2
PURPOSES: Final = {
    "transactions describe": "ask the coordinator about the transactional ID",
    "transactions log": "show the history of the transactional ID",
    "transactions hanging": "find hanging transactions",
    "transactions lso": "show where consumers wait",
    "inspect-config": "show the connector in the config topic",
    "offsets show": "show the offsets it resumes from",
    "acl-plan": "show the ACLs it needs",
    "doctor": "check everything else",
    "explain": "explain the finding",
}
"""Why to run a command that the explanation of an error names."""


def explain_status(status: ConnectorStatus, group_id: str | None, line: CommandLine) -> Explained:
    """The meaning of its own and its FAILED tasks' traces, and the two or three commands to run."""
    failed = [each for each in status.tasks if each.state == FAILED]
    traces = {-1: status.trace} if status.state == FAILED else {}
    traces |= {each.task: each.trace or each.cause for each in failed}
    found: dict[str, Explanation] = {}
    for task, trace in traces.items():
        named = {"connector": status.name, **({"task": str(task)} if task >= 0 else {})}
        for each in explain_error(trace or "", group_id, known=named):
            found.setdefault(each.id, each)
    texts = "\n".join(dict.fromkeys(each for each in traces.values() if each))
    explanations = tuple(_with_commands(each, line, status.name) for each in found.values())
    return Explained(
        text=texts or status.name,
        explanations=explanations,
        state=_state_words(status),
        has_failed=bool(traces),
        steps=tuple(_explained_steps(status, [each.task for each in failed], explanations, line)),
    )


def _with_commands(found: Explanation, line: CommandLine, connector: str) -> Explanation:
    """The same with its commands as they can be run; words that are no command stay."""
    commands = (line.commands(each, connector) or (each,) for each in found.commands)
    return replace(found, commands=tuple(dict.fromkeys(each for group in commands for each in group)))


def _explained_steps(
    status: ConnectorStatus, failed: Sequence[int], explanations: Iterable[Explanation], line: CommandLine
) -> Iterator[NextStep]:
    shell_name = shlex.quote(status.name)
    asked = [each for found in explanations for each in found.commands if each.startswith("eosctl ")]
    for command in list(dict.fromkeys(asked))[:MOST_COMMANDS]:
        verb = next((each for each in PURPOSES if command.startswith(f"eosctl {each}")), "")
        yield NextStep(PURPOSES.get(verb, "look at"), command)
    if not asked:
        yield NextStep("show all facts about it", line.eosctl(f"eosctl connector show {shell_name}"))
    yield from _restarts(status.name, failed, line, itself=status.state == FAILED)


def _restarts(name: str, failed: Sequence[int], line: CommandLine, *, itself: bool) -> Iterator[NextStep]:
    """The requests that restart the FAILED parts after the cause is gone."""
    path = connector_path(name)
    if itself:
        yield from _request(
            "after you fixed the cause, start the connector again", line.curl("POST", f"{path}/restart")
        )
    if failed:
        which = f"{{{','.join(map(str, failed))}}}" if len(failed) > 1 else str(failed[0])
        again = "the failed task" if len(failed) == 1 else f"the {len(failed)} failed tasks"
        why = f"after you fixed the cause, restart {again}"
        yield from _request(why, line.curl("POST", f"{path}/tasks/{which}/restart"))


def _request(why: str, command: str | None) -> Iterator[NextStep]:
    if command is not None:
        yield NextStep(why, command)


def _by_findings(described: DescribedConnector, line: CommandLine) -> Iterator[NextStep]:
    for finding in described.findings:
        if not finding.counts or finding.kind == kinds.FAILED:
            continue
        commands = line.commands(finding.cure, described.name)
        why = f"{finding.id} {finding.name}"
        yield from (NextStep(f"to fix {why}", command) for command in commands)
        if not commands:
            yield NextStep(f"{why}: follow the fix below, step by step", line.eosctl(f"eosctl explain {finding.id}"))


# The connectors of a Connect cluster.


def list_all(
    statuses: Mapping[str, ConnectorStatus] | Skipped,
    inspection: Inspection | Skipped,
    written: Mapping[str, WrittenStatus] | Skipped,
) -> tuple[ListedConnector, ...]:
    """Each connector that workers report or the config topic has, by name.

    Without a worker's answer, states come from the status topic. It may still contain deleted connectors, so it adds
    names only if the config topic was not read.
    """
    inspected = () if isinstance(inspection, Skipped) else inspection.connectors
    by_name = {each.state.name: each for each in inspected if each.state.known}

    def of_config(name: str) -> InspectedConnector | Skipped | None:
        return inspection if isinstance(inspection, Skipped) else by_name.get(name)

    if not isinstance(statuses, Skipped):
        return tuple(_listed(name, statuses.get(name), of_config(name)) for name in sorted({*statuses, *by_name}))
    last = {} if isinstance(written, Skipped) else written
    found = []
    for name in sorted(last if isinstance(inspection, Skipped) else by_name):
        one = last.get(name)
        listed = _listed(name, statuses if one is None else one.status, of_config(name))
        found.append(listed._replace(written_ms=None if one is None else one.at_ms))
    return tuple(found)


def _listed(
    name: str, status: ConnectorStatus | Skipped | None, inspected: InspectedConnector | Skipped | None
) -> ListedConnector:
    found = ListedConnector(
        name=name,
        type=type_of(status, inspected),
        connector_class=_class_of(inspected),
        state=None,
        target_state=_target_state(inspected),
        tasks=(),
        cause=None,
    )
    if isinstance(status, Skipped):
        return found._replace(state=status, tasks=status)
    if status is None:
        return found
    counted = Counter(each.state for each in status.tasks)
    tasks = tuple(TaskStates(*each) for each in counted.most_common())
    return found._replace(state=state_of(status), tasks=tasks, cause=next(iter(_causes(status)), None))
