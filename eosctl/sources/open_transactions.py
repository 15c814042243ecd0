"""Open transactions with what their coordinators know of them, and none of it when it would mislead."""

from collections.abc import Collection

from eosctl.analysis.hanging import join_open_transactions, reason_of, transactional_ids_by_producer
from eosctl.clients.leaders import NO_LEADER, partition_leaders
from eosctl.clients.wire import Wire
from eosctl.errors import EosctlError, NotAuthorized, Unreachable
from eosctl.model.hanging import OpenTransaction, TransactionalIdAccess
from eosctl.model.names import TopicPartition
from eosctl.model.plan_facts import OpenNow
from eosctl.model.producers import ActiveProducer
from eosctl.model.skipped import Skipped
from eosctl.model.transactions import TransactionDescription
from eosctl.sources.kafka_producers import active_producers
from eosctl.sources.kafka_transactions import describe_transactional_ids, list_transactional_ids
from eosctl.sources.transaction_log import transaction_log_leaders
from eosctl.sources.transactional_id_access import transactional_id_access


def require_access(access: TransactionalIdAccess, principal: str) -> None:
    """Raise NotAuthorized where some transactional IDs are kept from this principal."""
    if not access.granted:
        more = f" and {len(access.denied) - 3} more" if len(access.denied) > 3 else ""
        raise NotAuthorized(
            principal=principal,
            operation="Describe",
            resource="TransactionalId *",
            hint="without it every open transaction of an ID that may not be seen would look as if it hung; "
            f"refused: {', '.join(access.denied[:3])}{more}",
        )


def join_with_coordinators(wire: Wire, candidates: Collection[ActiveProducer]) -> tuple[OpenTransaction, ...]:
    """Producers with an open transaction, joined with their transactional IDs and these with their descriptions.

    Raises Unreachable where a coordinator does not answer, or where one is missing and an ID was not found: whether
    anything hangs cannot be told then. NotAuthorized where an ID may not be described.
    """
    if not candidates:
        return ()
    ids = {each.producer.producer_id for each in candidates}
    listed = list_transactional_ids(wire, producer_ids=ids)
    for node_id, error in listed.unanswered.items():
        raise Unreachable(
            f"broker {node_id} does not say which transactional IDs it coordinates: {error.message}",
            hint="without its answer it cannot be told whether a transaction hangs; run the command again",
        ) from error
    names = transactional_ids_by_producer(listed.transactions)
    if ids - names.keys():
        _require_all_coordinators(wire)
    descriptions: dict[str, TransactionDescription] = {}
    for name, told in describe_transactional_ids(wire, sorted(set(names.values()))).items():
        if isinstance(told, EosctlError):
            raise told
        if told is not None:
            descriptions[name] = told
    return join_open_transactions(candidates, names, descriptions)


def _require_all_coordinators(wire: Wire) -> None:
    """A transaction log partition without a leader hides its IDs: then nothing is known of an ID that nobody lists."""
    lost = [
        str(partition) for partition, leader in sorted(transaction_log_leaders(wire).items()) if leader == NO_LEADER
    ]
    if lost:
        raise Unreachable(
            f"partitions {', '.join(lost)} of __transaction_state have no leader, so the IDs in them are not known",
            hint="without them it cannot be told whether a transaction hangs; bring their brokers back first",
        )


def read_open_now(wire: Wire, topic_partition: TopicPartition, producer_id: int) -> OpenNow | None:
    """What the producer has open in the partition now; None where nothing. hangs is Skipped where it cannot be told."""
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
        require_access(transactional_id_access(wire), wire.principal)
        (transaction,) = join_with_coordinators(wire, open_now)
    except EosctlError as error:
        return OpenNow(start_offset, Skipped(error.message))
    return OpenNow(start_offset, reason_of(transaction) is not None)
