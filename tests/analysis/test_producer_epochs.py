"""The producers of an ID and the end of each, by records that brokers of 3.9.2 and 4.3.1 wrote."""

import pytest
from msgspec.structs import replace

from eosctl.analysis import producer_epochs
from eosctl.analysis.producer_epochs import (
    AGAIN,
    MANY,
    RETRY_MS,
    SHORT_MS,
    ChurnFold,
    EpochFold,
    churn_findings,
    contentions,
    prefix_of,
)
from eosctl.model.names import ProducerIdAndEpoch, TopicPartition
from eosctl.model.producer_epochs import EpochEnd, PrefixChurn, ProducerEpochs
from eosctl.model.report import Severity
from eosctl.model.transaction_log import DAY_MS, LogRecord, NewerLogRecord, TransactionLogRecord, TransactionLogValue
from eosctl.model.transactions import NO_TIMEOUT_MS
from eosctl.model.transactions import TransactionState as State

NOW = 1_790_000_000_000
TIMEOUT_MS = 60_000
PLACES = (TopicPartition("t", 0),)


class Log:
    """Records of one ID; each comes a second after the previous one, or at a given time."""

    def __init__(self, name: str = "billing-0", version: int = 1) -> None:
        self.name, self.version, self.at = name, version, NOW
        self.records: list[LogRecord] = []
        self.producer_id = 7
        self.started = -1

    def add(self, state: State, epoch: int, client: int = 0, after: int = 1000, **more: int) -> "Log":
        self.at += after
        if state is State.EMPTY:
            self.started = -1
        elif state is State.ONGOING:
            self.started = self.at
        self.producer_id = more.get("producer_id", self.producer_id)
        value = TransactionLogValue(
            version=self.version,
            producer=ProducerIdAndEpoch(self.producer_id, epoch),
            timeout_ms=more.get("timeout_ms", TIMEOUT_MS),
            state=state,
            partitions=PLACES if state is State.ONGOING else (),
            last_update_ms=self.at,
            start_ms=self.started,
            client_transaction_version=client,
        )
        self.records.append(TransactionLogRecord(0, len(self.records), self.at, self.name, value))
        return self

    def expire(self, after: int) -> "Log":
        self.at += after
        self.records.append(TransactionLogRecord(0, len(self.records), self.at, self.name, None))
        return self

    def commit(self, epoch: int, client: int = 0) -> "Log":
        to = epoch + (client >= 2)
        self.add(State.ONGOING, epoch, client).add(State.PREPARE_COMMIT, to, client)
        return self.add(State.COMPLETE_COMMIT, to, client)

    def abort(self, epoch: int, to: int, client: int = 0, late: int = 0) -> "Log":
        return self.add(State.PREPARE_ABORT, to, client, after=late or 1000).add(State.COMPLETE_ABORT, to, client, 5)


def epochs(log: Log) -> tuple[ProducerEpochs, ...]:
    fold = EpochFold()
    fold.add_all(log.records)
    return fold.found()[log.name]


def ends(log: Log) -> list[tuple[str, EpochEnd | None, bool | None, bool]]:
    return [
        (f"{each.producer} to {each.last_epoch}", each.ended_by, each.was_open, each.certain) for each in epochs(log)
    ]


def test_a_producer_that_still_has_its_id_was_not_ended():
    log = Log().add(State.EMPTY, 0).commit(0).commit(0)
    (found,) = epochs(log)
    assert (found.ended_by, found.by, found.ended_ms, found.committed) == (None, None, None, 2)
    assert (found.begun_ms, found.last_ms) == (NOW + 1000, log.at)


def test_a_transaction_that_was_open_is_aborted_under_a_raised_epoch_by_the_producer_that_fences():
    log = Log().add(State.EMPTY, 0).add(State.ONGOING, 0).abort(0, 1, client=2).add(State.EMPTY, 2, after=500)
    assert ends(log) == [("7/0 to 0", EpochEnd.FENCED, True, True), ("7/2 to 2", None, None, True)]
    older, newer = epochs(log)
    assert older.by == "producer 7/2"
    assert older.ended_ms == newer.begun_ms - 505


def test_a_producer_without_an_open_transaction_may_have_been_closed_before():
    log = Log().add(State.EMPTY, 0).commit(0).add(State.EMPTY, 1)
    assert ends(log) == [("7/0 to 0", EpochEnd.FENCED, False, True), ("7/1 to 1", None, None, True)]
    assert epochs(log)[0].by == "producer 7/1; no transaction was open, so it may have been closed before"


def test_an_own_abort_of_version_2_looks_like_fencing():
    log = Log().add(State.EMPTY, 0).add(State.ONGOING, 0, 2).abort(0, 1, client=2).add(State.EMPTY, 2, after=500)
    assert ends(log)[0] == ("7/0 to 1", EpochEnd.FENCED, None, False)


def test_an_own_abort_of_version_2_after_which_the_producer_continues_is_its_own():
    log = Log().add(State.EMPTY, 0).add(State.ONGOING, 0, 2).abort(0, 1, client=2).commit(1, 2)
    assert ends(log) == [("7/0 to 2", None, None, True)]
    assert (epochs(log)[0].aborted, epochs(log)[0].committed, epochs(log)[0].client_version) == (1, 1, 2)


def test_an_epoch_that_is_raised_twice_by_an_abort_is_fencing_for_certain():
    log = Log().add(State.EMPTY, 0).add(State.ONGOING, 0, 2).abort(0, 2, client=2).add(State.EMPTY, 3, after=100)
    assert ends(log)[0] == ("7/0 to 0", EpochEnd.FENCED, True, True)


@pytest.mark.parametrize(("client", "certain", "last"), [(0, True, 0), (2, False, 1)])
def test_a_transaction_beyond_its_timeout_is_aborted_by_its_coordinator(client, certain, last):
    log = Log().add(State.EMPTY, 0).add(State.ONGOING, 0, client).abort(0, 1, client=2, late=TIMEOUT_MS + 1)
    assert ends(log) == [(f"7/0 to {last}", EpochEnd.TIMED_OUT, True, certain)]
    log.add(State.EMPTY, 2, after=RETRY_MS + 1)
    assert ends(log)[0] == (f"7/0 to {last}", EpochEnd.TIMED_OUT, True, certain)


def test_a_transaction_is_not_beyond_its_timeout_at_its_timeout():
    log = Log().add(State.EMPTY, 0).add(State.ONGOING, 0).abort(0, 1, client=2, late=TIMEOUT_MS)
    assert ends(log) == [("7/0 to 0", EpochEnd.FENCED, True, True)]
    assert epochs(log)[0].by == "a producer that did not finish initTransactions"


def test_beyond_the_timeout_and_just_before_another_producer_it_may_be_either():
    log = Log().add(State.EMPTY, 0).add(State.ONGOING, 0).abort(0, 1, client=2, late=TIMEOUT_MS + 1)
    log.add(State.EMPTY, 2, after=RETRY_MS)
    assert ends(log)[0] == ("7/0 to 0", EpochEnd.UNKNOWN, True, False)


def test_a_producer_of_version_1_may_raise_its_epoch_after_its_own_abort():
    log = Log().add(State.EMPTY, 0).add(State.ONGOING, 0).abort(0, 0).add(State.EMPTY, 1, after=100)
    assert ends(log)[0] == ("7/0 to 0", EpochEnd.FENCED, False, False)
    assert "KIP-360" in (epochs(log)[0].by or "")


def test_records_of_version_0_do_not_say_which_protocol_the_client_used():
    log = Log(version=0).add(State.EMPTY, 0).add(State.ONGOING, 0).abort(0, 1).add(State.EMPTY, 2, after=100)
    assert ends(log)[0] == ("7/0 to 0", EpochEnd.FENCED, True, True)
    assert epochs(log)[0].client_version is None


def test_a_forgotten_id_ended_with_its_coordinator_and_begins_again():
    log = Log().add(State.EMPTY, 0).commit(0).expire(604_800_000).add(State.EMPTY, 0, producer_id=9)
    assert ends(log) == [("7/0 to 0", EpochEnd.EXPIRED, False, True), ("9/0 to 0", None, None, True)]


def test_an_id_that_is_forgotten_after_a_timeout_was_ended_by_the_timeout():
    log = Log().add(State.EMPTY, 0).add(State.ONGOING, 0).abort(0, 1, client=2, late=TIMEOUT_MS + 1)
    assert ends(log.expire(604_800_000)) == [("7/0 to 0", EpochEnd.TIMED_OUT, True, True)]


def test_the_last_epoch_of_version_2_gives_the_same_client_another_producer_id():
    log = Log().add(State.EMPTY, 32_765).commit(32_765, 2).add(State.ONGOING, 32_766, 2)
    log.add(State.PREPARE_COMMIT, 32_767, 2).add(State.COMPLETE_COMMIT, 0, 2, producer_id=8).commit(0, 2)
    assert ends(log) == [("7/32765 to 32767", EpochEnd.CLOSED, False, True), ("8/0 to 1", None, None, True)]
    first, second = epochs(log)
    assert (first.committed, second.committed, second.client_version) == (2, 1, 2)


def test_a_history_whose_beginning_was_compacted_has_a_first_producer_of_unknown_begin():
    log = Log().commit(4).add(State.EMPTY, 5)
    first, _ = epochs(log)
    assert (first.begun_ms, first.committed) == (None, 1)


def test_a_record_that_is_written_again_is_no_other_producer_and_no_other_transaction():
    log = Log().add(State.EMPTY, 0).add(State.EMPTY, 0).commit(0).add(State.COMPLETE_COMMIT, 0)
    assert [each.committed for each in epochs(log)] == [1]


def test_of_many_producers_the_last_are_kept():
    log = Log()
    for epoch in range(12):
        log.add(State.EMPTY, epoch)
    fold = EpochFold(most=5)
    fold.add_all([*log.records, NewerLogRecord(0, 99, 7)])
    assert [each.producer.producer_epoch for each in fold.found()[log.name]] == [6, 7, 8, 9, 10, 11]
    assert (fold.left_out, fold.newer) == (6, 1)


# Two producers that take an ID from each other.


def contended(log: Log) -> list[tuple[str, Severity]]:
    return [(each.subject, each.severity) for each in contentions({log.name: epochs(log)})]


def test_producers_that_fence_each_other_with_different_settings_are_two_clients():
    log = Log()
    for epoch, timeout_ms in enumerate((60_000, 50_000, 60_000, 50_000)):
        log.add(State.EMPTY, epoch, timeout_ms=timeout_ms)
    (found,) = contentions({log.name: epochs(log)})
    assert found.severity is Severity.ERROR
    assert "7/2 at 2026-09-21T14:13:23.000Z, then 7/3 at 2026-09-21T14:13:24.000Z" in found.message
    assert found.evidence["timeouts_ms"] == [60_000, 50_000, 60_000, 50_000]


def test_producers_of_equal_settings_may_be_one_that_is_restarted():
    log = Log()
    for epoch in range(4):
        log.add(State.EMPTY, epoch)
    assert contended(log) == [("billing-0", Severity.WARNING)]


def test_three_producers_are_too_few():
    log = Log()
    for epoch in range(3):
        log.add(State.EMPTY, epoch)
    assert contended(log) == []


def test_restarts_of_a_producer_that_commits_are_no_contention():
    log = Log()
    for epoch in range(6):
        log.add(State.EMPTY, epoch).commit(epoch)
    assert contended(log) == []


def test_restarts_once_a_day_are_no_contention():
    log = Log()
    for epoch in range(6):
        log.add(State.EMPTY, epoch, after=86_400_000)
    assert contended(log) == []


def test_producers_that_are_fenced_at_work_are_in_contention_though_they_commit():
    log = Log()
    for epoch in range(0, 10, 2):
        log.add(State.EMPTY, epoch).commit(epoch).add(State.ONGOING, epoch).abort(epoch, epoch + 1, client=2)
    assert contended(log) == [("billing-0", Severity.WARNING)]


def test_a_setting_that_was_changed_once_is_no_second_client():
    log = Log()
    for epoch, timeout_ms in enumerate((60_000, 60_000, 50_000, 50_000, 50_000)):
        log.add(State.EMPTY, epoch, timeout_ms=timeout_ms)
    assert contended(log) == [("billing-0", Severity.WARNING)]


UUID = "7b9f0a44-0b7f-4c1e-8a52-0a1b2c3d4e5f"


@pytest.mark.parametrize(
    ("transactional_id", "prefix"),
    [
        ("billing-0", "billing"),
        (f"pay-{UUID}-12", "pay"),
        (f"eu-worker-txn-{UUID}-1", "eu-worker-txn"),
        ("orders-sink-0-17", "orders-sink"),
        ("pay-0_3", "pay"),
        ("Sink: out-cbc357ccb763df2852fee8c4fc7d55f2-3", "Sink: out"),
        ("tx-7", "tx"),
        ("tx-billing.orders.3", "tx-billing.orders"),
        ("pool12", "pool"),
        ("api-7c9d8f6b5d-x2x9z-tx-4", "api-7c9d8f6b5d-x2x9z-tx"),
        ("api-7c9d8f6b5d-x2x9z-4", "api"),
        (UUID, ""),
        ("v2-orders", "v2-orders"),
        ("payments", "payments"),
        ("42", ""),
    ],
)
def test_the_prefix_of_an_id_has_no_numbers_uuids_or_pods_at_its_end(transactional_id: str, prefix: str) -> None:
    assert prefix_of(transactional_id) == prefix


def churn(*logs: Log, days: float, expiration_ms: int | None = 7 * DAY_MS) -> dict[str, PrefixChurn]:
    fold = ChurnFold(NOW + int(days * DAY_MS), expiration_ms)
    fold.add_all(record for log in logs for record in log.records)
    return {each.prefix: each for each in fold.found()}


def test_idle_ids_of_a_prefix_are_counted_by_how_often_they_were_used():
    once = [Log(f"a-{number}").add(State.EMPTY, 0).commit(0) for number in range(3)]
    again = [Log("a-7").add(State.EMPTY, 0).commit(0).commit(0), Log("a-8").add(State.EMPTY, 0).add(State.EMPTY, 1)]
    compacted = [Log("a-9").add(State.COMPLETE_COMMIT, 0), Log("a-10").add(State.COMPLETE_COMMIT, 9)]
    opened, forgotten = Log("a-11").add(State.EMPTY, 0).add(State.ONGOING, 0), Log("a-12").add(State.EMPTY, 0).expire(9)
    other = Log("b").add(State.EMPTY, 0)
    found = churn(*once, *again, *compacted, opened, forgotten, other, days=2)
    row = found["a"]
    assert (row.ids, row.open, row.new, row.idle, row.used_once, row.used_again) == (8, 1, 0, 7, 3, 3)
    assert (row.idle_per_day, row.expiring) == (7.0, 0)
    assert found["b"].ids == 1
    today = churn(*once, *again, days=0.5)["a"]
    assert (today.new, today.idle, today.used_once) == (5, 0, 0)


def test_ids_that_were_used_again_are_named_before_they_are_forgotten():
    used = Log("a-1").add(State.EMPTY, 0).commit(0).commit(0)
    once = Log("a-2").add(State.EMPTY, 0).commit(0)
    late = Log("a-3").add(State.EMPTY, 0, after=DAY_MS).commit(0).commit(0)
    row = churn(used, once, late, days=6.5)["a"]
    assert (row.expiring, row.an_id, row.first_expiry_ms) == (1, "a-1", used.at + 7 * DAY_MS)
    (finding,) = churn_findings([row], NOW + int(6.5 * DAY_MS))
    assert (finding.id, finding.subject, finding.severity) == ("EOS117", "a", Severity.INFO)
    assert "a-1 will be forgotten in 12 h" in finding.message
    assert churn(used, days=5.9)["a"].expiring == 0
    assert churn(used, days=6.5, expiration_ms=None)["a"].expiring is None


def test_a_prefix_that_leaves_many_ids_behind_is_a_finding():
    def row(idle: int, used_again: int) -> PrefixChurn:
        return PrefixChurn("a", idle, 0, 0, idle, idle / 6, idle - used_again, used_again, 0)

    assert [each.id for each in churn_findings([row(MANY, 0)], NOW)] == ["EOS308"]
    assert list(churn_findings([row(MANY, 1)], NOW)) == []


# Each decision about an end, at its limit.


def ended(log: Log) -> tuple[EpochEnd | None, bool | None, bool, str | None]:
    first = epochs(log)[0]
    return first.ended_by, first.was_open, first.certain, first.by


INIT_UNFINISHED = "a producer that did not finish initTransactions"
MAYBE_CLOSED = "producer 7/2; no transaction was open, so it may have been closed before"


@pytest.mark.parametrize(
    ("client", "to", "after", "expected"),
    [
        (2, 1, RETRY_MS, (EpochEnd.FENCED, None, False, "producer 7/2; its last transaction was aborted by fencing, or "
                          "shortly before by itself")),
        (2, 1, RETRY_MS + 1, (EpochEnd.FENCED, False, True, MAYBE_CLOSED)),
        (0, 1, RETRY_MS, (EpochEnd.FENCED, True, True, "producer 7/2")),
        (0, 1, RETRY_MS + 1, (EpochEnd.FENCED, True, True, INIT_UNFINISHED)),
        (0, 0, RETRY_MS, (EpochEnd.FENCED, False, False, "producer 7/2, which may be the same client: after an abort "
                          "it may raise its epoch (KIP-360)")),
        (0, 0, RETRY_MS + 1, (EpochEnd.FENCED, False, True, MAYBE_CLOSED)),
        (1, 1, RETRY_MS, (EpochEnd.FENCED, True, True, "producer 7/2")),
    ],
)  # fmt: skip
def test_another_producer_ended_a_transaction_where_it_comes_as_soon_as_clients_ask_again(client, to, after, expected):
    log = Log().add(State.EMPTY, 0).add(State.ONGOING, 0, client).abort(0, to, client=2)
    assert ended(log.add(State.EMPTY, 2, after=after)) == expected


@pytest.mark.parametrize(
    ("written", "completed", "expected"),
    [
        (None, 0, (EpochEnd.FENCED, True, True)),
        (0, 2, (EpochEnd.FENCED, True, True)),
        (2, 0, (EpochEnd.FENCED, None, False)),
    ],
)
def test_before_an_abort_that_follows_no_ongoing_the_client_s_own_records_say_its_version(written, completed, expected):
    log = Log().add(State.EMPTY, 0)
    if written is not None:
        log.add(State.ONGOING, 0, written).add(State.PREPARE_COMMIT, 0, written).add(
            State.COMPLETE_COMMIT, 0, completed
        )
    log.abort(0, 1, client=2).add(State.EMPTY, 2, after=500)
    assert ended(log)[:3] == expected


@pytest.mark.parametrize(
    ("timeout_ms", "start", "late", "end"),
    [
        (TIMEOUT_MS, None, TIMEOUT_MS, EpochEnd.FENCED),
        (TIMEOUT_MS, None, TIMEOUT_MS + 1, EpochEnd.TIMED_OUT),
        (NO_TIMEOUT_MS, None, NO_TIMEOUT_MS + 1, EpochEnd.FENCED),
        (NO_TIMEOUT_MS - 1, None, NO_TIMEOUT_MS, EpochEnd.TIMED_OUT),
        (TIMEOUT_MS, -1, 1000, EpochEnd.FENCED),
        (TIMEOUT_MS, 0, 1000, EpochEnd.TIMED_OUT),
    ],
)
def test_a_transaction_is_overdue_beyond_a_timeout_and_where_its_start_is_known(timeout_ms, start, late, end):
    log = Log().add(State.EMPTY, 0, timeout_ms=timeout_ms).add(State.ONGOING, 0, timeout_ms=timeout_ms)
    log.started = log.started if start is None else start
    log.add(State.PREPARE_ABORT, 1, 2, after=late, timeout_ms=timeout_ms)
    log.add(State.COMPLETE_ABORT, 1, 2, timeout_ms=timeout_ms).add(State.EMPTY, 2, after=RETRY_MS + 1)
    assert ended(log)[0] is end


@pytest.mark.parametrize("late", [0, TIMEOUT_MS + 1])
def test_an_id_that_is_forgotten_after_a_fencing_was_ended_by_that(late: int):
    log = Log().add(State.EMPTY, 0).add(State.ONGOING, 0).abort(0, 1, client=2, late=late).expire(604_800_000)
    assert ended(log)[:2] == (EpochEnd.TIMED_OUT if late else EpochEnd.FENCED, True)
    own = Log().add(State.EMPTY, 0).add(State.ONGOING, 0, 2).abort(0, 1, client=2).expire(604_800_000)
    assert ended(own)[:2] == (EpochEnd.EXPIRED, False)


def test_another_producer_id_in_an_open_transaction_has_no_known_author():
    log = Log().add(State.EMPTY, 0).add(State.ONGOING, 0, producer_id=8)
    assert ended(log) == (EpochEnd.UNKNOWN, None, False, "no record says how producer 8/0 got the ID")
    forgotten = Log().expire(5).expire(5).add(State.ONGOING, 3)
    assert ends(forgotten) == [("7/3 to 3", None, None, True)]


# Each decision about a contention.

BASE = epochs(Log().add(State.EMPTY, 0).add(State.EMPTY, 1))[0]
LAST = replace(BASE, begun_ms=NOW + 9_000, ended_ms=None, ended_by=None, was_open=None)


@pytest.mark.parametrize(
    ("changes", "taken"),
    [
        ({}, True),
        ({"ended_by": EpochEnd.UNKNOWN}, True),
        *(({"ended_by": each}, False) for each in (EpochEnd.TIMED_OUT, EpochEnd.CLOSED, EpochEnd.EXPIRED, None)),
        ({"ended_ms": None}, False),
        ({"begun_ms": None}, False),
        ({"begun_ms": NOW, "ended_ms": NOW + SHORT_MS}, True),
        ({"begun_ms": NOW, "ended_ms": NOW + SHORT_MS + 1}, False),
        ({"committed": 1}, False),
        ({"committed": 1, "was_open": True}, True),
        ({"committed": 1, "was_open": None}, True),
        ({"committed": 0, "was_open": False}, True),
    ],
)
def test_an_id_is_taken_from_a_producer_that_was_fenced_soon_and_at_work_or_before_it_committed(changes, taken):
    row = replace(BASE, **changes)
    assert len(list(contentions({"a": [row, row, row, LAST]}))) == taken
    assert list(contentions({"a": [row, row, LAST]})) == [], "three producers are too few"


def test_the_longest_run_of_producers_that_take_the_id_counts():
    free = replace(BASE, ended_by=EpochEnd.EXPIRED)
    [found] = contentions({"a": [BASE, free, *[BASE] * 4, free, BASE, BASE, LAST]})
    assert (found.subject, found.evidence["count"]) == ("a", 5)
    assert list(contentions({"a": [BASE, BASE, free, BASE, BASE, LAST]})) == []
    assert list(contentions({"a": [LAST], "b": []})) == []


@pytest.mark.parametrize(
    ("timeouts", "versions", "severity"),
    [
        ([1, 2, 1, 2], [0, 0, 0, 0], Severity.ERROR),
        ([1, 2, 1, 1], [0, 0, 0, 0], Severity.WARNING),
        ([1, 2, 3, 1], [0, 0, 0, 0], Severity.WARNING),
        ([1, 1, 1, 1], [0, 2, 0, 2], Severity.ERROR),
        ([1, 1, 1, 1, 1], [0, None, 2, 0, 2], Severity.ERROR),
        ([1, 1, 1, 1], [0, None, 0, None], Severity.WARNING),
        ([1, 1, 2, 1, 2], [0, 0, 0, 0, 0], Severity.ERROR),
    ],
)
def test_settings_are_of_two_clients_where_two_values_take_turns(timeouts, versions, severity):
    settings = list(zip(timeouts, versions, strict=True))
    producers = [replace(BASE, timeout_ms=timeout, client_version=version) for timeout, version in settings]
    [found] = contentions({"a": producers})
    assert found.severity is severity
    assert ("two clients have this ID" in found.message) == (severity is Severity.ERROR)


def test_the_settings_of_two_clients_are_named_as_far_as_they_are_known():
    producers = [replace(BASE, timeout_ms=each, client_version=2 if each == 50 else None) for each in (50, 60, 50, 60)]
    [found] = contentions({"a": producers})
    assert "(transaction.timeout.ms 50, transaction.version 2; transaction.timeout.ms 60): two clients" in found.message


def test_a_producer_of_unknown_begin_is_named_without_a_time():
    [found] = contentions({"a": [BASE, BASE, BASE, replace(LAST, begun_ms=None)]})
    assert "7/0 at 2026-09-21T14:13:21.000Z, then 7/0. " in found.message
    assert len(found.evidence["initialized"]) == 3


# Each decision about churn.


def churned(*logs: Log, after: int, expiration_ms: int | None = 7 * DAY_MS) -> PrefixChurn:
    """The only prefix, this many ms after the last record."""
    fold = ChurnFold(max(log.at for log in logs) + after, expiration_ms)
    fold.add_all(record for log in logs for record in log.records)
    (found,) = fold.found()
    return found


@pytest.mark.parametrize(
    ("log", "after", "new"),
    [
        (Log("a").add(State.EMPTY, 0), DAY_MS, 1),
        (Log("a").add(State.EMPTY, 0), DAY_MS + 1, 0),
        (Log("a").add(State.EMPTY, 3), 0, 0),
        (Log("a").add(State.COMPLETE_COMMIT, 0), 0, 0),
    ],
)
def test_an_id_is_new_for_a_day_after_its_first_epoch(log: Log, after: int, new: int):
    assert (churned(log, after=after).new, churned(log, after=after).ids) == (new, 1)


@pytest.mark.parametrize(
    ("state", "after", "opened", "idle"),
    [
        (State.EMPTY, DAY_MS, 0, 0),
        (State.EMPTY, DAY_MS + 1, 0, 1),
        (State.ONGOING, DAY_MS + 1, 1, 0),
        (State.PREPARE_ABORT, DAY_MS + 1, 1, 0),
        (State.COMPLETE_ABORT, DAY_MS + 1, 0, 1),
    ],
)
def test_an_id_is_idle_after_a_day_without_a_record_and_an_open_transaction(state, after, opened, idle):
    found = churned(Log("a").add(state, 0), after=after)
    assert (found.open, found.idle) == (opened, idle)


def having_previous(producer_id: int) -> Log:
    log = Log("a").add(State.EMPTY, 0)
    (record,) = log.records
    assert isinstance(record, TransactionLogRecord)
    assert record.value is not None
    log.records = [replace(record, value=replace(record.value, previous_producer_id=producer_id))]
    return log


@pytest.mark.parametrize(
    ("log", "once", "again"),
    [
        (Log("a").add(State.EMPTY, 0), 1, 0),
        (Log("a").add(State.EMPTY, 0).commit(0), 1, 0),
        (Log("a").add(State.EMPTY, 0).commit(0).commit(0), 0, 1),
        (Log("a").add(State.EMPTY, 0).commit(0).add(State.ONGOING, 0).abort(0, 0), 0, 1),
        (Log("a").add(State.EMPTY, 0).add(State.EMPTY, 1), 0, 1),
        (Log("a").add(State.COMPLETE_COMMIT, AGAIN - 1), 0, 0),
        (Log("a").add(State.COMPLETE_COMMIT, AGAIN), 0, 1),
        (Log("a").add(State.EMPTY, AGAIN - 1), 0, 0),
        (having_previous(-1), 1, 0),
        (having_previous(7), 1, 0),
        (having_previous(6), 0, 1),
    ],
)
def test_an_id_was_used_again_by_a_second_producer_transaction_or_producer_id(log: Log, once: int, again: int):
    found = churned(log, after=2 * DAY_MS)
    assert (found.idle, found.used_once, found.used_again) == (1, once, again)


def used(name: str, begin: int = 0) -> Log:
    return Log(name).add(State.EMPTY, 0, after=begin or 1000).commit(0).commit(0)


@pytest.mark.parametrize(
    ("logs", "after", "expiring", "an_id"),
    [
        ([used("a-1")], 6 * DAY_MS, 1, "a-1"),
        ([used("a-1")], 6 * DAY_MS - 1, 0, ""),
        ([used("a-1", 5000), used("a-2", 2000)], 6 * DAY_MS, 2, "a-2"),
        ([used("a-1", 2000), used("a-2", 5000)], 6 * DAY_MS, 2, "a-1"),
        ([used("a-1"), used("a-2")], 6 * DAY_MS, 2, "a-1"),
    ],
)
def test_of_ids_in_the_last_seventh_of_their_time_the_first_to_be_forgotten_is_named(logs, after, expiring, an_id):
    found = churned(*logs, after=after)
    assert (found.expiring, found.an_id, found.first_expiry_ms is None) == (expiring, an_id, not expiring)


def test_brokers_that_keep_ids_for_a_day_or_less_forget_those_that_are_not_idle_for_a_day():
    fold = ChurnFold(NOW + 7_000, 7_000)
    fold.add_all(used("a-1", 1).records)
    [found] = fold.found()
    assert (found.idle, found.expiring, found.an_id) == (0, 0, "")
    fold = ChurnFold(NOW + 6_000 + 6_001, 7_000)
    fold.add_all(used("a-1", 1).records)
    [found] = fold.found()
    assert (found.idle, found.used_again, found.expiring, found.an_id) == (0, 0, 1, "a-1")


def test_where_no_id_is_new_those_of_which_compaction_left_one_record_may_have_been_used_again():
    left = [Log(f"a-{number}").add(State.COMPLETE_COMMIT, 0, after=1000 + number) for number in (1, 2)]
    found = churned(*left, used("a-3", 5000), after=6 * DAY_MS)
    assert (found.expiring, found.expiring_unknown, found.an_id) == (3, 2, "a-1")
    [finding] = churn_findings([found], NOW)
    assert "used again and again (of 2 the log no longer shows it): a-1 will" in finding.message
    fresh = Log("a-4").add(State.EMPTY, 0, after=6 * DAY_MS)
    found = churned(*left, used("a-3", 5000), fresh, after=60_000)
    assert (found.new, found.expiring, found.expiring_unknown, found.an_id) == (1, 1, 0, "a-3")
    assert churned(*left, Log("a-5").add(State.EMPTY, 0), after=6 * DAY_MS).expiring == 2, "one use is no more"


@pytest.mark.parametrize(("after", "per_day"), [(DAY_MS + 1, 2.0), (2 * DAY_MS, 2.0), (5 * DAY_MS, 0.5)])
def test_the_idle_ids_of_a_day_are_counted_over_the_days_since_the_first_became_idle(after: int, per_day: float):
    assert churned(Log("a-1").add(State.EMPTY, 0), Log("a-2").add(State.EMPTY, 0), after=after).idle_per_day == per_day


def test_ids_of_prefixes_beyond_the_most_are_counted_together(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(producer_epochs, "MOST_PREFIXES", 2)
    fold = ChurnFold(NOW + 1000, None)
    names = ("a-1", "b-1", "c-1", "a-2", "b-2", "d-1")
    fold.add_all([*(Log(each).add(State.EMPTY, 0).records[0] for each in names), NewerLogRecord(0, 99, 7)])
    assert [(each.prefix, each.ids) for each in fold.found()] == [("a", 2), ("b", 2)]
    assert (fold.other_ids, fold.newer) == (2, 1)


def test_prefixes_with_most_idle_ids_come_first_then_those_with_most_ids():
    old = [Log(name).add(State.EMPTY, 0) for name in ("b-1", "c-1", "c-2")]
    young = [Log(name).add(State.EMPTY, 0, after=3 * DAY_MS) for name in ("a-1", "e-1", "d-1", "d-2")]
    assert list(churn(*old, *young, days=3)) == ["c", "b", "d", "a", "e"]


@pytest.mark.parametrize(
    ("expiring", "left", "when"),
    [
        (1, 1, "1 idle ID that had been used again and again: a-1 will be forgotten in"),
        (2, 0, "2 idle IDs that had been used again and again: a-1 is due to be forgotten."),
        (1, -1, "a-1 is due to be forgotten."),
        (0, 1, None),
        (None, 1, None),
        (1, None, None),
    ],
)
def test_ids_that_are_about_to_be_forgotten_are_reported_where_some_were_used_again(expiring, left, when):
    row = PrefixChurn("a", 5, 0, 0, 2, 1.0, 0, 2, expiring, 0, None if left is None else NOW + left, "a-1")
    found = list(churn_findings([row], NOW))
    assert [each.evidence["left_ms"] for each in found] == ([left] if when else [])
    assert all(str(when) in each.message for each in found)


def test_an_abort_that_is_recorded_again_was_decided_the_first_time():
    log = Log().add(State.EMPTY, 0).add(State.ONGOING, 0).add(State.PREPARE_ABORT, 1, after=TIMEOUT_MS + 1)
    decided = log.at
    log.add(State.PREPARE_ABORT, 1).add(State.COMPLETE_ABORT, 1)
    assert epochs(log)[0].ended_ms == decided


def test_a_late_abort_of_an_earlier_transaction_does_not_end_its_producer():
    late = Log().add(State.EMPTY, 0, 2).add(State.ONGOING, 0, 2).abort(0, 1, 2, late=TIMEOUT_MS + 1)
    assert ended(late)[0] is EpochEnd.TIMED_OUT
    again = Log().add(State.EMPTY, 0, 2).add(State.ONGOING, 0, 2).abort(0, 1, 2, late=TIMEOUT_MS + 1).commit(1, 2)
    assert ended(again)[0] is None
