"""What fence reads, decides and carries out."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from eosctl.analysis.config_topic import fold_config_topic
from eosctl.analysis.fencing import failure_of, find_unproved, prove
from eosctl.analysis.owners import KnownNames
from eosctl.errors import EXIT_FINE, EXIT_FOUND, EosctlError, Refused, Unreachable, UsageError
from eosctl.executors.fencing import FencingRun
from eosctl.executors.old_producers import challenge_old_producers
from eosctl.model.connectors import ConnectorState, Reader
from eosctl.model.fencing import FenceOutcome, FencingOutcome, FencingPlan, FencingRequest, Proof
from eosctl.model.skipped import Skipped
from eosctl.model.snapshot import ClusterFacts
from eosctl.model.times import rfc3339
from eosctl.model.versions import NEWEST
from eosctl.model.workers import ConnectFacts
from eosctl.operations.reading import (
    read_cluster,
    read_config_topic,
    read_descriptions,
    read_leaderless,
    read_listed_ids,
)
from eosctl.operations.session import Session
from eosctl.planning.fencing import choose_transaction_timeout, plan_fencing, select_candidates
from eosctl.render.document import Document
from eosctl.render.views.fencing import view_fencing_outcome, view_fencing_plan


@dataclass(frozen=True, slots=True)
class PlannedFencing:
    """A plan, and the cluster and time it was made for."""

    plan: FencingPlan
    cluster: ClusterFacts
    as_of: int

    @property
    def document(self) -> Document:
        """The plan as it is shown."""
        return view_fencing_plan(self.plan, rfc3339(self.as_of), self.cluster.cluster_id)

    @property
    def transactional_ids(self) -> frozenset[str]:
        """The IDs to fence."""
        return frozenset(step.transactional_id for step in self.plan.steps)

    def require(self) -> None:
        """Raise Refused where anything speaks against the plan."""
        objections = self.plan.objections
        if objections:
            raise Refused("; ".join(each.message for each in objections), hint=objections[0].hint)


def read_and_plan(session: Session, request: FencingRequest, config_topic: str) -> PlannedFencing:
    """Reads what the request needs to know and plans it."""
    if request.is_empty:
        raise UsageError(
            "nothing to fence was named",
            hint="give --connector, --all-connectors, --transactional-id, --ids-file or --prefix",
        )
    if "" in request.prefixes or "" in request.transactional_ids:
        raise UsageError("an empty transactional ID or prefix would mean all of them or none")
    as_of, cluster = session.now(), read_cluster(session)
    connectors = _read_connectors(session, request, config_topic)
    connect = session.read_connect()
    names = _known_names(session, connectors, connect)
    listed = _read_listed(session, request) if request.needs_listing else ()
    counts = _task_counts(request, connectors)
    candidates = select_candidates(request, session.options.group_id or "", counts, listed, names)
    descriptions = read_descriptions(session, [each.transactional_id for each in candidates])
    plan = plan_fencing(
        request,
        candidates,
        descriptions,
        _running_tasks(connect),
        choose_transaction_timeout(request, cluster.transaction_max_timeout_ms),
        read_leaderless(session, descriptions.values()),
    )
    return PlannedFencing(plan, cluster, as_of)


def _read_listed(session: Session, request: FencingRequest) -> tuple[str, ...]:
    """Every ID that coordinators list. Raises Unreachable where one does not answer and a prefix would miss its IDs.

    Of a connector's IDs only leftovers can be missed so: those of its tasks are known by their numbers.
    """
    listed = read_listed_ids(session)
    if listed.unlisted and request.prefixes:
        raise Unreachable(
            "; ".join(listed.unlisted),
            hint="IDs would be missed: bring the broker back first, or name the IDs one by one",
        )
    if listed.unlisted:
        session.options.console.warn(
            f"leftovers of earlier, larger generations may be missed: {'; '.join(listed.unlisted)}"
        )
    return listed.transactional_ids


def _read_connectors(session: Session, request: FencingRequest, config_topic: str) -> Mapping[str, ConnectorState]:
    """Connectors as the config topic has them: needed to derive IDs from, else only to name their owners."""
    if request.names_connectors:
        session.options.need_group_id()
        return fold_config_topic(read_config_topic(session, config_topic).records, Reader(NEWEST)).states
    if session.options.group_id is None:
        return {}
    try:
        return fold_config_topic(read_config_topic(session, config_topic).records, Reader(NEWEST)).states
    except EosctlError as error:
        session.options.console.narrate(f"owners stay unknown: {error.message}")
        return {}


def _known_names(
    session: Session, connectors: Mapping[str, ConnectorState], connect: ConnectFacts | Skipped
) -> KnownNames:
    if session.options.group_id is None:
        return KnownNames()
    running = () if isinstance(connect, Skipped) else connect.connectors
    return KnownNames.of({session.options.group_id: {*connectors, *running}})


def _task_counts(request: FencingRequest, connectors: Mapping[str, ConnectorState]) -> dict[str, int]:
    """How many tasks each connector may have had: by the last task count record, or by the last task commit."""
    unknown = [name for name in request.connectors if name not in connectors]
    if unknown:
        raise UsageError(
            f"the config topic does not mention connector {', '.join(unknown)}",
            hint="`eosctl inspect-config` lists those it does; is --config-topic the right one?",
        )
    return {
        name: max(state.task_count_record or 0, state.task_count or 0)
        for name, state in connectors.items()
        if name in request.connectors or (request.all_connectors and _may_be_source(state))
    }


def _may_be_source(state: ConnectorState) -> bool:
    """Only sources have task count records; without one, a connector has no exactly-once producers to fence."""
    return state.task_count_record is not None


def _running_tasks(connect: ConnectFacts | Skipped) -> Mapping[str, Sequence[int]] | Skipped:
    if isinstance(connect, Skipped):
        return connect
    return {name: status.running_tasks for name, status in connect.connectors.items()}


def agree(session: Session, request: FencingRequest, config_topic: str, planned: PlannedFencing) -> PlannedFencing:
    """The plan to carry out; raises Refused where something speaks against it or nobody agrees.

    A person takes time to answer, so the plan is made again afterwards and must still be the one that was shown.
    """
    options = session.options
    if not planned.plan.steps or options.yes:
        planned.require()
        for warning in planned.plan.warnings:
            options.console.warn(warning)
        return planned
    options.console.preview(planned.document)
    planned.require()
    options.console.confirm(f"Fence {len(planned.plan.steps)} transactional IDs?", yes=False)
    now = read_and_plan(session, request, config_topic)
    now.require()
    if now.transactional_ids != planned.transactional_ids:
        raise Refused("the plan changed while you were asked, nothing was fenced", hint="run the command again")
    return now


def carry_out(session: Session, planned: PlannedFencing) -> int:
    """Fences, proves, shows; raises the error that the command ends with where not all IDs were fenced."""
    document, failure = fence_and_prove(session, planned)
    session.options.console.result(document)
    if failure is not None:
        raise failure
    return EXIT_FOUND if document.data["findings"] else EXIT_FINE


def fence_and_prove(session: Session, planned: PlannedFencing) -> tuple[Document, EosctlError | None]:
    """The result of carrying the plan out, with its proof, and the error it ends with, if any."""
    plan, console = planned.plan, session.options.console
    with console.progress("fencing", len(plan.steps), unit="IDs") as advance:
        outcome = FencingRun(session.wire, plan, session.options.timeout_s, lambda _: advance(1)).run()
    proofs: tuple[Proof, ...] = ()
    try:
        proofs = () if outcome.interrupted else _prove(session, outcome)
    except KeyboardInterrupt:
        outcome = replace(outcome, interrupted=True)
    except EosctlError as error:  # what was fenced has to be told all the same
        console.warn(f"whether the fenced producers are refused could not be seen: {error.message}")
    findings = find_unproved(proofs)
    as_of, cluster_id = rfc3339(planned.as_of), planned.cluster.cluster_id
    document = view_fencing_outcome(plan, outcome, proofs, findings, as_of, cluster_id)
    return document, failure_of(outcome, session.wire.principal)


def _prove(session: Session, outcome: FencingOutcome) -> tuple[Proof, ...]:
    fenced = [each.step.transactional_id for each in outcome.results if each.outcome is FenceOutcome.FENCED]
    refusals = challenge_old_producers(session.wire, outcome, session.options.timeout_s)
    return prove(outcome, read_descriptions(session, fenced), refusals)
