"""What a plan of a migration holds, step by step, what speaks against it, and what leads back."""

import pytest
from msgspec.structs import replace

from eosctl.model.migration import MigrationFacts, MigrationRequest, Move
from eosctl.model.names import ConnectorTaskId
from eosctl.model.plan import (
    ConnectorStopped,
    CreateTopic,
    FenceProducers,
    ManualStep,
    NoLiveOwner,
    OffsetsUnchanged,
    Plan,
    PlannedStep,
    ResumeConnector,
    SetConnectorConfig,
    Side,
    StopConnector,
    WriteOffsets,
)
from eosctl.model.preconditions import ConnectorFacts, TopicNow
from eosctl.model.skipped import Skipped
from eosctl.model.topics import TopicFacts
from eosctl.model.versions import KafkaVersion
from eosctl.model.workers import LiveOwner, LiveOwners
from eosctl.planning.migration import plan_migration, replication_factors
from eosctl.planning.undo import undo_plan
from tests.planning.offsets_topics import topic_of

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
RUNNING = replace(FACTS, connectors={(S, "c"): ConnectorFacts("RUNNING", 2)})


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
    for brokers, told in ((2, 1), (3, 0), (None, 0)):
        assert len(plan_migration(WISH, replace(facts, target_brokers=brokers)).objections) == told
    refused = plan_migration(WISH, replace(facts, target_brokers=2))
    assert refused.objections == (
        "topic new is to be created with replication factor 3, and the target cluster has 2 brokers",
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


@pytest.mark.parametrize(
    ("facts", "told"),
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
def test_what_speaks_against_it(facts: MigrationFacts, told: str):
    [objection] = plan_migration(WISH, facts).objections
    assert told in objection


def test_stop_cannot_help_where_nobody_knows_the_state():
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
    assert "WriteOffsets" not in kinds(migration.plan)


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
    told = "connector c does not exist, so there is no config for --set-config"
    assert plan_migration(ALL, facts).objections == (told,)
    assert plan_migration(WISH, facts).objections == ()
    renamed = replace(ALL, moves=(replace(TO_OWN, new_name="d"),))
    created = replace(FACTS, connectors={(S, "c"): ConnectorFacts(None), (S, "d"): ConnectorFacts("STOPPED")})
    assert plan_migration(renamed, created).objections == ()


def test_a_new_name_that_stands_for_a_connector_is_told():
    renamed = replace(ALL, moves=(replace(TO_OWN, new_name="d"),))
    facts = replace(FACTS, connectors={**FACTS.connectors, (S, "d"): ConnectorFacts("STOPPED")})
    assert [each.name for each in plan_migration(renamed, facts).findings] == ["target-connector-exists"]


def test_ids_that_a_task_of_another_group_has_speak_against_a_move_but_for_force():
    owner = LiveOwner("a-b", ConnectorTaskId("x", 0), "http://w:8083/", "PAUSED")
    facts = replace(FACTS, live_owners={S: LiveOwners({("g-c", 0): (owner,)})})
    refused = plan_migration(WISH, facts)
    assert refused.objections == (
        "transactional ID g-c-0 is also that of task 0 of connector x (PAUSED) in Connect cluster a-b at http://w:8083/",
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
        "connector d is to be created with the config of c, which is had from a worker of Connect cluster g only",
    )


def test_an_undo_says_which_connectors_it_leaves_stopped():
    def left(plan: Plan) -> list[str]:
        texts = [each.step.instruction for each in undo_plan(plan).steps if isinstance(each.step, ManualStep)]
        return [each for each in texts if "it is left STOPPED" in each]

    told = "resume connector c when it may go on (PUT /connectors/c/resume): it is left STOPPED"
    assert left(plan_migration(replace(ALL, stop=False), FACTS).plan) == [told]
    assert left(plan_migration(WISH, FACTS).plan) == [f"{told}, if it exists"]
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
    told = [each.step.instruction for each in undo.steps if isinstance(each.step, ManualStep)]
    assert told[0] == "delete connector c, which the plan created, before any other"
