"""Committing a transaction for its owner: read, watch, plan, show, ask, apply."""

from collections import deque
from functools import partial
from pathlib import Path

from eosctl.analysis.hanging import ALL_AGES
from eosctl.analysis.transactions import ownership
from eosctl.errors import EosctlError, Unreachable
from eosctl.model.plan import ConnectorStopped, NoLiveOwner, Parts, Plan, Side, TransactionNow
from eosctl.model.planned import Applied, Planned
from eosctl.model.text import pluralize
from eosctl.model.transaction_ends import AbortRequest, CommitFacts, CommitRequest
from eosctl.model.transaction_log import TransactionLogRecord, TransactionLogValue
from eosctl.model.transactions import AnsweredProducers, TransactionDescription, TransactionState
from eosctl.model.workers import LiveOwners
from eosctl.operations.agreement import Show
from eosctl.operations.hanging import search
from eosctl.operations.plan_flow import plan_and_apply
from eosctl.operations.session import Session
from eosctl.operations.transactions import read_connect_names
from eosctl.operations.two_clusters import SourceAndTarget
from eosctl.planning.transaction_ends import plan_abort, plan_commit
from eosctl.sources.cluster_reader import ClusterReader
from eosctl.sources.plan_facts import read_live_owners


def commit(
    session: Session,
    clusters: SourceAndTarget,
    request: CommitRequest,
    config_topic: str,
    plan_file: Path | None,
    show: Show[Planned],
) -> Planned | Applied:
    """Commits the transaction: returns the plan if it is only shown or kept, otherwise the step's outcome."""

    def make_plan(_: tuple[ConnectorStopped, ...]) -> Planned:
        live = partial(
            read_live_owners,
            clusters.access(Side.SOURCE),
            [NoLiveOwner(Side.SOURCE, (request.transactional_id,))],
        )
        return plan_commit(request, read_commit_facts(session.reader, request, config_topic, live()))

    def question(_: Plan) -> str:
        return f"Commit the transaction of {request.transactional_id}?"

    return plan_and_apply(session, clusters, make_plan, show, plan_file=plan_file, question=question)


def read_commit_facts(
    reader: ClusterReader, request: CommitRequest, config_topic: str, live: LiveOwners
) -> CommitFacts:
    """Facts about the ID, with its partitions read twice. Raises NotAuthorized naming the missing ACL."""
    name = request.transactional_id
    described = reader.describe([name])[name]
    if isinstance(described, EosctlError):
        raise described
    logged = _last_logged(reader, name)
    ongoing = described is not None and described.state is TransactionState.ONGOING
    before: Parts = {}
    after: Parts = {}
    if described is not None and ongoing and described.producer == request.producer:
        before = _look(reader, described)
        next(reader.every(request.watch_s))
        after = _look(reader, described)
    return CommitFacts(
        as_of=reader.now(),
        cluster_id=reader.cluster_id or "",
        described=described,
        logged=logged,
        before=before,
        after=after,
        ownership=ownership(name, read_connect_names(reader, config_topic).names),
        live=live,
    )


def _look(reader: ClusterReader, described: TransactionDescription) -> Parts:
    wanted: dict[str, frozenset[int]] = {}
    for place in described.partitions:
        wanted[place.topic] = wanted.get(place.topic, frozenset()) | {place.partition}
    found = reader.producers(reader.partitions(wanted), quiet=True) if wanted else AnsweredProducers((), ())
    return TransactionNow.ongoing(described, found.producers, found.unanswered).parts


def _last_logged(reader: ClusterReader, transactional_id: str) -> TransactionLogValue | None:
    """The log's last record of the ID; None if it has none or forgot the ID.

    Raises Unreachable where its partition of the log was not read.
    """
    log = reader.transaction_log([transactional_id])
    for reason in log.unread.values():
        raise Unreachable(f"the transaction log was not read: {reason.reason}")
    records = (each for each in log.records if isinstance(each, TransactionLogRecord))
    last = deque((each for each in records if each.transactional_id == transactional_id), maxlen=1)
    return last[0].value if last else None


def abort(
    session: Session, clusters: SourceAndTarget, request: AbortRequest, plan_file: Path | None, show: Show[Planned]
) -> Planned | Applied:
    """Aborts the transactions: returns the plan if it is only shown or kept, otherwise the steps' outcomes."""

    def make_plan(_: tuple[ConnectorStopped, ...]) -> Planned:
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
