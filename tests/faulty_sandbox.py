"""The sandbox with faults, with workers that log in, and with further listeners."""

from collections.abc import Mapping
from pathlib import Path

from eosctl.sandbox.faulty_sandbox import FaultySandbox
from eosctl.sandbox.properties import HOST, SandboxSpec, broker_properties, worker_sasl_properties


class Sandbox(FaultySandbox):
    """A sandbox whose processes a test ends, freezes and starts again."""

    def worker_sasl(self, worker: str = "worker", connector: str = "connector") -> Mapping[str, str]:
        """Overrides for `start_worker` by which the worker is `User:<worker>` and its connectors `User:<connector>`."""
        return worker_sasl_properties(self.users, worker, connector, self.sasl_bootstrap_servers)


class ListeningSandbox(Sandbox):
    """A sandbox whose one broker has further listeners from its first start.

    `listeners` are their protocols by name; `addresses` has the address of each once the sandbox has started.
    """

    def __init__(self, spec: SandboxSpec, listeners: Mapping[str, str], host: str = HOST) -> None:
        super().__init__(spec)
        self._listeners, self._host = listeners, host
        self.addresses: dict[str, str] = {}

    def _broker_overrides(self, node: int) -> Mapping[str, str]:
        if not self.addresses:
            self.addresses = {name: f"{self._host}:{self._leases.take()}" for name in self._listeners}
        added = [f"{name}://{address}" for name, address in self.addresses.items()]
        protocols = [f"{name}:{protocol}" for name, protocol in self._listeners.items()]
        own = self._own_properties()
        return {
            **{key: ",".join([own[key], *added]) for key in ("listeners", "advertised.listeners")},
            "listener.security.protocol.map": ",".join([own["listener.security.protocol.map"], *protocols]),
        }

    def _own_properties(self) -> Mapping[str, str]:
        """The broker's properties without the further listeners; its data are not where these say."""
        return broker_properties(self.spec, 1, self._site.identity.brokers, self.users, Path())
