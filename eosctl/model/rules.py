"""Rules as data: a question about the evidence, and the kind of finding where the answer is bad."""

from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum
from typing import NamedTuple

from msgspec import Struct, field

from eosctl.model.evidence import Evidence
from eosctl.model.report import Finding, FindingKind, Result, Uncertainty, worst_first
from eosctl.model.skipped import Skipped
from eosctl.model.text import pluralize
from eosctl.model.versions import KafkaVersion

Check = Callable[[Evidence], Iterable[Finding | Skipped]]


class Whose(StrEnum):
    WORKERS = "workers"
    BROKERS = "brokers"


class Versions(Struct, frozen=True):
    whose: Whose
    since: KafkaVersion | None = None
    until: KafkaVersion | None = None

    def concern(self, evidence: Evidence) -> bool:
        """True if one of them may have such a version: any may, if one did not answer."""
        known = evidence.worker_releases if self.whose is Whose.WORKERS else evidence.known_broker_releases
        return known is None or any(
            (self.since is None or each.before is None or each.before > self.since)
            and (self.until is None or each.at_least < self.until)
            for each in known
        )

    def __str__(self) -> str:
        since = f" from {self.since} on" if self.since else ""
        return f"{self.whose}{since}" + (f"{',' if since else ''} before {self.until}" if self.until else "")


class Rule(Struct, frozen=True):
    """One rule: its findings are of one kind, and only this rule reports that kind.

    question is what it checks. needs names the facts of Evidence without which it cannot tell. check yields findings,
    and Skipped for each part that it could not judge although its needs were read. versions bounds the versions of the
    workers or brokers concerned (None: all). blocks names the phases (preparing, enabled, disabled) that an error of
    this rule forbids a rolling step to enter. unproven is why no test makes the condition on a real cluster, finds it,
    fixes it as printed and sees it gone; None: one does.
    """

    kind: FindingKind
    question: str
    needs: tuple[str, ...]
    check: Check
    versions: Versions | None = None
    blocks: frozenset[str] = frozenset()
    unproven: str | None = None

    @property
    def id(self) -> str:
        return self.kind.id


class RuleAnswer(Struct, frozen=True):
    """The answer of one rule: findings, and the reasons why it cannot tell (none: it can).

    complete: it misses nothing but input that the user did not give.
    """

    rule: Rule
    findings: tuple[Finding, ...] = ()
    cannot_tell: tuple[str, ...] = ()
    complete: bool = True

    @property
    def outcome(self) -> str:
        """`found`, `cannot tell` or `fine`."""
        if any(finding.counts for finding in self.findings):
            return "found"
        return "cannot tell" if self.cannot_tell else "fine"


class Diagnosis(Result, frozen=True):
    """The answers of all rules that were asked of the evidence, in the order of the registry."""

    evidence: Evidence
    answers: tuple[RuleAnswer, ...]
    config_files: Mapping[str, str] = field(default_factory=dict)

    @property
    def kinds(self) -> tuple[FindingKind, ...]:
        return tuple(answer.rule.kind for answer in self.answers)

    @property
    def doubts(self) -> tuple[Uncertainty, ...]:
        return tuple(
            Uncertainty(answer.rule.id, reason, needed=not answer.complete)
            for answer in self.answers
            for reason in answer.cannot_tell
        )

    @property
    def complete(self) -> bool:
        # A plain super() finds no cell in a class with slots.
        return not self.coverage.gaps and all(answer.complete for answer in self.answers)

    @property
    def reported(self) -> tuple[Finding, ...]:
        return worst_first(finding for answer in self.answers for finding in answer.findings)

    @property
    def misnaming(self) -> Finding | None:
        """The finding that excludes all others; None if every given name is right."""
        return next((each for each in self.reported if each.is_misnaming), None)

    @property
    def verdict(self) -> str:
        """`found` where an error or a warning was found, or `cannot tell` where a rule could not, or `fine`."""
        outcomes = {answer.outcome for answer in self.answers}
        return next(each for each in ("found", "cannot tell", "fine") if each in outcomes or each == "fine")


class Phase(StrEnum):
    """The phase of a worker, as far as known.

    `not enabled` is disabled or preparing: a worker that is asked says only whether it is enabled, and its properties
    file says the rest.
    """

    DISABLED = "disabled"
    PREPARING = "preparing"
    ENABLED = "enabled"
    NOT_ENABLED = "not enabled"
    UNKNOWN = "unknown"


class Verdict(StrEnum):
    YES = "yes"
    NO = "no"
    CANNOT_TELL = "cannot tell"


class WorkerPhase(Struct, frozen=True):
    url: str
    phase: Phase
    known_by: str


class RollingStep(Struct, frozen=True):
    url: str
    phase: Phase
    action: str


class FeatureLevel(NamedTuple):
    """A feature of the Kafka cluster at a level, as kafka-features.sh takes it."""

    feature: str
    level: int

    def __str__(self) -> str:
        return f"{self.feature}={self.level}"


class UpgradeCheck(Result, frozen=True):
    """The answer of upgrade-check, for a roll of the workers or a new level of a feature.

    done: every worker is already at the target (None: unknown). blockers are findings that forbid the roll, warnings
    the others. unknown are the reasons for an unknown verdict. steps are in the order in which to take them.
    consequences follow from a step down.
    """

    evidence: Evidence
    target: Phase | FeatureLevel
    verdict: Verdict
    done: bool | None
    workers: tuple[WorkerPhase, ...]
    blockers: tuple[Finding, ...]
    warnings: tuple[Finding, ...]
    unknown: tuple[str, ...]
    steps: tuple[RollingStep, ...]
    consequences: tuple[str, ...]
    kinds: tuple[FindingKind, ...] = ()
    doubts: tuple[Uncertainty, ...] = ()
    config_files: Mapping[str, str] = field(default_factory=dict)

    @property
    def reported(self) -> tuple[Finding, ...]:
        return (*self.blockers, *self.warnings)

    def fails(self, finding: Finding) -> bool:
        """True if it forbids the roll, or fails by the severity that the user named.

        Exit code 0 permits a restart of workers. No waiver gives it.
        """
        return finding in self.blockers or (self.triage.fail_on is not None and self.triage.fails(finding))

    @property
    def complete(self) -> bool:
        return self.verdict is not Verdict.CANNOT_TELL and not self.coverage.gaps

    @property
    def summary(self) -> str:
        if self.verdict is Verdict.YES:
            if isinstance(self.target, FeatureLevel):
                return f"yes: {self.target} is {'the present level' if self.done else 'harmless to transactions'}"
            if self.done:
                return f"yes: every worker is {self.target} already"
            return f"yes: continue the roll to {self.target}, one worker after the other"
        if self.verdict is Verdict.NO:
            stand = pluralize(len(self.blockers), "finding blocks", "findings block")
            return f"no: {stand} {self.target}: {self.blockers[0].message}"
        return f"cannot tell, which is not a yes: {self.unknown[0]}"
