"""The one registry of rules, how they run, and which commands report their findings."""

from collections.abc import Iterable
from typing import Final

from eosctl.analysis.catalogue.index import kinds_called
from eosctl.analysis.rules import acls, brokers, connectors, iceberg, settings, topics, transactions, workers
from eosctl.errors import Undecodable
from eosctl.model.evidence import Evidence
from eosctl.model.report import Explanation, FindingKind, Severity
from eosctl.model.rules import Diagnosis, Rule, RuleAnswer
from eosctl.model.skipped import Skipped

_BY_THEME: Final = (
    *(
        workers.VERSION_RULES,
        workers.RULES,
        workers.GROUP_RULES,
        transactions.FENCING_RULES,
        brokers.RULES,
        topics.RULES,
        topics.DELEGATED_RULES,
    ),
    *(
        topics.OFFSET_RULES,
        connectors.RULES,
        transactions.RULES,
        connectors.CONSUMER_RULES,
        acls.RULES,
        connectors.OUTPUT_RULES,
    ),
    *(
        connectors.BOUNDARY_RULES,
        transactions.SHARED_ID_RULES,
        workers.PLUGIN_RULES,
        connectors.PROGRESS_RULES,
        connectors.LOSS_RULES,
        iceberg.RULES,
        topics.HISTORY_RULES,
        brokers.TRANSACTION_LOG_RULES,
        topics.MIRROR_RULES,
        settings.RULES,
        settings.BROKER_RULES,
        settings.TOPIC_RULES,
    ),
)
RULES: Final = tuple(sorted((rule for rules in _BY_THEME for rule in rules), key=lambda rule: rule.id))
EXPECTED_WHILE_ROLLING: Final = frozenset({"EOS012", "EOS013"})
"""Rules that upgrade-check does not report, because they hold during every rolling step."""


def commands_reporting(kind: FindingKind) -> tuple[str, ...]:
    """The commands whose findings may be of this kind; upgrade-check reports errors and warnings of rules."""
    asked = any(rule.kind == kind for rule in RULES)
    warned = asked and kind.severity is not Severity.INFO and kind.id not in EXPECTED_WHILE_ROLLING
    return (*(("doctor",) if asked else ()), *(("upgrade-check",) if warned else ()), *kind.commands)


def diagnose(evidence: Evidence, rules: Iterable[Rule] = RULES) -> Diagnosis:
    """The answer of every rule to this evidence; if a name is wrong, only of the rules that say so."""
    misnamings = (ask(rule, evidence) for rule in RULES if rule.kind.is_misnaming)
    wrong = tuple(answer for answer in misnamings if any(each.is_misnaming for each in answer.findings))
    return Diagnosis(evidence, wrong or tuple(ask(rule, evidence) for rule in rules))


def ask(rule: Rule, evidence: Evidence) -> RuleAnswer:
    """The answer of one rule: nothing where it does not concern their versions, and never `fine` unread."""
    if rule.versions is not None and not rule.versions.concern(evidence):
        return RuleAnswer(rule)
    missing = evidence.missing(rule.needs)
    if missing:
        reasons = tuple(f"{name.replace('_', ' ')}: {skipped.reason}" for name, skipped in missing)
        return RuleAnswer(rule, (), reasons, not any(skipped.cause.is_gap for _, skipped in missing))
    try:
        said = tuple(rule.check(evidence))
    except Undecodable as error:  # an unreadable value in one file: the other rules have their answers
        return RuleAnswer(rule, (), (error.message,), complete=False)
    unknown = [each for each in said if isinstance(each, Skipped)]
    findings = tuple(each for each in said if not isinstance(each, Skipped))
    reasons = tuple(dict.fromkeys(each.reason for each in unknown))
    complete = not any(each.cause.is_gap for each in unknown)
    return RuleAnswer(rule, findings, reasons, complete)


def explain_finding(word: str) -> tuple[Explanation, ...]:
    """The kind of finding with this ID, or those of this name, in any case; empty if the word is neither."""
    return tuple(
        Explanation(
            kind.id,
            kind.title,
            kind.cause,
            kind.fixes,
            kind.source,
            kind.name,
            kind.severity,
            commands_reporting(kind),
        )
        for kind in kinds_called(word)
    )
