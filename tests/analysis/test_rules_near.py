"""Each rule just beside its condition: a threshold one below and one above, a fact left out or unread."""

from collections.abc import Iterator

import pytest

from eosctl.analysis.rules import acls, brokers, connectors, iceberg, settings, topics, transactions, workers
from eosctl.analysis.rules.registry import RULES, ask
from eosctl.model.evidence import Evidence
from eosctl.model.rules import Rule, RuleAnswer
from tests.analysis.evidence import HEALTHY
from tests.analysis.test_rules import CONDITIONS, UNTOLD
from tests.looked_at import AsLookedAt
from tests.neighbours import by_answer

THEMES = {
    each.__name__.rpartition(".")[2]: each
    for each in (acls, brokers, connectors, iceberg, settings, topics, transactions, workers)
}


def changed_facts(evidence: Evidence) -> frozenset[str]:
    return frozenset(each for each in HEALTHY.__struct_fields__ if getattr(evidence, each) != getattr(HEALTHY, each))


def said(answer: RuleAnswer) -> str:
    """Without the prose: what a reader decides by."""
    found = [f"{each.severity} {each.subject} {dict(each.evidence)}" for each in answer.findings]
    return "; ".join([*found, *(f"cannot tell: {each}" for each in answer.cannot_tell)]) or answer.outcome


def lines(rule: Rule) -> Iterator[str]:
    for evidence in (evidence for rule_id, evidence, *_ in (*CONDITIONS, *UNTOLD) if rule_id == rule.id):
        answer = ask(rule, evidence)
        for each in answer.findings:
            yield f"{each.id} {each.severity} {each.subject}: {each.message} | {each.cure}"
        yield from (f"{rule.id} cannot tell: {each}" for each in answer.cannot_tell)
        yield from by_answer(evidence, lambda other: said(ask(rule, other)), within=changed_facts(evidence))


@pytest.mark.parametrize("theme", THEMES)
def test_each_rule_near_its_condition_has_its_golden_findings(theme: str, as_looked_at: AsLookedAt) -> None:
    of_theme = [rule for rule in RULES if rule.check.__module__ == THEMES[theme].__name__]
    as_looked_at(f"rules/{theme}", (line for rule in of_theme for line in lines(rule)))
