"""Conclusions of pure functions: findings, each of a kind with a stable ID, and what to do about them."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date
from enum import StrEnum
from fnmatch import fnmatchcase
from types import MappingProxyType
from typing import Final, NamedTuple, Self

from msgspec import Struct, field
from msgspec.structs import replace

from eosctl.errors import EXIT_FINE, EXIT_FOUND, EXIT_INCOMPLETE, EosctlError, UsageError
from eosctl.model.skipped import Coverage
from eosctl.model.versions import KafkaVersion


class Waiver(Struct, frozen=True):
    """Who accepts which findings, why, and until when.

    finding is the ID or name of a kind, subject a pattern as in a shell (`*`, `?`, `[…]`) for the whole subject of a
    finding. expires is the last day, in UTC, on which it holds.
    """

    finding: str
    subject: str
    owner: str
    reason: str
    expires: date

    def covers(self, words: Iterable[str], subject: str) -> bool:
        named = self.finding.lower()
        return any(each.lower() == named for each in words) and fnmatchcase(subject, self.subject)


class AppliedWaiver(NamedTuple):
    waiver: Waiver
    expired: bool


Details = Mapping[str, object]
NO_EVIDENCE: Final[Details] = MappingProxyType({})


class Severity(StrEnum):
    """error: the promise is broken or will be; warning: it may be; info: worth knowing."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"

    def reaches(self, least: "Severity") -> bool:
        return SEVERITIES.index(self) <= SEVERITIES.index(least)


SEVERITIES: Final = tuple(Severity)
"""The worst first."""


class OlderFix(NamedTuple):
    before: KafkaVersion
    fix: str


class FindingKind(Struct, frozen=True):
    """A kind of finding; every kind is declared once, in analysis/catalogue.

    id (EOS001) is stable and never used for another kind. name is its readable form, stable too; kinds of one fault in
    several topics share it. severity is the worst that its findings have. cause gives the consequences, fix the
    commands that help, with <connector>, <topic> and the like as names; source is the origin of the facts. commands
    report it, in addition to doctor and upgrade-check if a rule yields it. older is the fix for workers without the
    feature that the fix needs. is_misnaming: a name that the user gave is of another thing, so no other finding is
    reported, and the command ends as for a wrong command line.
    """

    id: str
    name: str
    title: str
    severity: Severity
    cause: str
    fix: str
    source: str
    commands: tuple[str, ...] = ()
    older: OlderFix | None = None
    is_misnaming: bool = False

    @property
    def number(self) -> int:
        return int(self.id.removeprefix("EOS"))

    def fix_for(self, version: KafkaVersion) -> str:
        return self.fix if self.older is None or version >= self.older.before else self.older.fix

    @property
    def fixes(self) -> tuple[str, ...]:
        return (
            self.fix,
            *(() if self.older is None else (f"with workers before {self.older.before}: {self.older.fix}",)),
        )

    def finding(
        self,
        subject: str,
        message: str,
        evidence: Details = NO_EVIDENCE,
        *,
        cure: str | None = None,
        severity: Severity | None = None,
    ) -> "Finding":
        """A finding of this kind, with the kind's own severity and fix unless others are given.

        The evidence, or its first place, replaces <topic>, <partition>, <producer-id> and the like in the fix.
        """
        fix = _filled(cure or self.fix, evidence)
        return Finding(self, severity or self.severity, subject, message, fix, evidence)


def _filled(fix: str, evidence: Details) -> str:
    places = evidence.get("places")
    first = places[0] if isinstance(places, list) and places else {}
    for name, value in {**first, **evidence}.items() if "<" in fix else ():
        if isinstance(value, str | int):
            fix = fix.replace(f"<{name.replace('_', '-')}>", str(value))
    return fix


class Finding(Struct, frozen=True):
    """One thing worth reporting.

    subject is the connector, topic or transactional ID concerned. message describes the finding, cure the next step.
    evidence holds the figures behind it, ready for JSON. Raises ValueError if it is worse than its kind can be.
    """

    kind: FindingKind
    severity: Severity
    subject: str
    message: str
    cure: str
    evidence: Details = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.kind.severity.reaches(self.severity):
            raise ValueError(f"{self.kind.id} is at most of severity {self.kind.severity}, not {self.severity}")

    @property
    def id(self) -> str:
        return self.kind.id

    @property
    def name(self) -> str:
        return self.kind.name

    @property
    def is_misnaming(self) -> bool:
        """True if it excludes all other findings; a `leader` in its evidence proves the name right nevertheless."""
        return self.kind.is_misnaming and "leader" not in self.evidence

    def as_usage_error(self) -> UsageError:
        return UsageError(f"{self.subject}: {self.message} ({self.id})", hint=self.cure)

    @property
    def counts(self) -> bool:
        return self.severity.reaches(Severity.WARNING)


ANY_BROKER: Final = "--bootstrap-server <broker>"
"""Stands in fixes that print a command of Kafka's own tools; `Triage.cure_of` replaces it."""
SOURCE_BROKER: Final = "--bootstrap-server <source-broker>"
"""Stands in commands of a mirror's witness for the brokers of the source."""


class Triage(Struct, frozen=True):
    """The findings to show, and those that end a command with exit code 1.

    shown_from is the lowest severity shown; fail_on the lowest that fails (None: a warning). waivers belong to the
    profile in use; today is the day against which they expire. kafka_tools are the options with which Kafka's own tools
    reach the brokers, quoted for a shell; "": no brokers were named.
    """

    shown_from: Severity = Severity.INFO
    fail_on: Severity | None = None
    waivers: tuple[Waiver, ...] = ()
    today: date = date.min
    kafka_tools: str = ""

    def cure_of(self, finding: "Finding") -> str:
        """The finding's cure, in which Kafka's own tools get the brokers and the client's file that are known."""
        return finding.cure.replace(ANY_BROKER, self.kafka_tools) if self.kafka_tools else finding.cure

    def waiver_of(self, finding: Finding) -> AppliedWaiver | None:
        """The waiver for this finding, a valid one before an expired one, or None."""
        words = (finding.id, finding.name)
        found = [each for each in self.waivers if each.covers(words, finding.subject)]
        applied = [AppliedWaiver(each, each.expires < self.today) for each in found]
        return min(applied, key=lambda each: each.expired, default=None)

    def waives(self, finding: Finding) -> bool:
        applied = self.waiver_of(finding)
        return applied is not None and not applied.expired

    def fails(self, finding: Finding) -> bool:
        return finding.severity.reaches(self.fail_on or Severity.WARNING) and not self.waives(finding)


class Uncertainty(NamedTuple):
    """Why there may be more findings: of the kind with this ID, or of any kind (None).

    needed: the answer is incomplete without them.
    """

    kind_id: str | None
    reason: str
    needed: bool


class Result(Struct, frozen=True, kw_only=True):
    """The result of an operation. Subclasses add their facts.

    coverage has the requested facts and the unread ones; triage is how the user wants findings treated.
    """

    coverage: Coverage = field(default_factory=Coverage)
    triage: Triage = field(default_factory=Triage)

    @property
    def reported(self) -> tuple[Finding, ...]:
        return ()

    @property
    def kinds(self) -> tuple[FindingKind, ...]:
        return ()

    @property
    def doubts(self) -> tuple[Uncertainty, ...]:
        """Why findings may have been missed; by default one reason for each required fact that was not read."""
        return unread_doubts(self.coverage)

    @property
    def config_files(self) -> Mapping[str, str]:
        """The file of the command line that a finding is about, by the finding's subject; need not be complete."""
        return {}

    def is_new(self, finding: Finding) -> bool | None:
        """True if the last run did not have it; None if there is no earlier run."""
        return None

    def fails(self, finding: Finding) -> bool:
        return self.triage.fails(finding) and self.is_new(finding) is not False

    @property
    def found(self) -> bool:
        return any(map(self.fails, self.reported))

    @property
    def failure(self) -> EosctlError | None:
        """The error with which the command ends after the answer is shown; None if it succeeded."""
        return next((each.as_usage_error() for each in self.reported if each.is_misnaming), None)

    @property
    def complete(self) -> bool:
        """True if every required fact was read; a missing input of the user does not count."""
        return not self.coverage.gaps

    def covering(self, coverage: Coverage) -> Self:
        return replace(self, coverage=coverage)

    def under(self, triage: Triage) -> Self:
        return replace(self, triage=triage)


class FoundResult(Result, frozen=True, kw_only=True):
    """A result with findings of its own, and the kinds that were looked for."""

    findings: tuple[Finding, ...] = ()
    looked_for: tuple[FindingKind, ...] = ()

    @property
    def reported(self) -> tuple[Finding, ...]:
        return self.findings

    @property
    def kinds(self) -> tuple[FindingKind, ...]:
        return self.looked_for


def unread_doubts(coverage: Coverage) -> tuple[Uncertainty, ...]:
    return tuple(Uncertainty(None, str(each), needed=True) for each in coverage.gaps)


def worst_first(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    return tuple(sorted(findings, key=lambda finding: SEVERITIES.index(finding.severity)))


def exit_code(answer: Result) -> int:
    """The exit code of every command: its failure's, 1 where something was found, 3 where it is incomplete, or 0."""
    if answer.failure is not None:
        return answer.failure.exit_code
    if answer.found:
        return EXIT_FOUND
    return EXIT_FINE if answer.complete else EXIT_INCOMPLETE


PARTLY_READ: Final = "no finding, but not everything was read"
INCOMPLETE: Final = "something that the answer needs was not read"


class Outcome(StrEnum):
    """The result for one kind of finding: failed ends the command with 1; skipped is waived, or was not checked
    completely."""

    FAILED = "failed"
    UNKNOWN = "unknown"
    SKIPPED = "skipped"
    PASSED = "passed"


class Reported(NamedTuple):
    """A finding and its effect on the exit code.

    waiver keeps it from failing. is_new: the last run did not have it, None if unknown. file is the command line's file
    that it concerns, or the first one.
    """

    finding: Finding
    fails: bool
    waiver: Waiver | None
    is_new: bool | None
    file: str | None


class Question(Struct, frozen=True):
    """One kind of finding that was looked for, with its findings, and why there may be more.

    unknown are the reasons that make the answer incomplete, untold the others.
    """

    kind: FindingKind
    reported: tuple[Reported, ...] = ()
    unknown: tuple[str, ...] = ()
    untold: tuple[str, ...] = ()

    @property
    def outcome(self) -> Outcome:
        if any(each.fails for each in self.reported):
            return Outcome.FAILED
        if self.unknown:
            return Outcome.UNKNOWN
        waived = any(each.waiver is not None for each in self.reported)
        return Outcome.SKIPPED if waived or self.untold else Outcome.PASSED


class Gate(Struct, frozen=True):
    """The answer of `command`: questions in the order of their IDs.

    lacking are unread facts that the answer needed, unread the facts that it did without. failure is the error with
    which the command ended; without an answer there are no questions.
    """

    command: str
    exit_code: int
    questions: tuple[Question, ...] = ()
    lacking: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()
    failure: EosctlError | None = None

    @property
    def complete(self) -> bool:
        return self.failure is None and not self.lacking and not any(each.unknown for each in self.questions)


def gate_of(command: str, answer: Result) -> Gate:
    """The command's answer for a pipeline; findings that --severity hides are included only if they fail."""
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
    return Gate(command, failure.exit_code, failure=failure)


def _questions(answer: Result, of_all: tuple[str, ...]) -> Iterator[Question]:
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


def _reported(answer: Result) -> Iterator[Reported]:
    triage = answer.triage
    first = next(iter(answer.config_files.values()), None)
    for finding in answer.reported:
        fails = answer.fails(finding)
        if not fails and not finding.severity.reaches(triage.shown_from):
            continue
        applied = None if fails else triage.waiver_of(finding)
        waiver = None if applied is None or applied.expired else applied.waiver
        cured = replace(finding, cure=triage.cure_of(finding))
        yield Reported(cured, fails, waiver, answer.is_new(finding), answer.config_files.get(finding.subject, first))


def _without_repeats(reasons: Mapping[str | None, Sequence[str]], kind_id: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(reasons.get(kind_id, ())))


class ErrorPattern(Struct, frozen=True):
    """One kind of error; it matches if all its patterns are found, on any line, in any case.

    id is stable; cause is the meaning here; commands are the next steps and may name {connector}, {task},
    {transactional_id}, {topic} and {group}; source is its origin.
    """

    id: str
    patterns: tuple[str, ...]
    title: str
    cause: str
    commands: tuple[str, ...]
    source: str

    def matches(self, text: str) -> bool:
        return all(re.search(each, text, re.IGNORECASE) for each in self.patterns)

    def speaks_of(self, word: str) -> bool:
        return any(re.search(each, word, re.IGNORECASE) for each in self.patterns)


class Explanation(Struct, frozen=True):
    """One error that was recognised, or one kind of finding.

    The commands of an error have the names filled in that the text shows. name, severity and reported_by (commands of
    eosctl) belong to a kind of finding; an error has none.
    """

    id: str
    title: str
    cause: str
    commands: tuple[str, ...]
    source: str
    name: str | None = None
    severity: Severity | None = None
    reported_by: tuple[str, ...] = ()


class NextStep(NamedTuple):
    """The next step: the reason, and the command."""

    why: str
    command: str


class Explained(Result, frozen=True, kw_only=True):
    """All that a text shows, the most specific first; an unknown text ends with exit code 1.

    near are IDs and names similar to a word of an unknown text. For a connector's status, state describes it,
    has_failed says whether there was anything to explain, and steps are the next commands.
    """

    text: str
    explanations: tuple[Explanation, ...]
    near: tuple[str, ...] = ()
    state: str | None = None
    has_failed: bool = True
    steps: tuple[NextStep, ...] = ()

    @property
    def found(self) -> bool:
        return self.has_failed and not self.explanations


class KnownExplanations(Result, frozen=True, kw_only=True):
    """All that can be explained: kinds of findings by theme, errors, and Kafka's own classes of errors."""

    findings: Mapping[str, tuple[FindingKind, ...]]
    errors: tuple[ErrorPattern, ...]
    classes: tuple[str, ...]
