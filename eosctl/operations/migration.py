"""What migrate-offsets reads, decides and carries out."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from eosctl.errors import EXIT_FINE, EosctlError, PartlyApplied, Refused, UsageError
from eosctl.model.counts import counted
from eosctl.model.migration import Migration, MigrationFacts, MigrationRequest
from eosctl.model.plan import ConnectorStopped, Plan, PlannedStep, Side, StopConnector
from eosctl.model.skipped import Skipped
from eosctl.operations.gc_paused import gc_paused
from eosctl.operations.migration_clusters import known_or_former_configs, read_clusters, stays_in_its_connect_cluster
from eosctl.operations.migration_request import MigrationOptions, migration_request, named_connectors
from eosctl.operations.plan_flow import apply_plan, keep_plan, own_plan_path, run_plan
from eosctl.operations.session import Session
from eosctl.operations.two_clusters import SourceAndTarget
from eosctl.planning.migration import plan_migration
from eosctl.render.views.plan import view_plan

if TYPE_CHECKING:
    from eosctl.clients.access import ClusterAccess
    from eosctl.model.connectors import ConnectorState

__all__ = ["MigrationOptions", "migrate", "present"]


@dataclass(frozen=True, slots=True)
class Planned:
    """A plan of offsets to write with what was found, and the source cluster's ID."""

    migration: Migration
    cluster_id: str

    @property
    def plan(self) -> Plan:
        """The plan."""
        return self.migration.plan

    @property
    def stops(self) -> tuple[PlannedStep, ...]:
        """Its steps that stop connectors."""
        return tuple(each for each in self.plan.steps if isinstance(each.step, StopConnector))

    def require(self) -> None:
        """Raise Refused where anything speaks against the plan."""
        if self.migration.objections:
            raise Refused("; ".join(self.migration.objections), hint=self.migration.hint)


PlanAnew = Callable[[tuple[ConnectorStopped, ...]], Planned]
"""Reads and plans; its argument are the connectors that this command has stopped."""


def migrate(session: Session, sides: SourceAndTarget, options: MigrationOptions) -> int:
    """The whole command: plan, show, ask, apply. Returns the exit code."""
    return present(session, sides, lambda stopped: read_and_plan(session, sides, options, stopped), options.plan_file)


def present(session: Session, sides: SourceAndTarget, plan: PlanAnew, plan_file: Path | None) -> int:
    """Plans, shows, writes the plan file or asks and applies. Returns the exit code."""
    options = session.options
    with gc_paused():
        planned = plan(())
    document = view_plan(planned.plan, planned.cluster_id, planned.migration.findings, planned.migration.objections)
    if options.dry_run or plan_file is not None:
        options.console.result(document)
        planned.require()
        if plan_file is not None:
            _write(session, planned, plan_file)
        return EXIT_FINE
    if not options.yes or planned.migration.objections:
        options.console.preview(document)
    planned.require()
    options.console.confirm(f"Apply {counted(len(planned.plan.steps), 'step')}?", yes=options.yes)
    if planned.stops:
        planned = _stop_and_plan_again(session, sides, plan, planned)
    file = keep_plan(planned.plan, own_plan_path(planned.plan))
    options.console.narrate(f"the plan is kept in {file.path}; if this is cut short, `eosctl apply` finishes it")
    return apply_plan(session, sides, file, findings=planned.migration.findings)


def _write(session: Session, planned: Planned, path: Path) -> None:
    if planned.stops:
        raise Refused(
            "a running connector moves on, so a plan of its offsets would be stale at once; no plan was written",
            hint="stop it first (PUT /connectors/NAME/stop) and plan then, or leave out --plan-file",
        )
    keep_plan(planned.plan, path)
    session.options.console.narrate(f"plan written to {path}; `eosctl apply {path}` carries it out")


def _stop_and_plan_again(session: Session, sides: SourceAndTarget, plan: PlanAnew, planned: Planned) -> Planned:
    """Only a stopped connector's offsets stand still: stop it, then plan with what is there now."""
    stop_plan = Plan(planned.plan.kind, planned.plan.as_of, planned.stops)
    file = keep_plan(stop_plan, own_plan_path(stop_plan))
    _, failure = run_plan(session, sides, file)
    if failure is not None:
        raise failure
    stopped = [each.step for each in planned.stops if isinstance(each.step, StopConnector)]
    just_stopped = tuple(ConnectorStopped(step.side, step.connector) for step in stopped)
    try:
        now = plan(just_stopped)
        now.require()
    except EosctlError as error:
        names = ", ".join(step.connector for step in stopped)
        raise PartlyApplied(
            f"connector {names} was stopped, then: {error.message}",
            hint=f"nothing else was changed; resume with PUT /connectors/{names}/resume, or run this again",
        ) from error
    return now


def read_and_plan(
    session: Session, sides: SourceAndTarget, options: MigrationOptions, just_stopped: tuple[ConnectorStopped, ...] = ()
) -> Planned:
    """Reads what the move needs to know, and plans it."""
    from eosctl.sources.plan_facts import read_connector_states

    group_id = session.options.need_group_id()
    states = read_connector_states(sides.access(Side.SOURCE))
    configs = known_or_former_configs(sides, named_connectors(options), connector_configs(session, states))
    request = replace(migration_request(options, group_id, configs), just_stopped=just_stopped)
    moving = {move.connector: configs.get(move.connector, {}) for move in request.moves}
    clusters = read_clusters(sides, moving, group_id)
    request = replace(request, stays=stays_in_its_connect_cluster(sides, options, request, clusters))
    facts = replace(_read_facts(session, sides, request, states), clusters=clusters)
    _require_known(request, facts, states)
    return Planned(plan_migration(request, facts), facts.cluster_ids[Side.SOURCE])


def connector_configs(session: Session, states: "dict[str, ConnectorState] | Skipped") -> dict[str, dict[str, object]]:
    """Configs of the connectors that exist, as far as anybody tells."""
    from eosctl.sources.connect_offsets import read_connector_configs

    options = session.options
    if options.connect_urls:
        configs = read_connector_configs(options.connect_urls, options.timeout_s)
        return {name: dict(config) for name, config in configs.items()}
    if isinstance(states, Skipped):
        session.options.console.warn(f"connector configs are unknown: {states.reason}")
        return {}
    return {name: dict(state.config) for name, state in states.items() if state.config is not None}


def _require_known(
    request: MigrationRequest, facts: MigrationFacts, states: "dict[str, ConnectorState] | Skipped"
) -> None:
    """A name that neither Connect nor the offsets topic knows is most likely misspelt."""
    from eosctl.planning.offsets_digest import entries_by_connector

    topics = {move.source_topic for move in request.moves}
    held = {topic: entries_by_connector(facts.offsets[Side.SOURCE, topic]) for topic in topics}
    for move in request.moves:
        now = facts.connectors[Side.SOURCE, move.connector]
        if move.connector in held[move.source_topic]:
            continue
        if isinstance(now, Skipped) or now.state is None:
            known = "" if isinstance(states, Skipped) else ", ".join(sorted(n for n, s in states.items() if s.known))
            raise UsageError(
                f"neither Connect nor topic {move.source_topic} knows a connector {move.connector}",
                hint=f"known are: {known}" if known else "is --config-topic the right one?",
            )


def _read_facts(
    session: Session, sides: SourceAndTarget, request: MigrationRequest, states: "dict[str, ConnectorState] | Skipped"
) -> MigrationFacts:
    from eosctl.sources.connect_offsets import read_answers
    from eosctl.sources.plan_facts import read_connector_facts, read_offsets_topic, read_topic_now

    source, target = sides.access(Side.SOURCE), sides.access(Side.TARGET)
    names = {Side.SOURCE: {move.connector for move in request.moves}, Side.TARGET: set[str]()}
    names[request.new_side] |= {move.new_name for move in request.moves}
    places = {(Side.SOURCE, move.source_topic) for move in request.moves}
    places |= {(Side.TARGET, move.target_topic) for move in request.moves}
    connectors = {
        (side, name): facts
        for side, wanted in names.items()
        if wanted
        for name, facts in read_connector_facts(
            sides.access(side), sorted(wanted), lived_here=side is Side.SOURCE
        ).items()
    }
    cluster_ids = {Side.SOURCE: source.wire.cluster_id, Side.TARGET: target.wire.cluster_id}
    # Both sides may be one cluster, and a topic of it be source and target.
    topics = {(cluster_ids[side], topic): (side, topic) for side, topic in places}
    held = {key: read_offsets_topic(sides.access(side), topic) for key, (side, topic) in topics.items()}
    return MigrationFacts(
        as_of=session.now(),
        cluster_ids=cluster_ids,
        connectors=connectors,
        topics={place: read_topic_now(sides.access(place[0]), place[1]) for place in places},
        offsets={(side, topic): held[cluster_ids[side], topic] for side, topic in places},
        fenced_ids=fenced_ids(sides, request, states),
        transaction_timeout_ms=transaction_timeout_ms(source, target),
        answers=read_answers(source, {name: now for (side, name), now in connectors.items() if side is Side.SOURCE}),
    )


def fenced_ids(
    sides: SourceAndTarget,
    request: MigrationRequest,
    states: "dict[str, ConnectorState] | Skipped",
    more: Iterable[str] = (),
) -> dict[Side, tuple[str, ...]]:
    """The transactional IDs of the connectors' tasks, before and after the move, on the cluster of each."""
    from eosctl.sources.plan_facts import read_connector_states

    old = {*more, *(move.connector for move in request.moves)}
    new = {move.new_name for move in request.moves}
    if not (request.elsewhere or request.stays):
        return {Side.SOURCE: _task_ids(sides.access(Side.SOURCE), request.source_group_id, old | new, states)}
    target = sides.access(Side.TARGET)
    target_states = states if request.stays else read_connector_states(target)
    return {
        Side.SOURCE: _task_ids(sides.access(Side.SOURCE), request.source_group_id, old, states),
        Side.TARGET: _task_ids(target, request.target_group_id, new, target_states),
    }


def _task_ids(
    access: "ClusterAccess", group_id: str, connectors: set[str], states: "dict[str, ConnectorState] | Skipped"
) -> tuple[str, ...]:
    from eosctl.analysis.owners import KnownNames
    from eosctl.model.fencing import FencingRequest
    from eosctl.planning.fencing import select_candidates
    from eosctl.sources.kafka_transactions import list_transactional_ids

    known = {} if isinstance(states, Skipped) else states
    counts = {
        name: max(known[name].task_count_record or 0, known[name].task_count or 0)
        for name in connectors
        if name in known
    }
    listings = list_transactional_ids(access.wire)
    for error in listings.unanswered.values():
        raise error
    listed = [each.transactional_id for each in listings.transactions]
    names = KnownNames.of({group_id: {*known, *connectors}})
    request = FencingRequest(connectors=tuple(sorted(connectors)))
    return tuple(each.transactional_id for each in select_candidates(request, group_id, counts, listed, names))


def transaction_timeout_ms(*sides: "ClusterAccess") -> int:
    """What every broker of these clusters accepts as a transaction timeout, in ms: 60000 or less."""
    from eosctl.model.fencing import FencingRequest
    from eosctl.planning.fencing import choose_transaction_timeout
    from eosctl.sources.kafka_topics import max_transaction_timeout_ms

    return min(choose_transaction_timeout(FencingRequest(), max_transaction_timeout_ms(each.wire)) for each in sides)
