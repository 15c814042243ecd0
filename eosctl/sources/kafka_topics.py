"""The brokers' answers about topics, about their configs and about their own."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Final
from uuid import UUID

from msgspec.structs import replace

from eosctl.clients.errors import UNKNOWN_TOPIC_OR_PARTITION, code_name, protocol_error
from eosctl.clients.leaders import LEADER_NOT_AVAILABLE, NO_LEADER, topics_of
from eosctl.clients.messages import BROKER_RESOURCE, TOPIC_RESOURCE, Response, describe_configs, topics_metadata
from eosctl.clients.wire import Wire
from eosctl.errors import NotAuthorized, denial
from eosctl.model.names import TopicPartition, is_topic_name
from eosctl.model.skipped import Cause, Skipped, read_or_skip
from eosctl.model.topics import CLEANUP_POLICY, TopicDescription, TopicFacts
from eosctl.model.whole_numbers import whole_number

ID_EXPIRATION: Final = "transactional.id.expiration.ms"
MAX_TRANSACTION_TIMEOUT: Final = "transaction.max.timeout.ms"
CLUSTER: Final = "Cluster kafka-cluster"
Settings = Mapping[str, str] | Skipped
NO_TOPIC_ID: Final = UUID(int=0)
NOT_AUTHORIZED: Final = frozenset({29, 31})
BROKER_PATIENCE_S: Final = 3.0
"""The time in which one broker must answer with its configs: the answer can do without them."""


def topic_facts(
    wire: Wire, topics: Iterable[str] | None = None, *, heard_s: float = 0.0
) -> Mapping[str, TopicFacts | None]:
    """Partitions and replication factor of each of `topics` (None: all that Describe allows), without settings.

    A Metadata answer that is at most heard_s old will do.
    None for a topic that does not exist; a name that no topic can have is not requested. Raises NotAuthorized if
    Describe on a named topic is missing.
    """
    if topics is None:
        return {topic.name: _facts(wire, topic) for topic in wire.request_any(topics_metadata(None)).topics}
    named = sorted(set(topics))
    return {**dict.fromkeys(named), **{topic.name: _facts(wire, topic) for topic in _metadata(wire, named, heard_s)}}


def _metadata(wire: Wire, topics: Iterable[str], heard_s: float = 0.0) -> Sequence[Response]:
    """A broker's answer for valid topic names: an invalid one would make it refuse the whole request."""
    possible = [each for each in topics if is_topic_name(each)]
    return topics_of(wire, possible, heard_s=heard_s) if possible else ()


def listed_topics(wire: Wire, names: Iterable[str] = ()) -> Sequence[Response]:
    """The topics of a Metadata response for these names; without names all that Describe allows, internal ones too."""
    found: Sequence[Response] = wire.request_any(topics_metadata(sorted(set(names)) or None)).topics
    return found


def _facts(wire: Wire, topic: Response) -> TopicFacts | None:
    if topic.error_code == UNKNOWN_TOPIC_OR_PARTITION:
        return None
    if topic.error_code not in {0, LEADER_NOT_AVAILABLE}:
        resource = f"Topic {topic.name}"
        raise protocol_error(topic.error_code, principal=wire.principal, operation="Describe", resource=resource)
    replicas = min((len(partition.replica_nodes) for partition in topic.partitions), default=0)
    in_sync = min((len(partition.isr_nodes) for partition in topic.partitions), default=None)
    lagging = [each for each in topic.partitions if len(each.isr_nodes) < len(each.replica_nodes)]
    under_replicated = min((len(partition.isr_nodes) for partition in lagging), default=None)
    leaderless = tuple(sorted(each.partition_index for each in topic.partitions if each.leader_id == NO_LEADER))
    return TopicFacts(
        topic.name,
        len(topic.partitions),
        replicas,
        in_sync=in_sync,
        leaderless=leaderless,
        under_replicated=under_replicated,
    )


def topic_ids(wire: Wire, topics: Iterable[str]) -> Mapping[str, str | None]:
    """Topic ID of each of `topics` that exists (KIP-516), None where the broker gives topics none (before 2.8).

    Raises NotAuthorized where Describe is missing.
    """
    found = _metadata(wire, sorted(set(topics)))
    named = {topic.name: getattr(topic, "topic_id", None) for topic in found if _facts(wire, topic) is not None}
    return {name: None if topic_id in {None, NO_TOPIC_ID} else str(topic_id) for name, topic_id in named.items()}


def describe_topics(wire: Wire, names: Iterable[str], keys: Iterable[str]) -> Mapping[str, TopicDescription]:
    """Each of these topics that exists, with these settings; one request for each topic's settings.

    Raises NotAuthorized where Describe is missing.
    """
    names, keys = tuple(names), tuple(keys)
    ids = topic_ids(wire, names)
    return {
        name: TopicDescription(name, each.partitions, ids.get(name), topic_settings(wire, name, keys))
        for name, each in topic_facts(wire, names).items()
        if each is not None
    }


def replicas(wire: Wire) -> Mapping[TopicPartition, Sequence[int]]:
    """The brokers of each partition that may be described."""
    return {
        TopicPartition(topic.name, part.partition_index): tuple(part.replica_nodes)
        for topic in listed_topics(wire)
        for part in topic.partitions
    }


def leaderless(wire: Wire, partitions: Iterable[TopicPartition]) -> frozenset[TopicPartition]:
    """The `partitions` without a leader now. Partitions of a deleted or hidden topic are not among them."""
    asked = frozenset(partitions)
    if not asked:
        return asked
    response = wire.request_any(topics_metadata(sorted({each.topic for each in asked})))
    return asked & {
        TopicPartition(topic.name, partition.partition_index)
        for topic in response.topics
        for partition in topic.partitions
        if partition.leader_id == NO_LEADER
    }


def topic_settings(wire: Wire, topic: str, keys: Iterable[str] | None = None) -> Mapping[str, str] | Skipped:
    """Effective configs of `topic` (keys None: all) without secret ones; Skipped where DescribeConfigs is missing."""
    response = wire.request_any(describe_configs(TOPIC_RESOURCE, topic, keys))
    return settings_of(wire, response, f"Topic {topic}")


def settings_ahead(wire: Wire, topic: str) -> Callable[[], Settings]:
    """The function that gives all configs of the topic; the request for them is on its way meanwhile."""
    answer = wire.ahead(describe_configs(TOPIC_RESOURCE, topic))
    return lambda: settings_of(wire, answer(), f"Topic {topic}")


def uncompacted_topics(wire: Wire, topics: Iterable[str]) -> Mapping[str, str]:
    """The topics with records that are known not to change below their end, with their IDs."""
    ids = read_or_skip(lambda: topic_ids(wire, topics))
    found = {}
    for name, topic_id in ({} if isinstance(ids, Skipped) else ids).items():
        settings = read_or_skip(partial(topic_settings, wire, name, [CLEANUP_POLICY]))
        if topic_id is not None and not isinstance(settings, Skipped) and settings.get(CLEANUP_POLICY) == "delete":
            found[name] = topic_id
    return found


def broker_settings(wire: Wire, node_id: int, keys: Iterable[str] | None = None) -> Mapping[str, str] | Skipped:
    """Effective configs of broker `node_id` as itself knows them; Skipped where DescribeConfigs is not allowed."""
    timeout_s = min(wire.timeout_s, BROKER_PATIENCE_S)
    response = wire.request(node_id, describe_configs(BROKER_RESOURCE, str(node_id), keys), timeout_s=timeout_s)
    return settings_of(wire, response, CLUSTER)


def settings_by_broker(wire: Wire, keys: Iterable[str]) -> Mapping[int, Settings]:
    """The same of every live broker, all at once; Skipped for one that does not answer."""
    wanted = tuple(keys)
    window = wire.window(timeout_s=min(wire.timeout_s, BROKER_PATIENCE_S))
    for broker in wire.brokers():
        request = describe_configs(BROKER_RESOURCE, str(broker.node_id), wanted)
        window.put(broker.node_id, broker.node_id, request)
    found = {
        each.node_id: settings_of(wire, each.response, CLUSTER) if each.error is None else Skipped.of(each.error)
        for each in window
    }
    return dict(sorted(found.items()))


def settings_of(wire: Wire, response: Response, resource: str) -> Mapping[str, str] | Skipped:
    """The configs that a DescribeConfigs answers; Skipped where it was refused for `resource`."""
    [result] = response.results
    if result.error_code in NOT_AUTHORIZED:
        return Skipped(denial(wire.principal, "DescribeConfigs", resource), Cause.DENIED)
    if result.error_code:
        return Skipped(f"the broker refuses DescribeConfigs on {resource} with {code_name(result.error_code)}")
    return {config.name: config.value for config in result.configs if config.value is not None}


def max_transaction_timeout_ms(wire: Wire) -> int | Skipped:
    """The least `transaction.max.timeout.ms` of all brokers: what every coordinator accepts in an InitProducerId.

    Skipped where one broker does not say.
    """
    return _least_setting(wire, MAX_TRANSACTION_TIMEOUT)


def topic_facts_or_skipped(
    wire: Wire, topic: str, settings: Callable[[], Settings], *, heard_s: float = 0.0
) -> TopicFacts | Skipped:
    try:
        facts = topic_facts(wire, [topic], heard_s=heard_s)[topic]
    except NotAuthorized as error:
        return Skipped.of(error)
    if facts is None:
        return Skipped(f"topic {topic} was deleted during the read")
    return replace(facts, settings=read_or_skip(settings))


def id_expiration_ms(wire: Wire) -> int | Skipped:
    """The brokers' transactional.id.expiration.ms, the least of them; Skipped where one does not say."""
    return _least_setting(wire, ID_EXPIRATION)


def _least_setting(wire: Wire, key: str) -> int | Skipped:
    found = []
    for node_id, settings in settings_by_broker(wire, [key]).items():
        if isinstance(settings, Skipped):
            return settings
        if key not in settings:
            return Skipped(f"broker {node_id} does not report its {key}")
        found.append(whole_number(settings[key], key))
    return min(found)
