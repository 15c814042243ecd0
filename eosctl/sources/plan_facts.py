"""Reading again what a plan's preconditions speak of."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import Final, NamedTuple

from msgspec.structs import replace

from eosctl.clients.access import ClusterAccess
from eosctl.clients.deadline import Deadline
from eosctl.clients.messages import topics_metadata
from eosctl.clients.rest import NotFound, RestClient, config_of
from eosctl.clients.rest_identity import decoding, list_of, object_of, task_number, text_of
from eosctl.clients.wire import Wire
from eosctl.codecs.config_topic import decode_config_records
from eosctl.codecs.connector_files import config_digest
from eosctl.codecs.offsets_topic import entries_by_connector, offsets_now
from eosctl.errors import EosctlError, NotAuthorized, Refused, UsageError
from eosctl.model.config_topic import ConfigRecord, ConnectorConfigRecord
from eosctl.model.connectors import ConnectorState, Properties, TargetState, connector_path
from eosctl.model.names import TopicPartition
from eosctl.model.offsets import Entry, OffsetsTopic
from eosctl.model.plan import (
    AclsPresent,
    ClusterIs,
    ConnectorConfigIs,
    ConnectorStopped,
    NoLiveOwner,
    NoOpenTransaction,
    OffsetsUnchanged,
    Precondition,
    Side,
    TopicIsCompact,
    TopicIsCompactOrAbsent,
    TransactionHangs,
    TransactionNow,
    TransactionUnchanged,
)
from eosctl.model.preconditions import ConnectorFacts, OffsetsNow, PlanFacts, TopicNow
from eosctl.model.records import RecordState
from eosctl.model.skipped import Skipped, not_asked, read_or_skip
from eosctl.model.workers import LiveOwners, possible_groups
from eosctl.sources.cluster_reader import trusting
from eosctl.sources.connect_rest import read_connectors
from eosctl.sources.kafka_acls import read_acls
from eosctl.sources.kafka_groups import read_connect_groups
from eosctl.sources.kafka_log import NewFold, offsets_bounds, read_log, read_offsets_partitions
from eosctl.sources.kafka_topics import topic_facts, topic_settings
from eosctl.sources.kafka_transactions import read_open_now, read_transaction_now

Access = Callable[[Side], ClusterAccess]

FoldConfigs = Callable[[Iterable[ConfigRecord]], Mapping[str, ConnectorState]]
"""What the records of a config topic say of each connector."""


class Folds(NamedTuple):
    configs: FoldConfigs
    offsets: NewFold


ENDED: Final = frozenset({"UNASSIGNED", "FAILED", "DESTROYED", "STOPPED"})
PAUSE_S: Final = 0.1
NO_TOPIC_ID: Final = "00000000-0000-0000-0000-000000000000"


def read_plan_facts(access: Access, preconditions: Sequence[Precondition], folds: Folds) -> PlanFacts:
    """Everything that these preconditions need, read now, each topic once."""
    offsets = [each for each in preconditions if isinstance(each, OffsetsUnchanged | NoOpenTransaction)]
    stopped = [each for each in preconditions if isinstance(each, ConnectorStopped)]
    unused = [each for each in preconditions if isinstance(each, NoLiveOwner)]
    topics = {
        (each.side, each.topic) for each in preconditions if isinstance(each, TopicIsCompact | TopicIsCompactOrAbsent)
    }
    found: dict[tuple[Side, str, str], OffsetsNow] = {}
    for side, topic in {(each.side, each.topic) for each in offsets}:
        by_connector = entries_by_connector(read_offsets_topic(access(side), topic, folds.offsets))
        for each in offsets:
            if (each.side, each.topic) == (side, topic):
                found[side, topic, each.connector] = offsets_now(by_connector.get(each.connector, ()))
    return PlanFacts(
        _cluster_ids(access, {each.side for each in preconditions if isinstance(each, ClusterIs)}),
        {
            (side, name): facts
            for side in {each.side for each in stopped}
            for name, facts in read_connector_facts(
                access(side),
                [each.connector for each in stopped if each.side is side],
                folds.configs,
                lived_here=side is Side.SOURCE,
            ).items()
        },
        {place: read_topic_now(access(place[0]), place[1]) for place in topics},
        found,
        {
            (each.side, TopicPartition(each.topic, each.partition), each.producer_id): read_open_now(
                access(each.side).wire, TopicPartition(each.topic, each.partition), each.producer_id
            )
            for each in preconditions
            if isinstance(each, TransactionHangs)
        },
        {
            side: read_live_owners(access(side), [each for each in unused if each.side is side])
            for side in {each.side for each in unused}
        },
        {
            side: read_acls(access(side).wire)
            for side in {each.side for each in preconditions if isinstance(each, AclsPresent)}
        },
        {
            (each.side, each.connector): access(each.side).ask_worker(partial(_config_digest, each.connector))
            for each in preconditions
            if isinstance(each, ConnectorConfigIs)
        },
        _transactions(access, [each for each in preconditions if isinstance(each, TransactionUnchanged)]),
    )


def _cluster_ids(access: Access, sides: Iterable[Side]) -> Mapping[Side, str]:
    """As brokers answer now; raises OtherCluster where it is another one than before."""
    return {side: access(side).wire.ask_cluster_id() for side in sides}


def _transactions(
    access: Access, wanted: Sequence[TransactionUnchanged]
) -> Mapping[tuple[Side, str], TransactionNow | Skipped]:
    return {
        (each.side, each.transactional_id): read_or_skip(
            partial(read_transaction_now, access(each.side).wire, each.transactional_id)
        )
        for each in wanted
    }


def _config_digest(connector: str, rest: RestClient) -> str | None:
    config = config_of(rest, connector)
    return None if config is None else config_digest(config)


def read_live_owners(access: ClusterAccess, unused: Iterable[NoLiveOwner]) -> LiveOwners:
    """Who has the IDs of these preconditions now, by the groups that may have them."""
    wanted = possible_groups(name for each in unused for name in each.transactional_ids)
    besides = {each.besides for each in unused}
    if len(besides) == 1:
        wanted -= besides
    return LiveOwners.of(read_connect_groups(access.wire, wanted) if wanted else {})


def read_entries(access: Access, new_fold: NewFold, side: Side, topic: str, connector: str) -> Sequence[Entry]:
    return entries_by_connector(read_offsets_topic(access(side), topic, new_fold)).get(connector, ())


def read_offsets_topic(access: ClusterAccess, topic: str, new_fold: NewFold) -> OffsetsTopic:
    """The topic folded, with its transactions' states; without partitions where it does not exist."""
    now = read_topic_now(access, topic)
    if now is None:
        return OffsetsTopic(topic, Skipped(f"topic {topic} does not exist"), ())
    bounds = offsets_bounds(access.wire, topic, now.facts.partitions)
    return OffsetsTopic(topic, now.facts, read_offsets_partitions(access.wire, bounds, new_fold))


def read_topic_now(access: ClusterAccess, topic: str) -> TopicNow | None:
    facts = topic_facts(access.wire, [topic])[topic]
    if facts is None:
        return None
    settings = topic_settings(access.wire, topic)
    [described] = access.wire.request_any(topics_metadata([topic])).topics
    topic_id = str(getattr(described, "topic_id", None) or NO_TOPIC_ID)
    return TopicNow(replace(facts, settings=settings), None if topic_id == NO_TOPIC_ID else topic_id)


def read_connector_facts(
    access: ClusterAccess, names: Iterable[str], fold: FoldConfigs, *, lived_here: bool = False
) -> dict[str, ConnectorFacts | Skipped]:
    """State and number of tasks of each connector: from REST where an address is known, or from the config topic.

    lived_here: one of them at least is or was a connector of these workers; a config topic that never held any of them
    is another's, and nothing is known. Raises UsageError for one that REST calls a sink.
    Tasks of a connector that was deleted just now may still be ending, and commit offsets as they do: REST
    reports them, and their end is waited for. The config topic does not.
    """
    wanted = list(names)
    if access.connect_urls:
        known = access.ask_worker(lambda rest: read_connectors(rest.url, access.timeout_s))
        _require_sources([name for name in wanted if name in known and known[name].type == "sink"])
        return {
            name: ConnectorFacts(known[name].state, len(known[name].tasks))
            if name in known
            else access.ask_worker(partial(_await_end, name, access.timeout_s))
            for name in wanted
        }
    states = read_connector_states(access, fold)
    if isinstance(states, Skipped):
        return dict.fromkeys(wanted, states)
    if lived_here and not states.keys() & set(wanted):
        return dict.fromkeys(
            wanted,
            Skipped(
                f"config topic {access.config_topic} never held it; --config-topic is that of its workers, and "
                "--connect-url leads to one of them"
            ),
        )
    return {name: _from_config_topic(states.get(name)) for name in wanted}


def _require_sources(sinks: Sequence[str]) -> None:
    if sinks:
        raise UsageError(
            f"connector {sinks[0]} is a sink: it has no source offsets",
            hint=f"its position is the offsets of consumer group connect-{sinks[0]}: kafka-consumer-groups.sh",
        )


def _await_end(name: str, timeout_s: float, rest: RestClient) -> ConnectorFacts | Skipped:
    """Of a connector that does not exist: returns when no task of it is left, or when the time is up."""
    deadline = Deadline(timeout_s)
    while running := _tasks_left(name, rest):
        if not deadline.pause(PAUSE_S):
            return Skipped(f"it does not exist, and tasks {', '.join(running)} of it have not ended")
    return ConnectorFacts(None)


def _tasks_left(name: str, rest: RestClient) -> list[str]:
    """Numbers of the tasks that go on by their status; workers forget it once the tasks have ended."""
    try:
        body = rest.get(f"{connector_path(name)}/status")
    except NotFound:
        return []
    with decoding(f"{rest.url}{connector_path(name)}/status answered no status of a connector"):
        tasks = list_of(object_of(body)["tasks"])
        return [str(task_number(each["id"])) for each in tasks if text_of(each["state"]) not in ENDED]


def read_connector_states(access: ClusterAccess, fold: FoldConfigs) -> Mapping[str, ConnectorState] | Skipped:
    """Every connector that the config topic mentions; Skipped where there is no such topic or it may not be read."""
    topic = access.config_topic
    if topic is None:
        return not_asked("neither a worker's address nor a config topic was given")
    try:
        records = read_log(access.wire, TopicPartition(topic, 0))
        return fold(decode_config_records(records))
    except (UsageError, NotAuthorized, Refused) as error:
        return Skipped.of(error)


def _from_config_topic(state: ConnectorState | None) -> ConnectorFacts:
    if state is None or not state.known:
        return ConnectorFacts(None)
    target = state.target_state or TargetState.STARTED
    return ConnectorFacts(target.value, len(state.visible_tasks))


def read_worker_cluster(access: ClusterAccess) -> str | Skipped:
    """The ID of the Kafka cluster that the workers keep their topics in, as a worker says it (`GET /`)."""

    def ask(rest: RestClient) -> str | Skipped:
        body = rest.get("/")
        cluster_id = body.get("kafka_cluster_id") if isinstance(body, dict) else None
        return cluster_id if isinstance(cluster_id, str) else Skipped(f"{rest.url} does not report its Kafka cluster")

    return access.ask_worker(ask) if access.connect_urls else not_asked("no worker's address was given")


def read_producer_cluster(clusters: Iterable[ClusterAccess], servers: Collection[str], connector: str) -> str | Skipped:
    """The ID of the cluster that the config of `connector` sends its producer to.

    It is asked with the identity of the first of the clusters that trusts these brokers.
    """
    named_by = f"the config of connector {connector}"
    known = [(trusting(each.wire).at(servers, named_by), each.timeout_s) for each in clusters]
    properties, timeout_s = next((each for each in known if each[0].named_by is None), known[0])
    try:
        with Wire(properties, timeout_s=timeout_s) as wire:
            return wire.cluster_id
    except EosctlError as error:
        return Skipped.of(error)


def read_former_configs(access: ClusterAccess, names: Collection[str]) -> Mapping[str, Properties] | Skipped:
    """The last config of each of these connectors that the config topic still holds, though they may be deleted.

    None of them where no config topic is given; Skipped where it may not be read.
    """
    if not names or access.config_topic is None:
        return {}
    found: dict[str, Properties] = {}
    try:
        for record in decode_config_records(read_log(access.wire, TopicPartition(access.config_topic, 0))):
            if (
                isinstance(record, ConnectorConfigRecord)
                and record.connector in names
                and record.properties is not None
                and record.origin.state is RecordState.COMMITTED
            ):
                found[record.connector] = record.properties
    except (UsageError, NotAuthorized, Refused) as error:
        return Skipped.of(error)
    return found
