"""Moving connectors' offsets: read, plan, show, ask, apply."""

from collections.abc import Callable, Collection, Iterable, Mapping
from functools import partial
from typing import Final

from msgspec.structs import replace

from eosctl.analysis.catalogue.plans import OFFSETS_CONFLICT, OFFSETS_ONLY_IN_TARGET
from eosctl.analysis.client_configs import connector_client
from eosctl.analysis.transactions import KnownNames
from eosctl.clients.deadline import Deadline
from eosctl.codecs.offsets_topic import entries_by_connector
from eosctl.errors import Unreachable, UsageError
from eosctl.model.client_roles import (
    SERVERS,
    ClientConfig,
    ClientRole,
    ConnectorConfig,
    WorkerConfig,
    as_properties,
    server_set,
)
from eosctl.model.connectors import Properties, SchemaHistory, keeps_history_in_a_file, needs_history, schema_history
from eosctl.model.fencing import FencingRequest
from eosctl.model.migration import ConnectClusters, KeptHistory, MigrationFacts, MigrationRequest
from eosctl.model.names import Side, did_you_mean
from eosctl.model.plan import StopConnector
from eosctl.model.planned import Applied, Planned
from eosctl.model.preconditions import ConnectorFacts
from eosctl.model.skipped import Skipped, not_asked, read_or_skip
from eosctl.model.topics import RecordsDigest
from eosctl.model.workers import KnownPhase, WorkerFacts
from eosctl.operations.agreement import Show
from eosctl.operations.connector_operator import NO_OPERATOR, ConnectorOperator
from eosctl.operations.migration_request import Configs, MigrationOptions, migration_request, named_connectors
from eosctl.operations.plan_facts import (
    POLL_S,
    SETTLING_S,
    States,
    read_connector_facts,
    read_former_configs,
    read_offsets_topic,
    read_owners_now,
    read_topic_now,
)
from eosctl.operations.plan_files import own_plans, short_name, unfinished_plan
from eosctl.operations.plan_flow import plan_and_apply
from eosctl.operations.session import Session
from eosctl.operations.two_clusters import SourceAndTarget
from eosctl.operations.workers import require_group
from eosctl.planning.fencing import choose_transaction_timeout, select_candidates
from eosctl.planning.migration import KIND, plan_migration, unused_ids
from eosctl.sources.cluster_reader import ClusterReader, read_producer_cluster

SEEMING: Final = (OFFSETS_CONFLICT, OFFSETS_ONLY_IN_TARGET)
"""Two topics that are read one after the other seem so while a connector writes to them."""

# Reading for migrations: which Kafka cluster each connector's offsets are in.


def known_or_former_configs(
    clusters: SourceAndTarget, wanted: Collection[str], configs: Configs, warn: Callable[[str], None]
) -> Configs:
    """Configs of the connectors that exist, and of those wanted that were deleted the last one that is known."""
    gone = [name for name in wanted if name not in configs]
    former = read_former_configs(clusters.reading(Side.SOURCE), gone)
    if isinstance(former, Skipped):
        warn(f"the last configs of {', '.join(gone)} are unknown: {former.reason}")
        return configs
    for name in gone:
        if name not in former and (meant := did_you_mean(name, configs)) is not None:
            warn(f"connector {name} does not exist; {meant}")
    return {**former, **configs}


def read_clusters(session: Session, clusters: SourceAndTarget, configs: Configs) -> ConnectClusters:
    """The clusters of the workers and of the producers that a config sends elsewhere.

    UsageError (EOS020) if the workers' brokers are queried, and the group is not the workers'.
    """
    source = clusters.reading(Side.SOURCE).reader
    clients = {name: _producer(name, config) for name, config in configs.items()}
    elsewhere = {name: client.setting(SERVERS) for name, client in clients.items() if client.servers_of_its_own}
    producers = {
        name: servers
        if isinstance(servers, Skipped)
        else read_producer_cluster((clusters.access(each).wire for each in Side), sorted(server_set(servers)), name)
        for name, servers in elsewhere.items()
    }
    workers = read_worker_cluster(source)
    if workers == source.cluster_id:
        require_group(source, source.connect())
    return ConnectClusters(
        workers=workers,
        producers=producers,
        servers={name: str(clients[name].get(SERVERS)) for name in producers},
        exactly_once=_source_support(session) if producers else not_asked("not asked"),
    )


def read_worker_cluster(reader: ClusterReader) -> str | Skipped:
    """The ID of the Kafka cluster that the workers keep their topics in, as the first that answers says it."""
    connect = reader.connect()
    if isinstance(connect, Skipped):
        return connect
    return next(each.kafka_cluster_id for each in connect.workers.values() if isinstance(each, WorkerFacts))


def _producer(name: str, config: Mapping[str, object]) -> ClientConfig:
    """The connector's producer as far as its own config decides: no worker reports what it sets."""
    worker = WorkerConfig({}, unread=not_asked("no worker reports its settings"))
    connector = ConnectorConfig(name, as_properties(config))
    return connector_client(worker, connector, ClientRole.PRODUCER, exactly_once=False)


def _source_support(session: Session) -> KnownPhase | Skipped:
    return session.reader.source_support() if session.connect_urls else not_asked("no worker's address was given")


def stays_in_its_connect_cluster(
    clusters: SourceAndTarget, options: MigrationOptions, request: MigrationRequest, places: ConnectClusters
) -> bool:
    """True if the connectors produce to the other Kafka cluster, and no other Connect cluster was named."""
    named = options.to_group_id is not None or options.target.connect_urls or options.target.config_topic is not None
    if not options.target.other_cluster or named:
        return False
    target = clusters.access(Side.TARGET).wire.cluster_id
    return all(places.producers.get(move.connector) == target for move in request.moves)


def migrate(
    session: Session,
    clusters: SourceAndTarget,
    options: MigrationOptions,
    show: Show[Planned],
    operator: ConnectorOperator = NO_OPERATOR,
) -> Planned | Applied:
    """Moves the offsets. Returns the plan if it is only shown or saved, otherwise the outcome of its steps."""

    def make_plan(just_stopped: tuple[StopConnector, ...]) -> Planned:
        return read_and_plan(session, clusters, options, just_stopped)

    names = named_connectors(options)  # flags that contradict each other are refused before anything is asked
    if operator.operated.to_cluster is not None and not options.goes_elsewhere:
        raise UsageError(
            "--to-kafka-connect is for a move to another Connect cluster", hint="give --to-group-id as well"
        )
    cluster_id = clusters.access(Side.SOURCE).wire.cluster_id
    if (begun := unfinished_plan(own_plans(), KIND, cluster_id, names)) is not None:
        session.options.console.warn(
            f"an earlier run was cut short: `{clusters.command('apply', short_name(begun))}` finishes it"
        )
    return plan_and_apply(session, clusters, make_plan, show, plan_file=options.plan_file, operator=operator)


def read_and_plan(
    session: Session,
    clusters: SourceAndTarget,
    options: MigrationOptions,
    just_stopped: tuple[StopConnector, ...] = (),
) -> Planned:
    """Reads what the move needs to know, and plans it."""
    group_id = session.need_group_id()
    states = clusters.connector_states(Side.SOURCE)
    configs = known_or_former_configs(
        clusters, named_connectors(options), connector_configs(session, states), session.options.console.warn
    )
    request = replace(migration_request(options, group_id, configs), just_stopped=just_stopped)
    moving = {move.connector: configs.get(move.connector, {}) for move in request.moves}
    places = read_clusters(session, clusters, moving)
    request = replace(request, stays=stays_in_its_connect_cluster(clusters, options, request, places))
    histories = read_histories(clusters, request, configs)

    def plan_once() -> Planned:
        facts = replace(_read_facts(session, clusters, request, states), clusters=places, histories=histories)
        _require_known(request, facts, states)
        return plan_migration(request, with_live_owners(clusters, request, facts))

    return settled(plan_once)


def settled(plan_once: Callable[[], Planned], seconds: float = SETTLING_S) -> Planned:
    """The first plan whose offsets do not conflict, or do so as they did just before.

    A running connector writes its own topic, then the worker's: two readings of a seeming conflict are hardly alike.
    """
    deadline, conflicts = Deadline(seconds), list[str]()
    while True:
        planned, before = plan_once(), conflicts
        conflicts = [each.message for each in planned.findings if each.kind in SEEMING]
        if not planned.stops or conflicts in ([], before) or not deadline.pause(POLL_S):
            return planned


def read_histories(
    clusters: SourceAndTarget, request: MigrationRequest, configs: Configs
) -> dict[str, KeptHistory | Skipped]:
    """The schema history of each connector that goes to another Kafka cluster and has one."""
    moving = {move.connector: configs.get(move.connector, {}) for move in request.moves}
    files = {name: KeptHistory(None) for name, config in moving.items() if keeps_history_in_a_file(config)}
    if not request.other_cluster or request.stays:
        return dict(files) if request.elsewhere else {}
    topics = {name: history for name, config in moving.items() if (history := schema_history(config)) is not None}
    return {**{name: read_or_skip(partial(_history, clusters, name, each)) for name, each in topics.items()}, **files}


def read_history(clusters: SourceAndTarget, connector: str, config: Properties) -> dict[str, KeptHistory | Skipped]:
    """The schema history of a connector whose offsets are written where it is; empty where its config names none."""
    if keeps_history_in_a_file(config):
        return {connector: KeptHistory(None)}
    if (history := schema_history(config)) is None:
        return {}
    found = read_or_skip(lambda: _history_at(clusters, (Side.SOURCE,), connector, history)[0])
    needed = found if isinstance(found, Skipped) else replace(found, is_needed=needs_history(config))
    return {connector: needed}


def _history_at(
    clusters: SourceAndTarget, sides: Iterable[Side], connector: str, history: SchemaHistory
) -> tuple[KeptHistory, RecordsDigest | None]:
    """Its place, by the identity of one of the sides; its records if it is in the source's cluster."""
    source = clusters.reading(Side.SOURCE).reader
    cluster_id: str | Skipped = Skipped(f"the config of {connector} names no servers of topic {history.topic}")
    if history.servers is not None:
        wires = (clusters.access(each).wire for each in sides)
        cluster_id = read_producer_cluster(wires, sorted(server_set(history.servers)), connector)
    found = KeptHistory(history.topic, cluster_id)
    if cluster_id != source.cluster_id or not source.topics([history.topic], ()):
        return found, None
    ours = source.records_digest(history.topic)
    if isinstance(ours, Skipped):
        return replace(found, cluster_id=ours), None
    return replace(found, records=ours.records), ours


def _history(clusters: SourceAndTarget, connector: str, history: SchemaHistory) -> KeptHistory:
    target = clusters.reading(Side.TARGET).reader
    found, ours = _history_at(clusters, Side, connector, history)
    if ours is None:
        return found
    there = bool(target.topics([history.topic], ()))
    is_copied = there and target.records_digest(history.topic, ours.records) == ours
    return replace(found, is_copied=is_copied)


def with_live_owners(clusters: SourceAndTarget, request: MigrationRequest, facts: MigrationFacts) -> MigrationFacts:
    """The same with who has the IDs now that the plan takes."""
    unused = unused_ids(request, facts)
    return replace(
        facts, live_owners={each.side: read_owners_now(clusters.reading(each.side).reader, [each]) for each in unused}
    )


def connector_configs(session: Session, states: States) -> Configs:
    """Configs of the connectors that exist, as far as workers or the config topic have them."""
    configs = session.reader.connector_configs()
    if isinstance(configs, Mapping):
        return configs
    unknown = configs or states
    if isinstance(unknown, Skipped):
        session.options.console.warn(f"connector configs are unknown: {unknown.reason}")
        return {}
    return {name: state.config for name, state in unknown.items() if state.config is not None}


def _require_known(request: MigrationRequest, facts: MigrationFacts, states: States) -> None:
    """A name that neither Connect nor the offsets topic knows is most likely misspelt."""
    topics = {move.source_topic for move in request.moves}
    held = {topic: entries_by_connector(facts.offsets[Side.SOURCE, topic]) for topic in topics}
    for move in request.moves:
        now = facts.connectors[Side.SOURCE, move.connector]
        if move.connector in held[move.source_topic]:
            continue
        if isinstance(now, Skipped) or now.state is None:
            known = () if isinstance(states, Skipped) else sorted(n for n, s in states.items() if s.known)
            listed = f"known are: {', '.join(known)}" if known else "is --config-topic the right one?"
            raise UsageError(
                f"connector {move.connector} is unknown to Connect and to topic {move.source_topic}",
                hint=did_you_mean(move.connector, known, listed),
            )


def _read_facts(
    session: Session, clusters: SourceAndTarget, request: MigrationRequest, states: States
) -> MigrationFacts:
    sides = {side: clusters.reading(side) for side in Side}
    readers = {side: each.reader for side, each in sides.items()}
    names = {Side.SOURCE: {move.connector for move in request.moves}, Side.TARGET: set[str]()}
    names[request.new_side] |= {move.new_name for move in request.moves}
    places = {(Side.SOURCE, move.source_topic) for move in request.moves}
    places |= {(Side.TARGET, move.target_topic) for move in request.moves}
    connectors = {
        (side, name): facts
        for side, wanted in names.items()
        if wanted
        for name, facts in read_connector_facts(sides[side], sorted(wanted), lived_here=side is Side.SOURCE).items()
    }
    cluster_ids = {side: clusters.access(side).wire.cluster_id for side in Side}
    # Both sides may be one cluster, and a topic of it be source and target.
    topics = {(cluster_ids[side], topic): (side, topic) for side, topic in places}
    held = {key: read_offsets_topic(readers[side], topic) for key, (side, topic) in topics.items()}
    return MigrationFacts(
        as_of=session.now(),
        cluster_ids=cluster_ids,
        connectors=connectors,
        topics={place: read_topic_now(readers[place[0]], place[1]) for place in places},
        offsets={(side, topic): held[cluster_ids[side], topic] for side, topic in places},
        fenced_ids=fenced_ids(clusters, request, states),
        transaction_timeout_ms=transaction_timeout_ms(*readers.values()),
        source_workers=bool(session.connect_urls),
        target_brokers=len(clusters.access(Side.TARGET).wire.brokers()),
        answers=readers[Side.SOURCE].connector_offsets(_at_rest(connectors)),
    )


def _at_rest(connectors: Mapping[tuple[Side, str], ConnectorFacts | Skipped]) -> list[str]:
    """The connectors of the source that are STOPPED, whose offsets therefore do not change."""
    at_rest = ConnectorFacts("STOPPED")
    return [name for (side, name), now in connectors.items() if side is Side.SOURCE and now == at_rest]


def fenced_ids(
    clusters: SourceAndTarget,
    request: MigrationRequest,
    states: States,
    more: Iterable[str] = (),
) -> dict[Side, tuple[str, ...]]:
    """The transactional IDs of the connectors' tasks, before and after the move, on the cluster of each."""
    old = {*more, *(move.connector for move in request.moves)}
    new = {move.new_name for move in request.moves}
    if not (request.elsewhere or request.stays):
        return {
            Side.SOURCE: _task_ids(clusters.reading(Side.SOURCE).reader, request.source_group_id, old | new, states)
        }
    target = clusters.reading(Side.TARGET).reader
    target_states = states if request.stays else clusters.connector_states(Side.TARGET)
    return {
        Side.SOURCE: _task_ids(clusters.reading(Side.SOURCE).reader, request.source_group_id, old, states),
        Side.TARGET: _task_ids(target, request.target_group_id, new, target_states),
    }


def _task_ids(reader: ClusterReader, group_id: str, connectors: set[str], states: States) -> tuple[str, ...]:
    known = {} if isinstance(states, Skipped) else states
    counts = {
        name: max(known[name].task_count_record or 0, known[name].task_count or 0)
        for name in connectors
        if name in known
    }
    found = reader.transactional_ids()
    for reason in found.unlisted:
        raise Unreachable(reason)
    listed = [each.transactional_id for each in found.transactions]
    names = KnownNames.of({group_id: {*known, *connectors}})
    request = FencingRequest(connectors=tuple(sorted(connectors)))
    return tuple(each.transactional_id for each in select_candidates(request, group_id, counts, listed, names))


def transaction_timeout_ms(*readers: ClusterReader) -> int:
    """The transaction timeout in ms that every broker of these clusters accepts: 60000 or less."""
    clusters = [each.cluster() for each in readers]
    limits = [each if isinstance(each, Skipped) else each.transaction_max_timeout_ms for each in clusters]
    return min(choose_transaction_timeout(FencingRequest(), each) for each in limits)
