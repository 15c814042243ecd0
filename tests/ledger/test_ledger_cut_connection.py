"""The connection to PostgreSQL is cut while COMMIT is in progress: what became of the run is found out, both ways."""

import socket
import threading
from collections.abc import Iterator
from contextlib import suppress
from typing import Literal

import pytest

from eosctl.errors import StaleRange, Unreachable
from eosctl.ledger import ledger as ledger_executor
from eosctl.ledger.ledger import Ledger, open_ledger
from tests.ledger.test_ledger import CLUSTER, advanced, read_up_to, row, run_of
from tests.postgresql import PostgreSQL

COMMIT = b"COMMIT\0"
CLOSE = b"CLOSE "
LATE_S = 0.7
SLOW_S = 1.2

Cut = Literal["before", "after", "late"]


class Proxy:
    """Passes bytes on, until it sees a COMMIT while `cut` says what to do with it, once.

    before: the COMMIT is dropped and both sides are cut. after: it is passed on, and the client cut before the answer.
    late: the client is cut, and only LATE_S later is the COMMIT passed on: the old transaction is still open when the
    client returns. gone: no later connection is accepted. is_slow: a CLOSE of a cursor is passed on SLOW_S later.
    """

    def __init__(self, port: int) -> None:
        self._server_port = port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self.cut: Cut | None = None
        self.gone = self.is_slow = False
        self.cuts = 0
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        """No new connections."""
        self._listener.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                if self.gone and self.cuts:
                    client.close()
                    continue
                server = socket.create_connection(("127.0.0.1", self._server_port))
                threading.Thread(target=self._to_server, args=(client, server), daemon=True).start()
                threading.Thread(target=self._to_client, args=(server, client), daemon=True).start()

    def _to_client(self, server: socket.socket, client: socket.socket) -> None:
        with suppress(OSError):
            while data := server.recv(65536):
                client.sendall(data)
        _shut(client)

    def _to_server(self, client: socket.socket, server: socket.socket) -> None:
        with suppress(OSError):
            while data := client.recv(65536):
                if self.cut is None or COMMIT not in data:
                    if self.is_slow and CLOSE in data:
                        threading.Event().wait(SLOW_S)
                    server.sendall(data)
                    continue
                cut, self.cut = self.cut, None
                self.cuts += 1
                if cut == "after":
                    _shut(client)
                    server.sendall(data)
                elif cut == "late":
                    _shut(client)
                    threading.Event().wait(LATE_S)
                    server.sendall(data)
                break
        with suppress(OSError):
            server.shutdown(socket.SHUT_WR)
        _shut(client)


def _shut(connection: socket.socket) -> None:
    with suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)


@pytest.fixture
def dbname(postgresql: PostgreSQL) -> str:
    return postgresql.new_database()


@pytest.fixture
def proxy(postgresql: PostgreSQL) -> Iterator[Proxy]:
    proxy = Proxy(postgresql.port)
    yield proxy
    proxy.close()


@pytest.fixture
def ledger(postgresql: PostgreSQL, dbname: str, proxy: Proxy) -> Ledger:
    """Behind the proxy, with one run of job `job`."""
    ledger = open_ledger(postgresql.url(dbname, proxy.port))
    read_up_to(ledger, "job", 10, rows=(row(b"first"),))
    return ledger


def test_a_server_that_is_slow_to_close_a_cursor_keeps_its_connection(
    postgresql: PostgreSQL, dbname: str, proxy: Proxy
):
    proxy.is_slow = True
    with open_ledger(postgresql.url(dbname, proxy.port)).store.connect() as connection:
        connection.begin_reading()
        assert list(connection.rows("SELECT 1")) == list(connection.rows("SELECT 1")) == [(1,)]


@pytest.mark.parametrize("job", ["job", "a new job"])
@pytest.mark.parametrize("cut", ["after", "late"])
def test_a_commit_whose_answer_is_lost_is_found(ledger: Ledger, proxy: Proxy, cut: Cut, job: str):
    state = ledger.state(job, CLUSTER)
    run = run_of(state, advanced(state, "t", 0, 20), rows=(row(b"second"),))
    proxy.cut = cut
    committed = ledger.commit(run)
    assert proxy.cuts == 1
    assert (committed.run_number, committed.run_id, committed.found_later) == (state.run_number + 1, run.run_id, True)
    assert ledger.state(job, CLUSTER).run_id == run.run_id


def test_a_commit_that_never_came_is_reported_and_can_be_repeated(ledger: Ledger, proxy: Proxy):
    state = ledger.state("job", CLUSTER)
    run = run_of(state, advanced(state, "t", 0, 20), rows=(row(b"second"),))
    proxy.cut = "before"
    with pytest.raises(Unreachable) as raised:
        ledger.commit(run)
    assert proxy.cuts == 1
    assert raised.value.message.endswith(f"; run {run.run_id} was not committed, the ledger is as it was")
    assert ledger.state("job", CLUSTER) == state
    assert ledger.commit(run).run_number == 2


def test_an_outcome_that_cannot_be_determined_is_reported_as_unknown(
    ledger: Ledger, proxy: Proxy, postgresql: PostgreSQL, dbname: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(ledger_executor, "RECONNECT_S", 0.5)
    state = ledger.state("job", CLUSTER)
    run = run_of(state, advanced(state, "t", 0, 20))
    proxy.cut, proxy.gone = "after", True
    with pytest.raises(Unreachable) as raised:
        ledger.commit(run)
    assert f"whether run {run.run_id} of job job was committed is not known" in raised.value.message
    directly = open_ledger(postgresql.url(dbname))
    assert directly.state("job", CLUSTER).run_id == run.run_id
    assert directly.commit(run).run_number == 2


def test_a_cut_before_commit_ends_the_run(ledger: Ledger, postgresql: PostgreSQL, dbname: str):
    """The server ends the session in the middle of the transaction."""
    state = ledger.state("job", CLUSTER)

    def terminate(name: str) -> None:
        if name == "cursors-moved":
            others = f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{dbname}'"
            postgresql.execute(others)

    with pytest.raises(Unreachable):
        ledger_executor.commit_run(ledger.store, run_of(state, advanced(state, "t", 0, 20)), terminate)
    assert ledger.state("job", CLUSTER) == state


def test_one_that_lost_its_answer_does_not_take_anothers_run_for_its_own(ledger: Ledger, proxy: Proxy):
    state = ledger.state("job", CLUSTER)
    proxy.cut = "before"
    with pytest.raises(Unreachable):
        ledger.commit(run_of(state, advanced(state, "t", 0, 20)))
    read_up_to(ledger, "job", 30)
    with pytest.raises(StaleRange):
        ledger.commit(run_of(state, advanced(state, "t", 0, 20)))
