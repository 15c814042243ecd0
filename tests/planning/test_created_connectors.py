"""What a plan of a connector that begins at given offsets holds, what speaks against it, and what leads back."""

import pytest
from msgspec.structs import replace

from eosctl.model.migration import MigrationFacts
from eosctl.model.offsets import ConnectorOffset
from eosctl.model.plan import ConnectorConfigIs, CreateConnector, CreateTopic, DeleteConnector, Plan, Side, WriteOffsets
from eosctl.model.preconditions import ConnectorFacts, TopicNow
from eosctl.model.skipped import Skipped
from eosctl.model.step_descriptions import demanded_steps, describe_step, lacking
from eosctl.model.topics import TopicFacts
from eosctl.model.versions import KafkaVersion
from eosctl.model.workers import LiveOwners
from eosctl.planning.restore import NewConnector, RestoreRequest, plan_restore
from eosctl.planning.undo import undo_plan
from tests.planning.offsets_topics import java, topic_of

S = Side.SOURCE
KEY = b'["orders",{"server":"shop"}]'
OTHER = b'["orders",{"server":"other"}]'
NEW = NewConnector("orders", "/etc/orders.json", "sha256:1")
BEGIN = (ConnectorOffset({"server": "shop"}, {"lsn": 7}),)
WISH = RestoreRequest("orders", "g", ("offsets",), BEGIN, resume=True, new=NEW)
FACTS = MigrationFacts(
    as_of=1,
    cluster_ids={S: "k"},
    connectors={(S, "orders"): ConnectorFacts(None)},
    topics={(S, "offsets"): TopicNow(TopicFacts("offsets", 3, 2), "id")},
    offsets={(S, "offsets"): topic_of("offsets", 3, [])},
    live_owners={S: LiveOwners()},
    worker_version=KafkaVersion(3, 7),
)
OWN = replace(WISH, topics=("offsets", "own"), own_topic=True)
OWN_FACTS = replace(
    FACTS,
    topics={**FACTS.topics, (S, "own"): None},
    offsets={**FACTS.offsets, (S, "own"): topic_of("own", 0, [])},
)


def kinds(plan: Plan) -> list[str]:
    return [type(each.step).__name__ for each in plan.steps]


def left(offsets: dict[bytes, bytes | None]) -> MigrationFacts:
    return replace(FACTS, offsets={(S, "offsets"): topic_of("offsets", 3, java(3, offsets))})


def test_it_is_created_stopped_before_its_offsets_are_written_and_resumed_after_they_were_read_back():
    planned = plan_restore(WISH, FACTS)
    assert planned.objections == ()
    assert planned.plan.kind == "offsets.create-connector"
    assert kinds(planned.plan) == ["CreateConnector", "WriteOffsets", "VerifyOffsets", "ResumeConnector"]
    assert planned.plan.steps[0].step == CreateConnector(S, "orders", "/etc/orders.json", "sha256:1")
    write = planned.plan.steps[1].step
    assert isinstance(write, WriteOffsets)
    assert [(each.key, each.value) for each in write.records] == [(KEY, b'{"lsn":7}')]


def test_nobody_resumes_it_unasked():
    plan = plan_restore(replace(WISH, resume=False), FACTS).plan
    assert describe_step(plan.steps[-1].step) == "by hand: resume connector orders (PUT /connectors/orders/resume)"


def test_every_step_has_what_it_demands_and_another_config_under_the_name_stands_in_the_way():
    plan = plan_restore(WISH, FACTS).plan
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
    facts = replace(FACTS, topics={(S, "offsets"): None}, offsets={(S, "offsets"): topic_of("offsets", 0, [])})
    assert plan_restore(WISH, facts).objections == ("topic offsets does not exist",)


@pytest.mark.parametrize(
    ("facts", "why"),
    [
        (
            replace(FACTS, connectors={(S, "orders"): ConnectorFacts("STOPPED")}),
            "connector orders exists: it is STOPPED",
        ),
        (
            replace(FACTS, connectors={(S, "orders"): Skipped("no worker answers")}),
            "whether connector orders exists is unknown: no worker answers",
        ),
        (
            replace(FACTS, worker_version=KafkaVersion(3, 6, 2)),
            "workers of 3.6.2 cannot create a connector STOPPED (KIP-980, since 3.7.0)",
        ),
        (
            left({OTHER: b'{"lsn":3}'}),
            "topic offsets holds 1 offset that is not those of the file, of a connector orders that was deleted",
        ),
        (
            left({KEY: b'{"lsn":3}', OTHER: b'{"lsn":3}'}),
            "topic offsets holds 2 offsets that are not those of the file, of a connector orders that was deleted",
        ),
    ],
)
def test_what_speaks_against_it_is_said(facts: MigrationFacts, why: str):
    assert why in plan_restore(WISH, facts).objections


def test_a_file_without_an_offset_is_no_beginning():
    planned = plan_restore(replace(WISH, offsets=(ConnectorOffset({"server": "shop"}, None),)), FACTS)
    assert planned.objections == ("the file has no offset to begin at",)


@pytest.mark.parametrize("offsets", [{KEY: b'{"lsn":7}'}, {KEY: b'{"lsn":7}', OTHER: None}])
def test_offsets_that_are_left_as_they_shall_be_do_not_stand_in_the_way(offsets: dict[bytes, bytes | None]):
    planned = plan_restore(WISH, left(offsets))
    assert planned.objections == ()
    assert kinds(planned.plan) == ["CreateConnector", "ResumeConnector"]


def test_others_are_written_over_where_the_user_says_so_and_those_that_the_file_lacks_stay():
    wish = replace(WISH, new=replace(NEW, overwrite=True))
    planned = plan_restore(wish, left({KEY: b'{"lsn":3}', OTHER: b'{"lsn":4}'}))
    assert planned.objections == ()
    write = planned.plan.steps[1].step
    assert isinstance(write, WriteOffsets)
    assert [(each.key, each.before, each.value) for each in write.records] == [(KEY, b'{"lsn":3}', b'{"lsn":7}')]


def test_the_undo_stops_it_takes_the_offsets_away_and_deletes_it_last():
    plan = plan_restore(WISH, FACTS).plan
    undo = undo_plan(plan)
    assert kinds(undo) == ["StopConnector", "WriteOffsets", "VerifyOffsets", "DeleteConnector"]
    assert undo.steps[-1].step == DeleteConnector(S, "orders", "/etc/orders.json", "sha256:1")
    assert kinds(undo_plan(undo)) == ["WriteOffsets", "VerifyOffsets", "CreateConnector", "ResumeConnector"]


@pytest.mark.parametrize("state", ["RUNNING", "STOPPED", "FAILED"])
def test_one_that_exists_is_the_only_objection_and_its_offsets_are_nobody_elses(state: str):
    facts = replace(left({OTHER: b'{"lsn":3}'}), connectors={(S, "orders"): ConnectorFacts(state)})
    planned = plan_restore(WISH, facts)
    assert planned.objections == (f"connector orders exists: it is {state}",)
    assert planned.hint is not None
    assert "eosctl offsets restore FILE --connector orders" in planned.hint
    assert "--stop" not in planned.hint
