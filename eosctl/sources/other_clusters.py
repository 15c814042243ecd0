"""Kafka clusters that are reached by other bootstrap.servers, with the identity of the cluster at hand."""

from collections.abc import Iterator
from contextlib import contextmanager

from eosctl.clients.wire import Wire
from eosctl.errors import EosctlError
from eosctl.model.client_properties import ClientProperties
from eosctl.model.skipped import Skipped, or_skipped
from eosctl.sources.cluster_reader import Servers


def trusting(wire: Wire) -> ClientProperties:
    """The identity of the wire, which trusts the brokers that its cluster advertises as much as those it began with."""
    return wire.properties.naming(f"{each.host}:{each.port}" for each in wire.brokers())


class OtherClusters:
    """Connections by bootstrap.servers that configs of connectors and workers name.

    Credentials are shown to none but the brokers that `identity` trusts. Servers that did not answer once are not
    waited for again.
    """

    def __init__(self, identity: ClientProperties, timeout_s: float) -> None:
        self._identity, self._timeout_s = identity, timeout_s
        self._failed: dict[Servers, EosctlError] = {}

    @contextmanager
    def wire_to(self, servers: Servers) -> Iterator[Wire]:
        """The brokers there, while the block runs. Raises the first error of servers that failed before."""
        if servers in self._failed:
            raise self._failed[servers]
        there = self._identity.at(sorted(servers), "a connector's or a worker's config")
        with Wire(there, timeout_s=self._timeout_s) as wire:
            yield wire

    def cluster_id(self, servers: Servers) -> str | Skipped:
        """The ID of the cluster behind these servers."""
        return or_skipped(lambda: self._cluster_id(servers))

    def _cluster_id(self, servers: Servers) -> str:
        try:
            with self.wire_to(servers) as wire:
                return wire.cluster_id
        except EosctlError as error:
            self._failed[servers] = error
            raise
