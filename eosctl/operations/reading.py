"""Reading for the operations that do not read through session.reader yet."""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from eosctl.codecs.config_topic import decode_config_records
from eosctl.errors import EosctlError
from eosctl.model.names import TopicPartition
from eosctl.model.records import Record
from eosctl.model.skipped import Skipped
from eosctl.model.snapshot import ClusterFacts, ConfigTopicLog
from eosctl.model.transactions import TransactionDescription
from eosctl.operations.session import Session

if TYPE_CHECKING:
    from eosctl.model.topics import PartitionOffsets

T = TypeVar("T")


class ListedIds(NamedTuple):
    """The IDs that coordinators list, and why others may be missing: a coordinator that did not answer."""

    transactional_ids: tuple[str, ...]
    unlisted: tuple[str, ...]


def read_listed_ids(session: Session) -> ListedIds:
    """Every ID that those coordinators list that answer."""
    from eosctl.sources.kafka_transactions import list_transactional_ids, unlisted

    listings = list_transactional_ids(session.wire)
    return ListedIds(tuple(each.transactional_id for each in listings.transactions), unlisted(session.wire, listings))


def read_descriptions(session: Session, transactional_ids: Iterable[str]) -> dict[str, TransactionDescription]:
    """Descriptions of the IDs that coordinators know; raises NotAuthorized for one that may not be described."""
    from eosctl.sources.kafka_transactions import describe_transactional_ids

    found = {}
    for name, described in describe_transactional_ids(session.wire, transactional_ids).items():
        if isinstance(described, EosctlError):
            raise described
        if described is not None:
            found[name] = described
    return found


def read_leaderless(
    session: Session, descriptions: Iterable[TransactionDescription | Skipped]
) -> frozenset[TopicPartition]:
    """Partitions of the open transactions among `descriptions` that have no leader just now."""
    from eosctl.sources.kafka_topics import leaderless

    opened = (each.partitions for each in descriptions if not isinstance(each, Skipped) and each.state.is_open)
    return leaderless(session.wire, (partition for partitions in opened for partition in partitions))


def read_cluster(session: Session) -> ClusterFacts:
    """Cluster ID, brokers and the least transaction.max.timeout.ms among them."""
    from eosctl.sources.kafka_topics import max_transaction_timeout_ms

    wire = session.wire
    addresses = {broker.node_id: f"{broker.host}:{broker.port}" for broker in wire.brokers()}
    return ClusterFacts(wire.cluster_id, addresses, max_transaction_timeout_ms(wire))


def read_config_topic(session: Session, topic: str) -> ConfigTopicLog:
    """The config topic: settings, offsets of partition 0, and its records as they are read."""
    from eosctl.sources.kafka_log import read_log
    from eosctl.sources.kafka_offsets import partition_offsets
    from eosctl.sources.kafka_topics import topic_facts_or_skipped

    place = TopicPartition(topic, 0)
    offsets = partition_offsets(session.wire, [place])[place]
    records = read_log(session.wire, place, offsets=offsets)
    counted = _with_progress(session, records, offsets)
    return ConfigTopicLog(topic, topic_facts_or_skipped(session.wire, topic), offsets, decode_config_records(counted))


def _with_progress(session: Session, records: Iterator[Record], offsets: "PartitionOffsets") -> Iterator[Record]:
    total = offsets.high_watermark - offsets.log_start_offset
    with session.options.console.progress("reading the config topic", total, unit="records") as advance:
        for number, record in enumerate(records, 1):
            yield record
            if number % 1000 == 0:
                advance(1000)
