"""Committing a transaction for its owner: read, watch, plan, show, ask, apply."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec.structs import replace

from eosctl.analysis.hanging import ALL_AGES, LoggedDecisions
from eosctl.analysis.transactions import KnownNames, ownership
from eosctl.errors import Unreachable, UsageError
from eosctl.model.fencing import FencingRequest
from eosctl.model.leftovers import LeftoversRequest
from eosctl.model.names import Side
from eosctl.model.plan import CommitTransaction, Plan, StopConnector
from eosctl.model.planned import Applied, Planned
from eosctl.model.preconditions import NoLiveOwner
from eosctl.model.skipped import Skipped
from eosctl.model.text import pluralize
from eosctl.model.transaction_ends import AbortRequest, CommitFacts, CommitRequest, MissingMarkerRequest
from eosctl.model.transactions import TransactionState, require_described
from eosctl.operations.agreement import Show
from eosctl.operations.hanging import search
from eosctl.operations.leftovers import read_leftovers
from eosctl.operations.plan_facts import last_logged, read_log_records, read_owners_now, read_parts
from eosctl.operations.plan_flow import plan_and_apply
from eosctl.operations.session import Session
from eosctl.operations.transactions import read_connect_names
from eosctl.operations.two_clusters import SourceAndTarget
from eosctl.planning.fencing import choose_transaction_timeout
from eosctl.planning.transaction_ends import (
    ProducerEnds,
    plan_abort,
    plan_commit,
    plan_leftovers,
    plan_missing_markers,
)
from eosctl.sources.cluster_reader import ClusterReader


def commit(
    session: Session,
    clusters: SourceAndTarget,
    request: CommitRequest,
    config_topic: str,
    plan_file: Path | None,
    show: Show[Planned],
) -> Planned | Applied:
    """Commits the transaction: returns the plan if it is only shown or kept, otherwise the step's outcome."""

    def make_plan(_: tuple[StopConnector, ...]) -> Planned:
        return plan_commit(request, read_commit_facts(session.reader, request, config_topic))

    def question(_: Plan) -> str:
        return f"Commit the transaction of {request.transactional_id}?"

    return plan_and_apply(session, clusters, make_plan, show, plan_file=plan_file, question=question)


def end_leftovers(
    session: Session,
    clusters: SourceAndTarget,
    request: LeftoversRequest,
    plan_file: Path | None,
    show: Show[Planned],
) -> Planned | Applied:
    """Commits what is listed and fences the rest: the plan where it is only shown or kept, otherwise the outcomes."""

    def make_plan(_: tuple[StopConnector, ...]) -> Planned:
        return _plan_leftovers(session, request)

    def question(plan: Plan) -> str:
        commits = sum(isinstance(each.step, CommitTransaction) for each in plan.steps)
        return f"Commit {pluralize(commits, 'transaction')}, and abort {len(plan.steps) - commits:,}?"

    return plan_and_apply(session, clusters, make_plan, show, plan_file=plan_file, question=question)


def _plan_leftovers(session: Session, request: LeftoversRequest) -> Planned:
    reader = session.reader
    if request.fence_rest and not request.prefix:
        raise UsageError("--fence-rest would fence every ID of the cluster", hint="give a --prefix that is not empty")
    found = read_leftovers(reader, request.prefix, request.config_topic)
    for reason in found.unread.values():
        raise Unreachable(f"the transaction log was not read as a whole: {reason.reason}")
    decided = request.decided or ()
    listed = [CommitRequest(each.transactional_id, each.producer, request.watch_s) for each in decided]
    foreign = [each for each in listed if not each.transactional_id.startswith(request.prefix)]
    if foreign:
        raise UsageError(
            f"transactional ID {foreign[0].transactional_id} of the list does not begin with {request.prefix}",
            hint="take the ID out of the list, or give a shorter --prefix",
        )
    held = {(each.transactional_id, each.producer) for each in listed}
    left = [each for each in found.leftovers if request.fence_rest]
    left = [each for each in left if (each.transactional_id, each.value.producer) not in held]
    rest = [CommitRequest(each.transactional_id, each.value.producer, request.watch_s) for each in left]
    facts = read_all_commit_facts(reader, [*listed, *rest], request.watch_s, request.config_topic)
    cluster = reader.cluster()
    limit = cluster if isinstance(cluster, Skipped) else cluster.transaction_max_timeout_ms
    timeout_ms = choose_transaction_timeout(FencingRequest(), limit)
    asked = [(each, facts[each]) for each in listed]
    others = [(each, _undecided(facts[each], request, each.transactional_id)) for each in rest]
    return plan_leftovers(asked, others, reader.now(), reader.cluster_id or "", timeout_ms)


def _undecided(facts: CommitFacts, request: LeftoversRequest, transactional_id: str) -> CommitFacts:
    """With the reason why its owner may still decide to commit it; the shape of an ID counts only without an owner."""
    return facts if facts.ownership.owners else replace(facts, undecided=request.why_undecided(transactional_id))


def read_commit_facts(reader: ClusterReader, request: CommitRequest, config_topic: str) -> CommitFacts:
    """Facts about one ID, as read_all_commit_facts reads them."""
    return read_all_commit_facts(reader, [request], request.watch_s, config_topic)[request]


def read_all_commit_facts(
    reader: ClusterReader, requests: Sequence[CommitRequest], watch_s: float, config_topic: str
) -> Mapping[CommitRequest, CommitFacts]:
    """Facts about each request's ID, with its partitions read twice. Raises NotAuthorized naming the missing ACL.

    A FAILED task has no producer, so its ID is not in use; it is Connect's all the same.
    """
    names = tuple(dict.fromkeys(each.transactional_id for each in requests))
    live = read_owners_now(reader, [NoLiveOwner(Side.SOURCE, names)])
    described = require_described(reader.describe(names))
    ends = ProducerEnds(requests)
    logged = last_logged(map(ends.add, read_log_records(reader, names)))
    open_now = [
        each
        for request in requests
        if (each := described.get(request.transactional_id)) is not None
        and each.state is TransactionState.ONGOING
        and each.producer == request.producer
    ]
    before = {each.transactional_id: read_parts(reader, each).parts for each in open_now}
    if open_now:
        next(reader.every(watch_s))
    after = {each.transactional_id: read_parts(reader, each).parts for each in open_now}
    connect, workers = read_connect_names(reader, config_topic).names, KnownNames.of(live.connectors)
    owned = {name: ownership(name, connect) for name in names}
    owned |= {name: ownership(name, workers) for name, each in owned.items() if not each.owners}
    return {
        each: CommitFacts(
            as_of=reader.now(),
            cluster_id=reader.cluster_id or "",
            described=described.get(each.transactional_id),
            logged=logged.get(each.transactional_id),
            before=before.get(each.transactional_id, {}),
            after=after.get(each.transactional_id, {}),
            ownership=owned[each.transactional_id],
            live=live,
            ended=ends.found.get(each),
        )
        for each in requests
    }


def abort(
    session: Session, clusters: SourceAndTarget, request: AbortRequest, plan_file: Path | None, show: Show[Planned]
) -> Planned | Applied:
    """Aborts the transactions: returns the plan if it is only shown or kept, otherwise the steps' outcomes."""

    def make_plan(_: tuple[StopConnector, ...]) -> Planned:
        return _read_and_plan(session, request)

    return plan_and_apply(
        session,
        clusters,
        make_plan,
        show,
        plan_file=plan_file,
        question=lambda plan: f"Abort {pluralize(len(plan.steps), 'transaction')}?",
    )


def _read_and_plan(session: Session, request: AbortRequest) -> Planned:
    place = request.topic_partition
    leaders = session.reader.partitions({place.topic: frozenset({place.partition})})
    searched = search(session.reader, leaders, ALL_AGES)
    searched.require_all()
    return plan_abort(request, searched.verdicts, searched.as_of, session.wire.cluster_id)


def write_missing_markers(
    session: Session,
    clusters: SourceAndTarget,
    request: MissingMarkerRequest,
    plan_file: Path | None,
    show: Show[Planned],
) -> Planned | Applied:
    """Writes the missing commit markers: returns the plan if it is only shown or kept, or the outcomes."""

    def make_plan(_: tuple[StopConnector, ...]) -> Planned:
        return _plan_missing_markers(session, request)

    def question(plan: Plan) -> str:
        return f"Write {pluralize(len(plan.steps), 'commit marker')} of {request.transactional_id}?"

    return plan_and_apply(session, clusters, make_plan, show, plan_file=plan_file, question=question)


def _plan_missing_markers(session: Session, request: MissingMarkerRequest) -> Planned:
    reader = session.reader
    log = reader.transaction_log([request.transactional_id])
    for reason in log.unread.values():
        raise Unreachable(f"the transaction log was not read: {reason.reason}")
    places = LoggedDecisions(log.records, {request.producer.producer_id}).partitions()
    topics = reader.topic_names()
    wanted = {each.topic: frozenset(p.partition for p in places if p.topic == each.topic) for each in places}
    leaders = reader.partitions({topic: each for topic, each in wanted.items() if topic in topics}) if wanted else {}
    searched = search(reader, leaders, ALL_AGES)
    searched.require_all()
    return plan_missing_markers(request, searched.verdicts, searched.as_of, session.wire.cluster_id)
