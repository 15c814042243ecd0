"""How one side of a plan is reached: a Kafka cluster, and the Connect cluster that keeps its topics there."""

from collections.abc import Callable
from typing import TypeVar

from msgspec import Struct

from eosctl.clients.rest import RestClient
from eosctl.clients.wire import Wire
from eosctl.errors import Refused, Unreachable, WaitTimedOut
from eosctl.model.client_properties import ClientProperties

T = TypeVar("T")


class ClusterAccess(Struct, frozen=True):
    """A wire to the brokers, the workers' REST addresses (none: REST is not used), and the config topic.

    config_topic None: the Connect cluster's connectors cannot be read from Kafka.
    """

    wire: Wire
    connect_urls: tuple[str, ...]
    config_topic: str | None
    timeout_s: float

    @property
    def properties(self) -> ClientProperties:
        return self.wire.properties

    def ask_worker(self, ask: Callable[[RestClient], T]) -> T:
        """What `ask` gets from the first worker that answers; Refused where no address is known.

        WaitTimedOut is such an answer, so that a wait takes timeout_s and not that for each worker.
        """
        if not self.connect_urls:
            raise Refused("the Connect workers are needed for this", hint="give --connect-url")
        failure: Unreachable | None = None
        for url in self.connect_urls:
            with RestClient(url, self.timeout_s) as rest:
                try:
                    return ask(rest)
                except WaitTimedOut:
                    raise
                except Unreachable as error:
                    failure = error
        assert failure is not None
        raise failure
