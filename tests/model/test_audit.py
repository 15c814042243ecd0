"""An audit against the one before, and the time that it covers."""

from typing import Any

import pytest
from msgspec.structs import replace

from eosctl.model.audit import (
    AuditReport,
    AuditVerdict,
    ConnectorVerdict,
    EarlierAudit,
    EarlierFinding,
    RangeEvidence,
    RecordCount,
    total_records,
)
from eosctl.model.names import TopicPartition
from eosctl.model.report import FindingKind, Severity
from tests.render.audit_reports import rich_report

ERROR, WARNING, INFO = Severity
PLACES = [{"topic": "t", "offset": 1}, {"topic": "t", "offset": 2}]


@pytest.mark.parametrize(
    ("now", "before", "is_known"),
    [
        ({"count": 2}, {"count": 2}, True),
        ({"count": 1}, {"count": 2}, True),
        ({"count": 3}, {"count": 2}, False),
        ({"count": 1}, {}, False),
        ({"count": "1"}, {"count": 2}, False),
        ({"count": 1}, {"count": "2"}, False),
        ({"epoch": 1}, {"epoch": 2}, False),
        ({"epoch": 2}, {"epoch": 2}, True),
        ({"places": PLACES[:1]}, {"places": PLACES}, True),
        ({"places": PLACES}, {"places": PLACES[:1]}, False),
        ({"places": PLACES}, {"places": "t"}, False),
        ({"places": (TopicPartition("t", 0),)}, {"places": [TopicPartition("t", 0)]}, True),
        ({"reason": "for 9 s"}, {"reason": "for 3 s"}, True),
        ({}, {"count": 2}, True),
    ],
)
def test_a_finding_is_known_where_it_shows_no_new_place_and_no_larger_amount(now: Any, before: Any, is_known: bool):
    assert EarlierFinding(ERROR, before).has(ERROR, now) is is_known


@pytest.mark.parametrize(("before", "now", "is_known"), [(ERROR, WARNING, True), (WARNING, ERROR, False)])
def test_a_finding_that_became_worse_is_new(before: Severity, now: Severity, is_known: bool):
    assert EarlierFinding(before, {}).has(now, {}) is is_known


READ = RangeEvidence("t", 0, 0, 9)


@pytest.mark.parametrize(
    ("times", "window"),
    [
        ([], None),
        ([(None, None)], None),
        ([(-1, -1)], None),
        ([(0, 5)], (0, 5)),
        ([(None, 5)], (5, 5)),
        ([(-1, 5), (3, 9)], (3, 9)),
        ([(7, 8), (2, 4), (None, None)], (2, 8)),
    ],
)
def test_an_audit_covers_the_time_from_the_first_batch_with_a_time_to_the_last(times, window):
    ranges = tuple(replace(READ, first_timestamp=first, last_timestamp=last) for first, last in times)
    assert AuditReport(rich_report().plan, (), (), ranges).window == window


KIND = FindingKind("EOS999", "a-name", "a title", ERROR, "a cause", "do this", "a class")


@pytest.mark.parametrize(
    ("known", "broken_before", "evidence", "is_new"),
    [
        (True, {"c"}, {}, False),
        (False, {"c"}, {}, True),
        (True, set(), {"connectors": ["c"]}, True),
        (True, set(), {"connectors": ("c",)}, True),
        (True, {"c"}, {"connectors": ["c"]}, False),
        (True, set(), {"connectors": ["d"]}, False),
        (True, set(), {"connectors": "c"}, False),
        (True, set(), {}, False),
    ],
)
def test_a_finding_is_new_where_its_connector_is_broken_only_now(known: bool, broken_before, evidence, is_new: bool):
    finding = KIND.finding("s", "wrong", evidence)
    shown = {name: list(each) if isinstance(each, tuple) else each for name, each in evidence.items()}
    findings = {(finding.id, "s"): (EarlierFinding(ERROR, shown),)} if known else {}
    verdicts = tuple(ConnectorVerdict(name, verdict) for name, verdict in (("c", AuditVerdict.BROKEN), ("d", "held")))
    found = AuditReport(rich_report().plan, verdicts, (finding,), ())
    assert found.is_new(finding) is None
    earlier = EarlierAudit(1, "", findings, frozenset(broken_before))
    assert replace(found, earlier=earlier).is_new(finding) is is_new
    assert replace(found, earlier=earlier).newly_broken == frozenset({"c"}) - broken_before


@pytest.mark.parametrize(
    ("counts", "total"),
    [([], (0, 0)), ([(1, 2), (3, 3)], (4, 5)), ([(1, None), (1, 2)], (2, None)), ([(1, 2), (0, None)], (1, None))],
)
def test_a_sum_is_bounded_where_each_of_its_counts_is(counts, total):
    assert total_records(RecordCount(*each) for each in counts) == total
