"""Reading for the commands: the cluster, or a snapshot of it, as the same nouns."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

from eosctl.codecs.config_topic import decode_config_records
from eosctl.errors import EosctlError, NotAuthorized
from eosctl.model.names import TopicPartition
from eosctl.model.records import Record
from eosctl.model.skipped import Skipped
from eosctl.model.snapshot import ClusterFacts, ConfigTopicLog, Snapshot
from eosctl.model.topics import TopicFacts
from eosctl.model.transactions import TransactionDescription
from eosctl.operations.session import Context

if TYPE_CHECKING:
    from eosctl.clients.wire import Wire
    from eosctl.model.topics import PartitionOffsets

T = TypeVar("T")
SHOWN: Final = 3


def read_snapshot(context: Context, config_topic: str) -> Snapshot:
    """The cluster now, or the file given with --snapshot. The config topic's records are a stream to be read once."""
    if context.options.snapshot is not None:
        from eosctl.sources.snapshot_file import read_snapshot_file

        return read_snapshot_file(context.options.snapshot)
    return Snapshot(
        as_of=context.now(),
        cluster=read_cluster(context),
        group_id=context.options.group_id,
        config_topic=read_config_topic(context, config_topic),
        transactions=Skipped("not asked"),
        connect=context.read_connect(),
    )


class ListedIds(NamedTuple):
    """The IDs that coordinators list, and why others may be missing: a coordinator that did not answer."""

    transactional_ids: tuple[str, ...]
    unlisted: tuple[str, ...]


def read_listed_ids(context: Context) -> ListedIds:
    """Every ID that those coordinators list that answer."""
    from eosctl.sources.kafka_transactions import list_transactional_ids, unlisted

    listings = list_transactional_ids(context.wire)
    return ListedIds(tuple(each.transactional_id for each in listings.transactions), unlisted(context.wire, listings))


def read_transactions(
    context: Context, transactional_ids: Iterable[str]
) -> dict[str, TransactionDescription | Skipped]:
    """Descriptions of the IDs that coordinators know. Those that nobody described are all Skipped for one reason."""
    from eosctl.sources.kafka_transactions import describe_transactional_ids

    described = describe_transactional_ids(context.wire, transactional_ids)
    failures = {name: told for name, told in described.items() if isinstance(told, EosctlError)}
    unknown = Skipped(_why_unknown(tuple(dict.fromkeys(each.message for each in failures.values())), len(failures)))
    return {
        name: unknown if isinstance(told, EosctlError) else told for name, told in described.items() if told is not None
    }


def _why_unknown(reasons: Sequence[str], count: int) -> str:
    more = f"; and {len(reasons) - SHOWN} more reasons" if len(reasons) > SHOWN else ""
    ids = "1 transactional ID is unknown" if count == 1 else f"{count} transactional IDs are unknown"
    return f"{ids}: {'; '.join(reasons[:SHOWN])}{more}"


def read_descriptions(context: Context, transactional_ids: Iterable[str]) -> dict[str, TransactionDescription]:
    """Descriptions of the IDs that coordinators know; raises NotAuthorized for one that may not be described."""
    from eosctl.sources.kafka_transactions import describe_transactional_ids

    found = {}
    for name, described in describe_transactional_ids(context.wire, transactional_ids).items():
        if isinstance(described, EosctlError):
            raise described
        if described is not None:
            found[name] = described
    return found


def read_leaderless(
    context: Context, descriptions: Iterable[TransactionDescription | Skipped]
) -> frozenset[TopicPartition]:
    """Partitions of the open transactions among `descriptions` that have no leader just now."""
    from eosctl.sources.kafka_topics import leaderless

    opened = (each.partitions for each in descriptions if not isinstance(each, Skipped) and each.state.is_open)
    return leaderless(context.wire, (partition for partitions in opened for partition in partitions))


def read_cluster(context: Context) -> ClusterFacts:
    """Cluster ID, brokers and the least transaction.max.timeout.ms among them."""
    from eosctl.sources.kafka_topics import max_transaction_timeout_ms

    wire = context.wire
    addresses = {broker.node_id: f"{broker.host}:{broker.port}" for broker in wire.brokers()}
    return ClusterFacts(wire.cluster_id, addresses, max_transaction_timeout_ms(wire))


def read_config_topic(context: Context, topic: str) -> ConfigTopicLog:
    """The config topic: settings, offsets of partition 0, and its records as they are read."""
    from eosctl.sources.kafka_log import read_log
    from eosctl.sources.kafka_offsets import partition_offsets

    place = TopicPartition(topic, 0)
    offsets = partition_offsets(context.wire, [place])[place]
    records = read_log(context.wire, place, offsets=offsets)
    counted = _with_progress(context, records, offsets)
    return ConfigTopicLog(topic, topic_facts_or_skipped(context.wire, topic), offsets, decode_config_records(counted))


def topic_facts_or_skipped(wire: "Wire", topic: str) -> TopicFacts | Skipped:
    """The topic with its settings, which stay empty where DescribeConfigs is missing."""
    from eosctl.sources.kafka_topics import topic_facts, topic_settings

    try:
        facts = topic_facts(wire, [topic])[topic]
    except NotAuthorized as error:
        return Skipped(error.message)
    if facts is None:
        return Skipped(f"topic {topic} was deleted meanwhile")
    settings = topic_settings(wire, topic)
    # Settings that may not be read stay empty: each check that needs one says that it could not be made.
    return facts if isinstance(settings, Skipped) else replace(facts, settings=settings)


def _with_progress(context: Context, records: Iterator[Record], offsets: "PartitionOffsets") -> Iterator[Record]:
    total = offsets.high_watermark - offsets.log_start_offset
    with context.options.console.progress("reading the config topic", total, unit="records") as advance:
        for number, record in enumerate(records, 1):
            yield record
            if number % 1000 == 0:
                advance(1000)
