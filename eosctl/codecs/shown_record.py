"""What a Fetch shows of one record, and how its transaction ended."""

from collections.abc import Iterable

from eosctl.codecs.record_batches import decode_marker, iter_batches
from eosctl.model.names import ProducerIdAndEpoch
from eosctl.model.probe_observations import Shown


def decode_shown(
    records: bytes | None, aborted: Iterable[tuple[int, int]], offset: int, producer: ProducerIdAndEpoch
) -> Shown:
    """What a read_committed consumer makes of the record of `producer` at `offset`; the Fetch began there.

    aborted are the producer ID and first offset of each transaction that the answer names as aborted: a client leaves
    out what that producer wrote from there up to its marker (KIP-98). Raises Undecodable.
    """
    data = (each.header for each in iter_batches(records or b"") if not each.header.is_control)
    if not any(each.base_offset <= offset <= each.last_offset for each in data):
        return Shown.NOT_RETURNED
    named = any(producer_id == producer.producer_id and first <= offset for producer_id, first in aborted)
    return Shown.NAMED_ABORTED if named else Shown.RETURNED


def decode_ending(records: bytes | None, offset: int, producer: ProducerIdAndEpoch) -> str | None:
    """COMMIT or ABORT, by the first marker of the producer behind `offset`; None where there is none."""
    for batch in iter_batches(records or b""):
        if batch.header.is_control and batch.header.base_offset > offset:
            marker = decode_marker(batch)
            if marker is not None and marker.producer_id == producer.producer_id:
                return marker.type.name
    return None
