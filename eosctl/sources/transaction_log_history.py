"""The past of producer IDs, read from `__transaction_state`: from its leaders, or from files of log directories.

Only the partitions that hold IDs which are known to be held are read; all of them where one producer ID's is not known.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping

from eosctl.analysis.audit.transaction_log_history import fold_past
from eosctl.clients.wire import Wire
from eosctl.codecs.record_batches import decode_records
from eosctl.codecs.transaction_log import decode_log_record
from eosctl.errors import EosctlError
from eosctl.model.audit import OffsetRange, TransactionalIdHolder
from eosctl.model.names import TopicPartition, coordinator_partition
from eosctl.model.skipped import Skipped
from eosctl.model.transaction_log import TRANSACTION_LOG, LogRecord
from eosctl.model.transaction_log_history import TransactionLogHistory
from eosctl.sources.audit_log import DataBatch
from eosctl.sources.audit_segments import PartitionSegments, read_segments
from eosctl.sources.kafka_log import read_log
from eosctl.sources.kafka_topics import topic_facts


def read_history(
    wire: Wire, producer_ids: Collection[int], holders: Iterable[TransactionalIdHolder] | Skipped
) -> TransactionLogHistory | Skipped:
    """From the leaders; Skipped where Read or Describe on the topic is missing, or a partition cannot be read."""
    try:
        facts = topic_facts(wire, [TRANSACTION_LOG])[TRANSACTION_LOG]
        if facts is None:
            return Skipped("the transaction log does not exist, or Describe on it is missing")
        partitions = _partitions(producer_ids, holders, facts.partitions)
        return fold_past(_records(wire, partitions), producer_ids)
    except EosctlError as error:
        return Skipped.of(error)


def _partitions(
    producer_ids: Collection[int], holders: Iterable[TransactionalIdHolder] | Skipped, count: int
) -> Collection[int]:
    known: Mapping[int, list[str]] = {}
    if not isinstance(holders, Skipped):
        known = {producer_id: [] for producer_id in producer_ids}
        for each in holders:
            if each.producer_id in known:
                known[each.producer_id].append(each.transactional_id)
    if not known or not all(known.values()):
        return range(count)
    return sorted({coordinator_partition(name, count) for names in known.values() for name in names})


def _records(wire: Wire, partitions: Iterable[int]) -> Iterator[LogRecord]:
    for partition in partitions:
        for record in read_log(wire, TopicPartition(TRANSACTION_LOG, partition)):
            yield decode_log_record(partition, record)


def read_segment_history(
    partitions: Iterable[PartitionSegments], producer_ids: Collection[int]
) -> TransactionLogHistory | Skipped:
    """From segment files; Skipped where a record is none, or the directories have no transaction log."""
    found = list(partitions)
    if not found:
        return Skipped("the log directories hold no transaction log")
    try:
        return fold_past(_segment_records(found), producer_ids)
    except EosctlError as error:
        return Skipped.of(error)


def _segment_records(partitions: Iterable[PartitionSegments]) -> Iterator[LogRecord]:
    for each in partitions:
        place = each.topic_partition
        whole = OffsetRange(place.topic, place.partition, each.log_start_offset, each.end_offset)
        for item in read_segments(each, whole):
            if isinstance(item, DataBatch):
                for record in decode_records(item.batch):
                    yield decode_log_record(place.partition, record)
