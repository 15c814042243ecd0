"""Sandboxes that tests share, each started when the first of them asks for it."""

from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from typing import Any, TypeVar

from eosctl.sandbox.properties import SandboxSpec
from tests.faulty_sandbox import Sandbox
from tests.kafka_versions import spec_of
from tests.leaders import share_out_leaders
from tests.worker_logs import untroubled

Shared = TypeVar("Shared")


class SharedSandboxes:
    """The sandboxes of one process, one for each spec, and the objects made from them; `stop` ends them all."""

    def __init__(self) -> None:
        self._shared: list[tuple[object, Any]] = []
        self._ends = ExitStack()
        self._place: tuple[object, object] | None = None

    def of(self, spec: SandboxSpec) -> Sandbox:
        """The one that is what `spec` says."""
        return self.once(spec, lambda: untroubled(Sandbox(spec)))

    def once(self, key: object, make: Callable[[], AbstractContextManager[Shared]]) -> Shared:
        """The result of `make` for this key, made once."""
        for known, shared in self._shared:
            if known == key:
                return shared
        self._shared.append((key, self._ends.enter_context(make())))
        return self._shared[-1][1]

    def three_brokers(self, kafka_version: str) -> Sandbox:
        """Three brokers that lead as they did when they were new, whatever the test before did to them."""
        sandbox = self.of(spec_of(kafka_version, brokers=3))
        share_out_leaders(sandbox.bootstrap_servers)
        return sandbox

    def enter(self, group: str | None, module: object) -> None:
        """Ends them when both group and module change: no fixture of the tests that follow has one of them."""
        before, self._place = self._place, (group, module)
        if before is not None and before[0] != group and before[1] is not module:
            self.stop()

    def stop(self) -> None:
        """Ends all of them."""
        self._shared.clear()
        self._ends.close()
