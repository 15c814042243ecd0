"""Committing a transaction for its owner: read, watch, plan, show, ask, apply."""

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from msgspec.structs import replace

from eosctl.analysis.hanging import ALL_AGES
from eosctl.analysis.leftovers import MARKERS_MS, find_leftovers, missing_markers
from eosctl.analysis.transaction_log import fold_transaction_log
from eosctl.analysis.transactions import KnownNames, owners_of, ownership
from eosctl.errors import Unreachable, UsageError
from eosctl.model.fencing import FencingRequest
from eosctl.model.leftovers import Leftover, LeftoverKind, Leftovers, LeftoversRequest, MissingMarker
from eosctl.model.names import Side
from eosctl.model.plan import CommitTransaction, Plan, StopConnector
from eosctl.model.planned import Applied, Planned
from eosctl.model.preconditions import NoLiveOwner
from eosctl.model.skipped import Skipped, read_or_skip
from eosctl.model.text import pluralize
from eosctl.model.transaction_ends import AbortRequest, CommitFacts, CommitRequest
from eosctl.model.transactions import TransactionState, require_described
from eosctl.operations.agreement import Show
from eosctl.operations.hanging import search
from eosctl.operations.plan_facts import last_logged, read_owners_now, read_parts
from eosctl.operations.plan_flow import plan_and_apply
from eosctl.operations.session import Session
from eosctl.operations.transactions import read_connect_names
from eosctl.operations.two_clusters import SourceAndTarget
from eosctl.planning.fencing import choose_transaction_timeout
from eosctl.planning.transaction_ends import plan_abort, plan_commit, plan_leftovers
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


def read_leftovers(reader: ClusterReader, prefix: str, config_topic: str) -> Leftovers:
    """What the transaction log has open under the prefix."""
    log = reader.transaction_log(prefix=prefix)
    folded = fold_transaction_log(
        each for each in log.records if each.transactional_id is None or each.transactional_id.startswith(prefix)
    )
    values = {name: each.value for name, each in folded.ids.items() if each.value is not None}
    connect = read_connect_names(reader, config_topic)
    as_of = reader.now()
    found = tuple(_with_missing(reader, each, as_of) for each in find_leftovers(values))
    newer = (f"{pluralize(len(folded.newer), 'record was', 'records were')} not read: a newer Kafka wrote them",)
    return Leftovers(
        as_of=as_of,
        cluster_id=reader.cluster_id,
        prefix=prefix,
        leftovers=found,
        ids=len(values),
        owners=owners_of([each.transactional_id for each in found], connect.names),
        unread=log.unread,
        notes=(*(newer if folded.newer else ()), *connect.notes),
        coverage=reader.coverage,
    )


def _with_missing(reader: ClusterReader, left: Leftover, as_of: int) -> Leftover:
    """With the markers that are missing, where the transaction was decided more than a minute ago."""
    if left.kind is not LeftoverKind.PREPARED or as_of - left.value.last_update_ms < MARKERS_MS:
        return left
    return replace(left, missing=read_or_skip(partial(_missing, reader, left)))


def _missing(reader: ClusterReader, left: Leftover) -> tuple[MissingMarker, ...]:
    name = left.transactional_id
    described = require_described(reader.describe([name])).get(name)
    if described is None or not described.state.is_open:
        return ()
    wanted: dict[str, frozenset[int]] = {}
    for place in described.partitions:
        wanted[place.topic] = wanted.get(place.topic, frozenset()) | {place.partition}
    leaders = reader.partitions(wanted) if wanted else {}
    answered = reader.producers(leaders, quiet=True)
    held = described.producer.producer_id
    return missing_markers(described.partitions, leaders, answered, held, described.coordinator)


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
    listed = [CommitRequest(each.transactional_id, each.producer, request.watch_s) for each in request.decided]
    foreign = [each for each in listed if not each.transactional_id.startswith(request.prefix)]
    if foreign:
        raise UsageError(f"{foreign[0].transactional_id} is in the list and does not begin with {request.prefix}")
    names = {each.transactional_id for each in listed}
    left = [each for each in found.leftovers if request.fence_rest and each.transactional_id not in names]
    rest = [CommitRequest(each.transactional_id, each.value.producer, request.watch_s) for each in left]
    facts = read_all_commit_facts(reader, [*listed, *rest], request.watch_s, request.config_topic)
    cluster = reader.cluster()
    limit = cluster if isinstance(cluster, Skipped) else cluster.transaction_max_timeout_ms
    timeout_ms = choose_transaction_timeout(FencingRequest(), limit)
    pairs = [(each, facts[each.transactional_id]) for each in (*listed, *rest)]
    return plan_leftovers(pairs[: len(listed)], pairs[len(listed) :], reader.now(), reader.cluster_id or "", timeout_ms)


def read_commit_facts(reader: ClusterReader, request: CommitRequest, config_topic: str) -> CommitFacts:
    """Facts about one ID, as read_all_commit_facts reads them."""
    return read_all_commit_facts(reader, [request], request.watch_s, config_topic)[request.transactional_id]


def read_all_commit_facts(
    reader: ClusterReader, requests: Sequence[CommitRequest], watch_s: float, config_topic: str
) -> Mapping[str, CommitFacts]:
    """Facts about the IDs, with their partitions read twice. Raises NotAuthorized naming the missing ACL.

    A FAILED task has no producer, so its ID is not in use; it is Connect's all the same.
    """
    names = tuple(dict.fromkeys(each.transactional_id for each in requests))
    live = read_owners_now(reader, [NoLiveOwner(Side.SOURCE, names)])
    described = require_described(reader.describe(names))
    logged = last_logged(reader, names)
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
    connect = read_connect_names(reader, config_topic).names
    owned = {name: ownership(name, connect) for name in names}
    return {
        name: CommitFacts(
            as_of=reader.now(),
            cluster_id=reader.cluster_id or "",
            described=described.get(name),
            logged=logged.get(name),
            before=before.get(name, {}),
            after=after.get(name, {}),
            ownership=owned[name] if owned[name].owners else ownership(name, KnownNames.of(live.connectors)),
            live=live,
        )
        for name in names
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
