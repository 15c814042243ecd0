"""PostgreSQL servers that are none, and ledgers with damaged values: exit code 4 or 7 with the place, and in time."""

import os
import shutil
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

from eosctl.errors import EosctlError, Undecodable, Unreachable, Unsupported
from eosctl.ledger.ledger import open_ledger
from eosctl.ledger.postgresql import Relay
from eosctl.model.audit import StateKind
from eosctl.model.skipped import Skipped
from eosctl.operations.offsets import read_source
from tests import forks
from tests.attack.hostile_postgresql import CASES, anything, hostile_postgresql
from tests.ledger.test_ledger import CLUSTER, read_up_to, row

TIMEOUT_S = 1.0
LATE_S = 4.0
HASHES = "hashes for ever"
HOSTILE = {**CASES, **{f"anything {seed}": anything(seed) for seed in range(20)}}
del HOSTILE[HASHES]
HASHING = f"""
import time
from eosctl.errors import Unreachable
from eosctl.ledger.ledger import open_ledger
from eosctl.operations.offsets import read_source
from tests.attack.hostile_postgresql import CASES, hostile_postgresql

with hostile_postgresql(CASES["{HASHES}"]) as place:
    url, began = f"postgresql://a@{{place}}/d?password=${{{{env:P}}}}&sslmode=prefer", time.monotonic()
    try:
        open_ledger(url, lambda *_: "secret", timeout_s={TIMEOUT_S})
    except Unreachable as error:
        print(error.message.replace(place, "the place"))
    print(type(read_source(url, {TIMEOUT_S})).__name__)
    print(time.monotonic() - began < {2 * LATE_S})
"""


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_server_ends_with_4_or_7_and_its_name_in_time(name: str):
    with hostile_postgresql(HOSTILE[name]) as place:
        url, began = f"postgresql://a@{place}/d?password=${{env:P}}&sslmode=prefer", time.monotonic()
        with pytest.raises((Unreachable, Undecodable)) as raised:
            open_ledger(url, lambda *_: "secret", timeout_s=TIMEOUT_S)
        assert time.monotonic() - began < LATE_S
    assert place in raised.value.message
    assert "secret" not in raised.value.message
    assert raised.value.message.isprintable()


def test_a_server_for_which_a_client_hashes_for_ever_ends_in_time_too(tmp_path: Path):
    (tmp_path / "hashing.py").write_text(HASHING)
    ran = forks.run(str(tmp_path / "hashing.py"), environment={**os.environ, "P": "secret"})
    message, found, is_in_time = ran.stdout.splitlines()
    assert "the place" in message
    assert "secret" not in message
    assert message.isprintable()
    assert (found, is_in_time, ran.returncode) == (Skipped.__name__, "True", 0)


def test_a_psycopg_that_connects_around_the_bounds_is_refused(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(Relay, "connecting", lambda _, gen: gen)
    refusal = r"psycopg [\d.]+ connects in a way that does not limit the bytes from a server"
    with hostile_postgresql(CASES["drips after the login"]) as place, pytest.raises(Unsupported, match=refusal):
        open_ledger(f"postgresql://a@{place}/d", lambda *_: "secret", timeout_s=TIMEOUT_S)


@pytest.mark.parametrize("name", ["a giant row", "a giant notice in the login"])
def test_a_message_of_a_gigabyte_is_stopped_as_it_arrives(name: str):
    code = (
        "import re\n"
        "from pathlib import Path\n"
        "from tests.attack.hostile_postgresql import CASES, hostile_postgresql\n"
        "from tests.ledger.test_ledger import failure\n"
        f"with hostile_postgresql(CASES[{name!r}]) as place:\n"
        "    print(failure(f'postgresql://a@{place}/d').message)\n"
        "status = Path('/proc/self/status').read_text()  # ru_maxrss may be that of its parent\n"
        "print(int(re.search(r'VmHWM:\\s+(\\d+)', status)[1]) >> 10)\n"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    message, mib = ran.stdout.splitlines()
    assert message.endswith("its answer is larger than eosctl reads")
    assert int(mib) < 200


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_source_is_reported_and_ends_in_time(name: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("P", "secret")
    with hostile_postgresql(HOSTILE[name]) as place:
        began = time.monotonic()
        found = read_source(f"postgresql://a@{place}/d?password=${{env:P}}", TIMEOUT_S)
        assert time.monotonic() - began < LATE_S
    assert isinstance(found, Skipped), found


DAMAGE = (None, "text", -1, 2**63 - 1, 1.5, b"\xff\xfe", "", "CAST(x'ff41' AS TEXT)")
COLUMNS = (
    *(("audit_job", each) for each in ("job", "cluster_id", "run_number", "state_version")),
    *(("audit_run", each) for each in ("run_number", "run_id", "as_of", "verdict", "findings", "offsets", "report")),
    *(("audit_cursor", each) for each in ("topic", "topic_partition", "topic_id", "next_offset")),
    *(("audit_range", each) for each in ("topic", "topic_partition", "kind", "start_offset", "records")),
    *(("audit_state", each) for each in ("kind", "bucket", "topic", "start_offset", "payload")),
    ("audit_schema", "version"),
)


def damage(file: Path, table: str, column: str, value: object) -> str:
    """Puts the value, or the result of an SQL expression, into the column; returns a description."""
    with sqlite3.connect(file, isolation_level=None) as connection:
        connection.execute("PRAGMA writable_schema = ON")
        connection.execute("UPDATE sqlite_master SET sql = replace(sql, 'NOT NULL', '')")
    connection.close()
    is_sql = isinstance(value, str) and value.startswith("CAST")
    with sqlite3.connect(file, isolation_level=None) as connection:
        update = f"UPDATE {table} SET {column} = {value if is_sql else '?'}"
        assert connection.execute(update, () if is_sql else (value,)).rowcount > 0
    connection.close()
    return f"{table}.{column} = {value!r}"


def reads(ledger_url: str) -> None:
    """All that is read of a ledger."""
    ledger = open_ledger(ledger_url, create=False)
    ledger.jobs()
    ledger.runs("job")
    list(ledger.ranges("job"))
    ledger.report("job")
    list(ledger.carried(ledger.state("job", CLUSTER), StateKind.LOG))


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A ledger with a row in each table."""
    file = tmp_path_factory.mktemp("whole") / "ledger.db"
    read_up_to(open_ledger(f"sqlite:///{file}"), "job", 10, rows=(row(b"x"),))
    return file


@pytest.mark.parametrize(("table", "column"), COLUMNS)
def test_a_damaged_value_of_a_ledger_is_named_or_read_as_it_is(whole: Path, tmp_path: Path, table: str, column: str):
    for number, value in enumerate(DAMAGE):
        file = shutil.copy(whole, tmp_path / f"{number}.db")
        damage(file, table, column, value)
        error = outcome(f"sqlite:///{file}")
        assert error is None or error.exit_code in {6, 7, 8}, (value, error)
        assert error is None or "ledger" in error.message or "job" in error.message, (value, error)
        assert (table, column) != ("audit_state", "payload") or value == b"\xff\xfe" or error is not None, value


def outcome(url: str) -> EosctlError | None:
    """The error that reading the ledger ends with."""
    try:
        reads(url)
    except EosctlError as error:
        return error
    return None
