"""Answers of the sandbox commands."""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from eosctl.model.report import Result

State = Mapping[str, Any]
"""The kept state of a ready sandbox, as its file holds it: addresses, users with passwords, versions, processes."""


class StartedSandbox(Result, frozen=True):
    """A running sandbox; already_up: it ran before.

    other_options are options in which it differs from the request; silent are the processes that do not answer.
    """

    state: State
    already_up: bool
    other_options: tuple[str, ...] = ()
    silent: tuple[str, ...] = ()

    @property
    def found(self) -> bool:
        return bool(self.other_options or self.silent)


class StoppedSandbox(Result, frozen=True):
    """A sandbox that is down: was_up says whether one was up, removed whether its directory is gone."""

    directory: str
    was_up: bool
    removed: bool


class SandboxStatus(Result, frozen=True):
    """The sandbox of a directory at as_of (ms since the epoch); state None: none is running; ready by process name."""

    as_of: int
    directory: str
    state: State | None
    ready: Mapping[str, bool]

    @property
    def found(self) -> bool:
        return self.state is None or not all(self.ready.values())


class SandboxEnvironment(Result, frozen=True):
    state: State


class DemoStep(Struct, frozen=True):
    step: str
    seen: str
    elapsed_s: float


class DemoReport(Result, frozen=True, kw_only=True):
    kafka_version: str
    steps: tuple[DemoStep, ...]
