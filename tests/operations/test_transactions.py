"""Transactions: shown, hanging, and what they hold back."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest
from msgspec.structs import replace

from eosctl.analysis.metrics import catalogue as metrics
from eosctl.analysis.metrics.samples import hanging_samples, transaction_samples
from eosctl.errors import NotAuthorized, Refused, Unreachable, UsageError
from eosctl.model.config_topic import ConfigRecord, ConfigTopicLog
from eosctl.model.evidence import Snapshot
from eosctl.model.hanging import NO_LEADER, Advice, Decision, FirstBatch, HangingReason, LastStableOffsets
from eosctl.model.names import ProducerIdAndEpoch, TopicPartition
from eosctl.model.producer_epochs import IdChurn
from eosctl.model.report import exit_code
from eosctl.model.skipped import Cause, Skipped
from eosctl.model.times import ClusterClock
from eosctl.model.topics import PartitionOffsets
from eosctl.model.transaction_log import (
    LoggedHolders,
    TransactionalIdHolder,
    TransactionLogRecord,
    TransactionLogRecords,
    TransactionLogValue,
)
from eosctl.model.transactions import (
    ActiveProducer,
    AnsweredProducers,
    Described,
    HiddenIds,
    ListedTransactions,
    Selection,
    TransactionalIdAccess,
    TransactionDescription,
    TransactionListing,
    TransactionState,
    UndescribedId,
)
from eosctl.operations.hanging import (
    HangingRequest,
    StabilityRequest,
    find_hanging,
    last_stable_offsets,
    watch_last_stable_offsets,
)
from eosctl.operations.transaction_log import (
    LogRequest,
    fold_log,
    log_history,
    narrower,
    read_churn,
    read_epoch_history,
)
from eosctl.operations.transactions import (
    DescribeRequest,
    ProducersRequest,
    describe_transactions,
    list_producers,
    list_transactions,
)
from eosctl.render.answers.hanging import view_hanging
from eosctl.sources.saved_cluster import SavedCluster
from tests.fake_cluster import FakeCluster, InTurn
from tests.operations.conversation import Conversation, session_on
from tests.operations.test_offsets import config_topic

NOW = 1_790_000_000_000
HERE, THERE = TopicPartition("orders", 0), TopicPartition("orders", 1)
SEES_ALL = TransactionalIdAccess((), None)
NO_LOG = TransactionLogRecords({0: 1}, 1, iter(()))


def active(
    producer_id: int = 9, place: TopicPartition = HERE, start: int | None = 5, age_ms: int = 3_600_000
) -> ActiveProducer:
    """A producer whose last batch is an hour old, with a transaction open from `start` on."""
    return ActiveProducer(place, ProducerIdAndEpoch(producer_id, 0), 3, NOW - age_ms, None, start)


def described(name: str, producer_id: int = 9, *partitions: TopicPartition) -> TransactionDescription:
    """An ongoing transaction of the ID in these partitions, an hour old."""
    holder, begun = ProducerIdAndEpoch(producer_id, 0), NOW - 3_600_000
    return TransactionDescription(name, TransactionState.ONGOING, holder, 60_000, begun, partitions, 1)


def cluster(
    *looks: Sequence[ActiveProducer],
    listed: Mapping[str, int] | None = None,
    unlisted: tuple[str, ...] = (),
    answers: Mapping[str, Described] | None = None,
    **facts: object,
) -> FakeCluster:
    """Two partitions of which the second may have no leader; `looks` are the producers at each look.

    listed are the transactional IDs with their producer IDs, answers their coordinators' answers.
    """
    rounds = iter(looks)
    known = {name: each.state for name, each in (answers or {}).items() if isinstance(each, TransactionDescription)}
    ids = tuple(
        TransactionListing(name, each, known.get(name, TransactionState.ONGOING), 1)
        for name, each in (listed or {}).items()
    )
    leaders = facts.setdefault("partitions", {HERE: 1, THERE: 1})
    assert isinstance(leaders, dict)
    silent = tuple(place for place, leader in leaders.items() if leader == NO_LEADER)

    def producers(_: object, *, quiet: bool = False) -> AnsweredProducers:
        return AnsweredProducers(tuple(next(rounds)), silent)

    def offsets(places: Sequence[TopicPartition]) -> dict[TopicPartition, PartitionOffsets]:
        return {place: PartitionOffsets(place, 0, 5, 9) for place in places}

    return FakeCluster(
        **{
            "as_of": NOW,
            "access": SEES_ALL,
            "clock": ClusterClock(1, 0, 5),
            "producers": producers,
            "offsets": offsets,
            "waiting_groups": {},
            "pending_commits": {},
            "first_timestamps": {},
            "first_batches": {},
            "transaction_log": lambda *_: TransactionLogRecords({0: 1}, 1, ()),
            "logged_holders": lambda ids, _: LoggedHolders(frozenset(ids)),
            "transactional_ids": ListedTransactions(ids, {}, unlisted),
            "describe": lambda names, _coordinators=None: {name: (answers or {}).get(name) for name in names},
            **facts,
        }  # type: ignore[arg-type]  # facts of any kind
    )


DENIED = NotAuthorized(principal="User:test", operation="Describe", resource="TransactionalId a")


def test_a_list_without_the_ids_of_a_silent_coordinator_ends_with_4_and_names_it():
    reader = cluster(listed={"a": 9}, answers={"a": described("a")}, unlisted=("broker 3 did not answer",))
    found = list_transactions(reader, Selection(), "c")
    assert [each.transactional_id for each in found.transactions] == ["a"]
    assert found.missing == ("broker 3 did not answer",)
    assert exit_code(found) == 4


def test_of_very_many_ids_only_those_with_an_open_transaction_are_described(monkeypatch):
    monkeypatch.setattr("eosctl.operations.transactions.MOST_DESCRIBED", 2)
    idle = replace(described("b", 8), state=TransactionState.EMPTY, start_ms=None)
    answers = {"a": described("a"), "b": idle, "c": replace(idle, transactional_id="c")}
    asked = InTurn({"a": answers["a"]})
    found = list_transactions(
        cluster(listed={"a": 9, "b": 8, "c": 7}, answers=answers, describe=asked), Selection(), "c"
    )
    assert asked.asked == [({"a": 1}, {"a": 1})]
    assert [(each.transactional_id, each.description is None) for each in found.transactions] == [
        ("a", False),
        ("b", True),
        ("c", True),
    ]
    assert found.notes[0].startswith("2 IDs without an open transaction were not described")
    assert metrics.EPOCHS_NEAR_END not in {each.metric for each in transaction_samples(found)}


@pytest.mark.parametrize(
    ("prefix", "hint"), [(None, "--prefix job-10`"), ("job-", "--prefix job-10`"), ("job-11", None)]
)
def test_a_history_of_too_many_ids_is_refused_with_a_prefix_that_has_fewer(monkeypatch, prefix, hint):
    monkeypatch.setattr("eosctl.operations.transaction_log.MOST_IDS", 30)
    names = [f"job-{number}" for number in range(10, 50)]
    value = TransactionLogValue(1, ProducerIdAndEpoch(9, 0), 60_000, TransactionState.EMPTY, None, NOW, -1)
    records = [TransactionLogRecord(0, at, NOW, name, value) for at, name in enumerate(names)]
    reader = cluster(transaction_log=lambda *_, **__: TransactionLogRecords({0: 1}, 1, iter(records)), groups={})
    request = LogRequest(frozenset(), (), None, None, "c", prefix)
    for read in (fold_log, log_history, read_epoch_history):
        if hint is None:
            assert read(session_on(reader, Conversation()), request).absent == frozenset()
            continue
        with pytest.raises(UsageError, match="the transaction log has more than 30 transactional IDs") as refused:
            read(session_on(reader, Conversation()), request)
        assert hint in str(refused.value.hint)


def churn_of(request: LogRequest, unread: Mapping[int, Skipped] | None = None, **facts: object) -> IdChurn:
    """Of a log with ID a-0 of producer 9, which had 8 before, and of two partitions."""
    value = TransactionLogValue(1, ProducerIdAndEpoch(9, 0), 60_000, TransactionState.EMPTY, None, NOW, -1, 8)
    records = [TransactionLogRecord(0, 0, NOW, "a-0", value)]
    known = [active(each) for each in (8, 9, 10)]
    given = {
        "transaction_log": lambda *_, **__: TransactionLogRecords({0: 1}, 1, iter(records), unread or {}),
        "groups": {},
        "partitions": {HERE: 1, THERE: 2},
        "producers_by_partition": lambda _: iter([(HERE, known), (THERE, ())]),
        "replicas": {HERE: (1, 2), THERE: (2, 1)},
        "broker_settings": {1: {"producer.id.expiration.ms": "5"}, 2: {}},
        **facts,
    }
    return read_churn(session_on(cluster(**given), Conversation()), request, with_states=True)


ALL_IDS = LogRequest(frozenset(), (), None, None, "c", "")


def test_producers_in_memory_are_counted_by_broker_and_partition():
    states = churn_of(ALL_IDS).states
    assert [(each.broker, each.producers, each.held) for each in states.brokers] == [(1, 3, 3), (2, 0, 3)]
    [row] = states.partitions
    assert (row.topic_partition, row.transactional, row.unlogged, states.unread) == (HERE, 3, 1, 0)


@pytest.mark.parametrize(
    ("request_", "unread"),
    [(replace(ALL_IDS, prefix="a"), {}), (ALL_IDS, {1: Skipped("no leader", Cause.UNREACHABLE)})],
)
def test_no_producer_is_called_unlogged_by_a_part_of_the_log(request_, unread):
    [row] = churn_of(request_, unread).states.partitions
    assert row.unlogged is None


def test_a_partition_that_may_not_be_read_is_unknown_and_not_empty():
    denied = Skipped("User:test lacks Read on Topic orders", Cause.DENIED)
    states = churn_of(ALL_IDS, producers_by_partition=lambda _: iter([(HERE, denied), (THERE, ())])).states
    assert (states.unread, [each.partitions for each in states.brokers]) == (1, [0, 1])


def test_segment_files_have_no_producers_and_no_option_asks_for_none():
    with pytest.raises(UsageError, match="segment files show no producer states"):
        churn_of(replace(ALL_IDS, segments=(Path("a.log"),)))
    found = read_churn(session_on(cluster(transaction_log=lambda *_, **__: NO_LOG, groups={}), Conversation()), ALL_IDS)
    assert found.states == Skipped("--producers was not given", Cause.NOT_ASKED)


@pytest.mark.parametrize(
    ("stem", "names", "found"),
    [
        ("", ["a1", "a2", "b1", "b2", *(f"c{each}" for each in range(20))], "c10"),
        ("", [f"{each:03}" for each in range(500)], "00"),
        ("a", [f"ab{each:02}" for each in range(400)], "ab10"),
        ("", ["x"], "x"),
        ("x", ["x", "x1"], "x1"),
    ],
)
def test_a_narrower_prefix_has_a_tenth_of_the_names_where_one_is_left(stem, names, found):
    assert narrower(stem, names) == found


def test_hidden_ids_are_counted_in_the_transaction_log():
    hides = TransactionalIdAccess(("x…",), None)
    reader = cluster(listed={"a": 9}, answers={"a": described("a")}, access=hides, logged_ids=lambda: 4)
    found = list_transactions(reader, Selection(), "c")
    assert found.hidden == HiddenIds(may_see_all=False, count=3, uncertain=None)
    assert "brokers omit these IDs: 3 IDs" in found.notes[0]
    assert exit_code(found) == 3


def test_an_owner_that_is_no_connector_leads_to_the_one_like_it():
    reader = cluster(group_id="g", config_topic=config_topic(orders={}), listed={}, answers={}, groups={})
    assert (
        "no connector is called ordrs; did you mean orders?"
        in list_transactions(reader, Selection(owner="ordrs"), "configs").notes
    )
    assert not any("called" in note for note in list_transactions(reader, Selection(owner="orders"), "configs").notes)
    [note] = list_transactions(reader, Selection(owner="payments"), "configs").notes[:1]
    assert note == "no connector is called payments; `eosctl connector list` lists them"


def test_an_id_without_a_record_in_the_transaction_log_is_reported_and_found():
    log = TransactionLogRecords({0: 1}, 1, iter([TransactionLogRecord(0, 5, 7, "orders-0", None)]))
    reader = cluster(transaction_log=lambda _: log, groups={})
    said = Conversation()
    request = LogRequest(frozenset({"orders-0", "ordrs-0"}), (), None, None, "configs")
    history = log_history(session_on(reader, said), request)
    assert (len(history.entries), history.absent, exit_code(history)) == (1, {"ordrs-0"}, 1)
    assert "the log holds no record of ordrs-0: never used, or expired" in said.said[-1]


def test_a_filtered_list_does_not_say_how_many_are_hidden():
    reader = cluster(access=TransactionalIdAccess(("x…",), None), logged_ids=lambda: 4)
    hidden = list_transactions(reader, Selection(states=(TransactionState.ONGOING,)), "c").hidden
    assert isinstance(hidden, HiddenIds)
    assert hidden.count == Skipped("a list with filters cannot be held against the transaction log")


def test_a_snapshot_without_producers_reports_unknown_access():
    unread = Skipped("not read")
    saved = SavedCluster(Snapshot(1, unread, None, unread, {"a": described("a")}, unread, producers=unread))
    found = list_transactions(saved, Selection(), "c")
    assert found.hidden == unread
    assert [each.transactional_id for each in found.transactions] == ["a"]


def test_an_id_that_no_coordinator_knows_ends_with_1():
    found = describe_transactions(cluster(answers={"a": described("a")}), DescribeRequest(("a", "b"), "c"))
    assert [type(each) for each in found.transactions][1] is UndescribedId
    assert found.transactions[1].reason == "no coordinator knows it"
    assert exit_code(found) == 1


def test_an_id_that_may_not_be_described_comes_before_one_whose_coordinator_is_silent():
    reader = cluster(answers={"lost": Unreachable("no answer"), "a": DENIED})
    found = describe_transactions(reader, DescribeRequest(("lost", "a"), "c"))
    assert found.failure is DENIED
    assert exit_code(found) == 5


def test_a_snapshot_does_not_say_of_an_id_that_it_is_unknown_while_a_coordinator_was_silent():
    unread = Skipped("not read")
    saved = Snapshot(1, unread, None, unread, {"a": described("a")}, unread)
    assert exit_code(describe_transactions(SavedCluster(saved), DescribeRequest(("b",), "c"))) == 1
    silent = Snapshot(1, unread, None, unread, {"a": described("a")}, unread, unlisted=("broker 3 was down",))
    found = describe_transactions(SavedCluster(silent), DescribeRequest(("b",), "c"))
    assert "or its coordinator did not answer: broker 3 was down" in str(found.failure)
    assert exit_code(found) == 4


def test_producers_are_joined_with_the_ids_that_hold_them():
    reader = cluster([active(9), active(10)], listed={"a": 9})
    found = list_producers(reader, ProducersRequest(("orders",), "c"))
    assert found.transactional_ids == {9: "a"}
    assert exit_code(found) == 0


def test_a_partition_without_leader_is_named_and_ends_with_4():
    reader = cluster([active(9)], listed={"a": 9}, partitions={HERE: 1, THERE: NO_LEADER})
    found = list_producers(reader, ProducersRequest(("orders",), "c"))
    assert (found.not_searched, exit_code(found)) == ((THERE,), 4)


def test_producers_of_no_topic_are_refused():
    with pytest.raises(UsageError, match="no topic was named"):
        list_producers(cluster([]), ProducersRequest((), "c"))


ALL = HangingRequest((), None, 900_000, "connect-configs", None)


def test_a_transaction_that_no_coordinator_knows_hangs_and_the_exit_code_is_1():
    found = find_hanging(cluster([active()], [active()]), ALL)
    assert [(each.transaction.start_offset, each.reason) for each in found.verdicts] == [
        (5, HangingReason.NO_TRANSACTIONAL_ID)
    ]
    assert found.held_back[HERE, 9, 5].holds_lso
    assert exit_code(found) == 1


def test_a_search_counts_the_producers_of_each_leader():
    looks = [active(9), active(8), active(7, THERE, None)], [active(9), active(8)]
    reader = cluster(*looks, partitions={HERE: 1, THERE: 2, TopicPartition("orders", 2): 3})
    assert find_hanging(reader, ALL).producers == {1: 2, 2: 1, 3: 0}
    assert find_hanging(cluster([], partitions={HERE: NO_LEADER}), ALL).producers == {}


def test_a_transaction_that_ended_before_the_second_look_does_not_hang():
    found = find_hanging(cluster([active()], [active(start=None)]), ALL)
    assert found.verdicts == ()
    assert exit_code(found) == 0


def test_a_transaction_that_its_coordinator_knows_in_the_partition_is_in_progress():
    reader = cluster([active()], listed={"task-0": 9}, answers={"task-0": described("task-0", 9, HERE)})
    found = find_hanging(reader, ALL)
    assert [each.hangs for each in found.verdicts] == [False]
    assert str(found.owners["task-0"]).startswith("unknown")
    assert exit_code(found) == 0


def test_a_hanging_transaction_that_the_transaction_log_committed_needs_its_marker():
    ended = replace(described("task-0"), state=TransactionState.COMPLETE_COMMIT, start_ms=None)
    known = {"listed": {"task-0": 9}, "answers": {"task-0": ended}}
    value = TransactionLogValue(
        1, ProducerIdAndEpoch(9, 1), 60_000, TransactionState.PREPARE_COMMIT, (HERE, THERE), NOW, NOW, -1, -1, 2
    )
    log = TransactionLogRecords({0: 1}, 1, (TransactionLogRecord(0, 5, NOW, "task-0", value),))
    [found] = find_hanging(cluster([active()], [active()], transaction_log=lambda *_: log, **known), ALL).verdicts
    assert (found.advice, found.decision) == (Advice.COMMIT, Decision("task-0", True, NOW))
    [young] = find_hanging(cluster([JUST_NOW], [JUST_NOW], transaction_log=lambda *_: log, **known), ALL).verdicts
    assert young.advice is Advice.COMMIT, "its end is in the log, so its age does not matter"
    undecided = find_hanging(cluster([JUST_NOW], [JUST_NOW], transaction_log=DENIED, **known), ALL)
    assert (undecided.verdicts, undecided.young, exit_code(undecided)) == ((), (JUST_NOW,), 0)
    denied = find_hanging(cluster([active()], [active()], transaction_log=DENIED, **known), ALL)
    assert (denied.verdicts[0].advice, exit_code(denied)) == (Advice.UNKNOWN, 1)
    row = view_hanging(denied).data["transactions"][0]
    assert "grant Read on __transaction_state" in row["next"]
    assert "transactions abort" not in row["next"]


@pytest.mark.parametrize(
    ("committed", "advice", "step"),
    [(True, Advice.WAIT, "let its producer commit"), (False, Advice.FENCE, "eosctl fence --transactional-id task-0")],
)
def test_a_transaction_that_began_as_an_earlier_complete_one_hangs_at_any_age(committed, advice, step):
    state = TransactionState.PREPARE_COMMIT if committed else TransactionState.PREPARE_ABORT
    decided = TransactionLogValue(1, ProducerIdAndEpoch(9, 1), 60_000, state, (HERE, THERE), 400, 300, -1, -1, 2)
    log = TransactionLogRecords({0: 1}, 1, (TransactionLogRecord(0, 5, 500, "task-0", decided),))
    now = replace(described("task-0", 9, HERE), producer=ProducerIdAndEpoch(9, 1))
    known = {
        "listed": {"task-0": 9},
        "answers": {"task-0": now},
        "first_batches": {(HERE, 5): FirstBatch(0, 350)},
        "transaction_log": lambda *_: log,
    }
    found = find_hanging(cluster([JUST_NOW], [JUST_NOW], **known), ALL)
    [verdict] = found.verdicts
    assert (verdict.reason, verdict.advice, verdict.decision) == (
        HangingReason.OVERTAKEN,
        advice,
        Decision("task-0", committed, 400),
    )
    assert (found.young, exit_code(found)) == ((), 1)
    assert step in view_hanging(found).data["transactions"][0]["next"]
    gone = find_hanging(cluster([JUST_NOW], [active(start=8)], **known), ALL)
    assert (gone.verdicts, gone.young) == ((), (JUST_NOW,)), "its marker came meanwhile"


NOT_KNOWN = "whether transactions in progress overtook earlier ones is not known: "


@pytest.mark.parametrize(
    ("first", "start_ms", "log", "reason"),
    [
        (Skipped("a snapshot holds no record batches"), 0, None, "a snapshot holds no record batches"),
        ({(HERE, 5): FirstBatch(0, 0)}, NOW, DENIED, f"the transaction log was not read: {DENIED.message}"),
        ({(HERE, 5): FirstBatch(9, NOW)}, 0, None, None),
    ],
)
def test_it_is_said_where_overtaken_transactions_were_not_looked_for(first, start_ms, log, reason):
    known = {
        "listed": {"task-0": 9},
        "answers": {"task-0": replace(described("task-0", 9, HERE), start_ms=start_ms)},
        "first_batches": first,
        **({} if log is None else {"transaction_log": log}),
    }
    found = find_hanging(cluster([JUST_NOW], [JUST_NOW], **known), ALL)
    again = cluster([JUST_NOW], [JUST_NOW], **known, offsets=lambda _: {HERE: HELD})
    stable = last_stable_offsets(again, EVERY_PARTITION)
    for notes in (found.notes, stable.notes):
        said = [each.removeprefix(NOT_KNOWN) for each in notes if each.startswith(NOT_KNOWN)]
        assert said == ([] if reason is None else [reason])


def committed_as(name: str, *ids: str) -> TransactionLogRecords:
    """A transaction log in which this ID committed the transaction of producer 9, if it is among the wanted IDs."""
    value = TransactionLogValue(
        1, ProducerIdAndEpoch(9, 1), 60_000, TransactionState.PREPARE_COMMIT, (HERE, THERE), NOW, NOW, -1, -1, 2
    )
    return TransactionLogRecords({0: 1}, 1, (TransactionLogRecord(0, 5, NOW, name, value),) if name in ids else ())


@pytest.mark.parametrize(
    ("searched", "advice", "decision"),
    [
        (LoggedHolders(), Advice.ABORT, None),
        (LoggedHolders(left=7), Advice.UNKNOWN, "its ID may be in one of 7 records of the transaction log"),
        (LoggedHolders(holders=frozenset({TransactionalIdHolder(9, "gone")})), Advice.COMMIT, "gone"),
        (LoggedHolders(holders=frozenset({TransactionalIdHolder(9, "else")})), Advice.UNKNOWN, "no longer reaches"),
        (LoggedHolders(holders=frozenset({TransactionalIdHolder(8, "else")})), Advice.ABORT, None),
        (LoggedHolders(holders=frozenset({TransactionalIdHolder(9, "gone")}), left=7), Advice.UNKNOWN, "7 records"),
    ],
)  # fmt: skip
def test_a_hang_of_an_unknown_id_is_decided_by_the_ids_that_held_its_producer_id(searched, advice, decision):
    reader = cluster(
        [active()],
        [active()],
        logged_holders=lambda *_: searched,
        transaction_log=lambda ids, *_: committed_as("gone", *ids),
    )
    found = find_hanging(reader, ALL)
    [verdict] = found.verdicts
    assert verdict.advice is advice
    assert decision is None if verdict.decision is None else str(decision) in str(verdict.decision)
    assert ("left" in found.notes[0]) is (searched.left > 0)


def test_a_hang_is_undecided_where_only_a_part_of_the_log_may_be_read():
    asked = []

    def search(producer_ids: object, most_bytes: int | None) -> LoggedHolders:
        asked.append((producer_ids, most_bytes))
        return LoggedHolders(holders=frozenset({TransactionalIdHolder(9, "gone")}), read_bytes=3 << 19)

    def read(names: Sequence[str], after: object, prefix: str, most_bytes: int) -> TransactionLogRecords:
        asked.append((names, most_bytes))
        raise Refused("it is longer")

    bounded = replace(ALL, most_log_bytes=100)
    found = find_hanging(cluster([active()], [active()], logged_holders=search, transaction_log=read), bounded)
    assert asked == [({9}, 100), (["gone"], 100)]
    assert (found.verdicts[0].advice, found.verdicts[0].decision) == (
        Advice.UNKNOWN,
        Skipped.of(Refused("it is longer")),
    )
    assert found.notes[0].endswith("1 producer ID that no coordinator knows: 1.5 MiB read")
    samples = {each.labels[-1] for each in hanging_samples(found) if each.metric is metrics.HANGING_AGE}
    assert samples == {"unknown"}


FUTURE = active(age_ms=-3_600_000)
JUST_NOW = active(age_ms=1000)
LATE = ClusterClock(1, 7_200_000, 5)


@pytest.mark.parametrize(
    ("young", "clock", "reason"),
    [
        (FUTURE, ClusterClock(1, 0, 5), "the timestamp of its last batch is 3600.0 s in the future"),
        (JUST_NOW, LATE, "the clock of controller 1 is 7200 s ahead of this machine's"),
        (JUST_NOW, Skipped("denied"), "the cluster's clock could not be compared with this machine's: denied"),
    ],
)
def test_an_ownerless_transaction_of_unknown_age_is_named_and_the_answer_is_incomplete(young, clock, reason):
    found = find_hanging(cluster([young], [young], clock=clock), ALL)
    assert (found.verdicts, [each.reason for each in found.undated]) == ((), [reason])
    assert [each.reason for each in found.coverage.gaps][-1:] == [reason]
    assert exit_code(found) == 3
    row = view_hanging(found).data["undated"][0]
    assert row["next"].endswith("abort --topic orders --partition 0 --start-offset 5 --force")


def test_a_transaction_in_progress_or_ended_raises_no_doubt_regardless_of_clocks():
    known = {"listed": {"task-0": 9}, "answers": {"task-0": described("task-0", 9, HERE)}}
    for found in (find_hanging(cluster([FUTURE], clock=LATE, **known), ALL),
                  find_hanging(cluster([FUTURE], [active(start=None)], clock=LATE), ALL)):  # fmt: skip
        assert (found.verdicts, found.undated, exit_code(found)) == ((), (), 0)


def test_a_young_one_is_left_alone_where_the_clocks_agree_and_no_coordinator_is_asked():
    found = find_hanging(cluster([JUST_NOW], transactional_ids=Unreachable("not to be asked")), ALL)
    assert (found.verdicts, found.undated, found.clock) == ((), (), ClusterClock(1, 0, 5))


def test_the_clock_is_not_asked_for_where_nothing_is_young():
    found = find_hanging(cluster([active()], [active()], clock=Unreachable("not to be asked")), ALL)
    assert (found.clock, len(found.verdicts)) == (None, 1)


def test_where_no_leader_answers_nothing_found_ends_with_4_and_something_found_with_1():
    leaders = {HERE: 1, THERE: NO_LEADER}
    nothing = find_hanging(cluster([], partitions=leaders), ALL)
    assert (nothing.searched, nothing.not_searched) == (1, (THERE,))
    assert (exit_code(nothing), type(nothing.failure)) == (4, Unreachable)
    assert exit_code(find_hanging(cluster([active()], [active()], partitions=leaders), ALL)) == 1


def test_a_producer_that_a_silent_coordinator_may_know_is_undecided():
    found = find_hanging(cluster([active()], unlisted=("broker 3 did not list its transactional IDs",)), ALL)
    assert (found.verdicts, len(found.undecided)) == ((), 1)
    assert found.undecided_reasons == ("broker 3 did not list its transactional IDs",)
    assert exit_code(found) == 4


def test_an_id_whose_coordinator_does_not_answer_is_undecided_and_others_are_judged():
    reader = cluster(
        [active(9), active(10)],
        listed={"lost": 9, "known": 10},
        answers={"lost": Unreachable("broker 3 does not answer"), "known": described("known", 10, HERE)},
    )
    found = find_hanging(reader, ALL)
    assert [each.transaction.transactional_id for each in found.verdicts] == ["known"]
    assert [each.transactional_id for each in found.undecided] == ["lost"]
    assert exit_code(found) == 4


def test_nothing_is_judged_where_ids_are_hidden():
    reader = cluster([active()], access=TransactionalIdAccess(("live-…",), None))
    with pytest.raises(NotAuthorized, match="User:test lacks Describe on transactional ID"):
        find_hanging(reader, ALL)


def test_unread_facts_of_waiting_groups_are_named():
    found = find_hanging(cluster([active()], [active()], waiting_groups=Skipped("denied")), ALL)
    assert found.held_back[HERE, 9, 5].groups == Skipped("denied")
    assert "waiting_groups" in {each.what for each in found.coverage.unread}


@pytest.mark.parametrize(
    ("given", "known", "waits"),
    [
        ("orders", "other", True),
        (None, "orders", True),
        ("other", "orders", False),
        (None, None, False),
    ],
)
def test_the_offsets_topic_is_the_one_given_else_the_one_that_the_reader_knows(given, known, waits):
    records: tuple[ConfigRecord, ...] = ()
    log = ConfigTopicLog("connect-configs", Skipped("-"), Skipped("-"), records)
    facts = {"group_id": "g", "groups": {}, "config_topic": log, "worker_offsets_topic": lambda: known}
    found = find_hanging(
        cluster([active()], [active()], **facts), HangingRequest((), None, 900_000, "connect-configs", given)
    )
    assert bool(found.held_back[HERE, 9, 5].connect) is waits


def test_a_partition_that_a_young_or_live_transaction_holds_back_is_named_and_the_exit_code_stays_0():
    found = find_hanging(cluster([JUST_NOW], [JUST_NOW], clock=ClusterClock(1, 0, 5)), ALL)
    [note] = [each for each in view_hanging(found).notes if "held back" in each]
    assert note.startswith("1 partition is held back by open transactions that are in progress, or too young to be")
    assert note.endswith(f": eosctl transactions lso --topic {HERE.topic}")
    assert exit_code(found) == 0


def test_a_live_transaction_shows_its_timeout_and_the_command_that_ends_it_now():
    ongoing = described("task-0", 9, HERE)
    found = find_hanging(cluster([active()], listed={"task-0": 9}, answers={"task-0": ongoing}), ALL)
    [row] = view_hanging(found).data["in_progress"]
    assert row["next"].endswith("eosctl fence --transactional-id task-0")


FREE = PartitionOffsets(THERE, 0, 7, 7)
HELD = PartitionOffsets(HERE, 0, 5, 9)
EVERY_PARTITION = StabilityRequest((), "connect-configs")


class Narrated:
    """A console that keeps what is narrated."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def narrate(self, text: str, *, verbosity: int = 0) -> None:
        self.lines.append(text)


def pauses(_: float, stop_after: int | None = None) -> Iterator[None]:
    """No pause at all; Ctrl-C after stop_after of them."""
    count = 0
    while stop_after is None or count < stop_after:
        count += 1
        yield
    raise KeyboardInterrupt


def watched(request: StabilityRequest, **facts: object) -> tuple[LastStableOffsets, int, list[str]]:
    shown: list[LastStableOffsets] = []
    console = Narrated()
    reader = cluster(*[[active()]] * 9, offsets=lambda _: {HERE: HELD, THERE: FREE}, **facts)
    return watch_last_stable_offsets(reader, request, shown.append, console), len(shown), console.lines


def test_all_that_is_held_back_is_shown_and_the_rest_counted():
    found = last_stable_offsets(cluster([active()], offsets=lambda _: {HERE: HELD, THERE: FREE}), EVERY_PARTITION)
    assert [each.offsets for each in found.partitions] == [HELD]
    assert [each.start_offset for each in found.partitions[0].holders] == [5]
    assert found.free == 1
    assert exit_code(found) == 0


def test_partitions_that_are_named_are_shown_though_nothing_is_held_back():
    request = StabilityRequest(("orders",), "connect-configs")
    found = last_stable_offsets(cluster([active()], offsets=lambda _: {HERE: HELD, THERE: FREE}), request)
    assert {each.offsets.topic_partition for each in found.partitions} == {HERE, THERE}


def test_a_partition_that_no_leader_answers_for_is_named_and_ends_with_4():
    lost = Skipped("orders-1 has no leader")
    found = last_stable_offsets(cluster([active()], offsets=lambda _: {HERE: HELD, THERE: lost}), EVERY_PARTITION)
    assert found.not_searched == (THERE,)
    assert exit_code(found) == 4


def test_who_holds_back_is_uncertain_where_a_coordinator_is_silent():
    reader = cluster([active()], offsets=lambda _: {HERE: HELD}, unlisted=("broker 3 did not answer",))
    found = last_stable_offsets(reader, EVERY_PARTITION)
    assert "which IDs hold back is not known of all: broker 3 did not answer" in found.notes
    assert [each.transactional_id for each in found.partitions[0].holders] == [None]


def test_each_look_but_the_last_is_shown():
    found, shown, lines = watched(StabilityRequest((), "c", every_s=0.1, looks=3), every=pauses)
    assert (shown, lines) == (2, [])
    assert [each.offsets for each in found.partitions] == [HELD]


def test_ctrl_c_ends_with_the_last_look():
    _, shown, lines = watched(StabilityRequest((), "c", every_s=0.1), every=lambda _: pauses(0, stop_after=2))
    assert (shown, lines) == (3, ["watched 3 times"])


def test_looks_without_watching_and_watching_a_snapshot_are_refused():
    with pytest.raises(UsageError, match="--watch"):
        watched(StabilityRequest((), "c", looks=2))
    unread = Skipped("not read")
    saved = SavedCluster(Snapshot(1, unread, None, unread, unread, unread))
    with pytest.raises(UsageError, match="it cannot be watched"):
        watch_last_stable_offsets(saved, StabilityRequest((), "c", every_s=1), lambda _: None, Narrated())
