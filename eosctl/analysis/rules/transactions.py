"""Rules about the transactional IDs of the leader and of the tasks."""

import shlex
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Final

from eosctl.analysis.catalogue import connect
from eosctl.analysis.catalogue import transactions as kinds
from eosctl.analysis.client_configs import clients_of, override_refusal, servers_elsewhere, workers_of
from eosctl.analysis.connect_requests import for_connector, restart_tasks
from eosctl.analysis.rules.iceberg import sinks_stopped_by
from eosctl.analysis.rules.workers import probes
from eosctl.model.client_roles import ClientRole
from eosctl.model.evidence import Evidence, declared_support
from eosctl.model.groups import CONNECT_PROTOCOL
from eosctl.model.names import ConnectorTaskId, leader_transactional_id, task_transactional_id
from eosctl.model.report import Finding, Severity
from eosctl.model.rules import Rule, Versions, Whose
from eosctl.model.skipped import Skipped, not_asked
from eosctl.model.text import first_few, pluralize
from eosctl.model.times import ClusterClock
from eosctl.model.transactions import TransactionDescription, TransactionState
from eosctl.model.versions import NEWEST, KafkaVersion
from eosctl.model.whole_numbers import MOST_TASKS, whole_number
from eosctl.model.workers import ConnectorStatus, LiveOwners, SourceSupport

SHOWN: Final = 10
EXPIRATION: Final = "transactional.id.expiration.ms"
LAST_PART: Final = 7
"""An ID is near expiry in the last seventh of its time: a day of the default week."""
HELD_SHOWN: Final = 20
LONG_S: Final = 120
SINK_S: Final = 10
"""A sink of Iceberg ends its transaction within the request that commits it."""
SWEEP_MS: Final = 30_000
"""Coordinators look for transactions that timed out every 10 s; three times that is time enough."""


def _no_leader_id(evidence: Evidence) -> Iterator[Finding | Skipped]:
    enabled, _, unknown = probes(evidence)
    files = {} if isinstance(evidence.worker_files, Skipped) else evidence.worker_files
    declared = [name for name, each in files.items() if declared_support(each) not in {None, SourceSupport.DISABLED}]
    claim = [*(f"{url} is enabled" for url in enabled), *(f"{name} has preparing or enabled" for name in declared)]
    if isinstance(evidence.group_id, Skipped) or isinstance(evidence.transactions, Skipped):
        return
    if not claim:
        yield from unknown.values()
        return
    leader = leader_transactional_id(evidence.group_id)
    reported = evidence.transactions.get(leader)
    if isinstance(reported, Skipped):
        yield reported
    elif reported is None:
        message = (
            f"{claim[0]}, but no coordinator knows {leader}: no leader of group {evidence.group_id} ever prepared, or "
            "its ID expired"
        )
        if not enabled:
            message += "; or the worker was not restarted since its file was changed"
        yield kinds.NO_LEADER_ID.finding(leader, message, {"claims": claim})


def _no_task_id(evidence: Evidence) -> Iterator[Finding | Skipped]:
    group_id, known, statuses = evidence.group_id, evidence.transactions, evidence.statuses
    enabled, others, unknown = probes(evidence)
    if isinstance(group_id, Skipped) or isinstance(known, Skipped) or isinstance(statuses, Skipped):
        return
    yield from (*unknown.values(), *evidence.silent.values())
    if not enabled or others or unknown or evidence.silent:
        return
    for name in evidence.sources():
        if servers_elsewhere(evidence, name) is not None:
            yield not_asked(f"{name} writes to another Kafka cluster, whose coordinators have its IDs: ask there")
            continue
        status = statuses.get(name)
        tasks = () if status is None else status.producing_tasks
        ids = {task: task_transactional_id(group_id, ConnectorTaskId(name, task)) for task in tasks}
        yield from _unknown(known.get(each) for each in ids.values())
        lost = [task for task, each in ids.items() if each not in known]
        if lost:
            message = (
                f"{pluralize(len(lost), 'task has', 'tasks have')} a producer on workers that are enabled, but no "
                f"coordinator "
                f"knows {'its ID' if len(lost) == 1 else 'their IDs'} ({ids[lost[0]]}): expired, or "
                "the tasks write to another Kafka cluster"
            )
            cure = _restarted(name, lost, statuses[name])
            yield kinds.NO_TASK_ID.finding(name, message, {"tasks": lost}, cure=cure)


def _restarted(name: str, tasks: Collection[int], status: ConnectorStatus) -> str:
    """Requests after which these tasks initialize their IDs: WorkerTask.doRun starts a PAUSED one on resume."""
    requests = restart_tasks(name, tasks)
    return requests if set(tasks) <= set(status.running_tasks) else f"{requests}; {kinds.ONCE_RESUMED}"


def _unknown(reported: Iterable[object]) -> Iterator[Skipped]:
    """The reasons of those that could not be read."""
    return (each for each in reported if isinstance(each, Skipped))


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
        if isinstance(evidence.clock, ClusterClock) and not evidence.clock.agrees:
            yield Skipped(f"how long transactions are open: {evidence.clock}")
            return
        late_ms = evidence.as_of - each.start_ms - each.timeout_ms
        if late_ms > SWEEP_MS:
            message = (
                f"its transaction is {each.state.value} {late_ms // 1000} s after its timeout of {each.timeout_ms} "
                f"ms: readers "
                "of its partitions are stalled"
            )
            cure = f"eosctl fence --transactional-id {name}"
            if each.state is not TransactionState.ONGOING:
                cure = f"{kinds.IN_PREPARE}: broker {each.coordinator}"
            yield kinds.OVERDUE.finding(name, message, {"state": each.state.value, "late_ms": late_ms}, cure=cure)


def held_back(evidence: Evidence) -> Iterator[Finding]:
    """Transactions that hold partitions back for longer than those of tasks do by default, or that stop a sink."""
    known = () if isinstance(evidence.open_transactions, Skipped) else evidence.open_transactions
    for each in known:
        began = evidence.as_of if each.start_ms is None else each.start_ms
        lasted_s = (evidence.as_of - began) // 1000
        stopped = sinks_stopped_by(evidence, each) if lasted_s >= SINK_S else ()
        if each.partitions and (stopped or lasted_s >= LONG_S):
            held = pluralize(len(each.partitions), "partition is", "partitions are")
            ends = "" if each.is_two_phase else f"; it times out {each.timeout_ms // 1000} s after it began"
            message = f"{held} held back by a transaction in progress for {lasted_s} s{ends}"
            if stopped:
                message += (
                    f". Its ID is of no present start of an Iceberg sink, and {first_few(stopped)} waits for its end"
                )
            facts = {
                "transactional_id": each.transactional_id,
                "partitions": list(map(str, each.partitions[:HELD_SHOWN])),
            }
            facts |= {"stopped_sinks": list(stopped)} if stopped else {}
            cure = connect.HELD_BACK.fix.replace("<transactional-id>", shlex.quote(each.transactional_id))
            severity = None if stopped else Severity.INFO
            yield connect.HELD_BACK.finding(each.transactional_id, message, facts, cure=cure, severity=severity)


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
                f"its transaction is {each.state.value} and {places} has no leader. If the transaction ends now, "
                "its records there stay open: for ever with brokers from 4.3.0 on, until the leader is back with "
                "older brokers"
            )
            yield kinds.FORGOTTEN.finding(
                name, message, {"partitions": [str(place) for place in lost], "state": each.state.value}
            )


def _unmarked(evidence: Evidence) -> Iterator[Finding | Skipped]:
    decided = evidence.decided
    if isinstance(decided, Skipped) or not decided:
        return
    if isinstance(evidence.clock, ClusterClock) and not evidence.clock.agrees:
        yield Skipped(f"how long transactions have been decided: {evidence.clock}")
        return
    for each in decided:
        if isinstance(each.missing, Skipped):
            yield each.missing
            continue
        decided_s = (evidence.as_of - each.value.last_update_ms) // 1000
        reasons: dict[tuple[int | None, str], list[str]] = {}
        for marker in each.missing:
            reasons.setdefault((marker.broker, marker.why), []).append(str(marker.topic_partition))
        words = (
            f"{first_few(places)}{'' if broker is None else f' of broker {broker}'}: {why}"
            for (broker, why), places in reasons.items()
        )
        missing = pluralize(len(each.missing), "partition has", "partitions have")
        message = f"it is {each.value.state.value} for {decided_s} s, and {missing} no marker: {'; '.join(words)}"
        evidence_of = {
            "state": each.value.state.value,
            "decided_s": decided_s,
            "missing": [
                {"partition": str(marker.topic_partition), "broker": marker.broker, "why": marker.why}
                for marker in each.missing[:SHOWN]
            ],
        }
        yield kinds.UNMARKED.finding(each.transactional_id, message, evidence_of)


def _near_expiry(evidence: Evidence) -> Iterator[Finding | Skipped]:
    group_id, since, statuses = evidence.group_id, evidence.idle_since, evidence.statuses
    limits, skipped = _expirations(evidence)
    yield from skipped
    if isinstance(group_id, Skipped) or isinstance(since, Skipped) or isinstance(statuses, Skipped) or not limits:
        return
    if isinstance(evidence.clock, ClusterClock) and not evidence.clock.agrees:
        yield Skipped(f"how long IDs were idle: {evidence.clock}")
        return
    limit = min(limits)
    for name in evidence.sources():
        status = statuses.get(name)
        tasks = () if status is None else status.producing_tasks
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
            cure = _restarted(name, near, statuses[name])
            yield kinds.NEAR_EXPIRY.finding(
                name, message, {"tasks": near, "transactional_id_expiration_ms": limit}, cure=cure
            )


def _expirations(evidence: Evidence) -> tuple[list[int], list[Skipped]]:
    brokers = {} if isinstance(evidence.brokers, Skipped) else evidence.brokers
    reported = [each for each in brokers.values() if not isinstance(each, Skipped)]
    known = [whole_number(each[EXPIRATION], EXPIRATION) for each in reported if EXPIRATION in each]
    silent = [each for each in brokers.values() if isinstance(each, Skipped)]
    return known, silent if known or silent else [Skipped(f"no broker reports its {EXPIRATION}")]


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
                yield kinds.COLLISION.finding(name, message, {"transactional_id": mine, "group_id": others[mine]})


def _prefix(evidence: Evidence) -> Iterator[Finding]:
    names = evidence.all_sources()
    for name in evidence.sources():
        longer = [other for other in names if other.startswith(f"{name}-")]
        if longer:
            message = f"a prefixed ACL for its transactional IDs covers the IDs of {', '.join(longer[:10])} too"
            yield kinds.PREFIX.finding(name, message, {"connectors": longer}, severity=Severity.INFO)


def _foreign(evidence: Evidence) -> Iterator[Finding | Skipped]:
    group_id, listed = evidence.group_id, evidence.transactional_ids
    if isinstance(group_id, Skipped) or isinstance(listed, Skipped) or isinstance(evidence.inspection, Skipped):
        return
    yield from map(Skipped, evidence.unlisted)
    names = set(evidence.inspection.state.states) | set(evidence.all_sources())
    found = []
    for each in listed:
        stem, _, index = each.removeprefix(f"{group_id}-").rpartition("-")
        if each.startswith(f"{group_id}-") and index.isdecimal() and stem not in names:
            found.append(each)
    if found:
        message = f"{len(found)} IDs begin with {group_id}- and belong to no connector of it, {found[0]} first"
        yield kinds.FOREIGN.finding(group_id, message, {"transactional_ids": sorted(found)[:20], "count": len(found)})


RULES: Final = (
    Rule(
        kinds.NO_LEADER_ID,
        "Is the leader's transactional ID known where workers are preparing or enabled?",
        needs=("group_id", "transactions"),
        check=_no_leader_id,
        blocks=frozenset({"enabled"}),
    ),
    Rule(
        kinds.NO_TASK_ID,
        "Does a coordinator know the ID of every task that has a producer?",
        needs=("group_id", "transactions", "statuses", "workers"),
        check=_no_task_id,
    ),
    Rule(
        kinds.OVERDUE,
        "Do all transactions of Connect end by their timeout?",
        needs=("transactions",),
        check=_overdue,
    ),
    Rule(
        kinds.COLLISION,
        "Does no task have the ID of another group's leader?",
        needs=("group_id", "statuses", "groups"),
        check=_collision,
    ),
    Rule(
        kinds.PREFIX,
        "Can IDs be granted by prefix to one connector alone?",
        needs=("statuses",),
        check=_prefix,
    ),
    Rule(
        kinds.FOREIGN,
        "Does every ID that begins with the group.id belong to one of its connectors?",
        needs=("group_id", "transactional_ids", "inspection"),
        check=_foreign,
    ),
    Rule(
        kinds.FORGOTTEN,
        "Do all partitions of Connect's open transactions have a leader?",
        needs=("transactions", "leaderless"),
        check=_forgotten_markers,
        blocks=frozenset({"preparing", "enabled", "disabled"}),
    ),
    Rule(
        kinds.UNMARKED,
        "Do the markers of all decided transactions arrive?",
        needs=("decided",),
        check=_unmarked,
    ),
    Rule(
        kinds.NEAR_EXPIRY,
        "Will the IDs of all tasks that have a producer be known tomorrow?",
        needs=("group_id", "idle_since", "statuses", "brokers"),
        check=_near_expiry,
    ),
)


# Rules about other Connect clusters that have, or may have, the transactional IDs of this one's tasks.


def _shared(evidence: Evidence) -> Iterator[Finding | Skipped]:
    group_id, others, statuses = evidence.group_id, evidence.other_groups, evidence.statuses
    if isinstance(group_id, Skipped) or isinstance(others, Skipped) or isinstance(statuses, Skipped):
        return
    owners = LiveOwners.of(others)
    yield from owners.unknown.values()
    for name in evidence.sources():
        tasks = statuses[name].tasks if name in statuses else ()
        ids = [task_transactional_id(group_id, ConnectorTaskId(name, task.task)) for task in tasks]
        found = {each: owner for each in ids for owner in owners.of_id(each) if owner.task is not None}
        for each, owner in list(found.items())[:1]:
            more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
            yield kinds.SHARED_IDS.finding(
                name,
                f"{each}{more} is also the ID of {owner}: they fence each other",
                {"transactional_ids": sorted(found), "group_id": owner.group_id},
                cure=for_connector(kinds.SHARED_IDS.fix_for(min(evidence.versions, default=NEWEST)), name),
            )


def _elsewhere(evidence: Evidence) -> Iterator[Finding | Skipped]:
    groups = {} if isinstance(evidence.groups_elsewhere, Skipped) else evidence.groups_elsewhere
    for name, group in groups.items():
        if isinstance(group, Skipped):
            yield group
        elif group.members and group.protocol_type == CONNECT_PROTOCOL:
            there = pluralize(len(group.members), "member")
            message = f"it writes to another Kafka cluster, which has a Connect group {evidence.group_id}, too: {there}"
            yield kinds.SAME_GROUP_ELSEWHERE.finding(name, message, {"members": len(group.members)})


SHARED_ID_RULES: Final = (
    Rule(
        kinds.SHARED_IDS,
        "Does no task have the ID of another group's task?",
        needs=("group_id", "statuses", "other_groups"),
        check=_shared,
        blocks=frozenset({"preparing", "enabled"}),
    ),
    Rule(
        kinds.SAME_GROUP_ELSEWHERE,
        "Is the group.id unique in the Kafka clusters that connectors write to?",
        needs=("group_id", "groups_elsewhere"),
        check=_elsewhere,
        blocks=frozenset({"enabled"}),
    ),
)


# Rules about rounds of zombie fencing: whether they can succeed, and how long they keep a connector silent.
#
# `Admin.fenceProducers` asks each coordinator for one ID after the other and waits its retry back-off between two of
# them (from clients 3.7 on, KIP-580, exponentially), so n IDs of one coordinator cost n - 1 waits:
#
# 1. The k-th wait is min(retry.backoff.max.ms, retry.backoff.ms x 2^(k-1)), times a factor of 0.8 to 1.2, and never
#    more than the maximum: at the maximum 0.95 of it on average. Where retry.backoff.ms is the maximum or more, every
#    wait is the maximum, without a factor (ExponentialBackoff). Before 3.7 every wait is retry.backoff.ms.
# 2. Connect waits 90 s for a round, then fails every task that asked for it. No task of the connector runs meanwhile.


EXPONENTIAL: Final = KafkaVersion(3, 7)
BUDGET_S: Final = 90.0
TIGHT: Final = 0.9
LONG_SILENCE_S: Final = 20.0
FENCING_TIMEOUT_MS: Final = 90_000
BACKOFF: Final = "retry.backoff.ms"
LONGEST_BACKOFF: Final = "retry.backoff.max.ms"
DEFAULTS: Final = {BACKOFF: 100, LONGEST_BACKOFF: 1000}
MAX_TIMEOUT: Final = "transaction.max.timeout.ms"


def silence_s(ids: int, backoff_ms: float, longest_ms: float, *, exponential: bool = True) -> float:
    """Expected seconds that a round takes for `ids` IDs of one coordinator."""
    waits = max(0, ids - 1)
    if not exponential:
        return waits * backoff_ms / 1000
    if backoff_ms >= longest_ms:
        return waits * longest_ms / 1000
    growing, wait = 0.0, backoff_ms
    for number in range(waits):
        if wait >= longest_ms:
            return (growing + (waits - number) * 0.95 * longest_ms) / 1000
        growing += wait
        wait *= 2
    return growing / 1000


def _budget(evidence: Evidence) -> Iterator[Finding | Skipped]:
    group_id, inspection, log = evidence.group_id, evidence.inspection, evidence.transaction_log
    if isinstance(group_id, Skipped) or isinstance(inspection, Skipped) or isinstance(log, Skipped):
        return
    for each in inspection.connectors:
        record = each.state.task_count_record or 0
        if not each.state.known or record < 2:
            continue
        if record > MOST_TASKS:
            yield Skipped(f"the fencing of connector {each.state.name}, which has {record} tasks in its record")
            continue
        tasks = (ConnectorTaskId(each.state.name, task) for task in range(record))
        ids = [task_transactional_id(group_id, task) for task in tasks]
        crowd = max(Counter(-1 if log is None else log.coordinator(name) for name in ids).values())
        yield from _of_connector(evidence, each.state.name, record, crowd)


def _of_connector(evidence: Evidence, name: str, record: int, crowd: int) -> Iterator[Finding | Skipped]:
    exponential = max(evidence.versions, default=NEWEST) >= EXPONENTIAL
    backoff = _setting(evidence, name, BACKOFF)
    longest = _setting(evidence, name, LONGEST_BACKOFF) if exponential else DEFAULTS[LONGEST_BACKOFF]
    if isinstance(backoff, Skipped) or isinstance(longest, Skipped):
        yield from (each for each in (backoff, longest) if isinstance(each, Skipped))
        return
    seconds = silence_s(crowd, backoff, longest, exponential=exponential)
    if seconds < 1:
        return
    severity = Severity.ERROR if seconds >= TIGHT * BUDGET_S else Severity.WARNING
    severity = severity if seconds >= LONG_SILENCE_S else Severity.INFO
    end = (
        f"Connect gives up after {BUDGET_S:g} s and all its tasks turn FAILED"
        if severity is Severity.ERROR
        else "none of its tasks runs until then"
    )
    files = "" if not isinstance(evidence.worker_files, Skipped) else " (unless the workers set admin.retry.backoff.*)"
    yield kinds.BUDGET.finding(
        name,
        f"fencing its {record} producers, up to {crowd} of them at one coordinator, takes about {seconds:.0f} s at "
        f"each "
        f"reconfiguration with {BACKOFF}={backoff:g} and {LONGEST_BACKOFF}={longest:g}{files}: {end}",
        {"producers": record, "at_one_coordinator": crowd, "silence_s": round(seconds, 1), "budget_s": BUDGET_S},
        severity=severity,
        cure=for_connector(_cure(evidence), name),
    )


def _cure(evidence: Evidence) -> str:
    """The kind's fix, without the part that a worker's override policy refuses."""
    refusal = override_refusal(workers_of(evidence), DEFAULTS)
    return kinds.BUDGET.fix if refusal is None else f"set {kinds.ON_WORKERS} and restart them one by one: {refusal}"


def _setting(evidence: Evidence, connector: str, key: str) -> int | Skipped:
    """The fencing admin's setting, the worst worker's; Kafka's default where the workers' settings are not known."""
    clients = clients_of(evidence, connector, ClientRole.ADMIN, exactly_once=True)
    found = [DEFAULTS[key] if each.unread and each.get(key) is None else each.number(key) for each in clients]
    unknown = [each for each in found if isinstance(each, Skipped)]
    return unknown[0] if unknown else max(each for each in found if isinstance(each, int))


def _limit(evidence: Evidence) -> Iterator[Finding | Skipped]:
    brokers = {} if isinstance(evidence.brokers, Skipped) else evidence.brokers
    for node, settings in brokers.items():
        if isinstance(settings, Skipped):
            yield settings
        elif MAX_TIMEOUT not in settings:
            yield Skipped(f"broker {node} does not report its {MAX_TIMEOUT}")
        elif (limit := whole_number(settings[MAX_TIMEOUT], MAX_TIMEOUT)) < FENCING_TIMEOUT_MS:
            message = (
                f"{MAX_TIMEOUT} is {settings[MAX_TIMEOUT]}; workers fence with a timeout of {FENCING_TIMEOUT_MS} ms, "
                f"which "
                "the broker refuses (InvalidTxnTimeoutException): every round fails and all tasks turn FAILED"
            )
            yield kinds.LIMIT.finding(
                f"broker {node}",
                message,
                {"node": node, "transaction_max_timeout_ms": limit},
            )


FENCING_RULES: Final = (
    Rule(
        kinds.BUDGET,
        "Can every connector be fenced within 90 s?",
        needs=("group_id", "inspection", "transaction_log"),
        check=_budget,
        blocks=frozenset({"enabled"}),
    ),
    Rule(
        kinds.LIMIT,
        "Do all brokers accept a transaction timeout of 90 s?",
        needs=("brokers",),
        check=_limit,
        versions=Versions(Whose.WORKERS, since=KafkaVersion(3, 7, 1)),
        blocks=frozenset({"enabled"}),
    ),
)
