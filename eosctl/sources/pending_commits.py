"""Offset commits that an open transaction wrote into `__consumer_offsets`: whose are they?"""

from collections.abc import Collection, Iterator
from typing import Final

from eosctl.clients.leaders import NO_LEADER, partition_leaders
from eosctl.clients.messages import fetch
from eosctl.clients.wire import Wire
from eosctl.codecs.offset_commits import decode_offset_commit_key
from eosctl.codecs.record_batches import decode_records, iter_batches
from eosctl.model.groups import CONSUMER_OFFSETS
from eosctl.model.hanging import OpenTransaction, PendingCommit
from eosctl.model.names import TopicPartition
from eosctl.model.records import IsolationLevel, RecordState
from eosctl.model.skipped import Skipped

FETCH_BYTES: Final = 1 << 20

Place = tuple[TopicPartition, int, int]


def pending_commits(
    wire: Wire, transactions: Collection[OpenTransaction]
) -> dict[Place, tuple[PendingCommit, ...] | Skipped]:
    """What each of the open transactions in `__consumer_offsets` would commit, by its place.

    One Fetch for each, from where it begins: a coordinator writes all offsets of one TxnOffsetCommit in one batch. What
    follows more than 1 MiB behind is not seen. Needs Read on `__consumer_offsets`.
    """
    wanted = [each for each in transactions if each.topic_partition.topic == CONSUMER_OFFSETS]
    if not wanted:
        return {}
    leaders = partition_leaders(wire, [CONSUMER_OFFSETS])
    window = wire.window(in_flight=20)
    for each in wanted:
        partition = each.topic_partition
        request = fetch(partition, each.start_offset, FETCH_BYTES, IsolationLevel.READ_UNCOMMITTED)
        window.put(each, leaders.get(partition, NO_LEADER), request)
    found: dict[Place, tuple[PendingCommit, ...] | Skipped] = {}
    for transaction, _, response, error in window:
        part = None if response is None else response.responses[0].partitions[0]
        if part is None or part.error_code:
            why = "no answer" if part is None else f"Fetch answered with error {part.error_code}"
            found[transaction.place] = Skipped(why if error is None else error.message)
        else:
            found[transaction.place] = _by_group(_partitions(transaction, part.records or b""))
    return found


def _partitions(transaction: OpenTransaction, records: bytes) -> Iterator[tuple[str, TopicPartition]]:
    """Group and partition of each offset commit of this transaction."""
    place = transaction.topic_partition
    for batch in iter_batches(records, topic_partition=place):
        ours = batch.header.producer_id == transaction.producer.producer_id
        if not ours or batch.header.is_control or not batch.header.is_transactional:
            continue
        for record in decode_records(batch, state=RecordState.OPEN, topic_partition=place):
            key = decode_offset_commit_key(record.key or b"")
            if key is not None:
                yield key


def _by_group(commits: Iterator[tuple[str, TopicPartition]]) -> tuple[PendingCommit, ...]:
    groups: dict[str, set[TopicPartition]] = {}
    for group_id, partition in commits:
        groups.setdefault(group_id, set()).add(partition)
    return tuple(PendingCommit(group_id, tuple(sorted(found))) for group_id, found in sorted(groups.items()))
