"""A live cluster's reader over a wire of the test's own."""

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

from eosctl.clients.wire import Wire
from eosctl.model.client_properties import ClientProperties
from eosctl.operations.plan_facts import ReadSide
from eosctl.operations.session import new_fold
from eosctl.sources.live_cluster import LiveCluster


@dataclass(frozen=True)
class WireConnections:
    """Connections of one wire, at a fixed time; no Connect worker."""

    wire: Wire
    client_properties: ClientProperties
    as_of: int
    connect_urls: tuple[str, ...] = ()
    timeout_s: float = 30.0

    def now(self) -> int:
        return self.as_of


def no_progress(*_: object, **__: object) -> AbstractContextManager[object]:
    return nullcontext(lambda _: None)


def reader_over(
    wire: Wire, properties: ClientProperties, *, as_of: int = 0, group_id: str | None = None
) -> LiveCluster:
    """Reads what `properties` lead to."""
    return LiveCluster(WireConnections(wire, properties, as_of), group_id, no_progress, new_fold)


def reading_over(
    wire: Wire, config_topic: str | None = None, connect_urls: tuple[str, ...] = (), timeout_s: float = 30.0
) -> ReadSide:
    """A side of a plan that is these brokers and workers."""
    connections = WireConnections(wire, wire.properties, 0, connect_urls, timeout_s)
    return ReadSide(LiveCluster(connections, None, no_progress, new_fold), config_topic)
