"""The producers to fence, whether fencing is allowed now, and whether it worked.

1. A transactional ID that the user wrote is taken as it is.
2. A connector stands for its tasks 0 to N-1, where N is the larger of the last task count record and the last task
   commit (Connect itself fences by the record alone: KIP-618), and for every further ID that a coordinator knows
   and that can only be read as a task of it: leftovers of an earlier, larger generation.
3. A prefix stands for the IDs that coordinators list and that begin with it; one that stands for none is refused.
4. An ID that its coordinator does not know is created by fencing it and then kept for transactional.id.expiration.ms
   (7 days). A named one is therefore refused without create_missing; a derived one is skipped without it.
5. IDs that a task of any Connect group on the cluster has are refused without force, and so are those of which that
   cannot be known (model.live_owners): Connect marks a fenced task FAILED and does not restart it.
   A leader takes its ID back, so one that the user wrote is fenced with a warning, unless it may be a task's as well.
6. IDs with an open transaction on a partition without a leader are refused without force. Up to 4.2 the coordinator
   waits for the leader; 4.3 ends the transaction without that partition's marker, and it hangs there for good.
7. Where a marker was forgotten so and the ID's next transaction is open in the same partition, the leader has joined
   both, and fencing aborts both. It is refused without force where the earlier one was committed, or may have been.

Did it work? The answers, and the coordinators' state afterwards, are compared with the intention.

1. No fenced ID may have a transaction in progress (Ongoing, PrepareCommit, PrepareAbort), unless its producer ID or
   epoch moved on again: then a new producer has initialised since, and the open transaction is its own.
2. The producer ID or the epoch must differ from before.
3. Where the old producer was asked to end its transaction, the coordinator must have refused.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from eosctl.analysis.catalogue.transactions import NOT_PROVED
from eosctl.analysis.connect_requests import restart_tasks
from eosctl.analysis.transactions import KnownNames, ownership
from eosctl.model import hanging
from eosctl.model.fencing import (
    Candidate,
    FenceOutcome,
    FenceResult,
    FenceStep,
    FencingOutcome,
    FencingPlan,
    FencingRequest,
    Objection,
    Proof,
    SkippedCandidate,
)
from eosctl.model.names import FLINK_SINK, ConnectorTaskId, TopicPartition, stem_and_task, task_transactional_id
from eosctl.model.report import Finding
from eosctl.model.skipped import Skipped
from eosctl.model.text import first_few, pluralize
from eosctl.model.times import rfc3339
from eosctl.model.transactions import LeaderOwner, Owner, TaskOwner, TransactionDescription, TransactionState
from eosctl.model.whole_numbers import task_numbers
from eosctl.model.workers import LiveOwner, LiveOwners, connector_path

# Why IDs must not be fenced: a producer has them now, or may.


def object_to_live(
    live: LiveOwners, transactional_ids: Iterable[str], leaders_named: frozenset[str] = frozenset()
) -> Iterator[Objection]:
    """One objection for each connector and each leader that has some of the IDs, and one for each unknown group.

    leaders_named are leaders' IDs that the user wants fenced, knowing whose they are.
    """
    tasks: dict[tuple[str, str], list[tuple[int, LiveOwner]]] = {}
    unknown: dict[str, list[str]] = {}
    leaders: list[tuple[str, LiveOwner]] = []
    for each in transactional_ids:
        for owner in live.of_id(each):
            if owner.task is not None:
                tasks.setdefault((owner.group_id, owner.task.connector), []).append((owner.task.task, owner))
            elif each not in leaders_named:
                leaders.append((each, owner))
        for group_id in live.unknown_of(each):
            unknown.setdefault(group_id, []).append(each)
    for (group_id, connector), owners in sorted(tasks.items()):
        yield _of_connector(group_id, connector, owners)
    for each, owner in leaders:
        yield Objection(
            f"{each} belongs to the leader of Connect cluster {owner.group_id} ({owner.member}), which is at work",
            "leave the ID out; or fence with --force and change a config there next, so that the leader "
            "initializes the ID again",
        )
    yield from _of_unknown(live, unknown)


def _of_connector(group_id: str, connector: str, owners: Sequence[tuple[int, LiveOwner]]) -> Objection:
    restart = restart_tasks(connector, [task for task, _ in owners])
    described = [f"task {task} {owner.state or 'of unknown state'} at {owner.member}" for task, owner in owners]
    what = (
        f"connector {connector} of Connect cluster {group_id} has {pluralize(len(owners), 'task')} at work "
        f"({first_few(described)})"
    )
    return Objection(
        f"{what}; their open transactions would be aborted and the tasks would turn FAILED, which Connect does not fix",
        f"stop it first (PUT {connector_path(connector)}/stop), or fence with --force and restart its tasks "
        f"afterwards: {restart}",
        f"{what}; they will turn FAILED: restart them afterwards: {restart}",
    )


def _of_unknown(live: LiveOwners, unknown: Mapping[str, Sequence[str]]) -> Iterator[Objection]:
    for group_id, ids in sorted(unknown.items()):
        yield Objection(
            f"whether a task of Connect group {group_id} has {first_few(ids)} is unknown: "
            f"{live.unknown[group_id].reason}",
            "make the group readable: grant Describe on it (or on the cluster if the group does not exist), start "
            "its coordinator, or wait for its rebalance to end. If no worker of it can have these IDs, fence with "
            "--force",
        )


DEFAULT_TRANSACTION_TIMEOUT_MS = 60_000
"""The producer's own default of transaction.timeout.ms."""


def select_candidates(
    request: FencingRequest, group_id: str, task_counts: Mapping[str, int], known_ids: Iterable[str], names: KnownNames
) -> tuple[Candidate, ...]:
    """The IDs that the request stands for, each once, named ones first, the rest in order.

    task_counts maps each connector to the most tasks that it may have had; known_ids are those that coordinators list.
    """
    connectors = set(task_counts) if request.all_connectors else set(request.connectors)
    derived = {
        task_transactional_id(group_id, ConnectorTaskId(connector, task))
        for connector in connectors
        for task in task_numbers(task_counts.get(connector, 0), connector)
    }
    for transactional_id in known_ids:
        if transactional_id.startswith(request.prefixes) or _is_task_of(
            names.owners(transactional_id), group_id, connectors
        ):
            derived.add(transactional_id)
    named = dict.fromkeys(request.transactional_ids)
    order = [*named, *sorted(derived - named.keys(), key=_by_stem_and_index)]
    return tuple(Candidate(each, named=each in named, ownership=ownership(each, names)) for each in order)


def _is_task_of(owners: Sequence[Owner], group_id: str, connectors: set[str]) -> bool:
    match owners:
        case [TaskOwner(group_id=group, task=task)]:
            return group == group_id and task.connector in connectors
        case _:
            return False


def _by_stem_and_index(transactional_id: str) -> tuple[str, int]:
    parts = stem_and_task(transactional_id)
    return (transactional_id, -1) if parts is None else parts


def plan_fencing(
    request: FencingRequest,
    candidates: Sequence[Candidate],
    descriptions: Mapping[str, TransactionDescription],
    live: LiveOwners,
    transaction_timeout_ms: int,
    leaderless: Collection[TopicPartition] = (),
    overtaken: Collection[hanging.Verdict] = (),
    not_looked_for: str | None = None,
) -> FencingPlan:
    """The plan by the rules above. descriptions lack the IDs that their coordinator does not know.

    leaderless are partitions of open transactions that have no leader just now; overtaken are earlier transactions that
    their markers end, too; not_looked_for says why more of these may exist.
    """
    missing = [each for each in candidates if each.transactional_id not in descriptions]
    left_alone = [] if request.create_missing else missing
    skipped = tuple(
        SkippedCandidate(each, "its coordinator does not know it: never used, or expired")
        for each in left_alone
        if not each.named
    )
    steps = tuple(
        FenceStep(each, descriptions.get(each.transactional_id)) for each in candidates if each not in set(left_alone)
    )
    forcible = (
        *_object_to_live(steps, live),
        *_object_to_leaderless(steps, leaderless),
        *_object_to_overtaken(overtaken),
    )
    objections = [
        *_object_to_missing([each.transactional_id for each in left_alone if each.named]),
        *(() if request.force else forcible),
    ]
    warnings = (
        *(each.forced or each.message for each in forcible if request.force),
        *_warn_of_overtaken(not_looked_for),
        *_warn_of_leaders(steps),
        *_warn_of_two_phase(steps),
        *_warn_of_flink(steps),
        *_warn_of_ambiguity(steps),
    )
    return FencingPlan(steps, skipped, tuple(objections), warnings, transaction_timeout_ms)


def _object_to_overtaken(overtaken: Iterable[hanging.Verdict]) -> Iterator[Objection]:
    for each in overtaken:
        place, name = each.transaction.topic_partition, each.transaction.transactional_id
        match each.decision:
            case hanging.Decision(committed=True, decided_ms=at):
                ended = f"its coordinator committed at {rfc3339(at)}"
            case Skipped(reason=reason):
                ended = f"may be committed ({reason})"
            case _:
                continue
        yield Objection(
            f"records of {name} in {place} from offset {each.transaction.start_offset} on belong to an earlier "
            f"transaction that {ended}, and whose marker is missing; fencing aborts them with the present one",
            "let its producer commit the present transaction, which commits both, or fence with --force",
        )


def _warn_of_overtaken(not_looked_for: str | None) -> Iterator[str]:
    if not_looked_for is not None:
        yield (
            "an open transaction may have overtaken a committed one whose marker is missing, and fencing aborts both "
            f"then; that was not looked for: {not_looked_for}"
        )


def choose_transaction_timeout(request: FencingRequest, broker_limit_ms: int | Skipped) -> int:
    """The transaction timeout to send, in ms: the request or the producer's default, never above the broker's limit.

    A coordinator refuses more than transaction.max.timeout.ms with INVALID_TRANSACTION_TIMEOUT.
    """
    wanted = request.transaction_timeout_ms or DEFAULT_TRANSACTION_TIMEOUT_MS
    return wanted if isinstance(broker_limit_ms, Skipped) else min(wanted, broker_limit_ms)


def _object_to_missing(missing: Sequence[str]) -> list[Objection]:
    if not missing:
        return []
    return [
        Objection(
            f"{pluralize(len(missing), 'transactional ID')} not known to any coordinator: {first_few(missing)}",
            "`eosctl transactions list` shows the IDs that coordinators know; --create-missing fences the others, "
            "too, and creates each in state Empty for transactional.id.expiration.ms (7 days by default)",
        )
    ]


def _object_to_live(steps: Sequence[FenceStep], live: LiveOwners) -> Iterator[Objection]:
    """A leader's ID that the user wrote, and that is no task's as far as is known, is meant."""
    meant = frozenset(
        step.transactional_id
        for step in steps
        if step.candidate.named and not any(isinstance(owner, TaskOwner) for owner in step.candidate.ownership.owners)
    )
    return object_to_live(live, [step.transactional_id for step in steps], meant)


def _warn_of_two_phase(steps: Sequence[FenceStep]) -> Iterator[str]:
    """Of prepared transactions: InitProducerId without keepPreparedTxn aborts them (KIP-939)."""
    described = [(step.transactional_id, step.before) for step in steps if step.before is not None]
    names = [name for name, each in described if each.state is TransactionState.ONGOING and each.is_two_phase]
    if names:
        yield (
            f"{pluralize(len(names), 'transactional ID')} ({first_few(names)}) with an open transaction of two-phase "
            "commit (KIP-939): it is aborted, although its application may have decided to commit"
        )


def _warn_of_flink(steps: Sequence[FenceStep]) -> Iterator[str]:
    """A restored Flink job does not fail where a transaction of its checkpoint was aborted: it loses the records."""
    opened = [each for each in steps if each.before is not None and each.before.state is TransactionState.ONGOING]
    named = [each.transactional_id for each in opened if not each.candidate.ownership.owners]
    names = [each for each in named if FLINK_SINK.fullmatch(each)]
    if names:
        yield (
            f"{pluralize(len(names), 'transactional ID')} ({first_few(names)}) with an open transaction and the shape "
            "of a Flink sink's: if a checkpoint holds it, its records are lost. `eosctl transactions leftovers "
            "--prefix <prefix> --flink-checkpoint <directory>` commits what a checkpoint holds"
        )


def _object_to_leaderless(steps: Sequence[FenceStep], leaderless: Collection[TopicPartition]) -> list[Objection]:
    described = [(step.transactional_id, step.before) for step in steps if step.before is not None]
    lost = {name: set(leaderless).intersection(each.partitions) for name, each in described if each.state.is_open}
    names = [name for name, partitions in lost.items() if partitions]
    if not names:
        return []
    partitions = sorted(set[TopicPartition]().union(*lost.values()))
    return [
        Objection(
            f"{pluralize(len(names), 'transactional ID')} ({first_few(names)}) with an open transaction on "
            f"partitions that have no leader: {first_few(list(map(str, partitions)))}. Kafka from 4.3.0 on ends "
            "such a transaction without their markers, and it hangs there. Up to 4.2 Kafka waits for the leaders",
            "start the brokers that hold the partitions first. Or fence with --force, and when they are back "
            f"end the hanging transaction as advised: eosctl transactions hanging --topic {partitions[0].topic}",
        )
    ]


def _warn_of_leaders(steps: Sequence[FenceStep]) -> list[str]:
    return [
        f"{step.transactional_id} is the leader's. Next change a config, so that the leader initializes the ID "
        "again (the first change may answer 500). After a restart with includeTasks=true the leader refuses every "
        "change until its worker is restarted"
        for step in steps
        if any(isinstance(owner, LeaderOwner) for owner in step.candidate.ownership.owners)
    ]


def _warn_of_ambiguity(steps: Sequence[FenceStep]) -> list[str]:
    return [
        f"{step.transactional_id} has more than one reading: "
        + "; or ".join(str(owner) for owner in step.candidate.ownership.owners)
        for step in steps
        if len(step.candidate.ownership.owners) > 1
    ]


def prove(
    outcome: FencingOutcome, descriptions: Mapping[str, TransactionDescription], refusals: Mapping[str, str | None]
) -> tuple[Proof, ...]:
    """One proof for each fenced ID, from a description made after fencing and the answers to the old producers."""
    return tuple(
        _prove_one(result, descriptions.get(result.step.transactional_id), refusals)
        for result in outcome.results
        if result.outcome is FenceOutcome.FENCED
    )


def _prove_one(result: FenceResult, now: TransactionDescription | None, refusals: Mapping[str, str | None]) -> Proof:
    before, name = result.step.before, result.step.transactional_id
    newer_producer = now is not None and now.producer != result.after
    return Proof(
        transactional_id=name,
        open=now is not None and now.state.is_open and not newer_producer,
        moved=before is None or (now.producer if now is not None else result.after) != before.producer,
        refusal=refusals.get(name),
    )


def find_unproved(proofs: Sequence[Proof]) -> tuple[Finding, ...]:
    """A finding for each ID whose proof does not hold."""
    return tuple(
        NOT_PROVED.finding(
            proof.transactional_id,
            _doubt(proof),
            {"open": proof.open, "moved": proof.moved, "refusal": proof.refusal},
            cure=NOT_PROVED.fix.replace("<id>", proof.transactional_id),
        )
        for proof in proofs
        if not proof.holds
    )


def _doubt(proof: Proof) -> str:
    if not proof.moved:
        return "producer ID and epoch are the same as before fencing"
    if proof.open:
        return "a transaction of the fenced producer is still in progress"
    return "the coordinator did not refuse the old producer"
