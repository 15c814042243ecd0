"""Rules' versions and outcomes, and the sentence of a check before a roll."""

import pytest
from msgspec.structs import replace

from eosctl.model.report import Finding, FindingKind, Severity
from eosctl.model.rules import (
    Diagnosis,
    FeatureLevel,
    Phase,
    Rule,
    RuleAnswer,
    UpgradeCheck,
    Verdict,
    Versions,
    Whose,
)
from eosctl.model.skipped import Cause, Coverage, Unread
from eosctl.model.versions import KafkaVersion, Release
from tests.analysis.evidence import HEALTHY, but

GAP = Coverage((), (Unread("a fact", "no answer", Cause.UNREACHABLE),))
KIND = FindingKind("EOS999", "a-name", "a title", Severity.ERROR, "a cause", "do this", "a class")
MISNAMING = replace(KIND, is_misnaming=True)
ERROR, INFO = KIND.finding("s", "wrong"), KIND.finding("s", "known", severity=Severity.INFO)
RULE = Rule(KIND, "is it so?", (), lambda _: ())
FOUND, NOTED, FINE = RuleAnswer(RULE, (ERROR,)), RuleAnswer(RULE, (INFO,)), RuleAnswer(RULE)
UNSURE, UNTOLD = RuleAnswer(RULE, cannot_tell=("why",)), RuleAnswer(RULE, cannot_tell=("why",), complete=False)
V33, V35, V37 = KafkaVersion(3, 3), KafkaVersion(3, 5), KafkaVersion(3, 7)


@pytest.mark.parametrize(
    ("release", "since", "until", "concerned"),
    [
        (Release(V35, V37), None, None, True),
        (Release(V35, V37), V35, None, True),
        (Release(V33, V35), V35, None, False),
        (Release(V33, V37), V35, None, True),
        (Release(V33, None), V37, None, True),
        (Release(V35, V37), None, V35, False),
        (Release(V35, V37), None, V37, True),
        (Release(V37, None), None, V35, False),
        (Release(V35, V37), V35, V37, True),
        (Release(V33, V35), V35, V37, False),
        (Release(V37, None), V33, V37, False),
    ],
)
def test_a_rule_concerns_brokers_that_may_have_a_version_from_its_first_to_before_its_last(
    release: Release, since, until, concerned: bool
):
    assert Versions(Whose.BROKERS, since, until).concern(but(broker_releases={1: release})) is concerned


def test_versions_that_are_not_all_known_may_be_any():
    assert Versions(Whose.BROKERS, until=V33).concern(but(broker_releases={})) is False
    assert Versions(Whose.WORKERS, until=V33).concern(but(workers={})) is True
    assert Versions(Whose.WORKERS, until=V33).concern(HEALTHY) is False


@pytest.mark.parametrize(
    ("since", "until", "words"),
    [
        (None, None, "workers"),
        (V33, None, "workers from 3.3 on"),
        (None, V35, "workers before 3.5"),
        (V33, V35, "workers from 3.3 on, before 3.5"),
    ],
)
def test_versions_are_told_with_their_bounds(since, until, words: str):
    assert str(Versions(Whose.WORKERS, since, until)) == words.replace("3.3", str(V33)).replace("3.5", str(V35))


@pytest.mark.parametrize(
    ("answers", "outcomes", "verdict", "complete"),
    [
        ((), [], "fine", True),
        ((FINE, NOTED), ["fine", "fine"], "fine", True),
        ((FINE, UNSURE), ["fine", "cannot tell"], "cannot tell", True),
        ((UNTOLD, FINE), ["cannot tell", "fine"], "cannot tell", False),
        ((UNSURE, FOUND), ["cannot tell", "found"], "found", True),
        ((replace(NOTED, cannot_tell=("why",)),), ["cannot tell"], "cannot tell", True),
        ((replace(FOUND, cannot_tell=("why",)),), ["found"], "found", True),
    ],
)
def test_a_diagnosis_is_found_before_it_cannot_tell_and_cannot_tell_before_it_is_fine(
    answers, outcomes, verdict, complete
):
    found = Diagnosis(HEALTHY, answers)
    assert [each.outcome for each in answers] == outcomes
    assert (found.verdict, found.complete) == (verdict, complete)
    assert not found.covering(GAP).complete
    assert [each.needed for each in found.doubts] == [not each.complete for each in answers if each.cannot_tell]


def test_a_finding_that_a_name_is_wrong_excludes_the_others():
    other, proved = MISNAMING.finding("s", "another"), MISNAMING.finding("s", "leader", {"leader": "a"})
    found = Diagnosis(HEALTHY, (FOUND, RuleAnswer(RULE, (proved,)), RuleAnswer(RULE, (other,))))
    assert found.misnaming == other
    assert Diagnosis(HEALTHY, (FOUND, RuleAnswer(RULE, (proved,)))).misnaming is None


def check(verdict: Verdict, target: Phase | FeatureLevel, done: bool | None, *blockers: Finding) -> UpgradeCheck:
    return UpgradeCheck(HEALTHY, target, verdict, done, (), blockers, (), ("why",), (), ())


LEVEL = FeatureLevel("transaction.version", 2)
YES, NO, CANNOT_TELL = Verdict


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (check(YES, LEVEL, True), "yes: transaction.version=2 is the present level"),
        (check(YES, LEVEL, False), "yes: transaction.version=2 is harmless to transactions"),
        (check(YES, Phase.ENABLED, True), "yes: every worker is enabled already"),
        (check(YES, Phase.ENABLED, False), "yes: continue the roll to enabled, one worker after the other"),
        (check(YES, Phase.ENABLED, None), "yes: continue the roll to enabled, one worker after the other"),
        (check(NO, Phase.ENABLED, True, ERROR), "no: 1 finding blocks enabled: wrong"),
        (check(NO, LEVEL, False, ERROR, INFO), "no: 2 findings block transaction.version=2: wrong"),
        (check(CANNOT_TELL, LEVEL, True), "cannot tell, which is not a yes: why"),
        (check(CANNOT_TELL, Phase.ENABLED, None, ERROR), "cannot tell, which is not a yes: why"),
    ],
)
def test_a_check_before_a_roll_is_told_in_one_sentence(found: UpgradeCheck, words: str):
    assert found.summary == words
    assert found.complete is (found.verdict is not CANNOT_TELL)
    assert not found.covering(GAP).complete
