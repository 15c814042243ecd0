"""Partitions as people write them: TOPIC for all of its partitions, TOPIC:0,3 for some."""

from collections.abc import Iterable, Mapping

from eosctl.errors import UsageError
from eosctl.model.names import TopicPartition

Wanted = Mapping[str, frozenset[int] | None]
"""Topic to the partitions wanted of it; None for all."""


def wanted_partitions(arguments: Iterable[str]) -> Wanted:
    """What the arguments name together. Raises UsageError for one that is no TOPIC[:PARTITION,…]."""
    wanted: dict[str, frozenset[int] | None] = {}
    for argument in arguments:
        topic, colon, indexes = argument.partition(":")
        if not topic or (colon and not all(index.isascii() and index.isdigit() for index in indexes.split(","))):
            raise UsageError(f"{argument!r} is no TOPIC or TOPIC:PARTITION,…", hint="for example orders:0,3")
        before = wanted.get(topic, frozenset())
        named = frozenset(int(index) for index in indexes.split(",")) if colon else None
        wanted[topic] = None if named is None or before is None else before | named
    return wanted


def chosen(leaders: Mapping[TopicPartition, int], wanted: Wanted) -> dict[TopicPartition, int]:
    """Those of the partitions that are wanted, with their leaders; raises UsageError for one that does not exist."""
    for topic, indexes in wanted.items():
        for index in sorted(indexes or ()):
            if TopicPartition(topic, index) not in leaders:
                raise UsageError(f"topic {topic} has no partition {index}")
    return {
        partition: leader
        for partition, leader in leaders.items()
        if partition.topic in wanted
        and ((indexes := wanted[partition.topic]) is None or partition.partition in indexes)
    }
