"""Plans and journals that others can write to."""

import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from eosctl.atomic_write import write_atomic_file
from eosctl.codecs.plan import JournalEvent, encode_journal_head
from eosctl.errors import ConfigError, PartlyApplied, Refused, Undecodable, Unreachable
from eosctl.executors.apply import ApplyRun, Journal, write_plan_file
from eosctl.model.acls import AclBinding, Operation, PatternType, ResourcePattern, ResourceType
from eosctl.model.names import Side
from eosctl.model.plan import (
    AbortTransaction,
    CreateAcls,
    DeleteAcls,
    FenceProducers,
    ManualStep,
    Plan,
    PlannedStep,
    PlanTarget,
    SetConnectorConfig,
    StopConnector,
    VerifyOffsets,
    WriteOffsets,
    demanded_steps,
    lacking,
)
from eosctl.model.planned import ApplyOutcome, StepOutcome
from eosctl.model.preconditions import (
    AclsPresent,
    ClusterIs,
    ConnectorFacts,
    ConnectorStopped,
    NoLiveOwner,
    OffsetsNow,
    PlanFacts,
    TransactionHangs,
)
from eosctl.planning.migration import plan_migration
from eosctl.planning.undo import undo_plan
from tests.attack.full_disk import full_beyond
from tests.planning.test_migration import ALL, FACTS, RUNNING, WISH

STOP = StopConnector(Side.SOURCE, "orders")
FENCE = FenceProducers(Side.SOURCE, ("connect-cluster-orders-0",), 60_000)
DIGEST = "sha256:1"
HEAD = len(encode_journal_head(DIGEST))


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    return tmp_path / "orders.plan.journal"


def applied(
    path: Path, *steps: object, perform: Callable[[], str] = lambda: "done so"
) -> tuple[ApplyOutcome, Exception | None]:
    plan = Plan("migrate-offsets", 1, tuple(PlannedStep(step) for step in steps))
    performers = {type(step): lambda step, recheck: perform() for step in steps}
    with Journal(path, DIGEST) as opened:
        return ApplyRun(plan, opened, lambda _: PlanFacts(), performers).run()


def room_for(*events: JournalEvent) -> int:
    """How large the journal is with these lines of step 1."""
    lines = [f'{{"step": 1, "event": "{event}", "detail": "{"done so" * (event == "done")}"}}\n' for event in events]
    return HEAD + sum(map(len, lines))


@pytest.mark.parametrize("step", [STOP, FENCE])
@pytest.mark.parametrize("beyond", [0, 1, 20])
def test_a_completed_step_is_reported_as_done_although_the_disk_is_full(journal: Path, step: object, beyond: int):
    with full_beyond(room_for(JournalEvent.BEGUN) + beyond):
        outcome, error = applied(journal, step, ManualStep("look"))
    assert isinstance(error, PartlyApplied)
    assert "step 1 is done, not journaled: cannot write" in error.message
    assert [each.outcome for each in outcome.results] == [StepOutcome.DONE, StepOutcome.NOT_BEGUN]
    assert outcome.results[0].detail.startswith("done so; not journaled: cannot write")
    assert journal.stat().st_size == room_for(JournalEvent.BEGUN)


def test_a_step_that_could_not_be_journaled_is_repeated_by_the_next_run(journal: Path):
    with full_beyond(room_for(JournalEvent.BEGUN) + 7):
        applied(journal, STOP)
    outcome, error = applied(journal, STOP)
    assert (error, outcome.results[0].outcome) == (None, StepOutcome.DONE)
    outcome, _ = applied(journal, STOP)
    assert outcome.results[0].outcome is StepOutcome.DONE_BEFORE


def test_a_failed_step_gives_its_reason_although_the_disk_is_full(journal: Path):
    def fail() -> str:
        raise Unreachable("the worker does not answer")

    with full_beyond(room_for(JournalEvent.BEGUN)):
        outcome, error = applied(journal, STOP, perform=fail)
    assert isinstance(error, Unreachable)
    assert outcome.results[0].outcome is StepOutcome.FAILED
    assert outcome.results[0].detail.startswith("the worker does not answer; not journaled")


def test_nothing_is_done_where_its_beginning_cannot_be_journaled(journal: Path):
    acted = []
    with full_beyond(HEAD + 3):
        outcome, error = applied(journal, STOP, perform=lambda: acted.append("x") or "")
    assert isinstance(error, ConfigError)
    assert "File too large" in error.message
    assert (outcome.results[0].outcome, acted) == (StepOutcome.NOT_BEGUN, [])


def test_an_interrupted_step_is_not_reported_as_not_begun(journal: Path):
    def interrupt() -> str:
        raise KeyboardInterrupt

    outcome, error = applied(journal, STOP, perform=interrupt)
    assert outcome.results[0].outcome is StepOutcome.FAILED
    assert (
        "interrupted in step 1, stop connector orders and wait until it has no tasks: whether it was done is not known"
        in str(error)
    )


@pytest.mark.parametrize("short", [1, 5])
def test_a_write_that_takes_less_than_it_was_given_continues(journal: Path, monkeypatch, short: int):
    whole = os.pwrite
    monkeypatch.setattr(os, "pwrite", lambda file, data, place: whole(file, data[:short], place))
    applied(journal, STOP)
    assert journal.stat().st_size == room_for(JournalEvent.BEGUN, JournalEvent.DONE)


FOREIGN = {
    "a text without a line end": b"a letter",
    "a text": b"a letter\nthat was not finished",
    "JSON of something else": b'{"kind":"eosctl.plan","version":1}\n{"half',
    "a journal of another plan": encode_journal_head("sha256:other").encode() + b"{",
    "a key": b"-----BEGIN " + b"PRIVATE KEY-----\nAAAA",
    "zeros": bytes(100),
    "nesting": b"[" * 200_000 + b"\n",
}


@pytest.mark.parametrize("name", FOREIGN)
def test_a_file_that_is_not_the_journal_stays_as_it_is(journal: Path, name: str):
    journal.write_bytes(FOREIGN[name])
    with pytest.raises(Undecodable), Journal(journal, DIGEST):
        pass
    assert journal.read_bytes() == FOREIGN[name]


def test_a_file_that_is_larger_than_any_journal_stays_as_it_is(journal: Path, monkeypatch):
    monkeypatch.setattr("eosctl.executors.apply.MOST_BYTES", 1_000)
    content = encode_journal_head(DIGEST).encode() + bytes(1_000)
    journal.write_bytes(content)
    with pytest.raises(Undecodable), Journal(journal, DIGEST):
        pass
    assert journal.read_bytes() == content


def test_links_pipes_and_directories_are_no_journal(journal: Path, tmp_path: Path):
    target = tmp_path / "target"
    target.write_bytes(b"")
    for make in (lambda: journal.symlink_to(target), lambda: journal.symlink_to("/dev/null"), journal.mkdir):
        make()
        with (
            pytest.raises(Refused, match="is no regular file, so it is not the plan's journal"),
            Journal(journal, DIGEST),
        ):
            pass
        journal.rmdir() if journal.is_dir() and not journal.is_symlink() else journal.unlink()
    os.mkfifo(journal)
    with pytest.raises(Refused, match="is no regular file"), Journal(journal, DIGEST):
        pass
    assert target.read_bytes() == b""


def test_a_journal_of_another_user_is_refused_unless_the_plan_is_theirs(journal: Path, monkeypatch):
    with Journal(journal, DIGEST):
        pass
    before = journal.read_bytes()
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    with pytest.raises(Refused, match="belongs to user ID"), Journal(journal, DIGEST):
        pass
    assert journal.read_bytes() == before
    journal.with_suffix("").write_text("the plan")
    with Journal(journal, DIGEST):
        pass


def test_a_line_that_was_cut_by_a_crash_is_taken_away_and_the_rest_kept(journal: Path):
    with Journal(journal, DIGEST) as opened:
        opened.write(1, JournalEvent.BEGUN)
    whole = journal.read_bytes()
    journal.write_bytes(whole + b'{"step": 1, "eve')
    with Journal(journal, DIGEST) as opened:
        assert opened.begun == {1}
    assert journal.read_bytes() == whole


def test_a_head_that_was_cut_by_a_crash_is_written_again(journal: Path):
    journal.write_bytes(encode_journal_head(DIGEST).encode()[:9])
    with Journal(journal, DIGEST):
        pass
    assert journal.read_bytes() == encode_journal_head(DIGEST).encode()


def test_drafts_of_another_process_are_left_alone(tmp_path: Path, monkeypatch):
    """A process in another container may have this one's ID, and be in the middle of the same file."""
    path = tmp_path / "orders.plan"
    theirs = tmp_path / f".{path.name}.{os.getpid()}"
    theirs.write_text("half")
    monkeypatch.setattr("os.urandom", lambda _: b"\x01")
    taken = tmp_path / ".eosctl-01"
    taken.write_text("half of another")
    with pytest.raises(ConfigError, match="File exists"):
        write_atomic_file(path, "whole")
    assert (theirs.read_text(), taken.read_text()) == ("half", "half of another")


def test_a_file_of_a_long_name_is_written(tmp_path: Path):
    path = tmp_path / ("n" * 250)
    write_atomic_file(path, "whole")
    assert path.read_text() == "whole"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


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
def test_a_removed_precondition_is_checked_or_the_plan_is_refused(plan, place, kind):
    """Preconditions on the side that the step changes: only the planner has read the other side."""
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
        assert "not the value of --require-digest" in ran.stderr


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
    from eosctl.render.cells import Page
    from eosctl.render.formats import Output, text_of

    bare = replace(GOOD[0], steps=tuple(replace(each, preconditions=()) for each in GOOD[0].steps))
    shown = text_of(view_plan(Planned(plan=bare, cluster_id="k", digest="sha256:abc")), Output.TABLE, Page(200, False))
    assert "Its digest: sha256:abc." in shown
    assert "the offsets of connector c in topic new (target) are unchanged" in shown
    full = text_of(view_plan(Planned(plan=GOOD[0], cluster_id="k")), Output.TABLE, Page(200, False))
    assert "connector c is STOPPED without tasks, or does not exist" in full
    assert "the cluster is k" in full
