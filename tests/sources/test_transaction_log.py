"""When a reading of the transaction log may go on where the last one ended, and when the whole log is read again."""

import struct

import pytest

from eosctl.codecs.transaction_log import encode_transaction_log_key
from eosctl.model.names import TRANSACTION_LOG, TopicPartition
from eosctl.model.records import Record
from eosctl.model.topics import PartitionOffsets
from eosctl.model.transaction_log import LogEnd
from eosctl.sources import kafka_transactions

PLACE = TopicPartition(TRANSACTION_LOG, 0)
EMPTY = struct.pack(">hqhibiqq", 0, 7, 0, 60_000, 0, -1, 1, 1)
NAMES = ("ours", "theirs")


def following(monkeypatch, after, *, gone=(), begin=0, end=6, epoch=3):
    """Offsets of the records of our ID after this end; those at odd offsets are somebody else's."""
    log = [
        Record(offset, 1, encode_transaction_log_key(NAMES[offset % 2]), EMPTY)
        for offset in range(begin, end)
        if offset not in gone
    ]
    monkeypatch.setattr(
        kafka_transactions,
        "read_log",
        lambda _wire, _place, start, offsets: (each for each in log if each.offset >= start),
    )
    bounds = [PartitionOffsets(PLACE, begin, end, end)]
    ends = kafka_transactions.log_ends(bounds, {0: epoch})
    assert ends == {0: LogEnd(epoch, end)}
    found = kafka_transactions.read_following(None, bounds, ends, after, ["ours"])
    return None if found is None else [each.offset for each in found]


@pytest.mark.parametrize(("start", "found"), [(0, [0, 2, 4]), (3, [4]), (5, []), (6, [])])
def test_records_of_our_ids_after_the_end_of_the_last_reading(monkeypatch, start, found):
    assert following(monkeypatch, {0: LogEnd(3, start)}) == found


@pytest.mark.parametrize(
    ("after", "log"),
    [
        ({1: LogEnd(3, 2)}, {}),  # the partition was empty, or was not read
        ({0: LogEnd(2, 2)}, {}),  # another leader was elected, and may lack records that the last one had
        ({0: LogEnd(3, 7)}, {}),  # the log is shorter
        ({0: LogEnd(3, 2)}, {"begin": 3}),  # records were deleted
        ({0: LogEnd(3, 2)}, {"gone": {2}}),
        ({0: LogEnd(3, 2)}, {"gone": {4}}),  # the cleaner removed a record, maybe the tombstone of an ID
        ({0: LogEnd(3, 2)}, {"gone": {5}}),
    ],
)
def test_the_whole_log_is_read_where_records_may_be_missing_between(monkeypatch, after, log):
    assert following(monkeypatch, after, **log) is None
