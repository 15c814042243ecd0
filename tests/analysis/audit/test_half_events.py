"""Changes that a connector wrote as several records: which of them are incomplete, for every kind of cut."""

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from eosctl.model.audit import AuditReport, AuditVerdict
from eosctl.model.report import Severity
from tests.analysis.audit.changed_rows import ChangedRows, places
from tests.analysis.audit.histories import audit, audit_by_runs, everywhere, text_of

HALF = "half-event"
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("move"), st.integers(0, 9), st.one_of(st.none(), st.integers(0, 9))),
        st.tuples(st.just("insert")),
        st.tuples(st.just("update"), st.integers(0, 9)),
        st.tuples(st.just("delete"), st.integers(0, 9)),
        st.tuples(st.just("poll"), st.integers(1, 6)),
        st.tuples(st.just("poll")),
        st.tuples(st.just("stop"), st.sampled_from(["behind", "rest", "again"])),
        st.tuples(st.just("look")),
    ),
    min_size=5,
    max_size=40,
)
SETTINGS = st.fixed_dictionaries(
    {
        "transaction_version": st.sampled_from([1, 2]),
        "tombstones": st.booleans(),
        "batch": st.integers(1, 3),
        "partitions": st.integers(1, 3),
        "schemas": st.booleans(),
    }
)


def half_changes(report: AuditReport) -> list[dict[str, Any]]:
    return [dict(each.evidence) for each in report.findings if each.name == HALF and each.severity is Severity.ERROR]


def verdict(report: AuditReport) -> AuditVerdict:
    [found] = report.connectors
    return found.verdict


@given(SETTINGS, STEPS)
@settings(max_examples=50, deadline=None)
def test_every_half_change_is_found_and_nothing_else_however_the_log_is_cut_and_read(how, steps):
    rows = ChangedRows(**how)
    moments = []
    for name, *what in steps:
        if name == "look":
            moments.append(rows.brokers.seen())
        else:
            getattr(rows, name)(*what)
    rows.poll()
    rows.work_on()
    moments.append(rows.brokers.seen())
    report = audit(rows.brokers, moments[-1])
    found = half_changes(report)
    assert sorted(change for each in found for change in places(each)) == sorted(rows.half)[:10]
    assert sum(each["count"] for each in found) == len(rows.half) + len(rows.bare)
    assert not [each for each in report.findings if each.name == HALF and each.severity is Severity.WARNING]
    assert verdict(report) is (AuditVerdict.BROKEN if rows.half or rows.bare else AuditVerdict.HELD)
    assert text_of(audit(rows.brokers, moments[-1], everywhere)) == text_of(report)
    by_runs = audit_by_runs(rows.brokers, moments)
    assert sorted(map(json.dumps, half_changes(by_runs))) == sorted(map(json.dumps, found))
