"""Changes of primary keys without a kill, for MINUTES (5): each audit says held, and has no finding.

Four connectors over tables that change by the same kinds of statements: with and without tombstones, with and without
schemas, with and without counted transactions, in small batches and in the usual ones. Keys come back, so that a key is
deleted, created, and changed to and from many times. At the end the last record of each key is the row of its table.
"""

import os
from collections.abc import Iterator, Mapping
from random import Random
from time import monotonic, sleep
from typing import Any

import pytest

from tests.conftest import FreshName
from tests.integration.audit_site import Audited, audit
from tests.integration.committed import committed_json
from tests.integration.debezium import PLUGIN, Table
from tests.integration.moves import Eosctl, Home
from tests.kafka_versions import spec_of
from tests.shared_sandboxes import SharedSandboxes
from tests.waiting import eventually

MINUTES, EVERY_S, PAUSE_S = float(os.environ.get("MINUTES", "5")), 120, 0.9
pytestmark = [pytest.mark.kafka, pytest.mark.long, pytest.mark.timeout(MINUTES * 60 + 1200)]

KEYS = 300
SCHEMAS = {"key.converter.schemas.enable": "true", "value.converter.schemas.enable": "true"}
BARE = {"tombstones.on.delete": "false"}
COUNTED = {"provide.transaction.metadata": "true"}
SMALL = {"max.batch.size": "2", "max.queue.size": "4"}
PATIENT = {"session.timeout.ms": "60000", "heartbeat.interval.ms": "3000", "offset.storage.partitions": "3"}
"""A busy machine ends no session: a broker that was fenced for a second has left transactions without markers."""
VARIANTS: Mapping[str, Mapping[str, str]] = {
    "plain": SMALL,
    "bare_schemas": SCHEMAS | BARE,
    "counted": COUNTED,
    "counted_bare_schemas": COUNTED | SCHEMAS | BARE | SMALL,
}


class ChangedRows(Table):
    """Rows whose keys are 1 to KEYS, and change within them."""

    def create_table(self) -> None:
        self.execute(f"CREATE TABLE {self.table} (id bigint PRIMARY KEY, revision int DEFAULT 0)")

    def write(self, count: int) -> None:
        self.execute(f"INSERT INTO {self.table} SELECT generate_series(1, {count})")

    def change(self, random: Random) -> None:
        """Two transactions: a key that changes, and a few statements in an order of chance."""
        table = self.table
        some, other, free, fresh, gone = random.sample(range(1, KEYS), 5)
        moved = f"UPDATE {table} SET id = %d WHERE id = %d AND NOT EXISTS (SELECT 1 FROM {table} WHERE id = %d)"
        statements = [
            f"INSERT INTO {table} VALUES ({fresh}) ON CONFLICT DO NOTHING",
            f"UPDATE {table} SET revision = revision + 1 WHERE id = {other}",
            moved % (free, other, free),
            moved % (other, free, other),
            f"DELETE FROM {table} WHERE id IN ({gone}, {gone + 1})",
            f"INSERT INTO {table} VALUES ({gone}, 7) ON CONFLICT DO NOTHING",
            f"UPDATE {table} SET id = id + {KEYS} WHERE id IN ({some}, {some + 1}) "
            f"AND id + {KEYS} NOT IN (SELECT id FROM {table})",
            f"UPDATE {table} SET id = id - {KEYS} WHERE id > {KEYS} AND id - {KEYS} NOT IN (SELECT id FROM {table})",
        ]
        random.shuffle(statements)
        end = "ROLLBACK" if random.random() < 0.1 else "COMMIT"
        self.execute(f"BEGIN; {'; '.join(statements[:4])}; {end}")
        self.execute(moved % (some, fresh, some))

    def rows(self) -> set[int]:
        return {row[0] for row in self.execute(f"SELECT id FROM {self.table}")}

    def readers_rows(self) -> set[int]:
        """Keys whose last record has a row."""
        last: dict[int, bool] = {}
        for key, value in committed_json(self.place.home.servers, self.topic):
            row = value and value.get("payload", value)
            last[key.get("payload", key)["id"]] = bool(row and row["op"] != "d")
        return {key for key, is_there in last.items() if is_there}

    def await_readers(self) -> None:
        """Its readers have its rows."""
        eventually(lambda: self.readers_rows() == self.rows(), self.table, deadline_s=300, every_s=2)


@pytest.fixture
def tables(
    shared_sandboxes: SharedSandboxes, kafka_version: str, fresh_name: FreshName
) -> Iterator[dict[str, ChangedRows]]:
    """A connector of each variant."""
    sessions = {"broker.session.timeout.ms": "120000"}
    spec = spec_of(
        kafka_version, workers=1, worker_config=PATIENT, broker_config=sessions, plugins=(PLUGIN,), postgres=True
    )
    site = shared_sandboxes.of(spec)
    common = {"poll.interval.ms": "200"}
    made = {
        name: ChangedRows(site, Home(site), fresh_name(name), KEYS // 2, **common, **more)
        for name, more in VARIANTS.items()
    }
    for table in made.values():
        table.start()
    for table in made.values():
        table.await_readers()
    yield made
    for table in made.values():
        table.drop()


def test_no_change_of_a_key_is_called_half_where_there_is_no_kill(tables: dict[str, ChangedRows], eosctl: Eosctl):
    random, begun, asked = Random(41), monotonic(), 0
    while monotonic() - begun < MINUTES * 60:
        for table in tables.values():
            table.change(random)
        sleep(PAUSE_S)  # the load
        if monotonic() - begun > asked * EVERY_S:
            asked += 1
            assert judged(eosctl, tables) == dict.fromkeys(tables, ("held", {}))
    for table in tables.values():
        table.await_readers()
    assert judged(eosctl, tables) == dict.fromkeys(tables, ("held", {}))


def judged(eosctl: Eosctl, tables: Mapping[str, ChangedRows]) -> dict[str, tuple[str, dict[str, Any]]]:
    """Verdict and findings of each connector, by one audit of all."""
    home, (first, *others) = tables["plain"].place.home, [each.place.name for each in tables.values()]
    more = [word for each in others for word in ("--connector", each)]
    internal = ("--config-topic", home.config_topic, "--worker-offsets-topic", home.offsets_topic)
    found = audit(eosctl, home.servers, home.url, first, *internal, *more, group_id=home.group_id)
    return {
        name: (Audited(found.exit_code, found.data, table.place.name).verdict, found.findings)
        for name, table in tables.items()
    }
