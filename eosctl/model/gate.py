"""What a command says to a pipeline: of each kind of finding whether it was found, and what is not known."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, NamedTuple

from eosctl.errors import EosctlError
from eosctl.model.report import Answer, Finding, FindingKind, exit_code
from eosctl.model.waivers import Waiver

PARTLY_READ: Final = "nothing was found in what was read, which is not all"
INCOMPLETE: Final = "something that the answer needs was not read"


class Outcome(StrEnum):
    """What was found of one kind: failed ends the command with 1; skipped is waived, or was not looked for in all."""

    FAILED = "failed"
    UNKNOWN = "unknown"
    SKIPPED = "skipped"
    PASSED = "passed"


class Reported(NamedTuple):
    """A finding with what becomes of it.

    waiver is the one that keeps it from failing; is_new whether the last run had it not, None where that is not known;
    file is the file of the command line that it is about, or the first where it names none.
    """

    finding: Finding
    fails: bool
    waiver: Waiver | None
    is_new: bool | None
    file: str | None


@dataclass(frozen=True, slots=True)
class Question:
    """One kind of finding that was looked for: what was found, and why there may be more.

    unknown are the reasons for which the answer is incomplete, untold the others.
    """

    kind: FindingKind
    reported: tuple[Reported, ...] = ()
    unknown: tuple[str, ...] = ()
    untold: tuple[str, ...] = ()

    @property
    def outcome(self) -> Outcome:
        """Failed before unknown, unknown before skipped."""
        if any(each.fails for each in self.reported):
            return Outcome.FAILED
        if self.unknown:
            return Outcome.UNKNOWN
        waived = any(each.waiver is not None for each in self.reported)
        return Outcome.SKIPPED if waived or self.untold else Outcome.PASSED


@dataclass(frozen=True, slots=True)
class Gate:
    """The answer of `command`: questions in the order of their IDs.

    lacking is what the whole answer needed and does not rest on, unread what it did without. failure is the error with
    which the command ended; where it ended without an answer there are no questions.
    """

    command: str
    exit_code: int
    questions: tuple[Question, ...] = ()
    lacking: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()
    failure: EosctlError | None = None

    @property
    def complete(self) -> bool:
        """Whether the command did its work, and lacked nothing for it."""
        return self.failure is None and not self.lacking and not any(each.unknown for each in self.questions)


def gate_of(command: str, answer: Answer) -> Gate:
    """What a command with this answer has to say to a pipeline; findings that --severity hides only if they fail."""
    doubts = answer.doubts
    general = [each for each in doubts if each.kind_id is None]
    needed = [*(each.reason for each in general if each.needed), *map(str, answer.coverage.gaps)]
    if not answer.complete and not needed and not any(each.needed for each in doubts):
        needed = [INCOMPLETE]
    partly = any(each.needed for each in general)
    return Gate(
        command,
        exit_code(answer),
        tuple(_questions(answer, (PARTLY_READ,) if partly else ())),
        tuple(dict.fromkeys(needed)),
        tuple(dict.fromkeys(str(each) for each in answer.coverage.unread if not each.is_gap)),
        answer.failure,
    )


def failed_gate(command: str, failure: EosctlError) -> Gate:
    """What is left to say where the command ended without an answer."""
    return Gate(command, failure.exit_code, failure=failure)


def _questions(answer: Answer, of_all: tuple[str, ...]) -> Iterator[Question]:
    found: dict[str, list[Reported]] = {}
    for each in _reported(answer):
        found.setdefault(each.finding.id, []).append(each)
    unknown: dict[str | None, list[str]] = {}
    untold: dict[str | None, list[str]] = {}
    for doubt in answer.doubts:
        (unknown if doubt.needed else untold).setdefault(doubt.kind_id, []).append(doubt.reason)
    kinds = {kind.id: kind for kind in (*answer.kinds, *(each.kind for each in answer.reported))}
    for name, kind in sorted(kinds.items()):
        reasons = (_without_repeats(unknown, name), _without_repeats(untold, name) or of_all)
        yield Question(kind, tuple(found.get(name, ())), *reasons)


def _reported(answer: Answer) -> Iterator[Reported]:
    triage = answer.triage
    first = next(iter(answer.config_files.values()), None)
    for finding in answer.reported:
        fails = answer.fails(finding)
        if not fails and not finding.severity.reaches(triage.shown_from):
            continue
        applied = None if fails else triage.waiver_of(finding)
        waiver = None if applied is None or applied.expired else applied.waiver
        yield Reported(finding, fails, waiver, answer.is_new(finding), answer.config_files.get(finding.subject, first))


def _without_repeats(reasons: Mapping[str | None, Sequence[str]], kind_id: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(reasons.get(kind_id, ())))
