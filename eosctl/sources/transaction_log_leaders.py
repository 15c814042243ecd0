"""Who leads the partitions of the transaction log, and so coordinates the IDs in them."""

from collections.abc import Mapping

from eosctl.clients.leaders import NO_LEADER, partition_leaders
from eosctl.clients.wire import Wire
from eosctl.errors import NotAuthorized
from eosctl.model.names import TRANSACTION_LOG
from eosctl.model.skipped import Skipped
from eosctl.sources.kafka_topics import topic_facts


def transaction_log_leaders(wire: Wire) -> Mapping[int, int]:
    """Partition of the transaction log to the node ID of its leader, which coordinates the IDs in it (-1: none).

    Empty where no transaction was ever begun in this cluster: the topic does not exist then.
    """
    if topic_facts(wire, [TRANSACTION_LOG])[TRANSACTION_LOG] is None:
        return {}
    return {each.partition: leader for each, leader in partition_leaders(wire, [TRANSACTION_LOG]).items()}


def leaderless_log_partitions(wire: Wire) -> tuple[int, ...] | Skipped:
    """Partitions of the transaction log without a leader: no broker coordinates, lists or describes their IDs.

    Skipped where Describe on the topic is missing.
    """
    try:
        leaders = transaction_log_leaders(wire)
    except NotAuthorized as error:
        return Skipped.of(error)
    return tuple(sorted(partition for partition, leader in leaders.items() if leader == NO_LEADER))
