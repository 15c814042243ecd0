"""Transactions: their log, who holds them, and what they hold back."""

import random
from itertools import pairwise
from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from eosctl.analysis.hanging import ConnectTopics, held_back, holders, stability, waiting_parts
from eosctl.analysis.tracing import Piece, is_of, logged_transaction, nearest, pieces
from eosctl.analysis.transaction_log import (
    ENOUGH,
    FACTOR,
    LEAST_MS,
    WHOLE_MS,
    CommitHistories,
    fold_transaction_log,
    history,
    idle_since,
    last_records,
    last_values,
    log_findings,
    quietness,
)
from eosctl.analysis.transactions import KnownNames, list_with_owners, owners_of, ownership, running_ms
from eosctl.model.connectors import ConnectorState
from eosctl.model.groups import ListedGroup
from eosctl.model.hanging import OpenTransaction, WaitingGroup, waiting_groups
from eosctl.model.names import (
    ConnectorTaskId,
    ProducerIdAndEpoch,
    TopicPartition,
    coordinator_partition,
    java_hash,
    stem_and_task,
    task_transactional_id,
)
from eosctl.model.skipped import Skipped
from eosctl.model.topics import PartitionOffsets
from eosctl.model.tracing import Ending, LoggedTransaction, Written
from eosctl.model.transaction_log import DAY_MS, KEPT_DAYS, NewerLogRecord, TransactionLogRecord, TransactionLogValue
from eosctl.model.transactions import (
    ActiveProducer,
    LeaderOwner,
    Selection,
    TaskOwner,
    TransactionDescription,
    TransactionListing,
    TransactionState,
)
from eosctl.model.transactions import TransactionState as State

WEEK, HOUR = 604_800_000, 3_600_000
NOW = 1_790_000_000_000
NAME = "connect-cluster-orders-0"
HOME = coordinator_partition(NAME, 50)
NAMES = KnownNames.of({"connect-cluster": ["orders"]})


def value(
    state=State.EMPTY, epoch=0, producer_id=7, partitions=None, at=NOW, start=-1, client=0
) -> TransactionLogValue:
    places = None if partitions is None else tuple(TopicPartition("t", each) for each in range(partitions))
    producer = ProducerIdAndEpoch(producer_id, epoch)
    return TransactionLogValue(1, producer, 60_000, state, places, at, start, client_transaction_version=client)


def log(*values, name=NAME, partition=HOME) -> list[TransactionLogRecord]:
    return [TransactionLogRecord(partition, offset, NOW, name, each) for offset, each in enumerate(values)]


def findings(records, as_of=NOW, expiration_ms=WEEK, partitions=50):
    folded = fold_transaction_log(records)
    owners = {name: ownership(name, NAMES) for name in folded.ids}
    return [(each.name, each.severity.value) for each in log_findings(folded, owners, as_of, expiration_ms, partitions)]


def test_the_last_record_of_an_id_is_its_state_and_a_tombstone_ends_it():
    folded = fold_transaction_log([*log(value(), value(State.ONGOING), None), *log(value(), name="other")])
    assert folded.ids[NAME].value is None
    assert folded.ids[NAME].records == 3
    assert folded.ids["other"].value.state is State.EMPTY
    assert folded.records == 4


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ([value()], "initialised, epoch 0"),
        ([value(), value(epoch=1)], "initialised, epoch 0 to 1: the producer before it is fenced"),
        ([value(epoch=32766), value(producer_id=8)],
         "initialised with another producer ID: the epochs of 7 are used up"),
        ([None, value()], "initialised again, after it was forgotten, epoch 0"),
        ([value(), value(State.ONGOING, partitions=2)], "transaction in progress in 2 partitions"),
        ([value(State.ONGOING, partitions=2), value(State.ONGOING, partitions=5)], "3 partitions added"),
        ([value(State.ONGOING), value(State.PREPARE_COMMIT)], "commit decided; markers are being written"),
        ([value(State.ONGOING), value(State.PREPARE_ABORT)], "abort decided; markers are being written"),
        ([value(State.ONGOING), value(State.PREPARE_ABORT, epoch=1)],
         "abort decided by its coordinator (timeout or fencing); markers are being written"),
        ([value(State.ONGOING), value(State.PREPARE_ABORT, epoch=1, client=2)],
         "abort decided; markers are being written"),
        ([value(State.COMPLETE_COMMIT, at=NOW - 60, start=NOW - 70)], "committed after 70 ms"),
        ([value(State.COMPLETE_ABORT)], "aborted"),
        ([value(), None], "forgotten: idle for transactional.id.expiration.ms"),
    ],
)  # fmt: skip
def test_each_record_is_described_by_the_record_before_it(values, words):
    assert [each.words for each in history(log(*values))][-1] == words


def test_histories_of_two_ids_do_not_mix():
    mixed = [*log(value(epoch=3)), *log(value(), name="other"), *log(value(epoch=4))]
    assert [each.words for each in history(mixed)] == [
        "initialised, epoch 3",
        "initialised, epoch 0",
        "initialised, epoch 3 to 4: the producer before it is fenced",
    ]


def test_an_idle_id_is_found_in_the_last_seventh_of_its_time():
    def idle(hours, state=State.COMPLETE_COMMIT, name=NAME):
        return findings(log(value(state, at=NOW - hours * HOUR), name=name, partition=coordinator_partition(name, 50)))

    assert idle(100) == []
    assert idle(150) == [("transactional-id-near-expiry", "warning")]
    assert idle(200) == [("transactional-id-near-expiry", "warning")]
    assert idle(150, name="somebody") == [("transactional-id-near-expiry", "info")]
    assert idle(150, State.ONGOING) == [], "an open transaction is not forgotten"


def test_an_id_in_a_partition_that_its_coordinator_does_not_lead_is_lost_to_it():
    assert findings(log(value(), partition=HOME + 1)) == [("transactional-id-misplaced", "error")]
    assert findings(log(value()), partitions=7) == [("transactional-id-misplaced", "error")]
    assert findings(log(None, partition=HOME + 1)) == []


def test_epochs_that_come_to_an_end_are_reported():
    assert findings(log(value(epoch=31_700))) == []
    assert findings(log(value(epoch=31_800))) == [("producer-epochs-near-end", "info")]


def test_a_record_of_a_newer_kafka_is_never_passed_over_in_silence():
    assert findings([NewerLogRecord(3, 9, 1)]) == [("newer-log-record", "warning")]


def test_the_state_of_an_id_is_unknown_behind_a_value_of_a_newer_kafka_and_known_again_by_the_next_record():
    newer = NewerLogRecord(HOME, 9, 2, NAME)
    [unknown] = last_values(fold_transaction_log([*log(value()), newer]), [NAME], 50, {}).values()
    assert unknown == Skipped(f"the record of {NAME} at offset 9 has value version 2, which a newer Kafka wrote")
    assert last_values(fold_transaction_log([newer, *log(value())]), [NAME], 50, {}) == {NAME: value()}


def test_an_unread_fact_is_not_judged():
    lost = replace(log(value(at=0))[0], partition=HOME + 1)
    assert findings([lost], expiration_ms=Skipped("denied"), partitions=Skipped("unknown")) == []


def test_of_each_id_the_last_records_are_kept_in_their_order():
    first, other = log(*map(value, [State.EMPTY] * 5)), log(value(), None, name="other", partition=3)
    mixed = [*first[:3], *other, *first[3:], NewerLogRecord(3, 9, 1)]
    count, kept = last_records(mixed, keep=2)
    assert count == 8
    assert kept == (*other, *first[3:], NewerLogRecord(3, 9, 1))
    assert fold_transaction_log(kept).ids[NAME].last == first[-1]


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
        (logged((T - 60_000, T - 59_000)), "no longer has this transaction"),
        (logged((T - 30, T - 20), (T + 10, T + 12)), "no longer has this transaction"),
        (logged((T + 900, T + 901)), "no longer has this transaction"),
        (logged((T - 9, T + 9), (T - 8, T + 8)), "has 2 transactions of this producer at that time"),
        ([record(TransactionState.PREPARE_ABORT, T)], "no longer has this transaction"),
        ([record(TransactionState.PREPARE_COMMIT, T, places=(THERE,))], "no longer has this transaction"),
        ([record(TransactionState.PREPARE_COMMIT, T, epoch=4)], "no longer has this transaction"),
    ],
)
def test_only_certain_facts_are_taken_from_the_log(records, reason):
    holder, found = logged_transaction(records, HELD, HERE, ending())
    assert holder == "id"
    assert isinstance(found, Skipped)
    assert reason in found.reason


def test_an_epoch_of_its_own_identifies_the_transaction_regardless_of_clocks():
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


def test_in_another_partition_it_is_certain_only_if_the_log_lists_that_partition():
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


PLACE = TopicPartition("t", 0)
OFFSETS = PartitionOffsets(PLACE, 0, 10, 50)
FREE = PartitionOffsets(TopicPartition("t", 1), 0, 50, 50)


def opened(start: int, place: TopicPartition = PLACE) -> OpenTransaction:
    return OpenTransaction(ActiveProducer(place, ProducerIdAndEpoch(start, 0), 0, 1, None, start), start, None, None)


def test_the_transaction_that_begins_at_the_last_stable_offset_holds_it():
    assert [each.start_offset for each in holders(OFFSETS, [opened(30), opened(10)])] == [10]


def test_where_none_begins_there_the_earliest_holds_it():
    assert [each.start_offset for each in holders(OFFSETS, [opened(30), opened(12)])] == [12]


def test_nothing_holds_a_partition_that_is_not_held_back():
    assert holders(FREE, [opened(10, FREE.topic_partition)]) == ()
    assert holders(OFFSETS, [opened(10, FREE.topic_partition)]) == ()


def test_partitions_held_back_longest_come_first():
    other = PartitionOffsets(TopicPartition("a", 0), 0, 1, 9)
    found = stability(
        {each.topic_partition: each for each in (FREE, OFFSETS, other)}, [], {PLACE: 5, other.topic_partition: 9}
    )
    assert [str(each.offsets.topic_partition) for each in found] == ["t-0", "a-0", "t-1"]


def test_a_group_waits_at_or_before_the_last_stable_offset_and_one_beyond_it_does_not():
    committed = {"at": 10, "before": 3, "beyond": 11}
    assert waiting_groups(OFFSETS, committed, {"at": ListedGroup("at", "streams", "Stable")}) == (
        WaitingGroup("before", "", 3, 47),
        WaitingGroup("at", "Stable", 10, 40, "streams"),
    )
    assert waiting_groups(FREE, {"at": 50}, {}) == ()
    assert waiting_groups(OFFSETS, {"has not begun": -1}, {}) == ()


@pytest.mark.parametrize(
    ("protocol_type", "named"),
    [("streams", "streams group pay"), ("share", "share group pay"), ("consumer", "group pay"), ("", "group pay")],
)
def test_a_group_is_named_with_its_type(protocol_type: str, named: str):
    assert str(ListedGroup("pay", protocol_type, "Stable")) == named
    assert str(WaitingGroup("pay", "Stable", 3, 4, protocol_type)) == named


def test_a_transaction_holds_the_offset_only_where_it_begins_there():
    assert held_back(opened(10), OFFSETS, (), ()).holds_lso
    assert not held_back(opened(30), OFFSETS, (), ()).holds_lso
    assert not held_back(opened(10), Skipped("denied"), Skipped("denied"), ()).holds_lso


def test_parts_of_connect_wait_behind_their_own_topics():
    connectors = {
        "orders": ConnectorState("orders", config={"offsets.storage.topic": "orders-offsets"}),
        "sink": ConnectorState("sink", config={"name": "sink"}),
        "other": ConnectorState("other", config={"consumer.override.group.id": "mine"}),
        "gone": ConnectorState("gone"),
    }
    cluster = ConnectTopics("g", "configs", "offsets", connectors)
    assert waiting_parts("configs", (), cluster) == (
        "workers of Connect cluster g: config topic; none with exactly-once starts",
    )
    assert waiting_parts("offsets", (), cluster) == (
        "source connectors of Connect cluster g: offsets topic; none starts its tasks",
    )
    assert waiting_parts("orders-offsets", (), cluster) == (
        "connector orders: its offsets topic; it does not start its tasks",
    )
    assert waiting_parts("t", ["connect-sink", "mine", "x"], cluster) == (
        "sink connector sink: it reads this topic",
        "sink connector other: it reads this topic",
    )
    assert waiting_parts("configs", ["connect-sink"], None) == ()


MEMBER_ID = "g-x-0"


def marked(at, state=State.COMPLETE_COMMIT, name=MEMBER_ID):
    value = TransactionLogValue(1, ProducerIdAndEpoch(1, 0), 60_000, state, None, at, at)
    return TransactionLogRecord(0, 0, at, name, value)


def followed(*records, earlier=None):
    """The history of the ID when these records have passed by."""
    histories = CommitHistories([MEMBER_ID], {} if earlier is None else {MEMBER_ID: earlier})
    assert list(histories.following(records)) == list(records)
    return histories.result().get(MEMBER_ID)


def committed(*times, earlier=None):
    return followed(*map(marked, times), earlier=earlier)


def random_times(rng, count, mean_ms, begin=NOW):
    """Times of commits that come at random at a constant rate (Poisson)."""
    times = [begin]
    for _ in range(count):
        times.append(times[-1] + rng.expovariate(1 / mean_ms))
    return [int(each) for each in times]


def test_a_history_has_the_intervals_between_commits_and_nothing_else_counts():
    found = followed(
        *(marked(NOW + 1, State.EMPTY), marked(NOW + 5, State.ONGOING), marked(NOW + 8, State.PREPARE_COMMIT)),
        *(marked(NOW + 10), marked(NOW + 11, name="g-x-1"), marked(NOW + 12, State.COMPLETE_ABORT)),
        *(
            NewerLogRecord(0, 1, 9),
            TransactionLogRecord(0, 0, NOW, MEMBER_ID, None),
            marked(NOW + 40),
            marked(NOW + 45),
        ),
    )
    assert (found.first_ms, found.last_ms, found.claimed_ms) == (NOW + 10, NOW + 45, NOW + 1)
    assert (found.intervals, found.longest_ms) == (2, 30)


def test_an_id_that_never_committed_has_no_history():
    assert followed(marked(NOW, State.EMPTY), marked(NOW + 1, State.COMPLETE_ABORT)) is None


def test_the_interval_in_which_a_task_was_started_is_not_counted():
    found = followed(marked(NOW), marked(NOW + 10), marked(NOW + DAY_MS, State.EMPTY), marked(NOW + DAY_MS + 5))
    assert (found.intervals, found.longest_ms) == (1, 10)
    assert followed(marked(NOW), marked(NOW + DAY_MS, State.EMPTY)).quiet_since_ms == NOW + DAY_MS


@given(st.lists(st.integers(0, 400 * HOUR), min_size=1, max_size=40, unique=True).map(sorted), st.data())
def test_a_reading_that_has_a_commit_in_common_with_an_earlier_one_continues_it_as_if_it_had_read_all(offsets, data):
    times = [NOW + each for each in offsets]
    cut = data.draw(st.integers(0, len(times) - 1))
    again = data.draw(st.integers(0, cut))
    assert committed(*times[again:], earlier=committed(*times[: cut + 1])) == committed(*times)


def test_an_interval_in_which_commits_may_have_been_compacted_is_not_counted():
    earlier = committed(NOW, NOW + 10)
    found = committed(NOW + HOUR, NOW + HOUR + 20, earlier=earlier)
    assert (found.intervals, found.longest_ms, found.first_ms, found.last_ms) == (2, 20, NOW, NOW + HOUR + 20)


@given(st.lists(st.integers(0, 60 * 24), min_size=2, max_size=60, unique=True).map(sorted))
def test_a_history_forgets_what_is_older_than_its_days_and_no_younger_interval(hours):
    times = [NOW + each * HOUR for each in hours]
    found = committed(*times)
    young = [b - a for a, b in pairwise(times) if b >= times[-1] - KEPT_DAYS * DAY_MS]
    assert len(found.days) <= KEPT_DAYS + 1
    assert found.longest_ms >= max(young)
    assert found.intervals >= len(young)
    assert found.span_ms <= KEPT_DAYS * DAY_MS


def test_a_long_interval_is_forgotten_after_the_days_that_are_kept():
    outage = committed(NOW - 6 * DAY_MS, *(NOW + n * HOUR for n in range(24 * (KEPT_DAYS + 2))))
    assert (outage.longest_ms, outage.span_ms) == (HOUR, KEPT_DAYS * DAY_MS)
    assert committed(NOW - 6 * DAY_MS, *(NOW + n * HOUR for n in range(24 * 20))).longest_ms == 6 * DAY_MS


def test_random_commits_are_reported_as_quiet_no_more_often_than_documented():
    """By the formula once in 5,456 intervals; and without the factor 176 times as often, so that this can fail."""
    assert comb(ENOUGH + FACTOR, FACTOR) == 5456
    rng, mean, found = random.Random(618), 4 * HOUR, 0
    rounds = 6000
    for _ in range(rounds):
        *history, end = random_times(rng, ENOUGH + 1, mean)
        found += quietness(committed(*history), end).quiet
    assert found <= 6, "that many of 6,000 have a probability of 0.2 % where 1.1 are expected"


@given(st.integers(0, 2**32), st.integers(60_000, 6 * HOUR))
def test_a_source_that_stops_is_found_by_three_of_its_longest_intervals_later_and_stays_found(seed, mean_ms):
    history = committed(*random_times(random.Random(seed), 500, mean_ms))
    if history.span_ms < WHOLE_MS:
        history = replace(history, first_ms=history.last_ms - WHOLE_MS)
    allowed = max(LEAST_MS, FACTOR * history.longest_ms)
    assert not quietness(history, history.last_ms + allowed).quiet
    found = quietness(history, history.last_ms + allowed + 1)
    assert (found.quiet, found.whole) == (True, True)
    assert quietness(history, history.last_ms + 1000 * DAY_MS).quiet


@pytest.mark.parametrize("at", range(0, 7 * 24, 5))
def test_nights_and_weekends_are_no_fault_where_a_week_of_them_is_known(at):
    """A source that has changes each ten minutes of office hours."""
    office = [
        NOW + day * DAY_MS + minute * 60_000 for day in range(22) if day % 7 < 5 for minute in range(0, 8 * 60, 10)
    ]
    now = NOW + 14 * DAY_MS + at * HOUR
    found = quietness(committed(*(each for each in office if each <= now)), now)
    assert (found.quiet, found.whole) == (False, True)


def test_a_history_that_is_too_short_gives_only_the_quiet_time():
    few = committed(*(NOW + n * HOUR for n in range(ENOUGH)))
    hour = committed(*(NOW + n * 60_000 for n in range(200)))
    for each in (few, hour):
        assert quietness(each, each.last_ms + DAY_MS * 100) == (DAY_MS * 100, None, False, False)
    day = committed(*(NOW + n * HOUR for n in range(ENOUGH + 1)))
    assert quietness(day, day.last_ms + 4 * HOUR) == (4 * HOUR, 4.0, True, False)


def test_nothing_is_quiet_for_less_than_a_minute():
    busy = committed(*(NOW + n * 1000 for n in range(DAY_MS // 1000 + 1)))
    assert not quietness(busy, busy.last_ms + LEAST_MS).quiet
    assert quietness(busy, busy.last_ms + LEAST_MS + 1).quiet
    assert quietness(busy, busy.last_ms - 5).silent_ms == 0


def test_a_task_id_belongs_to_its_task() -> None:
    names = KnownNames.of({"g": ["orders"]})
    assert names.owners("g-orders-12") == (TaskOwner("g", ConnectorTaskId("orders", 12)),)


def test_a_leader_id_belongs_to_the_leader() -> None:
    assert KnownNames.of({"g": []}).owners("connect-cluster-g") == (LeaderOwner("g"),)


@pytest.mark.parametrize(
    "stranger", ["g-orders", "g-orders-", "g-orders-x", "g-orders-1-2", "g-order-0", "", "-0", "orders-0"]
)
def test_an_unknown_id_has_no_owner(stranger: str) -> None:
    assert KnownNames.of({"g": ["orders"]}).owners(stranger) == ()


def test_two_groups_may_share_one_id() -> None:
    names = KnownNames.of({"a": ["b-c"], "a-b": ["c"]})
    assert names.owners("a-b-c-0") == (
        TaskOwner("a", ConnectorTaskId("b-c", 0)),
        TaskOwner("a-b", ConnectorTaskId("c", 0)),
    )


def test_a_task_may_share_its_id_with_another_groups_leader() -> None:
    names = KnownNames.of({"connect-cluster": ["x"], "x-3": []})
    assert names.owners("connect-cluster-x-3") == (
        LeaderOwner("x-3"),
        TaskOwner("connect-cluster", ConnectorTaskId("x", 3)),
    )


def test_an_index_with_a_zero_in_front_is_none_of_connects() -> None:
    assert KnownNames.of({"g": ["c"]}).owners("g-c-00") == ()


def test_an_index_in_other_digits_is_still_an_index() -> None:
    assert KnownNames.of({"g": ["c"]}).owners("g-c-٣") == (TaskOwner("g", ConnectorTaskId("c", 3)),)


@given(st.text(min_size=1), st.text(min_size=1), st.integers(0, 10_000))
def test_the_owner_of_a_task_id_is_always_among_its_readings(group: str, connector: str, task: int) -> None:
    owner = TaskOwner(group, ConnectorTaskId(connector, task))
    assert owner in KnownNames.of({group: [connector]}).owners(task_transactional_id(group, owner.task))


@pytest.mark.parametrize(
    ("transactional_id", "hashed", "partition"),
    [
        ("connect-cluster-connect-cluster", 156416609, 9),
        ("connect-cluster-file-source-0", -1324176135, 35),
        ("connect-cluster-reddit-source-10", 857946968, 18),
        ("A-mm2-MirrorSourceConnector-0", -1041593425, 25),
        ("ü-😀-0", 369927287, 37),
        ("polygenelubricants", -(1 << 31), 0),
    ],
)
def test_the_coordinator_partition_is_java_s(transactional_id: str, hashed: int, partition: int) -> None:
    assert java_hash(transactional_id) == hashed
    assert coordinator_partition(transactional_id, 50) == partition


@pytest.mark.parametrize("index", ["", "00", "1a", "+1", "9" * 11, "9" * 5_000])
def test_an_id_that_no_task_can_have_has_no_stem(index: str) -> None:
    assert stem_and_task(f"g-c-{index}") is None
    assert stem_and_task("g-c-2147483647") == ("g-c", 2_147_483_647)


# Records that no coordinator writes one behind the other.


@pytest.mark.parametrize(
    ("values", "severity"),
    [
        ((value(epoch=4), value(epoch=3)), "error"),
        ((value(State.ONGOING, epoch=4), value(State.EMPTY, epoch=5)), "warning"),
        ((value(State.COMPLETE_COMMIT), value(State.PREPARE_COMMIT)), "warning"),
        ((value(State.PREPARE_COMMIT), value(State.PREPARE_ABORT)), "warning"),
        ((value(State.PREPARE_COMMIT), value(State.PREPARE_COMMIT), value(State.COMPLETE_COMMIT)), None),  # a retry
        ((value(epoch=4), value(producer_id=9, epoch=0)), None),
        ((value(epoch=4), None, value(epoch=0)), None),  # forgotten in between
        (
            (value(), value(State.ONGOING), value(State.PREPARE_ABORT, epoch=1), value(State.COMPLETE_ABORT, epoch=1)),
            None,
        ),
        ((value(State.COMPLETE_COMMIT), value(State.PREPARE_ABORT, epoch=1)), None),  # from transaction.version 2 on
    ],
)
def test_an_epoch_that_falls_and_a_state_that_cannot_follow_are_found(values, severity) -> None:
    found = [level for name, level in findings(log(*values)) if name == "transaction-log-broken"]
    assert found == ([severity] if severity else [])


# The list


EVERY = Selection()


def described(name: str, start: int | None, state: State = State.ONGOING) -> TransactionDescription:
    return TransactionDescription(name, state, ProducerIdAndEpoch(9, 2), 60_000, start, (), 1)


def listed(selection: Selection = EVERY, *, as_of: int = NOW, **starts: int | None) -> list[tuple[str, object]]:
    """IDs with the age of their transaction; they are listed as Empty with producer ID 7, and described in part."""
    names = sorted({*starts, "undescribed"}, reverse=True)
    descriptions = {each: described(each, start) for each, start in starts.items()}
    listings = [TransactionListing(each, 7, State.EMPTY, 1) for each in names]
    found = list_with_owners(listings, descriptions, NAMES, selection, as_of)
    return [(each.transactional_id, each.running_ms) for each in found]


def test_the_oldest_open_transaction_is_listed_first_and_ids_without_one_come_last_by_name() -> None:
    found = listed(young=NOW - 1, old=NOW - 5_000, between=NOW - 500, none=None)
    ids = [("old", 5_000), ("between", 500), ("young", 1), ("none", None), ("undescribed", None)]
    assert found == ids
    begun = [("b", 9), ("y", 0), ("z", 0), ("a", None), ("undescribed", None)]
    assert listed(a=None, b=NOW - 9, y=NOW, z=NOW + 5) == begun, "one that began just now is open, too"


@pytest.mark.parametrize(("longer_than_ms", "kept"), [(4_999, ["old"]), (5_000, []), (0, ["old"]), (-1, None)])
def test_a_transaction_is_longer_than_an_age_only_above_it(longer_than_ms, kept) -> None:
    found = listed(Selection(longer_than_ms=longer_than_ms), old=NOW - 5_000, none=None)
    assert [name for name, _ in found] == (["old", "none", "undescribed"] if kept is None else kept)


def test_a_described_state_is_newer_than_a_listed_one() -> None:
    listing = TransactionListing(NAME, 7, State.EMPTY, 1)
    [newer] = list_with_owners([listing], {NAME: described(NAME, NOW)}, NAMES, Selection(), NOW)
    assert (newer.state, newer.producer_id, str(newer.ownership.owners[0].task)) == (State.ONGOING, 9, "orders-0")
    [alone] = list_with_owners([listing], {}, NAMES, Selection(), NOW)
    assert (alone.state, alone.producer_id) == (State.EMPTY, 7)


def test_the_age_of_a_transaction_is_known_with_its_start_and_is_never_negative() -> None:
    assert running_ms(None, NOW) is None
    assert running_ms(described("a", None), NOW) is None
    assert running_ms(described("a", NOW - 1), NOW) == 1
    assert running_ms(described("a", NOW + 9), NOW) == 0


def test_a_producer_without_transactional_id_has_no_owner() -> None:
    assert set(owners_of([None, NAME, "other"], NAMES)) == {NAME, "other"}
    assert owners_of([None, NAME], NAMES)[NAME] == ownership(NAME, NAMES)


@pytest.mark.parametrize(
    ("producer_id", "epoch", "ends"), [(7, 1, False), (7, 2, True), (7, 3, True), (7, 4, False), (8, 2, False)]
)
def test_a_marker_ends_a_transaction_of_its_producer_id_with_the_same_epoch_or_the_next(
    producer_id, epoch, ends
) -> None:
    assert is_of(Ending(9, NOW, True, producer_id, epoch, 0), ProducerIdAndEpoch(7, 2)) == ends


def test_an_id_expires_by_its_last_record_once_no_transaction_is_open() -> None:
    unread = Skipped("partition 3 was not read")
    values = {state.value: value(state) for state in State} | {"unread": unread}
    idle = {State.EMPTY, State.COMPLETE_COMMIT, State.COMPLETE_ABORT}
    assert idle_since(values) == {**{state.value: NOW for state in idle}, "unread": unread}
