"""What a kept sandbox says about itself: a file in its directory, and a lock that says whether its supervisor lives."""

import fcntl
import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from eosctl.errors import ConfigError
from eosctl.sandbox.postgresql import PostgreSQL
from eosctl.sandbox.probes import accepts_connections, brokers_in_metadata, worker_has_joined
from eosctl.sandbox.properties import HOST
from eosctl.sandbox.sandbox import Sandbox

POSTGRESQL: Final = "postgresql"


@dataclass(frozen=True, slots=True)
class ProcessState:
    """A broker, worker or PostgreSQL as it was when the sandbox became ready; `name` is like `broker-1`."""

    name: str
    address: str
    pid: int | None
    log: str


@dataclass(frozen=True, slots=True)
class SandboxState:
    """A ready sandbox: what its users connect to, who they are, and the processes behind it."""

    bootstrap_servers: str
    sasl_bootstrap_servers: str
    connect_urls: tuple[str, ...]
    users: dict[str, str]
    kafka_version: str
    connect_version: str
    cluster_id: str
    classpath: str
    java: str
    directory: str
    processes: tuple[ProcessState, ...]
    postgresql_url: str | None = None
    group_id: str = ""


def state_of(sandbox: Sandbox) -> SandboxState:
    """The state of a started sandbox."""
    brokers = [
        ProcessState(f"broker-{node}", address, sandbox.broker_pid(node), str(sandbox.broker_log(node)))
        for node, address in enumerate(sandbox.bootstrap_servers.split(","), start=1)
    ]
    workers = [
        ProcessState(f"worker-{number}", url, sandbox.worker_pid(number), str(sandbox.worker_log(number)))
        for number, url in enumerate(sandbox.connect_urls, start=1)
    ]
    postgresql = sandbox.postgresql if sandbox.spec.postgres else None
    servers = [] if postgresql is None else [_server_state(postgresql)]
    return SandboxState(
        bootstrap_servers=sandbox.bootstrap_servers,
        sasl_bootstrap_servers=sandbox.sasl_bootstrap_servers,
        connect_urls=sandbox.connect_urls,
        users=dict(sandbox.users),
        kafka_version=sandbox.kafka_version,
        connect_version=sandbox.spec.workers_version,
        cluster_id=sandbox.cluster_id,
        classpath=sandbox.classpath,
        java=str(sandbox.java),
        directory=str(sandbox.directory),
        processes=(*brokers, *workers, *servers),
        postgresql_url=None if postgresql is None else postgresql.url,
        group_id=sandbox.spec.worker_config.get("group.id", sandbox.spec.group_id),
    )


def _server_state(server: PostgreSQL) -> ProcessState:
    return ProcessState(POSTGRESQL, f"{HOST}:{server.port}", server.pid, str(server.log))


def is_ready(process: ProcessState) -> bool:
    """Whether this broker, worker or PostgreSQL answers now."""
    port = int(process.address.rpartition(":")[2])
    if process.name == POSTGRESQL:
        return accepts_connections(port)
    return worker_has_joined(port) if process.address.startswith("http") else bool(brokers_in_metadata(port))


def write_state(directory: Path, state: SandboxState) -> None:
    """Writes `state.json`, whole or not at all, readable by this machine's user only: it holds the passwords."""
    draft = directory / ".state.json"
    draft.touch(mode=0o600)
    draft.write_text(json.dumps(asdict(state), indent=1))
    draft.replace(directory / "state.json")


def read_state(directory: Path) -> SandboxState | None:
    """The state in `directory`, None where there is none; ConfigError when the file is damaged."""
    file = directory / "state.json"
    try:
        fields = json.loads(file.read_text())
        processes = tuple(ProcessState(**process) for process in fields.pop("processes"))
        return SandboxState(processes=processes, connect_urls=tuple(fields.pop("connect_urls")), **fields)
    except FileNotFoundError:
        return None
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise ConfigError(f"{file} is damaged", hint="run eosctl sandbox down, then up again") from error


class SupervisorLock:
    """The lock of a sandbox's directory: held by its supervisor as long as that process lives, however it ends."""

    def __init__(self, directory: Path) -> None:
        self._file = directory / "supervisor.lock"

    def hold(self) -> bool:
        """Takes the lock until this process ends; False when another supervisor has it."""
        self._file.parent.mkdir(parents=True, exist_ok=True)
        self._held = self._file.open("a+")
        try:
            fcntl.flock(self._held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self._held.close()
            return False
        self._held.truncate(0)
        self._held.write(str(os.getpid()))
        self._held.flush()
        return True

    def release(self) -> None:
        """Lets the lock go."""
        self._held.close()

    def holder(self) -> int | None:
        """The process ID of the supervisor, or None when there is none."""
        try:
            with self._file.open() as probe:
                while not _takes(probe.fileno()):
                    probe.seek(0)
                    if text := probe.read():  # empty for the moment in which the supervisor writes it
                        return int(text)
        except FileNotFoundError:
            pass
        return None


def _takes(descriptor: int) -> bool:
    # A shared lock, so that two onlookers do not take each other for the supervisor.
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
