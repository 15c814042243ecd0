"""Stored offsets: folded, merged, compared, and in which phase."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from eosctl.analysis.inspection import next_start
from eosctl.analysis.offsets import (
    Merger,
    Opened,
    as_renamed,
    by_key,
    compare_offsets,
    fold_offsets,
    with_source,
)
from eosctl.codecs.offsets_topic import decode_offsets_key, decode_offsets_value
from eosctl.model.config_topic import NextStartRule
from eosctl.model.connectors import ConnectorType, TargetState
from eosctl.model.names import TopicPartition
from eosctl.model.offsets import (
    AtSource,
    Change,
    ConnectorOffsets,
    KeyRecords,
    MalformedKey,
    MergedOffset,
    OffsetId,
    OffsetKey,
    OffsetsById,
    OffsetsTopic,
    OffsetStore,
    OffsetStores,
    Order,
    Served,
    SourceRead,
    SourceServer,
    StoredOffset,
    StorePlace,
)
from eosctl.model.records import IsolationLevel, Record, RecordState
from eosctl.model.report import Severity
from eosctl.model.skipped import Skipped
from eosctl.model.versions import KafkaVersion
from eosctl.model.workers import KnownPhase
from tests.analysis.config_records import Log
from tests.analysis.offset_records import AS_OF, record, report, topic, worker

PLACE = TopicPartition("offsets", 3)
COMMITTED, OPEN, ABORTED = RecordState.COMMITTED, RecordState.OPEN, RecordState.ABORTED

KEYS = st.sampled_from([None, b"a", b"b", b'["c",null]', b'["c",{"f":1}]'])
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
    for key in dict.fromkeys(each.key for each in records):
        own = [each for each in records if each.key == key]
        last = {state: next((each for each in reversed(own) if each.state is state), None) for state in RecordState}
        count = len(own) if isinstance(decode_offsets_key(key), MalformedKey) else None
        found[key] = KeyRecords(PLACE, last[COMMITTED], last[OPEN], last[ABORTED], count)
    return found


@given(LOGS)
def test_the_last_record_of_each_state_is_kept_and_all_are_counted(records: list[Record]) -> None:
    """Together, and under each malformed key; keys are in the order in which they came."""
    found = fold_offsets(PLACE, records, decode_offsets_key)
    assert (found.records, list(found.keys.items())) == (len(records), list(plainly(records).items()))
    assert found.decoded == {raw: decode_offsets_key(raw) for raw in found.keys}


@given(LOGS)
def test_a_key_whose_records_are_all_committed_is_told_apart_without_making_its_records(records: list[Record]) -> None:
    found, whole = fold_offsets(PLACE, records, decode_offsets_key), plainly(records)
    for part in (found, replace(found, keys=whole)):
        assert {raw: part.committed(raw) for raw in whole} == {raw: each.committed for raw, each in whole.items()}
        assert set(part.uncommitted) == {raw for raw, each in whole.items() if each.open or each.aborted}
        assert dict(part.committed_alone()) == {
            raw: each.committed.value
            for raw, each in whole.items()
            if each.committed is not None and each.open is each.aborted is None
        }


def test_a_read_committed_reader_does_not_see_open_and_aborted_records() -> None:
    records = [record(0, "k", "1"), record(2, "k", "2", ABORTED), record(4, "k", "3", OPEN)]
    [held] = fold_offsets(PLACE, records, decode_offsets_key).keys.values()
    assert held.seen_by(IsolationLevel.READ_COMMITTED) == records[0]
    assert held.seen_by(IsolationLevel.READ_UNCOMMITTED) == records[2]


def test_a_key_that_only_an_open_transaction_wrote_is_not_seen_by_a_read_committed_reader() -> None:
    [held] = fold_offsets(PLACE, [record(0, "k", "1", OPEN)], decode_offsets_key).keys.values()
    assert held.seen_by(IsolationLevel.READ_COMMITTED) is None


KEY = '["c",{"f":1}]'
OWN = {"c": {"offsets.storage.topic": "own"}}


def merged(*topics: object, **more: object) -> MergedOffset:
    [connector] = report(*topics, **more).connectors  # type: ignore[arg-type]
    [row] = connector.offsets
    return row


def value(stored: StoredOffset | Skipped | None) -> object:
    return stored.value if isinstance(stored, StoredOffset) else stored


def test_with_one_store_kafka_and_kip_618_agree() -> None:
    row = merged(topic("global", [record(0, KEY, '{"p":1}')]), configs={"c": {}})
    assert (value(row.kafka_effective), value(row.kip618_effective)) == ({"p": 1}, {"p": 1})
    assert row.connector_specific is None
    assert row.provenance == "connector-specific store, global-0@0"


def test_the_start_offset_of_a_task_is_described_in_the_connector_s_terms() -> None:
    file = '["c",{"filename":"/a"}]'
    row = merged(
        topic("global", [record(0, file, '{"position":1}')]),
        topic("own", [record(5, file, '{"position":12}')]),
        configs=OWN,
    )
    assert row.position == "FileStreamSource: byte 12 of the file"
    assert merged(topic("global", [record(0, file, '{"position":1}')]), topic("own"), configs=OWN).position is None
    assert merged(topic("global", [record(0, KEY, '{"position":1}')]), configs={"c": {}}).position is None


@pytest.mark.parametrize("mode", list(KnownPhase))
def test_nothing_in_the_own_topic_hides_the_worker_s_offset(mode: KnownPhase) -> None:
    row = merged(topic("global", [record(0, KEY, '{"p":1}')]), topic("own"), configs=OWN, settings=worker(mode))
    assert row.kafka_effective is None
    assert value(row.kip618_effective) == {"p": 1}
    assert row.shadowed
    assert row.provenance == "nothing in own hides the offset in global: it begins from nothing"


def test_the_own_topic_wins_where_both_have_an_offset() -> None:
    row = merged(topic("global", [record(0, KEY, '{"p":1}')]), topic("own", [record(5, KEY, '{"p":2}')]), configs=OWN)
    assert (value(row.worker_global), value(row.connector_specific)) == ({"p": 1}, {"p": 2})
    assert (value(row.kafka_effective), value(row.kip618_effective)) == ({"p": 2}, {"p": 2})


def test_a_tombstone_in_the_own_topic_is_a_reset_and_no_shadow() -> None:
    row = merged(topic("global", [record(0, KEY, '{"p":1}')]), topic("own", [record(5, KEY, None)]), configs=OWN)
    assert (row.kafka_effective, row.shadowed) == (None, False)
    assert value(row.kip618_effective) == {"p": 1}
    assert row.provenance == "a tombstone in own"


def test_a_worker_without_exactly_once_reads_what_was_aborted() -> None:
    log = topic("global", [record(0, KEY, '{"p":1}'), record(1, KEY, '{"p":2}', ABORTED)])
    plain = merged(log, configs={"c": {}}, settings=worker(KnownPhase.DISABLED))
    exactly = merged(log, configs={"c": {}}, settings=worker(KnownPhase.ENABLED))
    assert (value(plain.kafka_effective), value(exactly.kafka_effective)) == ({"p": 2}, {"p": 1})


def test_it_is_unknown_where_exactly_once_is_unknown_and_decides() -> None:
    unknown = worker(Skipped("not given"))
    aborted = topic("global", [record(0, KEY, '{"p":1}'), record(1, KEY, '{"p":2}', ABORTED)])
    assert isinstance(merged(aborted, configs={"c": {}}, settings=unknown).kafka_effective, Skipped)
    agreed = topic("global", [record(0, KEY, '{"p":1}')])
    assert value(merged(agreed, configs={"c": {}}, settings=unknown).kafka_effective) == {"p": 1}


def test_an_open_transaction_is_shown_and_not_used() -> None:
    row = merged(topic("global", [record(0, KEY, '{"p":1}'), record(1, KEY, '{"p":2}', OPEN)]), configs={"c": {}})
    assert value(row.kafka_effective) == {"p": 1}
    assert row.provenance.endswith("; an open transaction may replace it (offset 1)")
    only_open = merged(topic("global", [record(0, KEY, '{"p":2}', OPEN)]), configs={"c": {}})
    assert (value(only_open.worker_global), only_open.kafka_effective) == ({"p": 2}, None)


def test_a_value_that_cannot_be_used_is_answered_as_none() -> None:
    row = merged(topic("global", [record(0, KEY, "[1]")]), configs={"c": {}})
    assert row.kafka_effective is None
    assert row.provenance == "the value in global cannot be used: the value is a list, not an object"


def test_a_key_in_two_partitions_with_two_values_is_unknown() -> None:
    row = merged(
        topic("global", [record(0, KEY, '{"p":1}')], [record(9, KEY, '{"p":2}', timestamp=AS_OF + 1)]),
        configs={"c": {}},
    )
    assert row.kafka_effective == Skipped("global has it in partitions 0, 1; the last record read wins")
    assert value(row.worker_global) == {"p": 2}, "the newest is shown"


def test_a_key_in_two_partitions_with_one_value_is_not() -> None:
    row = merged(topic("global", [record(0, KEY, '{"p":1}')], [record(9, KEY, '{"p":1}')]), configs={"c": {}})
    assert value(row.kafka_effective) == {"p": 1}


def test_connectors_that_are_gone_are_shown_as_if_one_of_that_name_began() -> None:
    [connector] = report(topic("global", [record(0, KEY, '{"p":1}')]), configs={}).connectors
    assert (connector.name, connector.known) == ("c", False)
    assert value(connector.offsets[0].kafka_effective) == {"p": 1}


def test_without_configs_nothing_is_guessed() -> None:
    unread = Skipped("no config topic")
    [connector] = report(topic("global", [record(0, KEY, '{"p":1}')]), configs=unread).connectors
    assert (connector.known, connector.stores) == (unread, unread)
    assert value(connector.offsets[0].worker_global) == {"p": 1}
    assert connector.offsets[0].kafka_effective == unread


def test_a_selected_connector_without_offsets_that_does_not_exist_is_absent() -> None:
    assert report(topic("global"), configs={"c": {}}, selected=("c", "d")).absent == ("d",)


@pytest.mark.parametrize(("version", "answer"), [("4.1.2", {"p": 1}), ("4.2.0", None), ("4.3.1", None)])
def test_a_null_source_partition_is_looked_up_without_success_from_4_2_on(version: str, answer: object) -> None:
    log = topic("global", [record(0, '["c",null]', '{"p":1}')])
    found = report(log, configs={"c": {}}, settings=worker(version=KafkaVersion.parse(version)))
    [row] = found.connectors[0].offsets
    assert value(row.kafka_effective) == answer
    assert value(row.kip618_effective) == {"p": 1}
    assert [each.name for each in found.findings] == ([] if answer else ["null-partition-lost"])


ID = OffsetId("c", '{"f": 1}')


@pytest.mark.parametrize(
    ("a", "b", "change"),
    [
        ({"p": 1}, {"p": 1}, None),
        ({"p": 1}, {"p": 2}, Change.DIFFERENT),
        ({"p": 1}, {"p": 1.0}, Change.DIFFERENT),
        ({"p": 1}, {"p": True}, Change.DIFFERENT),
        ({"p": 1}, None, Change.ONLY_IN_A),
        (None, {"p": 1}, Change.ONLY_IN_B),
        (None, None, None),
        (Skipped("two values"), {"p": 1}, Change.UNKNOWN),
        ({"p": 1}, Skipped("two values"), Change.UNKNOWN),
        (None, Skipped("two values"), Change.UNKNOWN),
        (Skipped("two values"), Skipped("two values"), Change.UNKNOWN),
    ],
)
def test_each_offset_is_the_same_or_differs(a: object, b: object, change: Change | None) -> None:
    difference = compare_offsets("A", {ID: a}, "B", {ID: b})  # type: ignore[dict-item]
    assert [each.change for each in difference.changes] == ([] if change is None else [change])


def test_a_difference_is_described_in_the_connector_s_terms() -> None:
    file = OffsetId("c", '{"filename": "/a"}')
    [both] = compare_offsets("A", {file: {"position": 12}}, "B", {file: {"position": 4}}).changes
    assert (both.position_a, both.position_b, both.order) == (
        "FileStreamSource: byte 12 of the file",
        "FileStreamSource: byte 4 of the file",
        Order.BEFORE,
    )
    assert both.rewind == "all lines after it are read again, if the file is still the same"
    [gone] = compare_offsets("A", {file: {"position": 12}}, "B", {}).changes
    assert (gone.position_a, gone.position_b, gone.order, gone.rewind) == (both.position_a, None, None, None)


def test_none_and_absent_are_the_same() -> None:
    difference = compare_offsets("A", {ID: None}, "B", {})
    assert (difference.changes, difference.same) == ((), 0)
    assert compare_offsets("A", {ID: {"p": 1}}, "B", {ID: {"p": 1}}).same == 1


def test_a_renamed_connector_is_compared_under_both_its_names() -> None:
    """Offsets left under the old name are not compared, unless another connector has that name now."""
    new, other = OffsetId("d", ID.partition), OffsetId("x", ID.partition)
    held = {ID: {"p": 1}, new: {"p": 1}, other: {"p": 7}}
    difference = compare_offsets("A", *_between(as_renamed({ID: {"p": 1}, other: {"p": 7}}, held, {"c": "d"})))
    assert (difference.changes, difference.same) == ((), 2)
    swapped = compare_offsets("A", *_between(as_renamed({ID: {"p": 1}, new: {"p": 2}}, held, {"c": "d", "d": "c"})))
    assert [each.change for each in swapped.changes] == [Change.DIFFERENT, Change.ONLY_IN_B]


def _between(sides: tuple[OffsetsById, OffsetsById]) -> tuple[OffsetsById, str, OffsetsById]:
    return sides[0], "B", sides[1]


ONE = {"c": {}}


def log(*states: RecordState, name: str = "global"):
    return topic(name, [record(n, KEY, f'{{"p":{n}}}', state) for n, state in enumerate(states)])


def row(*topics, **more) -> MergedOffset:
    [connector] = report(*topics, **more).connectors
    [found] = connector.offsets
    return found


def values(merged: MergedOffset) -> object:
    phases = merged.by_phase
    return phases and tuple(each.value if isinstance(each, StoredOffset) else each for each in phases[:2])


@pytest.mark.parametrize(
    ("states", "by_phase"),
    [
        ((COMMITTED,), None),
        ((COMMITTED, ABORTED), ({"p": 0}, {"p": 1})),
        ((COMMITTED, OPEN), ({"p": 0}, {"p": 1})),
        ((COMMITTED, ABORTED, COMMITTED), None),
        ((ABORTED,), (None, {"p": 0})),
    ],
)
@pytest.mark.parametrize("support", list(KnownPhase))
def test_each_phase_begins_from_the_last_record_that_it_sees(states, by_phase, support) -> None:
    assert values(row(log(*states), configs=ONE, settings=worker(support))) == by_phase


def test_an_own_topic_is_read_committed_in_every_phase() -> None:
    own = {"c": {"offsets.storage.topic": "own"}}
    assert row(log(COMMITTED), log(COMMITTED, ABORTED, name="own"), configs=own).by_phase is None


def test_a_connector_that_produces_elsewhere_has_another_store_in_each_phase_and_nothing_uncommitted() -> None:
    servers = "producer.override.bootstrap.servers", "consumer.override.bootstrap.servers"
    elsewhere = row(log(COMMITTED), configs={"c": dict.fromkeys(servers, "x:9092")})
    assert elsewhere.by_phase is not None
    assert not elsewhere.by_phase.uncommitted


def test_workers_before_3_3_have_no_phases() -> None:
    assert row(log(COMMITTED, ABORTED), configs=ONE, settings=worker(version=KafkaVersion(3, 2))).by_phase is None


@pytest.mark.parametrize(
    ("support", "severity"),
    [
        (KnownPhase.ENABLED, Severity.INFO),
        (KnownPhase.PREPARING, Severity.ERROR),
        (KnownPhase.DISABLED, Severity.ERROR),
        (Skipped("not asked"), Severity.WARNING),
    ],
)
def test_it_is_an_error_where_workers_read_it_and_an_info_where_they_may_later(support, severity) -> None:
    findings = report(log(COMMITTED, ABORTED), configs=ONE, settings=worker(support)).findings
    [found] = [each for each in findings if each.id == "EOS092"]
    assert (found.severity, found.subject, found.evidence["offsets"]) == (severity, "c", 1)
    assert "The first begins at {'p': 1} (global-0@1) instead of {'p': 0} (global-0@0)" in found.message
    assert "eosctl offsets export c.json --connector c --exactly-once enabled" in found.cure


@pytest.mark.parametrize(("support", "severity"), [(KnownPhase.ENABLED, "info"), (KnownPhase.DISABLED, "warning")])
def test_a_deleted_connector_is_named_for_one_of_its_name_begins_there(support, severity) -> None:
    findings = report(log(COMMITTED, ABORTED), configs={}, settings=worker(support)).findings
    [found] = [each for each in findings if each.id == "EOS092"]
    assert (found.severity, found.subject) == (severity, "c")
    assert "The connector does not exist; a new connector of this name would begin there" in found.message
    assert found.cure.startswith("before a connector of this name is created, write the committed offset again: ")
    assert "--stop" not in found.cure


def test_nothing_is_found_where_all_is_committed() -> None:
    assert [each for each in report(log(COMMITTED), configs=ONE).findings if each.id == "EOS092"] == []
    assert [each for each in report(log(COMMITTED), configs={}).findings if each.id == "EOS092"] == []


SOURCE = ConnectorType.SOURCE


def next_start_of(log, name="x", connector_type=SOURCE, group_id="connect-cluster"):
    return next_start(log.survey().state.state(name), connector_type, group_id)


def test_a_commit_after_the_record_fences_the_number_of_producers_in_the_record():
    start = next_start_of(Log(12).healthy("x", 3).tasks("x", 0, 1).commit("x", 2))
    assert (start.rule, start.fences) == (NextStartRule.FENCE, 3)
    assert start.words == (
        "the next start will fence 3 producers (connect-cluster-x-0 … -2): the task commit at offset 20 is later than "
        "the task count record at offset 17"
    )


def test_a_record_after_the_commit_means_already_fenced():
    start = next_start_of(Log().healthy("x", 3))
    assert (start.rule, start.fences) == (NextStartRule.NONE, 0)
    assert start.words == "already fenced: the task count record at offset 5 is later than the task commit at offset 4"


def test_no_record_means_first_start():
    start = next_start_of(Log().config("x").tasks("x", 0, 1).commit("x", 2))
    assert (start.rule, start.fences) == (NextStartRule.FIRST_START, 0)
    assert start.words == "first exactly-once start: nothing to fence"


def test_one_task_after_one_task_fences_itself():
    start = next_start_of(Log().healthy("x", 1).tasks("x", 0).commit("x", 1))
    assert (start.rule, start.fences) == (NextStartRule.SINGLE_TASK, 0)
    assert start.words == "1 -> 1: no fencing, the same ID fences itself"


@pytest.mark.parametrize(("before", "after", "fences"), [(1, 2, 1), (2, 1, 2), (0, 3, 0), (5, 5, 5)])
def test_all_other_changes_fence_the_old_count(before, after, fences):
    log = Log().healthy("x", before).tasks("x", *range(after)).commit("x", after)
    start = next_start_of(log)
    assert (start.rule, start.fences) == (NextStartRule.FENCE, fences)
    producers = {0: "no producers", 1: "1 producer (connect-cluster-x-0)"}
    words = producers.get(fences, f"{fences} producers (connect-cluster-x-0 … -{fences - 1})")
    assert start.words.startswith(f"the next start will fence {words}: ")
    assert "resumes with one task" not in start.words


def test_a_record_without_any_commit_fenced_already_and_without_a_record_there_is_nothing_to_fence():
    start = next_start_of(Log().config("x").fencing("x", 2))
    assert start.words == "already fenced: the task count record at offset 1 is later than any task commit"
    assert next_start_of(Log().config("x")).words == "no task commit yet: nothing to fence"
    unknown = next_start_of(Log().fencing("x", 2), group_id=None).words
    assert unknown.endswith("would fence 2 producers (<group.id>-x-0 … -1)")
    assert next_start_of(Log().fencing("x", 0)).words.endswith("would have nothing to fence")


@pytest.mark.parametrize(("count", "state"), [(2, "STOPPED"), (1, "PAUSED")])
def test_only_a_stopped_connector_of_one_task_may_resume_without_fencing(count, state):
    start = next_start_of(Log().healthy("x", count).commit("x", 0).target("x", state))
    assert "resumes with one task" not in start.words


def test_a_stopped_connector_is_pending_since_stopping_commits_no_tasks():
    start = next_start_of(Log().healthy("x", 1).commit("x", 0).target("x", "STOPPED"))
    assert (start.rule, start.fences) == (NextStartRule.FENCE, 1)
    assert start.words.endswith("(none if it resumes with one task)")


def test_a_sink_is_always_pending_and_never_fenced():
    start = next_start_of(Log().config("x").tasks("x", 0).commit("x", 1), connector_type=ConnectorType.SINK)
    assert (start.rule, start.fences) == (NextStartRule.NONE, 0)
    assert start.words == "a sink: its tasks have no producers to fence"


def test_an_unknown_type_is_not_guessed():
    start = next_start_of(Log().config("x").tasks("x", 0).commit("x", 1), connector_type=None)
    assert start.rule is NextStartRule.FIRST_START
    assert start.words == "first exactly-once start: nothing to fence, if it is a source"


def test_a_deleted_connector_shows_the_producers_that_a_new_one_would_fence():
    start = next_start_of(Log().healthy("x", 2).put("connector-x", None))
    assert start.rule is NextStartRule.NONE
    assert start.words == "no such connector; a new one of this name would fence 2 producers (connect-cluster-x-0 … -1)"


def test_without_a_group_the_ids_show_what_is_missing():
    start = next_start_of(Log().healthy("x", 1).tasks("x", 0, 1).commit("x", 2), group_id=None)
    assert "1 producer (<group.id>-x-0)" in start.words


def test_a_connector_without_commits_has_nothing_to_fence():
    log = Log().config("x")
    assert next_start_of(log).words == "no task commit yet: nothing to fence"
    assert log.survey().state.state("x").target_state is TargetState.STARTED


@pytest.mark.parametrize(
    ("states", "level", "waiting"),
    [
        ((COMMITTED, OPEN), IsolationLevel.READ_COMMITTED, 1),
        ((COMMITTED, OPEN), IsolationLevel.READ_UNCOMMITTED, None),
        ((OPEN, COMMITTED), IsolationLevel.READ_COMMITTED, None),
        ((COMMITTED, ABORTED), IsolationLevel.READ_COMMITTED, None),
        ((COMMITTED,), IsolationLevel.READ_COMMITTED, None),
    ],
)
def test_a_record_waits_that_is_the_last_one_in_an_open_transaction_and_only_for_readers_of_committed_ones(
    states, level, waiting
) -> None:
    records = [Record(at, at, b"k", b"{}", state, True, 7, 0) for at, state in enumerate(states)]
    found = {key: (each,) for key, each in fold_offsets(PLACE, records, decode_offsets_key).keys.items()}
    opened = Opened(StorePlace("offsets"), level, found)
    assert opened.waiting(b"k") == waiting
    assert opened.waiting(b"other") is None
    for unread in (None, Skipped("unread")):
        assert opened._replace(topic=unread).waiting(b"k") is None
        assert opened._replace(topic=unread).seen(b"k", lambda _: {}) == []


COMMITTED_ONLY, ALL = IsolationLevel.READ_COMMITTED, IsolationLevel.READ_UNCOMMITTED
GLOBAL, ITS_OWN = StorePlace("global"), StorePlace("own")
UNREAD = Skipped("it may not be read")
Held = OffsetsTopic | Skipped | None


def store(place: StorePlace, level: IsolationLevel = COMMITTED_ONLY) -> OffsetStore:
    return OffsetStore(place, level)


def stores(general: OffsetStore | None, own: OffsetStore | None = None) -> OffsetStores:
    return OffsetStores(general, own, GLOBAL, "")


def of_stores(in_global: Held, in_own: Held, *candidates: OffsetStores, at: object = "/a") -> MergedOffset:
    """One key over both topics, where these stores may apply."""
    topics = {
        place: by_key(held) if isinstance(held, OffsetsTopic) else held
        for place, held in ((GLOBAL, in_global), (ITS_OWN, in_own))
    }
    key = OffsetKey(KEY.encode(), "c", None if at is None else {"filename": at})
    [found] = Merger(GLOBAL, topics, decode_offsets_value).merge([key], candidates)
    return found


ONLY_GLOBAL, BOTH = stores(store(GLOBAL)), stores(store(GLOBAL), store(ITS_OWN))


@pytest.mark.parametrize(
    ("held", "effective", "words", "position"),
    [
        (log(COMMITTED), {"p": 0}, "worker-global store, global-0@0", None),
        (log(COMMITTED, COMMITTED), {"p": 1}, "worker-global store, global-0@1", None),
        (topic("global", [record(3, KEY, '{"position":4}')]), {"position": 4}, "worker-global store, global-0@3",
         "FileStreamSource: byte 4 of the file"),
        (topic("global", [record(0, KEY, None)]), None, "a tombstone in global", None),
        (topic("global", [record(0, KEY, "[1]")]), None,
         "the value in global cannot be used: the value is a list, not an object", None),
        (topic("global"), None, "nothing in global", None),
        (log(ABORTED), None, "nothing in global", None),
        (log(OPEN), None, "nothing in global; an open transaction may replace it (offset 0)", None),
        (None, None, "global does not exist", None),
        (UNREAD, UNREAD, "it may not be read", None),
    ],
)  # fmt: skip
def test_the_only_store_answers_what_it_has_and_says_why_it_has_nothing(held, effective, words, position) -> None:
    found = of_stores(held, None, ONLY_GLOBAL)
    assert (value(found.kafka_effective), value(found.kip618_effective)) == (effective, effective)
    assert (found.provenance, found.position, found.shadowed, found.connector_specific) == (
        words,
        position,
        False,
        None,
    )


FILE, POSITION = b'["c",{"filename":"/a"}]', b'{"position":1}'
ODD_KEYS = st.sampled_from(
    [*[FILE] * 6, b'["c", {"filename":"/a"}]', b'["c",null]', b'["c",{}]', b'["d",{"f":[1]}]', b"x", None]
)
ODD_VALUES = st.sampled_from([*[POSITION] * 6, None, b"null", b"[1]", b"{", b'{"a":{}}', b"{}", b'{"position":1e400}'])
ODD_LOGS = st.lists(
    st.lists(st.tuples(ODD_KEYS, ODD_VALUES, st.sampled_from(RecordState), st.integers(0, 3)), max_size=5).map(
        lambda rows: [
            Record(at, time, key, value, state, True, 7, 0) for at, (key, value, state, time) in enumerate(rows)
        ]
    ),
    min_size=1,
    max_size=3,
)


@given(ODD_LOGS, st.sampled_from(IsolationLevel), st.sampled_from([KafkaVersion(4, 1), KafkaVersion(4, 2)]))
def test_an_offset_that_is_made_when_it_is_asked_for_is_the_one_that_every_rule_was_applied_to(
    partitions: list[list[Record]], level: IsolationLevel, version: KafkaVersion
) -> None:
    """The same stores given twice, as if either applied, are compared key by key: none is taken for plain then."""
    merger = Merger(GLOBAL, {GLOBAL: by_key(topic("global", *partitions))}, decode_offsets_value, version)
    only = stores(OffsetStore(GLOBAL, level))
    decoded = map(decode_offsets_key, {each.key for records in partitions for each in records})
    keys = [each for each in decoded if isinstance(each, OffsetKey)]
    keys.append(OffsetKey(b'["c",{"f":"not there"}]', "c", {"f": "not there"}))
    found, by_rule = merger.merge(keys, (only,)), merger.merge(keys, (only, only))
    assert [found[at] for at in range(len(found))] == [*found] == [*found[:]] == by_rule
    connector = ConnectorOffsets("c", True, (only,), found)
    live = [each.key for each in by_rule if each.live]
    assert connector.live == len(live)
    for whole in (connector, replace(connector, offsets=by_rule)):
        assert [whole.first_live_keys(count) for count in (0, 1, 2, 9)] == [live[:count] for count in (0, 1, 2, 9)]
    plain = [each for each in found if each not in connector.others]
    assert [*connector.others] == [each for each in by_rule if each in connector.others]
    assert all(isinstance(each.kafka_effective, StoredOffset) and each.kafka_effective.usable for each in plain)
    assert not any(each.shadowed or each.connector_specific or each.by_phase for each in plain)


@pytest.mark.parametrize(
    ("in_global", "in_own", "effective", "promised", "shadowed", "words"),
    [
        (log(COMMITTED), topic("own"), None, {"p": 0}, True,
         "nothing in own hides the offset in global: it begins from nothing"),
        (log(COMMITTED), None, None, {"p": 0}, True,
         "nothing in own hides the offset in global: it begins from nothing"),
        (topic("global"), topic("own"), None, None, False, "nothing in own"),
        (None, None, None, None, False, "own does not exist"),
        (UNREAD, topic("own"), None, UNREAD, False, "nothing in own"),
        (log(COMMITTED), UNREAD, UNREAD, UNREAD, False, "it may not be read"),
        (log(COMMITTED), topic("own", [record(0, KEY, None)]), None, {"p": 0}, False, "a tombstone in own"),
        (log(COMMITTED), topic("own", [record(0, KEY, "[1]")]), None, {"p": 0}, False,
         "the value in own cannot be used: the value is a list, not an object"),
        (UNREAD, log(COMMITTED, name="own"), {"p": 0}, {"p": 0}, False, "connector-specific store, own-0@0"),
    ],
)  # fmt: skip
def test_of_two_stores_the_own_one_answers_and_kip_618_falls_back(
    in_global, in_own, effective, promised, shadowed, words
) -> None:
    found = of_stores(in_global, in_own, BOTH)
    assert (value(found.kafka_effective), value(found.kip618_effective)) == (effective, promised)
    assert (found.shadowed, found.provenance) == (shadowed, words)
    assert (found.worker_global == UNREAD, found.connector_specific == UNREAD) == (
        in_global is UNREAD,
        in_own is UNREAD,
    )


@pytest.mark.parametrize(
    ("candidate", "shown"),
    [
        (ONLY_GLOBAL, {"p": 0}),
        (stores(store(GLOBAL, ALL)), {"p": 1}),
        (BOTH, {"p": 0}),
        (stores(store(GLOBAL, ALL), store(ITS_OWN)), {"p": 1}),
        (stores(store(GLOBAL), store(ITS_OWN, ALL)), {"p": 0}),
        (stores(None, store(ITS_OWN)), {"p": 0}),
        (stores(None, store(ITS_OWN, ALL)), {"p": 1}),
    ],
)
def test_the_worker_s_topic_is_shown_as_its_reader_or_else_the_connector_s_reads_it(candidate, shown) -> None:
    found = of_stores(log(COMMITTED, ABORTED), topic("own"), candidate)
    assert value(found.worker_global) == shown
    assert value(of_stores(log(ABORTED), topic("own"), candidate).worker_global) == {"p": 0}, "unseen, and shown"


def test_the_own_topic_alone_answers_and_the_worker_s_is_shown_beside_it() -> None:
    found = of_stores(log(COMMITTED), log(COMMITTED, COMMITTED, name="own"), stores(None, store(ITS_OWN)))
    assert (value(found.worker_global), value(found.connector_specific)) == ({"p": 0}, {"p": 1})
    assert (value(found.kafka_effective), found.provenance) == ({"p": 1}, "connector-specific store, own-0@1")


@pytest.mark.parametrize(
    ("candidates", "in_own", "undecided"),
    [
        ((ONLY_GLOBAL, BOTH), topic("own"), True),
        ((ONLY_GLOBAL, BOTH), topic("own", [record(0, KEY, '{"p":9}')]), True),
        ((ONLY_GLOBAL, stores(store(GLOBAL, ALL))), None, False),
        ((BOTH, stores(store(GLOBAL), store(ITS_OWN, ALL))), log(COMMITTED, name="own"), False),
        ((BOTH, stores(store(GLOBAL), store(ITS_OWN, ALL))), log(COMMITTED, ABORTED, name="own"), True),
    ],
)
def test_stores_that_may_apply_decide_where_they_agree(candidates, in_own, undecided) -> None:
    found = of_stores(log(COMMITTED), in_own, *candidates)
    assert isinstance(found.kafka_effective, Skipped) is undecided
    assert isinstance(found.kip618_effective, Skipped) is undecided
    assert found.shadowed is False


def test_a_null_source_partition_has_no_position_and_is_lost_with_the_newest_workers() -> None:
    found = of_stores(log(COMMITTED), None, ONLY_GLOBAL, at=None)
    assert (found.kafka_effective, value(found.kip618_effective), found.position) == (None, {"p": 0}, None)


POSTGRES = OffsetId("c", '{"server": "shop"}')
LSN = {"lsn": 4, "txId": 5, "ts_usec": 6}
GONE = "there is no logical slot s; Debezium creates one that begins at the present, 0/7: changes from 0/4 to there"


@pytest.mark.parametrize(
    ("identity", "offset", "source", "seen"),
    [
        (POSTGRES, LSN, SourceRead(SourceServer(7), "s"), GONE),
        (POSTGRES, LSN, SourceRead(UNREAD, "s"), UNREAD),
        (POSTGRES, LSN, SourceRead(SourceServer(7), UNREAD), UNREAD),
        (POSTGRES, LSN, SourceRead(UNREAD, Skipped("of the slot")), UNREAD),
        (POSTGRES, None, SourceRead(SourceServer(7), "s"), None),
        (POSTGRES, Skipped("two values"), SourceRead(SourceServer(7), "s"), None),
        (ID, {"p": 1}, SourceRead(SourceServer(7), "s"), None),
        (OffsetId("c", '{"filename": "/a"}'), {"position": 1}, SourceRead(SourceServer(7), "s"), None),
    ],
)
def test_the_source_is_asked_about_known_positions_of_debezium_on_postgresql(identity, offset, source, seen) -> None:
    other = {"p": 1} if offset is None else None
    for a, b in ((offset, other), (other, offset)):
        difference = compare_offsets("A", {identity: a}, "B", {identity: b})
        [change] = with_source(difference, lambda _: source).changes
        found, beside = (change.source_a, change.source_b) if a is offset else (change.source_b, change.source_a)
        assert beside is None
        if isinstance(seen, str):
            assert isinstance(found, AtSource)
            assert found.served is Served.GONE
            assert found.words.startswith(seen)
        else:
            assert found == seen
