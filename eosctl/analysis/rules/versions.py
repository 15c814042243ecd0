"""Rules about the versions of workers and brokers."""

from collections.abc import Iterator
from typing import Final, NamedTuple

from eosctl.analysis.catalogue import versions as kinds
from eosctl.model.evidence import Evidence
from eosctl.model.report import Finding
from eosctl.model.rules import Rule
from eosctl.model.skipped import Skipped
from eosctl.model.versions import EXACTLY_ONCE_SOURCES, KafkaVersion


class FixedBug(NamedTuple):
    """A bug of Kafka: what it does to exactly-once sources, and the first release of each branch that has the fix.

    since is the first release that has it.
    """

    issue: str
    effect: str
    fixed: tuple[str, ...]
    since: KafkaVersion = EXACTLY_ONCE_SOURCES

    def concerns(self, version: KafkaVersion) -> bool:
        """Whether this version has the bug: it is older than the fix on its own branch, or than every fixed branch."""
        own = [fix for fix in self.fixes if (fix.major, fix.minor) == (version.major, version.minor)]
        return self.since <= version < (own[0] if own else min(self.fixes))

    @property
    def fixes(self) -> tuple[KafkaVersion, ...]:
        """The first release of each branch that has the fix."""
        return tuple(KafkaVersion.parse(text) for text in self.fixed)

    def fixed_for(self, version: KafkaVersion) -> KafkaVersion:
        """The first release after this one that has the fix."""
        return min(fix for fix in self.fixes if fix > version)


FIXED_BUGS: Final = (
    FixedBug("KAFKA-16047", "fencing sends a timeout of 1 ms and fails when the log is slow", ("3.7.1", "3.8.0")),
    FixedBug("KAFKA-16570", "fencing fails where a transaction is open", ("3.7.1", "3.8.0")),
    FixedBug("KAFKA-15059", "fencing is refused during a rebalance and all tasks turn FAILED", ("3.6.0",)),
    FixedBug("KAFKA-14727", "a transaction stays open while an interval source is idle", ("3.4.1", "3.5.0")),
    FixedBug("KAFKA-14799", "a connector that aborts an empty transaction fails", ("3.4.1", "3.5.0")),
    FixedBug("KAFKA-14339", "records are committed though their offsets were not", ("3.3.2", "3.4.0")),
    FixedBug("KAFKA-15018", "tombstones reach the two offset stores in the wrong order", ("3.8.0",)),
    FixedBug(
        "KAFKA-15800", "a key that is not JSON loses other offsets", ("3.5.2", "3.6.1", "3.7.0"), KafkaVersion(3, 5)
    ),
    FixedBug("KAFKA-16838", "tasks of a deleted connector come back", ("3.7.1", "3.8.0")),
    FixedBug("KAFKA-9228", "a change of client settings alone does not restart tasks", ("3.7.1", "3.8.0")),
    FixedBug("KAFKA-14455", "a failed write to the config topic is not reported", ("3.4.1", "3.5.0")),
)
"""Bugs of workers."""
STUCK_IN_PREPARE: Final = FixedBug("KAFKA-16352", "a transaction can stay in Prepare* for ever", ("3.8.0",))
"""A bug of brokers."""
UP: Final = frozenset({"preparing", "enabled"})


def _too_old(evidence: Evidence) -> Iterator[Finding | Skipped]:
    for worker in evidence.answering:
        if isinstance(worker.version, Skipped):
            yield worker.version
        elif worker.version < EXACTLY_ONCE_SOURCES:
            message = f"the worker runs Kafka {worker.version}, which ignores exactly.once.source.support"
            yield kinds.TOO_OLD.finding(worker.url, message, {"version": str(worker.version)})


def _mixed(evidence: Evidence) -> Iterator[Finding | Skipped]:
    yield from _unnamed(evidence)
    known = {worker.url: worker.version for worker in evidence.answering}
    versions = {url: str(version) for url, version in known.items() if not isinstance(version, Skipped)}
    if len(set(versions.values())) > 1:
        reported = ", ".join(sorted(set(versions.values())))
        yield kinds.MIXED.finding("workers", f"the workers run different versions: {reported}", {"versions": versions})


def _bugs(evidence: Evidence) -> Iterator[Finding | Skipped]:
    yield from _unnamed(evidence)
    for version in sorted(set(evidence.versions)):
        bugs = [bug for bug in FIXED_BUGS if bug.concerns(version)]
        if bugs:
            reported = "; ".join(f"{bug.issue} ({bug.effect})" for bug in bugs)
            message = f"workers run Kafka {version}, which has bugs that concern exactly-once: {reported}"
            needed = max(bug.fixed_for(version) for bug in bugs)
            cure = f"upgrade the workers to Kafka {needed} or newer, which has the fix of all of them"
            yield kinds.BUGS.finding(str(version), message, {"issues": [bug.issue for bug in bugs]}, cure=cure)
    yield from _bug_of_brokers(evidence)


def _bug_of_brokers(evidence: Evidence) -> Iterator[Finding]:
    releases = {} if isinstance(evidence.broker_releases, Skipped) else evidence.broker_releases
    [fixed] = STUCK_IN_PREPARE.fixes
    old = sorted(
        node
        for node, release in releases.items()
        if not isinstance(release, Skipped) and release.before is not None and release.before <= fixed
    )
    if old:
        nodes = ", ".join(map(str, old))
        message = f"brokers {nodes} run a Kafka before {fixed}: {STUCK_IN_PREPARE.issue} ({STUCK_IN_PREPARE.effect})"
        evidenced = {"issues": [STUCK_IN_PREPARE.issue], "brokers": old}
        yield kinds.BUGS.finding("brokers", message, evidenced, cure=f"upgrade the brokers to Kafka {fixed} or newer")


def _unnamed(evidence: Evidence) -> Iterator[Skipped]:
    return (each.version for each in evidence.answering if isinstance(each.version, Skipped))


RULES: Final = (
    Rule(
        kinds.TOO_OLD,
        "Does every worker know exactly.once.source.support?",
        needs=("workers",),
        check=_too_old,
        blocks=UP,
        unproven="the sandbox runs Kafka from 3.3.0 on, the first with exactly-once sources",
    ),
    Rule(
        kinds.MIXED,
        "Do all workers run the same version?",
        needs=("workers",),
        check=_mixed,
    ),
    Rule(
        kinds.BUGS,
        "Do workers or brokers have bugs of exactly-once that a newer release fixes?",
        needs=("workers",),
        check=_bugs,
    ),
)
