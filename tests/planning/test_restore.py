"""Offsets that are written back: found, answered and merged."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from eosctl.codecs.offsets_topic import entries_by_connector, offsets_now, value_digest
from eosctl.codecs.plan import decode_plan, encode_plan
from eosctl.errors import Refused
from eosctl.model.connectors import needs_history
from eosctl.model.migration import (
    ConnectClusters,
    KeptHistory,
    MergeRule,
    MigrationFacts,
    MigrationRequest,
    Move,
)
from eosctl.model.names import Side
from eosctl.model.offsets import ConnectorOffset, OffsetsTopic, ReplicationSlot, SourceRead, SourceServer
from eosctl.model.plan import (
    Plan,
    PlannedStep,
    ResumeConnector,
    StopConnector,
    VerifyOffsets,
    WriteOffsets,
    lacking,
)
from eosctl.model.planned import Planned
from eosctl.model.preconditions import ConnectorFacts, ConnectorStopped, NoOpenTransaction, OffsetsUnchanged, TopicNow
from eosctl.model.records import RecordState, java_partition
from eosctl.model.report import Severity
from eosctl.model.skipped import Skipped
from eosctl.model.topics import TopicFacts
from eosctl.model.workers import KnownPhase
from eosctl.planning.found_positions import is_read_again, places_read, reading_again, with_found
from eosctl.planning.migration import (
    Merged,
    after_writing,
    contradiction,
    contradictions,
    merge_offsets,
    plan_migration,
)
from eosctl.planning.restore import NewConnector, RestoreRequest, find_differences, find_positions, plan_restore
from eosctl.planning.undo import undo_plan
from eosctl.render.answers.plan import view_plan
from tests.planning.offsets_topics import Written, java, topic_of
from tests.planning.test_migration import ALL, CREATE, FACTS, KEY, NEW_FACTS, OWN, OWN_FACTS, RUNNING, S, T, kinds

RESTORE = RestoreRequest("c", "g", ("old",), ())
STOPPED_C = ConnectorStopped(S, "c")
HOME = java_partition(KEY, 3)
AT_9 = ConnectorOffset({"f": 1}, {"p": 9})
ORDERS = (b'["c",{"a":"1","b":"2"}]', b'["c",{"b":"3","a":"4"}]')
BY_TWO = ConnectorOffset({"b": "5", "a": "6"}, {"p": 9})
CREATED = NewConnector("c", "/etc/c.json", "sha256:1", overwrite=True)


def restored(request: RestoreRequest, **topics: Sequence[Written]) -> Planned:
    """The plan where the topics of these names have three partitions with these records."""
    return plan_restore(
        replace(request, topics=tuple(topics)),
        replace(
            FACTS,
            connectors={(S, "c"): ConnectorFacts("STOPPED" if request.new is None else None)},
            topics={(S, name): TopicNow(TopicFacts(name, 3, 1), "id") for name in topics},
            offsets={(S, name): topic_of(name, 3, records) for name, records in topics.items()},
        ),
    )


def writes(planned: Planned) -> dict[str, list[tuple[int, bytes, bytes | None]]]:
    """By topic the records that the plan writes."""
    steps = [each.step for each in planned.plan.steps if isinstance(each.step, WriteOffsets)]
    return {step.topic: [(each.partition, each.key, each.value) for each in step.records] for step in steps}


def test_the_workers_topic_gets_deletions_alone_and_before_the_connectors_own() -> None:
    """KAFKA-15018: an offset that is left in the workers' topic comes back where the own topic has none."""
    gone = b'["c",{"f":2}]'
    held = java(3, {KEY: b'{"p":1}', gone: b'{"p":2}'})
    request = replace(RESTORE, offsets=(AT_9, ConnectorOffset({"f": 2}, None)), own_topic=True, force=True)
    found = writes(restored(request, workers=held, own=held))
    assert list(found) == ["workers", "own"]
    assert found["workers"] == [(java_partition(gone, 3), gone, None)]
    assert found["own"] == [(HOME, KEY, b'{"p":9}'), (java_partition(gone, 3), gone, None)]


@pytest.mark.parametrize(
    ("later", "written"),
    [([], {}), ([(HOME, KEY, b'{"p":3}', RecordState.ABORTED)], {"old": [(HOME, KEY, b'{"p":9}')]})],
)
def test_an_offset_behind_an_uncommitted_one_is_written_again(later: list[Written], written: object) -> None:
    """Workers that are not enabled read the record that was not committed."""
    assert writes(restored(replace(RESTORE, offsets=(AT_9,)), old=[(HOME, KEY, b'{"p":9}'), *later])) == written


def test_a_file_with_the_present_offsets_is_reported_to_change_nothing() -> None:
    """That lines are read again is true of a position that the connector does not have."""
    key, kept = b'["c",{"filename":"f"}]', ConnectorOffset({"filename": "f"}, {"position": 9})
    request = replace(RESTORE, offsets=(kept,))
    same = restored(request, old=java(3, {key: b'{"position":9}'}))
    assert (writes(same), [each.id for each in same.findings]) == ({}, [])
    assert ", no offset to write: those of the file are the present ones." in view_plan(same).prose[0]
    other = restored(request, old=java(3, {key: b'{"position":12}'}))
    assert ([*writes(other)], [each.id for each in other.findings]) == (["old"], ["EOS411"])


@pytest.mark.parametrize(("kept", "findings"), [(False, []), (True, ["EOS411"])])
def test_a_running_connector_moves_on_until_a_kept_plan_is_applied(kept: bool, findings: list[str]) -> None:
    key = b'["c",{"filename":"f"}]'
    same = ConnectorOffset({"filename": "f"}, {"position": 9})
    facts = replace(RUNNING, offsets={(S, "old"): topic_of("old", 3, java(3, {key: b'{"position":9}'}))})
    planned = plan_restore(replace(RESTORE, offsets=(same,), stop=True, kept=kept), facts)
    assert [each.id for each in planned.findings] == findings
    assert bool(writes(planned)) is kept


@pytest.mark.parametrize(("own_topic", "refused"), [(True, True), (False, False)])
def test_offsets_of_an_own_topic_are_where_the_producer_writes(own_topic: bool, refused: bool) -> None:
    clusters = ConnectClusters("k", {"c": "l"}, {"c": "there:9092"}, KnownPhase.NOT_ENABLED)
    planned = plan_restore(
        replace(RESTORE, offsets=(AT_9,), own_topic=own_topic, force=True), replace(FACTS, clusters=clusters)
    )
    assert any("its offsets are in cluster l" in each for each in planned.objections) is refused


def test_an_own_topic_that_exists_has_to_be_compact() -> None:
    not_compact = TopicNow(TopicFacts("own", 25, 1, {"cleanup.policy": "delete"}), "id")
    facts = replace(OWN_FACTS, topics={**OWN_FACTS.topics, (S, "own"): not_compact})
    assert plan_restore(OWN, OWN_FACTS).objections == ()
    [said] = plan_restore(OWN, facts).objections
    assert "own" in said


def test_a_key_in_two_partitions_is_written_to_both() -> None:
    """The value that is left in the other partition may be the one that a worker reads last."""
    other = (HOME + 1) % 3
    held = [(HOME, KEY, b'{"p":1}'), (other, KEY, b'{"p":2}')]
    found = writes(restored(replace(RESTORE, offsets=(AT_9,), force=True), old=held))
    assert found == {"old": sorted((partition, KEY, b'{"p":9}') for partition in (HOME, other))}


@pytest.mark.parametrize("orders", [(), ORDERS], ids=["unknown", "ambiguous"])
def test_a_key_is_not_guessed_where_the_order_of_its_members_is_not_known(orders: tuple[bytes, ...]) -> None:
    """A connector does not find an offset under a key with the members in another order, and begins from nothing."""
    held = java(3, dict.fromkeys(orders, b'{"p":1}'))
    guessed = restored(replace(RESTORE, offsets=(BY_TWO,), new=CREATED), old=held)
    assert writes(guessed) == {}
    assert any("in which order the connector writes its members is unknown" in each for each in guessed.objections)
    [(_, key, _)] = writes(restored(replace(RESTORE, offsets=(BY_TWO,), new=CREATED, create_keys=True), old=held))[
        "old"
    ]
    assert key == b'["c",{"b":"5","a":"6"}]', "the members as in the file"


def test_a_key_is_made_in_the_one_order_that_the_connectors_keys_have() -> None:
    planned = restored(replace(RESTORE, offsets=(BY_TWO,), create_keys=True), old=java(3, {ORDERS[0]: b'{"p":1}'}))
    assert [key for _, key, _ in writes(planned)["old"]] == [b'["c",{"a":"6","b":"5"}]']


def test_nothing_is_written_beside_an_open_transaction() -> None:
    """Its records come after ours, and would be committed over them."""
    planned = restored(replace(RESTORE, offsets=(AT_9,), force=True), old=[(HOME, KEY, b'{"p":1}')])
    [write] = [each for each in planned.plan.steps if isinstance(each.step, WriteOffsets)]
    assert {NoOpenTransaction(S, "old", "c"), STOPPED_C} < set(write.preconditions)


@pytest.mark.parametrize(
    ("now", "stops"),
    [
        (ConnectorFacts("RUNNING", 1), 1),
        (ConnectorFacts("PAUSED", 1), 1),
        (ConnectorFacts("STOPPED", 1), 1),
        (ConnectorFacts("STOPPED"), 0),
        (ConnectorFacts(None), 0),
    ],
)
def test_a_connector_that_has_tasks_is_stopped_first(now: ConnectorFacts, stops: int) -> None:
    planned = plan_restore(replace(RESTORE, stop=True), replace(FACTS, connectors={(S, "c"): now}))
    assert planned.objections == ()
    assert sum(isinstance(each.step, StopConnector) for each in planned.plan.steps) == stops


@pytest.mark.parametrize(
    ("now", "told"),
    [
        (ConnectorFacts("RUNNING", 1), "stop it first (--stop with --connect-url does that)"),
        (ConnectorFacts("STOPPED", 1), "stop it again (PUT /connectors/c/stop, or --stop with --connect-url)"),
    ],
)
def test_without_stop_it_is_refused_with_what_to_do(now: ConnectorFacts, told: str) -> None:
    planned = plan_restore(RESTORE, replace(FACTS, connectors={(S, "c"): now}))
    assert len(planned.objections) == 1
    assert (planned.hint or "").startswith(told)


MOVE = Move("c", "c", "old", "new", "new")
A, B, NULL = b'["c",{"f":"a"}]', b'["c",{"g":1.0,"f":"b"}]', b'["c",null]'
A_AT_1, B_AT_2 = ConnectorOffset({"f": "a"}, {"p": 1}), ConnectorOffset({"f": "b", "g": 1.0}, {"p": 2})
LONG, B_LONG = b'["c",{"g":1,"f":"b"}]', ConnectorOffset({"f": "b", "g": 1}, {"p": 2})
HELD = topic_of("old", 1, [(0, A, b'{"p":1}'), (0, B, b'{"p":2}'), (0, NULL, b'{"p":3}')])


def told(
    answer: tuple[ConnectorOffset, ...] | Skipped | None, held: OffsetsTopic = HELD, move: Move = MOVE
) -> list[str]:
    """Severity and message of each contradiction."""
    answers = {} if answer is None else {"c": answer}
    facts = MigrationFacts(1, {Side.SOURCE: "k"}, {}, {}, {(Side.SOURCE, "old"): held}, answers=answers)
    return [f"{each.severity}: {each.message}" for each in contradictions(MigrationRequest((move,), "g", "g"), facts)]


def test_the_same_offsets_contradict_nothing():
    assert told((B_AT_2, A_AT_1)) == []
    assert told(None) == [], "workers before 3.5 do not tell"


def test_workers_that_fail_to_answer_are_reported():
    [found] = told(Skipped("http://w answered 500"))
    assert found.startswith("warning: the workers' answers for connector c (GET /connectors/c/offsets) were not")
    assert "compared with topic old: http://w answered 500" in found


def test_an_error_is_expected_of_workers_where_a_value_cannot_be_used():
    assert told(Skipped("http://w answered 500"), topic_of("old", 1, [(0, A, b"[1]")])) == []


def test_another_offset_is_a_contradiction():
    [found] = told((A_AT_1._replace(offset={"p": 9}), B_AT_2))
    assert found.startswith("error: of topic old the workers of connector c answer 1 offset that is not there")
    assert '{"f": "a"} is {"p": 9}' in found


def test_an_offset_that_is_missing_in_the_topic_is_a_contradiction():
    assert "answer 1 offset that is not there" in told((A_AT_1,), topic_of("old", 1, []))[0]


def test_offsets_that_the_workers_do_not_list_are_a_contradiction():
    """The topic of another Connect cluster that has a connector of the same name."""
    assert "answer none for 1 source partition" in told(())[0]


def test_a_topic_that_the_user_named_is_the_users_wish():
    assert told((), move=replace(MOVE, named=True))[0].startswith("warning: ")


def test_a_null_in_the_shadow_contradicts_nothing():
    assert told((A_AT_1._replace(offset=None), B_AT_2)) == []


def test_a_long_is_no_double():
    assert told((A_AT_1._replace(offset={"p": 1.0}), B_AT_2)) != []


def test_a_worker_that_reads_uncommitted_answers_what_was_aborted():
    committed, aborted = HELD.partitions[0].keys[A], topic_of("old", 1, [(0, A, b'{"p":7}')], RecordState.ABORTED)
    both = committed._replace(aborted=aborted.partitions[0].keys[A].aborted)
    part = replace(HELD.partitions[0], keys={**HELD.partitions[0].keys, A: both})
    held = replace(HELD, partitions=(part,))
    assert told((A_AT_1._replace(offset={"p": 7}), B_AT_2), held) == []
    assert told((A_AT_1, B_AT_2), held) == []


def test_where_it_is_to_be_resumed_what_workers_can_find_must_be_answered():
    """B's members are in another order than a HashMap's, so workers write another key and find nothing under it."""
    entries = entries_by_connector(HELD)["c"]
    b_in_vain = B_LONG._replace(offset=None)
    held = entries_by_connector(topic_of("old", 1, [(0, A, b'{"p":1}'), (0, LONG, b'{"p":2}'), (0, NULL, b"{}")]))["c"]
    assert contradiction([A_AT_1, b_in_vain], held, nulls=False) is None
    assert contradiction([A_AT_1._replace(offset=None), B_LONG], held) is None
    told = contradiction([A_AT_1._replace(offset=None), B_LONG], held, nulls=False)
    assert told == 'none for 1 source partition (the first: {"f": "a"})'
    assert contradiction([A_AT_1], entries, nulls=False) is None, "a double comes back changed, and is not compared"


def test_nothing_is_compared_where_a_value_cannot_be_used():
    held = entries_by_connector(topic_of("old", 1, [(0, A, b"[1]")]))["c"]
    assert contradiction([], held, nulls=False) is None


OTHER = b'["c",{"f":2}]'
PLANNED = plan_migration(ALL, RUNNING).plan


def at(records: list[tuple[int, bytes, bytes | None]]) -> MigrationFacts:
    """The connector is stopped, and its topic has these records."""
    offsets = {(S, "old"): topic_of("old", 3, records), (T, "new"): topic_of("new", 0, [])}
    return replace(FACTS, as_of=7, offsets=offsets)


def found(facts: MigrationFacts, plan: Plan = PLANNED):
    return {
        (side, topic, name): entries_by_connector(facts.offsets[side, topic]).get(name, ())
        for side, topic, name in places_read(plan)
    }


def test_it_stops_first_and_then_reads_again():
    plan = reading_again(PLANNED)
    assert plan is not None
    assert (is_read_again(plan), is_read_again(PLANNED), lacking(plan)) == (True, False, ())
    assert kinds(plan)[:3] == ["StopConnector", "ReadAgain", "FenceProducers"]
    assert decode_plan(encode_plan(plan)) == plan


@pytest.mark.parametrize(
    "records",
    [
        [(0, KEY, b"1")],
        [(0, KEY, b"1"), (0, KEY, b"2")],
        [(0, KEY, b"1"), (0, KEY, None)],
        [(0, KEY, b"1"), (1, OTHER, b"5")],
    ],
    ids=["unchanged", "moved on", "deleted", "with a new source partition"],
)
def test_it_becomes_the_plan_that_is_made_of_the_stopped_connector(records):
    facts = at(records)
    plan = reading_again(PLANNED)
    assert plan is not None
    stopped = replace(ALL, just_stopped=(StopConnector(S, "c"),))
    assert with_found(plan, found(facts), 7) == plan_migration(stopped, facts).plan


def test_it_is_refused_where_the_target_has_other_offsets_by_then():
    plan = reading_again(PLANNED)
    assert plan is not None
    there = found(at([(0, KEY, b"1")]))
    held = entries_by_connector(topic_of("new", 5, [(0, KEY, b"9")]))["c"]
    with pytest.raises(Refused, match=r"nothing is written|the topic would keep both values"):
        with_found(plan, {**there, (T, "new", "c"): held}, 7)


def test_a_plan_that_stops_no_connector_or_writes_no_offsets_stays_unchanged():
    assert reading_again(plan_migration(ALL, FACTS).plan) is None
    without = [each for each in PLANNED.steps if not isinstance(each.step, WriteOffsets)]
    assert reading_again(replace(PLANNED, steps=tuple(without))) is None


def test_offsets_of_no_known_source_are_written_as_planned():
    """A plan between clusters that is undone writes the target's own offsets."""
    write, verify = (each for each in PLANNED.steps if isinstance(each.step, WriteOffsets | VerifyOffsets))
    copied = [each for each in write.preconditions if isinstance(each, OffsetsUnchanged) and each.side is S]
    kept = replace(write, preconditions=tuple(each for each in write.preconditions if each not in copied))
    stop = PlannedStep(StopConnector(S, "c"))
    assert reading_again(replace(PLANNED, steps=(stop, kept, verify))) is None
    assert with_found(replace(PLANNED, steps=(kept, verify)), {}, PLANNED.as_of).steps == (kept, verify)
    assert places_read(replace(PLANNED, steps=(replace(verify, preconditions=tuple(copied)),))) == ()


FROM_FILE = replace(RESTORE, offsets=(AT_9, ConnectorOffset({"f": 2}, None)), stop=True, resume=True, kept=True)
OTHER_ORDER = b'["c", {"f":2}]'


def in_file(*records: Written, request: RestoreRequest = FROM_FILE) -> Plan:
    """The plan of the connector that runs and has these offsets, for `eosctl apply`."""
    facts = replace(RUNNING, offsets={(S, "old"): topic_of("old", 3, list(records))})
    planned = plan_restore(request, facts)
    assert planned.objections == ()
    plan = reading_again(planned.plan)
    assert plan is not None
    return plan


def applied_to(plan: Plan, *records: Written) -> Plan:
    """The plan once the connector is stopped and has these offsets."""
    return with_found(plan, found(at(list(records)), plan), 7)


@pytest.mark.parametrize(
    "now",
    [
        [(HOME, KEY, b'{"p":10}')],
        [(HOME, KEY, b'{"p":12}')],
        [(HOME, KEY, b'{"p":12}'), (java_partition(OTHER, 3), OTHER, b'{"p":5}')],
        [(HOME, KEY, b'{"p":9}')],
        [],
        [(HOME, KEY, b'{"p":12}', RecordState.OPEN)],
    ],
    ids=["unchanged", "moved on", "with a new source partition", "at the file's offset", "deleted", "not committed"],
)
@pytest.mark.parametrize("then", [b'{"p":10}', b'{"p":9}'], ids=["ahead", "at the file's offset"])
def test_a_restore_that_waited_for_apply_becomes_the_one_planned_of_the_stopped_connector(
    now: list[Written], then: bytes
) -> None:
    plan = in_file((HOME, KEY, then))
    assert kinds(plan)[:2] == ["StopConnector", "ReadAgain"]
    assert decode_plan(encode_plan(plan)) == plan
    stopped = replace(FROM_FILE, just_stopped=(StopConnector(S, "c"),), create_keys=True)
    assert applied_to(plan, *now) == plan_restore(stopped, at(now)).plan


def test_a_restore_that_waited_is_refused_where_the_connector_wrote_the_key_in_another_way() -> None:
    plan = in_file((HOME, KEY, b'{"p":10}'))
    with pytest.raises(Refused, match="has now written the key"):
        applied_to(plan, (HOME, KEY, b'{"p":12}'), (java_partition(OTHER_ORDER, 3), OTHER_ORDER, b'{"p":5}'))


def test_a_restore_that_waited_is_refused_where_it_would_skip_records_by_then_and_was_not_forced() -> None:
    """A key that appears meanwhile may be behind the file's offset: records between them would never be copied."""
    line = ConnectorOffset({"filename": "a"}, {"position": 9})
    key = b'["c",{"filename":"a"}]'
    behind = (java_partition(key, 3), key, b'{"position":2}')
    with pytest.raises(Refused, match="records between them are never copied"):
        applied_to(in_file(request=replace(FROM_FILE, offsets=(line,), create_keys=True)), behind)
    forced = replace(FROM_FILE, offsets=(line,), force=True)
    assert "WriteOffsets" in kinds(applied_to(in_file(behind, request=forced), behind))


STAY = Move("c", "c", "old", "new")
KEY_A, KEY_B = b'["c",{"f":"a"}]', b'["c",{"f":"b"}]'
EMPTY = topic_of("new", 5, [])


def merge(source: OffsetsTopic, target: OffsetsTopic, rule: MergeRule = MergeRule.FAIL, move: Move = STAY) -> Merged:
    entries = entries_by_connector(source).get(move.connector, [])
    held = entries_by_connector(target).get(move.new_name, [])
    return merge_offsets(move, entries, held, len(target.partitions), rule)


def names(merged: Merged) -> list[tuple[str, str]]:
    return [(each.name, each.severity.value) for each in merged.findings]


def test_bytes_are_copied_to_the_partition_that_java_chooses():
    merged = merge(topic_of("old", 1, [(0, KEY_A, b'{"p" : 1}'), (0, KEY_B, b"2")]), EMPTY)
    assert [(each.partition, each.key, each.value, each.before) for each in merged.writes] == [
        (java_partition(KEY_A, 5), KEY_A, b'{"p" : 1}', None),
        (java_partition(KEY_B, 5), KEY_B, b"2", None),
    ]
    assert merged.findings == ()


def test_another_connectors_offsets_stay_where_they_are():
    assert merge(topic_of("old", 1, [(0, b'["d",{}]', b"1")]), EMPTY).writes == ()


def test_a_rename_exchanges_the_name_and_leaves_every_other_byte():
    odd = b'["c",{"z":1.0E10 , "a":"\xc3\xbc\\u0041"}]'
    [write] = merge(topic_of("old", 1, [(0, odd, b"1")]), EMPTY, move=Move("c", 'ü"', "old", "new")).writes
    assert write.key == '["ü\\"",{"z":1.0E10 , "a":"ü\\u0041"}]'.encode()
    assert write.partition == java_partition(write.key, 5)


def test_the_same_value_needs_no_writing():
    assert merge(topic_of("old", 1, [(0, KEY_A, b"1")]), topic_of("new", 5, java(5, {KEY_A: b"1"}))) == Merged(
        (), value_digest([(KEY_A, java_partition(KEY_A, 5), b"1")]), ()
    )


@pytest.mark.parametrize(
    ("rule", "written", "found"),
    [
        (MergeRule.FAIL, [], [("offsets-conflict", "error")]),
        (MergeRule.KEEP_TARGET, [], [("offsets-conflict", "warning")]),
        (MergeRule.KEEP_SOURCE, [b"1"], [("offsets-conflict", "warning")]),
    ],
)
def test_where_both_differ_the_rule_decides(rule: MergeRule, written: list[bytes], found: list[tuple[str, str]]):
    merged = merge(topic_of("old", 1, [(0, KEY_A, b"1")]), topic_of("new", 5, java(5, {KEY_A: b"2"})), rule)
    assert [each.value for each in merged.writes] == written
    assert names(merged) == found


def test_a_deleted_offset_is_deleted_in_the_target_as_well_when_the_source_is_right():
    source, target = (
        topic_of("old", 1, [(0, KEY_A, b"1"), (0, KEY_A, None)]),
        topic_of("new", 5, java(5, {KEY_A: b"2"})),
    )
    [write] = merge(source, target, MergeRule.KEEP_SOURCE).writes
    assert (write.value, write.before) == (None, b"2")
    assert merge(source, EMPTY).writes == ()


def test_a_key_of_the_target_alone_stays():
    source, target = topic_of("old", 1, [(0, KEY_A, b"1")]), topic_of("new", 5, java(5, {KEY_B: b"2"}))
    assert names(merge(source, target)) == [("offsets-only-in-target", "error")]
    merged = merge(source, target, MergeRule.KEEP_SOURCE)
    assert [each.key for each in merged.writes] == [KEY_A]
    assert names(merged) == [("offsets-only-in-target", "warning")]


@pytest.mark.parametrize("rule", MergeRule)
def test_a_key_with_two_values_in_two_partitions_is_never_guessed_at(rule: MergeRule):
    merged = merge(topic_of("old", 2, [(0, KEY_A, b"1"), (1, KEY_A, b"2")]), EMPTY, rule)
    assert merged.writes == ()
    assert names(merged) == [("key-in-two-partitions", "error")]


@pytest.mark.parametrize("rule", MergeRule)
def test_a_target_that_has_the_key_in_a_foreign_partition_is_refused(rule: MergeRule):
    foreign = (java_partition(KEY_A, 5) + 1) % 5
    merged = merge(topic_of("old", 1, [(0, KEY_A, b"1")]), topic_of("new", 5, [(foreign, KEY_A, b"1")]), rule)
    assert names(merged) == [("key-in-foreign-partition", "error")]


keys = st.sampled_from([b'["c",{"f":%d}]' % number for number in range(4)])
offsets = st.dictionaries(keys, st.none() | st.sampled_from([b"1", b"2"]))


@given(offsets, offsets, st.sampled_from(MergeRule), st.integers(1, 7))
def test_writing_what_is_planned_gives_the_digest_that_is_planned(source, target, rule, partitions):
    there = topic_of("new", partitions, java(partitions, target))
    merged = merge(topic_of("old", 3, java(3, source)), there, rule)
    written = [(each.partition, each.key, each.value) for each in merged.writes]
    after = topic_of("new", partitions, java(partitions, target) + written)
    found = offsets_now(entries_by_connector(after).get("c", []))
    assert found.values == merged.after
    assert sorted(after_writing(entries_by_connector(there).get("c", []), merged.writes)) == sorted(
        (key, part.topic_partition.partition, held.committed.value)
        for part in after.partitions
        for key, held in part.keys.items()
        if held.committed is not None and held.committed.value is not None
    )


@given(offsets, offsets)
def test_a_source_that_wins_is_what_the_target_holds_for_its_keys(source, target):
    merged = merge(topic_of("old", 3, java(3, source)), topic_of("new", 5, java(5, target)), MergeRule.KEEP_SOURCE)
    after = {**target, **{each.key: each.value for each in merged.writes}}
    assert {key: after.get(key) for key in source} == source


SERVER = SourceServer(0x300, {"shop": ReplicationSlot(False, 0x100, 0x200)})
READ = SourceRead(SERVER, "shop")
SHOP = {"server": "shop"}
MYSQL = ConnectorOffset({"server": "shop"}, {"file": "binlog.000003", "pos": 4})


def test_each_position_is_held_against_the_slot():
    offsets = [ConnectorOffset(SHOP, {"lsn": 0x210}), ConnectorOffset({"server": "b"}, {"lsn": 0x1FF})]
    served, left = find_positions("shop", offsets, READ)
    assert (served.severity, left.severity) == (Severity.INFO, Severity.WARNING)
    assert served.message.startswith(
        '{"server": "shop"}: Debezium PostgreSQL: streaming at 0/210; slot shop (not in use'
    )
    assert "is 1 byte further. Debezium streams from confirmed_flush_lsn regardless of the offset" in left.message


def test_a_reset_warns_that_a_snapshot_follows():
    [reset] = find_positions("shop", [ConnectorOffset(SHOP, None)], READ)
    assert reset.message.startswith('{"server": "shop"}: without an offset it takes a snapshot by its snapshot.mode')


def test_the_command_for_an_unread_source_is_named_once_for_each_kind():
    lines = ConnectorOffset({"filename": "a"}, {"position": 3})
    found = [each.message for each in find_positions("shop", [MYSQL, MYSQL, lines], None)]
    asked = "eosctl did not check whether the source still has the later changes"
    assert [each.partition(": ")[0] for each in found] == [
        f"{asked}. Debezium MySQL or MariaDB",
        f"{asked}. FileStreamSource",
    ]
    assert "check SHOW BINARY LOGS" in found[0]


def test_only_for_a_postgresql_the_plan_offers_source_dsn():
    lines = ConnectorOffset({"filename": "a"}, {"position": 3})
    rows = ConnectorOffset(SHOP, {"lsn": 0x1FF})
    file, mysql, slot = find_positions("shop", [lines, MYSQL, rows], None)
    assert ["--source-dsn" in each.cure for each in (file, mysql, slot)] == [False, False, True]
    [asked] = find_positions("shop", [rows], READ)
    assert "--source-dsn" not in asked.cure


def test_an_unknown_kind_of_source_is_not_spoken_of():
    assert list(find_positions("shop", [ConnectorOffset({"a": 1}, {"b": 2})], READ)) == []


@pytest.mark.parametrize(
    "source", [replace(READ, server=Skipped("it is away")), replace(READ, slot=Skipped("it is away"))]
)
def test_a_source_that_was_to_be_asked_and_did_not_answer_objects_to_the_plan(source: SourceRead):
    planned = plan_restore(CREATE, replace(NEW_FACTS, source=source))
    assert planned.objections == ("whether the source still has these positions is not known: it is away",)
    assert planned.hint == "without --source-dsn the plan is made without asking it"


def test_a_position_that_the_slot_has_left_is_a_warning_and_is_no_objection():
    planned = plan_restore(CREATE, replace(NEW_FACTS, source=READ))
    assert planned.objections == ()
    assert [(each.id, each.severity) for each in planned.findings] == [("EOS411", Severity.WARNING)]


@pytest.mark.parametrize(
    ("history", "found"),
    [
        (KeptHistory("h", "k", 3), []),
        (KeptHistory("h", "k", 0), ["error"]),
        (KeptHistory("h", "k", 0, is_needed=False), ["warning"]),  # no class of Debezium's, or one that makes it again
        (KeptHistory("h", "another", 0), []),
        (KeptHistory("h", Skipped("no broker answers")), ["warning"]),
        (Skipped("Read is missing"), ["warning"]),
        (KeptHistory(None), ["warning"]),  # a file of the worker's host
    ],
)
def test_an_offset_without_the_schema_history_that_is_read_before_it_is_refused(history, found):
    planned = plan_restore(CREATE, replace(NEW_FACTS, histories={"c": history}))
    told = [each for each in planned.findings if each.id == "EOS414"]
    assert [each.severity for each in told] == found
    assert [each.message for each in told if each.severity is Severity.ERROR] == list(planned.objections)


@pytest.mark.parametrize(
    ("connector_class", "mode", "needed"),
    [
        ("io.debezium.connector.mysql.MySqlConnector", "initial", True),
        ("io.debezium.connector.mysql.MySqlConnector", "recovery", False),
        ("io.debezium.connector.sqlserver.SqlServerConnector", "", True),
        ("io.debezium.connector.postgresql.PostgresConnector", "", False),
        ("org.apache.kafka.connect.file.FileStreamSourceConnector", "", False),
    ],
)
def test_which_connectors_need_a_schema_history(connector_class: str, mode: str, needed: bool):
    assert needs_history({"connector.class": connector_class, "snapshot.mode": mode}) is needed


LSN, FILE = {"server": "db"}, {"filename": "f"}
STREAMED = {"lsn": 9, "lsn_proc": 9, "txId": 3, "ts_usec": 1}


@pytest.mark.parametrize(
    ("partition", "before", "after", "found"),
    [
        (FILE, {"position": 9}, {"position": 5}, None),
        (FILE, {"position": 9}, {"position": 9}, None),
        (FILE, {"position": 9}, {"position": 10}, ("EOS413", "error")),
        (FILE, {"position": 9}, {"positon": 5}, ("EOS412", "error")),
        (FILE, {"position": 9}, {"position": "5"}, ("EOS412", "error")),
        (FILE, {"position": 9}, {"position": 5.0}, ("EOS412", "error")),
        (FILE, {"position": 9}, {"position": -1}, ("EOS412", "error")),
        (FILE, {"position": 9}, {"position": 5, "more": 1}, ("EOS412", "warning")),
        (LSN, STREAMED, {**STREAMED, "lsn": 5, "snapshot": True}, ("EOS412", "warning")),
        (LSN, STREAMED, {"snapshot": True}, ("EOS412", "error")),
        (LSN, STREAMED, {**STREAMED, "txId": -1}, None),
        (FILE, {"position": 0}, {"position": -1}, ("EOS412", "error")),
        (FILE, {"position": -2}, {"position": -3}, None),
        ({"f": 1}, {"p": 9}, {"p": 10}, None),
        ({"f": 1}, {"p": 9}, {"q": 9}, ("EOS412", "error")),
        ({"f": 1}, {"p": 9}, {"p": None}, None),
    ],
)
def test_an_offset_is_held_against_the_one_that_it_replaces(partition, before, after, found):
    told = [(each.id, each.severity) for each in find_differences("c", partition, before, after, force=False)]
    assert told == ([] if found is None else [found])
    forced = find_differences("c", partition, before, after, force=True)
    assert [(each.id, each.severity) for each in forced] == ([] if found is None else [(found[0], "warning")])


@pytest.mark.parametrize(("state", "paused"), [("PAUSED", True), ("RUNNING", False)])
def test_a_connector_that_was_paused_is_so_again_after_an_undo(state: str, paused: bool):
    facts = replace(at([(0, KEY, b"1")]), connectors={(S, "c"): ConnectorFacts(state, 1)})
    planned = plan_migration(ALL, facts).plan
    assert [each.step for each in planned.steps if isinstance(each.step, StopConnector)] == [
        StopConnector(S, "c", paused)
    ]
    assert [each.step for each in undo_plan(planned).steps if isinstance(each.step, ResumeConnector)] == [
        ResumeConnector(S, "c", paused=paused)
    ]


def test_a_restore_that_waited_is_not_refused_for_what_would_have_been_a_warning() -> None:
    """Another transaction ID beside the position: the connector does not need it."""
    key, lsn = b'["c",{"server":"db"}]', ConnectorOffset({"server": "db"}, {"lsn": 5})
    now = (java_partition(key, 3), key, b'{"lsn":9,"txId":3}')
    plan = in_file(request=replace(FROM_FILE, offsets=(lsn,), create_keys=True))
    [written] = [each.step for each in applied_to(plan, now).steps if isinstance(each.step, WriteOffsets)]
    assert [each.value for each in written.records] == [b'{"lsn":5}']


def test_a_key_that_only_the_target_has_and_that_is_deleted_there_is_no_finding():
    target = topic_of("new", 5, [*java(5, {KEY_B: b"2"}), (java_partition(KEY_B, 5), KEY_B, None)])
    assert merge(topic_of("old", 1, [(0, KEY_A, b"1")]), target).findings == ()


def test_a_tombstone_in_a_foreign_partition_of_the_target_is_no_second_value():
    foreign = (java_partition(KEY_A, 5) + 1) % 5
    target = topic_of("new", 5, [(foreign, KEY_A, b"1"), (foreign, KEY_A, None)])
    merged = merge(topic_of("old", 1, [(0, KEY_A, b"1")]), target)
    assert merged.findings == ()
    assert [(each.partition, each.value) for each in merged.writes] == [(java_partition(KEY_A, 5), b"1")]


@pytest.mark.parametrize(
    ("held", "words"),
    [
        ({}, "is not in the topic: it has no key there; --create-keys writes it"),
        ({b'["c",{}]': b"1"}, "is not in the topic: it has no key there; --create-keys writes it"),
        ({b'["c",{"g":1}]': b"1"}, "the connector's keys have the members g; --create-keys writes it"),
        (
            {b'["c",{"h":1}]': b"1", b'["c",{"b":1,"a":2}]': b"1"},
            "have the members a, b; or h; --create",
        ),
    ],
)
def test_of_a_partition_without_a_key_the_members_of_the_others_are_named(held, words: str):
    planned = restored(replace(RESTORE, offsets=(AT_9,)), old=java(3, held))
    assert [each for each in planned.objections if words in each]


def test_an_offset_is_held_against_the_one_under_its_own_key():
    others = {b'["c",{"a":%d}]' % number: b'{"q":1}' for number in range(9)}
    planned = restored(replace(RESTORE, offsets=(AT_9,)), old=java(3, {**others, KEY: b'{"p":12}'}))
    assert [each.id for each in planned.findings] == []
    assert planned.objections == ()


@pytest.mark.parametrize(
    ("held", "written"),
    [
        ([(HOME, KEY, b'{"p":3}', RecordState.OPEN)], [HOME]),
        ([(HOME, KEY, b'{"p":9}'), (HOME, OTHER, b"{}"), (HOME, OTHER, b'{"p":1}', RecordState.ABORTED)], []),
        (
            [
                *((HOME, KEY, b'{"p":9}'), ((HOME + 1) % 3, KEY, b'{"p":9}')),
                ((HOME + 1) % 3, KEY, b'{"p":1}', RecordState.ABORTED),
            ],
            [(HOME + 1) % 3],
        ),
    ],
    ids=["never committed", "another key's", "the other partition's"],
)
def test_an_offset_is_written_again_only_where_an_uncommitted_one_of_its_key_lies(held: list[Written], written) -> None:
    found = writes(restored(replace(RESTORE, offsets=(AT_9,)), old=held))
    assert [partition for partition, *_ in found.get("old", [])] == written


def test_a_position_that_is_served_needs_nothing_and_one_that_is_not_a_snapshot():
    offsets = [ConnectorOffset(SHOP, {"lsn": 0x210}), ConnectorOffset(SHOP, {"lsn": 0x1FF})]
    served, left = find_positions("shop", offsets, READ)
    assert served.cure == "nothing: the source has what follows"
    assert left.cure == "rows that the source no longer streams are sent again by a new snapshot"


@pytest.mark.parametrize(
    ("after", "words", "is_needed"),
    [
        ({"position": 5, "more": 1, "and": 2}, "the offset has and, more more", False),
        ({}, "the offset lacks position", True),
        ({"more": 1}, "the offset lacks position and has more more", True),
        ({"position": "5"}, 'position is text ("5"), and a whole number (9) now', True),
        ({"position": [5]}, "position is another type ([5]), and a whole number (9) now", True),
    ],
)
def test_another_shape_is_said_with_each_member_that_differs(after, words: str, is_needed: bool):
    [found] = find_differences("c", FILE, {"position": 9}, after, force=False)
    assert found.message == f'{{"filename": "f"}}: {words}'
    assert (found.severity is Severity.ERROR) is is_needed


def test_a_missing_schema_history_is_a_warning_where_the_user_insists():
    facts = replace(NEW_FACTS, histories={"c": KeptHistory("h", "k", 0)})
    forced = plan_restore(replace(CREATE, force=True), facts)
    assert [each.severity for each in forced.findings if each.id == "EOS414"] == [Severity.WARNING]
    assert forced.objections == ()
