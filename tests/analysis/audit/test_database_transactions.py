"""Transactions of a database put together from their parts: which are whole, which are not, and what is kept."""

import pytest

from eosctl.analysis.audit.database_transactions import DatabaseTransactionScan, add_transactions, judge_transactions
from eosctl.model.events import KEPT_OPEN, TransactionCounts, TransactionItem, TransactionPart, TransactionRole
from eosctl.model.names import TopicPartition
from eosctl.model.records import Record
from tests.analysis.audit.test_scan import header

HERE, THERE = TopicPartition("t", 0), TopicPartition("u", 1)
ROLES = {"b": TransactionRole.BEGINS, "e": TransactionRole.ENDS}
COUNTED = TransactionRole.COUNTED


def items(text: str, name: str = "x", connectors: tuple[str, ...] = ("c",)) -> list[TransactionItem]:
    """b begins the transaction, e3 ends it with 3 records, 1-3 are records 1 to 3; @9 is at time 9."""
    found = []
    for at, each in enumerate(text.split()):
        numbers, _, time = each.partition("@")
        role = ROLES.get(numbers[0], COUNTED)
        first, _, last = numbers.lstrip("be").partition("-")
        found.append(
            TransactionItem(
                connectors, role, name, int(first or 0), int(last or first or 0), at, at, int(time or at), 7, 0
            )
        )
    return found


@pytest.mark.parametrize(
    ("settled", "tail", "whole", "half", "kept"),
    [
        ("b 1-3 e3", "", 1, None, 0),
        ("b 1-2 e3", "", 0, ((1, 2),), 3),
        ("b 1 3 e3", "", 0, ((1, 1), (3, 3)), 4),
        ("b 2-3 e3", "", 0, ((2, 3),), 3),
        ("b 1-4 e3", "", 1, None, 0),
        ("b 1-2 3 e3", "", 1, None, 0),
        ("b 3 1-2 e3", "", 1, None, 0),
        ("b 1-3 2 e3", "", 1, None, 0),
        ("b 1-2 b 1-3 e3", "", 1, None, 0),
        ("b e0", "", 1, None, 0),
        ("b e1", "", 0, (), 2),
        ("1-3 e3", "", 0, None, 2),
        ("b 1-3", "", 0, None, 2),
        ("1-3", "", 0, None, 1),
        ("b 1-2 e2@5 e3@9", "", 0, ((1, 2),), 4),
        ("b 1-2 e3@5 e2@9", "", 1, None, 0),
        ("b 1-2 e3", "3", 0, None, 3),
        ("b 1-2 e3", "2", 0, ((1, 2),), 3),
        ("b 1-2 e3", "b", 0, ((1, 2),), 3),
        ("b 1-3", "e3", 0, None, 2),
        ("", "b 1-3 e3", 0, None, 0),
    ],
)
def test_a_transaction_is_whole_with_all_numbers_up_to_the_one_that_its_end_counts(settled, tail, whole, half, kept):
    """The records of a tail may make it whole, and are no proof."""
    done = judge_transactions({HERE: items(settled)}, {THERE: items(tail)}, 4)
    assert done.counts.whole == 4 + whole
    assert [each.found for each in done.counts.half] == ([] if half is None else [half])
    assert done.left == ({HERE: tuple(items(settled))} if kept else {})
    assert kept in {0, len(items(settled))}


def test_a_half_transaction_has_its_last_record_and_its_end():
    begun, counted = items("b@5"), items("1-2@6 2@7")
    done = judge_transactions({HERE: [*begun, *items("e3@9")], THERE: counted}, {}, 0)
    [half] = done.counts.half
    assert (half.transaction, half.begun, half.topic, half.partition) == ("x", 5, "t", 0)
    assert (half.end.last, half.last_topic, half.last_partition, half.last.timestamp) == (3, "u", 1, 7)
    assert done.left == {HERE: (begun[0], items("e3@9")[0]), THERE: tuple(counted)}
    [empty] = judge_transactions({HERE: items("b e1")}, {}, 0).counts.half
    assert (empty.last, empty.last_topic) == (empty.end, "t")


def test_transactions_of_other_names_and_of_other_databases_are_others():
    one, two = items("b 1 e2"), items("2", connectors=("d",))
    found = judge_transactions({HERE: [*one, *two, *items("2", "y")]}, {}, 0)
    assert [each.found for each in found.counts.half] == [((1, 1),)]
    assert judge_transactions({HERE: one}, {HERE: items("2", "y")}, 0).counts.half == found.counts.half


@pytest.mark.parametrize(("count", "kept"), [(KEPT_OPEN, KEPT_OPEN), (KEPT_OPEN + 1, KEPT_OPEN)])
def test_the_earliest_half_transactions_are_reported_and_the_latest_are_kept(count, kept):
    many = [each for at in reversed(range(count)) for each in items(f"b@{at} e1@{at}", f"x{at:04}")]
    done = judge_transactions({HERE: many}, {}, 0)
    assert [each.begun for each in done.counts.half] == list(range(kept))
    assert sorted({each.timestamp for each in done.left[HERE]}) == list(range(count - kept, count))


def test_counts_of_buckets_are_added_in_the_order_of_their_begins():
    late, early = (judge_transactions({HERE: items(text)}, {}, 2).counts for text in ("b@8 e1@9", "b@3 e1@9"))
    found = add_transactions([late, TransactionCounts(), early])
    assert (found.whole, [each.begun for each in found.half]) == (4, [3, 8])


@pytest.mark.parametrize(
    ("parts", "found"),
    [
        ([(COUNTED, "x", 1, 7)], [(1, 1)]),
        ([(COUNTED, "x", 1, 7), (COUNTED, "x", 2, 7), (COUNTED, "x", 3, 7)], [(1, 3)]),
        ([(COUNTED, "x", 1, 7), (COUNTED, "x", 3, 7)], [(1, 1), (3, 3)]),
        ([(COUNTED, "x", 2, 7), (COUNTED, "x", 1, 7)], [(2, 2), (1, 1)]),
        ([(COUNTED, "x", 1, 7), (COUNTED, "x", 1, 7)], [(1, 1), (1, 1)]),
        ([(COUNTED, "x", 1, 7), (COUNTED, "y", 2, 7)], [(1, 1), (2, 2)]),
        ([(COUNTED, "x", 1, 7), (COUNTED, "x", 2, 8)], [(1, 1), (2, 2)]),
        ([(ROLES["b"], "x", 0, 7), (COUNTED, "x", 1, 7)], [(0, 0), (1, 1)]),
        ([(ROLES["e"], "x", 1, 7), (ROLES["e"], "x", 2, 7)], [(1, 1), (2, 2)]),
    ],
)
def test_records_that_follow_each_other_in_one_transaction_are_one_item(parts, found):
    scan = DatabaseTransactionScan(("c",))
    for offset, (*part, producer_id) in enumerate(parts):
        scan.add(
            TransactionPart(*part),
            Record(offset, 100 + offset, None, None),
            header(offset, offset)._replace(producer_id=producer_id),
        )
    assert [(each.first, each.last) for each in scan.items] == found
    assert (scan.items[0].offset, scan.items[0].timestamp, scan.items[-1].last_offset) == (0, 100, len(parts) - 1)
