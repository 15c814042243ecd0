"""Findings on a terminal: grouped by kind, waived ones last, new ones before known ones."""

from eosctl.render.cells import Page
from eosctl.render.document import Document, Findings
from eosctl.render.formats import Output, text_of

WAIVER = {"subject": "*", "owner": "team-data", "reason": "legacy", "expires": "2026-12-31", "expired": False}


def row(subject: str = "orders", **more: object) -> dict[str, object]:
    finding = {"id": "EOS080", "name": "shadowed-offset", "severity": "error", "cure": "move it", "evidence": {}}
    return {**finding, "subject": subject, "message": f"two of {subject}", "waiver": None, "new": None, **more}


def lines(*rows: dict[str, object], left_out: int = 0, width: int | None = None) -> list[str]:
    data = {"findings": list(rows), "findings_left_out": left_out}
    return text_of(Document("k", data, blocks=(Findings(),)), Output.TABLE, Page(width, colour=False)).splitlines()


def test_one_finding_has_its_subject_in_the_first_line():
    assert lines(row()) == ["Findings", "error EOS080 shadowed-offset orders", "  two of orders", "  fix: move it"]


def test_several_of_a_kind_are_counted_and_share_their_fix():
    assert lines(row("orders"), row("payments")) == [
        "Findings",
        "error EOS080 shadowed-offset (2)",
        "  orders: two of orders",
        "  payments: two of payments",
        "  fix: move it",
    ]


def test_each_keeps_a_fix_of_its_own():
    assert lines(row("orders", cure="move orders"), row("payments", cure="move payments"))[2:] == [
        "  orders: two of orders",
        "  fix: move orders",
        "  payments: two of payments",
        "  fix: move payments",
    ]


def test_kinds_and_severities_are_not_mixed():
    shown = lines(row("a"), row("b", severity="warning"), row("c", id="EOS081", name="other"))
    heads = [line for line in shown if "EOS" in line]
    assert heads == ["error EOS080 shadowed-offset a", "warning EOS080 shadowed-offset b", "error EOS081 other c"]


def test_a_waived_finding_is_shown_as_such_and_after_the_others():
    shown = lines(row("legacy", waiver=WAIVER), row("orders"))
    assert shown[1] == "error EOS080 shadowed-offset orders"
    assert shown[-1] == "  waived until 2026-12-31 (team-data: legacy)"


def test_an_expired_waiver_is_marked_and_keeps_its_place():
    shown = lines(row("legacy", waiver={**WAIVER, "expired": True}), row("orders"))
    assert shown[1:5] == [
        "error EOS080 shadowed-offset legacy",
        "  two of legacy",
        "  fix: move it",
        "  its waiver expired on 2026-12-31 (team-data: legacy)",
    ]


def test_new_findings_come_before_known_ones():
    shown = lines(row("old", new=False), row("fresh", new=True))
    assert [line for line in shown if line and not line.startswith(" ")] == [
        "Findings",
        "error EOS080 shadowed-offset fresh",
        "Known from the last run",
        "error EOS080 shadowed-offset old",
    ]


def test_a_hidden_part_is_counted():
    assert lines(row(), left_out=2)[-1] == "2 findings of lower severity are not shown"
    assert lines(left_out=1) == ["Findings", "1 finding of lower severity is not shown"]
    assert lines() == ["Findings", "no findings"]


def test_an_owner_or_reason_cannot_reach_the_terminal():
    shown = lines(row("a", waiver={**WAIVER, "owner": "x\x1b[2J", "reason": "a\nerror EOS001 forged"}))
    assert shown[-1] == r"  waived until 2026-12-31 (x\x1b[2J: a\nerror EOS001 forged)"
