"""A Debezium PostgreSQL connector over a table that grows, and what its readers have, by primary key and LSN."""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

import httpx
import psycopg

from eosctl.sandbox.properties import SandboxSpec
from tests.campaign.truth import Number, Reader, Truth, compare
from tests.faulty_sandbox import Sandbox
from tests.integration.moves import STOPPABLE, Home, Place, offsets_in
from tests.integration.producers import create_topic
from tests.kafka_versions import spec_of
from tests.waiting import eventually

PLUGIN = "io.debezium:debezium-connector-postgres:3.3.1.Final"
QUICK = {"session.timeout.ms": "6000", "heartbeat.interval.ms": "1000", "offset.storage.partitions": "3"}
JSON = "org.apache.kafka.connect.json.JsonConverter"
SLOWLY = "SELECT * FROM public.{table} WHERE pg_sleep(0.005) IS NOT NULL"


def debezium_spec(kafka_version: str, workers: int = 1) -> SandboxSpec:
    """Workers with Debezium's PostgreSQL connector, and a PostgreSQL."""
    return spec_of(kafka_version, workers=workers, worker_config=QUICK, plugins=(PLUGIN,), postgres=True)


class Event(NamedTuple):
    """One change event: the row's state, what happened to it (`r`: read by a snapshot), and where.

    `lsn` is the position in the binary log where the database is MariaDB.
    """

    row: Number
    operation: str
    lsn: int


class Events(Reader):
    """The events of one topic; a row's state is its primary key and its revision."""

    def __init__(self, servers: str, topic: str) -> None:
        super().__init__(servers, {topic: 1})
        self.events: list[Event] = []

    def number_of(self, value: bytes) -> Number:
        """Primary key and revision."""
        event = json.loads(value)
        row = event["after"]["id"], event["after"]["revision"]
        source = event["source"]
        self.events.append(Event(row, event["op"], source["lsn"] if "lsn" in source else source["pos"]))
        return row


def debezium_config(source: Sandbox, name: str) -> dict[str, str]:
    """A connector over the table, topic.prefix, slot and publication `name` of the sandbox's PostgreSQL."""
    server = psycopg.conninfo.conninfo_to_dict(source.postgresql.url)
    return {
        "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
        "tasks.max": "1",
        "topic.prefix": name,
        "database.hostname": str(server["host"]),
        "database.port": str(server["port"]),
        "database.user": str(server["user"]),
        "database.password": str(server["password"]),
        "database.dbname": str(server["dbname"]),
        "plugin.name": "pgoutput",
        "slot.name": name,
        "publication.name": name,
        "publication.autocreate.mode": "filtered",
        "table.include.list": f"public.{name}",
        "poll.interval.ms": "50",
        "key.converter": JSON,
        "value.converter": JSON,
        "key.converter.schemas.enable": "false",
        "value.converter.schemas.enable": "false",
    }


def execute(source: Sandbox, statement: str) -> list[tuple[int, ...]]:
    """One statement in a transaction of its own, with its rows."""
    with psycopg.connect(source.postgresql.url, autocommit=True) as connection:
        cursor = connection.execute(statement.encode())
        return cursor.fetchall() if cursor.description else []


def create_table(source: Sandbox, name: str) -> None:
    """A table of rows with a primary key and a revision."""
    execute(source, f"CREATE TABLE {name} (id bigserial PRIMARY KEY, revision int DEFAULT 0, filler text)")


def drop_slot(source: Sandbox, name: str) -> None:
    """Drops a slot and its publication, once they are unused; a missing one is fine."""
    slots = f"FROM pg_replication_slots WHERE slot_name = '{name}'"
    eventually(lambda: execute(source, f"SELECT 1 {slots} AND active") == [], "the slot to be left")
    execute(source, f"SELECT pg_drop_replication_slot(slot_name) {slots}")
    execute(source, f"DROP PUBLICATION IF EXISTS {name}")


class Table:
    """A connector `name` over a table of its name, with a slot and a publication of its own.

    `visited` are the brokers on which it wrote. Rows are only inserted until `updates` says otherwise.
    """

    def __init__(self, source: Sandbox, home: Home, name: str, rows: int = 100, **more: str) -> None:
        self.source, self.place, self.more = source, Place(home, name), more
        self.table, self.visited, self.updates = name.replace("-", "_"), [home.servers], False
        self.topic = f"{self.table}.public.{self.table}"
        self._readers: dict[str, Events] = {}
        self.is_dropped = False
        create_topic(home.servers, self.topic)
        self.create_table()
        self.write(rows)

    def create_table(self) -> None:
        """Its table, empty."""
        create_table(self.source, self.table)

    def execute(self, statement: str) -> list[tuple[int, ...]]:
        """One statement in a transaction of its own, with its rows."""
        return execute(self.source, statement)

    def write(self, count: int) -> None:
        """This many new rows, and with `updates` a new revision of one in three of the recent rows."""
        self.execute(f"INSERT INTO {self.table} (filler) SELECT repeat('x', 40) FROM generate_series(1, {count})")
        if self.updates:
            self.execute(
                f"UPDATE {self.table} SET revision = revision + 1 WHERE id % 3 = 0 AND id > "
                f"(SELECT max(id) - 30 FROM {self.table})"
            )

    def write_side_by_side(self, count: int) -> None:
        """Rows by two transactions at once; the one that begins first commits last."""
        insert = f"INSERT INTO {self.table} (filler) SELECT 'x' FROM generate_series(1, {count})".encode()
        url = self.source.postgresql.url
        with psycopg.connect(url) as first, psycopg.connect(url) as second:
            first.execute(insert)
            second.execute(insert)
            second.commit()
            first.execute(insert)
            first.commit()

    def config(self, home: Home) -> dict[str, str]:
        """The config in any Connect cluster; the second name of the connector changes nothing of it."""
        return {**debezium_config(self.source, self.table), **self.more}

    def start(self) -> None:
        """Create the connector; a name changes nothing of it."""
        self.place.home.create(self.place.name, self.config(self.place.home))

    def configure(self, **more: str) -> None:
        """Change its config for good."""
        self.more = {**self.more, **more}
        self.start()

    def request(self, action: str) -> None:
        """Ask the worker to stop or resume it; a stopped one has no task when this returns.

        A worker before 3.5 cannot stop one: it is deleted, and created again.
        """
        if self.place.home.version < STOPPABLE:
            self.place.home.delete(self.place.name) if action == "stop" else self.start()
            return
        assert self.place.home.ask("PUT", f"/connectors/{self.place.name}/{action}") < 400
        if action == "stop":
            eventually(lambda: self.states() == [], "the task to end")

    def states(self) -> list[str]:
        """The states of its tasks."""
        status = httpx.get(f"{self.place.home.url}/connectors/{self.place.name}/status", timeout=60, trust_env=False)
        return [task["state"] for task in status.json().get("tasks", ())] if status.status_code == 200 else []

    def offset(self) -> Mapping[str, object]:
        """The one source offset, over REST, or read by eosctl if REST does not show it; empty without one."""
        if self.place.home.version < STOPPABLE:
            committed = [records.committed for _, records in offsets_in(self.place.home, self.place.name)]
            return dict(json.loads(committed[0].value or b"{}")) if committed and committed[0] else {}
        answer = httpx.get(f"{self.place.home.url}/connectors/{self.place.name}/offsets", timeout=60, trust_env=False)
        offsets = answer.json().get("offsets", ())
        return dict(offsets[0]["offset"]) if offsets else {}

    def set_offset(self, offset: Mapping[str, object]) -> None:
        """Alter the one source offset over REST (KIP-875) while the connector is stopped."""
        body = {"offsets": [{"partition": {"server": self.table}, "offset": dict(offset)}]}
        url = f"{self.place.home.url}/connectors/{self.place.name}/offsets"
        answer = httpx.patch(url, json=body, timeout=60, trust_env=False)
        assert answer.status_code < 400, answer.text

    def await_streaming(self) -> None:
        """The snapshot has ended, and changes are streamed; rows are written until they show."""

        def streams() -> bool:
            self.write(1)
            return any(each.operation == "c" for each in self.events())

        eventually(streams, lambda: f"streaming, not {self.states()}", deadline_s=90, every_s=0.3)

    def events(self) -> list[Event]:
        """The readers' events, cluster after cluster, up to now."""
        everywhere = dict.fromkeys([*self.visited, self.place.home.servers])
        return [event for servers in everywhere for event in self.events_in(servers)]

    def events_in(self, servers: str) -> list[Event]:
        """The events of one cluster's readers up to now."""
        reader = self._readers.setdefault(servers, Events(servers, self.topic))
        reader.read_to_the_ends()
        return reader.events

    def heartbeats(self) -> int:
        """The readers' number of heartbeats; all are of one row, and its revision."""
        reader = Reader(self.place.home.servers, {f"__debezium-heartbeat.{self.table}": 1})
        reader.number_of = lambda _: (0, 0)  # type: ignore[method-assign]
        found = reader.read_to_the_ends().get((0, 0), 0)
        reader.close()
        return found

    def truth(self) -> Truth:
        """Lost and doubled rows, once the last row is there: one more is written for that."""
        self.updates = False
        self.write(1)
        rows = self.execute(f"SELECT id, revision FROM {self.table}")
        last = max(row[0] for row in rows)
        eventually(
            lambda: any(each.row[0] == last for each in self.events()), "the last row", deadline_s=120, every_s=0.5
        )
        seen: dict[Number, int] = {}
        for event in self.events():
            seen[event.row] = seen.get(event.row, 0) + 1
        return compare(seen, {(key, number) for key, revision in rows for number in range(revision + 1)})

    def check_exactly_once(self) -> None:
        """Everything is there once."""
        truth = self.truth()
        keys = {*truth.lost, *truth.doubled}
        assert (truth.lost_count, truth.doubled_count) == (0, 0), [
            each for each in self.events() if each.row[0] in keys
        ]
        self.visited.append(self.place.home.servers)

    def moved(self, **place: str) -> Place:
        """Its new place, named by the changes."""
        return replace(self.place, **place)

    def drop(self) -> None:
        """Deletes connector, slot and table; twice is fine."""
        if self.is_dropped:
            return
        for reader in self._readers.values():
            reader.close()
        self.place.home.delete(self.place.name)
        self.drop_table()
        self.is_dropped = True

    def drop_table(self) -> None:
        """Its table goes, and its slot."""
        drop_slot(self.source, self.table)
        self.execute(f"DROP TABLE {self.table}")
