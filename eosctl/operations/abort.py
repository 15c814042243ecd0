"""Aborting open transactions of a partition: search, plan, show, ask, apply."""

from pathlib import Path

from eosctl.analysis.hanging import ALL_AGES
from eosctl.model.aborting import AbortRequest
from eosctl.model.counts import counted
from eosctl.model.plan import ConnectorStopped
from eosctl.model.planned import Applied, Planned
from eosctl.operations.agreement import Show
from eosctl.operations.hanging import search
from eosctl.operations.plan_flow import plan_and_apply
from eosctl.operations.session import Session
from eosctl.operations.two_clusters import SourceAndTarget
from eosctl.planning.aborting import plan_abort


def abort(
    session: Session, clusters: SourceAndTarget, request: AbortRequest, plan_file: Path | None, show: Show[Planned]
) -> Planned | Applied:
    """Aborts them: the plan where it is only to be shown or kept, otherwise what became of its steps."""

    def make_plan(_: tuple[ConnectorStopped, ...]) -> Planned:
        return _read_and_plan(session, request)

    return plan_and_apply(
        session,
        clusters,
        make_plan,
        show,
        plan_file=plan_file,
        question=lambda plan: f"Abort {counted(len(plan.steps), 'transaction')}?",
    )


def _read_and_plan(session: Session, request: AbortRequest) -> Planned:
    place = request.topic_partition
    leaders = session.reader.partitions({place.topic: frozenset({place.partition})})
    searched = search(session.reader, leaders, ALL_AGES)
    searched.require_all()
    return plan_abort(request, searched.verdicts, searched.as_of, session.wire.cluster_id)
