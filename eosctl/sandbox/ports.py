"""Ports that no other sandbox and no other process has."""

import fcntl
import random
import socket
from pathlib import Path
from typing import IO

from eosctl.errors import ConfigError
from eosctl.sandbox.cache import cache_directory
from eosctl.sandbox.properties import HOST

# Below the range from which kernels take the ports of outgoing connections, so that a stopped broker's port stays free.
FIRST, LAST = 15000, 32000
ATTEMPTS = 500


class PortLeases:
    """Ports held by this process against every other sandbox until `release`, or until the process dies."""

    def __init__(self, directory: Path | None = None) -> None:
        self._directory = directory or cache_directory() / "ports"
        self._held: dict[int, IO[str]] = {}

    def take(self, wanted: int | None = None) -> int:
        """The port `wanted`, or a free one; ConfigError when `wanted` is in use or none is free."""
        if wanted is not None:
            if not self._lease(wanted):
                raise ConfigError(f"port {wanted} is in use", hint="name another port, or none to get a free one")
            return wanted
        for port in random.sample(range(FIRST, LAST), ATTEMPTS):
            if self._lease(port):
                return port
        raise ConfigError(f"found no free port in {ATTEMPTS} tries between {FIRST} and {LAST}")

    def take_if_free(self, preferred: int) -> int:
        """The port `preferred` when it is free, otherwise another one."""
        return preferred if self._lease(preferred) else self.take()

    def release(self) -> None:
        """Lets all ports go."""
        for lease in self._held.values():
            lease.close()
        self._held.clear()

    def _lease(self, port: int) -> bool:
        if port in self._held:
            return False
        self._directory.mkdir(parents=True, exist_ok=True)
        lease = (self._directory / str(port)).open("w")
        try:
            fcntl.flock(lease, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lease.close()
            return False
        if not _is_free(port):
            lease.close()
            return False
        self._held[port] = lease
        return True


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
    return True
