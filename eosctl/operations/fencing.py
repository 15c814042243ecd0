"""Fencing producers: read, plan, show, ask, fence, prove."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from eosctl.analysis import config_topic as config_topics
from eosctl.analysis.transactions import KnownNames
from eosctl.clients.deadline import Deadline
from eosctl.errors import ConfigError, EosctlError, Refused, Unreachable, UsageError
from eosctl.executors.fencing import FencingRun, challenge_old_producers
from eosctl.files import read_ids
from eosctl.model import hanging
from eosctl.model.fencing import Fenced, FenceOutcome, FencingOutcome, FencingRequest, PlannedFencing, Proof
from eosctl.model.groups import no_such_group
from eosctl.model.names import TopicPartition, did_you_mean, not_in_config_topic, stem_and_task
from eosctl.model.skipped import Cause, Coverage, Skipped, Unread, read_or_skip
from eosctl.model.text import first_few, pluralize
from eosctl.model.transactions import TransactionDescription, TransactionState, require_described
from eosctl.model.whole_numbers import MOST_TASKS
from eosctl.model.workers import ConnectorStatus
from eosctl.operations import decisions
from eosctl.operations.agreement import Show, agree
from eosctl.operations.session import Session
from eosctl.planning.fencing import choose_transaction_timeout, find_unproved, plan_fencing, prove, select_candidates
from eosctl.sources.cluster_reader import ClusterReader, read_live_owners, read_task_states, require_sources

if TYPE_CHECKING:
    from eosctl.model.connectors import ConnectorState

STOPPING_S: Final = 10.0
"""The time that tasks have to end after PUT stop: twice a worker's task.shutdown.graceful.timeout.ms."""
POLL_S: Final = 0.2


def fence(
    session: Session,
    request: FencingRequest,
    ids_file: Path | None,
    config_topic: str,
    show: Show[PlannedFencing],
) -> PlannedFencing | Fenced:
    """The plan with --dry-run, otherwise the result for each ID; ids_file holds more IDs to fence.

    The answer to the question takes time, so the plan is made again afterwards and must still be the shown one.
    """
    if ids_file is not None:
        listed = read_ids(ids_file)
        if not listed:
            raise ConfigError(
                f"--ids-file {ids_file} has no transactional ID", hint="write one transactional ID a line"
            )
        request = replace(request, transactional_ids=(*request.transactional_ids, *listed))
    planned = read_and_plan(session, request, config_topic)
    if session.options.dry_run:
        return planned
    if not planned.plan.steps:
        _require(planned)
        return fence_and_prove(session, planned)
    agree(session, planned, f"Fence {pluralize(len(planned.plan.steps), 'transactional ID')}?", show)
    if session.options.yes:
        return fence_and_prove(session, planned)
    return fence_as_planned(session, request, planned, config_topic)


def fence_as_planned(session: Session, request: FencingRequest, planned: PlannedFencing, config_topic: str) -> Fenced:
    """Fences what was planned a while ago. Refused where the same request would now end something else."""
    now = read_and_plan(session, request, config_topic)
    _require(now)
    if _producers(now) != _producers(planned):
        raise Refused("the plan changed before you confirmed; nothing was fenced", hint="run the command again")
    return fence_and_prove(session, now)


def _producers(planned: PlannedFencing) -> Mapping[str, object]:
    """The producer of each ID, and whether it has a transaction in progress: the user agreed to end these."""
    return {
        each.transactional_id: None if each.before is None else (each.before.producer, each.before.state.is_open)
        for each in planned.plan.steps
    }


def _require(planned: PlannedFencing) -> None:
    if planned.failure is not None:
        raise planned.failure


def read_and_plan(session: Session, request: FencingRequest, config_topic: str) -> PlannedFencing:
    """Reads what the request needs to know and plans it."""
    if request.is_empty:
        raise UsageError(
            "nothing to fence was named",
            hint="give --connector, --all-connectors, --transactional-id, --ids-file or --prefix",
        )
    if "" in request.prefixes or "" in request.transactional_ids:
        raise UsageError(
            "an empty transactional ID or prefix would match all IDs or none",
            hint="name the IDs, or give the first characters that they share",
        )
    reader = session.reader
    as_of, cluster_id, cluster = reader.now(), reader.cluster_id or "", reader.cluster()
    group_id = session.need_group_id() if request.names_connectors else session.options.group_id
    connectors = _read_connectors(session, request, config_topic, group_id)
    listed = _read_listed(session, request) if request.needs_listing else ()
    _require_matches(request.prefixes, listed)
    counts = _task_counts(request, connectors)
    beyond = _beyond_belief(request, counts)
    counts |= dict.fromkeys(beyond, 0)
    states = _task_states(reader, connectors, request)
    require_sources(states, request.connectors)
    if isinstance(states, Skipped) and states.cause.is_gap:
        session.options.console.warn(f"which tasks are FAILED is not known: {states.reason}")
    running = None if isinstance(states, Skipped) else states
    own = {} if group_id is None else {group_id: {*connectors, *(running or ())}}
    candidates = select_candidates(request, group_id or "", counts, listed, KnownNames.of(own))
    live = read_live_owners(reader, (each.transactional_id for each in candidates), running, group_id)
    # Names of other groups make some IDs ambiguous: those are no leftovers of a connector's for certain.
    names = KnownNames.of({**live.connectors, **own})
    candidates = select_candidates(request, group_id or "", counts, listed, names)
    descriptions = require_described(reader.describe([each.transactional_id for each in candidates]))
    if group_id is not None and request.names_connectors and candidates and not descriptions:
        _require_group(session, group_id)
    longest = cluster if isinstance(cluster, Skipped) else cluster.transaction_max_timeout_ms
    plan = plan_fencing(
        request,
        candidates,
        descriptions,
        live,
        choose_transaction_timeout(request, longest),
        _leaderless(session, descriptions),
        *_overtaken(reader, descriptions),
    )
    return PlannedFencing(
        plan=plan, cluster_id=cluster_id, as_of=as_of, coverage=reader.coverage + Coverage((), tuple(beyond.values()))
    )


def _task_states(
    reader: ClusterReader, connectors: Mapping[str, ConnectorState], request: FencingRequest
) -> Mapping[str, ConnectorStatus] | Skipped:
    """The connectors with the states of their tasks, once those that are being stopped have none, or after a while.

    A worker answers PUT stop before the tasks end: the target state is STOPPED, and the status is RUNNING.
    """
    wanted = connectors if request.all_connectors else connectors.keys() & set(request.connectors)
    stopping = [name for name in wanted if connectors[name].is_stopped]
    deadline = Deadline(0 if request.force else STOPPING_S)
    while True:
        states = read_task_states(reader)
        known = {} if isinstance(states, Skipped) else states
        if not any(known[name].tasks for name in stopping if name in known) or not deadline.pause(POLL_S):
            return states


def _require_matches(prefixes: Sequence[str], listed: Sequence[str]) -> None:
    """Refused if a prefix stands for no ID: an absent listing does not prove that no ID is used.

    Coordinators silently omit IDs that the principal may not Describe.
    """
    for prefix in prefixes:
        if not any(each.startswith(prefix) for each in listed):
            stems = {each if (parts := stem_and_task(each)) is None else f"{parts[0]}-" for each in listed}
            raise Refused(
                f"coordinators list no transactional ID that begins with {prefix}",
                hint=did_you_mean(
                    prefix,
                    stems,
                    "`eosctl transactions list` lists the IDs that are not expired and that the principal may Describe",
                ),
            )


def _require_group(session: Session, group_id: str) -> None:
    """UsageError where no such group exists: that coordinators know no ID of its tasks is no sign that none runs.

    Workers that are down leave their IDs with the coordinators, so a plan that finds one does not ask.
    """
    groups = session.reader.groups()
    group = session.reader.connect_group(group_id)
    if isinstance(group, Skipped) or not group.lacking:
        return
    known = () if isinstance(groups, Skipped) else tuple(each.group_id for each in groups.values() if each.is_connect)
    raise UsageError(
        f"there is no group {group_id} (EOS020), and coordinators know no transactional ID of its tasks: nothing is "
        "known of the producers of these connectors",
        hint=no_such_group(group_id, known).reason + (f"; Connect groups here: {', '.join(known)}" if known else ""),
    )


def _leaderless(session: Session, descriptions: Mapping[str, TransactionDescription]) -> frozenset[TopicPartition]:
    """Partitions of the open transactions that have no leader now."""
    opened = {place for each in descriptions.values() if each.state.is_open for place in each.partitions}
    found = session.reader.leaderless(opened)
    if isinstance(found, Skipped):
        raise Unreachable(f"whether open partitions have leaders is unknown: {found.reason}")
    return found


def _overtaken(
    reader: ClusterReader, descriptions: Mapping[str, TransactionDescription]
) -> tuple[tuple[hanging.Verdict, ...], str | None]:
    """Decided transactions that the open ones of these IDs would end another way, and why others may be missing; needs
    Read on topics."""
    opened = {name: each for name, each in descriptions.items() if each.state is TransactionState.ONGOING}
    wanted: dict[str, frozenset[int]] = {}
    for place in {place for each in opened.values() for place in each.partitions}:
        wanted[place.topic] = wanted.get(place.topic, frozenset()) | {place.partition}
    if not wanted:
        return (), None

    def read() -> decisions.Overtaken:
        leaders = reader.partitions(wanted)
        names = {each.producer.producer_id: name for name, each in opened.items()}
        seen = reader.producers(leaders, quiet=True)
        mine = [each for each in seen.producers if each.producer.producer_id in names]
        found = decisions.read_overtaken(reader, hanging.join_open_transactions(mine, names, opened), leaders)
        if seen.unanswered and found.unread is None:
            return found._replace(unread=f"no leader answered for {first_few(seen.unanswered)}")
        return found

    with reader.optional_reads():
        found = read_or_skip(read)
    return ((), found.reason) if isinstance(found, Skipped) else found


def _read_listed(session: Session, request: FencingRequest) -> tuple[str, ...]:
    """Every ID that coordinators list. Raises Unreachable if one does not answer and a prefix would miss its IDs.

    For a connector this can miss only leftovers: the IDs of its tasks are known by their numbers.
    """
    listed = session.reader.transactional_ids(under=next(iter(request.prefixes), ""))
    if listed.unlisted and request.prefixes:
        raise Unreachable(
            "; ".join(listed.unlisted),
            hint="IDs would be missed: bring the broker back first, or name the IDs one by one",
        )
    if listed.unlisted:
        session.options.console.warn(
            f"leftovers of earlier, larger generations may be missed: {'; '.join(listed.unlisted)}"
        )
    return tuple(each.transactional_id for each in listed.transactions)


def _read_connectors(
    session: Session, request: FencingRequest, config_topic: str, group_id: str | None
) -> Mapping[str, ConnectorState]:
    """Connectors as the config topic has them: needed to derive IDs from, otherwise only to name their owners."""
    if group_id is None and not request.names_connectors:
        return {}
    try:
        return config_topics.connector_states(session.reader.config_topic(config_topic).records)
    except EosctlError as error:
        if request.names_connectors:
            raise
        session.options.console.narrate(f"owners stay unknown: {error.message}")
        return {}


def _task_counts(request: FencingRequest, connectors: Mapping[str, ConnectorState]) -> dict[str, int]:
    """The most tasks that each connector may have had: by the last task count record, or by the last task commit."""
    unknown = [name for name in request.connectors if name not in connectors]
    if unknown:
        raise not_in_config_topic(unknown, connectors)
    return {
        name: max(state.task_count_record or 0, state.task_count or 0)
        for name, state in connectors.items()
        if name in request.connectors or (request.all_connectors and _may_be_source(state))
    }


def _beyond_belief(request: FencingRequest, counts: Mapping[str, int]) -> Mapping[str, Unread]:
    """The connectors that were not named whose records claim more tasks than any cluster runs (EOS074).

    Of such a connector the IDs that coordinators list are planned all the same.
    """
    return {
        name: Unread(
            f"number of tasks of connector {name}",
            f"its records claim {count}, and more than {MOST_TASKS} are not believed: only its IDs that coordinators "
            "list are planned",
            Cause.UNDECODABLE,
        )
        for name, count in counts.items()
        if count > MOST_TASKS and name not in request.connectors
    }


def _may_be_source(state: ConnectorState) -> bool:
    """Only sources have task count records; without one, a connector has no exactly-once producers to fence."""
    return state.task_count_record is not None


def fence_and_prove(session: Session, planned: PlannedFencing) -> Fenced:
    """The result for each ID, and the proof that the old producers are fenced.

    Raises OtherCluster if brokers of another cluster answer now than in the plan.
    """
    plan, console = planned.plan, session.options.console
    try:
        session.wire.ask_cluster_id()
    except Unreachable as error:
        error.hint = "\n".join(filter(None, (error.hint, "nothing was fenced: run the same command again")))
        raise
    with console.progress("fencing", len(plan.steps), unit="IDs") as advance:
        outcome = FencingRun(
            session.wire, plan.steps, plan.transaction_timeout_ms, session.timeout_s, lambda _: advance(1)
        ).run()
    proofs: tuple[Proof, ...] = ()
    try:
        proofs = () if outcome.interrupted else _prove(session, outcome)
    except KeyboardInterrupt:
        outcome = replace(outcome, interrupted=True)
    except EosctlError as error:  # what was fenced is the answer all the same
        console.warn(f"whether the fenced producers are refused could not be seen: {error.message}")
    return Fenced(
        planned=planned,
        outcome=outcome,
        proofs=proofs,
        findings=find_unproved(proofs),
        principal=session.reader.principal,
        coverage=planned.coverage + session.reader.coverage,
    )


def _prove(session: Session, outcome: FencingOutcome) -> tuple[Proof, ...]:
    fenced = [each for each in outcome.results if each.outcome is FenceOutcome.FENCED]
    names = [each.step.transactional_id for each in fenced]
    coordinators = {each.step.transactional_id: each.coordinator for each in fenced if each.coordinator is not None}
    refusals = challenge_old_producers(session.wire, outcome, session.options.timeout_s)
    return prove(outcome, require_described(session.reader.describe(names, coordinators)), refusals)
