"""The process that keeps a sandbox up after the command that asked for it has ended: the parent of its JVMs.

`python -m eosctl.sandbox.supervisor DIRECTORY` reads `spec.json` there, starts the sandbox and writes `state.json` when
it is ready, or `failure.json` when it is not. SIGTERM ends it in order. Killed, it takes its JVMs with it.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from typing import Final, TextIO

from eosctl import errors
from eosctl.errors import ConfigError, EosctlError, Interrupted, TimedOut
from eosctl.sandbox.cache import exclusive
from eosctl.sandbox.sandbox import Sandbox
from eosctl.sandbox.spec import SandboxSpec
from eosctl.sandbox.state import SandboxState, SupervisorLock, read_state, state_of, write_state

POLL_S: Final = 0.05
DOWN_DEADLINE_S: Final = 60.0
SUPERVISOR_LOG: Final = "supervisor.log"


def bring_up(directory: Path, spec: SandboxSpec, narrate: Callable[[str], None]) -> tuple[SandboxState, bool]:
    """The state of the sandbox in `directory`, and whether it was up already; returns when it is ready.

    Where none is up, a supervisor is started that stays. What it says while it starts goes to `narrate`. Raises what
    its start raised: ConfigError, TimedOut. An interruption takes the unready sandbox down again.
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
    """What the supervisor's start raised, as it wrote it down."""
    file = directory / "failure.json"
    if not file.exists():
        return ConfigError("the sandbox's supervisor ended early", hint=f"its log is {directory / SUPERVISOR_LOG}")
    failure = json.loads(file.read_text())
    kind = {"TimedOut": TimedOut, "UsageError": errors.UsageError}.get(failure["type"], ConfigError)
    return kind(failure["message"], hint=failure["hint"])


def take_down(directory: Path) -> bool:
    """Ends the sandbox in `directory` in order and returns when it is gone; False when none was up.

    A supervisor that does not end in time is killed, and its JVMs with it.
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

    A signal that comes before `ready` is called is a KeyboardInterrupt; one that comes later ends the sandbox in order.
    Raises ConfigError when a supervisor is there already, and what the start of a sandbox raises.
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
    """SIGINT and SIGTERM as they come, which interrupt nothing meanwhile: what is being written is written whole."""
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
