"""Sandboxes that tests share, each started when the first of them asks for it."""

from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack, suppress
from typing import Any, TypeVar
from urllib.parse import quote

import httpx

from eosctl.clients.messages import find_coordinators, init_producer_id
from eosctl.clients.wire import Wire
from eosctl.errors import EosctlError
from eosctl.model.client_properties import ClientProperties
from eosctl.model.transactions import TransactionState
from eosctl.sandbox.properties import SandboxSpec
from eosctl.sources.listed_transactions import list_transactional_ids
from tests.faulty_sandbox import Sandbox
from tests.kafka_versions import spec_of
from tests.leaders import share_out_leaders
from tests.waiting import eventually
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
        """Ends them when both group and module change: no fixture of the tests that follow has one of them.

        When only the module changes, what the tests before left in them is removed: they may have failed half-way.
        """
        before, self._place = self._place, (group, module)
        if before is None or before[1] is module:
            return
        if before[0] != group:
            self.stop()
        for _, shared in self._shared:
            if isinstance(shared, Sandbox):
                # A test may have left a broker or a worker stopped; that is its own file's failure.
                with suppress(EosctlError, httpx.HTTPError, ValueError, AssertionError):
                    remove_leftovers(shared)

    def stop(self) -> None:
        """Ends all of them."""
        self._shared.clear()
        self._ends.close()


def remove_leftovers(sandbox: Sandbox) -> None:
    """Deletes the connectors of the first worker's group, and ends the open transactions of all other clients."""
    for url in sandbox.connect_urls[:1]:
        for name in httpx.get(f"{url}/connectors", timeout=30, trust_env=False).json():
            address = f"{url}/connectors/{quote(name, safe='')}"
            eventually(
                lambda address=address: httpx.delete(address, timeout=90, trust_env=False).status_code != 409, address
            )
    with Wire(ClientProperties((sandbox.bootstrap_servers.split(",")[0],))) as wire:
        for each in list_transactional_ids(wire, states=[TransactionState.ONGOING]).transactions:
            name = each.transactional_id
            if not (sandbox.connect_urls and name.startswith(f"{sandbox.spec.group_id}-")):
                eventually(lambda name=name: _is_ended(wire, name), name, deadline_s=20)


def _is_ended(wire: Wire, transactional_id: str) -> bool:
    """Sends InitProducerId, which aborts an open transaction and is refused until that is done."""
    (found,) = wire.request_any(find_coordinators([transactional_id])).coordinators
    request = init_producer_id(transactional_id, 60_000)
    return found.error_code == 0 and wire.request(found.node_id, request).error_code == 0
