"""Rules about the transactional IDs of the leader and of the tasks."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from eosctl.analysis.connect_requests import restart_tasks
from eosctl.analysis.rules.workers import probes
from eosctl.model.counts import counted
from eosctl.model.evidence import Evidence, declared_support
from eosctl.model.names import ConnectorTaskId, leader_transactional_id, task_transactional_id
from eosctl.model.offset_stores import SourceSupport
from eosctl.model.report import Finding, Severity
from eosctl.model.rules import Rule
from eosctl.model.skipped import Skipped
from eosctl.model.transactions import TransactionDescription

SHOWN: Final = 10
EXPIRATION: Final = "transactional.id.expiration.ms"
LAST_PART: Final = 7
"""An ID is near expiry in the last seventh of its time: a day of the default week."""
SWEEP_MS: Final = 30_000
"""Coordinators look for transactions that timed out every 10 s; three times that is time enough."""


def _no_leader_id(evidence: Evidence) -> Iterator[Finding | Skipped]:
    enabled, _, unknown = probes(evidence)
    files = {} if isinstance(evidence.worker_files, Skipped) else evidence.worker_files
    declared = [name for name, each in files.items() if declared_support(each) not in {None, SourceSupport.DISABLED}]
    claim = [*(f"{url} is enabled" for url in enabled), *(f"{name} says preparing or enabled" for name in declared)]
    if isinstance(evidence.group_id, Skipped) or isinstance(evidence.transactions, Skipped):
        return
    if not claim:
        yield from unknown.values()
        return
    leader = leader_transactional_id(evidence.group_id)
    told = evidence.transactions.get(leader)
    if isinstance(told, Skipped):
        yield told
    elif told is None:
        message = (
            f"{claim[0]}, but no coordinator knows {leader}: no leader of group {evidence.group_id} ever prepared, or "
            "its ID expired"
        )
        yield NO_LEADER_ID.finding(leader, message, claims=claim)


def _no_task_id(evidence: Evidence) -> Iterator[Finding | Skipped]:
    group_id, known, statuses = evidence.group_id, evidence.transactions, evidence.statuses
    enabled, others, unknown = probes(evidence)
    if isinstance(group_id, Skipped) or isinstance(known, Skipped) or isinstance(statuses, Skipped):
        return
    yield from (*unknown.values(), *evidence.silent.values())
    if not enabled or others or unknown or evidence.silent:
        return
    for name in evidence.sources():
        status = statuses.get(name)
        tasks = () if status is None else status.running_tasks
        ids = {task: task_transactional_id(group_id, ConnectorTaskId(name, task)) for task in tasks}
        yield from _unknown(known.get(each) for each in ids.values())
        lost = [task for task, each in ids.items() if each not in known]
        if lost:
            message = (
                f"{counted(len(lost), 'task runs', 'tasks run')} on workers that are enabled, but no coordinator "
                f"knows {'its ID' if len(lost) == 1 else 'their IDs'} ({ids[lost[0]]}): expired, or "
                "the tasks write to another Kafka cluster"
            )
            cure = restart_tasks(name, lost)
            yield NO_TASK_ID.finding(name, message, cure=cure, tasks=lost)


def _unknown(told: Iterable[object]) -> Iterator[Skipped]:
    """The reasons of those that could not be read."""
    return (each for each in told if isinstance(each, Skipped))


def _described(evidence: Evidence) -> Mapping[str, TransactionDescription]:
    known = {} if isinstance(evidence.transactions, Skipped) else evidence.transactions
    return {name: each for name, each in known.items() if not isinstance(each, Skipped)}


def _undescribed(evidence: Evidence) -> Iterator[Skipped]:
    return _unknown(() if isinstance(evidence.transactions, Skipped) else evidence.transactions.values())


def _overdue(evidence: Evidence) -> Iterator[Finding | Skipped]:
    yield from _undescribed(evidence)
    for name, each in _described(evidence).items():
        if each.start_ms is None or not each.state.is_open:
            continue
        late_ms = evidence.as_of - each.start_ms - each.timeout_ms
        if late_ms > SWEEP_MS:
            message = (
                f"its transaction is {each.state.value} {late_ms // 1000} s after its timeout of {each.timeout_ms} "
                f"ms: readers "
                "of its partitions stand still"
            )
            cure = f"eosctl fence --transactional-id {name}"
            yield OVERDUE.finding(name, message, cure=cure, state=each.state.value, late_ms=late_ms)


def _forgotten_markers(evidence: Evidence) -> Iterator[Finding | Skipped]:
    leaderless = evidence.leaderless
    if isinstance(leaderless, Skipped):
        return
    yield from _undescribed(evidence)
    for name, each in _described(evidence).items():
        lost = sorted(leaderless.intersection(each.partitions)) if each.state.is_open else []
        if lost:
            places = ", ".join(map(str, lost[:SHOWN]))
            message = (
                f"its transaction is {each.state.value} and {places} has no leader: a transaction that ends now leaves "
                "its records there open for ever"
            )
            yield FORGOTTEN.finding(name, message, partitions=[str(place) for place in lost], state=each.state.value)


def _near_expiry(evidence: Evidence) -> Iterator[Finding | Skipped]:
    group_id, since, statuses = evidence.group_id, evidence.idle_since, evidence.statuses
    limits, skipped = _expirations(evidence)
    yield from skipped
    if isinstance(group_id, Skipped) or isinstance(since, Skipped) or isinstance(statuses, Skipped) or not limits:
        return
    limit = min(limits)
    for name in evidence.sources():
        status = statuses.get(name)
        tasks = () if status is None else status.running_tasks
        ids = {task: task_transactional_id(group_id, ConnectorTaskId(name, task)) for task in tasks}
        yield from _unknown(since.get(each) for each in ids.values())
        known = {task: at for task, each in ids.items() if not isinstance(at := since.get(each), Skipped | None)}
        left = {task: at + limit - evidence.as_of for task, at in known.items()}
        near = [task for task, each in left.items() if each <= limit // LAST_PART]
        if near:
            hours = min(left[task] for task in near) / 3_600_000
            message = (
                f"{len(near)} of its tasks wrote nothing for long: their IDs ({ids[near[0]]}) expire in {hours:.1f} h"
            )
            cure = restart_tasks(name, near)
            yield NEAR_EXPIRY.finding(name, message, cure=cure, tasks=near, transactional_id_expiration_ms=limit)


def _expirations(evidence: Evidence) -> tuple[list[int], list[Skipped]]:
    brokers = {} if isinstance(evidence.brokers, Skipped) else evidence.brokers
    told = [each for each in brokers.values() if not isinstance(each, Skipped)]
    known = [int(each[EXPIRATION]) for each in told if EXPIRATION in each]
    silent = [each for each in brokers.values() if isinstance(each, Skipped)]
    return known, silent if known or silent else [Skipped(f"no broker tells its {EXPIRATION}")]


def _collision(evidence: Evidence) -> Iterator[Finding]:
    group_id, groups, statuses = evidence.group_id, evidence.groups, evidence.statuses
    if isinstance(group_id, Skipped) or isinstance(groups, Skipped) or isinstance(statuses, Skipped):
        return
    others = {leader_transactional_id(name): name for name, kind in groups.items() if kind == "connect"}
    for name in evidence.sources():
        status = statuses.get(name)
        for task in () if status is None else status.tasks:
            mine = task_transactional_id(group_id, ConnectorTaskId(name, task.task))
            if mine in others:
                message = (
                    f"task {task.task} has the ID {mine} of the leader of group {others[mine]}: they fence each other"
                )
                yield COLLISION.finding(name, message, transactional_id=mine, group_id=others[mine])


def _prefix(evidence: Evidence) -> Iterator[Finding]:
    names = evidence.sources()
    for name in names:
        longer = [other for other in names if other.startswith(f"{name}-")]
        if longer:
            message = f"a prefixed ACL for its transactional IDs covers those of {', '.join(longer[:10])} too"
            yield PREFIX.finding(name, message, connectors=longer)


def _foreign(evidence: Evidence) -> Iterator[Finding | Skipped]:
    group_id, listed = evidence.group_id, evidence.transactional_ids
    if isinstance(group_id, Skipped) or isinstance(listed, Skipped) or isinstance(evidence.inspection, Skipped):
        return
    yield from map(Skipped, evidence.unlisted)
    names = set(evidence.inspection.state.states) | set(evidence.sources())
    found = []
    for each in listed:
        stem, _, index = each.removeprefix(f"{group_id}-").rpartition("-")
        if each.startswith(f"{group_id}-") and index.isdecimal() and stem not in names:
            found.append(each)
    if found:
        message = f"{len(found)} IDs begin with {group_id}- and belong to no connector of it, {found[0]} first"
        yield FOREIGN.finding(group_id, message, transactional_ids=sorted(found)[:20], count=len(found))


NO_LEADER_ID: Final = Rule(
    id="EOS110",
    title="no leader ever prepared",
    severity=Severity.ERROR,
    question="Is the leader's transactional ID known where workers are preparing or enabled?",
    needs=("group_id", "transactions"),
    cause="A leader that is preparing or enabled claims connect-cluster-<group.id> as soon as it is elected. If the ID "
    "expires, because nothing was written for transactional.id.expiration.ms, the leader's next write fails "
    "(`Failed to perform fencable send to config topic`), and it claims the ID again only if that was a change of a "
    "config. After a failed `restart?includeTasks=true` it never does, and refuses every change until it is restarted "
    "(measured with 4.3.1).",
    cure="check --group-id and -b; if they are right, PUT /connectors/<connector>/config with what it is, and again if "
    "that is refused; if it stays refused, restart the leader's worker. If its log has authorization errors, the "
    "worker's principal needs Write on TransactionalId connect-cluster-<group.id>",
    source="KIP-618",
    check=_no_leader_id,
    blocks=frozenset({"enabled"}),
)
NO_TASK_ID: Final = Rule(
    id="EOS111",
    title="tasks run without known IDs",
    severity=Severity.WARNING,
    question="Does a coordinator know the ID of every task that runs?",
    needs=("group_id", "transactions", "statuses", "workers"),
    cause="A task claims its ID before it starts. An ID that nobody used for transactional.id.expiration.ms (7 days) "
    "is "
    "forgotten, and the task's next write fails with InvalidPidMappingException.",
    cure="restart each of them: POST /connectors/<connector>/tasks/<task>/restart, of which the leader writes nothing",
    source="KIP-98, KIP-618",
    check=_no_task_id,
)
OVERDUE: Final = Rule(
    id="EOS112",
    title="transaction outlives its timeout",
    severity=Severity.ERROR,
    question="Do all transactions of Connect end by their timeout?",
    needs=("transactions",),
    cause="A coordinator aborts what is open for longer than its timeout, unless a partition is offline or it is stuck "
    "(KAFKA-16352).",
    cure="eosctl fence --transactional-id <id>",
    source="KIP-98",
    check=_overdue,
)
COLLISION: Final = Rule(
    id="EOS113",
    title="task and leader share an ID",
    severity=Severity.ERROR,
    question="Has no task the ID of another group's leader?",
    needs=("group_id", "statuses", "groups"),
    cause="Connect joins names with dashes and escapes nothing: group `connect` with connector `cluster-x` makes IDs "
    "that "
    "begin as those of leaders do.",
    cure="give the connector or the other group another name",
    source="KIP-618",
    check=_collision,
)
PREFIX: Final = Rule(
    id="EOS114",
    title="one connector's name begins another's",
    severity=Severity.INFO,
    question="Can IDs be granted by prefix to one connector alone?",
    needs=("statuses",),
    cause="Transactional IDs are <group.id>-<connector>-<task>, and ACLs know prefixes only.",
    cure="grant literal IDs, or give the connectors names of which none begins another",
    source="KIP-618, KIP-290",
    check=_prefix,
)
FOREIGN: Final = Rule(
    id="EOS115",
    title="IDs of nobody under the group's name",
    severity=Severity.INFO,
    question="Does every ID that begins with the group.id belong to one of its connectors?",
    needs=("group_id", "transactional_ids", "inspection"),
    cause="They are left over from deleted connectors, or another group's name begins with this one's.",
    cure="nothing for what is left over: it expires; give groups names of which none begins another",
    source="KIP-618",
    check=_foreign,
)
FORGOTTEN: Final = Rule(
    id="EOS116",
    title="open transaction on a partition without leader",
    severity=Severity.ERROR,
    question="Do all partitions of Connect's open transactions have a leader?",
    needs=("transactions", "leaderless"),
    cause="Brokers of 4.3 forget the marker of a partition without leader and call the transaction complete: when the "
    "leader is back, its records hang there (up to 4.2 they wait for the leader). A restarted task, a new "
    "leader and `eosctl fence` all end the open transaction of their ID.",
    cure="start the brokers that hold its replicas (`kafka-topics.sh --describe --unavailable-partitions` names them); "
    "restart and fence nothing before that. What hangs already: `eosctl transactions hanging`",
    source="KIP-98; measured with 3.3.2, 3.6.2, 3.9.2, 4.0.0, 4.1.1, 4.2.0, 4.3.0 and 4.3.1",
    check=_forgotten_markers,
    blocks=frozenset({"preparing", "enabled", "disabled"}),
)
NEAR_EXPIRY: Final = Rule(
    id="EOS117",
    title="IDs of idle tasks are near expiry",
    severity=Severity.WARNING,
    question="Will the IDs of all tasks that run be known tomorrow?",
    needs=("group_id", "idle_since", "statuses", "brokers"),
    cause="A coordinator forgets an ID that nothing was written under for transactional.id.expiration.ms, and the next "
    "write of the task that holds it fails (InvalidPidMappingException).",
    cure="restart each of them: POST /connectors/<connector>/tasks/<task>/restart, which claims the ID again",
    source="KIP-98",
    check=_near_expiry,
)
RULES: Final = (NO_LEADER_ID, NO_TASK_ID, OVERDUE, COLLISION, PREFIX, FOREIGN, FORGOTTEN, NEAR_EXPIRY)
