"""The fold over a partition of an offsets topic."""

from hypothesis import given
from hypothesis import strategies as st

from eosctl.analysis.offsets import OffsetsFold, fold_offsets
from eosctl.model.names import TopicPartition
from eosctl.model.offsets import KeyRecords
from eosctl.model.records import IsolationLevel, Record, RecordState
from tests.analysis.offset_records import record

PLACE = TopicPartition("offsets", 3)
COMMITTED, OPEN, ABORTED = RecordState.COMMITTED, RecordState.OPEN, RecordState.ABORTED

KEYS = st.sampled_from([None, b"a", b"b", b"c"])
LOGS = st.lists(
    st.tuples(KEYS, st.none() | st.binary(max_size=2), st.sampled_from(RecordState), st.integers(-1, 2)), max_size=40
).map(
    lambda rows: [
        Record(number * 2, number, key, value, state, pid >= 0, pid, 0)
        for number, (key, value, state, pid) in enumerate(rows)
    ]
)


def plainly(records: list[Record]) -> dict[bytes | None, KeyRecords]:
    """The same, record by record."""
    found = {}
    for key in {each.key for each in records}:
        own = [each for each in records if each.key == key]
        last = {state: next((each for each in reversed(own) if each.state is state), None) for state in RecordState}
        tombstones = sum(1 for each in own if each.value is None)
        found[key] = KeyRecords(PLACE, last[COMMITTED], last[OPEN], last[ABORTED], len(own), tombstones)
    return found


@given(LOGS)
def test_the_last_record_of_each_state_is_kept_and_all_are_counted(records: list[Record]) -> None:
    assert dict(fold_offsets(PLACE, records).keys) == plainly(records)


@given(LOGS, st.integers(0, 40))
def test_folds_of_two_stretches_merge_into_the_fold_of_both(records: list[Record], cut: int) -> None:
    first, second = OffsetsFold(), OffsetsFold()
    first.add(records[:cut])
    second.add(records[cut:])
    first.merge(second)
    assert first.result(PLACE) == fold_offsets(PLACE, records)


def test_a_read_committed_reader_does_not_see_open_and_aborted_records() -> None:
    records = [record(0, "k", "1"), record(2, "k", "2", ABORTED), record(4, "k", "3", OPEN)]
    [held] = fold_offsets(PLACE, records).keys.values()
    assert held.seen_by(IsolationLevel.READ_COMMITTED) == records[0]
    assert held.seen_by(IsolationLevel.READ_UNCOMMITTED) == records[2]


def test_a_key_that_only_an_open_transaction_wrote_is_not_seen_by_a_read_committed_reader() -> None:
    [held] = fold_offsets(PLACE, [record(0, "k", "1", OPEN)]).keys.values()
    assert held.seen_by(IsolationLevel.READ_COMMITTED) is None
