"""Transactions that hang, and how they can be fenced."""

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from eosctl.analysis.hanging import (
    TIMEOUT_SCAN_MS,
    ConnectTopics,
    LoggedDecisions,
    behind,
    by_coordinator,
    decided,
    find_candidates,
    find_young,
    group_lags,
    held_back,
    holders,
    judge,
    may_be_earlier,
    reading_committed,
    stability,
    still_open,
    waiting_parts,
    why_undated,
)
from eosctl.analysis.offsets_report import Clusters, producing_elsewhere
from eosctl.analysis.source_stores import stores_of
from eosctl.analysis.tracing import CLOCKS_MS
from eosctl.errors import EosctlError, Interrupted, NotAuthorized, PartlyApplied, Refused, TimedOut
from eosctl.model.connectors import ConnectorState
from eosctl.model.fencing import (
    Candidate,
    FenceError,
    FenceOutcome,
    FenceResult,
    FenceStep,
    FencingOutcome,
    Proof,
    failure_of,
)
from eosctl.model.groups import ListedGroup
from eosctl.model.hanging import Advice, Decision, FirstBatch, GroupLag, HangingReason, join_open_transactions
from eosctl.model.names import ProducerIdAndEpoch, TopicPartition
from eosctl.model.offsets import ConnectorOffsets, WorkerSettings
from eosctl.model.skipped import Skipped
from eosctl.model.times import ClusterClock
from eosctl.model.topics import CountedStretch, PartitionOffsets, RecordCounts, RecordTally
from eosctl.model.transaction_log import NewerLogRecord, TransactionLogRecord, TransactionLogValue
from eosctl.model.transactions import (
    ActiveProducer,
    TransactionDescription,
    TransactionListing,
    TransactionState,
    transactional_ids_by_producer,
)
from eosctl.model.workers import KnownPhase
from eosctl.planning.fencing import find_unproved, prove

FOO0, FOO1, BAR0 = TopicPartition("foo", 0), TopicPartition("foo", 1), TopicPartition("bar", 0)
MINUTES = 60_000
NOW = 1_790_000_000_000
LIMIT = 15 * MINUTES


def producer(place=FOO0, producer_id=9, epoch=2, start=55, age_ms=LIMIT + 1, coordinator_epoch=18) -> ActiveProducer:
    return ActiveProducer(place, ProducerIdAndEpoch(producer_id, epoch), 9, NOW - age_ms, coordinator_epoch, start)


def described(state=TransactionState.ONGOING, partitions=(FOO0,), producer_id=9, start_ms=NOW - 1000):
    holder = ProducerIdAndEpoch(producer_id, 2)
    return TransactionDescription("id", state, holder, 60_000, start_ms, tuple(partitions), 0)


def verdict(candidate: ActiveProducer, names=None, descriptions=None):
    (joined,) = join_open_transactions([candidate], names or {}, descriptions or {})
    (judged,) = judge([joined], NOW)
    return judged


def test_a_producer_without_an_open_transaction_is_no_candidate():
    assert find_candidates([producer(start=None)], NOW, 0) == ()


@pytest.mark.parametrize(("age_ms", "old_enough"), [(LIMIT - 1, False), (LIMIT, False), (LIMIT + 1, True)])
def test_a_candidate_is_strictly_older_than_the_longest_timeout(age_ms, old_enough):
    assert bool(find_candidates([producer(age_ms=age_ms)], NOW, LIMIT)) is old_enough


def test_a_producer_without_a_timestamp_is_as_old_as_can_be():
    assert find_candidates([replace(producer(), last_timestamp=None)], NOW, LIMIT)


def test_an_open_transaction_that_is_no_candidate_is_young():
    young, old, ended = producer(age_ms=LIMIT), producer(FOO1), producer(BAR0, start=None)
    assert find_young([young, old, ended], NOW, LIMIT) == (young,)


@pytest.mark.parametrize(
    ("age_ms", "clock", "reason"),
    [
        (0, ClusterClock(1, 0, 5), None),
        (0, ClusterClock(1, -59_000, 1000), None),
        (-1500, ClusterClock(1, 0, 5), "the timestamp of its last batch is 1.5 s in the future"),
        (0, ClusterClock(1, 7_200_000, 5), "the clock of controller 1 is 7200 s ahead of this machine's"),
        (0, ClusterClock(2, -59_000, 1001), "the clock of controller 2 is 59 s behind this machine's"),
        (0, Skipped("denied"), "the cluster's clock could not be compared with this machine's: denied"),
    ],
)
def test_how_old_a_young_one_is_is_known_where_its_timestamp_is_past_and_the_clocks_agree(age_ms, clock, reason):
    assert why_undated(NOW - age_ms, NOW, clock) == reason
    assert why_undated(None, NOW, clock) == (None if age_ms else reason)


def test_no_mapped_transactional_id_hangs():
    judged = verdict(producer())
    assert (judged.reason, judged.advice) == (HangingReason.NO_TRANSACTIONAL_ID, Advice.ABORT)


def test_no_transaction_description_hangs():
    judged = verdict(producer(), {9: "id"}, {})
    assert (judged.reason, judged.advice) == (HangingReason.NOT_DESCRIBED, Advice.ABORT)


def test_a_transaction_in_progress_with_other_partitions_does_not_save_it():
    judged = verdict(producer(FOO0), {9: "id"}, {"id": described(partitions=[FOO1, BAR0])})
    assert judged.reason is HangingReason.NOT_LISTED
    assert judged.advice is Advice.FENCE, "its producer is at work and may write there again"


def test_a_transaction_in_progress_with_the_partition_is_not_hanging():
    judged = verdict(producer(FOO0), {9: "id"}, {"id": described(partitions=[FOO0, BAR0])})
    assert not judged.hangs


@pytest.mark.parametrize("state", TransactionState)
def test_the_rule_looks_at_neither_state_nor_epoch(state):
    old = producer(epoch=0)
    assert not verdict(old, {9: "id"}, {"id": described(state, [FOO0])}).hangs
    assert verdict(old, {9: "id"}, {"id": described(state, [])}).hangs


def test_a_completed_transaction_has_no_partitions_so_what_is_open_hangs():
    judged = verdict(producer(), {9: "id"}, {"id": described(TransactionState.COMPLETE_COMMIT, [], start_ms=None)})
    assert (judged.reason, judged.advice) == (HangingReason.NOT_LISTED, Advice.ABORT)


@pytest.mark.parametrize("state", [TransactionState.PREPARE_COMMIT, TransactionState.PREPARE_ABORT])
def test_a_coordinator_that_writes_markers_is_waited_for(state):
    assert verdict(producer(), {9: "id"}, {"id": described(state, [FOO0])}).advice is Advice.WAIT
    assert verdict(producer(), {9: "id"}, {"id": described(state, [BAR0])}).advice is Advice.WAIT


def test_under_way_and_in_time_is_waited_for_and_beyond_its_timeout_fenced():
    in_time = described(start_ms=NOW - 60_000)
    late = described(start_ms=NOW - 60_000 - 10_001)
    assert verdict(producer(), {9: "id"}, {"id": in_time}).advice is Advice.WAIT
    assert verdict(producer(), {9: "id"}, {"id": late}).advice is Advice.FENCE


@pytest.mark.parametrize("partition", [FOO0, BAR0], ids=["this one", "another"])
def test_two_phase_commit_is_not_waited_for_and_not_fenced(partition):
    prepared = replace(described(partitions=[partition], start_ms=NOW - 60_000), timeout_ms=2**31 - 1)
    judged = verdict(producer(FOO0), {9: "id"}, {"id": prepared})
    assert (judged.hangs, judged.advice) == (partition is BAR0, Advice.COMPLETE)
    ended = replace(prepared, state=TransactionState.PREPARE_COMMIT)
    assert verdict(producer(FOO0), {9: "id"}, {"id": ended}).advice is Advice.WAIT


def test_an_id_with_another_producer_id_now_proves_nothing_about_the_old_one():
    judged = verdict(producer(), {9: "id"}, {"id": described(partitions=[BAR0], producer_id=10)})
    assert (judged.reason, judged.advice) == (HangingReason.NOT_LISTED, Advice.ABORT)


def test_the_ids_of_producers_are_those_listed():
    listings = [TransactionListing("a", 1, TransactionState.EMPTY, 0), TransactionListing("b", 2, "Ongoing", 0)]
    assert transactional_ids_by_producer(listings) == {1: "a", 2: "b"}


def test_a_transaction_that_ended_meanwhile_is_not_reported_and_one_still_open_at_the_same_offset_is():
    candidates = [producer(FOO0), producer(FOO1), producer(BAR0)]
    verdicts = judge(join_open_transactions(candidates, {}, {}), NOW)
    again = [replace(candidates[0], transaction_start_offset=None), producer(FOO1, start=70), candidates[2]]
    assert [each.transaction.topic_partition for each in still_open(verdicts, again)] == [BAR0]


def test_a_transaction_in_progress_stays_in_the_answer_though_it_ended_meanwhile():
    verdicts = judge(join_open_transactions([producer()], {9: "id"}, {"id": described()}), NOW)
    assert still_open(verdicts, []) == verdicts


PLACES = st.sampled_from([FOO0, FOO1, BAR0])
PRODUCERS = st.builds(
    producer, PLACES, st.integers(0, 3), st.integers(0, 3), st.none() | st.integers(0, 9), st.integers(-5, 30 * MINUTES)
)
DESCRIPTIONS = st.dictionaries(
    st.sampled_from("abcd"),
    st.builds(described, st.sampled_from(TransactionState), st.lists(PLACES), st.integers(0, 3)),
)


@given(
    st.lists(PRODUCERS, max_size=8),
    st.dictionaries(st.integers(0, 3), st.sampled_from("abcd")),
    DESCRIPTIONS,
    st.integers(0, 20 * MINUTES),
)
def test_the_rule_is_that_of_the_java_tool(producers, names, descriptions, limit):
    """The same steps as TransactionsCommand takes, written down a second time from its words."""
    hanging = []
    for each in producers:
        if each.transaction_start_offset is None or not NOW - each.last_timestamp > limit:
            continue
        told = descriptions.get(names.get(each.producer.producer_id, "nobody"))
        if told is None or each.topic_partition not in told.partitions:
            hanging.append(each)
    joined = join_open_transactions(find_candidates(producers, NOW, limit), names, descriptions)
    ours = [each.active for each in joined if each.reason is not None]
    key = repr
    assert sorted(ours, key=key) == sorted(hanging, key=key)


OLD, NEW, NEWER = ProducerIdAndEpoch(7, 1), ProducerIdAndEpoch(7, 2), ProducerIdAndEpoch(7, 3)


def description(
    producer: ProducerIdAndEpoch, state: TransactionState = TransactionState.EMPTY
) -> TransactionDescription:
    return TransactionDescription("a-0", state, producer, 60_000, None, (), 1)


KNOWN = description(OLD)


def fenced(before: TransactionDescription | None = KNOWN) -> FencingOutcome:
    return FencingOutcome((result(FenceOutcome.FENCED, before=before),), 5.0)


def result(
    outcome: FenceOutcome, error: str | None = None, name: str = "a-0", before: TransactionDescription | None = None
) -> FenceResult:
    after = NEW if outcome is FenceOutcome.FENCED else None
    why = None if error is None else FenceError(error, "because")
    return FenceResult(FenceStep(Candidate(name, named=True), before), outcome, after, 1, 2.0, 1, why)


def only(proofs: tuple[Proof, ...]) -> Proof:
    assert len(proofs) == 1
    return proofs[0]


def test_a_raised_epoch_and_a_refused_old_producer_prove_it() -> None:
    proof = only(prove(fenced(), {"a-0": description(NEW)}, {"a-0": "PRODUCER_FENCED"}))
    assert proof == Proof("a-0", open=False, moved=True, refusal="PRODUCER_FENCED")
    assert proof.holds
    assert find_unproved([proof]) == ()


def test_a_new_producer_id_proves_it_although_its_epoch_is_lower() -> None:
    """After the last epoch, 32,767, comes another producer ID with epoch 0, and the old one is no longer known."""
    used_up, another = ProducerIdAndEpoch(7, 32_767), ProducerIdAndEpoch(8, 0)
    refused = {"a-0": "INVALID_PRODUCER_ID_MAPPING"}
    assert only(prove(fenced(description(used_up)), {"a-0": description(another)}, refused)).holds
    assert not only(prove(fenced(description(used_up)), {"a-0": description(used_up)}, refused)).holds


def test_a_transaction_still_under_way_disproves_it() -> None:
    proof = only(prove(fenced(), {"a-0": description(NEW, TransactionState.PREPARE_ABORT)}, {}))
    assert not proof.holds
    assert [each.message for each in find_unproved([proof])] == [
        "a transaction of the fenced producer is still in progress"
    ]


def test_a_transaction_of_a_newer_producer_does_not() -> None:
    assert only(prove(fenced(), {"a-0": description(NEWER, TransactionState.ONGOING)}, {})).holds


def test_an_unmoved_producer_disproves_it() -> None:
    proof = only(prove(fenced(), {"a-0": description(OLD)}, {"a-0": "PRODUCER_FENCED"}))
    assert [each.message for each in find_unproved([proof])] == ["producer ID and epoch are the same as before fencing"]


def test_an_old_producer_that_is_not_refused_disproves_it() -> None:
    proof = only(prove(fenced(), {"a-0": description(NEW)}, {"a-0": ""}))
    assert [(each.id, each.name, each.message) for each in find_unproved([proof])] == [
        ("EOS032", "fencing-not-proved", "the coordinator did not refuse the old producer")
    ]


def test_a_created_id_has_no_old_producer_to_move_from() -> None:
    assert only(prove(fenced(before=None), {"a-0": description(NEW)}, {})).holds


def test_an_id_that_was_not_fenced_is_not_proved() -> None:
    assert prove(FencingOutcome((result(FenceOutcome.FAILED, "X"),), 1.0), {}, {}) == ()


def test_all_fenced_is_no_failure() -> None:
    assert failure_of(fenced(), "User:t") is None


def test_some_failed_is_partly_applied_and_names_the_first() -> None:
    outcome = FencingOutcome((result(FenceOutcome.FENCED), result(FenceOutcome.FAILED, "TIMED_OUT", "b-0")), 1.0)
    failure = failure_of(outcome, "User:t")
    assert isinstance(failure, PartlyApplied)
    assert failure.message == "1 of 2 IDs are fenced, 1 are not; first: b-0: TIMED_OUT: because"


@pytest.mark.parametrize(
    ("cause", "kind"),
    [
        ("TRANSACTIONAL_ID_AUTHORIZATION_FAILED", NotAuthorized),
        ("TIMED_OUT", TimedOut),
        ("Unreachable", TimedOut),
        ("INVALID_TRANSACTION_TIMEOUT", Refused),
        ("UNKNOWN_SERVER_ERROR", PartlyApplied),
    ],
)
def test_none_fenced_ends_as_the_first_one_did(cause: str, kind: type[EosctlError]) -> None:
    assert type(failure_of(FencingOutcome((result(FenceOutcome.FAILED, cause),), 1.0), "User:t")) is kind


def test_a_missing_acl_names_principal_operation_and_resource() -> None:
    outcome = FencingOutcome((result(FenceOutcome.FAILED, "TRANSACTIONAL_ID_AUTHORIZATION_FAILED"),), 1.0)
    failure = failure_of(outcome, "User:tool")
    assert failure is not None
    assert failure.message == "User:tool lacks Write on transactional ID a-0"


def test_an_interrupted_search_names_the_partitions_it_searched() -> None:
    results = (result(FenceOutcome.FENCED), result(FenceOutcome.SKIPPED, "INTERRUPTED", "b-0"))
    failure = failure_of(FencingOutcome(results, 1.0, interrupted=True), "User:t")
    assert isinstance(failure, Interrupted)
    assert failure.message.startswith("stopped: 1 of 2 IDs are fenced")


THERE = frozenset({"there:9092"})
SENT = {"producer.override.bootstrap.servers": "there:9092", "consumer.override.bootstrap.servers": "there:9092"}
ASKED = Clusters("here", {THERE: "other"})


def told(
    support: KnownPhase,
    config: Mapping[str, object],
    clusters: Clusters = ASKED,
    *,
    servers: frozenset[str] | Skipped = frozenset({"here:9092"}),
    known: bool = True,
) -> list[str]:
    """Message and cure of each finding."""
    worker = WorkerSettings("offsets", support, servers)
    connector = ConnectorOffsets("c", known, stores_of(worker, config), ())
    return [f"{each.message}; {each.cure}" for each in producing_elsewhere(connector, clusters)]


@pytest.mark.parametrize(
    ("support", "config", "kept"),
    [
        (
            KnownPhase.ENABLED,
            SENT,
            "its offsets (in topic offsets) and its transactional IDs, if it has any, are in that cluster",
        ),
        (KnownPhase.ENABLED, {**SENT, "offsets.storage.topic": "own"}, "its offsets (in topic own) and its"),
        (KnownPhase.DISABLED, {**SENT, "offsets.storage.topic": "own"}, "its offsets (in topic own) and its"),
        (KnownPhase.DISABLED, SENT, "its offsets stay in the workers' topic offsets; nothing while exactly-once"),
    ],
)
def test_where_its_offsets_are_is_reported(support: KnownPhase, config: Mapping[str, object], kept: str):
    [words] = told(support, config)
    assert "producer.override.bootstrap.servers=there:9092: that is another Kafka cluster, other" in words
    assert kept in words


def test_another_address_of_the_workers_cluster_is_recognized_as_the_same_cluster():
    [words] = told(KnownPhase.ENABLED, SENT, Clusters("here", {THERE: "here"}))
    assert "that is the workers' own Kafka cluster, which Connect takes for another one" in words


def test_a_cluster_that_was_not_asked_is_unknown():
    [words] = told(KnownPhase.ENABLED, SENT, Clusters("here"))
    assert "whether that is another Kafka cluster is not known (it was not read)" in words


def test_servers_from_a_config_provider_are_unknown():
    [words] = told(KnownPhase.DISABLED, {"producer.override.bootstrap.servers": "${file:x:y}"})
    assert "where its producer is sent to is not known" in words


@pytest.mark.parametrize("config", [{}, {"producer.override.bootstrap.servers": "here:9092"}])
def test_a_connector_that_produces_to_its_workers_cluster_is_not_reported(config: Mapping[str, object]):
    assert told(KnownPhase.ENABLED, config) == []


def test_a_deleted_connector_is_not_reported():
    assert told(KnownPhase.ENABLED, SENT, known=False) == []


# How far consumer groups are behind.

ORDERS = PartitionOffsets(TopicPartition("orders", 0), 10, 30, 40)
PAYMENTS = PartitionOffsets(TopicPartition("payments", 0), 0, 5, 5)
PLACES = {each.topic_partition: each for each in (ORDERS, PAYMENTS)}


def lags(*positions: tuple[PartitionOffsets, int], **tallies: RecordTally) -> tuple[GroupLag, ...]:
    committed = {"g": {offsets.topic_partition: at for offsets, at in positions}}
    counted = {TopicPartition(topic, 0): tally for topic, tally in tallies.items()}
    groups = {"g": ListedGroup("g", "consumer", "Stable")}
    return group_lags(reading_committed(committed, PLACES), groups, PLACES, counted)


def test_a_groups_lag_is_summed_over_its_partitions_and_begins_at_the_log_start():
    tally = RecordTally((CountedStretch(10, 20, 4, 1, 2), CountedStretch(20, 30, 8, 0, 1)))
    [found] = lags((ORDERS, 3), (PAYMENTS, 5), orders=tally)
    assert found.counts == RecordCounts(12, 1, 3, 4)
    assert (found.partitions, found.uncounted, found.held_back) == (1, 0, 10)


def test_offsets_of_a_gap_or_before_no_counted_stretch_are_uncounted():
    gap = RecordTally((CountedStretch(10, 19, 4, 1, 2), CountedStretch(20, 30, 8, 0, 1)))
    [found] = lags((ORDERS, 10), (PAYMENTS, 2), orders=gap)
    assert (found.counts, found.uncounted) == (RecordCounts(0, 0, 0, 0), 23)
    within = RecordTally((CountedStretch(10, 30, 4, 1, 2),))
    assert lags((ORDERS, 15), orders=within)[0].uncounted == 15


def test_a_group_beyond_a_last_stable_offset_reads_uncommitted_and_has_no_such_lag():
    assert lags((ORDERS, 31), (PAYMENTS, 0)) == ()


# The decision about a hanging transaction of epoch 2 in foo-0, with batches from START to LAST.


START, LAST = NOW - 60_000, NOW - 40_000
SOON, LATE = 4_000, 6_000
"""Within and beyond the difference that two brokers' clocks may have."""
S = TransactionState


def logged(state, epoch=2, version=0, decided_ms=NOW - 30_000, places=(FOO0, BAR0), producer_id=9, **fields):
    """One record of `id`. The value of a Complete* state has no partitions."""
    complete = state in {S.COMPLETE_COMMIT, S.COMPLETE_ABORT}
    held = ProducerIdAndEpoch(producer_id, epoch)
    value = TransactionLogValue(
        1, held, 60_000, state, () if complete else places, decided_ms, START, client_transaction_version=version
    )
    return TransactionLogRecord(0, 0, decided_ms + 50, "id", replace(value, **fields))


BEGUN = logged(S.EMPTY, epoch=2, decided_ms=NOW - 90_000, places=None)
"""The beginning of the session: from here on the log has every record of the ID."""


def decision(*records, first_ms=START, last_ms=LAST, epoch=2, known=True):
    hung = replace(producer(epoch=epoch), last_timestamp=last_ms)
    names = {9: "id"} if known else {}
    found = {"id": described(S.COMPLETE_COMMIT, [])} if known else {}
    (transaction,) = join_open_transactions([hung], names, found)
    return LoggedDecisions(records, {9}).about(transaction, first_ms)


COMMIT, ABORT = Decision("id", True, NOW - 30_000), Decision("id", False, NOW - 30_000)
UNKNOWN = "unknown"


@pytest.mark.parametrize(
    ("records", "times", "expected"),
    [
        ([BEGUN], {}, None),
        ([BEGUN, logged(S.ONGOING)], {}, None),
        ([BEGUN, logged(S.PREPARE_COMMIT)], {}, COMMIT),
        ([BEGUN, logged(S.PREPARE_COMMIT), logged(S.COMPLETE_COMMIT)], {}, COMMIT),
        ([BEGUN, logged(S.PREPARE_ABORT)], {}, ABORT),
        ([BEGUN, logged(S.PREPARE_ABORT, epoch=3)], {}, ABORT),  # its coordinator, after the timeout
        ([BEGUN, logged(S.PREPARE_COMMIT, epoch=3)], {}, None),
        ([BEGUN, logged(S.PREPARE_COMMIT, epoch=1)], {}, None),
        ([BEGUN, logged(S.PREPARE_COMMIT, places=(BAR0,))], {}, None),
        ([BEGUN, logged(S.PREPARE_COMMIT, places=(BAR0,)), logged(S.COMPLETE_COMMIT)], {}, None),
        ([BEGUN, logged(S.PREPARE_COMMIT, places=None)], {}, None),
        ([logged(S.EMPTY, decided_ms=START - SOON, places=None), logged(S.PREPARE_COMMIT)], {}, COMMIT),
        ([BEGUN, logged(S.PREPARE_COMMIT)], {"first_ms": START - SOON}, COMMIT),
        ([BEGUN, logged(S.PREPARE_COMMIT)], {"first_ms": START - LATE}, UNKNOWN),  # a connector's own timestamps
        ([BEGUN, logged(S.PREPARE_COMMIT)], {"first_ms": START - CLOCKS_MS}, COMMIT),
        ([BEGUN, logged(S.PREPARE_COMMIT)], {"first_ms": START - CLOCKS_MS - 1}, UNKNOWN),
        ([BEGUN, logged(S.PREPARE_COMMIT)], {"last_ms": NOW - 30_000}, COMMIT),
        ([BEGUN, logged(S.PREPARE_COMMIT)], {"last_ms": NOW - 30_000 + 1}, UNKNOWN),
        ([BEGUN, logged(S.PREPARE_COMMIT)], {"first_ms": NOW - 30_000 + SOON, "last_ms": NOW}, UNKNOWN),
        ([BEGUN, logged(S.PREPARE_COMMIT)], {"first_ms": NOW - 30_000 + LATE, "last_ms": NOW}, None),
        ([BEGUN, logged(S.PREPARE_COMMIT)], {"first_ms": NOW - 30_000 + CLOCKS_MS, "last_ms": NOW}, UNKNOWN),
        ([BEGUN, logged(S.PREPARE_COMMIT)], {"first_ms": NOW - 30_000 + CLOCKS_MS + 1, "last_ms": NOW}, None),
        ([BEGUN, logged(S.PREPARE_COMMIT)], {"first_ms": None, "last_ms": None}, UNKNOWN),
        ([BEGUN, logged(S.PREPARE_COMMIT)], {"last_ms": None}, UNKNOWN),
        ([BEGUN, logged(S.PREPARE_COMMIT)], {"first_ms": None}, COMMIT),
        ([BEGUN, logged(S.PREPARE_ABORT)], {"first_ms": START - LATE}, None),
        ([BEGUN, logged(S.PREPARE_COMMIT, decided_ms=START - SOON), logged(S.PREPARE_ABORT)], {}, UNKNOWN),
        ([BEGUN, logged(S.PREPARE_COMMIT, decided_ms=START - LATE), logged(S.PREPARE_ABORT)], {}, ABORT),
        # compacted: only the completion is left, or a later record
        ([logged(S.COMPLETE_COMMIT)], {}, UNKNOWN),
        ([logged(S.COMPLETE_ABORT)], {}, UNKNOWN),
        ([logged(S.ONGOING)], {}, UNKNOWN),
        ([logged(S.ONGOING, decided_ms=START - LATE)], {}, None),
        ([logged(S.ONGOING, decided_ms=START - CLOCKS_MS - 50)], {}, UNKNOWN),
        ([logged(S.ONGOING, decided_ms=START - CLOCKS_MS - 51)], {}, None),
        ([logged(S.ONGOING, decided_ms=NOW - 50_000)], {}, UNKNOWN),
        ([logged(S.ONGOING, decided_ms=NOW - 50_000)], {"first_ms": None}, None),
        ([logged(S.ONGOING, decided_ms=START - LATE)], {"first_ms": None, "last_ms": None}, UNKNOWN),
        # the first record left is of an earlier epoch, of the beginning of this one, or of an epoch of its own
        ([logged(S.ONGOING, epoch=1)], {}, None),
        ([logged(S.EMPTY)], {}, None),
        ([logged(S.ONGOING, version=2)], {}, None),
        ([logged(S.EMPTY, epoch=3)], {}, UNKNOWN),
    ],
)  # fmt: skip
def test_transactions_that_share_an_epoch_are_told_apart_by_partition_and_time(records, times, expected):
    found = decision(*records, **times)
    assert (UNKNOWN if isinstance(found, Skipped) else found) == expected


@pytest.mark.parametrize(
    ("records", "expected"),
    [
        ([BEGUN, logged(S.PREPARE_COMMIT, 3, 2)], COMMIT),
        ([BEGUN, logged(S.PREPARE_ABORT, 3, 2)], ABORT),
        ([BEGUN, logged(S.PREPARE_COMMIT, 3, 2), logged(S.COMPLETE_COMMIT, 3, 2), logged(S.ONGOING, 3, 2)], COMMIT),
        ([BEGUN, logged(S.PREPARE_COMMIT, 3, 2, decided_ms=START - LATE)], replace(COMMIT, decided_ms=START - LATE)),
        ([BEGUN, logged(S.PREPARE_COMMIT, 3, 2, places=(BAR0,))], None),
        ([BEGUN, logged(S.PREPARE_COMMIT, 2, 2)], None),
        ([BEGUN, logged(S.PREPARE_COMMIT, 4, 2)], None),
        ([logged(S.COMPLETE_COMMIT, 3, 2)], UNKNOWN),
        ([logged(S.COMPLETE_ABORT, 3, 2)], ABORT),
        ([logged(S.COMPLETE_COMMIT, 9, 2)], UNKNOWN),
        ([logged(S.COMPLETE_COMMIT, 2, 2)], None),
    ],
)  # fmt: skip
def test_a_transaction_with_an_epoch_of_its_own_is_known_by_the_next_one(records, expected):
    found = decision(*records, first_ms=None, last_ms=NOW)
    assert (UNKNOWN if isinstance(found, Skipped) else found) == expected


def test_the_last_epoch_of_a_producer_id_is_decided_under_32767_and_completed_under_the_next_producer_id():
    last = logged(S.PREPARE_COMMIT, 32_767, 2)
    complete = logged(S.COMPLETE_COMMIT, 0, 2, producer_id=10, previous_producer_id=9)
    later = logged(S.PREPARE_ABORT, 1, 2, producer_id=10, previous_producer_id=9)
    for records in ([last], [last, complete], [last, complete, later]):
        assert decision(*records, epoch=32_766, known=False) == COMMIT
    for records in ([complete], [complete, later], [later]):
        assert isinstance(decision(*records, epoch=32_766, known=False), Skipped)
    aborted = logged(S.COMPLETE_ABORT, 0, 2, producer_id=10, previous_producer_id=9)
    assert decision(aborted, epoch=32_766, known=False) == ABORT
    for state, epoch in ((S.COMPLETE_ABORT, 1), (S.PREPARE_ABORT, 0)):
        of_the_next = logged(state, epoch, 2, producer_id=10, previous_producer_id=9)
        assert isinstance(decision(of_the_next, epoch=32_766, known=False), Skipped)


def test_all_partitions_of_committed_transactions_are_those_of_the_decisions_that_are_left():
    other = TopicPartition("other", 0)
    records = [logged(S.PREPARE_COMMIT), logged(S.COMPLETE_COMMIT), logged(S.PREPARE_ABORT, places=(other,))]
    assert LoggedDecisions(records, {9}).partitions() == {FOO0, BAR0}
    assert LoggedDecisions([logged(S.COMPLETE_COMMIT)], {9}).partitions() == set()


def test_a_producer_in_progress_by_the_log_that_no_coordinator_lists_is_unknown():
    assert isinstance(decision(BEGUN, logged(S.ONGOING), known=False), Skipped)
    assert decision(BEGUN, logged(S.ONGOING), known=True) is None, "its coordinator answers for itself"
    assert decision(BEGUN, logged(S.ONGOING, places=(BAR0,)), known=False) is None
    assert decision(BEGUN, logged(S.ONGOING), logged(S.PREPARE_COMMIT), known=False) == COMMIT


@pytest.mark.parametrize(
    ("first", "state", "suspected"),
    [
        (FirstBatch(1, NOW), S.ONGOING, True),  # an epoch ends with its transaction
        (FirstBatch(2, START - LATE), S.ONGOING, True),
        (FirstBatch(2, START - SOON), S.ONGOING, False),
        (FirstBatch(2, START - 5_000), S.ONGOING, False),
        (FirstBatch(2, START - 5_001), S.ONGOING, True),
        (FirstBatch(2, -1), S.ONGOING, False),
        (FirstBatch(3, START), S.ONGOING, False),
        (FirstBatch(1, START - LATE), S.PREPARE_COMMIT, False),
    ],
)  # fmt: skip
def test_a_transaction_in_progress_may_begin_as_an_earlier_one_of_its_producer(first, state, suspected):
    known = replace(described(state, [FOO0]), producer=ProducerIdAndEpoch(9, 2), start_ms=START)
    (transaction,) = join_open_transactions([producer(epoch=2)], {9: "id"}, {"id": known})
    assert may_be_earlier(transaction, first) is suspected
    assert not may_be_earlier(replace(transaction, earlier=first), first), "that is known of it"


def test_the_last_decision_of_the_same_epoch_and_partition_has_a_time_that_only_its_markers_reach():
    hung = join_open_transactions([producer(epoch=2)], {9: "id"}, {"id": described(S.ONGOING, [FOO0])})[0]
    commits = logged(S.PREPARE_COMMIT, decided_ms=START + 1000), logged(S.PREPARE_ABORT, decided_ms=START + 30_000)
    assert LoggedDecisions(commits[:1], {9}).last_before(hung) == (Decision("id", True, START + 1000), START + 500)
    assert LoggedDecisions(commits, {9}).last_before(hung) == (Decision("id", False, START + 30_000), START + 25_000)
    others = logged(S.PREPARE_COMMIT, places=(BAR0,)), logged(S.PREPARE_COMMIT, epoch=1)
    assert LoggedDecisions((BEGUN, *others), {9}).last_before(hung) is None
    assert LoggedDecisions((), {9}).last_before(hung) is None


def test_a_log_that_names_the_producer_nowhere_or_was_written_by_a_newer_kafka():
    other = logged(S.PREPARE_COMMIT, producer_id=8)
    assert decision(other, known=False) is None
    assert isinstance(decision(other), Skipped), "its coordinator has the ID, so the log lost it"
    assert isinstance(decision(BEGUN, NewerLogRecord(0, 1, 2, "id")), Skipped)
    assert decision(BEGUN, NewerLogRecord(0, 1, 2, "another")) is None
    assert isinstance(decision(NewerLogRecord(0, 1, 2, "another"), known=False), Skipped), "it may have held the ID"


@pytest.mark.parametrize(
    ("state", "epoch", "unknown"),
    [
        (S.COMPLETE_COMMIT, 2, True),
        (S.COMPLETE_COMMIT, 3, True),
        (S.PREPARE_COMMIT, 3, True),
        (S.COMPLETE_ABORT, 3, False),
        (S.COMPLETE_ABORT, 2, True),  # the last one of this epoch; an earlier one may be committed
        (S.COMPLETE_ABORT, 4, True),
        (S.EMPTY, 2, False),
        (S.EMPTY, 3, True),
        (S.ONGOING, 7, True),
        (S.COMPLETE_COMMIT, 1, False),
    ],
)
def test_without_the_log_the_coordinator_rules_a_commit_out_or_it_is_unknown(state, epoch, unknown):
    known = replace(described(state, []), producer=ProducerIdAndEpoch(9, epoch))
    (transaction,) = join_open_transactions([producer()], {9: "id"}, {"id": known})
    assert (by_coordinator(transaction, "denied") is not None) is unknown
    (of_another,) = join_open_transactions([producer(producer_id=8)], {8: "id"}, {"id": known})
    assert by_coordinator(of_another, "denied") is None
    (nobodys,) = join_open_transactions([producer()], {}, {})
    assert by_coordinator(nobodys, "denied") is None


@pytest.mark.parametrize(
    ("state", "made", "advice"),
    [
        (S.COMPLETE_COMMIT, COMMIT, Advice.COMMIT),
        (S.ONGOING, COMMIT, Advice.COMMIT),
        (S.COMPLETE_ABORT, ABORT, Advice.ABORT),
        (S.ONGOING, ABORT, Advice.FENCE),
        (S.COMPLETE_COMMIT, None, Advice.ABORT),
        (S.COMPLETE_COMMIT, Skipped("denied"), Advice.UNKNOWN),
        (S.ONGOING, Skipped("denied"), Advice.UNKNOWN),
        (S.PREPARE_COMMIT, Skipped("denied"), Advice.WAIT),
    ],
)
def test_the_decision_decides_the_advice(state, made, advice):
    hung = verdict(producer(FOO0), {9: "id"}, {"id": described(state, [BAR0])})
    (judged,) = decided([hung], {hung.transaction.place: made})
    assert (judged.advice, judged.decision) == (advice, made)


# Each decision at its limit.

ONGOING, MEANWHILE = TransactionState.ONGOING, NOW - 60_000 - TIMEOUT_SCAN_MS


@pytest.mark.parametrize(
    ("changes", "partitions", "advice"),
    [
        ({"start_ms": MEANWHILE}, [FOO0], Advice.WAIT),
        ({"start_ms": MEANWHILE - 1}, [FOO0], Advice.FENCE),
        ({"start_ms": None}, [FOO0], Advice.FENCE),
        ({"start_ms": MEANWHILE}, [BAR0], Advice.FENCE),
        ({"producer_id": 10}, [FOO0], Advice.ABORT),
        ({"producer_id": 10, "state": TransactionState.PREPARE_ABORT}, [FOO0], Advice.ABORT),
        *(
            ({"state": each}, [FOO0], Advice.ABORT)
            for each in TransactionState
            if each not in {ONGOING, TransactionState.PREPARE_COMMIT, TransactionState.PREPARE_ABORT}
        ),
    ],
)
def test_the_advice_is_to_wait_up_to_the_timeout_and_the_coordinator_s_next_look(changes, partitions, advice):
    assert verdict(producer(), {9: "id"}, {"id": described(partitions=partitions, **changes)}).advice is advice


@pytest.mark.parametrize(
    ("ahead_ms", "reason"), [(0, None), (1, "the timestamp of its last batch is 0.0 s in the future"), (-1, None)]
)
def test_a_timestamp_is_in_the_future_from_the_next_ms_on(ahead_ms, reason):
    assert why_undated(NOW + ahead_ms, NOW, ClusterClock(1, 0, 5)) == reason


def test_a_transaction_is_still_open_only_where_partition_producer_and_offset_are_the_same():
    verdicts = judge(join_open_transactions([producer()], {}, {}), NOW)
    for again in (producer(BAR0), producer(producer_id=8), producer(start=56), producer(start=None)):
        assert still_open(verdicts, [again]) == ()
    assert still_open(verdicts, [producer(epoch=7, age_ms=0)]) == verdicts, "the epoch and its age may have changed"


HELD = PartitionOffsets(FOO0, 0, 55, 56)


def opened(*starts, place=FOO0):
    return join_open_transactions([producer(place, producer_id=each, start=each) for each in starts], {}, {})


@pytest.mark.parametrize(
    ("offsets", "starts", "holding"),
    [
        (HELD, (55, 60), [55]),
        (HELD, (60, 57), [57]),
        (HELD, (60, 55, 40), [55]),
        (HELD, (), []),
        (replace(HELD, high_watermark=55), (55,), []),
        (replace(HELD, high_watermark=54), (55,), []),
    ],
)
def test_a_partition_is_held_back_by_those_that_begin_at_its_last_stable_offset_or_first(offsets, starts, holding):
    assert [each.start_offset for each in holders(offsets, opened(*starts))] == holding
    assert holders(offsets, opened(*starts, place=BAR0)) == ()


@pytest.mark.parametrize(
    ("since", "order"),
    [
        ({FOO0: 5, FOO1: 4, BAR0: 6}, [FOO1, FOO0, BAR0]),
        ({FOO0: 5, FOO1: 5, BAR0: 5}, [BAR0, FOO0, FOO1]),
        ({FOO1: 5}, [FOO1, BAR0, FOO0]),
        ({FOO1: 0, FOO0: 1}, [FOO1, FOO0, BAR0]),
        ({}, [BAR0, FOO0, FOO1]),
    ],
)
def test_partitions_are_in_the_order_of_the_first_record_held_back_then_of_their_names(since, order):
    offsets = {place: PartitionOffsets(place, 0, 1, 2) for place in (FOO1, FOO0, BAR0)}
    assert [each.offsets.topic_partition for each in stability(offsets, [], since)] == order


OTHER = TopicPartition("other", 0)


@pytest.mark.parametrize(
    ("committed", "found"),
    [
        ({ORDERS.topic_partition: 30}, {ORDERS.topic_partition: 30}),
        ({ORDERS.topic_partition: 31}, None),
        ({ORDERS.topic_partition: 30, PAYMENTS.topic_partition: 6}, None),
        ({ORDERS.topic_partition: 30, OTHER: 99}, {ORDERS.topic_partition: 30}),
        ({OTHER: 0}, None),
        ({}, None),
        (Skipped("denied"), None),
    ],
)
def test_a_group_reads_committed_where_none_of_its_positions_is_beyond_a_last_stable_offset(committed, found):
    assert reading_committed({"g": committed}, PLACES) == ({} if found is None else {"g": found})


@pytest.mark.parametrize(("position", "left"), [(0, 20), (9, 20), (10, 20), (11, 19), (30, 0), (31, 0)])
def test_a_position_before_the_log_start_is_behind_from_there_on_and_one_beyond_the_end_is_not_behind(position, left):
    assert behind(ORDERS, position) == left


@pytest.mark.parametrize(
    ("positions", "partitions", "uncounted", "held"),
    [
        (((ORDERS, 30),), 1, 0, 10),
        (((PAYMENTS, 4),), 1, 1, 0),
        (((PAYMENTS, 5),), 0, 0, 0),
        (((ORDERS, 10), (PAYMENTS, 0)), 2, 25, 10),
    ],
)
def test_a_partition_counts_where_the_group_is_behind_or_held_back(positions, partitions, uncounted, held):
    [found] = lags(*positions)
    assert (found.partitions, found.uncounted, found.held_back) == (partitions, uncounted, held)


def test_groups_with_most_records_before_them_come_first_and_unlisted_ones_are_left_out():
    groups = {name: ListedGroup(name, "consumer", "Stable") for name in "bacd"}
    place, other = ORDERS.topic_partition, PAYMENTS.topic_partition
    positions = {"a": {place: 30}, "b": {place: 30}, "c": {place: 20}, "d": {other: 5}, "unlisted": {place: 10}}
    found = group_lags(positions, groups, PLACES, {})
    assert [each.group.group_id for each in found] == ["c", "a", "b", "d"]
    counted = {place: RecordTally((CountedStretch(20, 30, 0, 1, 9),)), other: Skipped("denied")}
    found = group_lags({"c": {place: 20}, "d": {other: 3}}, groups, PLACES, counted)
    assert [(each.group.group_id, each.uncounted) for each in found] == [("d", 2), ("c", 0)]


@pytest.mark.parametrize(
    ("offsets", "holds"),
    [(HELD, True), (replace(HELD, last_stable_offset=54), False), (Skipped("denied"), False)],
)
def test_a_transaction_holds_a_partition_back_where_it_begins_at_its_last_stable_offset(offsets, holds):
    found = held_back(opened(55)[0], offsets, Skipped("unread"), ["offsets"])
    assert (found.holds_lso, found.groups, found.connect, found.commits) == (holds, Skipped("unread"), ("offsets",), ())


@pytest.mark.parametrize(
    ("config", "topic", "groups", "count"),
    [
        ({"offsets.storage.topic": "own"}, "own", (), 1),
        ({"offsets.storage.topic": 7}, "7", (), 0),
        ({}, "own", ("connect-x",), 1),
        ({"consumer.override.group.id": "g"}, "own", ("connect-x",), 0),
        ({"consumer.override.group.id": "g"}, "own", ("g",), 1),
        ({"consumer.override.group.id": ""}, "own", ("connect-x",), 1),
        ({"consumer.override.group.id": 7}, "own", ("connect-x",), 1),
        (None, "own", ("connect-x",), 1),
        (None, "offsets", (), 1),
        (None, "configs", (), 1),
        ({"offsets.storage.topic": "offsets"}, "offsets", (), 2),
    ],
)
def test_parts_of_connect_that_wait_behind_a_topic_follow_from_the_settings_that_are_text(config, topic, groups, count):
    cluster = ConnectTopics("cluster", "configs", "offsets", {"x": ConnectorState("x", config=config)})
    assert len(waiting_parts(topic, groups, cluster)) == count
    assert waiting_parts(topic, groups, None) == ()
