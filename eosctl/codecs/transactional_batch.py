"""One record in a batch of a transaction, in message format 2, as a producer sends it."""

from eosctl.model.names import ProducerIdAndEpoch


def encode_transactional_batch(
    producer: ProducerIdAndEpoch, sequence: int, timestamp: int, key: bytes, value: bytes
) -> bytes:
    """The batch with one record of `producer`: timestamp in ms, `sequence` its number in this epoch, from 0."""
    from aiokafka.record.default_records import DefaultRecordBatchBuilder

    builder = DefaultRecordBatchBuilder(
        magic=2,
        compression_type=0,
        is_transactional=True,
        producer_id=producer.producer_id,
        producer_epoch=producer.producer_epoch,
        base_sequence=sequence,
        batch_size=1 << 10,
    )
    builder.append(0, timestamp=timestamp, key=key, value=value, headers=[])
    return bytes(builder.build())
