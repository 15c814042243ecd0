"""Spark: bundle, start, tables, state rows."""

import json
import os
import runpy
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyspark
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eosctl.errors import EXIT_FINE, EXIT_FOUND
from eosctl.executors.audit_export import write_spark_bundle
from eosctl.model.audit import StateKind, StateRow
from eosctl.model.topics import OffsetRange
from eosctl.spark.range_frame import ARROW, NO_BUCKET, decode_rows, encode_flagged, encode_rows, flagged
from eosctl.spark.session import archive_options
from eosctl.spark.worker_daemon import prefer_installed
from tests.faulty_sandbox import Sandbox
from tests.integration.access import allowed
from tests.spark.audited_cluster import OFFSETS, OUTPUT, AuditedCluster
from tests.spark.spark_table import TABLE, kept_rows, part, with_clusters
from tests.spark.standalone import BUNDLED, PAGE, printed_submissions

USER = "tool"
READING = [("READ", "TOPIC", "audited*"), ("DESCRIBE", "TOPIC", "audited*")]
SPARK_SUBMIT = Path(pyspark.__file__).parent / "bin" / "spark-submit"
DEADLINE_S = 400


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("bundle")
    write_spark_bundle(directory)
    return directory


@pytest.fixture(scope="module")
def audited(sandbox: Sandbox) -> Sandbox:
    AuditedCluster(sandbox.bootstrap_servers).fill()
    return sandbox


def question(sandbox: Sandbox) -> list[str]:
    """The options for the topics that do not change, as a SASL user."""
    topics = ["--topic", OUTPUT, "--worker-offsets-topic", OFFSETS]
    return ["-b", sandbox.sasl_bootstrap_servers, "--command-config", "client.properties", *topics]


def run(command: list[str], directory: Path, python: str = sys.executable) -> dict[str, Any]:
    """The answer that the command wrote to a file; its output has only warnings.

    There are findings. A cluster manager would start the command again for them, unless --fail-on was given.
    """
    answer = directory / "audit.json"
    answer.unlink(missing_ok=True)
    given = {name: value for name, value in os.environ.items() if not name.startswith(("SPARK", "PYSPARK", "EOSCTL"))}
    ended = subprocess.run(
        [*command, "-o", "json", "--output-file", str(answer)],
        cwd=directory, env={**given, "PYSPARK_PYTHON": python}, check=False, capture_output=True, text=True,
        timeout=DEADLINE_S,
    )  # fmt: skip
    found = EXIT_FINE if "eosctl_submit.py" in command and "--fail-on" not in command else EXIT_FOUND
    assert ended.returncode == found, ended.stdout + ended.stderr
    said = [line for line in (ended.stdout + ended.stderr).splitlines() if "incubator modules" not in line]
    assert [line for line in said if "ERROR" in line or "Traceback" in line] == []
    data: dict[str, Any] = json.loads(answer.read_text(encoding="utf-8"))["data"]
    return data


def concluded(data: dict[str, Any]) -> dict[str, Any]:
    """The parts that do not depend on the moment of the audit."""
    return {name: data[name] for name in ("verdict", "connectors", "findings", "ranges", "growth", "epochs")}


def test_the_bundle_is_the_same_twice_and_holds_what_its_page_names(bundle: Path, tmp_path: Path):
    again = write_spark_bundle(tmp_path / "new" / "bundle")

    assert [path.read_bytes() for path in again] == [(bundle / path.name).read_bytes() for path in again]
    page = (bundle / "README.md").read_text(encoding="utf-8")
    assert all(f"`{path.name}`" in page for path in again if path.name != "README.md")


def test_the_page_in_the_bundle_prints_the_commands_that_are_run_on_clusters():
    bundled = printed_submissions(BUNDLED)

    assert [each.option("--master") for each in printed_submissions(PAGE)] == ["yarn", "yarn", "spark://master:7077"]
    assert [each for each in printed_submissions(PAGE) if each not in bundled] == []


def test_the_zip_alone_is_a_program(bundle: Path, tmp_path: Path):
    code = (
        f"import sys; sys.path.insert(0, {str(bundle / 'eosctl.zip')!r}); import eosctl.cli; print(eosctl.cli.__file__)"
    )
    ended = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)

    assert ended.stdout.strip() == str(bundle / "eosctl.zip" / "eosctl" / "cli.py")
    with zipfile.ZipFile(bundle / "eosctl.zip") as zipped:
        assert not [name for name in zipped.namelist() if name.endswith((".so", ".pyc"))]


@pytest.mark.parametrize(
    ("ended", "more", "code"),
    [
        (EXIT_FOUND, [], 0),
        (EXIT_FOUND, ["--fail-on", "error"], EXIT_FOUND),
        (EXIT_FOUND, ["--fail-on=error"], EXIT_FOUND),
        (0, [], 0),
        (3, [], 3),
        (4, [], 4),
    ],
)
def test_a_cluster_manager_starts_no_application_again_because_something_was_found(
    bundle: Path, monkeypatch: pytest.MonkeyPatch, ended: int, more: list[str], code: int
):
    monkeypatch.setattr("sys.argv", ["eosctl_submit.py", "-b", "broker:9092", *more])
    monkeypatch.setattr("eosctl.cli.main", lambda: sys.exit(ended))
    with pytest.raises(SystemExit) as caught:
        runpy.run_path(str(bundle / "eosctl_submit.py"))
    assert caught.value.code == code
    assert sys.argv[1:] == ["audit", "--engine", "spark", "-b", "broker:9092", *more]


def test_spark_submit_compares_tables_if_its_options_begin_with_source(bundle: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("sys.argv", ["eosctl_submit.py", "source", "-b", "broker:9092"])
    monkeypatch.setattr("eosctl.cli.main", lambda: sys.exit(EXIT_FINE))
    with pytest.raises(SystemExit):
        runpy.run_path(str(bundle / "eosctl_submit.py"))
    assert sys.argv[1:] == ["audit", "source", "--engine", "spark", "-b", "broker:9092"]


@pytest.mark.kafka
@pytest.mark.timeout(3 * DEADLINE_S)
@pytest.mark.variation
@pytest.mark.parametrize(("master", "asked"), [("local[2]", ["--fail-on", "warning"]), ("local-cluster[2,1,1024]", [])])
def test_spark_submit_gives_the_report_of_the_local_engine(
    bundle: Path, audited: Sandbox, master: str, asked: list[str]
):
    (bundle / "client.properties").write_text(audited.client_properties(USER), encoding="utf-8")
    quiet = ["--driver-java-options", "-Dlog4j2.configurationFile=file:log4j2.properties"]
    conf = ["spark.executor.memory=1g", "spark.ui.enabled=false", "spark.ui.showConsoleProgress=false"]
    settings = [part for each in conf for part in ("--conf", each)]
    with allowed(audited, USER, *READING):
        expected = run([*EOSCTL, "audit", *question(audited)], bundle)
        found = run(
            [
                str(SPARK_SUBMIT), "--master", master, "--driver-memory", "1g", *quiet, *settings,
                "--files", "client.properties", "--py-files", "eosctl.zip", "eosctl_submit.py",
                *question(audited), "--executor-properties", "client.properties", *asked,
            ],
            bundle,
        )  # fmt: skip

    assert concluded(found) == concluded(expected)


@pytest.mark.kafka
@pytest.mark.long
@pytest.mark.timeout(5 * DEADLINE_S)
def test_executors_that_have_nothing_but_a_python_run_in_the_packed_environment(audited: Sandbox, tmp_path: Path):
    """The environment is packed from the package index; its source is deleted by then."""
    write_spark_bundle(tmp_path)
    (tmp_path / "client.properties").write_text(audited.client_properties(USER), encoding="utf-8")
    packing = ["sh", str(tmp_path / "environment.sh")]
    subprocess.run(packing, env={**os.environ, "PYTHON": sys.executable}, cwd="/", check=True, timeout=3 * DEADLINE_S)
    (tmp_path / "environment").mkdir()
    subprocess.run(["tar", "xzf", "environment.tar.gz", "-C", "environment"], cwd=tmp_path, check=True)
    conf = ["spark.executor.memory=1g", "spark.ui.enabled=false", "spark.ui.showConsoleProgress=false"]
    settings = [part for each in conf for part in ("--conf", each)]
    with allowed(audited, USER, *READING):
        expected = run([*EOSCTL, "audit", *question(audited)], tmp_path)
        found = run(
            [
                str(SPARK_SUBMIT), "--master", "local-cluster[2,1,1024]", "--driver-memory", "1g",
                "--driver-java-options", "-Dlog4j2.configurationFile=file:log4j2.properties", *settings,
                "--archives", "environment.tar.gz#environment",
                "--files", "client.properties", "--py-files", "eosctl.zip", "eosctl_submit.py",
                *question(audited), "--executor-properties", "client.properties",
            ],
            tmp_path,
            python="./environment/bin/python",
        )  # fmt: skip

    assert concluded(found) == concluded(expected)


EOSCTL = [sys.executable, "-m", "eosctl"]


@pytest.mark.kafka
@pytest.mark.timeout(3 * DEADLINE_S)
@pytest.mark.variation
def test_spark_connect_gives_the_report_of_the_local_engine(audited: Sandbox, tmp_path: Path):
    (tmp_path / "client.properties").write_text(audited.client_properties(USER), encoding="utf-8")
    with allowed(audited, USER, *READING):
        expected = run([*EOSCTL, "audit", *question(audited)], tmp_path)
        found = run([*EOSCTL, "audit", *question(audited), "--engine", "spark", "--remote", "local[2]"], tmp_path)

    assert concluded(found) == concluded(expected)


@pytest.fixture
def java_home(tmp_path: Path) -> Path:
    (tmp_path / "java" / "lib").mkdir(parents=True)
    (tmp_path / "java" / "lib" / "modules").touch()
    return tmp_path / "java"


@pytest.fixture
def jars(tmp_path: Path) -> Path:
    (tmp_path / "jars").mkdir()
    return tmp_path / "jars"


def archive_in(options: str) -> Path:
    return Path(options.split(maxsplit=1)[0].partition("=")[2])


def test_the_first_jvm_writes_the_archive_and_the_next_one_uses_it(tmp_path: Path, java_home: Path, jars: Path):
    first = archive_options(tmp_path / "spark", java_home, jars)
    archive_in(first).write_bytes(b"\x0f\x00\xba\xab")
    second = archive_options(tmp_path / "spark", java_home, jars)

    assert first.startswith("-XX:ArchiveClassesAtExit=")
    assert second.startswith("-XX:SharedArchiveFile=")
    assert archive_in(first) == archive_in(second)


def test_an_archive_without_its_header_is_written_again(tmp_path: Path, java_home: Path, jars: Path):
    first = archive_options(tmp_path / "spark", java_home, jars)
    archive_in(first).write_bytes(bytes(4096))

    assert archive_options(tmp_path / "spark", java_home, jars) == first


def test_other_jars_have_an_archive_of_their_own(tmp_path: Path, java_home: Path, jars: Path):
    first = archive_options(tmp_path / "spark", java_home, jars)
    os.utime(jars, (1, 1))

    assert archive_in(archive_options(tmp_path / "spark", java_home, jars)) != archive_in(first)


def test_without_a_place_for_it_spark_starts_without_an_archive(tmp_path: Path, java_home: Path, jars: Path):
    (tmp_path / "file").touch()

    assert archive_options(None, java_home, jars) == ""
    assert archive_options(tmp_path / "file" / "spark", java_home, jars) == ""
    assert archive_options(tmp_path / "spark", tmp_path / "no-java", jars) == ""


def test_workers_take_the_installed_pyspark_before_the_zipped_one():
    path = ["/work", "/s/lib/pyspark.zip", "/s/lib/py4j-0.10.9.9-src.zip", "/u/eosctl.zip", "/site-packages"]

    assert prefer_installed(path) == [
        *("/work", "/u/eosctl.zip", "/site-packages"),
        *("/s/lib/pyspark.zip", "/s/lib/py4j-0.10.9.9-src.zip"),
    ]


ROW = {
    "master": "yarn", "deploy_mode": "client", "fault": "executor killed", "status": "SUCCEEDED", "exit_code": 0,
    "attempts": 1, "tasks_lost": 2, "runs_in_ledger": 1, "elapsed_s": 100, "date": "2001-01-01", "versions": "Spark 4",
}  # fmt: skip


def test_the_page_has_what_was_seen_last():
    page = TABLE.read_text("utf-8")

    assert with_clusters(page, kept_rows()) == page


def test_the_page_has_every_kind_of_master_and_deploy_mode_that_it_prints():
    seen = {(each["master"], each["deploy_mode"]) for each in kept_rows()}

    assert seen == {("standalone", "client"), ("yarn", "client"), ("yarn", "cluster")}


def test_a_row_shows_the_outcome_of_a_fault():
    lines = part([ROW]).splitlines()

    assert lines[0] == "Seen with Spark 4, 2001-01-01:"
    assert lines[-1] == "| yarn, client | executor killed | SUCCEEDED, 0 | 1, 2 | 1 |"


INTEGERS = st.integers(-(2**31), 2**31 - 1)
ROWS = st.lists(
    st.builds(
        StateRow,
        st.sampled_from(StateKind),
        INTEGERS,
        st.text(st.characters(exclude_categories=["Cs"])),
        INTEGERS,
        st.integers(-(2**63), 2**63 - 1),
        st.booleans(),
        st.binary(),
    ),
    max_size=20,
)
RANGE = OffsetRange("offsets", 3, 100, 200)


def row(kind: StateKind, bucket: int, size: int) -> StateRow:
    return StateRow(kind, bucket, "offsets", 3, 100, True, b"x" * size)


@given(ROWS)
def test_rows_come_back_from_arrow_as_they_were(rows):
    table = encode_rows(rows)
    table.validate(full=True)

    assert table.schema == ARROW
    assert list(decode_rows(table)) == rows


@given(st.lists(st.booleans(), max_size=40))
def test_flags_stand_before_the_rows_that_they_are_of(flags):
    table = encode_flagged("small", [(flag, row(StateKind.LOG, n, 1)) for n, flag in enumerate(flags)])

    assert table.column("small").to_pylist() == flags
    assert table.schema.field(0) == pa.field("small", pa.bool_())
    assert [each.bucket for each in decode_rows(table.select(ARROW.names))] == list(range(len(flags)))


def test_encoding_rows_loads_no_pandas():
    code = (
        "import sys\n"
        "from eosctl.model.audit import StateKind, StateRow\n"
        "from eosctl.spark.range_frame import encode_flagged\n"
        "encode_flagged('small', [(True, StateRow(StateKind.LOG, 0, 't', 0, 0, True, b'x'))]).to_batches()\n"
        "sys.exit('pandas' in sys.modules)"
    )

    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_kind_within_its_share_is_for_the_driver():
    rows = [row(StateKind.LOG, 0, 10), row(StateKind.KEYS, 1, 60), row(StateKind.KEYS, 2, 40)]

    assert list(flagged(rows, RANGE, 100)) == [(True, each) for each in rows]


def test_of_a_kind_beyond_its_share_the_driver_takes_only_the_news_of_it():
    keys = [row(StateKind.KEYS, 1, 60), row(StateKind.KEYS, 2, 41), row(StateKind.KEYS, 3, 1)]
    rest = row(StateKind.TRANSACTIONS, 0, 100)

    news = StateRow(StateKind.KEYS, NO_BUCKET, "offsets", 3, 100, True, b"")
    assert list(flagged([*keys, rest], RANGE, 100)) == [(True, news), *((False, each) for each in keys), (True, rest)]
