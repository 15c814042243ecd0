"""Which of the partitions that there are somebody asked for."""

from collections.abc import Mapping

from eosctl.errors import UsageError
from eosctl.model.names import TopicPartition
from eosctl.sources.cluster_reader import Wanted


def wanted_of(leaders: Mapping[TopicPartition, int], wanted: Wanted) -> Mapping[TopicPartition, int]:
    """Those of the partitions that are wanted; none named: all. UsageError for one that does not exist."""
    for topic, indexes in wanted.items():
        for index in sorted(indexes or ()):
            if TopicPartition(topic, index) not in leaders:
                raise UsageError(f"topic {topic} has no partition {index}")
    return {
        place: leader
        for place, leader in leaders.items()
        if not wanted or (place.topic in wanted and _is_among(place.partition, wanted[place.topic]))
    }


def _is_among(index: int, indexes: frozenset[int] | None) -> bool:
    return indexes is None or index in indexes
