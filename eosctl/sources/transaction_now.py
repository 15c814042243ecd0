"""One transactional ID as it is now: at its coordinator, in its partitions, and the markers that ended it."""

from collections.abc import Mapping
from functools import partial

from eosctl.clients.leaders import NO_LEADER, partition_leaders
from eosctl.clients.wire import Wire
from eosctl.codecs.record_batches import EndTransactionMarker, decode_marker
from eosctl.errors import EosctlError
from eosctl.model.names import TopicPartition, coordinator_partition
from eosctl.model.records import IsolationLevel
from eosctl.model.skipped import Skipped, or_skipped
from eosctl.model.transaction_log import TransactionLogRecord, TransactionLogValue
from eosctl.model.transaction_steps import CommitTransaction, TransactionNow
from eosctl.model.transactions import TransactionState
from eosctl.sources.kafka_offsets import partition_offsets
from eosctl.sources.kafka_producers import answering_producers
from eosctl.sources.kafka_transactions import describe_transactional_ids
from eosctl.sources.log_reader import LogReader
from eosctl.sources.transaction_log import read_transaction_log, transaction_log_offsets
from eosctl.sources.transaction_log_leaders import transaction_log_leaders


def read_transaction_now(wire: Wire, transactional_id: str) -> TransactionNow:
    """As coordinator and leaders answer. Of a complete transaction the log says when it began; needs Read on it then.

    Raises NotAuthorized where a right is missing, Unreachable where the coordinator does not answer.
    """
    described = describe_transactional_ids(wire, [transactional_id])[transactional_id]
    if isinstance(described, EosctlError):
        raise described
    if described is None:
        return TransactionNow(None)
    if described.state is TransactionState.ONGOING:
        leaders = partition_leaders(wire, {each.topic for each in described.partitions}) if described.partitions else {}
        led = {place: leaders.get(place, NO_LEADER) for place in described.partitions}
        found = answering_producers(wire, {place: leader for place, leader in led.items() if leader != NO_LEADER})
        leaderless = tuple(place for place, leader in led.items() if leader == NO_LEADER)
        return TransactionNow.ongoing(described, found.producers, (*found.unanswered, *leaderless))
    if described.state.is_open:
        return TransactionNow(described.state, described.producer, described.start_ms)
    last = last_logged(wire, transactional_id)
    return TransactionNow(described.state, described.producer, None if last is None else last.start_ms)


def last_logged(wire: Wire, transactional_id: str) -> TransactionLogValue | None:
    """What the transaction log says last of the ID; None where it has no record of it, or forgot it."""
    leaders = transaction_log_leaders(wire)
    partition = coordinator_partition(transactional_id, len(leaders))
    found: TransactionLogValue | None = None
    for record in read_transaction_log(wire, transaction_log_offsets(wire, [partition]).offsets):
        if isinstance(record, TransactionLogRecord) and record.transactional_id == transactional_id:
            found = record.value
    return found


def read_markers(
    wire: Wire, step: CommitTransaction, since: Mapping[TopicPartition, int]
) -> Mapping[TopicPartition, EndTransactionMarker | Skipped | None]:
    """The first end-transaction marker of the step's producer at or behind each of these offsets; None: there is none.

    Needs Read on the topics; what could not be read is Skipped.
    """
    return {place: or_skipped(partial(_marker, wire, step, place, start)) for place, start in since.items()}


def _marker(wire: Wire, step: CommitTransaction, place: TopicPartition, start: int) -> EndTransactionMarker | None:
    end = partition_offsets(wire, [place])[place].high_watermark
    for batches, _ in LogReader(wire, place, start, end, IsolationLevel.READ_UNCOMMITTED):
        for batch in batches:
            header = batch.header
            if header.is_control and header.producer_id == step.producer_id and header.base_offset >= start:
                marker = decode_marker(batch, topic_partition=place)
                if marker is not None:
                    return marker
    return None
