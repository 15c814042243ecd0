"""Sandboxes that tests share, each started when the first of them asks for it."""

from eosctl.sandbox.sandbox import Sandbox
from eosctl.sandbox.spec import SandboxSpec
from tests.leaders import share_out_leaders


class SharedSandboxes:
    """The sandboxes of one process, one for each spec; `stop` ends them all."""

    def __init__(self) -> None:
        self._started: list[Sandbox] = []
        self._place: tuple[object, object] | None = None

    def of(self, spec: SandboxSpec) -> Sandbox:
        """The one that is what `spec` says."""
        for sandbox in self._started:
            if sandbox.spec == spec:
                return sandbox
        sandbox = Sandbox(spec)
        sandbox.start()
        self._started.append(sandbox)
        return sandbox

    def three_brokers(self, kafka_version: str) -> Sandbox:
        """Three brokers that lead as they did when they were new, whatever the test before did to them."""
        sandbox = self.of(SandboxSpec(kafka_version, brokers=3))
        share_out_leaders(sandbox.bootstrap_servers)
        return sandbox

    def enter(self, group: str | None, module: object) -> None:
        """Ends them when both group and module change: no fixture of the tests that follow has one of them."""
        before, self._place = self._place, (group, module)
        if before is not None and before[0] != group and before[1] is not module:
            self.stop()

    def stop(self) -> None:
        """Ends all of them."""
        while self._started:
            self._started.pop().stop()
