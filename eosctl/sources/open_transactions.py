"""Open transactions with what their coordinators know of them, and none of it when it would mislead."""

from collections.abc import Collection

from eosctl.analysis.hanging import join_open_transactions, reason_of, transactional_ids_by_producer
from eosctl.clients.leaders import NO_LEADER, partition_leaders
from eosctl.clients.wire import Wire
from eosctl.errors import EosctlError, NotAuthorized, Unreachable
from eosctl.model.hanging import JoinedTransactions, OpenTransaction, TransactionalIdAccess
from eosctl.model.names import TopicPartition
from eosctl.model.plan_facts import OpenNow
from eosctl.model.producers import ActiveProducer
from eosctl.model.skipped import Skipped
from eosctl.model.transactions import TransactionDescription
from eosctl.sources.kafka_producers import active_producers
from eosctl.sources.kafka_transactions import describe_transactional_ids, list_transactional_ids, unlisted
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

    Raises Unreachable where a coordinator does not answer that might know one of them: whether it hangs cannot be told
    then. NotAuthorized where an ID may not be described.
    """
    joined = join_with_answering(wire, candidates)
    joined.require()
    return joined.transactions


def join_with_answering(wire: Wire, candidates: Collection[ActiveProducer]) -> JoinedTransactions:
    """The same as far as coordinators answer: a producer that a silent one might know is among the undecided.

    A broker that does not list its IDs, and a partition of the transaction log without leader, hide theirs: nothing is
    known then of a producer that nobody lists. Raises NotAuthorized where an ID may not be described.
    """
    if not candidates:
        return JoinedTransactions((), (), ())
    ids = {each.producer.producer_id for each in candidates}
    listed = list_transactional_ids(wire, producer_ids=ids)
    names = transactional_ids_by_producer(listed.transactions)
    reasons = list(unlisted(wire, listed)) if ids - names.keys() else []
    hidden = ids - names.keys() if reasons else set()
    descriptions: dict[str, TransactionDescription] = {}
    for name, told in describe_transactional_ids(wire, sorted(set(names.values()))).items():
        if isinstance(told, Unreachable):
            reasons.append(told.message)
            hidden |= {producer_id for producer_id, each in names.items() if each == name}
        elif isinstance(told, EosctlError):
            raise told
        elif told is not None:
            descriptions[name] = told
    joined = join_open_transactions(candidates, names, descriptions)
    return JoinedTransactions(
        tuple(each for each in joined if each.producer.producer_id not in hidden),
        tuple(each for each in joined if each.producer.producer_id in hidden),
        tuple(dict.fromkeys(reasons)),
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
        return OpenNow(start_offset, Skipped.of(error))
    return OpenNow(start_offset, reason_of(transaction) is not None)
