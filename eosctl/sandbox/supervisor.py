"""The process that keeps a sandbox running after the command that started it: the parent of its JVMs.

`python -m eosctl.sandbox.supervisor DIRECTORY` reads `spec.json` there, starts the sandbox and writes `state.json` when
it is ready, or `failure.json` if it fails. SIGTERM stops it in order. Killed, it takes its JVMs with it.
"""

import fcntl
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from typing import Final, TextIO

from eosctl import errors
from eosctl.errors import ConfigError, EosctlError, Interrupted, TimedOut
from eosctl.sandbox.cache import exclusive
from eosctl.sandbox.properties import HOST, SandboxSpec
from eosctl.sandbox.sandbox import Sandbox
from eosctl.sandbox.site import accepts_connections, brokers_in_metadata, worker_has_joined

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
    """A ready sandbox: addresses, credentials, and the processes behind it."""

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
    servers = (
        []
        if postgresql is None
        else [ProcessState(POSTGRESQL, f"{HOST}:{postgresql.port}", postgresql.pid, str(postgresql.log))]
    )
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


def is_ready(process: ProcessState) -> bool:
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
    """The state in `directory`, or None; ConfigError if the file is damaged."""
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


POLL_S: Final = 0.05
DOWN_DEADLINE_S: Final = 60.0
SUPERVISOR_LOG: Final = "supervisor.log"


def bring_up(directory: Path, spec: SandboxSpec, narrate: Callable[[str], None]) -> tuple[SandboxState, bool]:
    """The state of the sandbox in `directory`, and whether it was running already; returns when it is ready.

    If none is running, a supervisor is started that stays. Its narration goes to `narrate`. Raises the errors of its
    start: ConfigError, TimedOut. An interruption stops the unready sandbox again.
    """
    with exclusive(directory / "up.lock"):
        if SupervisorLock(directory).holder() is not None:
            return _await_ready(directory, None, narrate), True
        return _start_supervisor(directory, spec, narrate), False


def _write_spec(directory: Path, spec: SandboxSpec) -> None:
    (directory / "spec.json").write_text(json.dumps({**asdict(spec), "directory": str(directory)}))


def other_options(directory: Path, spec: SandboxSpec) -> tuple[str, ...]:
    """The options in which the sandbox of `directory` was started otherwise than `spec` says, each with both values."""
    kept = json.loads((directory / "spec.json").read_text())
    wanted = json.loads(json.dumps({**asdict(spec), "directory": str(directory)}))
    return tuple(
        f"{name.replace('_', '-')} is {json.dumps(kept[name])}, not {json.dumps(value)}"
        for name, value in wanted.items()
        if name in kept and kept[name] != value
    )


def _start_supervisor(directory: Path, spec: SandboxSpec, narrate: Callable[[str], None]) -> SandboxState:
    _forget(directory)
    _write_spec(directory, spec)
    with (directory / SUPERVISOR_LOG).open("w") as log:
        supervisor = subprocess.Popen(
            [sys.executable, "-m", "eosctl.sandbox.supervisor", str(directory)],
            stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, start_new_session=True,
        )  # fmt: skip
    try:
        return _await_ready(directory, supervisor, narrate)
    except KeyboardInterrupt:
        supervisor.terminate()
        supervisor.wait(DOWN_DEADLINE_S)
        raise


def _await_ready(
    directory: Path, supervisor: "subprocess.Popen[bytes] | None", narrate: Callable[[str], None]
) -> SandboxState:
    shown = 0 if supervisor is not None else len(_narration(directory))
    while True:
        lines = _narration(directory)
        for line in lines[shown:]:
            narrate(line)
        shown = len(lines)
        state = read_state(directory)
        if state is not None:
            return state
        ended = supervisor.poll() is not None if supervisor is not None else SupervisorLock(directory).holder() is None
        if ended and read_state(directory) is None:
            raise _failure(directory)
        time.sleep(POLL_S)


def _narration(directory: Path) -> list[str]:
    log = directory / SUPERVISOR_LOG
    return log.read_text().splitlines() if log.exists() else []


def _failure(directory: Path) -> EosctlError:
    """The error of the supervisor's start, as it wrote it."""
    file = directory / "failure.json"
    if not file.exists():
        return ConfigError("the sandbox's supervisor ended early", hint=f"its log is {directory / SUPERVISOR_LOG}")
    failure = json.loads(file.read_text())
    kind = {"TimedOut": TimedOut, "UsageError": errors.UsageError}.get(failure["type"], ConfigError)
    return kind(failure["message"], hint=failure["hint"])


def take_down(directory: Path) -> bool:
    """Stops the sandbox in `directory` in order and returns when it is gone; False if none was running.

    A supervisor that does not stop in time is killed, and its JVMs with it.
    """
    lock = SupervisorLock(directory)
    supervisor = lock.holder()
    if supervisor is None:
        _forget(directory)
        return False
    os.kill(supervisor, signal.SIGTERM)
    deadline = time.monotonic() + DOWN_DEADLINE_S
    while lock.holder() == supervisor:
        if time.monotonic() > deadline:
            os.kill(supervisor, signal.SIGKILL)
            deadline += DOWN_DEADLINE_S
        time.sleep(POLL_S)
    _forget(directory)
    return True


def remove(directory: Path) -> None:
    """Removes the directory of a sandbox that is down, with data and logs."""
    shutil.rmtree(directory, ignore_errors=True)


def kept_state(directory: Path) -> SandboxState | None:
    """The state of the sandbox that is up in `directory`, None when none is; a killed supervisor's state is removed."""
    if SupervisorLock(directory).holder() is None:
        _forget(directory)
        return None
    return read_state(directory)


def _forget(directory: Path) -> None:
    for name in ("state.json", "failure.json"):
        (directory / name).unlink(missing_ok=True)


def keep(
    directory: Path, spec: SandboxSpec, narrate: Callable[[str], None], ready: Callable[[SandboxState], None]
) -> None:
    """Runs the sandbox in this process until SIGTERM or SIGINT; `ready` is called with its state.

    A signal before `ready` is a KeyboardInterrupt; a later one stops the sandbox in order. Raises ConfigError if there
    is a supervisor already, and the errors of a sandbox's start.
    """
    lock = SupervisorLock(directory)
    if not lock.hold():
        raise ConfigError(f"a sandbox is up in {directory} already", hint="take it down, or name another directory")
    _forget(directory)
    _write_spec(directory, spec)
    before = signal.signal(signal.SIGTERM, _interrupt)
    try:
        with Sandbox(replace(spec, directory=directory), narrate) as sandbox:
            state = state_of(sandbox)
            write_state(directory, state)
            with _signals() as came:
                ready(state)
                came.get()
    finally:
        signal.signal(signal.SIGTERM, before)
        (directory / "state.json").unlink(missing_ok=True)
        lock.release()


@contextmanager
def _signals() -> Iterator["SimpleQueue[int]"]:
    """Collects SIGINT and SIGTERM without interrupting, so that files are written whole."""
    came: SimpleQueue[int] = SimpleQueue()  # of all that wakes a thread, only this one a signal handler may use
    before = {each: signal.signal(each, lambda number, _: came.put(number)) for each in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield came
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)


def _interrupt(number: int, frame: object) -> None:
    raise KeyboardInterrupt


def main(directory: Path) -> int:
    """Keeps the sandbox that `directory/spec.json` describes; 0 after an orderly end, or the error's exit code."""
    fields = json.loads((directory / "spec.json").read_text())
    spec = SandboxSpec(**{**fields, "directory": directory})
    try:
        with (directory / SUPERVISOR_LOG).open("a", buffering=1) as log:
            keep(directory, spec, partial(_write_line, log), lambda _: None)
    except KeyboardInterrupt:
        return Interrupted.exit_code
    except EosctlError as error:
        failure = {"type": type(error).__name__, "message": error.message, "hint": error.hint}
        (directory / "failure.json").write_text(json.dumps(failure))
        return error.exit_code
    return 0


def _write_line(log: TextIO, text: str) -> None:
    log.write(f"{text}\n")


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
