"""One transaction among others of its producer: in the transaction log, and in another partition."""

import pytest
from msgspec.structs import replace

from eosctl.analysis.tracing import Piece, logged_transaction, nearest, pieces
from eosctl.model.names import ProducerIdAndEpoch, TopicPartition
from eosctl.model.skipped import Skipped
from eosctl.model.tracing import Ending, LoggedTransaction, Written
from eosctl.model.transaction_log import TransactionLogRecord, TransactionLogValue
from eosctl.model.transactions import TransactionState

HERE, THERE = TopicPartition("orders", 0), TopicPartition("offsets", 1)
HELD = ProducerIdAndEpoch(7, 3)
T = 1_790_000_000_000


def ending(at: int = T, *, epoch: int = 3, committed: bool = True, offset: int = 9) -> Ending:
    return Ending(offset, at, committed, 7, epoch, 0)


def piece(at: int, epoch: int = 3, marker_epoch: int = 3, first: int = 0) -> Piece:
    return Piece(epoch, first, first, True, ending(at, epoch=marker_epoch))


def record(state: TransactionState, at: int, *, epoch: int = 3, producer_id: int = 7, places=(HERE, THERE), **more):
    value = TransactionLogValue(1, ProducerIdAndEpoch(producer_id, epoch), 60_000, state, places, at, at - 50)
    return TransactionLogRecord(0, at, at, "id", replace(value, **more))


def logged(*ends: tuple[int, int]) -> list[TransactionLogRecord]:
    """Transactions that were decided and complete then."""
    states = (TransactionState.PREPARE_COMMIT, TransactionState.COMPLETE_COMMIT)
    return [record(state, at) for times in ends for state, at in zip(states, times, strict=True)]


def test_a_transaction_ends_at_its_marker_or_where_another_epoch_begins():
    items = [
        Written(0, 1, 7, 3, 5), Written(2, 2, 8, 0, 0), Written(3, 3, 7, 3, 7), ending(offset=4),
        Written(5, 5, 7, 3, 8), Written(6, 6, 7, 4, 0), Ending(7, T, False, 8, 0, 0), ending(epoch=5, offset=8),
    ]  # fmt: skip
    assert list(pieces(items, 7)) == [
        Piece(3, 0, 3, False, ending(offset=4)),
        Piece(3, 5, 5, True),
        Piece(4, 6, 6, True, ending(epoch=5, offset=8)),
    ]
    assert list(pieces([ending()], 7)) == [Piece(3, -1, -1, False, ending())]


def test_the_log_has_the_one_that_was_decided_before_and_complete_after_its_marker():
    records = logged((T - 30, T - 20), (T - 1, T + 2), (T + 10, T + 12))
    assert logged_transaction(records, HELD, HERE, ending()) == (
        "id",
        LoggedTransaction("id", (HERE, THERE), T - 51, T - 1, T + 2, certain=False),
    )
    alone = logged((T - 60_000, T - 59_000), (T - 1, T + 2), (T + 10_000, T + 10_001))
    assert logged_transaction(alone, HELD, HERE, ending()) == (
        "id",
        LoggedTransaction("id", (HERE, THERE), T - 51, T - 1, T + 2),
    )
    late = ending(T + 1_000)
    again = LoggedTransaction("id", (HERE, THERE), T - 51, T - 1, T + 2)
    assert logged_transaction(alone, HELD, HERE, late)[1] == again
    new = [record(TransactionState.EMPTY, T - 60), *logged((T - 1, T + 2))]
    assert logged_transaction(new, HELD, HERE, ending())[1] == again


@pytest.mark.parametrize(
    ("records", "reason"),
    [
        (logged((T - 60_000, T - 59_000)), "does not have this transaction any more"),
        (logged((T - 30, T - 20), (T + 10, T + 12)), "does not have this transaction any more"),
        (logged((T + 900, T + 901)), "does not have this transaction any more"),
        (logged((T - 9, T + 9), (T - 8, T + 8)), "has 2 transactions of this producer at that time"),
        ([record(TransactionState.PREPARE_ABORT, T)], "does not have this transaction any more"),
        ([record(TransactionState.PREPARE_COMMIT, T, places=(THERE,))], "does not have this transaction any more"),
        ([record(TransactionState.PREPARE_COMMIT, T, epoch=4)], "does not have this transaction any more"),
    ],
)
def test_what_the_log_does_not_show_for_certain_is_not_taken_from_it(records, reason):
    holder, found = logged_transaction(records, HELD, HERE, ending())
    assert holder == "id"
    assert isinstance(found, Skipped)
    assert reason in found.reason


def test_an_epoch_of_its_own_names_it_whatever_the_clocks_say():
    records = [record(TransactionState.PREPARE_COMMIT, T - 3_600_000, epoch=4)]
    _, found = logged_transaction(records, HELD, HERE, ending(epoch=4))
    assert isinstance(found, LoggedTransaction)
    assert nearest([piece(T - 3_600_000, marker_epoch=4)], HELD, ending(epoch=4)) == (
        piece(T - 3_600_000, marker_epoch=4),
        True,
    )


def test_one_in_progress_is_the_last_of_its_producer_and_no_other():
    now = [record(TransactionState.ONGOING, T)]
    assert logged_transaction(now, HELD, HERE, None)[1] == LoggedTransaction("id", (HERE, THERE), T - 50)
    for other in ([*now, record(TransactionState.PREPARE_ABORT, T)], [record(TransactionState.ONGOING, T, epoch=4)]):
        assert isinstance(logged_transaction(other, HELD, HERE, None)[1], Skipped)


def test_the_holder_of_a_producer_id_is_known_also_after_its_epochs_are_used_up():
    records = [record(TransactionState.COMPLETE_COMMIT, T, epoch=0, producer_id=8, previous_producer_id=7)]
    assert logged_transaction(records, ProducerIdAndEpoch(7, 32_766), HERE, ending(epoch=32_767))[0] == "id"


def test_in_another_partition_it_is_certain_only_where_the_log_says_that_it_is_there():
    known = LoggedTransaction("id", (HERE, THERE), T - 50, T - 1, T + 2)
    before, here, after = piece(T - 20), piece(T + 1, first=1), piece(T + 11, first=2)
    assert nearest([before, here, after], HELD, ending(), known) == (here, False)
    assert nearest([here], HELD, ending(), known) == (here, True)
    assert nearest([here], HELD, ending(), replace(known, certain=False)) == (here, False)
    assert nearest([before, here, after], HELD, ending()) == (here, False)
    assert nearest([here], HELD, ending()) == (here, False), "the next one of this epoch may end as near"
    assert nearest([piece(T - 60_000)], HELD, ending()) is None
    assert nearest([Piece(3, 5, 5, True)], HELD, None) == (Piece(3, 5, 5, True), True)
    assert nearest([here], HELD, None) is None
