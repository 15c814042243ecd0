"""Whether one source offset lies behind another."""

import pytest

from eosctl.analysis.audit.batches import Advance, compare_offsets
from eosctl.codecs.ledger import decode_json

ADVANCED, SAME, BACK, UNCLEAR = Advance.ADVANCED, Advance.SAME, Advance.BACK, Advance.UNCLEAR


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ({"position": 3}, {"position": 4}, ADVANCED),
        ({"position": 3}, {"position": 3}, SAME),
        ({"position": 4}, {"position": 3}, BACK),
        ({"position": 4.5}, {"position": 4}, BACK),
        ({"file": 1, "position": 900}, {"file": 2, "position": 4}, ADVANCED),
        ({"file": "log.000001", "position": 900}, {"file": "log.000002", "position": 4}, ADVANCED),
        ({"file": "log.000002", "position": 4}, {"file": "log.000001", "position": 4}, BACK),
        ({"file": "log.9", "position": 900}, {"file": "log.10", "position": 4}, ADVANCED),
        ({"file": "log.09", "position": 900}, {"file": "log.1", "position": 4}, UNCLEAR),
        ({"gtid": "3e11fa47:1-117", "beat": 1}, {"gtid": "3e11fa47:1-97", "beat": 1}, BACK),
        ({"gtid": "3e11fa47:1-97"}, {"gtid": "3e11fa47:1-117"}, ADVANCED),
        ({"gtid": "3e11fa47:1-117"}, {"gtid": "9c80aa94:1-97"}, UNCLEAR),
        ({"file": "a", "position": 900}, {"file": "b", "position": 4}, UNCLEAR),
        ({"done": True, "position": 4}, {"done": False, "position": 4}, UNCLEAR),
        ({"done": True}, {"done": 0}, UNCLEAR),
        ({"position": 4, "snapshot": True}, {"position": 4}, UNCLEAR),
        ({"position": 4, "snapshot": True}, {"position": 3}, BACK),
        ({"position": 4}, {"position": 4, "event": 1}, UNCLEAR),
        ({}, {}, SAME),
        ([1], {"position": 1}, UNCLEAR),
        ({"position": 1}, None, UNCLEAR),
        ({"position": None}, {"position": 1}, UNCLEAR),
        # The members of a Debezium connector, and none of its source partitions: another connector's.
        ({"lsn": 90, "txId": 204}, {"lsn": 90, "txId": 184}, BACK),
        ({"file": "orders.csv", "pos": 90}, {"file": "orders.csv", "pos": 4}, BACK),
    ],
)
def test_an_offset_lies_behind_the_one_before_if_a_number_is_lower_none_is_higher_and_no_text_changed(
    before, after, expected
):
    assert compare_offsets(before, after, b'["c",{"p":0}]', decode_json) is expected


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        # Transactions of PostgreSQL come in the order of their commits, events of a later one may have a lower LSN.
        ({"lsn_commit": 90, "lsn": 190, "ts_usec": 5}, {"lsn_commit": 200, "lsn": 100, "ts_usec": 5}, ADVANCED),
        (
            {"lsn": 190, "messageType": "INSERT", "ts_usec": 5},
            {"lsn": 100, "messageType": "UPDATE", "ts_usec": 9},
            BACK,
        ),
        ({"lsn": 190}, {"lsn_commit": 100, "lsn": 120}, UNCLEAR),
        ({"file": "a.000009", "pos": 9}, {"lsn": 4}, UNCLEAR),
        ({"lsn": 4}, {"file": "a.000009", "pos": 9}, UNCLEAR),
        # After a failover the other server's binary log is another one, and its GTIDs tell.
        ({"file": "a.000009", "pos": 9, "gtids": "u:1-5"}, {"file": "a.000001", "pos": 4, "gtids": "u:1-9"}, ADVANCED),
        ({"file": "a.000009", "pos": 9, "gtids": "u:1-9"}, {"file": "a.000010", "pos": 4, "gtids": "u:1-5"}, BACK),
        ({"commit_lsn": "00000027:00000758:0003"}, {"commit_lsn": "00000027:00000758:000A"}, ADVANCED),
        ({"commit_lsn": "00000027:00000758:000A"}, {"commit_lsn": "00000027:00000758:0003"}, BACK),
    ],
)
def test_offsets_of_debezium_are_held_against_each_other_by_the_order_of_their_source(before, after, expected):
    key = b'["c",{"server":"shop","database":"shop"}]'
    assert compare_offsets(before, after, key, decode_json) is expected
