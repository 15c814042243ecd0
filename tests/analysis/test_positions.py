"""Positions in a source, as connectors store them."""

import pytest

from eosctl.analysis.positions import (
    MYSQL,
    POSTGRESQL,
    READERS,
    at_source,
    compare_positions,
    debezium_reader,
    explain_position,
    is_snapshot,
    is_unfinished_snapshot,
    lsn_text,
    meaning_of_rewind,
    order_of,
)
from eosctl.model.offsets import Order, ReplicationSlot, Served, SourceOffset, SourceServer

BEFORE, SAME, AFTER, INCOMPARABLE = Order.BEFORE, Order.SAME, Order.AFTER, Order.INCOMPARABLE
PG, SQL, MONGO, TABLE = (
    {"server": "shop"},
    {"server": "s", "database": "d"},
    {"server_id": "m"},
    {"protocol": "1", "table": "t"},
)
FILE, MIRROR = {"filename": "/a"}, {"cluster": "a", "partition": 0, "topic": "t"}
UUID, OTHER = "24da167a-0c0c-11e8-8442-00059a3c7b00", "7c1de3f2-3fd2-11e6-9cdc-42010af000bc"


def mysql(file: str = "bin.000009", pos: int = 4, **more: object) -> dict[str, object]:
    return {"file": file, "pos": pos, **more}


@pytest.mark.parametrize(
    ("partition", "offset", "words"),
    [
        (PG, {"lsn": 24058880, "txId": 740, "ts_usec": 1}, "streaming at 0/16F1C00, transaction 740"),
        (
            PG,
            {"lsn": 0x2_0000_00FF, "lsn_commit": 0x1_0000_0001, "txId": 7},
            "streaming at 2/FF, last commit 1/1, transaction 7",
        ),
        (PG, {"lsn": 255, "snapshot": "INITIAL", "snapshot_completed": True}, "snapshot at 0/FF, complete"),
        (PG, {"lsn": 255, "snapshot": "last"}, "snapshot at 0/FF, complete"),
        (PG, {"lsn": 255, "snapshot": "incremental"}, "streaming at 0/FF"),
        (
            PG,
            {"lsn": 255, "snapshot": "INITIAL", "snapshot_completed": False},
            "snapshot at 0/FF, in progress: it will be begun again",
        ),
        (
            PG,
            {"lsn": 255, "snapshot": True, "last_snapshot_record": False},
            "snapshot at 0/FF, in progress: it will be begun again",
        ),
        (
            PG,
            {"lsn": 1, "txId": 9, "transaction_id": "8:1"},
            "streaming at 0/1, transaction 9 (transaction_id 8:1 is of an earlier one)",
        ),
        (PG, {"lsn": 1, "txId": 9, "transaction_id": "9:1"}, "streaming at 0/1, transaction 9"),
        (PG, mysql(gtids=f"{UUID}:1-5"), f"bin.000009 position 4, GTIDs {UUID}:1-5"),
        (
            PG,
            mysql(gtids="0-7-182", event=2, row=1),
            "bin.000009 position 4, GTIDs 0-7-182, event 2 row 1 of the next transaction",
        ),
        (
            SQL,
            {"commit_lsn": "00000027:00000758:0003", "change_lsn": "NULL"},
            "commit 00000027:00000758:0003, change NULL",
        ),
        (
            MONGO,
            {"sec": 0, "ord": 3, "resume_token": "8264"},
            "1970-01-01T00:00:00.000Z operation 3, resume token 8264…",
        ),
        (TABLE, {"timestamp": 1000, "incrementing": 5}, "rows up to 1970-01-01T00:00:01.000Z, incrementing column 5"),
        (FILE, {"position": 12}, "byte 12 of the file"),
        (MIRROR, {"offset": 12}, "offset 12 of the source partition"),
        (PG, {"lsn": "odd"}, "streaming at odd"),
    ],
)
def test_an_offset_is_described_in_its_connectors_own_terms(
    partition: dict[str, object], offset: dict[str, object], words: str
):
    explained = explain_position(partition, offset)
    assert explained is not None
    assert explained.partition(": ")[2] == words


PROCESSED = {"lsn_commit": 9, "lsn": 19, "lsn_proc": 19}


@pytest.mark.parametrize(
    ("partition", "a", "b", "order"),
    [
        (PG, {"lsn": 5}, {"lsn": 6}, AFTER),
        (PG, {"lsn": 6}, {"lsn": 5}, BEFORE),
        (PG, {"lsn": 6, "ts_usec": 1}, {"lsn": 6, "ts_usec": 2}, SAME),
        # The first event of a transaction that began before the one before it.
        (PG, {"lsn_commit": 90, "lsn": 190}, {"lsn_commit": 200, "lsn": 100}, AFTER),
        (PG, {"lsn_commit": 200, "lsn": 100}, {"lsn_commit": 90, "lsn": 190}, BEFORE),
        (PG, PROCESSED, {**PROCESSED, "lsn": 12, "messageType": "BEGIN"}, SAME),
        (PG, PROCESSED, {**PROCESSED, "lsn": 12, "lsn_proc": 12, "messageType": "BEGIN"}, BEFORE),
        (PG, PROCESSED, {**PROCESSED, "lsn": 12, "messageType": "INSERT"}, BEFORE),
        (PG, PROCESSED, {**PROCESSED, "lsn": 12}, BEFORE),
        (PG, {"lsn": 5}, {"lsn_commit": 4, "lsn": 9}, AFTER),
        (PG, {"lsn_commit": 4, "lsn": 9}, {"lsn": 5}, BEFORE),
        (PG, {"lsn": 10}, {"lsn_commit": 4, "lsn": 9}, INCOMPARABLE),
        (PG, {"lsn": 10}, {"lsn": None}, INCOMPARABLE),
        (PG, mysql(), mysql(pos=5), AFTER),
        (PG, mysql("bin.000009", 900), mysql("bin.000010", 4), AFTER),
        (PG, mysql("bin.999999"), mysql("bin.1000000"), AFTER),
        (PG, mysql(row=2), mysql(row=1), BEFORE),
        (PG, mysql(server_id=1), mysql(server_id=2, pos=9), INCOMPARABLE),
        (PG, mysql(gtids=f"{UUID}:1-5"), mysql(gtids=f"{UUID}:1-7", pos=1), AFTER),
        (PG, mysql(gtids=f"{UUID}:1-5,{OTHER}:1-2"), mysql(gtids=f"{UUID}:1-5"), BEFORE),
        (PG, mysql(gtids=f"{UUID}:1-5"), mysql(gtids=f"{OTHER}:1-5"), INCOMPARABLE),
        (PG, mysql(gtids=f"{UUID}:1-5"), mysql(gtids=f"{UUID}:1-5", pos=9), SAME),
        (PG, mysql(gtids=f"{UUID}:1-5", event=2, row=9), mysql(gtids=f"{UUID}:1-5", event=3, row=1), AFTER),
        (PG, mysql(gtids=f"{UUID}:1-5", event=2, row=9), mysql(gtids=f"{UUID}:1-5", event=2, row=4), BEFORE),
        (PG, mysql(gtids=f"{UUID}:1-5", event=2, row=9), mysql(gtids=f"{UUID}:1-6"), AFTER),
        (PG, mysql(gtids="0-1-38,1-2-7"), mysql(gtids="1-2-7,0-1-101"), AFTER),
        (PG, mysql(gtids="0-1-101"), mysql(gtids="0-1-38,1-2-7"), INCOMPARABLE),
        (PG, mysql(gtids="0-1-101"), mysql(gtids="0-2-102"), INCOMPARABLE),
        (PG, mysql(gtids="0-1-38"), mysql(gtids="0-1-38", event=1), AFTER),
        (PG, mysql(gtids="0-1-38"), mysql(gtids=f"{UUID}:1-5"), INCOMPARABLE),
        (PG, mysql(gtids=f"{UUID}:1-5"), mysql(), INCOMPARABLE),
        (PG, mysql(gtids=""), mysql(gtids=f"{UUID}:1-5"), INCOMPARABLE),
        (PG, mysql(gtids=f"{UUID}:1-5"), mysql(gtids=""), INCOMPARABLE),
        (PG, mysql(gtids=f"{UUID}:1-5"), mysql(gtids=f"{UUID}:1-{'9' * 5_000}"), INCOMPARABLE),
        (PG, mysql(), mysql(f"bin.{'9' * 5_000}"), INCOMPARABLE),
        (SQL, {"commit_lsn": "00000027:00000758:0003"}, {"commit_lsn": "00000027:0000075A:0001"}, AFTER),
        (SQL, {"commit_lsn": "NULL"}, {"commit_lsn": "00000027:0000075A:0001"}, AFTER),
        (SQL, {"commit_lsn": "odd"}, {"commit_lsn": "00000027:0000075A:0001"}, INCOMPARABLE),
        (MONGO, {"sec": 5, "ord": 9}, {"sec": 6, "ord": 1}, AFTER),
        (TABLE, {"timestamp": 5, "incrementing": 9}, {"timestamp": 6, "incrementing": 2}, AFTER),
        (TABLE, {"incrementing": 9}, {"timestamp": 6, "incrementing": 2}, INCOMPARABLE),
        (FILE, {"position": 9}, {"position": 2}, BEFORE),
        (MIRROR, {"offset": 2}, {"offset": 2}, SAME),
    ],
)
def test_which_of_two_offsets_is_further(
    partition: dict[str, object], a: dict[str, object], b: dict[str, object], order: Order
):
    assert compare_positions(partition, a, b) is order


def test_offsets_of_unknown_connectors_are_left_alone():
    assert explain_position({"shard": "1"}, {"position": 5}) is None
    assert explain_position(None, {"position": 5}) is None
    assert compare_positions({"shard": "1"}, {"position": 5}, {"position": 6}) is None
    assert compare_positions(PG, {"lsn": 5}, mysql()) is None


def test_every_kind_of_source_explains_a_rewind_and_compares_any_values():
    """JDBC's two forms mean the same; values that are no numbers have no meaning."""
    assert len({each.rewind for each in READERS}) == len(READERS) - 1
    assert len({each.source for each in READERS}) == len(READERS) - 1
    for reader in READERS:
        odd = dict.fromkeys((*reader.needs, "change_lsn", "timestamp"), "odd")
        assert reader.compare(odd, odd) is INCOMPARABLE, reader.source
        assert "odd" in reader.describe(odd), reader.source
    assert (
        meaning_of_rewind(FILE, {"position": 1}) == "all lines after it are read again, if the file is still the same"
    )


SLOT = ReplicationSlot(active=False, restart_lsn=0x100, confirmed_flush_lsn=0x200, wal_status="reserved")
SERVER = SourceServer(0x300, {"shop": SLOT})
STATE = "slot shop (not in use, restart_lsn 0/100, confirmed_flush_lsn 0/200, 256 bytes behind the server)"
LEFT = (
    f"{STATE} is 16 bytes further. Debezium streams from confirmed_flush_lsn regardless of the offset, so changes from "
    "0/1F0 to there are not read again"
)


@pytest.mark.parametrize(
    ("offset", "served", "words"),
    [
        ({"lsn": 0x200}, Served.SERVED, f"{STATE} still has all later changes"),
        ({"lsn": 0x1F0}, Served.LEFT_BEHIND, LEFT),
        ({"lsn": 0x280, "lsn_proc": 0x1F0}, Served.LEFT_BEHIND, LEFT),
        ({"lsn": 0x1F0, "lsn_commit": 0x210}, Served.SERVED, f"{STATE} still has all later changes"),
        (
            {"lsn": 0x301},
            Served.GONE,
            "the server is at 0/300 and never wrote 0/301: is it another server, or was it restored? Changes up to "
            "there are skipped",
        ),
        ({"lsn": 0x300}, Served.SERVED, f"{STATE} still has all later changes"),
        (
            {"lsn": "x"},
            Served.LEFT_BEHIND,
            f"its log sequence number is invalid; {STATE} streams from where it is",
        ),
        ({"lsn": 0x10, "snapshot": "initial"}, Served.SERVED, f"its snapshot begins again; {STATE}"),
        (None, Served.SERVED, f"without an offset it takes a snapshot by its snapshot.mode; {STATE}"),
    ],
)
def test_a_position_is_held_against_what_the_slot_has_confirmed(offset: SourceOffset, served: Served, words: str):
    assert at_source(offset, "shop", SERVER) == (served, words)


def test_without_a_slot_debezium_begins_at_the_present():
    begins = "there is no logical slot other; Debezium creates one that begins at the present, 0/300"
    gone = f"{begins}: changes from 0/1F0 to there are not read"
    assert at_source({"lsn": 0x1F0}, "other", SERVER) == (Served.GONE, gone)
    assert at_source(None, "other", SERVER) == (Served.SERVED, begins)


def test_a_slot_without_its_log_serves_nothing_and_a_slot_that_may_lose_its_log_is_reported():
    lost = SourceServer(0x300, {"shop": ReplicationSlot(True, None, 0x200, "lost")})
    assert at_source({"lsn": 0x250}, "shop", lost).served is Served.GONE
    soon = SourceServer(0x300, {"shop": ReplicationSlot(True, 0x100, 0x200, "unreserved")})
    found = at_source({"lsn": 0x250}, "shop", soon)
    assert (found.served, "in use" in found.words, "wal_status unreserved" in found.words) == (
        Served.SERVED,
        True,
        True,
    )


# Each decision at its limit


@pytest.mark.parametrize(
    ("offset", "snapshot", "unfinished"),
    [
        ({}, False, False),
        ({"snapshot": None}, False, False),
        ({"snapshot": False}, False, False),
        ({"snapshot": "false"}, False, False),
        ({"snapshot": "INCREMENTAL"}, False, False),
        ({"snapshot": True}, True, True),
        ({"snapshot": "INITIAL"}, True, True),
        ({"snapshot": "Last"}, True, False),
        ({"snapshot": "INITIAL", "snapshot_completed": True}, True, False),
        ({"snapshot": "INITIAL", "snapshot_completed": False}, True, True),
        ({"snapshot": "INITIAL", "last_snapshot_record": True}, True, False),
        ({"snapshot": "INITIAL", "last_snapshot_record": False}, True, True),
        ({"snapshot_completed": False}, False, True),
        ({"snapshot_completed": True}, False, False),
        ({"snapshot": False, "snapshot_completed": False}, False, True),
        ({"snapshot": "incremental", "snapshot_completed": False}, False, False),
    ],
)
def test_a_snapshot_that_has_not_ended_is_begun_again(offset: SourceOffset, snapshot: bool, unfinished: bool):
    assert (is_snapshot(offset), is_unfinished_snapshot(offset)) == (snapshot, unfinished)


@pytest.mark.parametrize(
    ("lsn", "text"), [(0, "0/0"), (-1, "-1"), (1 << 32, "1/0"), (None, "None"), (True, "True"), ("x", "x")]
)
def test_a_log_sequence_number_has_two_parts(lsn: object, text: str):
    assert lsn_text(lsn) == text


@pytest.mark.parametrize(
    ("before", "after", "order"),
    [
        (1, 1, SAME), (1, 2, AFTER), (2, 1, BEFORE), (1, True, INCOMPARABLE), (None, 1, INCOMPARABLE),
        ((1, 2), (1, 3), AFTER), ((1, 2), (1, "3"), INCOMPARABLE), ((1, None), (1, 3), INCOMPARABLE),
    ],
)  # fmt: skip
def test_numbers_are_compared_and_nothing_else(before: object, after: object, order: Order):
    assert order_of(before, after) is order


BEGIN = {"lsn_commit": 9, "lsn": 12, "messageType": "BEGIN"}


@pytest.mark.parametrize(
    ("partition", "a", "b", "order"),
    [
        (PG, {"lsn_commit": 9, "lsn": 12}, {**BEGIN, "lsn_proc": 13}, AFTER),
        (PG, {"lsn_commit": 9, "lsn": 13}, {**BEGIN, "lsn_proc": "13"}, BEFORE),
        (PG, {"lsn_commit": 9, "lsn": 13}, {**BEGIN, "lsn_proc": None}, BEFORE),
        (PG, {"lsn_commit": 9, "lsn": 13}, {**BEGIN, "lsn": "12", "lsn_proc": 13}, INCOMPARABLE),
        (PG, {"lsn": 5}, {"lsn_commit": 4, "lsn": 5}, INCOMPARABLE),
        (PG, {"lsn_commit": 4, "lsn": 5}, {"lsn": 9}, INCOMPARABLE),
        (PG, mysql(), mysql(event=1), AFTER),
        (PG, mysql(event=1, row=5), mysql(event=2), AFTER),
        (PG, mysql("nonsense"), mysql(), INCOMPARABLE),
        (PG, mysql(server_id=1), mysql(server_id=1, pos=9), AFTER),
        (PG, mysql(server_id=1), mysql(pos=9), INCOMPARABLE),
        (PG, mysql(gtids=""), mysql(gtids="", pos=9), AFTER),
        (PG, mysql(), mysql(gtids=f"{UUID}:1"), INCOMPARABLE),
        (PG, mysql(gtids=f"{UUID}:5"), mysql(gtids=f"{UUID}:5-6"), AFTER),
        (PG, mysql(gtids=f"{UUID}:1-5"), mysql(gtids=f"{UUID}:2-9"), INCOMPARABLE),
        (PG, mysql(gtids=f"{UUID}:1-5"), mysql(gtids=f"{UUID}:1-4"), BEFORE),
        (PG, mysql(gtids=f"{UUID}:1-5:7-8"), mysql(gtids=f"{UUID}:1-8"), AFTER),
        (PG, mysql(gtids=f"{UUID}:x"), mysql(gtids=f"{UUID}:1"), INCOMPARABLE),
        (PG, mysql(gtids=UUID), mysql(gtids=UUID), INCOMPARABLE),
        (PG, mysql(gtids=f"{UUID}:1,\n{OTHER}:1"), mysql(gtids=f"{OTHER}:1, {UUID}:1-2"), AFTER),
        (SQL, {"commit_lsn": "00000027:00000758:0003", "event_serial_no": 1},
         {"commit_lsn": "00000027:00000758:0003", "event_serial_no": 2}, AFTER),
        (SQL, {"commit_lsn": "00000027:00000758:0003", "event_serial_no": None},
         {"commit_lsn": "00000027:00000758:0003", "event_serial_no": 0}, SAME),
        (SQL, {"commit_lsn": "00000027:00000758:0003", "change_lsn": "odd"}, {"commit_lsn": "NULL"}, INCOMPARABLE),
        (SQL, {"commit_lsn": None}, {"commit_lsn": "NULL"}, SAME),
        (MONGO, {"sec": 5, "ord": 1}, {"sec": 5, "ord": 2}, AFTER),
        (TABLE, {"timestamp": 5, "timestamp_nanos": 1}, {"timestamp": 5, "timestamp_nanos": 2}, AFTER),
        (TABLE, {"timestamp": 5, "incrementing": 1}, {"timestamp": 5, "incrementing": 2}, AFTER),
        (TABLE, {"incrementing": 2}, {"incrementing": 1}, BEFORE),
    ],
)  # fmt: skip
def test_positions_are_ordered_by_each_of_their_parts(
    partition: dict[str, object], a: SourceOffset, b: SourceOffset, order: Order
):
    assert compare_positions(partition, a, b) is order


@pytest.mark.parametrize(
    ("partition", "offset", "words"),
    [
        (PG, mysql(gtids=""), "bin.000009 position 4"),
        (PG, mysql(event=1), "bin.000009 position 4, event 1 row 0 of the next transaction"),
        (PG, mysql(row=1), "bin.000009 position 4, event 0 row 1 of the next transaction"),
        (PG, mysql(snapshot=True), "snapshot at bin.000009 position 4"),
        (SQL, {"commit_lsn": "a", "snapshot": True}, "snapshot at commit a, change None"),
        (MONGO, {"sec": "x", "ord": 3}, "x operation 3"),
        (TABLE, {"timestamp": None, "incrementing": 5}, "incrementing column 5"),
        (TABLE, {"timestamp": "x", "timestamp_nanos": 0}, "rows up to x"),
        (PG, {"lsn": 1, "transaction_id": "9:1"}, "streaming at 0/1 (transaction_id 9:1 is of an earlier one)"),
        (PG, {"lsn": 1, "txId": 9, "transaction_id": None}, "streaming at 0/1, transaction 9"),
    ],
)
def test_a_position_is_described_by_the_parts_that_it_has(
    partition: dict[str, object], offset: SourceOffset, words: str
):
    assert str(explain_position(partition, offset)).partition(": ")[2] == words


@pytest.mark.parametrize(
    ("offset", "reader"), [({"lsn": 1}, POSTGRESQL), ({"position": 1}, None), ({"file": "x"}, None), (mysql(), MYSQL)]
)
def test_an_offset_alone_may_show_that_debezium_wrote_it(offset: SourceOffset, reader: object):
    assert debezium_reader(offset) is reader


@pytest.mark.parametrize(
    ("slot", "offset", "served"),
    [
        (ReplicationSlot(False, 0, None, None), {"lsn": 1}, Served.GONE),
        (ReplicationSlot(False, 0, None, None), None, Served.SERVED),
        (ReplicationSlot(False, 0, 0x200, "lost"), None, Served.GONE),
        (ReplicationSlot(False, 0, 0, "reserved"), {"lsn": 0}, Served.SERVED),
        (ReplicationSlot(False, 0, 0x200, "extended"), {"lsn": 0x1FF}, Served.LEFT_BEHIND),
        (ReplicationSlot(False, 0, 0x200, "extended"), {"lsn": 0x200, "lsn_proc": True}, Served.SERVED),
    ],
)
def test_a_slot_serves_what_it_has_not_confirmed(slot: ReplicationSlot, offset: SourceOffset | None, served: Served):
    found = at_source(offset, "shop", SourceServer(0x300, {"shop": slot}))
    assert found.served is served
    assert ("wal_status" in found.words) is (slot.wal_status == "lost")
