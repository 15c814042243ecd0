"""Findings in a gate: which are shown, whose waiver holds, and which facts an answer lacks."""

from datetime import date

import pytest
from msgspec.structs import replace

from eosctl.model.report import (
    ANY_BROKER,
    INCOMPLETE,
    FindingKind,
    FoundResult,
    Severity,
    Triage,
    Uncertainty,
    Waiver,
    gate_of,
)
from eosctl.model.skipped import Cause, Coverage, Unread

KIND = FindingKind("EOS999", "a-name", "a title", Severity.ERROR, "a cause", f"list {ANY_BROKER}", "a class")
ERROR, INFO = KIND.finding("s", "wrong"), KIND.finding("s", "known", severity=Severity.INFO)
TODAY = date(2026, 1, 2)


@pytest.mark.parametrize(("tools", "cure"), [("", f"list {ANY_BROKER}"), ("-b b:1", "list -b b:1")])
def test_the_fix_names_the_brokers_where_they_are_known(tools: str, cure: str):
    assert Triage(kafka_tools=tools).cure_of(ERROR) == cure


@pytest.mark.parametrize(
    ("expires", "fails", "is_waived"),
    [(None, True, False), (date(2026, 1, 1), True, False), (TODAY, False, True), (date(2026, 1, 3), False, True)],
)
def test_a_waiver_that_has_expired_waives_nothing(expires: date | None, fails: bool, is_waived: bool):
    waivers = () if expires is None else (Waiver("EOS999", "*", "me", "known", expires),)
    answer = FoundResult(findings=(ERROR, INFO), looked_for=(KIND,)).under(Triage(waivers=waivers, today=TODAY))
    [question] = gate_of("doctor", answer).questions
    assert [each.fails for each in question.reported] == [fails, False]
    assert [each.waiver is not None for each in question.reported] == [is_waived, is_waived]


@pytest.mark.parametrize(("shown_from", "shown"), [(Severity.INFO, 2), (Severity.WARNING, 1), (Severity.ERROR, 1)])
def test_a_hidden_finding_is_in_the_gate_only_where_it_fails(shown_from: Severity, shown: int):
    answer = FoundResult(findings=(ERROR, INFO), looked_for=(KIND,)).under(Triage(shown_from=shown_from))
    [question] = gate_of("doctor", answer).questions
    assert len(question.reported) == shown


GAP = Coverage((), (Unread("a fact", "no answer", Cause.UNREACHABLE),))
EXTRA = Coverage((), (Unread("an extra", "no answer", Cause.UNREACHABLE, needed=False),))


class Doubted(FoundResult, frozen=True, kw_only=True):
    """An answer with these doubts, and whether it is complete."""

    of: tuple[Uncertainty, ...] = ()
    is_whole: bool = True

    @property
    def doubts(self) -> tuple[Uncertainty, ...]:
        return self.of

    @property
    def complete(self) -> bool:
        return self.is_whole


def doubt(kind_id: str | None, *, needed: bool) -> Uncertainty:
    return Uncertainty(kind_id, "why", needed)


@pytest.mark.parametrize(
    ("answer", "lacking", "unread"),
    [
        (Doubted(), (), ()),
        (Doubted(is_whole=False), (INCOMPLETE,), ()),
        (Doubted(is_whole=False, of=(doubt(None, needed=True),)), ("why",), ()),
        (Doubted(is_whole=False, of=(doubt("EOS999", needed=True),)), (), ()),
        (Doubted(is_whole=False, of=(doubt("EOS999", needed=False),)), (INCOMPLETE,), ()),
        (Doubted(of=(doubt(None, needed=False),)), (), ()),
        (Doubted(is_whole=False, coverage=GAP), ("a fact was not read: no answer",), ()),
        (Doubted(coverage=EXTRA), (), ("an extra was not read: no answer",)),
    ],
)
def test_an_answer_lacks_the_facts_that_it_needed_each_once(answer: Doubted, lacking, unread):
    gate = gate_of("doctor", replace(answer, looked_for=(KIND,)))
    assert (gate.lacking, gate.unread) == (lacking, unread)
