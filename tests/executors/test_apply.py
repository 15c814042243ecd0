"""A plan that is applied while the cluster changes: what is read again, when, and which error the run ends with."""

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from eosctl.codecs.plan import encode_plan
from eosctl.errors import ConfigError, EosctlError, Interrupted, PartlyApplied, Refused, Unreachable
from eosctl.executors.apply import ApplyRun, Journal, Recheck, check_plan, leave_undo_file
from eosctl.model.names import Side
from eosctl.model.plan import (
    FenceProducers,
    OffsetsWrite,
    Plan,
    PlannedStep,
    ResumeConnector,
    Step,
    StopConnector,
    WriteOffsets,
)
from eosctl.model.planned import ApplyOutcome, StepOutcome
from eosctl.model.preconditions import (
    ClusterIs,
    ConnectorFacts,
    ConnectorStopped,
    NoOpenTransaction,
    OffsetsNow,
    OffsetsUnchanged,
    PlanFacts,
    Precondition,
)
from tests.fake_cluster import InTurn

S = Side.SOURCE
DIGEST = "sha256:1"
STOPPED = ConnectorStopped(S, "orders")
FENCE = FenceProducers(S, ("g-orders-0",), 60_000)
RECORDS = (OffsetsWrite(0, b"k", b"v", None),)
WRITE = WriteOffsets(S, "offsets", "orders", "g-orders-0", 60_000, RECORDS, "read", "old", "new")
UNCHANGED = OffsetsUnchanged(S, "offsets", "orders", "read", "new")
AT_REST = PlanFacts(connectors={(S, "orders"): ConnectorFacts("STOPPED")})
STARTED = PlanFacts(connectors={(S, "orders"): ConnectorFacts("RUNNING", 1)})


def plan_of(*steps: PlannedStep) -> Plan:
    return Plan("migrate-offsets", 1, steps)


TWO_STEPS = plan_of(PlannedStep(FENCE, (STOPPED,)), PlannedStep(StopConnector(S, "other"), (STOPPED,)))


class Cluster:
    """A cluster that has the next of these facts at each reading."""

    def __init__(self, *facts: PlanFacts) -> None:
        self.read = InTurn(*facts)
        self.done: list[Step] = []

    def perform(self, step: Step, recheck: Recheck) -> str:
        recheck()
        self.done.append(step)
        return "done so"


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    with Journal(tmp_path / "orders.plan.journal", DIGEST) as opened:
        yield opened


def applied(
    plan: Plan, journal: Journal, cluster: Cluster, perform: Callable[[Step, Recheck], str] | None = None
) -> tuple[ApplyOutcome, EosctlError | None]:
    performers = {type(each.step): perform or cluster.perform for each in plan.steps}
    return ApplyRun(plan, journal, cluster.read, performers).run()


def test_each_step_is_held_against_the_cluster_as_it_is_then(journal: Journal) -> None:
    """Rule 2: the connector starts between the check of the whole plan and the step, and its task is not fenced."""
    cluster = Cluster(AT_REST, STARTED)
    outcome, error = applied(TWO_STEPS, journal, cluster)
    assert isinstance(error, Refused)
    assert "connector orders" in error.message
    assert cluster.done == []
    assert [each.outcome for each in outcome.results] == [StepOutcome.NOT_BEGUN, StepOutcome.NOT_BEGUN]
    assert journal.begun == frozenset()


def test_a_change_during_a_step_is_seen_by_its_recheck(journal: Journal) -> None:
    """A performer asks again with its transaction open: offsets that a task wrote meanwhile are not written over."""
    cluster = Cluster(AT_REST, AT_REST, STARTED)
    outcome, error = applied(TWO_STEPS, journal, cluster)
    assert isinstance(error, Refused)
    assert cluster.done == []
    assert [each.outcome for each in outcome.results] == [StepOutcome.FAILED, StepOutcome.NOT_BEGUN]


def test_the_recheck_reads_every_precondition_of_its_step_again(journal: Journal) -> None:
    cluster = Cluster(AT_REST)
    _, error = applied(TWO_STEPS, journal, cluster)
    assert error is None
    assert len(cluster.read.asked) == 5, "the plan as a whole once, then each step before it and within it"
    assert {STOPPED} == {each for [asked] in cluster.read.asked for each in asked}
    assert cluster.done == [FENCE, StopConnector(S, "other")]


def test_offsets_that_changed_since_they_were_planned_are_not_written(journal: Journal) -> None:
    plan = plan_of(PlannedStep(WRITE, (UNCHANGED,)))
    as_planned, changed = (
        PlanFacts(offsets={(S, "offsets", "orders"): OffsetsNow(each, each)}) for each in ("read", "x")
    )
    assert check_plan(plan, (), lambda _: as_planned)[1] is None
    refused = check_plan(plan, (), lambda _: changed)[1]
    assert isinstance(refused, Refused)
    cluster = Cluster(as_planned, changed)
    assert isinstance(applied(plan, journal, cluster)[1], Refused)
    assert cluster.done == []


def test_a_refusal_after_changes_of_an_earlier_run_is_partly_applied(tmp_path: Path) -> None:
    """A refusal says that nothing was changed: that would be wrong."""
    stop, resume = StopConnector(S, "orders"), ResumeConnector(S, "orders", "offsets")
    plan = plan_of(PlannedStep(stop), PlannedStep(resume, (ClusterIs(S, "k"),)))
    path = tmp_path / "orders.plan.journal"

    def broken(step: Step, _: Recheck) -> str:
        if step == resume:
            raise Unreachable("the worker does not answer")
        return "stopped"

    here = Cluster(PlanFacts(cluster_ids={S: "k"}))
    with Journal(path, DIGEST) as journal:
        applied(plan, journal, here, broken)
    with Journal(path, DIGEST) as journal:
        assert journal.done == {1}
        outcome, error = applied(plan, journal, Cluster(PlanFacts(cluster_ids={S: "another"})))
    assert outcome.changed
    assert isinstance(error, PartlyApplied)
    assert error.message.startswith("1 of 2 steps are done, then: ")
    assert [each.outcome for each in outcome.results] == [StepOutcome.DONE_BEFORE, StepOutcome.NOT_BEGUN]


def test_fencing_changes_nothing_that_lasts_so_what_follows_stays_a_refusal(journal: Journal) -> None:
    cluster = Cluster(AT_REST, AT_REST, AT_REST, STARTED)
    outcome, error = applied(TWO_STEPS, journal, cluster)
    assert cluster.done == [FENCE]
    assert not outcome.changed
    assert isinstance(error, Refused)


def test_an_interrupted_run_ends_as_interrupted_though_steps_are_done(journal: Journal) -> None:
    """130, like every program that Ctrl-C ends, with the count of finished steps."""
    plan = plan_of(PlannedStep(StopConnector(S, "orders")), PlannedStep(StopConnector(S, "other")))

    def interrupted(step: Step, _: Recheck) -> str:
        if step == StopConnector(S, "other"):
            raise KeyboardInterrupt
        return "stopped"

    outcome, error = applied(plan, journal, Cluster(PlanFacts()), interrupted)
    assert outcome.changed
    assert isinstance(error, Interrupted)
    assert error.exit_code == 130
    assert error.message.endswith("; 1 of 2 steps are done")


def test_two_runs_of_one_plan_at_once_are_refused_and_the_next_one_may(tmp_path: Path) -> None:
    path = tmp_path / "orders.plan.journal"
    with (
        Journal(path, DIGEST),
        pytest.raises(Refused, match="another eosctl is applying this plan now"),
        Journal(path, DIGEST),
    ):
        pass
    with Journal(path, DIGEST) as free:
        assert free.done == frozenset()


def test_offsets_that_are_planned_again_may_change_until_their_connectors_are_stopped() -> None:
    """Everything else must hold now: the connector's state, and the cluster."""
    plan = plan_of(PlannedStep(WRITE, (ClusterIs(S, "k"), UNCHANGED, NoOpenTransaction(S, "offsets", "orders"))))
    asked: list[Sequence[Precondition]] = []

    def read(needed: Sequence[Precondition]) -> PlanFacts:
        asked.append(needed)
        return PlanFacts(cluster_ids={S: "k"}, offsets={(S, "offsets", "orders"): OffsetsNow("x", "x", ("7/1",))})

    assert check_plan(plan, (), read, replanned=True)[1] is None
    assert asked == [(ClusterIs(S, "k"),)]
    assert isinstance(check_plan(plan, (), read)[1], Refused)


def test_a_plan_of_one_step_that_is_interrupted_counts_no_steps(journal: Journal) -> None:
    def interrupted(step: Step, _: Recheck) -> str:
        raise KeyboardInterrupt

    one = plan_of(PlannedStep(StopConnector(S, "orders")))
    _, error = applied(one, journal, Cluster(PlanFacts()), interrupted)
    assert isinstance(error, Interrupted)
    assert error.message.startswith("interrupted in step 1")
    assert "steps are done" not in error.message


def link(path: Path) -> None:
    path.symlink_to(path.with_name("elsewhere"))


@pytest.mark.parametrize("make", [link, Path.mkdir, os.mkfifo], ids=["link", "directory", "pipe"])
def test_a_journal_that_is_no_regular_file_is_not_followed_or_written(tmp_path: Path, make) -> None:
    """In a directory that others may write to, a link would lead the journal to a file of the user's."""
    path = tmp_path / "orders.plan.journal"
    make(path)
    with pytest.raises(Refused, match="is no regular file, so it is not the plan's journal"), Journal(path, DIGEST):
        pass


def test_a_journal_in_a_directory_that_is_not_there_cannot_be_written(tmp_path: Path) -> None:
    path = tmp_path / "no" / "orders.plan.journal"
    with pytest.raises(ConfigError, match=r"cannot write .*: No such file or directory$"), Journal(path, DIGEST):
        pass


UNDO = Plan("undo", 1, (PlannedStep(StopConnector(Side.SOURCE, "orders")),))


def test_the_plan_that_leads_back_is_written_once_and_may_lie_there(tmp_path: Path) -> None:
    path = tmp_path / "own" / "p.undo"
    leave_undo_file(path, UNDO)
    content = path.read_text()
    assert content == encode_plan(UNDO)
    leave_undo_file(path, UNDO)
    assert path.read_text() == content


def as_long(path: Path) -> None:
    path.write_text("x" * len(encode_plan(UNDO)))


def to_nothing(path: Path) -> None:
    path.symlink_to(path.with_name("gone"))


@pytest.mark.parametrize("make", [Path.touch, Path.mkdir, as_long, to_nothing])
def test_another_file_that_lies_in_the_place_of_the_undo_is_left_and_refused(tmp_path: Path, make) -> None:
    path = tmp_path / "p.undo"
    make(path)
    with pytest.raises(Refused, match="does not lead back from this plan; nothing was changed"):
        leave_undo_file(path, UNDO)
    assert not path.is_file() or path.read_text() != encode_plan(UNDO)
    assert not path.with_name("gone").exists()
