"""The sandbox with faults: brokers and workers that end, freeze and start again, one by one."""

import os
import signal
import sys
from collections.abc import Mapping
from dataclasses import replace

from eosctl.errors import UsageError
from eosctl.sandbox.kafka_proxy import Hold, KafkaProxy
from eosctl.sandbox.process import Process
from eosctl.sandbox.properties import HOST, MOST_WORKERS, SandboxSpec
from eosctl.sandbox.sandbox import Narrate, Sandbox, say_nothing
from eosctl.sandbox.site import with_workers


class FaultySandbox(Sandbox):
    """A sandbox whose processes end, freeze and start again."""

    def start_broker(self, node: int, overrides: Mapping[str, str] | None = None) -> None:
        """Starts broker `node` again, on its ports and data, and returns when it has joined the cluster.

        `overrides` win over `spec.broker_config` for this start. Raises UsageError when it runs.
        """
        _check_ended(self._broker(node))
        self._site.write_broker(node, {**self._broker_overrides(node), **(overrides or {})})
        self._broker(node).start()
        self._await_brokers([node])

    def stop_broker(self, node: int) -> None:
        """Ends broker `node` in order (SIGTERM)."""
        self._broker(node).stop()

    def kill_broker(self, node: int) -> None:
        """Ends broker `node` at once (SIGKILL)."""
        self._broker(node).kill()

    def pause_broker(self, node: int) -> None:
        """Freezes broker `node` (SIGSTOP): its connections stay, it answers nothing."""
        freeze(self._broker(node))

    def resume_broker(self, node: int) -> None:
        """Lets broker `node` go on (SIGCONT)."""
        thaw(self._broker(node))

    def start_worker(self, number: int, overrides: Mapping[str, str] | None = None, *, until_ready: bool = True) -> str:
        """Starts worker `number` (a new one, or one that was stopped) and returns its REST address when it is ready.

        `overrides` win over `spec.worker_config` for this start. `until_ready=False` waits for nothing: for a worker
        that is kept from starting. Raises UsageError when it runs.
        """
        if not 1 <= number <= MOST_WORKERS:
            raise UsageError(f"a sandbox has workers 1 to {MOST_WORKERS}, not {number}")
        if number in self._workers:
            _check_ended(self._workers[number])
        self._started_site = with_workers(self._site, self._narrate)
        self._workers[number] = self._spawn_worker(number, overrides or {})
        if until_ready:
            self.await_worker(number)
        return self.connect_url(number)

    def await_worker(self, number: int) -> None:
        """Returns when worker `number` has joined its group."""
        self._await_workers([number])

    def stop_worker(self, number: int) -> None:
        """Ends worker `number` in order (SIGTERM)."""
        self._worker(number).stop()

    def kill_worker(self, number: int) -> None:
        """Ends worker `number` at once (SIGKILL)."""
        self._worker(number).kill()

    def pause_worker(self, number: int) -> None:
        """Freezes worker `number` (SIGSTOP)."""
        freeze(self._worker(number))

    def resume_worker(self, number: int) -> None:
        """Lets worker `number` go on (SIGCONT)."""
        thaw(self._worker(number))


def _check_ended(process: Process) -> None:
    if process.pid is not None:
        raise UsageError(f"{process.name} runs already", hint="stop or kill it first")


def freeze(process: Process) -> None:
    """Sends SIGSTOP and returns when the process has stopped: connections stay open, nothing is answered."""
    if (pid := process.pid) is not None:
        os.kill(pid, signal.SIGSTOP)
        # On a busy machine the last of its threads stops a while after the signal was sent.
        if sys.platform == "linux":
            os.waitid(os.P_PID, pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)


def thaw(process: Process) -> None:
    """Continues a frozen process (SIGCONT)."""
    if (pid := process.pid) is not None:
        os.kill(pid, signal.SIGCONT)


class ProxiedSandbox(FaultySandbox):
    """A faulty sandbox whose workers, and the clients of their connectors, reach each broker through a proxy.

    Brokers have a listener of their own for that, WORKERS, which advertises the proxy's port.
    """

    def __init__(self, spec: SandboxSpec, narrate: Narrate = say_nothing) -> None:
        self.proxies = {node: KafkaProxy() for node in range(1, spec.brokers + 1)}
        servers = ",".join(f"{HOST}:{each.port}" for each in self.proxies.values())
        super().__init__(replace(spec, worker_config={"bootstrap.servers": servers, **spec.worker_config}), narrate)
        self._listeners: dict[int, int] = {}

    def cut_connections(self) -> int:
        """Closes all connections of workers and their connectors to brokers, and returns how many there were."""
        return sum(each.cut() for each in self.proxies.values())

    def set_hold(self, hold: Hold | None) -> None:
        """Holds the commit that `hold` describes, at any coordinator; None: holds no more."""
        for each in self.proxies.values():
            each.hold = hold

    def stop(self, *, keep_logs: bool = False) -> None:
        for each in self.proxies.values():
            each.close()
        super().stop(keep_logs=keep_logs)

    def _broker_overrides(self, node: int) -> Mapping[str, str]:
        if node not in self._listeners:
            self._listeners[node] = self._leases.take()
            self.proxies[node].lead_to(self._listeners[node])
        own = self._site.identity.brokers[node - 1]
        advertised = f"PLAINTEXT://{HOST}:{own.plaintext},SASL_PLAINTEXT://{HOST}:{own.sasl}"
        controller = f",CONTROLLER://{HOST}:{own.controller}" if node in self.spec.voters else ""
        protocols = "PLAINTEXT:PLAINTEXT,SASL_PLAINTEXT:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT,WORKERS:PLAINTEXT"
        return {
            "listeners": f"{advertised},WORKERS://{HOST}:{self._listeners[node]}{controller}",
            "advertised.listeners": f"{advertised},WORKERS://{HOST}:{self.proxies[node].port}",
            "listener.security.protocol.map": protocols,
        }
