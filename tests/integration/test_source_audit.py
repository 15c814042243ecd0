"""Tables against their topics on a real Debezium: all that a test has spoilt is found, and nothing else, under load."""

import json
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import psycopg
import pytest
from confluent_kafka import Producer

from tests.conftest import FreshName
from tests.integration.debezium import Table, debezium_spec
from tests.integration.moves import Eosctl, Home, flowing
from tests.shared_sandboxes import SharedSandboxes
from tests.waiting import eventually

pytestmark = [pytest.mark.kafka, pytest.mark.variation]


@pytest.fixture
def table(
    shared_sandboxes: SharedSandboxes, kafka_version: str, fresh_name: FreshName, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Table]:
    """A connector that streams; rows are updated, too."""
    site = shared_sandboxes.of(debezium_spec(kafka_version))
    made = Table(site, Home(site), fresh_name("compared"), 500)
    monkeypatch.setenv("PGPASSWORD", str(psycopg.conninfo.conninfo_to_dict(site.postgresql.url)["password"]))
    made.start()
    made.await_streaming()
    made.updates = True
    yield made
    with suppress(AssertionError):
        made.drop()


def compare(eosctl: Eosctl, table: Table, *more: str) -> tuple[int, Any]:
    """The exit code, and the one table of the answer."""
    server = psycopg.conninfo.conninfo_to_dict(table.source.postgresql.url)
    dsn = f"postgresql://{server['user']}@{server['host']}:{server['port']}/{server['dbname']}"
    home = table.place.home
    at = ("-b", home.servers, "--group-id", home.group_id, "--connect-url", home.url)
    command = ("audit", "source", "--connector", table.place.name, "--source-dsn", dsn, "--chunk", "100")
    ran = eosctl(*command, *at, *more, "--timeout", "60", "-o", "json")
    assert ran.exit_code in {0, 1, 3}, ran.stderr
    assert str(server["password"]) not in ran.stdout + ran.stderr
    [found] = json.loads(ran.stdout)["data"]["tables"]
    return ran.exit_code, found


def spoil(table: Table) -> None:
    """In the topic: rows 1 to 3 are removed, 4 and 5 have another text, and two keys are added."""
    last = {each["id"]: each for each in rows_in(table)}
    producer = Producer({"bootstrap.servers": table.place.home.servers})

    def send(key: int, row: dict[str, object] | None) -> None:
        value = None if row is None else json.dumps({"before": None, "after": row, "op": "u", "source": {"lsn": 1}})
        producer.produce(table.topic, value, json.dumps({"id": key}))

    for key in (1, 2, 3):
        send(key, None)
    for key in (4, 5):
        send(key, {**last[key], "filler": "spoilt"})
    for key in (10**9, 10**9 + 1):
        send(key, {**last[6], "id": key})
    producer.flush(30)


def rows_in(table: Table) -> list[dict[str, object]]:
    return [{"id": key, "revision": revision, "filler": filler} for key, revision, filler in every_row(table)]


def every_row(table: Table) -> list[Any]:
    return list(table.execute(f"SELECT id, revision, filler FROM {table.table} ORDER BY id LIMIT 100"))


def test_rows_that_were_removed_changed_or_added_are_found_under_load_and_nothing_else(table: Table, eosctl: Eosctl):
    with flowing(table):
        code, found = compare(eosctl, table)
        assert (code, found["verdict"], found["undecided"]) == (0, "held", 0), found
        assert found["rows"] >= 500
        spoil(table)
        eventually(lambda: compare(eosctl, table)[0] == 1, "the changes to be read", deadline_s=60)
        code, found = compare(eosctl, table)
    assert (found["missing"], found["extra"], found["differing"], found["undecided"]) == (3, 2, 2, 0), found
    keys = {kind: [each["key"] for each in samples] for kind, samples in found["samples"].items()}
    assert keys == {"missing": ["1", "2", "3"], "extra": ["1000000000", "1000000001"], "differing": ["4", "5"]}
    assert found["samples"]["differing"][0]["columns"] == ["filler"]


def test_rows_that_the_connector_never_read_are_found_once_it_has_passed_them(table: Table, eosctl: Eosctl):
    """They changed while the publication did not have the table: then the connector went on."""
    table.request("stop")
    table.execute(f"ALTER PUBLICATION {table.table} DROP TABLE {table.table}")
    table.execute(f"DELETE FROM {table.table} WHERE id IN (11, 12)")
    table.execute(f"UPDATE {table.table} SET filler = 'unread' WHERE id = 13")
    table.execute(f"INSERT INTO {table.table} (id, filler) VALUES (900001, 'unread')")
    code, found = compare(eosctl, table, "--wait", "1")
    assert (code, found["verdict"], found["undecided"]) == (3, "cannot-tell", 4), found
    assert "has only passed LSN" in found["words"]
    table.execute(f"ALTER PUBLICATION {table.table} ADD TABLE {table.table}")
    table.request("resume")
    with flowing(table):
        code, found = compare(eosctl, table)
    assert (code, found["missing"], found["extra"], found["differing"]) == (1, 1, 2, 1), found
    keys = {kind: [each["key"] for each in samples] for kind, samples in found["samples"].items()}
    assert keys == {"missing": ["900001"], "extra": ["11", "12"], "differing": ["13"]}


def test_a_sample_reports_the_number_of_rows_that_may_differ_unseen(table: Table, eosctl: Eosctl):
    code, found = compare(eosctl, table, "--sample", "200")
    assert (code, found["verdict"]) == (0, "held"), found
    assert 100 < found["rows"] < 300
    assert found["sample_of"] >= 500
    assert 0 < found["unseen_at_most"] < 30
