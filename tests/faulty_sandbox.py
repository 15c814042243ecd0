"""The sandbox with faults: brokers and workers that end, freeze and start again, one by one."""

import os
import signal
import sys
from collections.abc import Mapping

from eosctl.errors import UsageError
from eosctl.sandbox.process import Process
from eosctl.sandbox.properties import MOST_WORKERS, worker_sasl_properties
from eosctl.sandbox.sandbox import Sandbox as Untouched
from eosctl.sandbox.site import with_workers


class Sandbox(Untouched):
    """A sandbox whose processes a test ends, freezes and starts again."""

    def worker_sasl(self, worker: str = "worker", connector: str = "connector") -> Mapping[str, str]:
        """Overrides for `start_worker` by which the worker is `User:<worker>` and its connectors `User:<connector>`."""
        return worker_sasl_properties(self.users, worker, connector, self.sasl_bootstrap_servers)

    def start_broker(self, node: int, overrides: Mapping[str, str] | None = None) -> None:
        """Starts broker `node` again, on its ports and data, and returns when it has joined the cluster.

        `overrides` win over `spec.broker_config` for this start. Raises UsageError when it runs.
        """
        _check_ended(self._broker(node))
        self._site.write_broker(node, overrides or {})
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
            self._await_workers([number])
        return self.connect_url(number)

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
