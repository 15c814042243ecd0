"""Parquet files of an audit, read back."""

import json
import stat
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from pyarrow import parquet

from eosctl.errors import ConfigError
from eosctl.executors.audit_export import TABLES, export_audit
from eosctl.model.audit import AuditReport, Gap, Growth, RangeEvidence
from tests.render.any_audit_reports import reports
from tests.render.audit_reports import AS_OF, HOSTILE_NAMES, rich_report


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    directory = tmp_path_factory.mktemp("export") / "audit"
    export_audit(directory, rich_report())
    return directory


def rows(directory, name):
    return parquet.read_table(directory / f"{name}.parquet").to_pylist()


def test_there_is_a_file_for_each_table_and_nothing_else(exported):
    assert sorted(path.name for path in exported.iterdir()) == sorted(f"{name}.parquet" for name in TABLES)


def test_only_the_owner_may_read_them(exported):
    assert {stat.S_IMODE(path.stat().st_mode) for path in exported.iterdir()} == {0o600}
    assert stat.S_IMODE(exported.stat().st_mode) == 0o700


def test_findings_come_back_whole(exported):
    found = rows(exported, "findings")
    assert [(each["id"], each["name"]) for each in found] == [(each.id, each.name) for each in rich_report().findings]
    assert [json.loads(each["evidence_json"]) for each in found] == [
        dict(each.evidence) for each in rich_report().findings
    ]
    assert found[0]["severity"] == "error"


def test_verdicts_come_back_with_their_lists(exported):
    assert rows(exported, "connectors")[2] == {
        "name": "invoices-cdc",
        "verdict": "broken",
        "evidence": ["EOS220", "EOS203"],
        "reasons": ["its tasks started at 09:14 without a round of fencing, and two producers wrote at once"],
        "repeated_by_change_at_least": 0,
        "repeated_by_change_at_most": 0,
        "left_out_by_change_at_least": 0,
        "left_out_by_change_at_most": 0,
    }


def test_ranges_and_their_gaps_come_back(exported):
    assert sum(each["records"] for each in rows(exported, "ranges")) == 4_458_911
    assert rows(exported, "gaps") == [
        {"topic": "legacy-import", "partition": 2, "start": 14200, "end": 18211, "kind": "below-log-start"}
    ]


def test_times_are_times(exported):
    [ended, *_, still_open] = rows(exported, "stalls")
    assert ended["from_time"] == datetime(2025, 12, 29, 20, tzinfo=UTC)
    assert ended["until_time"] == datetime(2025, 12, 29, 20, 15, tzinfo=UTC)
    assert still_open["until_time"] is None
    assert rows(exported, "growth")[0]["hour"] == datetime(2025, 12, 28, 12, tzinfo=UTC)


def test_histograms_are_rows_with_bounds(exported):
    statistics = rich_report().transactions[0]
    found = [each for each in rows(exported, "histograms") if each["connector"] == statistics.connector]
    assert sum(each["transactions"] for each in found if each["of"] == "records") == statistics.committed
    assert {(each["low"], each["high"]) for each in found if each["of"] == "records"} >= {(64, 127), (128, 255)}


def test_a_file_says_which_cluster_was_audited_and_when(exported):
    metadata = parquet.read_schema(exported / "timeline.parquet").metadata
    assert metadata[b"eosctl.cluster_id"] == b"q1Sh-9_ISia_zwGINzRvyQ"
    assert metadata[b"eosctl.as_of_ms"] == str(AS_OF).encode()


def test_an_empty_report_gives_empty_tables_with_their_columns(tmp_path):
    export_audit(tmp_path, AuditReport(rich_report().plan, (), (), ()))
    for name, columns in TABLES.items():
        table = parquet.read_table(tmp_path / f"{name}.parquet")
        assert (table.num_rows, table.column_names) == (0, [column for column, _ in columns])


def test_the_largest_figures_and_no_timestamp_survive(tmp_path):
    largest = RangeEvidence("t", 0, 0, 2**63 - 1, records=2**63 - 1, first_timestamp=-1, gaps=(Gap(0, 1, "lost"),))
    export_audit(
        tmp_path, AuditReport(rich_report().plan, (), (), (largest,), growth=(Growth("t", 0, 0, 2**63 - 1, 0),))
    )
    [row] = rows(tmp_path, "ranges")
    assert (row["end"], row["records"], row["first_timestamp"]) == (2**63 - 1, 2**63 - 1, None)
    assert rows(tmp_path, "growth")[0]["records"] == 2**63 - 1


@settings(max_examples=25)
@given(reports)
def test_every_report_can_be_exported(tmp_path_factory, report):
    directory = tmp_path_factory.mktemp("any")
    export_audit(directory, report)
    assert parquet.read_metadata(directory / "findings.parquet").num_rows == len(report.findings)
    assert parquet.read_metadata(directory / "timeline.parquet").num_rows == len(report.timeline)
    names = parquet.read_table(directory / "connectors.parquet")["name"].to_pylist()
    assert names == [each.name.encode("utf-8", "backslashreplace").decode() for each in report.connectors]


def test_a_second_export_replaces_the_first(tmp_path):
    export_audit(tmp_path, rich_report())
    export_audit(tmp_path, AuditReport(rich_report().plan, (), (), ()))
    assert rows(tmp_path, "findings") == []
    assert {path.suffix for path in tmp_path.iterdir()} == {".parquet"}


def test_a_directory_that_cannot_be_made_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match=r"cannot make .*file/audit"):
        export_audit(tmp_path / "file" / "audit", rich_report())


def test_hostile_names_are_only_names(tmp_path):
    assert any("\ud800" in name for name in HOSTILE_NAMES)
    report = rich_report()
    findings = tuple(
        type(each)(each.kind, each.severity, name, name, name, {name: name})
        for name in HOSTILE_NAMES
        for each in report.findings[:1]
    )
    export_audit(tmp_path, AuditReport(report.plan, (), findings, ()))
    assert [list(json.loads(each["evidence_json"])) for each in rows(tmp_path, "findings")] == [
        [name] for name in HOSTILE_NAMES
    ]
