"""The coordinators' state of transactional IDs, read without the command under test."""

import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager

from eosctl.clients.messages import find_coordinators, init_producer_id
from eosctl.clients.wire import Wire
from eosctl.codecs.client_properties import client_properties
from eosctl.model.names import ProducerIdAndEpoch
from eosctl.model.transactions import TransactionDescription
from eosctl.sources.kafka_transactions import describe_transactional_ids

LAST_EPOCH = 32_766
"""Short.MAX_VALUE - 1: a producer epoch is never raised beyond it, the ID gets a new producer ID instead."""


@contextmanager
def wire_to(servers: str, timeout_s: float = 60.0) -> Iterator[Wire]:
    """A wire to the plaintext listeners."""
    properties = client_properties(command_config=None, command_config_name="none", extra=(), bootstrap_server=servers)
    with Wire(properties, timeout_s=timeout_s) as wire:
        yield wire


def describe(servers: str, transactional_ids: Iterable[str]) -> Mapping[str, TransactionDescription | None]:
    """Each ID as its coordinator has it; None where it knows no such ID."""
    with wire_to(servers) as wire:
        return {
            name: description if description is None else _description(description)
            for name, description in describe_transactional_ids(wire, transactional_ids).items()
        }


def _description(description: object) -> TransactionDescription:
    assert isinstance(description, TransactionDescription), description
    return description


def state_of(servers: str, transactional_id: str) -> str | None:
    """The state of one ID."""
    description = describe(servers, [transactional_id])[transactional_id]
    return None if description is None else description.state.value


def coordinator_of(servers: str, transactional_id: str) -> int:
    """Node ID of the broker that coordinates the ID now, known or not."""
    with wire_to(servers) as wire:
        while True:
            (answer,) = wire.request_any(find_coordinators([transactional_id])).coordinators
            if answer.error_code == 0:
                return int(answer.node_id)
            time.sleep(0.05)


def raise_epoch(servers: str, transactional_id: str, wanted: int) -> ProducerIdAndEpoch:
    """Initialise the ID again and again, 200 requests in progress, until its producer epoch is `wanted`."""
    now = ProducerIdAndEpoch(-1, -1)
    with wire_to(servers, 120) as wire:
        while now.producer_epoch != wanted:
            coordinator = coordinator_of(servers, transactional_id)
            window = wire.window(in_flight=200)
            for number in range(wanted - now.producer_epoch):
                window.put(number, coordinator, init_producer_id(transactional_id, 60_000))
            for answer in window:
                if answer.response is not None and answer.response.error_code == 0:
                    now = ProducerIdAndEpoch(answer.response.producer_id, answer.response.producer_epoch)
    return now
