"""Faults on the way to a real broker and worker: the finding stays, or the exit code is not 0 and the gap is named."""

import json
import random
import sys
from collections.abc import Iterator
from itertools import cycle, product
from pathlib import Path
from typing import Any

import psycopg
import pytest

from eosctl.sandbox.jars import DEFAULT_KAFKA_VERSION
from eosctl.sources.saved_cluster import read_snapshot_file
from tests.faults.commands import COMMANDS, GROUP, Command, run_command
from tests.faults.damaged_answers import Altered
from tests.faults.denials import DENIALS, run_as_tool, try_denials
from tests.faults.kafka_proxy import Fault
from tests.faults.matrix import Cell, FaultMatrix, Outcome, fault_matrix
from tests.faults.matrix import table as table_of
from tests.faults.quotas import quota
from tests.faults.rest_proxy import RestFault
from tests.faults.site import CONNECTOR, SPEC, Site, planted
from tests.faulty_sandbox import Sandbox
from tests.integration.acl_broker import AclBroker
from tests.integration.debezium import Table, debezium_spec
from tests.integration.moves import Home, flowing
from tests.integration.test_source_audit import spoil
from tests.shared_sandboxes import SharedSandboxes

pytestmark = pytest.mark.kafka

METADATA = 3
SAMPLE = 8
"""Requests of each command in the short form."""
SHADOWED = ("EOS080", CONNECTOR)
DOCTOR, SHOW, LSO = (
    next(each for each in COMMANDS if each.words[:2] == words)
    for words in (("doctor", GROUP[0]), ("offsets", "show"), ("transactions", "lso"))
)
DAMAGED = [each for each in COMMANDS if each.name in {"inspect-config", "transactions log", "transactions producers"}]
MANY = 100
"""Damaged answers of each command in the long form."""


@pytest.fixture(scope="module")
def site(connect_sandbox: Sandbox, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with pytest.MonkeyPatch.context() as patch:
        for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME"):
            patch.setenv(name, str(tmp_path_factory.mktemp("home")))
        with planted(connect_sandbox, tmp_path_factory.mktemp("faults")) as made:
            yield made


@pytest.fixture
def matrix(site: Site) -> Iterator[FaultMatrix]:
    with fault_matrix(site) as made:
        yield made


def lies(cells: list[Cell]) -> list[Cell]:
    return [each for each in cells if each.outcome is Outcome.LIE]


@pytest.mark.parametrize(
    "command", [pytest.param(DOCTOR, marks=pytest.mark.variation), SHOW, LSO], ids=lambda each: each.name
)
def test_a_fault_hides_no_finding_without_a_word(matrix: FaultMatrix, command: Command):
    before, seen, calls = matrix.baseline(command)
    assert command is LSO or SHADOWED in before.findings
    step = max(1, len(seen) // SAMPLE)
    for target, fault in zip(seen[::step], cycle((Fault.CLOSED, Fault.DEAD, Fault.CLOSED, Fault.THROTTLED))):
        matrix.try_kafka(command, before, target, fault)
    for target, rest_fault in zip(calls, cycle((RestFault.FORBIDDEN, RestFault.HTML, RestFault.OTHER_JSON))):
        matrix.try_rest(command, before, target, rest_fault)
    assert not lies(matrix.cells)
    assert {each.outcome for each in matrix.cells} == {Outcome.SAME, Outcome.NAMED}


@pytest.mark.parametrize("command", DAMAGED, ids=lambda each: each.name)
def test_a_damaged_answer_is_no_bug_and_hides_nothing(matrix: FaultMatrix, command: Command):
    matrix.try_damages(command, random.Random(command.name), SAMPLE)
    assert not lies(matrix.cells)
    assert Outcome.NAMED in {each.outcome for each in matrix.cells}


@pytest.mark.parametrize(
    "words", [LSO.words, ("transactions", "hanging", *GROUP), ("snapshot", "save", "{directory}/none.snapshot")]
)
def test_a_broker_that_names_no_topic_leaves_the_answer_incomplete(matrix: FaultMatrix, words: tuple[str, ...]):
    matrix.kafka.plan(None, None)
    # Commands also request names that do not exist: those answers stay unchanged.
    matrix.kafka.other = Altered(METADATA, ("topics",), lambda given: [] if _has_existing(given) else given)
    found = matrix.run(Command(words))
    assert (found.exit_code, found.names_gap) == (3, True)
    assert any("names no topic" in each["reason"] for each in found.data["unread"])


def _has_existing(topics: list[Any]) -> bool:
    return len(topics) > 1 and any(not each.error_code for each in topics)


def test_with_its_only_worker_down_doctor_reports_what_it_has(site: Site):
    servers = site.sandbox.bootstrap_servers
    found = run_command(("doctor", *GROUP, "-b", servers, "--connect-url", "http://127.0.0.1:9"))
    assert (found.exit_code, found.data["complete"]) == (1, False)
    assert ("EOS010", "http://127.0.0.1:9") in found.findings
    assert "worker http://127.0.0.1:9" in {each["what"] for each in found.data["unread"]}


def test_a_group_that_does_not_exist_is_named(site: Site):
    wrong = ("--group-id", "conect-cluster", "-b", site.sandbox.bootstrap_servers)
    inspected = run_command(("inspect-config", *wrong))
    assert inspected.exit_code == 2
    assert "connect-configs is not the config topic of Connect group conect-cluster" in inspected.stderr
    listed = run_command(("transactions", "lso", *wrong), output="table")
    assert "no such group exists" in listed.stdout


def test_without_any_acl_no_resource_is_called_open_and_a_snapshot_names_its_missing_facts(site: Site):
    free = run_as_tool(site, LSO)
    assert (free.exit_code, free.names_gap) == (3, True)
    assert any("User:tool lacks Describe on some of them" in each["reason"] for each in free.data["unread"])
    path = site.directory / "empty.snapshot"
    saved = run_as_tool(site, Command(("snapshot", "save", str(path)), rest=False))
    assert (saved.exit_code, saved.names_gap) == (3, True)
    kept = {each.reason for each in read_snapshot_file(path).coverage.unread}
    assert kept == {each["reason"] for each in saved.data["unread"]}
    assert any("User:tool lacks Describe on some of them" in each for each in kept)


def test_a_denied_operation_hides_no_finding_without_a_word(site: Site):
    with AclBroker(site.sandbox) as acls:
        cells = try_denials(site, acls, [SHOW, LSO], DENIALS[:5])
    assert not lies(cells)
    assert Outcome.NAMED in {each.outcome for each in cells}


def test_a_client_quota_is_waited_for_and_named_where_it_lasts_too_long(site: Site):
    servers = site.sandbox.bootstrap_servers
    words = (*SHOW.words, "-b", servers, "--connect-url", site.sandbox.connect_url(1))
    before = run_command(words)
    with quota(servers, consumer_byte_rate=2000):
        assert run_command(words, timeout_s=60).findings == before.findings
    with quota(servers, consumer_byte_rate=1):
        after = run_command(words, timeout_s=1)
    assert after.exit_code == 4
    assert "exceeds a client quota" in after.stderr


@pytest.mark.long
def test_fault_matrix(shared_sandboxes: SharedSandboxes, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    sandbox = shared_sandboxes.of(SPEC)
    with planted(sandbox, tmp_path) as site:
        evidence = ("audit", "--evidence", tmp_path / "audit.json", *GROUP, "-b", sandbox.bootstrap_servers)
        audited = run_command(evidence, timeout_s=60)
        assert (tmp_path / "audit.json").exists(), audited.stderr
        with fault_matrix(site) as whole:
            for command in COMMANDS:
                whole.try_all(command)
                whole.try_damages(command, random.Random(command.name), MANY)
        with AclBroker(sandbox) as acls:
            cells = [*whole.cells, *try_denials(site, acls, COMMANDS, DENIALS)]
    with capsys.disabled():
        sys.stdout.write(f"\n{table_of(cells)}\n{json.dumps(lies(cells), indent=1)}\n")
    assert not lies(cells)


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_fault_matrix_of_audit_source(
    shared_sandboxes: SharedSandboxes,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    """Rows of the table are missing in its topic: a fault must not hide it."""
    sandbox = shared_sandboxes.of(debezium_spec(DEFAULT_KAFKA_VERSION))
    table = Table(sandbox, Home(sandbox), "faulted", 50)
    server = psycopg.conninfo.conninfo_to_dict(sandbox.postgresql.url)
    monkeypatch.setenv("PGPASSWORD", str(server["password"]))
    dsn = f"postgresql://{server['user']}@{server['host']}:{server['port']}/{server['dbname']}"
    table.start()
    try:
        table.await_streaming()
        spoil(table)
        command = Command(("audit", "source", "--connector", table.place.name, "--source-dsn", dsn, *GROUP))
        # While rows change, the connector passes the position of the comparison.
        with flowing(table), fault_matrix(Site(sandbox, tmp_path, tmp_path)) as whole:
            before, seen, calls = whole.baseline(command)
            assert (before.exit_code, before.data["tables"][0]["verdict"]) == (1, "broken"), before.stdout
            for target, fault in zip(seen[:: max(1, len(seen) // MANY)], cycle(Fault)):
                whole.try_kafka(command, before, target, fault)
            for target, rest_fault in product(calls, RestFault):
                whole.try_rest(command, before, target, rest_fault)
    finally:
        table.drop()
    with capsys.disabled():
        sys.stdout.write(f"\n{table_of(whole.cells)}\n{json.dumps(lies(whole.cells), indent=1)}\n")
    assert not lies(whole.cells)
