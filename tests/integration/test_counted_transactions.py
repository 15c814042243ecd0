"""Database transactions that Debezium counts: kills leave them whole, and a tolerated error does not.

The key of the table is text, and a transformation casts it to a number: a row whose key is none is dropped.
"""

from collections.abc import Iterator
from contextlib import suppress
from random import Random
from time import sleep

import pytest

from tests.conftest import FreshName
from tests.integration.audit_site import Audited, audit
from tests.integration.committed import committed_json
from tests.integration.debezium import Table, debezium_spec
from tests.integration.moves import Eosctl, Home
from tests.shared_sandboxes import SharedSandboxes
from tests.waiting import eventually

pytestmark = [pytest.mark.kafka, pytest.mark.variation, pytest.mark.timeout(900)]

KILLS = 3
COUNTED = {
    "provide.transaction.metadata": "true",
    "errors.tolerance": "all",
    "transforms": "number",
    "transforms.number.type": "org.apache.kafka.connect.transforms.Cast$Key",
    "transforms.number.spec": "id:int64",
    "predicates": "rows",
    "predicates.rows.type": "org.apache.kafka.connect.transforms.predicates.TopicNameMatches",
    "transforms.number.predicate": "rows",
}
SLOWLY = {"max.batch.size": "1", "max.queue.size": "2", "poll.interval.ms": "5"}


class Texts(Table):
    """Rows whose key is text; each insert is a transaction of its own."""

    last = 0

    def create_table(self) -> None:
        self.execute(f"CREATE TABLE {self.table} (id text PRIMARY KEY)")

    def write(self, count: int) -> None:
        first, self.last = self.last + 1, self.last + count
        self.insert(*(str(number) for number in range(first, self.last + 1)))

    def insert(self, *keys: str) -> None:
        values = ", ".join(f"('{key}')" for key in keys)
        self.execute(f"INSERT INTO {self.table} VALUES {values}")

    def keys(self) -> set[str]:
        """The keys of all rows that a consumer was given."""
        values = committed_json(self.place.home.servers, self.topic)
        return {value["after"]["id"] for _, value in values if value and value.get("after")}

    def await_last(self) -> None:
        self.write(1)
        eventually(lambda: str(self.last) in self.keys(), f"key {self.last}", deadline_s=120, every_s=1)


@pytest.fixture
def table(shared_sandboxes: SharedSandboxes, kafka_version: str, fresh_name: FreshName) -> Iterator[Texts]:
    """A connector that streams."""
    site, name = shared_sandboxes.of(debezium_spec(kafka_version)), fresh_name("counted")
    topic = {"predicates.rows.pattern": rf"{name.replace('-', '_')}\.public\..*"}
    made = Texts(site, Home(site), name, 3, **COUNTED, **SLOWLY, **topic)
    made.start()
    made.await_last()
    yield made
    with suppress(AssertionError):
        made.drop()


def kill(table: Texts, random: Random) -> None:
    """The worker, within the transaction of sixty rows."""
    table.write(60)
    sleep(random.random() * 2)  # a kill at any moment is the fault itself
    table.source.kill_worker(1)
    table.source.start_worker(1)


def judged(table: Texts, eosctl: Eosctl) -> Audited:
    """The audit's answer once the last row is there."""
    table.await_last()
    home = table.place.home
    internal = ("--config-topic", home.config_topic, "--worker-offsets-topic", home.offsets_topic)
    return audit(eosctl, home.servers, home.url, table.place.name, *internal, group_id=home.group_id)


def halves(found: Audited) -> list[tuple[int, list[str]]]:
    """The number of records of each transaction that is not whole, and those that are missing."""
    return [(each["event_count"], each["missing"]) for each in found.places.get("half-event", ())]


def test_a_kill_within_a_transaction_is_no_finding_and_a_record_that_an_error_dropped_is(table: Texts, eosctl: Eosctl):
    random = Random(53)
    for _ in range(KILLS):
        kill(table, random)
        found = judged(table, eosctl)
        assert (found.verdict, halves(found)) == ("held", [])
    table.insert("a", "1000001", "b", "c", "1000002", "d")
    found = judged(table, eosctl)
    assert (found.verdict, halves(found)) == ("broken", [(6, ["1", "3-4", "6"])])
