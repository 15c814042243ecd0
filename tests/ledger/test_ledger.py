"""A ledger in SQLite and in PostgreSQL: a run is there whole or not at all, and only once."""

import pytest
from msgspec.structs import replace

from eosctl.errors import Bug, Refused, StaleRange, UsageError
from eosctl.ledger import ledger as ledger_executor
from eosctl.ledger.ledger import Ledger
from eosctl.model.audit import StateKind
from eosctl.model.ledger import (
    Advance,
    CarriedBucket,
    CommittedRange,
    Cursor,
    JobState,
    LedgerRange,
    LedgerRangeKind,
    LedgerRun,
)
from eosctl.model.names import TopicPartition
from tests.ledger.ledgers import CLUSTER, advanced, carried, read_up_to, row, run_of

T0 = TopicPartition("t", 0)


def test_a_new_ledger_holds_nothing(ledger: Ledger):
    state = ledger.state("job", CLUSTER)
    assert state == JobState("job", CLUSTER, 0, None, {})
    assert list(ledger.carried(state, StateKind.LOG)) == []
    assert (ledger.jobs(), ledger.runs("job"), list(ledger.ranges("job"))) == ((), (), [])
    assert ledger.report("job") is None


def test_what_a_run_leaves_is_what_the_next_one_finds(ledger: Ledger):
    cursor = Cursor("t", 0, "A", 40)
    gap = LedgerRange("t", 1, None, 0, 5, LedgerRangeKind.EXPIRED)
    read = LedgerRange("t", 0, "A", 0, 40, records=30, control_records=4, aborted_records=3)
    steps = (Advance(None, cursor, (read,)), Advance(None, Cursor("t", 1, None, 5), (gap,)))
    rows = (row(b"\x00\xff" * 1000), row(b"{}", partition=1), row(b"later", start=9))
    run = run_of(ledger.state("job", CLUSTER), *steps, rows=rows, report='{"a": "ü\\u0000"}')
    committed = ledger.commit(run)
    assert (committed.run_number, committed.found_later) == (1, False)
    state = open_ledger_again(ledger).state("job", CLUSTER)
    assert (state.run_number, state.run_id) == (1, run.run_id)
    assert state.cursors == {T0: cursor, TopicPartition("t", 1): Cursor("t", 1, None, 5)}
    assert list(ledger.carried(state, StateKind.LOG)) == [rows[0], rows[2], rows[1]]
    assert list(ledger.carried(state, StateKind.KEYS)) == []
    assert list(ledger.ranges("job")) == [CommittedRange(1, read), CommittedRange(1, gap)]
    assert ledger.report("job") == ledger.report("job", run.run_id) == '{"a": "ü\\u0000"}'
    assert ledger.report("job", "another") is None
    [summary] = ledger.runs("job")
    assert (summary.offsets, summary.records, summary.gaps, summary.verdict) == (40, 30, 1, "held")
    assert abs(summary.committed_at - 1_790_000_000_000) < 10**12
    [job] = ledger.jobs()
    assert (job.job, job.cluster_id, job.partitions, job.last_run) == ("job", CLUSTER, 2, summary)


def open_ledger_again(ledger: Ledger) -> Ledger:
    return replace(ledger)


def test_state_is_streamed_by_bucket_topic_partition_and_start_in_the_order_of_bytes(ledger: Ledger):
    rows = tuple(
        row(b"x", bucket=bucket, topic=topic, partition=partition)
        for bucket in (10, 2)
        for topic in ("b", "B", "é", "a-1", "a.1", "\U0001f600")
        for partition in (10, 2)
    )
    state = ledger.state("job", CLUSTER)
    ledger.commit(run_of(state, rows=rows))
    found = list(ledger.carried(ledger.state("job", CLUSTER), StateKind.LOG))
    assert found == sorted(rows, key=lambda each: (each.bucket, each.topic.encode(), each.partition))
    assert list(ledger.carried(ledger.state("job", CLUSTER), StateKind.LOG, 2)) == found[:12]


def test_of_two_runs_from_one_state_the_second_is_stale_and_leaves_nothing(ledger: Ledger):
    state = ledger.state("job", CLUSTER)
    ledger.commit(run_of(state, advanced(state, "t", 0, 10), rows=(row(b"first"),)))
    with pytest.raises(StaleRange) as raised:
        ledger.commit(run_of(state, advanced(state, "t", 0, 20), rows=(row(b"second"), row(b"other", bucket=1))))
    assert raised.value.exit_code == 8
    assert raised.value.message == (
        "job job is at run 1, this audit was planned from run 0;"
        " the cursor of t-0 is at offset 10 of topic ID A, not missing"
    )
    assert carried(ledger) == [b"first"]
    assert len(ledger.runs("job")) == len(list(ledger.ranges("job"))) == 1
    read_up_to(ledger, "job", 20)
    assert ledger.state("job", CLUSTER).cursors[T0].offset == 20


@pytest.mark.parametrize("runs_before", [0, 1])
def test_runs_over_different_partitions_exclude_each_other_too(ledger: Ledger, runs_before: int):
    """What they carry is merged from the same state: the second would undo what the first carried."""
    for end in range(runs_before):
        read_up_to(ledger, "job", end + 1)
    state = ledger.state("job", CLUSTER)
    ledger.commit(run_of(state, advanced(state, "t", 0, 10)))
    with pytest.raises(
        StaleRange, match=rf"is at run {runs_before + 1}, this audit was planned from run {runs_before}$"
    ):
        ledger.commit(run_of(state, advanced(state, "t", 1, 10)))


@pytest.mark.parametrize(
    "wrong", [Cursor("t", 0, "A", 9), Cursor("t", 0, "B", 10), Cursor("t", 0, None, 10), None], ids=str
)
def test_each_cursor_is_compared_by_topic_id_and_offset(ledger: Ledger, wrong: Cursor | None):
    """Also where the number of the run is right: the ledger may have been restored, or fixed by hand."""
    read_up_to(ledger, "job", 10, rows=(row(b"first"),))
    state = ledger.state("job", CLUSTER)
    step = Advance(wrong, Cursor("t", 0, "A", 30), (LedgerRange("t", 0, "A", wrong.offset if wrong else 0, 30),))
    with pytest.raises(StaleRange, match="the cursor of t-0 is at offset 10 of topic ID A, not "):
        ledger.commit(run_of(state, advanced(state, "s", 0, 5), step, rows=(row(b"second"),)))
    assert ledger.state("job", CLUSTER) == state
    assert carried(ledger) == [b"first"]


def test_a_run_is_committed_once_however_often_it_is_asked_for(ledger: Ledger):
    run = read_up_to(ledger, "job", 10, rows=(row(b"first"),))
    read_up_to(ledger, "job", 20, rows=(row(b"second"),))
    assert ledger.commit(run).run_number == 1
    assert carried(ledger) == [b"second"]


def test_what_is_carried_takes_the_place_of_all_that_was(ledger: Ledger):
    """A row that the new state lacks would come back in the run after: that of a topic that was created again, say."""
    read_up_to(ledger, "another job", 10, rows=(row(b"e"),))
    read_up_to(ledger, "job", 10, rows=(row(b"a"), row(b"b", partition=1), row(b"c", bucket=1)))
    read_up_to(ledger, "job", 20, rows=(row(b"d", partition=2),))
    assert carried(ledger) == [b"d"]
    read_up_to(ledger, "job", 30)
    assert carried(ledger) == []
    assert carried(ledger, "another job") == [b"e"]


def test_a_topic_that_was_created_again_begins_anew_and_the_old_end_is_told(ledger: Ledger):
    read_up_to(ledger, "job", 10)
    state = ledger.state("job", CLUSTER)
    gap = LedgerRange("t", 0, "A", 10, 10, LedgerRangeKind.RECREATED)
    read = LedgerRange("t", 0, "B", 0, 4)
    ledger.commit(run_of(state, Advance(state.cursors[T0], Cursor("t", 0, "B", 4), (gap, read))))
    assert ledger.state("job", CLUSTER).cursors[T0] == Cursor("t", 0, "B", 4)
    assert [(number, each.kind.value, each.topic_id) for number, each in ledger.ranges("job")] == [
        (1, "read", "A"),
        (2, "recreated", "A"),
        (2, "read", "B"),
    ]


def test_a_cursor_whose_partition_is_no_more_ends(ledger: Ledger):
    read_up_to(ledger, "job", 10)
    state = ledger.state("job", CLUSTER)
    gap = LedgerRange("t", 0, "A", 10, 10, LedgerRangeKind.RECREATED)
    ledger.commit(run_of(state, Advance(state.cursors[T0], None, (gap,))))
    assert ledger.state("job", CLUSTER).cursors == {}


def test_readers_never_mix_two_runs(ledger: Ledger):
    """One that has begun to read sees the old state to its end; one that begins too late is told so."""
    read_up_to(ledger, "job", 10, rows=tuple(row(b"old", partition=number) for number in range(100)))
    state = ledger.state("job", CLUSTER)
    reading = ledger.carried(state, StateKind.LOG)
    first = next(reading)
    read_up_to(ledger, "job", 20, rows=tuple(row(b"new", partition=number) for number in range(100)))
    assert {each.payload for each in (first, *reading)} == {b"old"}
    with pytest.raises(StaleRange, match="is at run 2 by now, this audit was planned from run 1"):
        next(ledger.carried(state, StateKind.LOG))


@pytest.mark.parametrize("table", ["audit_cursor", "audit_state"])
def test_a_run_that_is_committed_between_two_queries_of_a_reader_is_not_seen(
    ledger: Ledger, table: str, monkeypatch: pytest.MonkeyPatch
):
    read_up_to(ledger, "job", 10, rows=(row(b"old"),))
    before = ledger.state("job", CLUSTER)
    with ledger.store.connect() as connection:
        kind = type(connection)
    rows = kind.rows

    def commit_first(self, statement, values=(), *, streamed=False):
        if f"FROM {table}" in statement:
            monkeypatch.undo()
            read_up_to(ledger, "job", 20, rows=(row(b"new"),))
        return rows(self, statement, values, streamed=streamed)

    monkeypatch.setattr(kind, "rows", commit_first)
    if table == "audit_cursor":
        assert ledger.state("job", CLUSTER) == before
    else:
        assert [each.payload for each in ledger.carried(before, StateKind.LOG)] == [b"old"]
    assert ledger.state("job", CLUSTER).run_number == 2


def test_an_error_while_results_are_written_leaves_nothing(ledger: Ledger):
    read_up_to(ledger, "job", 10, rows=(row(b"first"),))
    state = ledger.state("job", CLUSTER)

    def interrupted():
        yield CarriedBucket(StateKind.LOG, 0, (row(b"second"),))
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ledger.commit(replace(run_of(state, advanced(state, "t", 0, 20)), carried=interrupted()))
    assert ledger.state("job", CLUSTER) == state
    assert carried(ledger) == [b"first"]


def test_unsettled_state_belongs_into_no_ledger(ledger: Ledger):
    state = ledger.state("job", CLUSTER)
    with pytest.raises(Bug, match="is not settled"):
        ledger.commit(run_of(state, rows=(row(b"x")._replace(settled=False),)))
    with pytest.raises(Bug, match="is in bucket log 3"):
        ledger.commit(replace(run_of(state), carried=[CarriedBucket(StateKind.LOG, 3, (row(b"x"),))]))
    assert ledger.jobs() == ()


def test_state_that_no_row_can_hold_is_refused_before_it_is_sent(ledger: Ledger, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(ledger_executor, "MOST_PAYLOAD", 10)
    state = ledger.state("job", CLUSTER)
    with pytest.raises(Refused, match="carried state of t-0 from 0, log 0, has 11 bytes, a ledger takes 10 in a row"):
        ledger.commit(run_of(state, rows=(row(b"x" * 11),)))
    ledger.commit(run_of(state, rows=(row(b"x" * 10),)))


def test_jobs_do_not_touch_each_other(ledger: Ledger):
    names = ["job", "Job", "jöb'; DROP TABLE audit_job; --", "100% {text} ?"]
    for number, name in enumerate(names):
        read_up_to(ledger, name, 10 + number, rows=(row(name.encode()),))
    assert [each.job for each in ledger.jobs()] == sorted(names)
    for number, name in enumerate(names):
        assert ledger.state(name, CLUSTER).cursors[T0].offset == 10 + number
        assert carried(ledger, name) == [name.encode()]


@pytest.mark.parametrize("name", ["", "x" * 201, "a\nb", "a\0b", "\ud800"])
def test_a_job_has_a_name_that_can_be_printed(ledger: Ledger, name: str):
    with pytest.raises(UsageError):
        ledger.state(name, CLUSTER)


def test_a_job_stays_with_its_cluster(ledger: Ledger):
    read_up_to(ledger, "job", 10)
    with pytest.raises(Refused, match=f"job job audits cluster {CLUSTER}, this is cluster another"):
        ledger.state("job", "another")
    elsewhere = replace(ledger.state("job", CLUSTER), cluster_id="another")
    with pytest.raises(Refused, match=f"job job audits cluster {CLUSTER}, this is cluster another"):
        ledger.commit(run_of(elsewhere, advanced(elsewhere, "t", 0, 20)))
    assert ledger.state("job", None).cluster_id == CLUSTER


def test_a_large_state_is_read_a_few_rows_at_a_time(ledger: Ledger):
    import tracemalloc

    megabyte = 1 << 20
    state = ledger.state("job", CLUSTER)
    buckets = (CarriedBucket(StateKind.LOG, number, (row(bytes(megabyte), bucket=number),)) for number in range(100))
    empty: LedgerRun = run_of(state)
    tracemalloc.start()
    try:
        ledger.commit(replace(empty, carried=buckets))
        seen = sum(len(each.payload) for each in ledger.carried(ledger.state("job", CLUSTER), StateKind.LOG))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert seen == 100 * megabyte
    assert peak < 50 * megabyte
