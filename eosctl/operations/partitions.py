"""Partitions as people write them: TOPIC for all of its partitions, TOPIC:0,3 for some."""

from collections.abc import Iterable

from eosctl.errors import UsageError
from eosctl.sources.cluster_reader import Wanted


def wanted_partitions(arguments: Iterable[str]) -> Wanted:
    """What the arguments name together. Raises UsageError for one that is not TOPIC[:PARTITION,…]."""
    wanted: dict[str, frozenset[int] | None] = {}
    for argument in arguments:
        topic, colon, indexes = argument.partition(":")
        if not topic or (colon and not all(index.isascii() and index.isdigit() for index in indexes.split(","))):
            raise UsageError(f"invalid partition {argument!r}: expected TOPIC[:N,…]", hint="for example orders:0,3")
        before = wanted.get(topic, frozenset())
        named = frozenset(int(index) for index in indexes.split(",")) if colon else None
        wanted[topic] = None if named is None or before is None else before | named
    return wanted
