"""Everything that one command read, and when. What could not be read is Skipped with a reason, never empty."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from eosctl.model.config_topic import ConfigRecord
from eosctl.model.skipped import Skipped
from eosctl.model.topics import PartitionOffsets, TopicFacts
from eosctl.model.transactions import TransactionDescription
from eosctl.model.workers import ConnectFacts

__all__ = ["ClusterFacts", "ConfigTopicLog", "Skipped", "Snapshot"]


@dataclass(frozen=True, slots=True)
class ClusterFacts:
    """A Kafka cluster: its ID, its brokers as node ID to `host:port`, and transaction.max.timeout.ms of its brokers."""

    cluster_id: str
    brokers: Mapping[int, str]
    transaction_max_timeout_ms: int | Skipped


@dataclass(frozen=True, slots=True)
class ConfigTopicLog:
    """The config topic: its settings, its offsets, and its records in offset order.

    records may be a stream that can be read once; saved snapshots hold them as a tuple.
    """

    topic: str
    facts: TopicFacts | Skipped
    offsets: PartitionOffsets | Skipped
    records: Iterable[ConfigRecord]


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Facts about one cluster, read at as_of (ms since the epoch).

    group_id names the Connect cluster, None where nobody gave it; transactions holds a description of every
    transactional ID that was asked for and that its coordinator knows.
    """

    as_of: int
    cluster: ClusterFacts | Skipped
    group_id: str | None
    config_topic: ConfigTopicLog | Skipped
    transactions: Mapping[str, TransactionDescription] | Skipped
    connect: ConnectFacts | Skipped
