"""Debezium's PostgreSQL connector begun and rewound by eosctl, with what its database says of the positions."""

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.conftest import FreshName
from tests.integration.debezium import Table, debezium_spec
from tests.integration.moves import CREATES_STOPPED, STOPPABLE, Eosctl, Home
from tests.shared_sandboxes import SharedSandboxes

pytestmark = [pytest.mark.kafka, pytest.mark.variation, pytest.mark.matrix]


@pytest.fixture
def table(
    shared_sandboxes: SharedSandboxes,
    kafka_version: str,
    fresh_name: FreshName,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Table]:
    """A connector that streams."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    site = shared_sandboxes.of(debezium_spec(kafka_version))
    made = Table(site, Home(site), fresh_name("begun"))
    made.start()
    made.await_streaming()
    yield made
    with suppress(AssertionError):
        made.drop()


def run(
    eosctl: Eosctl, table: Table, offset: Mapping[str, object], directory: Path, *command: object, asks: bool = True
) -> Any:
    """The answer of eosctl to a command that takes this offset and queries the database; the password is in a
    variable."""
    begin, home = directory / "begin.json", table.place.home
    begin.write_text(json.dumps({"offsets": [{"partition": {"server": table.table}, "offset": offset}]}))
    at = ("-b", home.servers, "--group-id", home.group_id, "--connect-url", home.url)
    server = psycopg.conninfo.conninfo_to_dict(table.source.postgresql.url)
    dsn = f"postgresql://{server['user']}@{server['host']}:{server['port']}/{server['dbname']}"
    source = ("--source-dsn", dsn) if asks else ()
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("PGPASSWORD", str(server["password"]))
        ran = eosctl(*command[:2], begin, *command[2:], *at, *source, "--timeout", "60", "-o", "json")
    assert ran.exit_code == 0, ran.stderr
    return json.loads(ran.stdout)["data"]


def test_a_connector_that_is_created_where_another_stopped_sends_each_row_once(
    table: Table, eosctl: Eosctl, tmp_path: Path
):
    """By one plan, or in two steps where workers (before 3.7) cannot create a connector STOPPED."""
    table.request("stop")
    offset, home = table.offset(), table.place.home
    if home.version >= STOPPABLE:
        home.delete(table.place.name)
    table.write(300)
    name = f"{table.place.name}-again"
    config = tmp_path / "again.json"
    config.write_text(json.dumps({"name": name, "config": table.config(home)}))
    if home.version >= CREATES_STOPPED:
        command = ("offsets", "create-connector", "--config", config, "--resume", "--yes")
        found = run(eosctl, table, offset, tmp_path, *command)["findings"]
        assert [(each["id"], each["severity"]) for each in found] == [("EOS411", "info")]
        assert "still has all later changes" in found[0]["message"]
    else:
        # The slot of a connector that does not exist is unknown.
        command = ("offsets", "restore", "--connector", name, "--create-keys", "--yes")
        run(eosctl, table, offset, tmp_path, *command, asks=False)
        home.create(name, table.config(home))
    table.place = table.moved(name=name)
    table.check_exactly_once()


def test_a_position_that_the_slot_has_left_is_reported_before_it_is_written(
    table: Table, eosctl: Eosctl, tmp_path: Path
):
    table.check_exactly_once()
    table.request("stop")
    left = {**table.offset(), "lsn": 1, "lsn_proc": 1, "lsn_commit": 1}
    command = ("offsets", "restore", "--connector", table.place.name, "--dry-run")
    [found] = run(eosctl, table, left, tmp_path, *command)["findings"]
    assert (found["id"], found["severity"]) == ("EOS411", "warning")
    assert "Debezium streams from confirmed_flush_lsn regardless of the offset" in found["message"]
