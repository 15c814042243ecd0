"""The sandbox with faults, and with workers that log in."""

from collections.abc import Mapping

from eosctl.sandbox.faulty_sandbox import FaultySandbox
from eosctl.sandbox.properties import worker_sasl_properties


class Sandbox(FaultySandbox):
    """A sandbox whose processes a test ends, freezes and starts again."""

    def worker_sasl(self, worker: str = "worker", connector: str = "connector") -> Mapping[str, str]:
        """Overrides for `start_worker` by which the worker is `User:<worker>` and its connectors `User:<connector>`."""
        return worker_sasl_properties(self.users, worker, connector, self.sasl_bootstrap_servers)
