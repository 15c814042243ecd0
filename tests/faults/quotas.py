"""Client quotas of a real broker (KIP-13), for the user that the plaintext listener makes of everybody."""

from collections.abc import Iterator
from contextlib import contextmanager

from eosctl.clients.messages import Request
from tests.integration.coordinators import wire_to

CLIENT_ID = "eosctl"


@contextmanager
def quota(servers: str, **rates: float) -> Iterator[None]:
    """Requests of eosctl have these quotas, such as consumer_byte_rate, while the block runs."""
    _alter(servers, rates, remove=False)
    try:
        yield
    finally:
        _alter(servers, rates, remove=True)


def _alter(servers: str, rates: dict[str, float], *, remove: bool) -> None:
    from kafka.protocol.admin.client_quotas import AlterClientQuotasRequest

    from eosctl.version import __version__

    entry = AlterClientQuotasRequest.EntryData
    named = entry.EntityData(entity_type="client-id", entity_name=f"{CLIENT_ID}/{__version__}")
    ops = [entry.OpData(key=key, value=value, remove=remove) for key, value in rates.items()]
    fields = {"entries": [entry(entity=[named], ops=ops)], "validate_only": False}
    with wire_to(servers) as wire:
        answer = wire.request_any(Request(AlterClientQuotasRequest, fields))
    assert not [each.error_code for each in answer.entries if each.error_code], answer
