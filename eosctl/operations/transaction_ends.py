"""Committing a transaction for its owner: read, watch, plan, show, ask, apply."""

from pathlib import Path

from eosctl.analysis.hanging import ALL_AGES
from eosctl.analysis.transactions import KnownNames, ownership
from eosctl.errors import EosctlError
from eosctl.model.names import Side
from eosctl.model.plan import Plan, StopConnector
from eosctl.model.planned import Applied, Planned
from eosctl.model.preconditions import NoLiveOwner, Parts
from eosctl.model.text import pluralize
from eosctl.model.transaction_ends import AbortRequest, CommitFacts, CommitRequest
from eosctl.model.transactions import TransactionState
from eosctl.operations.agreement import Show
from eosctl.operations.hanging import search
from eosctl.operations.plan_facts import last_logged, read_owners_now, read_parts
from eosctl.operations.plan_flow import plan_and_apply
from eosctl.operations.session import Session
from eosctl.operations.transactions import read_connect_names
from eosctl.operations.two_clusters import SourceAndTarget
from eosctl.planning.transaction_ends import plan_abort, plan_commit
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


def read_commit_facts(reader: ClusterReader, request: CommitRequest, config_topic: str) -> CommitFacts:
    """Facts about the ID, with its partitions read twice. Raises NotAuthorized naming the missing ACL.

    A FAILED task has no producer, so its ID is not in use; it is Connect's all the same.
    """
    name = request.transactional_id
    live = read_owners_now(reader, [NoLiveOwner(Side.SOURCE, (name,))])
    described = reader.describe([name])[name]
    if isinstance(described, EosctlError):
        raise described
    logged = last_logged(reader, name)
    ongoing = described is not None and described.state is TransactionState.ONGOING
    before: Parts = {}
    after: Parts = {}
    if described is not None and ongoing and described.producer == request.producer:
        before = read_parts(reader, described).parts
        next(reader.every(request.watch_s))
        after = read_parts(reader, described).parts
    owned = ownership(name, read_connect_names(reader, config_topic).names)
    return CommitFacts(
        as_of=reader.now(),
        cluster_id=reader.cluster_id or "",
        described=described,
        logged=logged,
        before=before,
        after=after,
        ownership=owned if owned.owners else ownership(name, KnownNames.of(live.connectors)),
        live=live,
    )


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
