"""How one side of a plan is reached: a Kafka cluster, and the Connect cluster that keeps its topics there."""

from collections.abc import Callable
from typing import TypeVar

from msgspec import Struct

from eosctl.clients.rest import RestClient, ask_worker
from eosctl.clients.wire import Wire
from eosctl.model.client_properties import ClientProperties

T = TypeVar("T")


class ClusterAccess(Struct, frozen=True):
    """The means of writing: a wire to the brokers, and the workers' REST addresses (none: REST is not used)."""

    wire: Wire
    connect_urls: tuple[str, ...]
    timeout_s: float

    def librdkafka_properties(self) -> ClientProperties:
        """The properties for librdkafka, whose brokers must all be of one cluster; raises OtherCluster.

        It connects to the addresses that brokers advertise, and checks no cluster ID there before it writes.
        """
        self.wire.require_one_cluster()
        return self.wire.properties

    def ask_worker(self, ask: Callable[[RestClient], T]) -> T:
        """The result of `ask` at the first worker that answers; Refused if no address is known."""
        return ask_worker(self.connect_urls, self.timeout_s, ask)
