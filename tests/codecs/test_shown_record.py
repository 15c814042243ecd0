"""What a Fetch shows of one record, from batches that were made by hand."""

import struct

import pytest
from aiokafka.record.default_records import DefaultRecordBatchBuilder

from eosctl.codecs.record_batches import decode_ending, decode_shown, encode_transactional_batch
from eosctl.model.names import ProducerIdAndEpoch
from eosctl.model.probe import Shown

OURS, THEIRS = ProducerIdAndEpoch(7, 3), ProducerIdAndEpoch(8, 0)
CONTROL_AT = 22


def data(offset: int, producer: ProducerIdAndEpoch = OURS) -> bytes:
    """One record at that offset."""
    return _at(offset, encode_transactional_batch(producer, 0, 1_000, b"key", b"value"))


def marker(offset: int, kind: int, producer: ProducerIdAndEpoch = OURS) -> bytes:
    """A control batch; its CRC is that of what it says."""
    builder = DefaultRecordBatchBuilder(2, 0, 1, producer.producer_id, producer.producer_epoch, -1, 1 << 10)
    builder.append(0, 1_000, struct.pack(">hh", 0, kind), struct.pack(">hi", 0, 0), [])
    whole = bytearray(_at(offset, bytes(builder.build())))
    whole[CONTROL_AT] |= 0x20
    from aiokafka.record.util import calc_crc32c

    struct.pack_into(">I", whole, 17, calc_crc32c(bytes(whole[21:])))
    return bytes(whole)


def _at(offset: int, batch: bytes) -> bytes:
    return struct.pack(">q", offset) + batch[8:]


@pytest.mark.parametrize(
    ("records", "aborted", "expected"),
    [
        (data(5), [], Shown.RETURNED),
        (data(5), [(7, 5)], Shown.NAMED_ABORTED),
        (data(5), [(7, 6), (8, 5)], Shown.RETURNED),
        (data(6), [], Shown.NOT_RETURNED),
        (b"", [], Shown.NOT_RETURNED),
        (None, [(7, 5)], Shown.NOT_RETURNED),
        (marker(5, 1), [], Shown.NOT_RETURNED),
    ],
)
def test_a_record_is_shown_named_or_withheld(records, aborted, expected):
    assert decode_shown(records, aborted, 5, OURS) is expected


def test_the_first_marker_of_the_producer_behind_it_counts():
    log = data(5) + marker(6, 1, THEIRS) + marker(7, 0) + marker(8, 1)
    assert decode_ending(log, 5, OURS) == "ABORT"
    assert decode_ending(log, 7, OURS) == "COMMIT"
    assert decode_ending(data(5), 5, OURS) is None
