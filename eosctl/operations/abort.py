"""What `transactions abort` reads, decides and carries out."""

from pathlib import Path

from eosctl.analysis.hanging import ALL_AGES
from eosctl.errors import EXIT_FINE, Refused, UsageError
from eosctl.operations.hanging import search
from eosctl.operations.plan_flow import apply_plan, keep_plan, own_plan_path
from eosctl.operations.session import Session
from eosctl.operations.two_clusters import SourceAndTarget
from eosctl.planning.aborting import AbortRequest, PlannedAbort, plan_abort
from eosctl.render.views.plan import view_plan


def abort(session: Session, sides: SourceAndTarget, request: AbortRequest, plan_file: Path | None) -> int:
    """The whole command: search the partition, plan, show, ask, apply. Returns the exit code."""
    options = session.options
    planned = _plan(session, request)
    document = view_plan(planned.plan, session.wire.cluster_id, (), planned.objections)
    if options.dry_run or plan_file is not None:
        options.console.result(document)
        _require(planned)
        if plan_file is not None:
            keep_plan(planned.plan, plan_file)
            options.console.narrate(f"plan written to {plan_file}; `eosctl apply {plan_file}` carries it out")
        return EXIT_FINE
    _require(planned)
    for warning in planned.warnings:
        options.console.warn(warning)
    if not options.yes:
        options.console.preview(document)
    count = len(planned.plan.steps)
    options.console.confirm(f"Abort {count} transaction{'' if count == 1 else 's'}?", yes=options.yes)
    return apply_plan(session, sides, keep_plan(planned.plan, own_plan_path(planned.plan)))


def _plan(session: Session, request: AbortRequest) -> PlannedAbort:
    from eosctl.sources.kafka_producers import cluster_partitions

    place = request.topic_partition
    leaders = cluster_partitions(session.wire, [place.topic])
    if place not in leaders:
        raise UsageError(f"topic {place.topic} has no partition {place.partition}")
    searched = search(session.reader, {place: leaders[place]}, ALL_AGES)
    searched.require_all()
    return plan_abort(request, searched.verdicts, searched.as_of, session.wire.cluster_id)


def _require(planned: PlannedAbort) -> None:
    """Raise Refused where anything speaks against the plan."""
    if planned.objections:
        raise Refused("; ".join(planned.objections), hint=planned.hint)
