"""Files that are written whole: exports, caches."""

import json
import os
import stat
import zipfile
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace as Answer
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import parquet

import eosctl
from eosctl.atomic_write import atomic_file, require_new, write_atomic_file
from eosctl.clients.access import ClusterAccess
from eosctl.errors import ConfigError, NotAuthorized, TimedOut, UsageError
from eosctl.executors import audit_export
from eosctl.executors.acls import perform_create_acls, perform_delete_acls
from eosctl.executors.audit_export import TABLES, export_audit, write_spark_bundle
from eosctl.executors.files import (
    decode_cached_names,
    encode_cached_names,
    evict_old_names,
    record_trust,
    remove_trust,
    set_current,
)
from eosctl.model.acls import AclBinding, Operation, topic
from eosctl.model.audit import AuditReport, Gap, Growth, RangeEvidence
from eosctl.model.names import FORGOTTEN_MS, FRESH_MS, NOTHING, PATIENCE_MS, CachedNames, Side
from eosctl.model.plan import CreateAcls, DeleteAcls
from eosctl.render.console import write_output_file
from tests.render.audit_reports import AS_OF, HOSTILE_NAMES, reports, rich_report


def fill(path, parts):
    with atomic_file(path) as file:
        for part in parts:
            file.write(part)


def test_a_file_is_written_for_its_owner_only(tmp_path):
    assert write_atomic_file(tmp_path / "page.html", "naïve") == 6
    assert (tmp_path / "page.html").read_text("utf-8") == "naïve"
    assert stat.S_IMODE((tmp_path / "page.html").stat().st_mode) == 0o600


def test_the_old_file_stays_when_writing_fails(tmp_path):
    path = tmp_path / "page.html"
    path.write_text("before")
    with pytest.raises(TypeError, match="bytes-like"):
        fill(path, [b"after", "no bytes"])
    assert path.read_text() == "before"
    assert list(tmp_path.iterdir()) == [path]


def test_a_full_disk_is_reported_with_the_path(tmp_path):
    path = tmp_path / "page.html"
    with pytest.raises(ConfigError, match=r"cannot write .*page\.html: No space left on device"), atomic_file(path):
        raise OSError(28, "No space left on device")
    assert list(tmp_path.iterdir()) == []


def test_a_missing_directory_is_reported(tmp_path):
    with pytest.raises(ConfigError, match=r"cannot write .*No such file or directory"):
        write_atomic_file(tmp_path / "no" / "page.html", "")


NAMES = st.lists(st.text(st.characters(exclude_categories=["Cs"])), max_size=5).map(tuple)
TIMES = st.integers(0, 2**53)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: (
        st.lists(inner) | st.dictionaries(st.sampled_from(["version", "names", "read_at", "asked_at"]), inner)
    ),
)


@given(st.builds(CachedNames, NAMES, TIMES, TIMES))
def test_written_data_is_read(remembered):
    assert decode_cached_names(encode_cached_names(remembered)) == remembered


@given(st.text() | JSON.map(json.dumps))
def test_anything_else_is_nothing_or_names(text):
    found = decode_cached_names(text)
    assert found == NOTHING or all(isinstance(name, str) for name in found.names)


def test_names_are_asked_for_again_when_they_are_old_and_not_at_once_after_a_failure():
    fresh = CachedNames(("orders",), 1_000, 1_000)
    assert not fresh.is_due(1_000 + FRESH_MS - 1)
    assert fresh.is_due(1_000 + FRESH_MS)
    failed = fresh.unanswered(1_000 + FRESH_MS)
    assert not failed.is_due(1_000 + FRESH_MS + PATIENCE_MS - 1)
    assert failed.is_due(1_000 + FRESH_MS + PATIENCE_MS)
    assert failed.known(1_000 + FORGOTTEN_MS - 1) == ("orders",)
    assert failed.known(1_000 + FORGOTTEN_MS) == ()


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
        "covers": [],
        "not_covered": [],
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


def test_a_file_names_the_audited_cluster_and_the_time(exported):
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


BINDING = AclBinding("User:worker", Operation.READ, topic("orders"))
HAS = Answer(
    error_code=0,
    resources=[
        Answer(
            resource_type=2,
            resource_name="orders",
            pattern_type=3,
            acls=[Answer(principal="User:worker", host="*", operation=3, permission_type=3)],
        )
    ],
)
HAS_NOT = Answer(error_code=0, resources=[])
HIDES = Answer(error_code=31, resources=[])


class Brokers:
    """Two brokers that make the change at once, and answer DescribeAcls with these, the last one for ever."""

    principal = "User:admin"

    def __init__(self, *described: Answer) -> None:
        self.described = list(described)
        self.asked: list[int] = []

    def brokers(self) -> list[Answer]:
        return [Answer(node_id=1), Answer(node_id=2)]

    def request_any(self, request: Any, *, timeout_s: float) -> Answer:
        result = Answer(error_code=0, matching_acls=[BINDING])
        return Answer(results=[result], filter_results=[result])

    def request(self, node_id: int, request: Any, *, timeout_s: float) -> Answer:
        assert "Describe" in request.api.__name__
        self.asked.append(node_id)
        return self.described.pop(0) if len(self.described) > 1 else self.described[0]


def access(brokers: Brokers, timeout_s: float = 30.0) -> ClusterAccess:
    return ClusterAccess(brokers, (), timeout_s)  # type: ignore[arg-type]  # as far as it is used


STEPS = [
    pytest.param(perform_create_acls, CreateAcls(Side.SOURCE, (BINDING,)), HAS_NOT, HAS, "1 ACLs created", id="create"),
    pytest.param(perform_delete_acls, DeleteAcls(Side.SOURCE, (BINDING,)), HAS, HAS_NOT, "1 ACLs removed", id="delete"),
]


@pytest.mark.parametrize(("perform", "step", "before", "after", "detail"), STEPS)
def test_a_broker_that_is_behind_is_waited_for(perform, step, before, after, detail):
    brokers = Brokers(before, before, after, before, after)
    assert perform(step, lambda: None, access=access(brokers)) == detail
    assert brokers.asked == [1, 1, 1, 2, 2]


@pytest.mark.parametrize(("perform", "step", "before", "after", "detail"), STEPS)
def test_a_worker_that_stays_behind_is_named_with_its_missing_setting(perform, step, before, after, detail):
    with pytest.raises(TimedOut, match=r"1 ACLs are .*, and broker 1 still .*, the first: .*orders.*, after 0\.1 s"):
        perform(step, lambda: None, access=access(Brokers(before), 0.1))


@pytest.mark.parametrize(("perform", "step", "before", "after", "detail"), STEPS)
def test_who_may_not_describe_acls_does_not_wait(perform, step, before, after, detail):
    brokers = Brokers(HIDES)
    assert perform(step, lambda: None, access=access(brokers)) == detail
    assert brokers.asked == [1, 2]


def test_a_kept_file_is_overwritten_only_where_that_is_allowed_also_a_link_to_nothing(tmp_path):
    kept, link = tmp_path / "kept", tmp_path / "link"
    require_new(kept, overwrite=False)
    kept.write_text("before")
    link.symlink_to(tmp_path / "gone")
    for path in (kept, link):
        require_new(path, overwrite=True)
        with pytest.raises(UsageError, match="exists already, and was not overwritten"):
            require_new(path, overwrite=False)


def test_no_file_takes_the_place_of_a_device_a_pipe_or_a_link_to_an_open_file(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path in (pipe, Path("/dev/null"), Path("/dev/stdout"), Path("/proc/self/fd/0")):
        with pytest.raises(ConfigError, match="it is no regular file"):
            write_atomic_file(path, "text")
    assert pipe.is_fifo()
    assert not Path("/dev/null").is_file()


def test_an_answer_is_written_into_an_open_file_and_not_in_the_place_of_its_link(tmp_path):
    with (tmp_path / "answer").open("w") as file:
        write_output_file(Path(f"/proc/self/fd/{file.fileno()}"), ["text"])
    assert (tmp_path / "answer").read_text() == "text"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (None, "current: 'it''s'\n"),
        ("", "current: 'it''s'\n"),
        ("a: 1\n", "current: 'it''s'\na: 1\n"),
        ("a: 1\ncurrent: b\nc: 2\n", "a: 1\ncurrent: 'it''s'\nc: 2\n"),
        ("a: 1\ncurrent: b", "a: 1\ncurrent: 'it''s'\n"),
        ("  current: b\n", "current: 'it''s'\n  current: b\n"),
    ],
    ids=["no file", "empty", "first", "replaced", "without a line end", "of a profile"],
)
def test_the_profile_in_use_is_one_line_and_all_others_stay(tmp_path, before, after):
    path = tmp_path / "profiles.yaml"
    if before is not None:
        path.write_text(before)
    set_current(path, "it's")
    assert path.read_text() == after


def test_what_is_trusted_is_recorded_in_lines_of_sha256sum_and_removed_again(tmp_path):
    record = tmp_path / "trust" / "record"
    record_trust(record, {"/a b": "1", "/c": "2"})
    assert record.read_text() == "1  /a b\n2  /c\n"
    with pytest.raises(ConfigError, match="a path with a line end in it cannot be trusted"):
        record_trust(record, {"/a b": "1", "/c\n3  /d": "2"})
    assert record.read_text() == "1  /a b\n2  /c\n"
    remove_trust(record)
    remove_trust(record)
    assert not record.exists()
    record.mkdir()
    with pytest.raises(ConfigError, match=r"cannot remove .*record: Is a directory$"):
        remove_trust(record)


def test_names_are_removed_only_once_they_are_older_than_a_day(tmp_path):
    for name, written in (("old.json", 999), ("at.json", 1_000), ("old.txt", 0)):
        (tmp_path / name).touch()
        os.utime(tmp_path / name, (written, written))
    evict_old_names(tmp_path, 1_000_000 + FORGOTTEN_MS)
    assert sorted(each.name for each in tmp_path.iterdir()) == ["at.json", "old.txt"]


def test_the_bundle_for_spark_has_the_whole_package_without_what_python_made_of_it(tmp_path):
    """Dependencies of extras, which an executor does not run, are left out of its requirements."""
    written = write_spark_bundle(tmp_path)
    assert {"eosctl.zip", "requirements.txt"} < {each.name for each in written}
    assert [each for each in written if not each.is_file()] == []
    with zipfile.ZipFile(tmp_path / "eosctl.zip") as zipped:
        names = set(zipped.namelist())
    package = Path(eosctl.__file__).parent
    assert {f"eosctl/{each.relative_to(package)}" for each in package.rglob("*.py")} <= names
    assert not [each for each in names if each.endswith(".pyc") or "__pycache__" in each]
    required = dict(each.split("==") for each in (tmp_path / "requirements.txt").read_text().splitlines())
    assert required.items() >= {each: metadata.version(each) for each in ("pyarrow", "pandas", "msgspec")}.items()
    assert "pyspark" not in required
    assert not [each for each in required if set(each) & set("<>=;[ ")]


@pytest.mark.parametrize(
    ("requirement", "name"),
    [("a", "a"), ("a-b_c.d2", "a-b_c.d2"), ("a>=1", "a"), ("a[b]>=1; python_version < '4'", "a"), ("a ; b", "a")],
)
def test_a_requirement_is_known_by_its_name(requirement, name):
    assert audit_export._name(requirement) == name


class ChangingBrokers(Brokers):
    """Answer the change of each binding with one of these codes; the first one was there to be removed."""

    def __init__(self, described: Answer, *codes: int) -> None:
        super().__init__(described)
        self.codes = codes

    def request_any(self, request: Any, *, timeout_s: float) -> Answer:
        results = [Answer(error_code=each, matching_acls=[1][number:]) for number, each in enumerate(self.codes)]
        return Answer(results=results, filter_results=results)


@pytest.mark.parametrize("code", [0, 31, 54])
@pytest.mark.parametrize(
    ("perform", "kind", "after", "words"),
    [
        (perform_create_acls, CreateAcls, HAS, "2 ACLs created"),
        (perform_delete_acls, DeleteAcls, HAS_NOT, "1 of 2 ACLs removed, the others were gone"),
    ],
)
def test_acls_are_changed_where_each_of_them_was_accepted(perform, kind, after, words, code):
    brokers, step = access(ChangingBrokers(after, 0, code)), kind(Side.SOURCE, (BINDING, BINDING))
    if not code:
        assert perform(step, lambda: None, access=brokers) == words
        return
    error, refusal = (ConfigError, "have no authorizer") if code == 54 else (NotAuthorized, "Alter on cluster")
    with pytest.raises(error, match=refusal):
        perform(step, lambda: None, access=brokers)


@pytest.mark.parametrize(
    ("perform", "kind", "now", "words"),
    [
        (perform_create_acls, CreateAcls, HAS_NOT, "1 ACLs are created, and broker 1 still does not list them"),
        (perform_delete_acls, DeleteAcls, HAS, "1 ACLs are removed, and broker 1 still lists them"),
    ],
)
def test_a_change_that_a_broker_does_not_have_is_awaited_unless_it_hides_its_acls(perform, kind, now, words):
    step = kind(Side.SOURCE, (BINDING,))
    with pytest.raises(TimedOut, match=words):
        perform(step, lambda: None, access=access(Brokers(now), 0.0))
    assert "1 ACLs" in perform(step, lambda: None, access=access(Brokers(HIDES), 0.0))


@pytest.mark.parametrize(
    ("value", "kind", "cell"),
    [
        (None, audit_export.TEXT, None),
        (None, audit_export.WORDS, None),
        (None, audit_export.TIME, None),
        (-1, audit_export.TIME, None),
        (0, audit_export.TIME, 0),
        (-1, audit_export.INTEGER, -1),
        ("", audit_export.TEXT, ""),
        ("\ud800", audit_export.TEXT, "\\ud800"),
        (("a", "\ud800"), audit_export.WORDS, ["a", "\\ud800"]),
        ((), audit_export.WORDS, []),
    ],
)
def test_a_cell_is_null_only_where_there_is_no_value_or_no_time(value: Any, kind: str, cell: Any) -> None:
    assert audit_export._value(value, kind) == cell
