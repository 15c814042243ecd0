"""The transactions of one producer in a range and in the transaction log: each condition alone, each limit."""

from typing import Any

import pytest
from msgspec.structs import replace

from eosctl.analysis.tracing import Piece, is_of, logged_transaction, nearest, pieces
from eosctl.model.names import ProducerIdAndEpoch
from eosctl.model.skipped import Skipped
from eosctl.model.tracing import Ending, LoggedTransaction, Written
from eosctl.model.transaction_log import NewerLogRecord, TransactionLogRecord
from eosctl.model.transactions import TransactionState
from tests.analysis.test_transactions import HELD, HERE, THERE, T, ending, logged, piece, record

OTHERS = Written(0, 0, 8, 0, 0)
PREPARED, COMPLETE = TransactionState.PREPARE_COMMIT, TransactionState.COMPLETE_COMMIT


@pytest.mark.parametrize(
    ("items", "found"),
    [
        ([], []),
        ([OTHERS], []),
        ([Ending(0, T, True, 8, 0, 0)], []),
        ([Written(0, 1, 7, 3, 0)], [Piece(3, 0, 1, True)]),
        ([Written(0, 1, 7, 3, 1)], [Piece(3, 0, 1, False)]),
        ([Written(0, 1, 7, 3, 1), Written(2, 4, 7, 3, 3)], [Piece(3, 0, 4, False)]),
        ([Written(0, 1, 7, 3, 0), Written(2, 4, 7, 3, 2)], [Piece(3, 0, 4, True)]),
        ([Written(0, 1, 7, 3, 1), Written(2, 2, 7, 4, 9)], [Piece(3, 0, 1, False), Piece(4, 2, 2, True)]),
        ([Ending(0, T, True, 8, 0, 0), Written(1, 1, 7, 3, 5)], [Piece(3, 1, 1, False)]),
        ([ending(offset=0), Written(1, 1, 7, 3, 5)], [Piece(3, -1, -1, False, ending(offset=0)), Piece(3, 1, 1, True)]),
        (
            [ending(offset=0), ending(offset=1)],
            [Piece(3, -1, -1, False, ending(offset=0)), Piece(3, -1, -1, True, ending(offset=1))],
        ),
        ([Written(0, 1, 7, 3, 1), OTHERS, ending(epoch=4)], [Piece(3, 0, 1, False, ending(epoch=4))]),
    ],
)
def test_a_piece_begins_behind_an_end_or_at_the_first_sequence_of_its_epoch(items: Any, found: list[Piece]) -> None:
    assert list(pieces(items, 7)) == found


@pytest.mark.parametrize(("epoch", "is_its"), [(2, False), (3, True), (4, True), (5, False)])
def test_a_marker_has_the_epoch_of_its_transaction_or_the_next_one(epoch: int, is_its: bool) -> None:
    assert is_of(ending(epoch=epoch), HELD) is is_its
    assert not is_of(ending(epoch=epoch)._replace(producer_id=8), HELD)


OPEN = Piece(3, 5, 5, True)
KNOWN = LoggedTransaction("id", (HERE, THERE), T - 50, T - 1, T + 2)


@pytest.mark.parametrize(
    ("found", "marker", "logged_as", "best"),
    [
        ([], None, None, None),
        ([OPEN], None, None, (OPEN, True)),
        ([replace(OPEN, producer_epoch=4)], None, None, None),
        ([OPEN, replace(OPEN, first_offset=8, last_offset=8)], None, None, (Piece(3, 8, 8, True), True)),
        ([piece(T)], None, None, None),
        ([], ending(), None, None),
        ([], ending(epoch=4), None, None),
        ([OPEN], ending(), KNOWN, None),
        ([piece(T, marker_epoch=4)], ending(), KNOWN, None),
        ([piece(T)], ending(committed=False), KNOWN, None),
        ([piece(T)], ending()._replace(producer_id=8), KNOWN, None),
        # An epoch of its own: whatever the time.
        ([piece(T - 9_000_000, marker_epoch=4)], ending(epoch=4), None, (piece(T - 9_000_000, marker_epoch=4), True)),
        # Clocks differ by 5 s at most.
        ([piece(T - 5_000)], ending(), KNOWN, (piece(T - 5_000), True)),
        ([piece(T + 5_000)], ending(), KNOWN, (piece(T + 5_000), True)),
        ([piece(T - 5_001)], ending(), KNOWN, None),
        ([piece(T + 5_001)], ending(), KNOWN, None),
        # The log chooses where it spans one of them only; the nearest one otherwise.
        ([piece(T - 30), piece(T + 2)], ending(T - 20), KNOWN, (piece(T + 2), False)),
        ([piece(T - 30), piece(T + 3)], ending(T - 20), KNOWN, (piece(T - 30), False)),
        ([piece(T - 1), piece(T + 2)], ending(T + 1), KNOWN, (piece(T + 2), False)),
        ([piece(T - 30), piece(T + 2)], ending(T - 20), None, (piece(T - 30), False)),
        ([piece(T)], ending(), None, (piece(T), False)),
        ([piece(T)], ending(), replace(KNOWN, certain=False), (piece(T), False)),
    ],
)
def test_the_piece_of_the_same_transaction_ended_alike_and_at_about_the_same_time(
    found: list[Piece], marker: Ending | None, logged_as: LoggedTransaction | None, best: object
) -> None:
    assert nearest(found, HELD, marker, logged_as) == best


def session(*records: TransactionLogRecord) -> list[TransactionLogRecord]:
    """These records after the beginning of their session, so that none of it was compacted."""
    return [record(TransactionState.EMPTY, T - 60), *records]


ONE = LoggedTransaction("id", (HERE, THERE), T - 51, T - 1, T + 2)


OF_ANOTHER = record(TransactionState.EMPTY, T - 9_000, producer_id=8, previous_producer_id=7)


def late(ms: int) -> list[TransactionLogRecord]:
    """The first record is of this time: the log may have lost what came before it."""
    return [record(TransactionState.ONGOING, T - ms), *logged((T - 1, T + 2))]


@pytest.mark.parametrize(
    ("records", "marker", "found"),
    [
        (session(*logged((T - 1, T + 2))), ending(), ONE),
        (session(record(PREPARED, T - 1)), ending(), replace(ONE, completed_ms=None)),
        (session(record(PREPARED, T - 1, start_ms=0)), ending(), replace(ONE, started_ms=0, completed_ms=None)),
        (session(record(PREPARED, T - 1, start_ms=-1)), ending(), replace(ONE, started_ms=None, completed_ms=None)),
        # The time of completion is that of the first complete record behind.
        (session(*logged((T - 1, T + 2)), record(COMPLETE, T + 9)), ending(), ONE),
        (
            session(record(PREPARED, T - 1), record(TransactionState.COMPLETE_ABORT, T + 2)),
            ending(),
            ONE,
        ),
        (
            session(record(TransactionState.PREPARE_ABORT, T - 1), record(TransactionState.COMPLETE_ABORT, T + 2)),
            ending(committed=False),
            ONE,
        ),
        (session(*logged((T - 1, T + 2))), ending(committed=False), None),
        (session(record(TransactionState.PREPARE_ABORT, T - 1)), ending(), None),
        (session(record(PREPARED, T - 1, places=(THERE,))), ending(), None),
        (session(record(PREPARED, T - 1, places=None)), ending(), None),
        # A log that begins later than the clocks' 5 s before the marker may have had another one.
        (late(5_001), ending(), ONE),
        (late(5_000), ending(), replace(ONE, certain=False)),
        # A session of another ID that held the producer ID long ago says nothing about this one's log.
        (
            [*late(5_000), replace(OF_ANOTHER, transactional_id="other")],
            ending(),
            replace(ONE, certain=False),
        ),
        # The beginning of another epoch's session says nothing about this one.
        (
            [record(TransactionState.EMPTY, T - 60, epoch=2), *logged((T - 1, T + 2))],
            ending(),
            replace(ONE, certain=False),
        ),
        # Up to 5 s beside its span.
        (session(*logged((T - 1, T + 2))), ending(T - 5_001), ONE),
        (session(*logged((T - 1, T + 2))), ending(T - 5_002), None),
        (session(*logged((T - 1, T + 2))), ending(T + 5_002), ONE),
        (session(*logged((T - 1, T + 2))), ending(T + 5_003), None),
        # Of two that are near, the one that spans the time, by the time alone.
        (session(*logged((T - 30, T - 20), (T - 1, T + 2))), ending(), replace(ONE, certain=False)),
        # An epoch of its own, and two with it.
        ([record(PREPARED, T - 9_000_000, epoch=4)], ending(epoch=4), (T - 9_000_000, True)),
        (
            [record(PREPARED, T - 9_000_000, epoch=4), record(COMPLETE, T - 8_999_999)],
            ending(epoch=4),
            (T - 9_000_000, True),
        ),
        (
            [
                record(PREPARED, T - 9_000_000, epoch=4),
                record(COMPLETE, T - 8_999_999),
                record(PREPARED, T - 1, epoch=4),
            ],
            ending(epoch=4),
            (T - 1, True),
        ),
        # Records of other producers, without a value, and of a newer version are passed over.
        (
            [
                record(TransactionState.EMPTY, T - 70, producer_id=8),
                TransactionLogRecord(0, 0, T, "id", None),
                NewerLogRecord(0, 1, 9, "id"),
                *session(*logged((T - 1, T + 2))),
            ],
            ending(),
            ONE,
        ),
    ],
)
def test_the_log_s_transaction_has_the_marker_s_decision_epoch_place_and_time(
    records: list[Any], marker: Ending, found: Any
) -> None:
    holder, there = logged_transaction(records, HELD, HERE, marker)
    assert holder == "id"
    match found:
        case None:
            assert there == Skipped("the transaction log no longer has this transaction")
        case (decided, certain):
            assert isinstance(there, LoggedTransaction)
            assert (there.decided_ms, there.certain) == (decided, certain)
        case _:
            assert there == found


@pytest.mark.parametrize("more", [{"previous_producer_id": 7}, {"next_producer_id": 7}, {}])
def test_a_producer_id_is_held_by_an_id_that_has_it_had_it_or_gets_it(more: dict[str, int]) -> None:
    records = [record(TransactionState.ONGOING, T, producer_id=8, **more)]
    assert logged_transaction(records, HELD, HERE, ending())[0] == ("id" if more else None)
    assert logged_transaction([], HELD, HERE, None) == (
        None,
        Skipped("the transaction log has no transaction in progress of this producer"),
    )


@pytest.mark.parametrize(
    ("last", "is_open"),
    [
        (record(TransactionState.ONGOING, T), True),
        (record(TransactionState.ONGOING, T, places=None), True),
        (record(TransactionState.EMPTY, T), False),
        (record(TransactionState.ONGOING, T, epoch=4), False),
        (record(TransactionState.ONGOING, T, producer_id=8, previous_producer_id=7), False),
    ],
)
def test_a_transaction_is_in_progress_where_the_last_record_says_so_of_this_epoch(last: Any, is_open: bool) -> None:
    found = logged_transaction([record(PREPARED, T - 9), last], HELD, HERE, None)[1]
    assert isinstance(found, LoggedTransaction) is is_open
    if isinstance(found, LoggedTransaction):
        assert (found.partitions, found.started_ms, found.decided_ms) == (last.value.partitions or (), T - 50, None)


def test_only_the_epoch_behind_that_of_the_data_is_the_transaction_s_own() -> None:
    two_behind = ProducerIdAndEpoch(7, 2)
    found = [piece(T - 9_000_000, epoch=2, marker_epoch=4)]
    assert nearest(found, two_behind, ending(epoch=4)) is None
