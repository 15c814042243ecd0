"""Asking a real PostgreSQL what it still has of Debezium's positions."""

import json
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from eosctl.codecs.secrets import mask_properties
from eosctl.errors import UsageError
from eosctl.model.client_properties import HIDDEN
from eosctl.model.migration import SourceServer
from eosctl.model.offsets import AtSource, Served, Store
from eosctl.model.report import exit_code
from eosctl.model.skipped import Cause, Skipped
from eosctl.operations.offset_stores import OffsetsRequest
from eosctl.operations.offsets import diff_offsets, read_source, source_read
from tests.fake_cluster import FakeCluster
from tests.operations.conversation import Conversation, session_on
from tests.operations.test_offsets import config_topic
from tests.postgresql import PostgreSQL

SECRET = "canary-of-the-source"


class Shop:
    """A database with a slot, and positions before and behind what the slot has confirmed."""

    def __init__(self, server: PostgreSQL) -> None:
        self.server, self.dbname = server, server.new_database()
        self.slot = f"slot_{self.dbname}"
        self.url = server.url(self.dbname)
        self.execute(f"SELECT pg_create_logical_replication_slot('{self.slot}', 'pgoutput')")

    def execute(self, statement: str) -> None:
        with psycopg.connect(self.server.conninfo(self.dbname), autocommit=True) as connection:
            connection.execute(statement.encode())

    def read(self) -> SourceServer:
        found = read_source(self.url, 10)
        assert isinstance(found, SourceServer)
        return found

    def confirmed(self) -> int:
        confirmed = self.read().slots[self.slot].confirmed_flush_lsn
        assert confirmed is not None
        return confirmed


@pytest.fixture
def shop(postgresql: PostgreSQL) -> Iterator[Shop]:
    made = Shop(postgresql)
    yield made
    made.execute(f"SELECT pg_drop_replication_slot('{made.slot}')")


def test_the_slots_of_the_database_are_read_with_where_the_server_is(shop: Shop):
    before = shop.read()
    slot = before.slots[shop.slot]
    assert list(before.slots) == [shop.slot]
    assert (slot.active, slot.wal_status) == (False, "reserved")
    shop.execute("CREATE TABLE t AS SELECT generate_series(1, 100)")
    shop.execute(f"SELECT pg_replication_slot_advance('{shop.slot}', pg_current_wal_lsn())")
    assert slot.confirmed_flush_lsn < shop.confirmed() <= shop.read().current_lsn


def test_a_source_that_does_not_answer_is_not_known(postgresql: PostgreSQL, shop: Shop):
    away = read_source(postgresql.url(shop.dbname, port=1), 2)
    assert isinstance(away, Skipped)
    assert (away.cause, away.cause.is_gap) == (Cause.UNREACHABLE, True)
    assert away.reason.startswith(f"source database postgresql://127.0.0.1:1/{shop.dbname} cannot be reached: ")


def test_a_password_in_the_url_is_refused_and_not_repeated():
    with pytest.raises(UsageError) as refused:
        read_source(f"postgresql://debezium:{SECRET}@127.0.0.1/shop", 2)
    assert refused.value.message == "the password stands in the source's URL, where others can read it"
    assert SECRET not in f"{refused.value} {refused.value.hint}"


def test_the_slot_is_that_of_the_config_or_debeziums_default():
    server = SourceServer(1)
    assert source_read(server, "shop", {"slot.name": "mine"}).slot == "mine"
    assert source_read(server, "shop", {"topic.prefix": "shop"}).slot == "debezium"
    masked = mask_properties({"slot.name": "mine", "database.password": SECRET})
    assert source_read(server, "shop", masked).slot == "mine"
    for config in (None, {}, {"slot.name": "${file:x:y}"}, {"slot.name": HIDDEN}):
        assert isinstance(source_read(server, "shop", config).slot, Skipped)


def files(directory: Path, a: int, b: int) -> tuple[str, str]:
    for name, lsn in (("a", a), ("b", b)):
        entry = {"partition": {"server": "shop"}, "offset": {"lsn": lsn}}
        (directory / f"{name}.json").write_text(json.dumps({"offsets": [entry]}))
    return str(directory / "a.json"), str(directory / "b.json")


def compared(shop: Shop, url: str, a: str, b: str):
    configs = {"shop": {"slot.name": shop.slot}}
    cluster = FakeCluster(connector_configs=configs, config_topic=config_topic())
    session = session_on(cluster, Conversation(), timeout_s=2)
    return diff_offsets(session, OffsetsRequest(("shop",)), a, b, Store.KAFKA_EFFECTIVE, {}, url)


def test_a_difference_says_what_the_source_has_of_both_positions(shop: Shop, tmp_path: Path):
    shop.execute("CREATE TABLE t AS SELECT generate_series(1, 100)")
    confirmed = shop.confirmed()
    [change] = compared(shop, shop.url, *files(tmp_path, confirmed - 1, confirmed)).changes
    assert isinstance(change.source_a, AtSource)
    assert isinstance(change.source_b, AtSource)
    assert (change.source_a.served, change.source_b.served) == (Served.LEFT_BEHIND, Served.SERVED)


def test_a_difference_whose_source_did_not_answer_names_it_and_is_incomplete(shop: Shop, tmp_path: Path):
    found = compared(shop, shop.server.url(shop.dbname, port=1), *files(tmp_path, 1, 2))
    [change] = found.changes
    assert isinstance(change.source_a, Skipped)
    assert [each.what for each in found.coverage.gaps] == ["the source"]
    assert exit_code(found) == 1
