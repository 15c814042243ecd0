"""The first batch at an offset: when was it written?"""

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Final

from eosctl.clients.leaders import NO_LEADER
from eosctl.clients.messages import fetch
from eosctl.clients.wire import Wire
from eosctl.codecs.record_batches import iter_batches
from eosctl.model.names import TopicPartition
from eosctl.model.records import IsolationLevel, first_time
from eosctl.sources.kafka_log import read_log

MOST_KEYS: Final = 10


def first_timestamps(
    wire: Wire, offsets: Mapping[TopicPartition, int], leaders: Mapping[TopicPartition, int]
) -> dict[TopicPartition, int]:
    """Partition to the timestamp (ms) of the first batch at or after its offset; those not answered are left out.

    One small Fetch for each partition. A batch comes whole however large it is (KIP-74).
    """
    window = wire.window(in_flight=20)
    for partition, offset in offsets.items():
        if leaders.get(partition, NO_LEADER) != NO_LEADER:
            window.put(partition, leaders[partition], fetch(partition, offset, 1, IsolationLevel.READ_UNCOMMITTED))
    found: dict[TopicPartition, int] = {}
    for answer in window:
        part = None if answer.response is None else answer.response.responses[0].partitions[0]
        if part is not None and part.error_code == 0 and part.records:
            batch = next(iter_batches(part.records, topic_partition=answer.item), None)
            if batch is not None and (written := first_time(batch.header)) >= 0:
                found[answer.item] = written
    return found


def first_keys(wire: Wire, partitions: Iterable[TopicPartition]) -> Iterator[bytes | None]:
    """The keys in the first data batch of each partition that has one."""
    for partition in partitions:
        for record in islice(read_log(wire, partition), MOST_KEYS):
            yield record.key
