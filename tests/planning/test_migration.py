"""Moves of connectors: plans, created connectors, and who operates them."""

import pytest
from msgspec.structs import replace

from eosctl.model.connectors import SchemaHistory, keeps_history_in_a_file, schema_history
from eosctl.model.migration import KeptHistory, MigrationFacts, MigrationRequest, Move
from eosctl.model.names import ConnectorTaskId, Side
from eosctl.model.offsets import ConnectorOffset
from eosctl.model.plan import (
    AwaitOperator,
    CreateConnector,
    CreateTopic,
    DeleteConnector,
    FenceProducers,
    ManualStep,
    Plan,
    PlannedStep,
    ResumeConnector,
    SetConnectorConfig,
    StopConnector,
    VerifyOffsets,
    WriteOffsets,
    demanded_steps,
    lacking,
)
from eosctl.model.planned import Planned
from eosctl.model.preconditions import (
    STOP_HINT,
    ClusterIs,
    ConnectorConfigIs,
    ConnectorFacts,
    ConnectorStopped,
    NoLiveOwner,
    OffsetsUnchanged,
    TopicNow,
)
from eosctl.model.records import RecordState, java_partition
from eosctl.model.skipped import Skipped
from eosctl.model.strimzi import STOP_BY_RESOURCE, OperatedConnectors
from eosctl.model.topics import TopicFacts
from eosctl.model.versions import KafkaVersion
from eosctl.model.workers import LiveOwner, LiveOwners
from eosctl.planning.migration import plan_migration, replication_factors
from eosctl.planning.operated import created_by_hand, deleted_by_hand, for_operator, objections, resumed_by_hand
from eosctl.planning.restore import PARTITIONS, NewConnector, RestoreRequest, plan_restore
from eosctl.planning.undo import undo_plan
from tests.planning.offsets_topics import java, topic_of

S, T = Side.SOURCE, Side.TARGET
KEY = b'["c",{"f":1}]'
TO_OWN = Move("c", "c", "old", "new", "new", None)
WISH = MigrationRequest((TO_OWN,), "g", "g", partitions=5)
FACTS = MigrationFacts(
    as_of=1,
    cluster_ids={S: "k", T: "k"},
    connectors={(S, "c"): ConnectorFacts("STOPPED")},
    topics={(S, "old"): TopicNow(TopicFacts("old", 3, 1), "id"), (T, "new"): None},
    offsets={(S, "old"): topic_of("old", 3, [(0, KEY, b"1")]), (T, "new"): topic_of("new", 0, [])},
    fenced_ids={S: ("g-c-0", "g-c-1")},
    live_owners={S: LiveOwners(), T: LiveOwners()},
)
ALL = replace(WISH, stop=True, set_config=True, resume=True)
RUNNING_C = ConnectorFacts("RUNNING", 2)
RUNNING = replace(FACTS, connectors={(S, "c"): RUNNING_C})


def kinds(plan: Plan) -> list[str]:
    return [type(each.step).__name__ for each in plan.steps]


def one(plan: Plan, kind: type) -> PlannedStep:
    [found] = [each for each in plan.steps if isinstance(each.step, kind)]
    return found


def test_a_stopped_connector_needs_fence_topic_write_verify_and_a_person():
    migration = plan_migration(WISH, FACTS)
    assert migration.objections == ()
    assert kinds(migration.plan) == [
        "FenceProducers", "CreateTopic", "WriteOffsets", "VerifyOffsets", "ManualStep", "ManualStep",
    ]  # fmt: skip
    assert [each.step.instruction for each in migration.plan.steps if isinstance(each.step, ManualStep)] == [
        "configure connector c with offsets.storage.topic=new (PUT /connectors/c/config)",
        "resume connector c (PUT /connectors/c/resume)",
    ]


@pytest.mark.parametrize(
    ("now", "stops"),
    [(ConnectorFacts("STOPPED"), 0), (ConnectorFacts("STOPPED", 1), 1), (ConnectorFacts("PAUSED"), 1), (RUNNING_C, 1)],
)
def test_a_connector_is_stopped_unless_it_is_stopped_and_has_no_task(now: ConnectorFacts, stops: int):
    """A task that did not end (KAFKA-13809) writes beside the move: stopping again ends it."""
    plan = plan_migration(ALL, replace(FACTS, connectors={(S, "c"): now})).plan
    assert kinds(plan).count("StopConnector") == stops


@pytest.mark.parametrize(("asked", "created"), [(None, 3), (-1, -1), (1, 1)])
def test_a_missing_topic_gets_the_replicas_of_the_one_that_holds_the_offsets(asked: int | None, created: int):
    """Connect would create it with the workers' offset.storage.replication.factor, as it created that one."""
    facts = replace(FACTS, topics={**FACTS.topics, (S, "old"): TopicNow(TopicFacts("old", 3, 3), "id")})
    plan = plan_migration(replace(WISH, replication_factor=asked), facts).plan
    assert one(plan, CreateTopic).step.replication_factor == created


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_a_topic_for_offsets_of_several_topics_gets_the_replicas_of_the_one_that_has_most(order: tuple[int, int]):
    moves = (TO_OWN, replace(TO_OWN, connector="d", new_name="d", source_topic="more"))
    topics = {(S, "old"): TopicNow(TopicFacts("old", 3, 1), "id"), (S, "more"): TopicNow(TopicFacts("more", 3, 3), "i")}
    request = MigrationRequest(tuple(moves[each] for each in order), "g", "g")
    assert replication_factors(request, replace(FACTS, topics=topics)) == {"new": 3}


def test_more_replicas_than_brokers_of_the_target_are_refused_before_anything_is_done():
    facts = replace(FACTS, topics={**FACTS.topics, (S, "old"): TopicNow(TopicFacts("old", 3, 3), "id")})
    for brokers, message in ((2, 1), (3, 0), (None, 0)):
        assert len(plan_migration(WISH, replace(facts, target_brokers=brokers)).objections) == message
    refused = plan_migration(WISH, replace(facts, target_brokers=2))
    assert refused.objections == (
        "the plan creates topic new with replication factor 3, and the target cluster has 2 brokers",
    )
    assert refused.hint == "give --replication-factor 2, or start the other brokers first"


@pytest.mark.parametrize(
    ("oldest", "elsewhere", "severity"),
    [
        ("3.4.1", False, "error"),
        ("3.5.2", False, "error"),  # another worker may be one of 3.6.0
        ("3.6.0", False, "error"),
        ("3.6.1", False, "warning"),
        ("4.3.1", False, "warning"),
        ("4.3.1", True, "error"),  # the versions of the target's workers were not read
        (None, False, "error"),
    ],
)
def test_keys_of_no_offsets_refuse_a_move_unless_all_workers_are_known_to_ignore_them(oldest, elsewhere, severity):
    """KAFKA-15800: 3.5.0, 3.5.1 and 3.6.0 lose other offsets over them."""
    version = Skipped("not asked") if oldest is None else KafkaVersion.parse(oldest)
    held = {**FACTS.offsets, (T, "new"): topic_of("new", 1, [(0, b"hello", b"1")])}
    connectors = {**FACTS.connectors, (T, "c"): ConnectorFacts(None)}
    facts = replace(FACTS, offsets=held, worker_version=version, connectors=connectors)
    findings = plan_migration(replace(WISH, target_group_id="h") if elsewhere else WISH, facts).findings
    assert [each.severity for each in findings if each.name == "foreign-keys"] == [severity]


def test_rest_does_what_a_person_would():
    plan = plan_migration(ALL, RUNNING).plan
    assert kinds(plan) == [
        "StopConnector", "FenceProducers", "CreateTopic", "WriteOffsets", "VerifyOffsets", "SetConnectorConfig",
        "ResumeConnector",
    ]  # fmt: skip
    assert one(plan, SetConnectorConfig).step.changes == {"offsets.storage.topic": "new"}


def test_offsets_are_written_in_the_name_of_the_new_task_0_and_only_if_nothing_changed():
    request = replace(WISH, moves=(replace(TO_OWN, new_name="d"),), target_group_id="h")
    facts = replace(FACTS, connectors={**FACTS.connectors, (T, "d"): ConnectorFacts(None)})
    planned = one(plan_migration(request, facts).plan, WriteOffsets)
    assert planned.step.transactional_id == "h-d-0"
    assert planned.step.records[0].key == b'["d",{"f":1}]'
    watched = [
        (each.side, each.topic, each.connector) for each in planned.preconditions if isinstance(each, OffsetsUnchanged)
    ]
    assert watched == [(S, "old", "c"), (T, "new", "d")]
    stopped = [each for each in planned.preconditions if isinstance(each, ConnectorStopped)]
    assert stopped == [ConnectorStopped(S, "c"), ConnectorStopped(T, "d")]


def test_connectors_that_move_at_once_to_one_topic_and_to_new_names_each_keep_their_offsets():
    """One topic is created for both, each write is of one connector, and all of them come before a resume."""
    pair = (replace(TO_OWN, new_name="x"), replace(TO_OWN, connector="d", new_name="y"))
    other = b'["d",{"f":1}]'
    names = {(side, name): ConnectorFacts(None) for side in Side for name in ("x", "y")}
    kept = topic_of("old", 3, [(0, KEY, b"1"), (1, other, b"2")])
    facts = replace(
        FACTS,
        connectors=names | {(S, "c"): RUNNING_C, (S, "d"): RUNNING_C},
        offsets={
            (S, "old"): kept,
            (T, "new"): topic_of("new", 0, []),
        },
    )
    planned = plan_migration(replace(ALL, moves=pair), facts)
    assert planned.objections == ()
    found = kinds(planned.plan)
    assert [found.count(each) for each in ("StopConnector", "CreateTopic", "WriteOffsets")] == [2, 1, 2]
    written = [each.step for each in planned.plan.steps if isinstance(each.step, WriteOffsets)]
    assert [(each.transactional_id, [(row.key, row.value) for row in each.records]) for each in written] == [
        ("g-x-0", [(b'["x",{"f":1}]', b"1")]),
        ("g-y-0", [(b'["y",{"f":1}]', b"2")]),
    ]


@pytest.mark.parametrize(
    ("facts", "message"),
    [
        (RUNNING, "connector c is RUNNING with 2 tasks, not STOPPED with none"),
        (replace(FACTS, connectors={(S, "c"): Skipped("nobody told")}), "is stopped is unknown: nobody told"),
        (
            replace(
                FACTS,
                topics={
                    **FACTS.topics,
                    (T, "new"): TopicNow(TopicFacts("new", 5, 1, {"cleanup.policy": "delete"}), None),
                },
            ),
            "topic new has cleanup.policy delete, which loses offsets and which Connect refuses",
        ),
    ],
)
def test_each_objection_to_a_migration_refuses_the_plan(facts: MigrationFacts, message: str):
    [objection] = plan_migration(WISH, facts).objections
    assert message in objection


def test_stop_cannot_help_where_the_state_is_unknown():
    facts = replace(FACTS, connectors={(S, "c"): Skipped("nobody told")})
    assert plan_migration(ALL, facts).objections != ()


def test_a_connect_cluster_that_cannot_be_seen_is_a_finding():
    request = replace(WISH, target_group_id="h")
    facts = replace(FACTS, connectors={**FACTS.connectors, (T, "c"): Skipped("not given")})
    migration = plan_migration(request, facts)
    assert [each.name for each in migration.findings] == ["target-connector-unknown"]
    assert migration.objections == ()


def test_a_connector_without_offsets_is_a_finding():
    facts = replace(FACTS, offsets={(S, "old"): topic_of("old", 3, []), (T, "new"): topic_of("new", 0, [])})
    migration = plan_migration(WISH, facts)
    assert [each.name for each in migration.findings] == ["no-offsets"]
    [write] = [each for each in migration.plan.steps if isinstance(each.step, WriteOffsets)]
    assert (write.step.records, write.step.describe().partition(":")[0]) == ((), "write no offset")
    [back] = [each for each in undo_plan(migration.plan).steps if isinstance(each.step, WriteOffsets)]
    place = (T, "new", "c")
    assert OffsetsUnchanged(*place, write.step.after, write.step.before_values) in back.preconditions
    assert [each for each in write.preconditions if isinstance(each, OffsetsUnchanged) and each.side is S] == [
        each for each in back.preconditions if isinstance(each, OffsetsUnchanged) and each.side is S
    ]


def test_an_undo_turns_every_step_round():
    undo = undo_plan(plan_migration(ALL, RUNNING).plan)
    assert kinds(undo) == [
        "StopConnector", "FenceProducers", "WriteOffsets", "VerifyOffsets", "SetConnectorConfig", "ResumeConnector",
        "ManualStep",
    ]  # fmt: skip
    [record] = one(undo, WriteOffsets).step.records
    assert (record.value, record.before) == (None, b"1")
    assert one(undo, SetConnectorConfig).step.changes == {"offsets.storage.topic": None}
    assert one(undo, FenceProducers).step.transactional_ids == ("g-c-0", "g-c-1"), "zombies of what ran in between"


def test_undoing_an_undo_writes_the_same_again():
    plan = plan_migration(ALL, RUNNING).plan
    again = undo_plan(undo_plan(plan))
    assert one(again, WriteOffsets).step.records == one(plan, WriteOffsets).step.records
    assert one(again, WriteOffsets).step.after == one(plan, WriteOffsets).step.after


def test_topics_that_are_not_there_are_misnamed():
    """The source's, and the workers' own: eosctl would create what the workers never look at."""
    facts = replace(FACTS, topics={(S, "old"): None, (T, "new"): None})
    assert "topic old, from which offsets were to be taken, does not exist" in plan_migration(WISH, facts).objections
    back = replace(WISH, moves=(replace(TO_OWN, setting=None, former_setting="old"),))
    assert "topic new does not exist: it is not the workers' offsets topic" in plan_migration(back, FACTS).objections
    assert plan_migration(WISH, FACTS).objections == ()


def test_it_is_resumed_only_where_the_workers_answer_what_was_written():
    resume = one(plan_migration(ALL, RUNNING).plan, ResumeConnector).step
    assert (resume.offsets_side, resume.offsets_topic) == (T, "new")


def test_a_config_that_is_not_there_cannot_be_set():
    facts = replace(FACTS, connectors={(S, "c"): ConnectorFacts(None)})
    message = "connector c does not exist, so there is no config for --set-config"
    assert plan_migration(ALL, facts).objections == (message,)
    assert plan_migration(WISH, facts).objections == ()
    renamed = replace(ALL, moves=(replace(TO_OWN, new_name="d"),))
    created = replace(FACTS, connectors={(S, "c"): ConnectorFacts(None), (S, "d"): ConnectorFacts("STOPPED")})
    assert plan_migration(renamed, created).objections == ()


def test_a_new_name_that_stands_for_a_connector_is_reported():
    renamed = replace(ALL, moves=(replace(TO_OWN, new_name="d"),))
    facts = replace(FACTS, connectors={**FACTS.connectors, (S, "d"): ConnectorFacts("STOPPED")})
    assert [each.name for each in plan_migration(renamed, facts).findings] == ["target-connector-exists"]


def test_ids_that_a_task_of_another_group_has_speak_against_a_move_but_for_force():
    owner = LiveOwner("a-b", ConnectorTaskId("x", 0), "http://w:8083/", "PAUSED")
    facts = replace(FACTS, live_owners={S: LiveOwners({("g-c", 0): (owner,)})})
    refused = plan_migration(WISH, facts)
    assert refused.objections == (
        "transactional ID g-c-0 is also the ID of task 0 of connector x (PAUSED) in Connect cluster a-b at http://w:8083/",
    )
    needed = NoLiveOwner(S, ("g-c-0", "g-c-1"), "g")
    assert [needed in one(refused.plan, kind).preconditions for kind in (FenceProducers, WriteOffsets)] == [True, True]
    forced = plan_migration(replace(WISH, force=True), facts)
    assert forced.objections == ()
    assert needed not in one(forced.plan, FenceProducers).preconditions


def test_a_connector_of_its_own_group_is_stopped_by_other_means():
    facts = replace(FACTS, live_owners={S: LiveOwners({("g-c", 0): (LiveOwner("g", ConnectorTaskId("c", 0), "w"),)})})
    assert plan_migration(WISH, facts).objections == ()


def test_a_config_to_be_copied_needs_a_worker_of_the_source():
    renamed = replace(ALL, moves=(replace(TO_OWN, new_name="d"),))
    facts = replace(FACTS, connectors={**FACTS.connectors, (S, "d"): ConnectorFacts(None)}, source_workers=False)
    assert plan_migration(renamed, facts).objections == (
        "connector d gets the config of c, and only a worker of Connect cluster g has that config",
    )


def test_an_undo_names_the_connectors_it_leaves_stopped():
    def left(plan: Plan) -> list[str]:
        texts = [each.step.instruction for each in undo_plan(plan).steps if isinstance(each.step, ManualStep)]
        return [each for each in texts if "it is left STOPPED" in each]

    message = "resume connector c when it may continue (PUT /connectors/c/resume): it is left STOPPED"
    assert left(plan_migration(replace(ALL, stop=False), FACTS).plan) == [message]
    assert left(plan_migration(WISH, FACTS).plan) == [f"{message}, if it exists"]
    assert left(plan_migration(ALL, RUNNING).plan) == [], "the plan stopped it, so the undo resumes it"


def test_an_undo_between_clusters_takes_the_offsets_back_and_leaves_the_new_connector_to_a_person():
    """Its offsets are gone then: resumed, it would begin from nothing beside the old one."""
    request = replace(ALL, target_group_id="h")
    facts = replace(RUNNING, connectors={**RUNNING.connectors, (T, "c"): ConnectorFacts(None)})
    undo = undo_plan(plan_migration(request, facts).plan)
    assert kinds(undo)[:4] == ["StopConnector", "FenceProducers", "WriteOffsets", "VerifyOffsets"]
    assert (one(undo, StopConnector).step.side, one(undo, WriteOffsets).step.side) == (T, T)
    assert one(undo, WriteOffsets).step.records[0].value is None
    assert one(undo, ResumeConnector).step == ResumeConnector(S, "c")
    message = [each.step.instruction for each in undo.steps if isinstance(each.step, ManualStep)]
    assert message[0] == "delete connector c, which the plan created, before any other"


ORDERS_KEY = b'["orders",{"server":"shop"}]'
OTHER = b'["orders",{"server":"other"}]'
NEW = NewConnector("orders", "/etc/orders.json", "sha256:1")
BEGIN = (ConnectorOffset({"server": "shop"}, {"lsn": 7}),)
CREATE = RestoreRequest("orders", "g", ("offsets",), BEGIN, resume=True, new=NEW)
NEW_FACTS = MigrationFacts(
    as_of=1,
    cluster_ids={S: "k"},
    connectors={(S, "orders"): ConnectorFacts(None)},
    topics={(S, "offsets"): TopicNow(TopicFacts("offsets", 3, 2), "id")},
    offsets={(S, "offsets"): topic_of("offsets", 3, [])},
    live_owners={S: LiveOwners()},
    worker_version=KafkaVersion(3, 7),
)
OWN = replace(CREATE, topics=("offsets", "own"), own_topic=True)
OWN_FACTS = replace(
    NEW_FACTS,
    topics={**NEW_FACTS.topics, (S, "own"): None},
    offsets={**NEW_FACTS.offsets, (S, "own"): topic_of("own", 0, [])},
)


@pytest.mark.parametrize(("value", "state"), [(None, RecordState.COMMITTED), (b'{"lsn":3}', RecordState.OPEN)])
def test_an_offset_that_was_deleted_or_never_committed_was_not_left_behind(value: bytes | None, state: RecordState):
    held = topic_of("offsets", 3, [(java_partition(ORDERS_KEY, 3), ORDERS_KEY, value)], state)
    assert plan_restore(CREATE, replace(NEW_FACTS, offsets={(S, "offsets"): held})).objections == ()


def left(offsets: dict[bytes, bytes | None]) -> MigrationFacts:
    return replace(NEW_FACTS, offsets={(S, "offsets"): topic_of("offsets", 3, java(3, offsets))})


def test_it_is_created_stopped_before_its_offsets_are_written_and_resumed_after_they_were_read_back():
    planned = plan_restore(CREATE, NEW_FACTS)
    assert planned.objections == ()
    assert planned.plan.kind == "offsets.create-connector"
    assert kinds(planned.plan) == ["CreateConnector", "WriteOffsets", "VerifyOffsets", "ResumeConnector"]
    assert planned.plan.steps[0].step == CreateConnector(S, "orders", "/etc/orders.json", "sha256:1")
    write = planned.plan.steps[1].step
    assert isinstance(write, WriteOffsets)
    assert [(each.key, each.value) for each in write.records] == [(ORDERS_KEY, b'{"lsn":7}')]


def test_it_is_not_resumed_unless_the_user_asks():
    plan = plan_restore(replace(CREATE, resume=False), NEW_FACTS).plan
    assert plan.steps[-1].step.describe() == "by hand: resume connector orders (PUT /connectors/orders/resume)"


def test_every_step_has_what_it_demands_and_another_config_under_the_name_stands_in_the_way():
    plan = plan_restore(CREATE, NEW_FACTS).plan
    assert lacking(plan) == ()
    wanted = ConnectorConfigIs(S, "orders", "sha256:1")
    assert wanted in demanded_steps(plan)[0].preconditions
    assert wanted in demanded_steps(undo_plan(plan))[-1].preconditions


def test_its_own_offsets_topic_is_created_with_the_replicas_of_the_workers():
    planned = plan_restore(OWN, OWN_FACTS)
    assert planned.objections == ()
    assert kinds(planned.plan)[:3] == ["CreateConnector", "CreateTopic", "WriteOffsets"]
    assert planned.plan.steps[1].step == CreateTopic(S, "own", 25, 2)


def test_a_workers_topic_that_does_not_exist_is_not_made():
    facts = replace(NEW_FACTS, topics={(S, "offsets"): None}, offsets={(S, "offsets"): topic_of("offsets", 0, [])})
    assert plan_restore(CREATE, facts).objections == ("topic offsets does not exist",)


@pytest.mark.parametrize(
    ("facts", "why"),
    [
        (
            replace(NEW_FACTS, connectors={(S, "orders"): ConnectorFacts("STOPPED")}),
            "connector orders exists: it is STOPPED",
        ),
        (
            replace(NEW_FACTS, connectors={(S, "orders"): Skipped("no worker answers")}),
            "whether connector orders exists is unknown: no worker answers",
        ),
        (
            replace(NEW_FACTS, worker_version=KafkaVersion(3, 6, 2)),
            "workers of 3.6.2 cannot create a connector STOPPED (KIP-980, since 3.7.0)",
        ),
        (
            left({OTHER: b'{"lsn":3}'}),
            "a deleted connector orders left 1 offset in topic offsets that are missing or different in the file",
        ),
        (
            left({ORDERS_KEY: b'{"lsn":3}', OTHER: b'{"lsn":3}'}),
            "a deleted connector orders left 2 offsets in topic offsets that are missing or different in the file",
        ),
    ],
)
def test_each_objection_to_a_restore_is_named(facts: MigrationFacts, why: str):
    assert why in plan_restore(CREATE, facts).objections


def test_a_file_without_an_offset_is_no_beginning():
    planned = plan_restore(replace(CREATE, offsets=(ConnectorOffset({"server": "shop"}, None),)), NEW_FACTS)
    assert planned.objections == ("the file has no offset to begin at",)


@pytest.mark.parametrize("offsets", [{ORDERS_KEY: b'{"lsn":7}'}, {ORDERS_KEY: b'{"lsn":7}', OTHER: None}])
def test_offsets_that_already_have_the_planned_value_do_not_block(offsets: dict[bytes, bytes | None]):
    planned = plan_restore(CREATE, left(offsets))
    assert planned.objections == ()
    assert kinds(planned.plan) == ["CreateConnector", "ResumeConnector"]


def test_existing_offsets_are_overwritten_on_request_and_offsets_missing_in_the_file_stay():
    wish = replace(CREATE, new=replace(NEW, overwrite=True))
    planned = plan_restore(wish, left({ORDERS_KEY: b'{"lsn":3}', OTHER: b'{"lsn":4}'}))
    assert planned.objections == ()
    write = planned.plan.steps[1].step
    assert isinstance(write, WriteOffsets)
    assert [(each.key, each.before, each.value) for each in write.records] == [(ORDERS_KEY, b'{"lsn":3}', b'{"lsn":7}')]


def test_the_undo_stops_it_takes_the_offsets_away_and_deletes_it_last():
    plan = plan_restore(CREATE, NEW_FACTS).plan
    undo = undo_plan(plan)
    assert kinds(undo) == ["StopConnector", "WriteOffsets", "VerifyOffsets", "DeleteConnector"]
    assert undo.steps[-1].step == DeleteConnector(S, "orders", "/etc/orders.json", "sha256:1")
    assert kinds(undo_plan(undo)) == ["WriteOffsets", "VerifyOffsets", "CreateConnector", "ResumeConnector"]


@pytest.mark.parametrize("state", ["RUNNING", "STOPPED", "FAILED"])
def test_an_existing_connector_is_the_only_objection_and_its_offsets_belong_to_no_other(state: str):
    facts = replace(left({OTHER: b'{"lsn":3}'}), connectors={(S, "orders"): ConnectorFacts(state)})
    planned = plan_restore(CREATE, facts)
    assert planned.objections == (f"connector orders exists: it is {state}",)
    assert planned.hint is not None
    assert "eosctl offsets restore FILE --connector orders" in planned.hint
    assert "--stop" not in planned.hint


SOURCE = Side.SOURCE
HERE = (ClusterIs(SOURCE, "k"),)
STOPPED = (*HERE, ConnectorStopped(SOURCE, "c"))
STOP = PlannedStep(StopConnector(SOURCE, "c"), HERE)
VERIFY = PlannedStep(VerifyOffsets(SOURCE, "t", "c", "d"), STOPPED)
CONFIGURE = PlannedStep(
    SetConnectorConfig(SOURCE, "c", {"offsets.storage.topic": "t"}, {"offsets.storage.topic": None}), STOPPED
)
RESUME = PlannedStep(ResumeConnector(SOURCE, "c", "t"), HERE)
EMITTED = OperatedConnectors(states={"c": "running"}, directory="/out")
STOPPED_AS_IT_IS = AwaitOperator(
    SOURCE,
    "c",
    "/out/c.stopped.yaml",
    "STOPPED",
    changed={"offsets.storage.topic": "t"},
    changed_file="/out/c.configured.yaml",
)

MIRRORED = replace(EMITTED, states={"c": "running", "d": "running"}, mirrors={"c": "m", "d": "m"})


def plan(*steps: PlannedStep) -> Planned:
    return Planned(plan=Plan("migrate-offsets", 0, steps), cluster_id="k")


def steps(planned: Planned) -> list[object]:
    return [each.step for each in planned.plan.steps]


def test_each_change_is_a_file_and_a_wait_with_the_preconditions_of_the_step():
    made = for_operator(plan(STOP, VERIFY, CONFIGURE, RESUME), EMITTED)
    changes = {"offsets.storage.topic": "t"}
    back, before = "/out/c.stopped.yaml", {"offsets.storage.topic": None}
    assert made.objections == ()
    assert steps(made) == [
        AwaitOperator(SOURCE, "c", back, "STOPPED", undo_file="/out/c.before.yaml"),
        VERIFY.step,
        AwaitOperator(SOURCE, "c", "/out/c.configured.yaml", "STOPPED", changes, undo_file=back, before=before),
        AwaitOperator(SOURCE, "c", "/out/c.running.yaml", "RUNNING", changes, "t", SOURCE, back, before),
    ]
    assert [each.preconditions for each in made.plan.steps] == [HERE, STOPPED, STOPPED, HERE]
    assert [each.step for each in made.stops] == [steps(made)[0]]


def test_the_way_back_is_by_resources_too_and_ends_with_the_one_from_before_the_plan():
    back = undo_plan(for_operator(plan(STOP, CONFIGURE, RESUME), EMITTED).plan)
    assert back.operated == EMITTED
    assert [(each.step, each.preconditions) for each in back.steps] == [
        (STOPPED_AS_IT_IS, HERE),
        (AwaitOperator(SOURCE, "c", "/out/c.stopped.yaml", "STOPPED", {"offsets.storage.topic": None}), STOPPED),
        (AwaitOperator(SOURCE, "c", "/out/c.before.yaml", "RUNNING"), HERE),
    ]
    assert STOPPED_AS_IT_IS.describe() == (
        "wait until /out/c.configured.yaml (/out/c.stopped.yaml, where it is configured as before) is applied and the "
        "operator has made connector c STOPPED and without tasks"
    )


def test_the_way_back_leaves_a_connector_stopped_that_was_stopped_before():
    back = undo_plan(for_operator(plan(CONFIGURE, RESUME), replace(EMITTED, states={"c": "stopped"})).plan)
    assert [each.step for each in back.steps] == [
        STOPPED_AS_IT_IS,
        AwaitOperator(SOURCE, "c", "/out/c.stopped.yaml", "STOPPED", {"offsets.storage.topic": None}),
        ManualStep("resume connector c when it may continue (state: running in its resource): it is left STOPPED"),
    ]


def test_a_new_name_is_created_by_its_resource_at_the_end():
    created = "/out/new.created.yaml"
    made = for_operator(
        plan(
            PlannedStep(SetConnectorConfig(SOURCE, "new", {}, {}, "c"), STOPPED),
            PlannedStep(ResumeConnector(SOURCE, "new", "t"), HERE),
            PlannedStep(deleted_by_hand("c", "new", "")),
        ),
        replace(EMITTED, states={"c": "stopped"}),
    )
    assert steps(made) == [
        AwaitOperator(SOURCE, "new", "/out/new.running.yaml", "RUNNING", undo_file=created, copied_from="c"),
        ManualStep("delete KafkaConnector c once new runs; never let both run"),
    ]
    back = [each.step for each in undo_plan(made.plan).steps]
    assert back[0] == AwaitOperator(SOURCE, "new", created, "STOPPED")
    assert ManualStep("delete KafkaConnector new, which the plan created") in back


def test_a_connector_moves_to_another_connect_cluster_by_the_label_of_its_resource():
    there = (ClusterIs(Side.TARGET, "k"),)
    moved = plan(
        STOP,
        PlannedStep(SetConnectorConfig(Side.TARGET, "c", {}, {}, "c"), there),
        PlannedStep(ResumeConnector(Side.TARGET, "c", "t", Side.TARGET), there),
        PlannedStep(deleted_by_hand("c", "c", " in Connect cluster b")),
    )
    made = for_operator(moved, replace(EMITTED, to_cluster="b"))
    stopped, before, created = (f"/out/c.{each}.yaml" for each in ("stopped", "before", "created"))
    assert steps(made) == [
        AwaitOperator(SOURCE, "c", stopped, "STOPPED", undo_file=before),
        AwaitOperator(Side.TARGET, "c", "/out/c.running.yaml", "RUNNING", undo_file=created, copied_from="c"),
        ManualStep("wait until the operator has deleted connector c from the Connect cluster that it was in"),
    ]
    assert [each.step for each in undo_plan(made.plan).steps][:2] == [
        AwaitOperator(Side.TARGET, "c", created, "STOPPED"),
        AwaitOperator(SOURCE, "c", before, "RUNNING"),
    ]


def test_a_plan_in_a_file_is_refused_by_what_is_known_when_it_is_applied():
    over_rest = plan(STOP, CONFIGURE, RESUME).plan
    assert dict(objections(over_rest, OperatedConnectors())) == {}
    assert len(dict(objections(undo_plan(over_rest), OperatedConnectors(every=True)))) == 3
    made = for_operator(plan(STOP, CONFIGURE, RESUME), EMITTED).plan
    assert dict(objections(made, replace(EMITTED, every=True))) == {}
    assert dict(objections(undo_plan(made), replace(EMITTED, every=True))) == {}


def test_connectors_without_an_operator_are_left_alone():
    other = plan(STOP, CONFIGURE, RESUME)
    assert for_operator(other, OperatedConnectors()) == other
    assert steps(for_operator(other, OperatedConnectors(states={"d": "running"}))) == steps(other)


@pytest.mark.parametrize(
    ("step", "operated", "said"),
    [
        (STOP, OperatedConnectors(every=True), "its operator resumes it at the next reconciliation"),
        (CONFIGURE, OperatedConnectors(every=True), "offsets.storage.topic changed over REST would be changed back"),
        (RESUME, OperatedConnectors(states={"c": "stopped"}), "its operator stops it again"),
        (
            PlannedStep(SetConnectorConfig(SOURCE, "new", {}, {}, "c"), STOPPED),
            OperatedConnectors(states={"c": "stopped"}),
            "created over REST, its operator deletes it",
        ),
        (VERIFY, OperatedConnectors(states={"c": "running"}), "its KafkaConnector has running"),
        (VERIFY, EMITTED, "the operator would resume it while its offsets are written"),
        (
            PlannedStep(CreateConnector(SOURCE, "c", "/f", "d"), HERE),
            EMITTED,
            "its operator deletes a connector that no KafkaConnector describes",
        ),
        (
            PlannedStep(ResumeConnector(Side.TARGET, "c", "t"), HERE),
            EMITTED,
            "will be in another Connect cluster, and its KafkaConnect was not given",
        ),
        (STOP, OperatedConnectors(every=True, directory="/out"), "no resource of connector c was given"),
        (
            PlannedStep(SetConnectorConfig(SOURCE, "New_1", {}, {}, "c"), STOPPED),
            EMITTED,
            "no KafkaConnector can be called New_1",
        ),
        (
            PlannedStep(SetConnectorConfig(SOURCE, "c", {}, {}, "x"), STOPPED),
            EMITTED,
            "no resource of connector x was given",
        ),
        (
            PlannedStep(SetConnectorConfig(SOURCE, "new", {}, {}, "c"), STOPPED),
            MIRRORED,
            "KafkaMirrorMaker2 m, which runs it in its own Connect cluster and names it after its clusters",
        ),
    ],
)
def test_a_change_that_would_be_reverted_is_refused(step: PlannedStep, operated: OperatedConnectors, said: str):
    refused = for_operator(plan(step), operated)
    assert said in "; ".join(refused.objections)
    assert refused.hint is not None


def test_a_plan_changes_one_connector_of_a_mirror_maker():
    assert for_operator(plan(STOP, CONFIGURE), MIRRORED).objections == ()
    both = for_operator(plan(STOP, PlannedStep(StopConnector(SOURCE, "d"), HERE)), MIRRORED)
    assert both.objections == ("connectors c, d are in one resource, and a plan changes one of them",)
    unchanged = PlannedStep(VerifyOffsets(SOURCE, "t", "d", "digest"), HERE)
    assert for_operator(plan(STOP, unchanged), MIRRORED).objections == ()
    over_rest = for_operator(
        plan(STOP, PlannedStep(StopConnector(SOURCE, "d"), HERE)), replace(MIRRORED, directory=None)
    )
    assert [each.partition(":")[0] for each in over_rest.objections] == [
        "connector c is Strimzi's",
        "connector d is Strimzi's",
    ]


def test_a_mirror_makers_connector_may_have_a_name_that_kubernetes_does_not_take():
    name = "A->B.MirrorSourceConnector"
    stop = PlannedStep(StopConnector(SOURCE, name), HERE)
    assert for_operator(plan(stop), OperatedConnectors(states={name: "stopped"}, directory="/out")).objections == (
        f"no KafkaConnector can be called {name}",
    )
    mirrored = OperatedConnectors(states={name: "stopped"}, mirrors={name: "m"}, directory="/out")
    assert for_operator(plan(stop), mirrored).objections == ()


def test_a_connector_of_the_same_name_in_the_other_connect_cluster_is_not_the_operators():
    there = PlannedStep(VerifyOffsets(Side.TARGET, "t", "c", "d"), (ConnectorStopped(Side.TARGET, "c"),))
    assert for_operator(plan(there), EMITTED).objections == ()


def test_a_new_name_that_is_not_resumed_is_created_stopped_by_its_resource():
    configured = PlannedStep(SetConnectorConfig(SOURCE, "new", {}, {}, "c"), STOPPED)
    made = for_operator(plan(configured, RESUME), replace(EMITTED, states={"c": "stopped"}))
    created = "/out/new.created.yaml"
    assert steps(made)[0] == AwaitOperator(SOURCE, "new", created, "STOPPED", undo_file=created, copied_from="c")


def test_a_connector_waits_for_its_own_changes_alone():
    other = PlannedStep(SetConnectorConfig(SOURCE, "d", {"tasks.max": "2"}, {"tasks.max": "1"}), STOPPED)
    made = for_operator(plan(STOP, CONFIGURE, other, RESUME), EMITTED)
    changes = {"offsets.storage.topic": "t"}
    assert [each.settings for each in steps(made) if isinstance(each, AwaitOperator)] == [{}, changes, changes]


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (STOP_HINT, STOP_BY_RESOURCE),
        ("stop it again (PUT /connectors/c/stop)", STOP_BY_RESOURCE),
        ("name that topic", "name that topic"),
        (None, None),
    ],
)
def test_the_instruction_to_stop_the_connector_names_its_resource(given: str | None, told: str | None):
    running = replace(plan(VERIFY), objections=("connector c is STARTED",), hint=given)
    assert for_operator(running, OperatedConnectors(every=True)).hint == told


def test_remaining_steps_by_hand_are_described_by_the_resource():
    resumed, other = (resumed_by_hand(f"resume connector {name}", name) for name in ("c", "cc"))
    made = for_operator(plan(PlannedStep(resumed), PlannedStep(other)), OperatedConnectors(states={"c": "stopped"}))
    assert steps(made) == [ManualStep("resume connector c (state: running in its resource)"), other]
    asked = ManualStep("look at the source", "c")
    assert steps(for_operator(plan(PlannedStep(asked)), EMITTED)) == [asked], "it is the same with an operator"


@pytest.mark.parametrize(
    ("step", "over_rest", "by_resource"),
    [
        (
            created_by_hand("new", "c", None, ""),
            "new with the config of c",
            "create KafkaConnector new with the config of c",
        ),
        (
            created_by_hand("new", "c", "h", ", and with x=y"),
            "new in Connect cluster h with the config of c, and with x=y",
            "create KafkaConnector new in Connect cluster h with the config of c, and with x=y",
        ),
        (
            created_by_hand("c", "c", "h", ""),
            "c in Connect cluster h with the config of c",
            "let the label strimzi.io/cluster of KafkaConnector c name the KafkaConnect of group h",
        ),
    ],
)
def test_a_connector_that_a_person_creates_is_described_with_its_cluster(step, over_rest: str, by_resource: str):
    assert step == ManualStep(f"create connector {over_rest}", "c", by_resource)


@pytest.mark.parametrize(
    ("move", "created"),
    [
        (replace(TO_OWN, new_name="x"), "create connector x with the config of c, and with offsets.storage.topic=new"),
        (
            replace(TO_OWN, new_name="x", setting=None),
            "create connector x with the config of c, and without offsets.storage.topic",
        ),
        (replace(TO_OWN, new_name="x", unchanged=True), "create connector x with the config of c"),
    ],
)
def test_a_new_name_is_created_by_hand_with_what_differs(move: Move, created: str):
    facts = replace(FACTS, connectors={**FACTS.connectors, (S, "x"): ConnectorFacts(None)})
    said = [each.step.instruction for each in plan_migration(replace(WISH, moves=(move,)), facts).plan.steps
            if isinstance(each.step, ManualStep)]  # fmt: skip
    assert said[0] == created


def test_a_new_name_is_configured_though_no_setting_changes():
    move = replace(TO_OWN, new_name="x", unchanged=True)
    facts = replace(FACTS, connectors={**FACTS.connectors, (S, "x"): ConnectorFacts(None)}, source_workers=("w",))
    configured = one(plan_migration(replace(ALL, moves=(move,)), facts).plan, SetConnectorConfig).step
    assert configured == SetConnectorConfig(S, "x", {}, {}, "c")
    stays = replace(TO_OWN, unchanged=True)
    assert "SetConnectorConfig" not in kinds(plan_migration(replace(ALL, moves=(stays,)), FACTS).plan)


@pytest.mark.parametrize("now", [None, TopicNow(TopicFacts("own", PARTITIONS, 1), "id")])
def test_the_own_offsets_topic_is_created_where_it_does_not_exist(now: TopicNow | None):
    facts = replace(OWN_FACTS, topics={**OWN_FACTS.topics, (S, "own"): now})
    planned = plan_restore(OWN, facts)
    assert planned.objections == ()
    assert kinds(planned.plan).count("CreateTopic") == (now is None)


# The schema history of a connector that goes to another Kafka cluster.

ELSEWHERE = replace(WISH, other_cluster=True, target_group_id="h")


def history_found(history: KeptHistory | Skipped) -> list[tuple[str, str, bool]]:
    """ID and severity of the findings about it, and whether the plan is refused for it."""
    facts = replace(
        FACTS,
        cluster_ids={S: "k", T: "l"},
        connectors={(S, "c"): ConnectorFacts("STOPPED"), (T, "c"): ConnectorFacts(None)},
        histories={"c": history},
    )
    planned = plan_migration(ELSEWHERE, facts)
    found = [each for each in planned.findings if each.name == "schema-history-left-behind"]
    return [(each.id, each.severity.value, each.message in planned.objections) for each in found]


@pytest.mark.parametrize(
    ("history", "found"),
    [
        (KeptHistory("h", "k", 3), [("EOS414", "error", True)]),
        (KeptHistory("h", "k", 3, is_copied=True), [("EOS414", "warning", False)]),
        (KeptHistory("h", "l", 0), []),  # it is in the target already
        (KeptHistory("h", "m", 0), []),  # a third cluster, which both Connect clusters reach
        (KeptHistory("h", "k", 0), []),  # a connector that keeps none, though its config names a topic
        (KeptHistory("h", Skipped("no broker answers")), [("EOS414", "warning", False)]),
        (Skipped("Read is missing"), [("EOS414", "warning", False)]),
        (KeptHistory(None), [("EOS414", "warning", False)]),  # a file of the worker's host
    ],
)
def test_a_move_to_another_kafka_takes_the_schema_history_along_or_is_refused(history, found):
    assert history_found(history) == found


def test_where_the_schema_history_is_is_read_from_both_generations_of_debezium():
    new = {"schema.history.internal.kafka.topic": "h", "schema.history.internal.kafka.bootstrap.servers": "a:1"}
    old = {"database.history.kafka.topic": "h", "database.history.kafka.bootstrap.servers": "a:1"}
    assert schema_history(new) == schema_history(old) == SchemaHistory("h", "a:1")
    assert schema_history({}) is None
    assert schema_history({"schema.history.internal.kafka.topic": "h"}) == SchemaHistory("h", None)
    assert keeps_history_in_a_file({"database.history": "io.debezium.relational.history.FileDatabaseHistory"})
    assert not keeps_history_in_a_file(new)


def test_of_several_connectors_only_one_that_was_stopped_just_now_is_not_stopped_again():
    pair = (replace(TO_OWN, new_name="x"), replace(TO_OWN, connector="d", new_name="y"))
    names = {(side, name): ConnectorFacts(None) for side in Side for name in ("x", "y")}
    facts = replace(FACTS, connectors=names | {(S, "c"): ConnectorFacts("STOPPED"), (S, "d"): RUNNING_C})
    just = StopConnector(S, "c", paused=True)
    plan = plan_migration(replace(ALL, moves=pair, just_stopped=(just,)), facts).plan
    assert [each.step for each in plan.steps if isinstance(each.step, StopConnector)] == [just, StopConnector(S, "d")]


def test_each_connector_of_a_move_waits_for_itself_alone():
    pair = (replace(TO_OWN, new_name="x"), replace(TO_OWN, connector="d", new_name="y"))
    names = {(side, name): ConnectorFacts(None) for side in Side for name in ("x", "y")}
    facts = replace(FACTS, connectors=names | {(S, name): ConnectorFacts("STOPPED") for name in ("c", "d")})
    plan = plan_migration(replace(ALL, moves=pair), facts).plan
    waits = [
        {each.connector for each in planned.preconditions if isinstance(each, ConnectorStopped)}
        for planned in plan.steps
        if isinstance(planned.step, WriteOffsets)
    ]
    assert waits == [{"c", "x"}, {"d", "y"}]


def test_ids_of_each_cluster_must_be_free_in_that_cluster():
    facts = replace(
        FACTS,
        cluster_ids={S: "k", T: "l"},
        connectors={(S, "c"): ConnectorFacts("STOPPED"), (T, "c"): ConnectorFacts(None)},
        fenced_ids={S: ("g-c-0",), T: ("h-c-0",)},
    )
    plan = plan_migration(ELSEWHERE, facts).plan
    free = [
        (planned.step.side, {each.side for each in planned.preconditions if isinstance(each, NoLiveOwner)})
        for planned in plan.steps
        if isinstance(planned.step, FenceProducers)
    ]
    assert free == [(S, {S}), (T, {T})]
    idle = plan_migration(ELSEWHERE, replace(facts, fenced_ids={S: (), T: ("h-c-0",)})).plan
    sides = {each.side for step in idle.steps for each in step.preconditions if isinstance(each, NoLiveOwner)}
    assert sides == {T}, "where no ID is taken none must be free"


def test_a_connector_that_stays_in_its_connect_cluster_is_not_asked_for_in_another():
    facts = replace(FACTS, connectors={**FACTS.connectors, (T, "c"): Skipped("no worker answers")})
    planned = plan_migration(WISH, facts)
    assert (planned.objections, [each.name for each in planned.findings]) == ((), [])


def test_a_config_that_is_changed_in_place_is_read_where_the_connector_is():
    gone = replace(FACTS, connectors={(S, "c"): ConnectorFacts(None)}, source_workers=())
    said = plan_migration(ALL, gone).objections
    assert said == ("connector c does not exist, so there is no config for --set-config",)


@pytest.mark.parametrize(
    ("version", "words"),
    [("4.3.1", "1 key that is not of source offsets: workers of 4.3.1 and newer log and ignore them"),
     ("3.6.0", "1 key that is not of source offsets")],
)  # fmt: skip
def test_keys_of_no_offsets_are_counted_without_those_of_offsets(version: str, words: str):
    held = {**FACTS.offsets, (T, "new"): topic_of("new", 1, [(0, b"hello", b"1"), (0, b'["d",{"f":1}]', b"1")])}
    facts = replace(FACTS, offsets=held, worker_version=KafkaVersion.parse(version))
    [found] = [each for each in plan_migration(WISH, facts).findings if each.name == "foreign-keys"]
    assert found.message == f"topic new holds {words}"
