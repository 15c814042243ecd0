"""Starts, stops and describes a sandbox: a real Kafka with Connect workers on this machine."""

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

from eosctl.errors import ConfigError, Unreachable, reason_of
from eosctl.model.sandbox import SandboxEnvironment, SandboxStatus, StartedSandbox, StoppedSandbox
from eosctl.operations.session import Session
from eosctl.sandbox.cache import cache_directory
from eosctl.sandbox.properties import SandboxSpec
from eosctl.sandbox.supervisor import (
    SandboxState,
    bring_up,
    is_ready,
    keep,
    kept_state,
    other_options,
    remove,
    take_down,
)

__all__ = [
    "SandboxSpec",
    "read_sandbox_environment",
    "read_sandbox_status",
    "run_sandbox",
    "start_sandbox",
    "stop_sandbox",
]

Narrate = Callable[[str], None]


def start_sandbox(directory: Path | None, spec: SandboxSpec, narrate: Narrate) -> StartedSandbox:
    """Returns when the sandbox is ready; leaves a running one as it is, and compares it with `spec`."""
    home = _home(directory)
    state, already_up = bring_up(home, spec, narrate)
    if not already_up:
        return StartedSandbox(asdict(state), already_up)
    silent = tuple(each.name for each in state.processes if not is_ready(each))
    return StartedSandbox(asdict(state), already_up, other_options(home, spec), silent)


def run_sandbox(
    directory: Path | None, spec: SandboxSpec, narrate: Narrate, on_ready: Callable[[StartedSandbox], object]
) -> None:
    """Calls on_ready once it is ready, and ends it when the process is interrupted."""

    def ready(state: SandboxState) -> None:
        on_ready(StartedSandbox(asdict(state), already_up=False))

    keep(_home(directory), spec, narrate, ready)


def stop_sandbox(directory: Path | None) -> StoppedSandbox:
    """Keeps a named directory; removes the default one."""
    home = _home(directory)
    was_up = take_down(home)
    if directory is None:
        remove(home)
    return StoppedSandbox(str(home), was_up, removed=directory is None)


def read_sandbox_status(directory: Path | None) -> SandboxStatus:
    """Whether it is up, and which of its processes answer."""
    home = _home(directory)
    state, as_of = kept_state(home), Session.now()
    if state is None:
        return SandboxStatus(as_of, str(home), None, {})
    return SandboxStatus(as_of, str(home), asdict(state), {each.name: is_ready(each) for each in state.processes})


def read_sandbox_environment(directory: Path | None) -> SandboxEnvironment:
    """Addresses and credentials. Raises Unreachable where none is up."""
    home = _home(directory)
    state = kept_state(home)
    if state is None:
        raise Unreachable(f"no sandbox is up in {home}", hint="start one with eosctl sandbox up")
    return SandboxEnvironment(asdict(state))


def _home(directory: Path | None) -> Path:
    """The directory of the sandbox, which may not be there yet. ConfigError if it cannot be a directory."""
    home = (directory or cache_directory() / "sandbox").resolve()
    try:
        there = next(each for each in (home, *home.parents) if each.exists())
    except OSError as error:
        raise ConfigError(f"{home} cannot be the directory of a sandbox: {reason_of(error)}") from error
    if not there.is_dir():
        raise ConfigError(f"{home} cannot be the directory of a sandbox: {there} is a file")
    return home
