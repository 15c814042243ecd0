"""The journal of a plan says what happened, also on a full disk, and nothing else that lies in its place is changed."""

import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from eosctl.atomic_write import write_atomic_file
from eosctl.codecs.plan import JournalEvent, encode_journal_head
from eosctl.errors import ConfigError, PartlyApplied, Refused, Undecodable, Unreachable
from eosctl.executors.apply import ApplyRun, Journal
from eosctl.model.plan import FenceProducers, ManualStep, Plan, PlannedStep, Side, StopConnector
from eosctl.model.planned import ApplyOutcome, StepOutcome
from eosctl.model.preconditions import PlanFacts
from tests.attack.full_disk import full_beyond

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
def test_a_step_that_is_done_is_said_to_be_done_though_the_disk_is_full(journal: Path, step: object, beyond: int):
    with full_beyond(room_for(JournalEvent.BEGUN) + beyond):
        outcome, error = applied(journal, step, ManualStep("look"))
    assert isinstance(error, PartlyApplied)
    assert "step 1 is done, not journaled: cannot write" in error.message
    assert [each.outcome for each in outcome.results] == [StepOutcome.DONE, StepOutcome.NOT_BEGUN]
    assert outcome.results[0].detail.startswith("done so; not journaled: cannot write")
    assert journal.stat().st_size == room_for(JournalEvent.BEGUN)


def test_what_could_not_be_journaled_is_done_again_by_the_next_run(journal: Path):
    with full_beyond(room_for(JournalEvent.BEGUN) + 7):
        applied(journal, STOP)
    outcome, error = applied(journal, STOP)
    assert (error, outcome.results[0].outcome) == (None, StepOutcome.DONE)
    outcome, _ = applied(journal, STOP)
    assert outcome.results[0].outcome is StepOutcome.DONE_BEFORE


def test_a_step_that_failed_says_why_though_the_disk_is_full(journal: Path):
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


def test_a_step_that_is_interrupted_is_not_said_to_be_unbegun(journal: Path):
    def interrupt() -> str:
        raise KeyboardInterrupt

    outcome, error = applied(journal, STOP, perform=interrupt)
    assert outcome.results[0].outcome is StepOutcome.FAILED
    assert (
        "interrupted in step 1, stop connector orders and wait until it has no tasks: whether it was done is not known"
        in str(error)
    )


@pytest.mark.parametrize("short", [1, 5])
def test_a_write_that_takes_less_than_it_was_given_goes_on(journal: Path, monkeypatch, short: int):
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
