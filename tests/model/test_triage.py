"""Which findings end a command with 1: by severity, by waiver, and by whether they are new."""

from datetime import date

import pytest
from msgspec.structs import replace

from eosctl.analysis.catalogue.internal_topics import ORPHAN_OFFSETS, SHADOWED_OFFSET
from eosctl.analysis.upgrade import check_upgrade
from eosctl.errors import EXIT_FINE, EXIT_FOUND
from eosctl.model.report import Finding, Result, Severity, Triage, Waiver, exit_code
from eosctl.model.rules import Phase, Verdict
from tests.analysis.evidence import HEALTHY, A, B, worker

TODAY = date(2026, 11, 22)
ERROR = SHADOWED_OFFSET.finding("orders", "two offsets")
WARNING = replace(ERROR, severity=Severity.WARNING)
INFO = ORPHAN_OFFSETS.finding("gone", "offsets of nobody")


class Report(Result, frozen=True, kw_only=True):
    """An answer with these findings, of which it knows `known` from before."""

    findings: tuple[Finding, ...]
    known: tuple[Finding, ...] | None = None

    @property
    def reported(self) -> tuple[Finding, ...]:
        return self.findings

    def is_new(self, finding: Finding) -> bool | None:
        return None if self.known is None else finding not in self.known


def waiver(finding: str = "EOS080", subject: str = "orders", expires: date = TODAY) -> Waiver:
    return Waiver(finding, subject, "team-data", "the old topic is kept", expires)


def code(*findings: Finding, known: tuple[Finding, ...] | None = None, **triage: object) -> int:
    return exit_code(Report(findings=findings, known=known).under(Triage(today=TODAY, **triage)))


def test_the_kinds_are_as_this_test_takes_them():
    assert (ERROR.id, ERROR.name, ERROR.severity) == ("EOS080", "shadowed-offset", Severity.ERROR)
    assert INFO.severity is Severity.INFO


def test_errors_and_warnings_fail_unless_another_severity_is_named():
    assert [code(each) for each in (ERROR, WARNING, INFO)] == [EXIT_FOUND, EXIT_FOUND, EXIT_FINE]
    for least, codes in ((Severity.ERROR, (1, 0, 0)), (Severity.WARNING, (1, 1, 0)), (Severity.INFO, (1, 1, 1))):
        assert tuple(code(each, fail_on=least) for each in (ERROR, WARNING, INFO)) == codes, least


def test_a_hidden_finding_fails_nevertheless():
    assert code(WARNING, shown_from=Severity.ERROR) == EXIT_FOUND


@pytest.mark.parametrize("held", [waiver(), waiver("shadowed-offset"), waiver("eos080", "ord*"), waiver(subject="*")])
def test_a_waiver_for_its_id_or_name_and_its_subject_lets_a_finding_pass(held: Waiver):
    assert code(ERROR, waivers=(held,)) == EXIT_FINE


@pytest.mark.parametrize("other", [waiver("EOS081"), waiver(subject="order"), waiver(subject="ORDERS"), waiver("*")])
def test_a_waiver_for_another_kind_or_subject_does_not(other: Waiver):
    assert code(ERROR, waivers=(other,)) == EXIT_FOUND


def test_one_finding_that_is_not_waived_is_enough():
    assert code(ERROR, replace(ERROR, subject="payments"), waivers=(waiver(),)) == EXIT_FOUND


def test_a_waiver_holds_to_the_end_of_its_last_day():
    for expires, expected in ((date(2026, 11, 23), 0), (TODAY, 0), (date(2026, 11, 21), 1)):
        assert code(ERROR, waivers=(waiver(expires=expires),)) == expected, expires


def test_a_waiver_that_holds_is_taken_before_one_that_has_expired():
    both = Triage(waivers=(waiver(expires=date(2020, 1, 1)), waiver(subject="*")), today=TODAY)
    applied = both.waiver_of(ERROR)
    assert applied is not None
    assert (applied.waiver.subject, applied.expired) == ("*", False)


def test_a_known_finding_does_not_fail_again():
    assert code(ERROR, known=(ERROR,)) == EXIT_FINE
    assert code(ERROR, known=()) == EXIT_FOUND
    assert code(ERROR, WARNING, known=(ERROR,)) == EXIT_FOUND


def test_a_severity_that_is_named_adds_findings_to_what_blocks_a_step_and_takes_none_away():
    blocked = check_upgrade(replace(HEALTHY, workers={A: worker(A), B: worker(B, cluster="L")}), Phase.PREPARING)
    assert exit_code(blocked.under(Triage(fail_on=Severity.ERROR))) == EXIT_FOUND
    free = replace(blocked, verdict=Verdict.YES, blockers=(), warnings=(WARNING,))
    for least, code in ((None, EXIT_FINE), (Severity.ERROR, EXIT_FINE), (Severity.WARNING, EXIT_FOUND)):
        assert exit_code(free.under(Triage(fail_on=least))) == code, least


def test_no_waiver_permits_a_rolling_step():
    roll = replace(HEALTHY, workers={A: worker(A, cluster="K"), B: worker(B, cluster="L")})
    check = check_upgrade(roll, Phase.PREPARING)
    assert check.blockers
    waived = check.under(Triage(waivers=tuple(waiver(each.id, "*") for each in check.reported), today=TODAY))
    assert all(map(waived.triage.waives, waived.reported))
    assert exit_code(waived) == EXIT_FOUND
