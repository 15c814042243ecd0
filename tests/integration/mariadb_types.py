"""A MariaDB's tables against their topics: `make mariadb`. Each type, under load, and all that a test has spoilt."""

import json
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import pytest
from confluent_kafka import Producer

from eosctl.sandbox.properties import SandboxSpec
from tests.commands.conftest import eosctl
from tests.faulty_sandbox import Sandbox
from tests.integration.committed import committed_json
from tests.integration.debezium import QUICK
from tests.integration.mariadb import DATABASE, PLUGIN, MariaDB, MariaTable, mariadb
from tests.integration.moves import Eosctl, Home, flowing
from tests.waiting import eventually

__all__ = ["eosctl"]


class Typed(NamedTuple):
    """A table's columns with their type and two values in SQL (empty: the table makes it), and those not compared."""

    columns: Mapping[str, tuple[str, str, str]]
    uncompared: tuple[str, ...] = ()
    partly: tuple[str, ...] = ()
    key: str = "id int PRIMARY KEY"
    names: str = "id"
    keys: tuple[str, str, str, str] = ("1", "2", "3", "4")


NOTE = {"note": ("varchar(9)", "'a'", "'b'")}
TABLES: Mapping[str, Typed] = {
    "numbers": Typed(
        {
            "flag": ("tinyint(1)", "1", "0"),
            "small": ("tinyint unsigned", "255", "7"),
            "large": ("bigint", "-9007199254740993", "9223372036854775807"),
            "larger": ("bigint unsigned", "9007199254740993", "18446744073709551615"),
            "scaled": ("decimal(20,4)", "-12.5000", "9999999999999999.9999"),
            "whole": ("decimal(30,0)", "123456789012345678901234567890", "0"),
            "short": ("float", "0.1", "1e30"),
            "`long`": ("double", "0.1", "-1.7976931348623157e308"),
            "one_bit": ("bit(1)", "b'1'", "b'0'"),
            "bits": ("bit(12)", "b'101010101010'", "b'1'"),
            "born": ("year", "2026", "1901"),
        },
        ("short (float)", "one_bit (bit)", "bits (bit)"),
        ("larger (bigint unsigned) in 2 of 4 rows",),
    ),
    "times": Typed(
        {
            "day": ("date", "'2026-11-26'", "'1970-01-01'"),
            "clock": ("time(6)", "'23:59:59.999999'", "'-838:59:58.000001'"),
            "second": ("time", "'23:59:59'", "'00:00:00'"),
            "local": ("datetime(6)", "'2026-03-29 02:30:00.123456'", "'1969-12-31 23:59:59.999999'"),
            "milli": ("datetime(3)", "'2026-03-29 02:30:00.123'", "'1969-12-31 23:59:59.999'"),
            "instant": ("timestamp(6) NULL", "'2026-03-29 02:30:00.123456'", "'1971-01-01 00:00:00'"),
            "instant_second": ("timestamp NULL", "'2026-03-29 02:30:00'", "'1971-01-01 00:00:00'"),
        },
    ),
    "zeros": Typed(
        {
            "day": ("date", "'0000-00-00'", "'2026-01-01'"),
            "partly_day": ("date", "'2026-02-00'", "'2026-01-01'"),
            "needed_day": ("date NOT NULL", "'0000-00-00'", "'2026-01-01'"),
            "local": ("datetime", "'0000-00-00 00:00:00'", "'2026-01-01'"),
            "instant": ("timestamp NULL", "'0000-00-00 00:00:00'", "'2026-01-01'"),
            "old": ("date", "'1500-01-01'", "'2026-01-01'"),
        },
        partly=tuple(
            f"{each} in 2 of 4 rows"
            for each in (
                "day (date)",
                "partly_day (date)",
                "needed_day (date)",
                "local (datetime)",
                "instant (timestamp)",
                "old (date)",
            )
        ),
    ),
    "texts": Typed(
        {
            "padded": ("char(6)", "'ab'", "'abc'"),
            "short": ("varchar(20) CHARACTER SET utf8mb4", "'Grüße 🎉'", "''"),
            "latin": ("varchar(20) CHARACTER SET latin1", "'Grüße'", "'a'"),
            "body": ("mediumtext", "repeat('x', 70000)", "'y'"),
            "size": ("enum('small', 'large')", "'small'", "'large'"),
            "marks": ("set('a', 'b', 'c')", "'c,a'", "''"),
            "document": ("json", """'{"b" : 1, "a": [1.0, null]}'""", "'[]'"),
            "fixed": ("binary(4)", "'ab'", "'abcd'"),
            "raw": ("varbinary(9)", "x'00ff10'", "x''"),
            "heap": ("blob", "x'00ff10'", "x'01'"),
            "tag": ("uuid", "'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11'", "'00000000-0000-0000-0000-000000000001'"),
            "place": ("point", "point(1, 2)", "point(3, 4)"),
            "made": ("varchar(9) AS (concat(short, 'x')) PERSISTENT", "", ""),
            "unkept": ("varchar(9) AS (concat(short, 'y')) VIRTUAL", "", ""),
        },
        ("fixed (binary)", "place (point)"),
    ),
    "size_key": Typed(
        NOTE,
        key="size enum('z', 'm', 'a') NOT NULL, id int, PRIMARY KEY (size, id)",
        names="size, id",
        keys=("'z', 1", "'a', 1", "'m', 2", "'z', 2"),
    ),
    "large_key": Typed(
        NOTE,
        key="id bigint unsigned PRIMARY KEY",
        keys=("9007199254740992", "9007199254740993", "9007199254740994", "9007199254740995"),
    ),
    "scaled_key": Typed(
        NOTE,
        key="id decimal(30,5) PRIMARY KEY",
        keys=("9007199254740992.00001", "9007199254740992.00002", "9007199254740992.00003", "-1"),
    ),
    "folded_key": Typed(NOTE, key="id varchar(9) PRIMARY KEY", keys=("'a'", "'B'", "'c'", "'D'")),
    "raw_key": Typed(NOTE, key="id varbinary(9) PRIMARY KEY", keys=("x'ff'", "x'00'", "x'27'", "x'25'")),
}


class TypedTables:
    """A connector over all these tables: two rows of each by its snapshot, two that are streamed."""

    def __init__(self, server: MariaDB, site: Sandbox, name: str) -> None:
        self.server, self.home, self.name = server, Home(site), name
        for table, typed in TABLES.items():
            columns = [f"{column} {kind}" for column, (kind, *_) in typed.columns.items()]
            self.execute(f"CREATE TABLE {table} ({', '.join([typed.key, *columns])})")
        self.insert(0)

    def execute(self, statement: str) -> None:
        self.server.execute(
            f"SET NAMES utf8mb4; SET time_zone = '+05:00'; SET sql_mode = ''; USE {DATABASE}; {statement}"
        )

    def insert(self, first: int) -> None:
        """Two rows of each table, with both values of each column."""
        for table, typed in TABLES.items():
            given = {column: values for column, (_, *values) in typed.columns.items() if values[0]}
            names = ", ".join([typed.names, *given])
            for number in (0, 1):
                values = ", ".join([typed.keys[first + number], *(value[number] for value in given.values())])
                self.execute(f"INSERT INTO {table} ({names}) VALUES ({values})")

    def start(self) -> None:
        config = MariaTable.config(self._like(), self.home)
        del config["table.include.list"]
        self.home.create(self.name, config)

    def _like(self) -> MariaTable:
        made = object.__new__(MariaTable)
        made.server, made.table, made.more = self.server, self.name, {"database.server.id": "4712"}
        return made

    def topic(self, table: str) -> str:
        return f"{self.name}.{DATABASE}.{table}"

    def records(self, table: str) -> list[tuple[Any, Any]]:
        """Keys and values of the topic, each from its JSON."""
        return committed_json(self.home.servers, self.topic(table))

    def exchange(self, table: str) -> None:
        """In the topic: each key has the values of a row with other ones, but for its primary key."""
        last = [(key, value["after"]) for key, value in self.records(table)]
        producer = Producer({"bootstrap.servers": self.home.servers})
        for number, (key, _) in enumerate(last):
            value = {
                "before": None,
                "after": last[number ^ 1][1] | key,
                "op": "u",
                "source": {"file": "binlog.000001", "pos": 4},
            }
            producer.produce(self.topic(table), json.dumps(value), json.dumps(key))
        producer.flush(30)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[MariaDB, Sandbox]]:
    spec = SandboxSpec(workers=1, worker_config=QUICK, plugins=(PLUGIN,))
    with mariadb(tmp_path_factory.mktemp("mariadb")) as server, Sandbox(spec) as sandbox:
        yield server, sandbox


def compared(eosctl: Eosctl, server: MariaDB, home: Home, connector: str, *more: str) -> dict[str, Any]:
    """The answer on each table by its name."""
    where = ("-b", home.servers, "--group-id", home.group_id, "--connect-url", home.url, "--timeout", "60")
    dsn = ("--source-dsn", f"mariadb://root@127.0.0.1:{server.port}")
    ran = eosctl("audit", "source", "--connector", connector, *dsn, *where, *more, "-o", "json")
    assert ran.exit_code in {0, 1, 3}, ran.stderr
    return {each["table"].partition(".")[2]: each for each in json.loads(ran.stdout)["data"]["tables"]}


def test_each_column_is_compared_or_named(site: tuple[MariaDB, Sandbox], eosctl: Eosctl):
    """First both sides have the same; then each row of the topic has the values of another one."""
    server, sandbox = site
    typed = TypedTables(server, sandbox, "typed")
    typed.start()
    for table in TABLES:
        eventually(lambda: typed.records(table), f"the snapshot of {table}", deadline_s=90)  # noqa: B023  # at once
    typed.insert(2)
    for table in TABLES:
        eventually(lambda: len(typed.records(table)) == 4, f"changes of {table}", deadline_s=60)  # noqa: B023  # at once
    found = compared(eosctl, server, typed.home, "typed", "--chunk", "1", "--wait", "5")
    shown = json.dumps({table: typed.records(table) for table in ("zeros", "numbers")}, indent=1) + json.dumps(
        found, indent=1
    )
    assert {table: (each["verdict"], each["rows"], each["words"]) for table, each in found.items()} == dict.fromkeys(
        TABLES, ("held", 4, None)
    ), shown
    assert {table: {*each["uncompared"]} for table, each in found.items()} == {
        table: {*each.uncompared, *each.partly} for table, each in TABLES.items()
    }, shown
    for table in TABLES:
        typed.exchange(table)
    found = compared(eosctl, server, typed.home, "typed", "--caught-up")
    for table, each in TABLES.items():
        differ = {column for sample in found[table]["samples"].get("differing", ()) for column in sample["columns"]}
        none, some = ({no.split()[0] for no in named} for named in (each.uncompared, each.partly))
        assert differ | some == {column.strip("`") for column in each.columns} - none, table
        assert (found[table]["missing"], found[table]["extra"]) == (0, 0), table


@pytest.fixture
def rows(site: tuple[MariaDB, Sandbox]) -> Iterator[MariaTable]:
    server, sandbox = site
    made = MariaTable(server, sandbox, "spoilt", 500)
    made.start()
    made.await_streaming()
    made.updates = True
    yield made
    made.drop()


def spoil(table: MariaTable) -> None:
    """In the topic: rows 1 to 3 are removed, 4 and 5 have another text, and two keys are added."""
    last = {value["after"]["id"]: value["after"] for _, value in committed_json(table.place.home.servers, table.topic)}
    producer = Producer({"bootstrap.servers": table.place.home.servers})
    spoilt = {1: None, 2: None, 3: None, 4: last[4] | {"filler": "spoilt"}, 5: last[5] | {"filler": "spoilt"}}
    added = {key: last[6] | {"id": key} for key in (10**9, 10**9 + 1)}
    for key, row in (spoilt | added).items():
        value = row and {"before": None, "after": row, "op": "u", "source": {"file": "binlog.000001", "pos": 4}}
        producer.produce(table.topic, value and json.dumps(value), json.dumps({"id": key}))
    producer.flush(30)


def test_all_that_was_spoilt_is_found_under_load_and_nothing_else(
    rows: MariaTable, site: tuple[MariaDB, Sandbox], eosctl: Eosctl
):
    server, home = site[0], rows.place.home

    def found() -> dict[str, Any]:
        return compared(eosctl, server, home, rows.place.name, "--chunk", "50")[rows.table]

    quiet = found()
    assert (quiet["verdict"], quiet["undecided"]) == ("held", 0), quiet
    with flowing(rows):
        busy = found()
        assert (busy["verdict"], busy["undecided"]) == ("held", 0), busy
        assert busy["rows"] >= 500
        spoil(rows)
        spoilt = found()
    assert {name: spoilt[name] for name in ("missing", "extra", "differing", "undecided")} == {
        "missing": 3, "extra": 2, "differing": 2, "undecided": 0,
    }, spoilt  # fmt: skip
    keys = {kind: [each["key"] for each in samples] for kind, samples in spoilt["samples"].items()}
    assert keys == {"missing": ["1", "2", "3"], "extra": ["1000000000", "1000000001"], "differing": ["4", "5"]}
    assert spoilt["samples"]["differing"][0]["columns"] == ["filler"]
