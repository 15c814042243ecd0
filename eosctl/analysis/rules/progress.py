"""Rules about the progress of tasks: their last commit, held against their own history."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from eosctl.analysis.catalogue import progress as kinds
from eosctl.analysis.commit_histories import ENOUGH, LEAST_MS, Quietness, quietness
from eosctl.analysis.connect_requests import restart_tasks
from eosctl.analysis.rules.client_configs import servers_elsewhere
from eosctl.analysis.rules.workers import probes
from eosctl.model.clock import ClusterClock
from eosctl.model.commit_history import CommitHistory
from eosctl.model.counts import counted, some
from eosctl.model.evidence import Evidence
from eosctl.model.names import ConnectorTaskId, task_transactional_id
from eosctl.model.report import Finding, Severity
from eosctl.model.rules import Rule
from eosctl.model.skipped import Cause, Skipped, not_asked
from eosctl.model.times import lasting

NEVER: Final = "no commit of it is left in the transaction log"


class TaskCommits(NamedTuple):
    """A RUNNING task, the history of its commits (None: no commit is known), and how quiet it is now."""

    connector: str
    task: int
    history: CommitHistory | None
    quietness: Quietness | None


def task_commits(evidence: Evidence) -> Iterator[TaskCommits | Skipped]:
    """Of each RUNNING task of a source; none where not all workers are enabled: others commit no transactions.

    Skipped for what is not known of one.
    """
    group_id, commits, statuses = evidence.group_id, evidence.commits, evidence.statuses
    enabled, others, unknown = probes(evidence)
    if isinstance(group_id, Skipped) or isinstance(commits, Skipped) or isinstance(statuses, Skipped):
        return
    yield from (*unknown.values(), *evidence.silent.values())
    if not enabled or others or unknown or evidence.silent:
        return
    if isinstance(evidence.clock, ClusterClock) and not evidence.clock.agrees:
        yield Skipped(f"how long tasks committed nothing: {evidence.clock}")
        return
    for name in evidence.sources():
        status = statuses.get(name)
        if status is None or status.state != "RUNNING":
            continue
        if servers_elsewhere(evidence, name) is not None:
            yield not_asked(f"{name} writes to another Kafka cluster, whose coordinators have its commits: ask there")
            continue
        for task in status.running_tasks:
            history = commits.get(task_transactional_id(group_id, ConnectorTaskId(name, task)))
            if isinstance(history, Skipped):
                yield history
            else:
                now = None if history is None else quietness(history, evidence.as_of)
                yield TaskCommits(name, task, history, now)


def _quiet(evidence: Evidence) -> Iterator[Finding | Skipped]:
    quiet: dict[str, list[tuple[int, CommitHistory, Quietness]]] = {}
    short = []
    for each in task_commits(evidence):
        if isinstance(each, Skipped):
            yield each
        elif each.history is None or each.quietness is None:
            short.append(each)
        elif each.quietness.quiet:
            quiet.setdefault(each.connector, []).append((each.task, each.history, each.quietness))
        elif each.quietness.ratio is None and each.quietness.silent_ms > LEAST_MS:
            short.append(each)
    for name, tasks in quiet.items():
        yield _finding(name, tasks)
    if short:
        yield Skipped(_too_short(short), Cause.NOT_IN_USE)


def _finding(connector: str, tasks: Sequence[tuple[int, CommitHistory, Quietness]]) -> Finding:
    task, history, worst = max(tasks, key=lambda each: each[2].ratio or 0)
    more = f" (so do {len(tasks) - 1} other tasks)" if len(tasks) > 1 else ""
    message = (
        f"task {task} is RUNNING and commits nothing since {lasting(worst.silent_ms)}{more}: of the "
        f"{history.intervals:,} intervals between two commits in {lasting(history.span_ms)} before, the longest was "
        f"{lasting(history.longest_ms)}. Its source may be idle"
    )
    shown = [
        {
            "task": number,
            "silent_ms": now.silent_ms,
            "last_commit_ms": each.last_ms,
            "longest_interval_ms": each.longest_ms,
            "intervals": each.intervals,
            "history_ms": each.span_ms,
        }
        for number, each, now in tasks
    ]
    cure = (
        "look whether its source has changes that are not in the topics; if it has, look where the connector waits "
        f"(jstack: thread task-thread-{connector}-{task}), then {restart_tasks(connector, [each[0] for each in tasks])}"
    )
    severity = Severity.WARNING if any(now.whole for _, _, now in tasks) else Severity.INFO
    return kinds.QUIET.finding(connector, message, {"tasks": shown}, cure=cure, severity=severity)


def _too_short(tasks: Iterable[TaskCommits]) -> str:
    words = [f"{each.connector} task {each.task} ({_left(each.history)})" for each in tasks]
    needed = f"a history takes {ENOUGH} intervals and a day"
    whose = counted(len(words), "RUNNING task commits", "RUNNING tasks commit")
    return f"{whose} nothing now and too little is known of before: {some(words)}; {needed}"


def _left(history: CommitHistory | None) -> str:
    if history is None:
        return NEVER
    return f"{counted(history.intervals, 'interval')} in {lasting(history.span_ms)}"


RULES: Final = (
    Rule(
        kinds.QUIET,
        "Does every RUNNING task that commits transactions do so as its own history leads one to expect?",
        needs=("group_id", "commits", "statuses"),
        check=_quiet,
    ),
)
