"""Rolling steps between the three values of exactly.once.source.support (KIP-618)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from eosctl.model.counts import counted
from eosctl.model.evidence import Evidence
from eosctl.model.report import Answer, Doubt, Finding, FindingKind


class Phase(StrEnum):
    """What a worker is at, as far as it is known.

    `not enabled` is disabled or preparing: a worker that is asked says only whether it is enabled, and its properties
    file says the rest.
    """

    DISABLED = "disabled"
    PREPARING = "preparing"
    ENABLED = "enabled"
    NOT_ENABLED = "not enabled"
    UNKNOWN = "unknown"


class Verdict(StrEnum):
    """Whether the next rolling step may start."""

    YES = "yes"
    NO = "no"
    CANNOT_TELL = "cannot tell"


@dataclass(frozen=True, slots=True)
class WorkerPhase:
    """One worker: what it is at, and how that is known."""

    url: str
    phase: Phase
    known_by: str


@dataclass(frozen=True, slots=True)
class RollingStep:
    """What to do with one worker, in words."""

    url: str
    phase: Phase
    action: str


@dataclass(frozen=True, slots=True)
class UpgradeCheck(Answer):
    """The answer of upgrade-check to the evidence.

    done says whether every worker is at the target already (None: not known). blockers are findings that stand in the
    way, warnings those that do not; unknown are the reasons for which the verdict is not known; steps come in the order
    in which to take them; consequences are those of a step down.
    """

    evidence: Evidence
    target: Phase
    verdict: Verdict
    done: bool | None
    workers: tuple[WorkerPhase, ...]
    blockers: tuple[Finding, ...]
    warnings: tuple[Finding, ...]
    unknown: tuple[str, ...]
    steps: tuple[RollingStep, ...]
    consequences: tuple[str, ...]
    kinds: tuple[FindingKind, ...] = ()
    doubts: tuple[Doubt, ...] = ()
    config_files: Mapping[str, str] = field(default_factory=dict)

    @property
    def reported(self) -> tuple[Finding, ...]:
        """What stands in the way, then the rest."""
        return (*self.blockers, *self.warnings)

    def fails(self, finding: Finding) -> bool:
        """Whether it stands in the way of the roll, or fails by the severity that the user named.

        Exit code 0 is the permission to restart workers. No waiver gives it.
        """
        return finding in self.blockers or (self.triage.fail_on is not None and self.triage.fails(finding))

    @property
    def complete(self) -> bool:
        """Whether the verdict is known, and nothing was unread behind which more could stand in the way."""
        return self.verdict is not Verdict.CANNOT_TELL and not self.coverage.gaps

    @property
    def summary(self) -> str:
        """The verdict in one sentence."""
        if self.verdict is Verdict.YES:
            if self.done:
                return f"yes: every worker is {self.target} already"
            return f"yes: the roll to {self.target} may go on, one worker after the other"
        if self.verdict is Verdict.NO:
            stand = counted(len(self.blockers), "finding stands", "findings stand")
            return f"no: {stand} in the way of {self.target}: {self.blockers[0].message}"
        return f"cannot tell, which is not a yes: {self.unknown[0]}"
