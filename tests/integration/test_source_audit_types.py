"""Every type of PostgreSQL on a real Debezium: a column is compared, so that another value is found, or it is named."""

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any, NamedTuple

import psycopg
import pytest
from confluent_kafka import Producer

from tests.conftest import FreshName
from tests.integration.committed import committed_json
from tests.integration.debezium import debezium_config, debezium_spec, drop_slot
from tests.integration.moves import Eosctl, Home
from tests.shared_sandboxes import SharedSandboxes
from tests.waiting import eventually

pytestmark = [pytest.mark.kafka, pytest.mark.variation]


class Typed(NamedTuple):
    """A table's columns with their type and two values in SQL (empty: the table makes it).

    uncompared are columns of which no value is compared, partly those of which some are not, as the answer names them.
    """

    columns: Mapping[str, tuple[str, str, str]]
    uncompared: tuple[str, ...] = ()
    partly: tuple[str, ...] = ()
    key: str = "id int PRIMARY KEY"


ZONED = ("instant", "old", "late")
BIG = "(SELECT string_agg(md5(i::text), '') FROM generate_series({0}, {0} + 400) i)"
TABLES: Mapping[str, Typed] = {
    "numbers": Typed(
        {
            "small": ("int2", "-32768", "7"),
            "large": ("int8", "9007199254740993", "-9223372036854775808"),
            "scaled": ("numeric(12,4)", "-12.5000", "99999999.9999"),
            "negative_scale": ("numeric(5,-2)", "12300", "-100"),
            "free": ("numeric", "1e30", "0.00000000000000000001"),
            "yes": ("bool", "true", "false"),
            "short": ("float4", "0.1", "'-Infinity'"),
            "long": ("float8", "0.1::float8 + 0.2", "'NaN'"),
            "money": ("money", "12.34", "5"),
            "oid": ("oid", "4000000000", "1"),
            "one_bit": ("bit(1)", "B'1'", "B'0'"),
            "bits": ("varbit", "B'10101'", "B'1'"),
        },
        ("negative_scale (numeric)", "money (money)", "oid (oid)", "one_bit (bit)", "bits (varbit)"),
    ),
    "not_a_number": Typed(
        {"free": ("numeric", "'NaN'", "1.5"), "scaled": ("numeric(9,2)", "'NaN'", "2")},
        partly=("free (numeric) in 2 of 4 rows", "scaled (numeric) in 2 of 4 rows"),
    ),
    "times": Typed(
        {
            "day": ("date", "'2026-11-26'", "'0044-03-15 BC'"),
            "clock": ("time", "'23:59:59.999999'", "'00:00'"),
            "milli_clock": ("time(3)", "'23:59:59.123'", "'00:00'"),
            "zoned_clock": ("timetz", "'12:00+05'", "'12:00+01'"),
            "local": ("timestamp", "'2026-03-29 02:30:00.123456'", "'1883-11-18 12:00:00.000001'"),
            "milli": ("timestamp(3)", "'2026-03-29 02:30:00.123'", "'1969-12-31 23:59:59.999'"),
            "second": ("timestamp(0)", "'2026-03-29 02:30:00'", "'1969-12-31 23:59:59'"),
            "instant": ("timestamptz", "'2026-03-29 02:30:00.123456+02'", "'0001-01-01 00:00:00+00'"),
            "milli_instant": ("timestamptz(3)", "'2026-03-29 02:30:00.120+02'", "'1900-01-01 00:00:00+00'"),
            "span": ("interval", "'1 year 2 months 3 days 04:05:06.789'", "'1 second'"),
        },
        ("zoned_clock (timetz)", "span (interval)"),
        ("day (date) in 2 of 4 rows", "instant (timestamptz) in 2 of 4 rows"),
    ),
    "ends_of_time": Typed(
        {
            "day": ("date", "'infinity'", "'2026-01-01'"),
            "local": ("timestamp", "'-infinity'", "'2026-01-01'"),
            "instant": ("timestamptz", "'infinity'", "'2026-01-01'"),
            "old": ("timestamptz", "'0044-03-15 BC'", "'2026-01-01'"),
            "late": ("timestamptz", "'12026-03-15'", "'2026-01-01'"),
            "midnight": ("time", "'24:00'", "'12:00'"),
        },
        partly=tuple(
            f"{column} in 2 of 4 rows"
            for column in ("day (date)", "local (timestamp)", *(f"{each} (timestamptz)" for each in ZONED))
        ),
    ),
    "texts": Typed(
        {
            "short": ("varchar(20)", "'Grüße 🎉'", "''"),
            "padded": ("char(6)", "'ab'", "'abc'"),
            "folded": ("citext", "'Straße'", "'STRASSE'"),
            "mood": ("mood", "'so so'", "'good'"),
            "tag": ("uuid", "'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11'", "'00000000-0000-0000-0000-000000000000'"),
            "plain_json": ("json", """'{"b" : 1, "a": [1.0, null]}'""", "'[]'"),
            "binary_json": ("jsonb", """'{"b" : 1, "a": [1.0, null]}'""", "'[]'"),
            "tree": ("xml", "'<a>1</a>'", "'<b/>'"),
            "network": ("cidr", "'10.0.0.0/8'", "'10.1.0.0/16'"),
            "address": ("inet", "'10.0.0.1/8'", "'::1'"),
            "card": ("macaddr", "'08:00:2b:01:02:03'", "'08:00:2b:01:02:04'"),
            "raw": ("bytea", r"'\\x00ff10'", r"'\\x'"),
            "letter": ('"char"', "'a'", "'b'"),
            "domain": ("positive", "5", "6"),
            "search": ("tsvector", "'a fat cat'", "'a'"),
            "place": ("point", "'(1,2)'", "'(3,4)'"),
            "range": ("int4range", "'[1,5)'", "'[2,3)'"),
        },
        ("address (inet)", "letter (char)", "search (tsvector)", "place (point)", "range (int4range)"),
    ),
    "arrays": Typed(
        {
            "counts": ("int[]", "'{1,NULL,3}'", "'{}'"),
            "names": ("text[]", """'{"a,b","\\"q\\"",NULL}'""", "'{NULL}'"),
            "flags": ("bool[]", "'{t,f}'", "'{f}'"),
            "tags": ("uuid[]", "'{a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11}'", "'{}'"),
            "prices": ("numeric(9,2)[]", "'{1.50}'", "'{2}'"),
            "moods": ("mood[]", "'{good}'", "'{}'"),
            "instants": ("timestamptz[]", "'{2026-01-01 00:00+00}'", "'{}'"),
        },
        ("prices (_numeric)", "moods (_mood)", "instants (_timestamptz)"),
    ),
    "large": Typed(
        {"filler": ("text", BIG.format(1), BIG.format(900)), "small": ("int", "1", "2")},
        partly=("filler (text) in 2 of 4 rows",),  # those that were updated: Debezium had not the value
    ),
    "made": Typed(
        {"given": ("int", "1", "2"), "twice": ("int GENERATED ALWAYS AS (given * 2) STORED", "", "")},
        partly=("twice (int4) in 2 of 4 rows",),  # those that were streamed
    ),
    "composite": Typed(
        {"note": ("text", "'a'", "'b'")},
        key='"Id" int, name text COLLATE "und-x-icu", PRIMARY KEY (name, "Id") INCLUDE (note)',
    ),
    "folded_key": Typed({"note": ("text", "'a'", "'b'")}, key='"Id" int, name citext, PRIMARY KEY (name, "Id")'),
    "mood_key": Typed({"note": ("text", "'a'", "'b'")}, key='"Id" mood, name text, PRIMARY KEY ("Id", name)'),
}
DDL = (
    "CREATE EXTENSION IF NOT EXISTS citext",
    "DROP SCHEMA IF EXISTS {0} CASCADE",
    "CREATE SCHEMA {0}",
    "CREATE TYPE {0}.mood AS ENUM ('good', 'so so')",
    "CREATE DOMAIN {0}.positive AS int CHECK (VALUE > 0)",
)


class TypedTables:
    """A connector over a schema of its name with all these tables: rows 1 and 2 by its snapshot, 3 and 4 streamed."""

    def __init__(self, site: Any, name: str, tables: Mapping[str, Typed], **more: str) -> None:
        self.site, self.name, self.tables, self.more = site, name, tables, more
        self.home = Home(site)
        for statement in DDL:
            self.execute(statement.format(name))
        for table, typed in tables.items():
            columns = [f'"{column}" {kind}' for column, (kind, *_) in typed.columns.items()]
            self.execute(f"CREATE TABLE {table} ({', '.join([typed.key, *columns])})")
            self.insert(table, 1)

    def execute(self, statement: str) -> list[Any]:
        with psycopg.connect(self.site.postgresql.url, autocommit=True) as connection:
            connection.execute(f"SET search_path TO {self.name}, public".encode())
            cursor = connection.execute(statement.encode())
            return cursor.fetchall() if cursor.description else []

    def insert(self, table: str, first: int) -> None:
        """Two rows with both values of each column."""
        typed = self.tables[table]
        given = {column: values for column, (_, *values) in typed.columns.items() if values[0]}
        names = ", ".join(f'"{each}"' for each in given)
        if '"Id"' in typed.key:
            numbers = ("'good'", "'so so'") if "mood" in typed.key else ("1", "2")
            for number, name in enumerate(("a", "Z", "á", "b")):
                values = ", ".join(value[number % 2] for value in given.values())
                key = f"{numbers[first // 2]}, '{name}'"
                self.execute(f"""INSERT INTO {table} ("Id", name, {names}) VALUES ({key}, {values})""")
            return
        for number in (0, 1):
            values = ", ".join(value[number] for value in given.values())
            self.execute(f"INSERT INTO {table} (id, {names}) VALUES ({first + number}, {values})")

    def config(self) -> dict[str, str]:
        config = debezium_config(self.site, self.name)
        del config["table.include.list"]
        return config | {"schema.include.list": self.name} | self.more

    def start(self) -> None:
        self.home.create(self.name, self.config())

    def topic(self, table: str) -> str:
        return f"{self.name}.{self.name}.{table}"

    def records(self, table: str) -> list[tuple[Any, Any]]:
        """Keys and values of the topic, each from its JSON."""
        return committed_json(self.home.servers, self.topic(table))

    def has_streamed(self, table: str) -> bool:
        with suppress(ValueError):
            return any(value and value["op"] == "c" for _, value in self.records(table))
        return False

    def exchange(self, table: str) -> None:
        """In the topic: each key has the values of the other row with other values, but for its primary key."""
        last = {
            json.dumps(key): (key, value["after"]) for key, value in self.records(table) if value and value["after"]
        }
        rows, producer = list(last.values()), Producer({"bootstrap.servers": self.home.servers})
        for number, (key, row) in enumerate(rows):
            other = rows[number - 1 if number % 2 else (number + 1) % len(rows)][1]
            value = {"before": None, "after": other | key, "op": "u", "source": {"lsn": 1}}
            producer.produce(self.topic(table), json.dumps(value), json.dumps(key))
            del row
        producer.flush(30)

    def drop(self) -> None:
        self.home.delete(self.name)
        drop_slot(self.site, self.name)
        self.execute(f"DROP SCHEMA {self.name} CASCADE")


def compared(eosctl: Eosctl, tables: TypedTables, *more: str) -> dict[str, Any]:
    """The answer on each table by its name."""
    server = psycopg.conninfo.conninfo_to_dict(tables.site.postgresql.url)
    dsn = f"postgresql://{server['user']}@{server['host']}:{server['port']}/{server['dbname']}"
    at = ("-b", tables.home.servers, "--group-id", tables.home.group_id, "--connect-url", tables.home.url)
    command = ("audit", "source", "--connector", tables.name, "--source-dsn", dsn, "--chunk", "2", "--wait", "5")
    ran = eosctl(*command, *at, *more, "--timeout", "60", "-o", "json")
    assert ran.exit_code in {0, 1, 3}, ran.stderr
    return {each["table"].partition(".")[2]: each for each in json.loads(ran.stdout)["data"]["tables"]}


@pytest.fixture
def site(shared_sandboxes: SharedSandboxes, kafka_version: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    made = shared_sandboxes.of(debezium_spec(kafka_version))
    monkeypatch.setenv("PGPASSWORD", str(psycopg.conninfo.conninfo_to_dict(made.postgresql.url)["password"]))
    return made


@pytest.fixture
def typed(site: Any, fresh_name: FreshName) -> Iterator[TypedTables]:
    made = TypedTables(site, fresh_name("typed").replace("-", "_"), TABLES)
    made.start()
    for table in TABLES:
        eventually(lambda: made.records(table), f"the snapshot of {table}", deadline_s=60)  # noqa: B023  # at once
        made.insert(table, 3)
    for table in TABLES:
        eventually(lambda: made.has_streamed(table), f"changes of {table}", deadline_s=60)  # noqa: B023  # at once
    made.execute("UPDATE large SET small = small + 10 WHERE id IN (1, 3)")
    eventually(lambda: any(value["op"] == "u" for _, value in made.records("large")), "the updates")
    yield made
    made.drop()


def test_each_column_is_compared_or_named(typed: TypedTables, eosctl: Eosctl):
    """First both sides have the same; then each row of the topic has the values of another one."""
    found = compared(eosctl, typed)
    assert {table: (each["verdict"], each["words"]) for table, each in found.items()} == dict.fromkeys(
        TABLES, ("held", None)
    )
    assert {table: {*each["uncompared"]} for table, each in found.items()} == {
        table: {*each.uncompared, *each.partly} for table, each in TABLES.items()
    }
    for table in TABLES:
        typed.exchange(table)
    found = compared(eosctl, typed, "--caught-up")
    for table, each in TABLES.items():
        differ = {column for sample in found[table]["samples"]["differing"] for column in sample["columns"]}
        none, some = ({no.split()[0] for no in named} for named in (each.uncompared, each.partly))
        assert differ | some == {*each.columns} - none, table
        assert (found[table]["missing"], found[table]["extra"]) == (0, 0), table


ONE = {"shown": ("int", "1", "2")}
TEXTS = ("'a long text'", "'another long one'")
CHANGED: Mapping[str, Typed] = {
    "listed": Typed(ONE | {"unlisted": ("text", "'a'", "'b'")}, partly=("unlisted (text) in 2 of 4 rows",)),
    "excluded": Typed(ONE | {"secret": ("text", "'a'", "'b'")}, ("secret (text)",)),
    "masked": Typed(
        ONE | dict.fromkeys(("hashed", "cut", "starred"), ("text", *TEXTS)),
        ("hashed (text)", "cut (text)", "starred (text)"),
    ),
    "masked_key": Typed(ONE, key="id varchar(9) PRIMARY KEY"),
    "keyed": Typed(ONE),
    "filtered": Typed(ONE),
    "merged_1": Typed(ONE),
    "merged_2": Typed(ONE),
    "renamed": Typed(ONE),
    "parted": Typed(ONE),
}
ROUTER = "org.apache.kafka.connect.transforms.RegexRouter"


def changing(name: str) -> dict[str, str]:
    """Settings by which the connector changes tables on their way."""
    return {
        "publication.autocreate.mode": "disabled",
        "column.exclude.list": f"{name}.excluded.secret",
        "column.mask.hash.SHA-256.with.salt.x": f"{name}.masked.hashed",
        "column.truncate.to.3.chars": f"{name}.masked.cut",
        "column.mask.with.5.chars": f"{name}.masked.starred,{name}.masked_key.id",
        "message.key.columns": f"{name}.keyed:shown",
        "transforms": "merge,rename",
        "transforms.merge.type": ROUTER,
        "transforms.merge.regex": r"(.*)\.merged_\d",
        "transforms.merge.replacement": "$1.merged",
        "transforms.rename.type": ROUTER,
        "transforms.rename.regex": r"(.*)\.renamed",
        "transforms.rename.replacement": "$1.another",
    }


@pytest.fixture
def changed(site: Any, fresh_name: FreshName) -> Iterator[TypedTables]:
    name = fresh_name("changed").replace("-", "_")
    made = TypedTables(site, name, CHANGED, **changing(name))
    made.execute("DROP TABLE parted")
    made.execute("CREATE TABLE parted (id int PRIMARY KEY, shown int) PARTITION BY RANGE (id)")
    made.execute("CREATE TABLE parted_low PARTITION OF parted FOR VALUES FROM (1) TO (3)")
    made.execute("CREATE TABLE parted_high PARTITION OF parted FOR VALUES FROM (3) TO (100)")
    made.insert("parted", 1)
    for each in ("keyed", "merged_1", "merged_2"):
        made.execute(f"ALTER TABLE {each} REPLICA IDENTITY FULL")
    plain = ", ".join(sorted({*CHANGED} - {"listed", "filtered"}))
    made.execute(f"CREATE PUBLICATION {name} FOR TABLE {plain}, listed (id, shown), filtered WHERE (id < 4)")
    made.start()
    eventually(lambda: made.records("parted_low"), "the snapshot", deadline_s=90)
    for table in CHANGED:
        made.insert(table, 3)
    made.execute("UPDATE parted SET id = 50 WHERE id = 2")  # it moves to the other partition
    made.execute("DELETE FROM merged_1 WHERE id = 2")
    made.execute("INSERT INTO parted VALUES (60, 1)")
    eventually(lambda: any(value and value["after"] and value["after"]["id"] == 60 for _, value in
                           made.records("parted_high")), "the last row", deadline_s=60)  # fmt: skip
    yield made
    made.drop()


def test_changes_by_the_connector_are_compared_or_reported(changed: TypedTables, eosctl: Eosctl):
    found = compared(eosctl, changed, "--caught-up")
    for table in ("listed", "excluded", "masked", "parted_low", "parted_high"):
        assert (found[table]["verdict"], found[table]["words"]) == ("held", None), table
    assert "parted" not in found, "its partitions have the topics"
    for table in ("listed", "excluded", "masked"):
        assert {*found[table]["uncompared"]} == {*CHANGED[table].uncompared, *CHANGED[table].partly}
    undecided = {
        "masked_key": "their keys are other ones than the primary keys of their rows",
        "filtered": "the publication has only rows with (id < 4)",
        "renamed": f"name it with --table {changed.name}.renamed=TOPIC",
        "merged_1": "does not exist",
    }
    for table, words in undecided.items():
        assert found[table]["verdict"] == "cannot-tell", table
        assert words in found[table]["words"]
        assert [found[table][each] for each in ("missing", "extra", "differing")] == [0, 0, 0], table
    assert found["keyed"]["verdict"] == "held", found["keyed"]
    topics = {"renamed": "another", "merged_1": "merged"}
    named = [word for table, topic in topics.items() for word in
             ("--table", f"{changed.name}.{table}={changed.topic(topic)}")]  # fmt: skip
    found = compared(eosctl, changed, "--caught-up", *named)
    assert found["renamed"]["verdict"] == "held", found["renamed"]
    assert found["merged_1"]["verdict"] == "cannot-tell", found["merged_1"]
    assert "they are of another table, merged_2" in found["merged_1"]["words"]
    changed.execute("UPDATE keyed SET shown = 9 WHERE id = 1")  # as a change of a key: a deletion under the old one
    changed.execute("DELETE FROM keyed WHERE id = 2")
    eventually(lambda: sum(value is None for _, value in changed.records("keyed")) == 2, "both tombstones")
    keyed = compared(eosctl, changed, "--caught-up", "--table", f"{changed.name}.keyed")["keyed"]
    assert keyed["verdict"] == "cannot-tell", keyed
    assert "the primary key is missing in key and value" in keyed["words"]
