"""Applying a plan: check, journal, act, journal, step after step.

1. Steps that the journal calls done are not done again. Of the others every precondition, those that follow from the
   steps too (implied()), must hold before anything is done (model.plan).
2. Immediately before each step its own preconditions are read again and must hold: compare and set.
3. `begun` is on disk before a step acts, `done` before the next one begins. Every performer can be repeated: one that
   finds its work done leaves it, so a run that was killed at any point is finished by the next one.
4. The first step that fails ends the run; those after it are not begun.
5. A step's result is reported even if the journal can no longer be written: the next run repeats that step, and finds
   its work done.
"""

import errno
import fcntl
import os
import stat
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, Self

from msgspec.structs import replace

from eosctl.atomic_write import OWNER_ONLY, make_directory, sync_directory, write_atomic_file
from eosctl.codecs.plan import (
    JournalEntry,
    JournalEvent,
    decode_journal,
    encode_journal_entry,
    encode_journal_head,
    encode_plan,
    not_a_journal,
)
from eosctl.errors import ConfigError, EosctlError, Interrupted, PartlyApplied, Refused, reason_of
from eosctl.model.failpoints import Failpoint, no_failpoint
from eosctl.model.plan import (
    Check,
    ManualStep,
    Plan,
    PlannedStep,
    Standing,
    Step,
    cure,
    demanded_steps,
    needed_first,
    standings,
    violations,
)
from eosctl.model.planned import ApplyOutcome, StepOutcome, StepResult
from eosctl.model.preconditions import NoOpenTransaction, OffsetsUnchanged, PlanFacts, Precondition
from eosctl.model.skipped import Skipped

# The journal of a plan: one line before and one after each step, on disk before the next thing happens.
#
# 1. Nothing but the journal of this plan is ever changed: a link, a device, a file of another owner and a file of
#    other content are refused as they are. Who owns the plan may own its journal.
# 2. A crash may truncate the last line: its event did not happen.
# 3. A line that cannot be written whole is removed again, so that the next one does not join it.


MOST_BYTES: Final = 1 << 26
AWAY: Final = "move it away, or give the plan another file name"


class Journal:
    """The journal at `path` of the plan with this digest; a context manager that keeps others on this machine out."""

    def __init__(self, path: Path, digest: str) -> None:
        self._path = path
        self._digest = digest
        self._file = -1
        self._size = 0
        self.done: frozenset[int] = frozenset()
        self.begun: frozenset[int] = frozenset()

    def __enter__(self) -> Self:
        """Opens it and reads the entries of earlier runs.

        Raises Refused if another eosctl applies the plan now or if another object is there (rule 1), Undecodable for
        another file, ConfigError if it cannot be opened.
        """
        try:
            self._file = _open(self._path)
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self._read()
        except BlockingIOError as error:
            self._close()
            raise Refused(f"another eosctl is applying this plan now: it holds {self._path}") from error
        except OSError as error:
            self._close()
            raise ConfigError(f"cannot write {self._path}: {reason_of(error)}") from error
        except BaseException:
            self._close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._close()

    def write(self, step: int, event: JournalEvent, detail: str = "") -> None:
        """Append a line and return when it is on disk."""
        self._append(encode_journal_entry(JournalEntry(step, event, detail)).encode())

    def _read(self) -> None:
        self._check_owner()
        with os.fdopen(os.dup(self._file), "rb") as file:
            data = file.read(MOST_BYTES + 1)
        head = encode_journal_head(self._digest).encode()
        whole = data[: data.rfind(b"\n") + 1]
        if len(data) > MOST_BYTES or (not whole and not head.startswith(data)):
            raise not_a_journal()
        entries = decode_journal(whole.decode("utf-8", "replace").splitlines(keepends=True), self._digest)
        if len(whole) < len(data):
            os.ftruncate(self._file, len(whole))
        self._size = len(whole)
        self.done = _steps(entries, JournalEvent.DONE)
        self.begun = _steps(entries, JournalEvent.BEGUN)
        if not whole:
            self._append(head)
            sync_directory(self._path.parent)

    def _check_owner(self) -> None:
        """Rule 1; plan and journal lie side by side."""
        there = os.fstat(self._file)
        owners = {os.geteuid()}
        with suppress(OSError):
            owners.add(self._path.with_suffix("").stat().st_uid)
        if not stat.S_ISREG(there.st_mode):
            raise _no_file(self._path)
        if there.st_uid not in owners:
            what = f"{self._path} belongs to user ID {there.st_uid}, who has not made this plan"
            raise Refused(f"{what}; nothing was changed", hint=AWAY)

    def _append(self, line: bytes) -> None:
        try:
            _write_whole(self._file, line, self._size)
            os.fsync(self._file)
        except OSError as error:
            with suppress(OSError):
                os.ftruncate(self._file, self._size)
            raise ConfigError(f"cannot write {self._path}: {reason_of(error)}") from error
        self._size += len(line)

    def _close(self) -> None:
        if self._file >= 0:
            os.close(self._file)
            self._file = -1


def _open(path: Path) -> int:
    """Opens or creates the file. Refuses symlinks; in a sticky directory another user's file cannot be replaced."""
    flags = os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        try:
            return os.open(path, flags)
        except FileNotFoundError:
            made = os.open(path, flags | os.O_CREAT | os.O_EXCL, OWNER_ONLY)
            os.fchmod(made, OWNER_ONLY)
            return made
    except OSError as error:
        if error.errno not in {errno.ELOOP, errno.ENXIO, errno.EISDIR}:
            raise
        raise _no_file(path) from error


def _no_file(path: Path) -> Refused:
    return Refused(f"{path} is no regular file, so it is not the plan's journal; nothing was changed", hint=AWAY)


def _write_whole(file: int, data: bytes, place: int) -> None:
    """A full disk accepts the bytes that it has room for, and reports the rest only at the next write."""
    while data:
        count = os.pwrite(file, data, place)
        data, place = data[count:], place + count


def _steps(entries: Iterable[JournalEntry], event: JournalEvent) -> frozenset[int]:
    return frozenset(entry.step for entry in entries if entry.event is event)


def write_plan_file(path: Path, plan: Plan) -> None:
    """Writes the plan to `path`, whole or not at all, on disk when this returns, readable by its owner only."""
    make_directory(path.parent)
    write_atomic_file(path, encode_plan(plan))


def leave_undo_file(path: Path, undo: Plan) -> None:
    """Writes the plan that leads back to `path`; one that lies there must be this one, for who goes back trusts it."""
    if not os.path.lexists(path):
        write_plan_file(path, undo)
    elif not path.is_file() or not _holds(path, encode_plan(undo).encode()):
        raise Refused(f"{path} does not lead back from this plan; nothing was changed", hint=AWAY)


def _holds(path: Path, content: bytes) -> bool:
    try:
        return path.stat().st_size == len(content) and path.read_bytes() == content
    except OSError as error:
        raise ConfigError(f"cannot read {path}: {reason_of(error)}") from error


Recheck = Callable[[], None]
"""Reads a step's preconditions again and raises Refused where one no longer holds."""

Performer = Callable[[Step, Recheck], str]
"""Performs one step and describes the result; raises an EosctlError on failure."""

ReadFacts = Callable[[Sequence[Precondition]], PlanFacts]
"""Reads, now, what these preconditions speak of."""

NOT_JOURNALED: Final = "not journaled"
UNKNOWN: Final = "whether it was done is not known"
BY_AN_EARLIER_RUN: Final = "by an earlier run, according to the journal"
AGAIN: Final = "free some space, then `eosctl apply` the same plan again: it continues after the steps that are done"


def check_plan(
    plan: Plan,
    done: Collection[int],
    read_facts: ReadFacts,
    *,
    words: Sequence[str] = (),
    replanned: bool = False,
) -> tuple[tuple[Check, ...], EosctlError | None]:
    """Rule 1, now: each precondition of the steps that are not done, and the error that ends a run at once, if any.

    replanned: offsets are planned again once their connectors are stopped, so they may change until then. words name
    the clusters on a command line.
    """
    remaining = [(number, each) for number, each in enumerate(demanded_steps(plan), 1) if number not in done]
    needed = needed_first(planned for _, planned in remaining)
    if replanned:
        needed = tuple(each for each in needed if not isinstance(each, OffsetsUnchanged | NoOpenTransaction))
    try:
        facts = read_facts(needed) if needed else PlanFacts()
    except EosctlError as error:
        return standings(remaining, needed, Skipped.of(error)), error
    checks = standings(remaining, needed, facts)
    failing = [each.reason for each in checks if each.standing is Standing.FAILS]
    return checks, Refused("; ".join(failing), hint=cure(needed, facts, plan, words)) if failing else None


class ApplyRun:
    """One plan being applied. `on_result` is called with each step as it ends."""

    def __init__(
        self,
        plan: Plan,
        journal: Journal,
        read_facts: ReadFacts,
        performers: Mapping[type, Performer],
        *,
        words: Sequence[str] = (),
        on_result: Callable[[StepResult], None] = lambda _: None,
        failpoint: Failpoint = no_failpoint,
    ) -> None:
        self._plan = plan
        self._steps = demanded_steps(plan)
        self._journal = journal
        self._read_facts = read_facts
        self._performers = performers
        self._words = words
        self._on_result = on_result
        self._failpoint = failpoint
        self._results: list[StepResult] = []

    def run(self) -> tuple[ApplyOutcome, EosctlError | None]:
        """The outcome, and the error that ended the run, if any: it names the outcome of the earlier steps."""
        failure: EosctlError | None = None
        try:
            self._failpoint("opened")
            _, refused = check_plan(self._plan, self._journal.done, self._read_facts, words=self._words)
            if refused is not None:
                raise refused
            self._failpoint("checked")
            for number, planned in enumerate(self._steps, 1):
                self._end(self._perform(number, planned))
        except KeyboardInterrupt:
            failure = Interrupted("interrupted between two steps")
        except EosctlError as error:
            failure = error
        outcome = self._outcome(failure)
        return outcome, None if failure is None else _ended(failure, outcome)

    def _require(self, preconditions: Sequence[Precondition]) -> None:
        if not preconditions:
            return
        facts = self._read_facts(preconditions)
        found = violations(preconditions, facts)
        if found:
            raise Refused("; ".join(found), hint=cure(preconditions, facts, self._plan, self._words))

    def _perform(self, number: int, planned: PlannedStep) -> StepResult:
        step = planned.step
        if number in self._journal.done:
            return StepResult(number, step, StepOutcome.DONE_BEFORE, BY_AN_EARLIER_RUN)
        if isinstance(step, ManualStep):
            return StepResult(number, step, StepOutcome.BY_HAND, step.instruction)
        self._require(needed_first([planned]))
        self._journal.write(number, JournalEvent.BEGUN)
        self._failpoint(f"{number}:begun")
        try:
            detail = self._performers[type(step)](step, lambda: self._require(planned.preconditions))
        except KeyboardInterrupt as interrupt:
            what = f"interrupted in step {number}, {step.describe()}: {UNKNOWN}"
            raise self._failed(number, step, Interrupted(what)) from interrupt
        except EosctlError as error:
            raise self._failed(number, step, error) from error
        result = StepResult(number, step, StepOutcome.DONE, detail)
        try:
            self._failpoint(f"{number}:performed")
            self._journal.write(number, JournalEvent.DONE, detail)
        except KeyboardInterrupt:
            self._end(result)
            raise
        except EosctlError as error:
            self._end(replace(result, detail=f"{detail}; {NOT_JOURNALED}: {error.message}"))
            raise PartlyApplied(f"step {number} is done, {NOT_JOURNALED}: {error.message}", hint=AGAIN) from error
        self._failpoint(f"{number}:done")
        return result

    def _failed(self, number: int, step: Step, error: EosctlError) -> EosctlError:
        """Journals a failed step and returns its error, even if the journal cannot be written."""
        detail = error.message
        try:
            self._journal.write(number, JournalEvent.FAILED, detail)
        except EosctlError as unwritten:
            detail = f"{detail}; {NOT_JOURNALED}: {unwritten.message}"
        self._end(StepResult(number, step, StepOutcome.FAILED, detail))
        return error

    def _end(self, result: StepResult) -> None:
        self._results.append(result)
        self._on_result(result)

    def _outcome(self, failure: EosctlError | None) -> ApplyOutcome:
        """The results so far, and one for each step that was not reached."""
        ended = len(self._results)
        rest = []
        for number, planned in enumerate(self._plan.steps[ended:], ended + 1):
            if number in self._journal.done:
                rest.append(StepResult(number, planned.step, StepOutcome.DONE_BEFORE, BY_AN_EARLIER_RUN))
            else:
                rest.append(StepResult(number, planned.step, StepOutcome.NOT_BEGUN, "the run ended before it"))
        if rest and failure is not None and ended and self._results[-1].outcome is not StepOutcome.FAILED:
            rest[0] = StepResult(rest[0].number, rest[0].step, rest[0].outcome, failure.message)
        results = (*self._results, *rest)
        changed = any(
            each.step.lasts and each.outcome in {StepOutcome.DONE, StepOutcome.DONE_BEFORE} for each in results
        )
        return ApplyOutcome(results, changed)


def _ended(failure: EosctlError, outcome: ApplyOutcome) -> EosctlError:
    """The error of a run: an interruption stays one, what comes after lasting changes is PartlyApplied."""
    done = outcome.count(StepOutcome.DONE) + outcome.count(StepOutcome.DONE_BEFORE)
    if isinstance(failure, Interrupted):
        counts = f"; {done} of {len(outcome.results)} steps are done" if len(outcome.results) > 1 else ""
        return Interrupted(f"{failure.message}{counts}", hint=failure.hint)
    if not outcome.changed:
        return failure
    return PartlyApplied(f"{done} of {len(outcome.results)} steps are done, then: {failure.message}", hint=failure.hint)
