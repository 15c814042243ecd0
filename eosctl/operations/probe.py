"""A probe: plan, show, ask, try, judge."""

from collections.abc import Mapping
from functools import partial
from secrets import token_hex
from typing import Final, NamedTuple

from eosctl.analysis.probe import judge, probed_apis
from eosctl.clients.access import ClusterAccess
from eosctl.clients.messages import cluster_operations
from eosctl.clients.wire import Wire
from eosctl.executors.probe import ProbeOutcome, ProbeRun
from eosctl.model.acls import OPERATION_CODES, Operation
from eosctl.model.probe import (
    Initialised,
    Left,
    Observations,
    PlannedProbe,
    ProbeAnswer,
    Probed,
    VersionRange,
    plan_probe,
)
from eosctl.model.skipped import Cause, Coverage, Skipped, Unread, read_or_skip
from eosctl.operations.agreement import Show, agree
from eosctl.operations.session import Session
from eosctl.sources.kafka_evidence import read_finalized_features

UNIQUE_BYTES: Final = 4
FORGOTTEN: Final = (
    "coordinators forget it after transactional.id.expiration.ms, 7 days by default; no request deletes an ID"
)


class ProbeRequest(NamedTuple):
    """Prefix of the topic and transactional ID, and the replication factor; -1 is the brokers' default."""

    prefix: str
    replication_factor: int


def probe(session: Session, request: ProbeRequest, show: Show[PlannedProbe]) -> PlannedProbe | Probed:
    """The plan with --dry-run, otherwise every answer. Writes nothing before the user agrees."""
    plan = plan_probe(request.prefix, token_hex(UNIQUE_BYTES), request.replication_factor, session.now())
    planned = PlannedProbe(plan=plan, cluster_id=session.wire.cluster_id)
    if session.options.dry_run:
        return planned
    agree(session, planned, f"Probe with topic and transactional ID {plan.name}?", show)
    access = ClusterAccess(session.wire, (), session.timeout_s)
    known = _read_before(session.wire)
    outcome = ProbeRun(access, plan, known, session.options.console.narrate).run()
    return _answer(planned, outcome)


def _read_before(wire: Wire) -> Observations:
    """Every broker's API versions, the finalized features, and the principal's operations on the cluster."""
    nodes = [broker.node_id for broker in wire.brokers()]
    return Observations(
        principal=wire.principal,
        versions={node_id: read_or_skip(partial(_versions, wire, node_id)) for node_id in nodes},
        features=read_or_skip(lambda: read_finalized_features(wire)),
        rights=read_or_skip(lambda: _rights(wire)),
    )


def _versions(wire: Wire, node_id: int) -> Mapping[int, VersionRange]:
    return {key: VersionRange(*found) for key, found in wire.api_versions(node_id).items()}


def _rights(wire: Wire) -> frozenset[Operation] | Skipped:
    """KIP-430: who may not describe the cluster is answered with nothing."""
    codes = set(wire.request_any(cluster_operations()).authorized_operations or ())
    found = frozenset(operation for operation, code in OPERATION_CODES.items() if code in codes)
    if Operation.DESCRIBE not in found:
        return Skipped(f"{wire.principal} lacks Describe on the cluster", Cause.DENIED)
    return found


def _answer(planned: PlannedProbe, outcome: ProbeOutcome) -> Probed:
    seen, name = outcome.observations, planned.plan.name
    answers = judge(seen)
    left = (Left("transactional ID", name, FORGOTTEN),) if outcome.initialised else ()
    if outcome.undeleted is not None:
        left = (Left("topic", name, outcome.undeleted), *left)
    return Probed(
        plan=planned.plan,
        cluster_id=planned.cluster_id,
        principal=seen.principal,
        answers=answers,
        apis=probed_apis(seen),
        init_ms=(seen.first.elapsed_ms, *seen.repeats) if isinstance(seen.first, Initialised) else (),
        left=left,
        undeleted=outcome.undeleted,
        interrupted=outcome.interrupted,
        coverage=_coverage(answers),
    )


def _coverage(answers: tuple[ProbeAnswer, ...]) -> Coverage:
    """Unknown answers count as unread."""
    unread = tuple(Unread(each.check.id, each.seen, each.cause) for each in answers if each.cause is not None)
    return Coverage(tuple(each.check.id for each in answers), unread)
