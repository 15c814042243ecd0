"""What a command reads of a Kafka cluster and of the config topic in it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from eosctl.model.config_topic import ConfigRecord
from eosctl.model.skipped import Skipped
from eosctl.model.topics import PartitionOffsets, TopicFacts


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
