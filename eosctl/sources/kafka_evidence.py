"""Settings of brokers, internal topics and the transaction log, for the rules.

Facts that may not be read are Skipped.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Final, TypeVar

from msgspec.structs import replace

from eosctl.clients.errors import protocol_error
from eosctl.clients.leaders import JUST_NOW_S, partition_leaders
from eosctl.clients.messages import describe_quorum, features
from eosctl.clients.wire import Wire
from eosctl.errors import Undecodable
from eosctl.model.evidence import InternalTopic, Topics, TransactionLog
from eosctl.model.names import TRANSACTION_LOG, TopicPartition
from eosctl.model.skipped import Skipped, read_or_skip
from eosctl.model.times import ClusterClock
from eosctl.model.topics import TopicFacts
from eosctl.model.versions import KafkaVersion, Release
from eosctl.sources.kafka_log import first_keys
from eosctl.sources.kafka_topics import settings_by_broker, topic_facts, topic_settings

BROKER_KEYS: Final = (
    *("transaction.max.timeout.ms", "transactional.id.expiration.ms", "transaction.partition.verification.enable"),
    *("transaction.state.log.replication.factor", "transaction.state.log.min.isr"),
    "transaction.state.log.num.partitions",
    *("transaction.abort.timed.out.transaction.cleanup.interval.ms", "producer.id.expiration.ms"),
)

STATUS: Final = b"status-"
"""How each key of a status topic begins: status-connector-, status-task- or status-topic-."""

FIRST: Final = KafkaVersion(0, 11)
PRODUCE: Final = 0
API_VERSIONS: Final = 18
WRITE_TXN_MARKERS: Final = 27
DESCRIBE_LOG_DIRS: Final = 35
LIST_TRANSACTIONS: Final = 66
APIS_SINCE: Final = (
    (KafkaVersion(3, 0), LIST_TRANSACTIONS, 0),
    (KafkaVersion(3, 7), PRODUCE, 10),
    (KafkaVersion(3, 8), LIST_TRANSACTIONS, 1),
    (KafkaVersion(4, 0), PRODUCE, 12),
    (KafkaVersion(4, 1), PRODUCE, 13),
    (KafkaVersion(4, 2), WRITE_TXN_MARKERS, 2),
    (KafkaVersion(4, 3), DESCRIBE_LOG_DIRS, 5),
    (KafkaVersion(4, 4), API_VERSIONS, 5),
)
"""Releases with an API, and its version, that brokers answer from then on: KIP-664, 951, 994, 890, 516, 1228 and 1242.

DescribeLogDirs 5 came with 4.3 (ApiMessageType of clients 4.2.1 and 4.3.0)."""

T = TypeVar("T")


def read_broker_settings(wire: "Wire") -> Mapping[int, Mapping[str, str] | Skipped]:
    """The settings of every live broker that the rules ask for, by node ID."""
    return settings_by_broker(wire, BROKER_KEYS)


def read_broker_releases(wire: "Wire") -> Mapping[int, Release | Skipped]:
    """The release of every live broker by its API versions, by node ID."""
    nodes = [broker.node_id for broker in wire.brokers()]
    return {node: read_or_skip(partial(_release, wire, node)) for node in nodes}


def read_finalized_features(wire: "Wire") -> Mapping[str, int] | Skipped:
    """The level of each feature that the cluster has finalized (KIP-584), by its name; one at level 0 is absent.

    All brokers of a cluster follow the same levels; one broker is queried.
    """
    answer = wire.request_any(features())
    if answer.finalized_features_epoch is None or answer.finalized_features_epoch < 0:
        return Skipped("the broker does not know the finalized features")
    return {each.name: int(each.max_version_level) for each in answer.finalized_features or ()}


def _release(wire: "Wire", node: int) -> Release:
    apis = wire.api_versions(node)
    had = [release for release, api, version in APIS_SINCE if api in apis and apis[api].highest >= version]
    at_least = max(had, default=FIRST)
    return Release(at_least, min((release for release, *_ in APIS_SINCE if release > at_least), default=None))


def read_topic(wire: "Wire", name: str) -> TopicFacts | None:
    """The topic with its settings, or None."""
    facts = topic_facts(wire, [name], heard_s=JUST_NOW_S)[name]
    if facts is None:
        return None
    return replace(facts, settings=topic_settings(wire, name))


def read_topics(wire: "Wire", names: Iterable[str]) -> Topics:
    """Each topic with its settings, one topic after the other; Skipped where Describe on it is missing."""
    found: dict[str, TopicFacts | Skipped | None] = {}
    for name in sorted(set(names)):
        found[name] = read_or_skip(partial(_or_none, wire, name))
    return found


def read_internal_topic(wire: "Wire", role: str, name: str) -> InternalTopic:
    facts = read_or_skip(lambda: _or_none(wire, name))
    is_there = role == "status" and isinstance(facts, TopicFacts)
    return InternalTopic(role, name, facts, is_there and _has_no_status(wire, name))


def _has_no_status(wire: "Wire", topic: str) -> bool:
    """True if none of the first keys is one of KafkaStatusBackingStore; False if they may not be read."""
    keys = read_or_skip(lambda: tuple(first_keys(wire, [TopicPartition(topic, 0)])))
    return not isinstance(keys, Skipped) and keys != () and not any((key or b"").startswith(STATUS) for key in keys)


def _or_none(wire: "Wire", name: str) -> TopicFacts | Skipped | None:
    return read_topic(wire, name)


def read_transaction_log(wire: "Wire") -> TransactionLog | None:
    """`__transaction_state` and who leads its partitions; None before the first transactional ID is used."""
    facts = read_topic(wire, TRANSACTION_LOG)
    if facts is None:
        return None
    leaders = partition_leaders(wire, [TRANSACTION_LOG], heard_s=JUST_NOW_S)
    return TransactionLog(facts, {place.partition: node for place, node in leaders.items()})


def read_clock(wire: Wire, now: Callable[[], int]) -> ClusterClock:
    """The active controller's clock beside `now` (ms since the epoch).

    The leader of the quorum reports itself as caught up at the time of its answer (KIP-836; LeaderState of Kafka's raft
    since 3.3). Raises Unsupported where brokers have no quorum (ZooKeeper), NotAuthorized without Describe on the
    cluster.
    """
    before = now()
    response = wire.request_any(describe_quorum())
    after = now()
    if response.error_code:
        raise protocol_error(
            response.error_code, principal=wire.principal, operation="Describe", resource="Cluster kafka-cluster"
        )
    [partition] = response.topics[0].partitions
    times = [
        each.last_caught_up_timestamp for each in partition.current_voters if each.replica_id == partition.leader_id
    ]
    if partition.error_code or not times or times[0] < 0:
        raise Undecodable("the quorum does not report its leader's time")
    return ClusterClock(partition.leader_id, times[0] - (before + after) // 2, after - before)
