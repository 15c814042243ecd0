"""Open transactions with what their coordinators know of them, from the wire."""

from collections.abc import Collection

from eosctl.clients.leaders import NO_LEADER, partition_leaders
from eosctl.clients.wire import Wire
from eosctl.errors import EosctlError
from eosctl.model.described import transactional_ids_by_producer
from eosctl.model.hanging import OpenTransaction
from eosctl.model.joined_transactions import join_answers
from eosctl.model.names import TopicPartition
from eosctl.model.plan_facts import OpenNow
from eosctl.model.producers import ActiveProducer
from eosctl.model.skipped import Skipped
from eosctl.sources.kafka_producers import active_producers
from eosctl.sources.kafka_transactions import describe_transactional_ids, listed_transactions
from eosctl.sources.transactional_id_access import transactional_id_access


def join_with_coordinators(wire: Wire, candidates: Collection[ActiveProducer]) -> tuple[OpenTransaction, ...]:
    """Producers with an open transaction, joined with their transactional IDs and these with their descriptions.

    Raises Unreachable where a coordinator does not answer that might know one of them: whether it hangs is not known
    then. NotAuthorized where an ID may not be described.
    """
    if not candidates:
        return ()
    listed = listed_transactions(wire, producer_ids={each.producer.producer_id for each in candidates})
    names = transactional_ids_by_producer(listed.transactions)
    joined = join_answers(candidates, listed, describe_transactional_ids(wire, sorted(set(names.values()))))
    joined.require()
    return joined.transactions


def read_open_now(wire: Wire, topic_partition: TopicPartition, producer_id: int) -> OpenNow | None:
    """What the producer has open in the partition now; None where nothing. hangs is Skipped where it is not known."""
    leader = partition_leaders(wire, [topic_partition.topic]).get(topic_partition, NO_LEADER)
    producers = active_producers(wire, {topic_partition: leader})
    open_now = [
        each
        for each in producers
        if each.producer.producer_id == producer_id and each.transaction_start_offset is not None
    ]
    if not open_now:
        return None
    start_offset = open_now[0].transaction_start_offset
    assert start_offset is not None
    try:
        transactional_id_access(wire).require(wire.principal)
        (transaction,) = join_with_coordinators(wire, open_now)
    except EosctlError as error:
        return OpenNow(start_offset, Skipped.of(error))
    return OpenNow(start_offset, transaction.reason is not None)
