"""Where a trace looks for the transaction of a producer ID that no coordinator knows."""

from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

import pytest

from eosctl.errors import Refused
from eosctl.model.skipped import Skipped
from eosctl.model.transaction_log import LoggedHolders, TransactionalIdHolder, TransactionLogRecords
from eosctl.model.transactions import ListedTransactions, TransactionListing, TransactionState
from eosctl.operations.decisions import MOST_LOG_BYTES
from eosctl.operations.tracing import LivePlaces
from tests.fake_cluster import FakeCluster

if TYPE_CHECKING:
    from eosctl.operations.session import Session


def places(found: LoggedHolders, *listed: TransactionListing) -> tuple[LivePlaces, list[object]]:
    asked: list[object] = []

    def search(producer_ids: object, most_bytes: int) -> LoggedHolders:
        asked.append((producer_ids, most_bytes))
        return found

    def read(names: object) -> TransactionLogRecords:
        asked.append(names)
        return TransactionLogRecords({}, Skipped("not asked"), ())

    reader = FakeCluster(transactional_ids=ListedTransactions(listed, {}), logged_holders=search, transaction_log=read)
    return LivePlaces(cast("Session", SimpleNamespace(reader=reader, wire=None)), "connect-configs"), asked


def test_the_partition_of_the_holder_is_read_and_no_other():
    there, asked = places(LoggedHolders(), TransactionListing("a", 7, TransactionState.EMPTY, 1))
    assert (list(there.transaction_log(7)), asked) == ([], [["a"]])


def test_the_log_is_searched_for_the_id_that_held_the_producer_id_and_its_partition_is_read():
    there, asked = places(LoggedHolders(holders=frozenset({TransactionalIdHolder(7, "gone")})))
    assert (list(there.transaction_log(7)), asked) == ([], [({7}, MOST_LOG_BYTES), ["gone"]])
    there, asked = places(LoggedHolders())
    assert (list(there.transaction_log(7)), asked) == ([], [({7}, MOST_LOG_BYTES)])


def test_the_transaction_is_unknown_where_the_log_was_not_searched_to_its_end():
    there, _ = places(LoggedHolders(left=1, read_bytes=MOST_LOG_BYTES))
    with pytest.raises(Refused, match=r"2,048\.0 MiB .* for the ID of producer 7, and 1 record of it are left"):
        there.transaction_log(7)
