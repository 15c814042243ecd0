"""Client quotas of a real broker (KIP-13), by client ID."""

from collections.abc import Iterator
from contextlib import contextmanager

from eosctl.clients.messages import Request
from eosctl.version import __version__
from tests.integration.coordinators import wire_to

EOSCTL = f"eosctl/{__version__}"


@contextmanager
def quota(servers: str, client_id: str | None = EOSCTL, **rates: float) -> Iterator[None]:
    """Requests of a client have these quotas, such as consumer_byte_rate, while the block runs. None: of each other."""
    _alter(servers, client_id, rates, remove=False)
    try:
        yield
    finally:
        _alter(servers, client_id, rates, remove=True)


def _alter(servers: str, client_id: str | None, rates: dict[str, float], *, remove: bool) -> None:
    from kafka.protocol.admin.client_quotas import AlterClientQuotasRequest

    entry = AlterClientQuotasRequest.EntryData
    named = entry.EntityData(entity_type="client-id", entity_name=client_id)
    ops = [entry.OpData(key=key, value=value, remove=remove) for key, value in rates.items()]
    fields = {"entries": [entry(entity=[named], ops=ops)], "validate_only": False}
    with wire_to(servers) as wire:
        answer = wire.request_any(Request(AlterClientQuotasRequest, fields))
    assert not [each.error_code for each in answer.entries if each.error_code], answer
