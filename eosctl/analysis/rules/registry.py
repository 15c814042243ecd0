"""The one registry of rules, and how they are asked."""

from collections.abc import Iterable
from typing import Final

from eosctl.analysis.rules import (
    acls,
    brokers,
    connectors,
    consumers,
    fencing,
    group,
    offsets,
    topics,
    transactions,
    versions,
    workers,
    wrapped,
)
from eosctl.model.evidence import Evidence
from eosctl.model.report import Finding
from eosctl.model.rules import Diagnosis, Rule, RuleAnswer
from eosctl.model.skipped import Skipped

THEMES: Final = {
    "Versions": versions.RULES,
    "Workers": workers.RULES,
    "The group": group.RULES,
    "Fencing": fencing.RULES,
    "Brokers and the transaction log": brokers.RULES,
    "Internal topics": topics.RULES,
    "Records of the config and offsets topics": tuple(
        sorted((*wrapped.RULES, *offsets.RULES), key=lambda rule: rule.id)
    ),
    "Connectors": connectors.RULES,
    "Transactional IDs": transactions.RULES,
    "Consumers": consumers.RULES,
    "ACLs": acls.RULES,
}
RULES: Final[tuple[Rule, ...]] = tuple(rule for rules in THEMES.values() for rule in rules)


def rule_by_id(rule_id: str) -> Rule | None:
    """The rule of this ID, in any case; None where there is none."""
    return next((rule for rule in RULES if rule.id == rule_id.upper()), None)


def diagnose(evidence: Evidence, rules: Iterable[Rule] = RULES) -> Diagnosis:
    """The answer of every rule to this evidence."""
    return Diagnosis(tuple(ask(rule, evidence) for rule in rules))


def ask(rule: Rule, evidence: Evidence) -> RuleAnswer:
    """The answer of one rule: nothing where it does not concern the workers' versions, and never `fine` unread."""
    if not _concerns(rule, evidence):
        return RuleAnswer(rule)
    missing = evidence.missing(rule.needs)
    if missing:
        return RuleAnswer(rule, (), tuple(f"{name.replace('_', ' ')}: {skipped.reason}" for name, skipped in missing))
    said = tuple(rule.check(evidence))
    reasons = dict.fromkeys(each.reason for each in said if isinstance(each, Skipped))
    return RuleAnswer(rule, tuple(each for each in said if isinstance(each, Finding)), tuple(reasons))


def _concerns(rule: Rule, evidence: Evidence) -> bool:
    """Whether a worker of a version that the rule is about may be there: any may where none answered."""
    known = [worker.version for worker in evidence.answering]
    if not known or evidence.silent:
        return True
    return any(
        (rule.since is None or version >= rule.since) and (rule.until is None or version < rule.until)
        for version in known
    )
