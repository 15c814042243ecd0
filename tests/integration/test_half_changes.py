"""Changes of primary keys, cut by kills: exactly those that a trigger of the database and a consumer show are found.

Each change becomes three records; a worker that is killed between two of them continues after the first.
"""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from random import Random
from time import sleep
from typing import Any

import pytest

from tests.conftest import FreshName
from tests.integration.audit_site import Audited, audit
from tests.integration.committed import committed_json
from tests.integration.debezium import Table, debezium_spec
from tests.integration.moves import Eosctl, Home
from tests.shared_sandboxes import SharedSandboxes
from tests.waiting import eventually

pytestmark = [pytest.mark.kafka, pytest.mark.variation, pytest.mark.timeout(1200)]

CHANGES, LEAST_KILLS, MOST_KILLS = 150, 4, 8
SLOWLY = {"max.batch.size": "1", "max.queue.size": "2", "poll.interval.ms": "5"}
SCHEMAS = {"key.converter.schemas.enable": "true", "value.converter.schemas.enable": "true"}
BARE = {"tombstones.on.delete": "false"}
VARIANTS: dict[str, dict[str, str]] = {"plain": {}, "schemas": SCHEMAS, "bare": BARE, "bare_schemas": SCHEMAS | BARE}


class MovedRows(Table):
    """Forty rows whose keys keep changing, each to a new one; a trigger notes old and new ones."""

    def create_table(self) -> None:
        super().create_table()
        name = self.table
        self.execute(f"CREATE TABLE {name}_moves (old bigint, new bigint)")
        self.execute(
            f"CREATE FUNCTION {name}_note() RETURNS trigger LANGUAGE plpgsql AS "
            f"$$BEGIN INSERT INTO {name}_moves VALUES (OLD.id, NEW.id); RETURN NULL; END$$"
        )
        self.execute(
            f"CREATE TRIGGER note AFTER UPDATE ON {name} FOR EACH ROW WHEN (OLD.id != NEW.id) "
            f"EXECUTE FUNCTION {name}_note()"
        )

    def move(self, count: int) -> None:
        """This many changes of keys at once, each a transaction; the connector makes three records of each."""
        self.execute(
            f"DO $$ BEGIN FOR i IN 1..{count} LOOP UPDATE {self.table} SET id = (SELECT max(id) FROM {self.table}) + 1 "
            f"WHERE id = (SELECT min(id) FROM {self.table}); COMMIT; END LOOP; END $$"
        )

    def created(self) -> set[int]:
        """Keys that a consumer was ever given a row of."""
        values = [value for _, value in committed_json(self.place.home.servers, self.topic) if value]
        rows = [value.get("payload", value)["after"] for value in values]
        return {row["id"] for row in rows if row}

    def lost(self) -> set[tuple[int, int]]:
        """Changes whose new key no consumer ever saw, once the last change of all is there."""
        self.execute(f"INSERT INTO {self.table} (id) SELECT max(id) + 1 FROM {self.table}")
        last = self.execute(f"SELECT max(id) FROM {self.table}")[0][0]
        eventually(lambda: last in self.created(), f"key {last}", deadline_s=120, every_s=2)
        created = self.created()
        return {
            (old, new) for old, new in self.execute(f"SELECT old, new FROM {self.table}_moves") if new not in created
        }

    def drop_table(self) -> None:
        super().drop_table()
        self.execute(f"DROP TABLE {self.table}_moves")
        self.execute(f"DROP FUNCTION {self.table}_note")


@pytest.fixture
def tables(
    shared_sandboxes: SharedSandboxes, kafka_version: str, fresh_name: FreshName
) -> Iterator[dict[str, MovedRows]]:
    """A connector of each variant, which streams."""
    site = shared_sandboxes.of(debezium_spec(kafka_version))
    made = {
        name: MovedRows(site, Home(site), fresh_name(name), 40, **SLOWLY, **more) for name, more in VARIANTS.items()
    }
    for table in made.values():
        table.start()
    for table in made.values():
        eventually(lambda: len(table.created()) >= 40, "the snapshot", deadline_s=90)  # noqa: B023  # at once
    yield made
    for table in made.values():
        with suppress(AssertionError):
            table.drop()


def judged(eosctl: Eosctl, table: MovedRows) -> tuple[Audited, set[tuple[int, int]]]:
    """The answer, and the changes that it calls half."""
    home = table.place.home
    internal = ("--config-topic", home.config_topic, "--worker-offsets-topic", home.offsets_topic)
    found = audit(eosctl, home.servers, home.url, table.place.name, *internal, group_id=home.group_id)
    places: Sequence[dict[str, Any]] = found.places.get("half-event", ())
    return found, {(key_of(each["old_key"]), key_of(each["new_key"])) for each in places if "new_key" in each}


def key_of(text: str) -> int:
    return int(text.strip("[]"))


def test_each_change_that_a_kill_cut_in_two_is_found_and_no_other_one(tables: dict[str, MovedRows], eosctl: Eosctl):
    """With and without tombstones, with and without schemas; before the first kill all have held."""
    random, kills, counts = Random(41), 0, dict.fromkeys(tables, 0)
    source = tables["plain"].source
    while kills < LEAST_KILLS or (kills < MOST_KILLS and not any(counts.values())):
        for table in tables.values():
            table.move(CHANGES if kills else 5)
        if kills:
            sleep(random.random() * 3)  # a kill at any moment is the fault itself
            source.kill_worker(1)
            source.start_worker(1)
        kills += 1
        for name, table in tables.items():
            lost = table.lost()
            found, half = judged(eosctl, table)
            assert half == lost, (name, kills, found.findings)
            assert found.verdict == ("broken" if {"half-event"} & {*found.findings} else "held"), found.reasons
            assert not {*found.findings} - {"half-event"}
            counts[name] = len(lost)
    assert any(counts.values()), f"{kills} kills cut no change in two"
