"""Transactions of a log, and the history of the transaction log beside them."""

from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eosctl.analysis.audit.history import fold_transaction_log_history
from eosctl.analysis.audit.owners import Owners, name_owners, name_trouble
from eosctl.analysis.audit.scan import TransactionScan, join_items
from eosctl.analysis.audit.transactions import (
    JudgementInputs,
    Known,
    Totals,
    add_summaries,
    duration_ms,
    first_troubles,
    join_parts,
    judge_producer,
    match_parts,
    parts_of,
    raises_epochs,
    reduce_transactions,
    stalls_of,
)
from eosctl.codecs.record_batches import EndTransactionMarker, MarkerType
from eosctl.model.audit import (
    ABORT_INTERVAL,
    MAX_TIMEOUT,
    Anomaly,
    ClosedTransactions,
    CommittedData,
    OffsetsWrite,
    OutputPart,
    TransactionSummary,
    longest_transaction_ms,
)
from eosctl.model.audit_states import KEPT_PLACES, ItemKind, ProducerItems, TransactionItem, TransactionPart
from eosctl.model.names import ProducerIdAndEpoch, TopicPartition
from eosctl.model.transaction_log import (
    LoggedTransaction,
    NewerLogRecord,
    TransactionalIdHolder,
    TransactionLogRecord,
    TransactionLogValue,
)
from eosctl.model.transactions import TransactionState
from tests.analysis.audit.test_scan import header

OFFSETS, DATA, DATA2 = TopicPartition("offsets", 0), TopicPartition("orders", 0), TopicPartition("orders", 1)
MINUTE = 60_000
NOW = 100 * MINUTE
OWNERS = Owners({7: ("orders",)}, {"orders": ("orders",)})
BENCH = JudgementInputs(NOW, -1, OWNERS)


def items(*texts: str) -> tuple[TransactionItem, ...]:
    """d3@500: data of epoch 3 at 500 ms; c4@510 a marker that commits with epoch 4; a aborts. Ten offsets apart."""
    kinds = {"d": ItemKind.DATA, "a": ItemKind.ABORT, "c": ItemKind.COMMIT}
    found = []
    for place, text in enumerate(texts):
        epoch, time = text[1:].split("@")
        records = 4 if text[0] == "d" else 0
        last = 10 * place + max(0, records - 1)
        found.append(
            TransactionItem(
                kinds[text[0]], 10 * place, last, int(epoch), records, 100 * records, int(time), int(time)
            )
        )  # fmt: skip
    return tuple(found)


def parts(**texts: str) -> list[TransactionPart]:
    """Parts of producer ID 7, by place: offsets, data, data2."""
    places = {"offsets": OFFSETS, "data": DATA, "data2": DATA2}
    return [
        part
        for name, text in texts.items()
        for part in parts_of(places[name], 7, items(*text.split()), offsets=name == "offsets")
    ]


def shape(found: Iterable[tuple[TransactionPart, ...]]) -> list[list[str]]:
    return [sorted(f"{part.topic}-{part.partition}@{part.first}" for part in transaction) for transaction in found]


def kinds(found: list[TransactionPart], inputs: JudgementInputs = BENCH) -> list[tuple[str, str, int]]:
    unnamed = (anomaly for _, each in judge_producer(found, inputs) for anomaly in each)
    anomalies = [named for each in unnamed if (named := name_trouble(each, inputs.owners)) is not None]
    return [(each.kind, f"{each.topic}-{each.partition}", each.first) for each in anomalies]


def test_data_up_to_the_next_marker_is_one_part():
    found = parts(data="d0@1 c0@2 d0@3 a1@4 c5@6 a7@8 d2@9")
    assert [(each.first, each.committed, each.marker_offset, each.records) for each in found] == [
        (0, True, 10, 4),
        (20, False, 30, 4),
        (40, True, 40, 0),
        (60, False, None, 4),
    ]


def test_data_of_another_epoch_without_a_marker_between_is_another_part():
    found = parts(data="d0@1 d1@2 c1@3")
    assert [(each.first, each.committed, each.marker_offset) for each in found] == [(0, False, None), (10, True, 20)]
    assert [(each.marker_timestamp, each.marker_epoch) for each in found] == [(-1, -1), (3, 1)]


def test_a_commit_with_a_higher_epoch_shows_transaction_version_2():
    assert raises_epochs(parts(data="c4@1 d4@2 c5@3")) is True, "a commit without data shows nothing"
    assert raises_epochs([]) is None
    assert raises_epochs(parts(data="d3@1 c4@2")) is True
    assert raises_epochs(parts(data="d3@1 c3@2")) is False
    assert raises_epochs(parts(data="d3@1 a4@2 d5@3")) is None


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        ({"offsets": "d3@1 c4@900", "data": "d3@1 c4@2"}, [["offsets-0@0", "orders-0@0"]]),
        ({"offsets": "d3@1 c4@5", "data": "d4@1 c5@6"}, [["offsets-0@0"], ["orders-0@0"]]),
        ({"offsets": "d0@1 c0@5", "data": "d0@1 c0@10"}, [["offsets-0@0", "orders-0@0"]]),
        ({"offsets": "d0@1 c0@5", "data": "d0@1 c0@11"}, [["offsets-0@0"], ["orders-0@0"]]),
        ({"offsets": "d0@1 c0@5", "data": "d0@1 a1@5"}, [["offsets-0@0"], ["orders-0@0"]]),
        ({"data": "d0@1 c0@5 d0@6 c0@7"}, [["orders-0@0"], ["orders-0@20"]]),
        ({"offsets": "d0@1 c0@5", "data": "d0@1 c0@10", "data2": "d0@1 c0@11"},
         [["offsets-0@0", "orders-0@0"], ["orders-1@0"]]),
        ({"offsets": "d0@1 c0@7", "data": "d0@1 c0@5 d0@6 c0@7"}, [["offsets-0@0", "orders-0@0"], ["orders-0@20"]]),
        ({"data": "d0@1 a0@5", "data2": "d0@1 a0@5"}, [["orders-0@0", "orders-1@0"]]),
        ({"data": "c3@9", "data2": "d3@1 c4@20"}, [["orders-0@0"], ["orders-1@0"]]),
        ({"offsets": "c4@9", "data": "d3@1 c4@9"}, [["offsets-0@0", "orders-0@0"]]),
        ({"offsets": "d3@1", "data": "d3@1 c4@9"}, [["offsets-0@0", "orders-0@0"]]),
        ({"offsets": "d3@1", "data": "d0@1 c0@9"}, [["orders-0@0"], ["offsets-0@0"]]),
    ],
)  # fmt: skip
def test_parts_are_put_together_by_their_epoch_or_by_the_clock(texts, expected):
    assert shape(join_parts(parts(**texts))) == expected


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        ({"offsets": "d3@1 c4@9", "data": "d3@1 c4@9"}, []),
        ({"data": "d3@1 c4@9"}, [("data-without-offsets", "orders-0", 0)]),
        ({"data": "d3@1 a4@9"}, []),
        ({"data": "d3@1"}, []),
        ({"offsets": "c4@9"}, []),
        ({"offsets": "d3@1 c4@9", "data": "d3@1"}, [("missing-marker", "orders-0", 0)]),
        ({"offsets": "d3@1", "data": "d3@1 c4@9"}, [("missing-marker", "offsets-0", 0)]),
        ({"offsets": f"d3@1 c4@{NOW - 5000}", "data": "d3@1"}, []),
        ({"offsets": f"d3@1 c4@{NOW - 5001}", "data": "d3@1"}, [("missing-marker", "orders-0", 0)]),
        ({"data": "d0@1 c0@9"}, [("data-without-offsets", "orders-0", 0)]),
        ({"offsets": "d0@60009 c0@60010", "data": "d0@1 c0@9"}, [("unclear", "orders-0", 0)]),
        ({"offsets": "d0@9 c0@20", "data": "d0@60020 c0@60081"}, [("unclear", "orders-0", 0)]),
        ({"offsets": "d0@9 c0@20", "data": "d0@60021 c0@60081"}, [("data-without-offsets", "orders-0", 0)]),
        *(
            (
                {
                    "offsets": f"d0@1 c0@9 d0@9 c0@{offsets}",
                    "data": f"d0@1 c0@9 d0@9 c0@{data}",
                    "data2": f"d0@9 c0@{offsets}",
                },
                [(kind, "orders-0", 20)],
            )
            for offsets, data, kind in (
                (4000, 3000, "unclear"),
                (4001, 3000, "data-without-offsets"),
                (3000, 4000, "unclear"),
                (3000, 4001, "data-without-offsets"),
            )
        ),
        ({"offsets": "d3@1 c4@9", "data": "d3@1 a4@9"}, [("mixed-markers", "offsets-0", 0)]),
        ({"offsets": "d0@1 c0@60000", "data": "d0@1 c0@9"}, [("unclear", "orders-0", 0)]),
        ({"offsets": "d0@1 c0@60010", "data": "d0@1 c0@9"}, [("unclear", "orders-0", 0)]),
        ({"offsets": "d0@60010 c0@60010", "data": "d0@1 c0@9"}, [("data-without-offsets", "orders-0", 0)]),
        ({"offsets": "d0@1 c0@500", "data2": "d0@1 c0@500", "data": "d0@1 c0@1500"}, [("unclear", "orders-0", 0)]),
        ({"offsets": "d0@1 c0@500", "data2": "d0@1 c0@500", "data": "d0@1 c0@1501"}, [("unclear", "orders-0", 0)]),
        (
            {"offsets": "d0@1 c0@9 d0@9 c0@5000", "data": "d0@1 c0@9 d0@9 c0@3000", "data2": "d0@9 c0@5000"},
            [("data-without-offsets", "orders-0", 20)],
        ),
        (
            {"offsets": "d0@1 c0@9 d0@9 c0@3900", "data": "d0@1 c0@9 d0@9 c0@3000", "data2": "d0@9 c0@3900"},
            [("unclear", "orders-0", 20)],
        ),
        ({"offsets": "d4@1 c5@60000", "data": "d3@1 c4@9"}, [("data-without-offsets", "orders-0", 0)]),
        ({"offsets": "d9@1", "data": "d3@1 c4@9"}, []),
    ],
)
def test_each_fault_of_a_transaction_is_found(texts, expected):
    reported = [each for each in kinds(parts(**texts)) if each[0] != "offsets-without-data"]
    assert reported == expected


@pytest.mark.parametrize(
    ("texts", "reported"),
    [
        ({"offsets": "d3@1 c4@9"}, True),
        ({"offsets": "c4@9"}, False),
        ({"offsets": "d3@1 a4@9"}, False),
        ({"offsets": "d3@1 c4@9", "data": "d3@1 c4@9"}, False),
    ],
)
def test_offsets_without_data_are_reported(texts, reported):
    assert kinds(parts(**texts)) == ([("offsets-without-data", "offsets-0", 0)] if reported else [])


@pytest.mark.parametrize(("whole_since", "kind"), [(-1, "data-without-offsets"), (0, "data-without-offsets"),
                                                   (1, "unjudged"), (None, "unjudged")])  # fmt: skip
def test_data_is_judged_only_from_when_the_offsets_topics_are_whole(whole_since, kind):
    inputs = BENCH._replace(whole_since=whole_since)
    assert kinds(parts(data="d3@1 c4@9"), inputs) == [(kind, "orders-0", 0)]


def test_an_anomaly_has_the_time_of_its_marker_or_else_of_its_first_record():
    def times(found: list[TransactionPart]) -> list[int]:
        return [each.timestamp for _, anomalies in judge_producer(found, BENCH) for each in anomalies]

    assert times(parts(data="d3@1 c4@9")) == [9]
    assert times(parts(offsets="d3@2 c4@9", data="d3@1")) == [1]
    assert list(judge_producer([], BENCH)) == []


@pytest.mark.parametrize(
    ("texts", "longest_ms", "duration"),
    [
        ({"data": "d3@10 c4@110"}, 100, 100),
        ({"data": "d3@10 c4@110"}, 99, None),
        ({"data": "d3@10 c4@10"}, 100, 0),
        ({"data": "d3@11 c4@10"}, 100, None),
        ({"data": "d3@11 c4@10", "data2": "d3@8 c4@9"}, 100, 2),
        ({"data": "d3@10 c4@110", "data2": "d3@9 c4@20"}, 100, 100),
        ({"data": "d3@10"}, 100, None),
        ({"data": "d3@-1"}, 100, None),
        ({"data": "d3@0 a4@0"}, 100, 0),
    ],
)
def test_a_transaction_lasts_from_its_first_credible_record_to_its_last_marker(texts, longest_ms, duration):
    assert duration_ms(tuple(parts(**texts)), longest_ms) == duration


def test_the_earliest_anomalies_of_each_kind_and_topic_are_kept():
    def trouble(kind: str, at: int) -> Anomaly:
        return Anomaly(kind, ("c",), "orders", 0, at, at, 7, 0, at, 1)

    many = [trouble("unclear", at) for at in range(KEPT_PLACES + 1)]
    found = first_troubles([*reversed(many), trouble("mixed-markers", 99)])
    assert found == (trouble("mixed-markers", 99), *many[:KEPT_PLACES])
    assert first_troubles(many[:KEPT_PLACES]) == tuple(many[:KEPT_PLACES])


def test_summaries_of_transactions_are_added_by_connector_and_by_place():
    one = summary(parts(data="d3@100 c4@700"))
    added = add_summaries([one, one, TransactionSummary()])
    assert [each[:7] for each in added.figures] == [("orders", 2, 0, 8, 800, 0, 0)]
    assert (added.figures[0].sizes, added.figures[0].durations) == (((3, 2),), ((10, 2),))
    assert added.tallies == (("data-without-offsets", ("orders",), "orders", 2, 8),)
    assert added.anomalies == one.anomalies, "the same place"


def test_data_of_unowned_producers_and_topics_is_not_judged():
    assert kinds(parts(data="d3@1 c4@9"), BENCH._replace(owners=Owners({}, {}))) == []


def summary(found: list[TransactionPart]) -> TransactionSummary:
    totals = Totals()
    for transaction, anomalies in judge_producer(found, BENCH):
        totals.add_transaction(transaction, anomalies, (), BENCH)
    return name_owners(7, totals.result(), BENCH.owners)


def test_figures_count_records_of_data_by_what_became_of_them():
    offsets, data = "d3@100 c4@700 d4@800 a5@900", "d3@200 c4@700 d4@800 a5@900"
    [figures] = summary(parts(offsets=offsets, data=data, data2="d3@300 c4@701")).figures
    assert figures[:7] == ("orders", 1, 1, 8, 800, 4, 400)
    assert (figures.sizes, figures.durations) == (((4, 1),), ((10, 1),))


def test_a_transaction_counts_once_for_each_topic_however_many_partitions():
    [tally] = summary(parts(data="d3@1 c4@9", data2="d3@1 c4@9")).tallies
    assert tally == ("data-without-offsets", ("orders",), "orders", 1, 8)


@pytest.mark.parametrize(
    ("text", "stalls"),
    [
        ("d3@1000 c4@1999", []),
        ("d3@1000 c4@2000", [(1000, 2000)]),
        (f"d3@1000 a4@{1046 + 15 * MINUTE}", [(1000, 1046 + 15 * MINUTE)]),
        (f"d3@1000 c4@{1001 + 15 * MINUTE + 15_000}", []),
        (f"d3@{NOW - 1000}", [(NOW - 1000, None)]),
        (f"d3@{NOW - 999}", []),
        ("d3@1000", [(1000, None)]),
        ("c4@1000", []),
        ("d3@1000 d4@1500 c5@2500", [(1000, None), (1500, 2500)]),
        (f"d3@1000 c4@{1000 + 15 * MINUTE + 15_000}", [(1000, 1000 + 15 * MINUTE + 15_000)]),
    ],
)
def test_a_transaction_that_is_open_for_long_keeps_the_last_stable_offset_back(text, stalls):
    assert [(each.from_ms, each.until_ms) for each in summary(parts(data=text)).stalls] == stalls


def test_the_brokers_say_how_long_a_transaction_can_be():
    half_an_hour = {MAX_TIMEOUT: str(30 * MINUTE), ABORT_INTERVAL: "60000"}
    longest = longest_transaction_ms([half_an_hour, {}])
    assert (longest, longest_transaction_ms([{}])) == (31 * MINUTE + 5_000, 15 * MINUTE + 15_000)
    ended = parts(data=f"d3@1000 a4@{1000 + 30 * MINUTE + 10_000}")
    for longest_ms, stalls in ((longest, 1), (BENCH.longest_ms, 0)):
        inputs = BENCH._replace(longest_ms=longest_ms)
        [(transaction, _)] = judge_producer(ended, inputs)
        assert len(list(stalls_of(transaction, inputs))) == stalls


def reduced(found: dict[TopicPartition, list[tuple[TransactionItem, ...]]], as_of: int, carried=(), **known):
    places = {place: [(ProducerItems(7, each),) for each in rows] for place, rows in found.items()}
    tails = {place: [(ProducerItems(7, each),)] for place, each in known.get("tails", {}).items()}
    before = Known(places, tails, carried or ClosedTransactions())
    return reduce_transactions(before, BENCH._replace(as_of=as_of), frozenset({"offsets"}), known.get("asked", ()))


@pytest.mark.parametrize(
    ("as_of", "closed"), [(9 + 15 * MINUTE, False), (10 + 15 * MINUTE, True)]
)  # fmt: skip
def test_a_transaction_is_closed_after_a_quarter_of_an_hour(as_of, closed):
    done = reduced({DATA: [items("d3@1", "c4@9")]}, as_of)
    assert (done.left == {}, [producer_id for producer_id, _ in done.closed.producers] == [7]) == (closed, closed)


@pytest.mark.parametrize(
    ("ended", "closed"),
    [(60_000 + 5 + 9, False), (60_000 + 5 + 10, True)],
)
def test_a_transaction_is_closed_beside_one_in_a_tail_that_ended_long_after_it(ended, closed):
    both = items("d3@1", "c4@9", "d4@20", f"c5@{ended}")
    done = reduced({DATA: [both[:2]]}, NOW, tails={DATA: both[2:]})
    assert done.left == ({} if closed else {DATA: (ProducerItems(7, both[:2]),)})
    assert [each.figures[0].committed for _, each in done.closed.producers] == ([1] if closed else [])
    assert done.now.figures[0].committed == 2


def test_a_marker_in_a_tail_ends_data_of_a_settled_range():
    both = items("d3@1", "c4@9")
    done = reduced({DATA: [both[:1]]}, NOW, tails={DATA: both[1:]})
    assert (done.closed, done.left) == (ClosedTransactions(), {DATA: (ProducerItems(7, both[:1]),)})
    assert done.now.figures[0].committed == 1
    elsewhere = reduced({}, NOW, tails={DATA: both})
    assert (elsewhere.closed, elsewhere.left) == (ClosedTransactions(), {})


@pytest.mark.parametrize("again", [True, False])
def test_what_an_earlier_run_found_of_an_offset_is_kept_while_it_is_asked_for(again):
    write = OffsetsWrite("offsets", 0, 4, 7)
    carried = ClosedTransactions(committed=(CommittedData(write, ()),))
    done = reduced({}, NOW, carried, asked=[write] if again else [])
    kept = carried.committed if again else ()
    assert (done.now.committed, done.closed.committed) == (kept, kept)


def test_nothing_of_a_producer_is_closed_while_it_has_an_open_part():
    done = reduced({DATA: [items("d3@1", "c4@9", "d4@10")]}, NOW)
    assert done.closed == ClosedTransactions()
    assert done.left == {DATA: (ProducerItems(7, items("d3@1", "c4@9", "d4@10")),)}


@pytest.mark.parametrize(("offset", "data"), [(0, [DATA]), (3, [DATA]), (20, []), (4, None)])
def test_records_committed_with_an_offset_are_found_by_their_transaction(offset, data):
    asked = [OffsetsWrite("offsets", 0, offset, 7), OffsetsWrite("offsets", 1, 0, 7), OffsetsWrite("offsets", 0, 0, 8)]
    found = {OFFSETS: [items("d3@1", "c4@9", "d4@20", "c5@30")], DATA: [items("d3@1", "c4@9")]}
    parts = tuple(OutputPart(place.topic, place.partition, 0, 3, 4) for place in data or ())
    committed = reduced(found, NOW, asked=asked).now.committed
    assert committed == (() if data is None else (CommittedData(asked[0], parts),))


STEPS = st.lists(
    st.tuples(st.sampled_from("ddca"), st.integers(0, 3), st.sampled_from([1, 900, 20 * MINUTE])), max_size=14
)


def scanned(steps: list[tuple[str, int, int]], first: int = 0) -> tuple[TransactionItem, ...]:
    scan, time = TransactionScan(), 0
    for offset, (kind, epoch, ms) in enumerate(steps):
        time += ms
        if offset < first:
            continue
        if kind == "d":
            scan.add_data(header(offset, offset, time=time)._replace(producer_epoch=epoch))
        else:
            marker = EndTransactionMarker(offset, time, MarkerType.COMMIT, 1, epoch, 0)
            scan.add_marker(marker, committed=kind == "c")
    return next((state.items for state in scan.states()), ())


@given(STEPS, st.integers(0, 14))
def test_items_of_neighbouring_ranges_are_those_of_both(steps, cut):
    assert join_items(scanned(steps[:cut]), scanned(steps, cut)) == scanned(steps)


STATES = {
    "e": TransactionState.EMPTY,
    "o": TransactionState.ONGOING,
    "c": TransactionState.PREPARE_COMMIT,
    "C": TransactionState.COMPLETE_COMMIT,
    "a": TransactionState.PREPARE_ABORT,
    "A": TransactionState.COMPLETE_ABORT,
}
PLACES = {"o": OFFSETS, "1": DATA, "2": DATA2}


def log(*texts: str, name: str = "group-orders-0", producer_id: int = 7) -> list[TransactionLogRecord]:
    """c0@500:o1: PrepareCommit with epoch 0 at 500 ms, of the offsets topic and the first partition of the data."""
    records = []
    for offset, text in enumerate(texts):
        epoch, rest = text[1:].split("@")
        time, _, letters = rest.partition(":")
        places = tuple(PLACES[each] for each in letters)
        producer = ProducerIdAndEpoch(producer_id, int(epoch))
        value = TransactionLogValue(0, producer, 60_000, STATES[text[0]], places or None, int(time), 0)
        records.append(TransactionLogRecord(3, offset, int(time), name, value))
    return records


def decided(*texts: str) -> tuple[LoggedTransaction, ...]:
    return fold_transaction_log_history(log(*texts), {7}).transactions


def test_every_holder_of_a_producer_id_that_was_asked_for_is_reported():
    records = [
        *log("e0@1", "o0@2:o"),
        *log("e0@1", name="streams-1", producer_id=8),
        *log("e0@1", name="x", producer_id=9),
    ]
    tombstone = TransactionLogRecord(3, 9, 10, "group-orders-0", None)
    found = fold_transaction_log_history([*records, tombstone, NewerLogRecord(3, 10, 2)], {7, 8})
    assert found.holders == (TransactionalIdHolder(7, "group-orders-0"), TransactionalIdHolder(8, "streams-1"))


def test_a_transaction_is_what_its_coordinator_decided_in_the_session_that_it_is_of():
    found = decided("e4@1", "o4@2:o", "c4@3:o1", "C4@4", "o4@5:o", "a5@6:o2", "A5@7", "e6@8", "c6@9:o")
    assert found == (
        LoggedTransaction(7, 4, 2, 3, True, frozenset({OFFSETS, DATA}), 4),
        LoggedTransaction(7, 4, 5, 6, False, frozenset({OFFSETS, DATA2}), 7),
        LoggedTransaction(7, 6, 8, 9, True, frozenset({OFFSETS})),
    )


def test_a_session_whose_beginning_was_compacted_has_no_transactions():
    assert decided("c4@3:o1", "C4@4", "e5@5", "c5@6:o") == (LoggedTransaction(7, 5, 3, 6, True, frozenset({OFFSETS})),)


LONG_AGO = ("e0@0", "c0@10:o1", "C0@12", "c0@50:o2", "C0@52", "c0@90:o1", "C0@92")


@pytest.mark.parametrize(
    ("texts", "matched"),
    [
        ({"data": "d0@5 c0@11 d0@80 c0@91"}, [10, 90]),
        ({"data": "d0@5 c0@411 d0@80 c0@491"}, [10, 90]),
        ({"data": "d0@5 c0@11 d0@6 a0@7 d0@80 c0@91"}, [10, 90]),
        ({"data": "d0@80 c0@91"}, []),
        ({"data": "d0@5 c0@11 d0@80 c0@91 d0@95 c0@96"}, []),
        ({"data": "d0@5 c0@99999 d0@80 c0@99999"}, []),
        ({"data": "d1@5 c1@11 d1@80 c1@91"}, []),
        ({"data2": "d0@5 c0@11", "data": "d0@80 c0@91"}, [50]),
        ({"data": "d0@5 c1@11 d0@80 c1@91"}, []),
        ({}, []),
    ],
)
def test_parts_are_matched_where_none_is_missing(texts, matched):
    found = match_parts(parts(**texts), decided(*LONG_AGO), NOW)
    assert sorted(each.decided_ms for each in found.values()) == matched


@pytest.mark.parametrize(("later_ms", "matched"), [(9_999, [10]), (10_000, [])])
def test_a_transaction_has_to_have_its_marker_once_it_was_complete_for_ten_seconds(later_ms, matched):
    logged = decided("e0@0", "c0@10:1", "C0@12", "c0@50:1", "C0@52")
    found = match_parts(parts(data="d0@5 c0@11"), logged, 52 + later_ms)
    assert [each.decided_ms for each in found.values()] == matched


@pytest.mark.parametrize(
    ("marker", "is_of_it"), [(9, False), (10, True), (60_010, True), (120_012, True), (120_013, False)]
)
def test_a_marker_is_of_a_transaction_from_a_minute_before_its_decision_to_a_minute_behind_its_completion(
    marker, is_of_it
):
    logged = decided("e0@0", "c0@60010:1", "C0@60012")
    assert len(match_parts(parts(data=f"d0@5 c0@{marker}"), logged, NOW)) == is_of_it


def test_logged_transactions_that_were_aborted_have_no_committed_part():
    logged = decided("e0@0", "a0@10:1", "A0@11", "c0@50:1", "C0@52")
    assert [each.decided_ms for each in match_parts(parts(data="d0@5 c0@51"), logged, NOW).values()] == [50]


def test_transactions_of_one_millisecond_are_two():
    found = parts(data="d0@5 c0@11 d0@11 c0@11")
    assert len(join_parts(found, match_parts(found, decided("e0@0", "c0@10:o1", "c0@10:o1"), NOW))) == 2


def test_a_transaction_decided_just_before_the_audit_may_have_no_marker_yet():
    logged = decided("e0@0", "c0@10:o1", "C0@12", "c0@50:o1")
    [(part, transaction)] = match_parts(parts(data="d0@5 c0@11"), logged, 55).items()
    assert (part.first, transaction.decided_ms) == (0, 10)


@pytest.mark.parametrize("late", ["offsets", "data"])
def test_a_marker_that_a_broker_was_too_long_gone_to_take_is_of_the_transaction_that_its_coordinator_decided(late):
    """Brokers before 4.3 write the marker of a partition without leader once it has one again, hours later maybe."""
    ends = {"offsets": 20, "data": 20, late: 40 * MINUTE}
    found = parts(offsets=f"d0@9 c0@{ends['offsets']}", data=f"d0@8 c0@{ends['data']}")
    assert {kind for kind, topic, _ in kinds(found) if topic == "orders-0"} == {"unclear"}
    whole = BENCH._replace(whole_since=20 * MINUTE)
    assert "data-without-offsets" not in {kind for kind, _, _ in kinds(parts(data=f"d0@8 c0@{40 * MINUTE}"), whole)}
    logged = {7: decided("e0@0", "c0@10:o1", f"C0@{40 * MINUTE + 1}")}
    inputs = BENCH._replace(logged=logged, offsets_topics=frozenset({"offsets"}))
    assert kinds(found, inputs) == []
    assert shape(join_parts(found, match_parts(found, logged[7], NOW))) == [["offsets-0@0", "orders-0@0"]]


@pytest.mark.parametrize(
    "texts",
    [
        {
            "offsets": f"d0@9 c0@20 d0@{4 * MINUTE} c0@{4 * MINUTE}",
            "data2": f"d0@{4 * MINUTE} c0@{4 * MINUTE}",
            "data": f"d0@8 c0@{9 * MINUTE}",
        },
        {"offsets": f"d0@9 c0@{40 * MINUTE}", "data2": f"d0@{4 * MINUTE} c0@{4 * MINUTE}", "data": "d0@8 c0@10"},
    ],
)
def test_data_is_without_offsets_where_another_transaction_ended_between_it_and_offsets_without_data(texts):
    assert ("data-without-offsets", "orders-0", 0) in kinds(parts(**texts))


def test_data_is_judged_where_the_transaction_before_it_ended_when_the_offsets_topics_were_whole():
    """However old the timestamps are that the source gave its records."""
    found = parts(data2=f"d0@1 c0@{10 * MINUTE}", data=f"d0@8 c0@{20 * MINUTE}")
    verdicts = kinds(found, BENCH._replace(whole_since=5 * MINUTE))
    assert verdicts == [("unjudged", "orders-1", 0), ("data-without-offsets", "orders-0", 0)]


def test_data_is_without_offsets_where_offsets_without_data_ended_before_it_began():
    found = parts(offsets="d0@9 c0@20", data=f"d0@{8 * MINUTE} c0@{9 * MINUTE}")
    assert ("data-without-offsets", "orders-0", 0) in kinds(found)


def test_a_partition_whose_marker_is_not_written_yet_is_matched_nevertheless():
    logged = decided("e0@0", "c0@10:o1", "C0@12", "c0@50:o1")
    assert len(match_parts(parts(data="d0@5 c0@11 d0@40"), logged, NOW)) == 1


APART = {"offsets": "d0@9 c0@60", "data": "d0@8 c0@10"}


def test_markers_of_different_clocks_are_unclear_without_the_log():
    assert kinds(parts(**APART)) == [("unclear", "orders-0", 0), ("offsets-without-data", "offsets-0", 0)]


@pytest.mark.parametrize(
    ("texts", "expected", "joined"),
    [
        (("e0@0", "c0@10:o1"), [], [["offsets-0@0", "orders-0@0"]]),
        (
            ("e0@0", "c0@10:1", "c0@60:o"),
            [("data-without-offsets", "orders-0", 0), ("offsets-without-data", "offsets-0", 0)],
            [["orders-0@0"], ["offsets-0@0"]],
        ),
    ],
)
def test_the_log_shows_whether_data_and_offsets_are_of_one_transaction(texts, expected, joined):
    logged = {7: decided(*texts)}
    inputs = BENCH._replace(logged=logged, offsets_topics=frozenset({"offsets"}))
    found = parts(**APART)
    assert kinds(found, inputs) == expected
    assert shape(join_parts(found, match_parts(found, logged[7], NOW))) == joined


def test_the_log_settles_data_whose_offsets_were_compacted_away():
    logged = {7: decided("e0@0", "c0@10:o1", "c0@60:o2", "c0@900:o2")}
    found = parts(offsets="c0@70 d0@800 c0@950", data="d0@8 c0@10")
    without = kinds(found)
    assert ("unclear", "orders-0", 0) in without
    inputs = BENCH._replace(logged=logged, offsets_topics=frozenset({"offsets"}))
    assert [each for each in kinds(found, inputs) if each[1] == "orders-0"] == []


@pytest.mark.parametrize(
    ("owners", "expected"),
    [
        (OWNERS, "data-without-offsets"),
        (Owners({}, OWNERS.topics, frozenset({7})), "other-writer"),
        (Owners({}, OWNERS.topics), "unknown-writer"),
    ],
)
def test_data_without_offsets_is_held_against_a_connector_only_where_its_task_wrote_it(owners, expected):
    assert kinds(parts(data="d3@1 c4@9"), JudgementInputs(NOW, -1, owners)) == [(expected, "orders-0", 0)]


def test_another_writer_s_transaction_with_two_ends_does_not_count_against_a_connector():
    found = parts(data="d3@1 c4@9", data2="d3@1 a4@9")
    assert ("mixed-markers", "orders-0", 0) in kinds(found)
    others = JudgementInputs(NOW, -1, Owners({}, OWNERS.topics, frozenset({7})))
    assert {each[0] for each in kinds(found, others)} == {"other-writer"}
