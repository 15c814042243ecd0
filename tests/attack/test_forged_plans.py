"""Plans that another program made, with a digest that fits: what was left out of them is checked all the same."""

import pytest
from msgspec.structs import replace

from eosctl.executors.apply import ApplyRun, Journal, write_plan_file
from eosctl.model.acls import AclBinding, Operation, PatternType, ResourcePattern, ResourceType
from eosctl.model.plan import (
    AbortTransaction,
    AclsPresent,
    ClusterIs,
    ConnectorStopped,
    CreateAcls,
    DeleteAcls,
    FenceProducers,
    NoLiveOwner,
    Plan,
    PlannedStep,
    PlanTarget,
    SetConnectorConfig,
    Side,
    TransactionHangs,
    VerifyOffsets,
    WriteOffsets,
)
from eosctl.model.preconditions import ConnectorFacts, OffsetsNow, PlanFacts
from eosctl.model.step_descriptions import demanded_steps, lacking
from eosctl.planning.migration import plan_migration
from eosctl.planning.undo import undo_plan
from tests.planning.test_migration import ALL, FACTS, RUNNING, WISH

S, T = Side.SOURCE, Side.TARGET
GOOD = [plan_migration(WISH, FACTS).plan, plan_migration(ALL, RUNNING).plan]
GOOD += [undo_plan(plan) for plan in GOOD]
OPTIONAL = (NoLiveOwner,)
"""A plan that was made with --force lacks them."""


def without(plan, place, kind):
    """The plan whose step at `place` lacks its preconditions of this kind."""
    left = tuple(each for each in plan.steps[place].preconditions if not isinstance(each, kind))
    return with_step(plan, place, left)


def with_step(plan, place, preconditions):
    changed = replace(plan.steps[place], preconditions=preconditions)
    return replace(plan, steps=(*plan.steps[:place], changed, *plan.steps[place + 1 :]))


FORGED = [
    (plan, place, kind)
    for plan in GOOD
    for place, each in enumerate(plan.steps)
    for kind in dict.fromkeys(map(type, each.preconditions))
    if not issubclass(kind, OPTIONAL) and not isinstance(each.step, VerifyOffsets)
]
"""Each plan of eosctl's with each kind of precondition taken out of each of its steps; verifying only reads."""


@pytest.mark.parametrize("plan", GOOD, ids=lambda plan: plan.kind)
def test_a_plan_of_eosctl_has_all_that_its_steps_demand(plan):
    assert lacking(plan) == ()
    assert demanded_steps(plan) == plan.steps


@pytest.mark.parametrize("plan", GOOD, ids=lambda plan: plan.kind)
def test_a_plan_without_any_precondition_is_refused(plan):
    bare = replace(plan, steps=tuple(replace(each, preconditions=()) for each in plan.steps))
    assert any("which cluster" in each for each in lacking(bare))


@pytest.mark.parametrize("kind", [WriteOffsets, SetConnectorConfig, FenceProducers])
def test_a_plan_that_does_not_want_the_connector_stopped_is_refused(kind):
    plan = GOOD[1]
    place = next(number for number, each in enumerate(plan.steps) if isinstance(each.step, kind))
    [reason] = lacking(without(plan, place, ConnectorStopped))
    assert reason.startswith(f"step {place + 1} (")
    assert "is stopped" in reason
    other = (*plan.steps[place].preconditions, ConnectorStopped(S, "another"))
    bent = [each for each in other if each != ConnectorStopped(S, "c")]
    assert "is stopped" in lacking(with_step(plan, place, tuple(bent)))[0]


@pytest.mark.parametrize(("plan", "place", "kind"), FORGED)
def test_what_is_taken_out_is_checked_or_refused(plan, place, kind):
    """What concerns the side that the step changes: what only the planner could know of the other one it has read."""
    step, bare = plan.steps[place], without(plan, place, kind)
    lost = {*step.preconditions} - {*demanded_steps(bare)[place].preconditions}
    assert lacking(bare) or [each for each in lost if each.side is step.step.side] == []


def test_there_are_plans_to_forge():
    assert {each.__name__ for _, _, each in FORGED} == {
        "ClusterIs", "ConnectorStopped", "TopicIsCompact", "TopicIsCompactOrAbsent", "OffsetsUnchanged",
        "NoOpenTransaction",
    }  # fmt: skip


def test_a_connect_cluster_that_could_not_be_seen_is_no_reason_to_refuse():
    plan = replace(GOOD[0], places=(PlanTarget(S, ("b:1",)), PlanTarget(T, ("c:1",))))
    place = next(number for number, each in enumerate(plan.steps) if isinstance(each.step, WriteOffsets))
    step = replace(plan.steps[place].step, connector="renamed")
    elsewhere = replace(plan, steps=(PlannedStep(step, plan.steps[place].preconditions),))
    assert lacking(elsewhere) == ()
    assert lacking(replace(elsewhere, places=(PlanTarget(S, ("b:1",)),))) != ()
    [reason] = lacking(without(elsewhere, 0, ConnectorStopped))
    assert reason.endswith("lacks the precondition that connector renamed is stopped")


def test_an_abort_demands_that_the_transaction_hangs_and_a_deletion_that_the_new_acls_stand():
    abort = AbortTransaction(S, "t", 0, 1, 0, 0, 5)
    [step] = demanded_steps(Plan("x", 1, (PlannedStep(abort, (ClusterIs(S, "k"),)),)))
    assert step.preconditions == (ClusterIs(S, "k"), TransactionHangs(S, "t", 0, 1, 5))
    one, two = acl("one"), acl("two")
    here = (ClusterIs(S, "k"),)
    plan = Plan("x", 1, (PlannedStep(CreateAcls(S, (one,)), here), PlannedStep(DeleteAcls(S, (two,)), here)))
    assert demanded_steps(plan)[1].preconditions == (*here, AclsPresent(S, (one,)))
    stand = with_step(plan, 1, (*here, AclsPresent(S, (one, two))))
    assert demanded_steps(stand) == stand.steps
    there = replace(plan, steps=(PlannedStep(CreateAcls(T, (one,)), here), plan.steps[1]))
    assert demanded_steps(there) == there.steps


def test_the_cluster_of_the_other_side_is_not_that_of_the_step():
    plan = Plan("x", 1, (PlannedStep(CreateAcls(S, (acl("one"),)), (ClusterIs(T, "k"),)),))
    [reason] = lacking(plan)
    assert reason.endswith("lacks the precondition which cluster the source is")


def test_ids_are_fenced_of_connectors_that_are_stopped():
    fence = PlannedStep(FenceProducers(S, ("g--0",), 1), (ClusterIs(S, "k"),))
    [reason] = lacking(Plan("x", 1, (fence,)))
    assert reason.endswith("that the connector of the IDs is stopped")


def acl(name):
    return AclBinding("User:a", Operation.READ, ResourcePattern(ResourceType.TOPIC, name, PatternType.LITERAL))


def test_apply_reads_what_follows_from_a_step_although_the_plan_does_not_say_it(tmp_path):
    write = next(each.step for each in GOOD[0].steps if isinstance(each.step, WriteOffsets))
    plan = Plan("migrate-offsets", 1, (PlannedStep(write, ()),))
    asked = []

    def read(preconditions):
        asked.extend(preconditions)
        now = OffsetsNow("records:other", "values:other")
        return PlanFacts(
            offsets={(write.side, write.topic, write.connector): now}, connectors={(S, "c"): ConnectorFacts("RUNNING")}
        )

    with Journal(tmp_path / "x.journal", "sha256:x") as journal:
        outcome, failure = ApplyRun(plan, journal, read, {}).run()
    assert "changed since the plan was made" in failure.message
    assert not outcome.changed
    assert [type(each).__name__ for each in asked] == ["OffsetsUnchanged"]


def test_a_plan_that_was_not_reviewed_is_refused(eosctl, tmp_path):
    path = tmp_path / "x.plan"
    write_plan_file(path, GOOD[0])
    for command in ("apply", "undo"):
        ran = eosctl(command, path, "--require-digest", "sha256:" + "0" * 64, "-b", "127.0.0.1:1", "--timeout", "0.1")
        assert ran.exit_code == 8
        assert "not the one that --require-digest gives" in ran.stderr


def test_the_digest_that_was_reviewed_is_taken(tmp_path):
    from eosctl.codecs.plan import plan_digest
    from eosctl.operations.plan_files import read_plan

    path = tmp_path / "x.plan"
    write_plan_file(path, GOOD[0])
    digest = plan_digest(GOOD[0])
    for given in (digest, digest.partition(":")[2], digest.upper(), None):
        assert read_plan(path, given).plan == GOOD[0]


def test_the_preview_shows_what_will_be_checked_and_the_digest():
    from eosctl.model.planned import Planned
    from eosctl.render.answers.plan import view_plan
    from eosctl.render.formats import Output, text_of
    from eosctl.render.layout import Page

    bare = replace(GOOD[0], steps=tuple(replace(each, preconditions=()) for each in GOOD[0].steps))
    shown = text_of(view_plan(Planned(plan=bare, cluster_id="k", digest="sha256:abc")), Output.TABLE, Page(200, False))
    assert "Its digest: sha256:abc." in shown
    assert "the offsets of connector c in topic new (target) are those that were read" in shown
    full = text_of(view_plan(Planned(plan=GOOD[0], cluster_id="k")), Output.TABLE, Page(200, False))
    assert "connector c is STOPPED without tasks, or does not exist" in full
    assert "the cluster is k" in full
