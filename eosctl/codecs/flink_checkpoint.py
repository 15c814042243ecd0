"""Kafka's transactions in the files of a Flink checkpoint.

1. `_metadata` begins with a magic number, a version, and the checkpoint's ID. It holds small states itself, and names
   the files of the others.
2. A committer's state has each transaction that is to be committed as epoch, producer ID, ID (KafkaCommittable), with
   its length before it.
3. A writer's state has the prefix of its IDs. Connectors from 4.0 on add the subtask, how many there are, and the IDs
   whose commit the writer does not know of, each with its checkpoint (KafkaWriterState); version and length stand
   before it.
4. All that surrounds them differs from release to release. So both are found by the prefix and the lengths before it.
   The writers' states show whether a committer's state is missing.
"""

import struct
from collections.abc import Iterable, Iterator
from typing import Final

from eosctl.errors import ConfigError, UsageError
from eosctl.model.leftovers import DecidedTransaction, FlinkCheckpoint, FlinkWriter
from eosctl.model.names import ProducerIdAndEpoch

METADATA: Final = "_metadata"
_HEADER: Final = struct.Struct(">IIq")
_MAGIC: Final = 0x4960672D
_COMMITTABLE: Final = struct.Struct(">ihqH")
_WRITER: Final = struct.Struct(">iiH")
_OWNED: Final = struct.Struct(">iiii")
_LENGTH: Final = struct.Struct(">H")
_CHECKPOINT: Final = struct.Struct(">q")
_OWNERSHIPS: Final = 2


def decode_flink_checkpoint(metadata: bytes, others: Iterable[bytes], prefix: str) -> FlinkCheckpoint:
    """The state of sinks whose IDs begin with the prefix. others are the files beside `_metadata`.

    Raises ConfigError where metadata is not that of a checkpoint, UsageError without a prefix.
    """
    if len(metadata) < _HEADER.size or _HEADER.unpack_from(metadata)[0] != _MAGIC:
        raise ConfigError(
            f"this is no {METADATA} of a Flink checkpoint", hint="give the directory chk-N of a checkpoint"
        )
    wanted = prefix.removesuffix("-").encode()
    if not wanted:
        raise UsageError("a checkpoint is read for one prefix of IDs", hint="give --prefix the sink's prefix")
    transactions: dict[DecidedTransaction, None] = {}
    writers: dict[FlinkWriter, None] = {}
    for content in (metadata, *others):
        for place in _places(content, wanted):
            if (transaction := _transaction(content, place)) and transaction.transactional_id.startswith(prefix):
                transactions[transaction] = None
            elif (writer := _writer(content, place)) and f"{writer.prefix}-".startswith(prefix):
                writers[writer] = None
    return FlinkCheckpoint(_HEADER.unpack_from(metadata)[2], tuple(transactions), tuple(writers))


def _places(content: bytes, wanted: bytes) -> Iterator[int]:
    place = content.find(wanted)
    while place >= 0:
        yield place
        place = content.find(wanted, place + 1)


def _transaction(content: bytes, place: int) -> DecidedTransaction | None:
    """The committable whose ID begins there."""
    if place < _COMMITTABLE.size:
        return None
    size, epoch, producer_id, length = _COMMITTABLE.unpack_from(content, place - _COMMITTABLE.size)
    name = _text(content, place, length)
    if name is None or size != _COMMITTABLE.size - 4 + length or epoch < 0 or producer_id < 0:
        return None
    return DecidedTransaction(name, ProducerIdAndEpoch(producer_id, epoch))


def _writer(content: bytes, place: int) -> FlinkWriter | None:
    """The writer's state whose prefix begins there."""
    if place < _WRITER.size:
        return None
    version, size, length = _WRITER.unpack_from(content, place - _WRITER.size)
    prefix, end = _text(content, place, length), place - _LENGTH.size + size
    if prefix is None or not 0 < size <= len(content) - place + _LENGTH.size:
        return None
    place += length
    if version == 1 and place == end:
        return FlinkWriter(prefix, None, None, frozenset())
    if version != 2 or end - place < _OWNED.size:
        return None
    subtask, subtasks, ownership, count = _OWNED.unpack_from(content, place)
    uncommitted = _uncommitted(content, place + _OWNED.size, end, count)
    if uncommitted is None or not 0 <= ownership < _OWNERSHIPS:
        return None
    return FlinkWriter(prefix, subtask, subtasks, frozenset(uncommitted))


def _uncommitted(content: bytes, place: int, end: int, count: int) -> list[tuple[str, int]] | None:
    """So many IDs, each with its checkpoint; None if they do not end there."""
    found = []
    for _ in range(count):
        fits = place + _LENGTH.size <= end
        name = _text(content, place + _LENGTH.size, _LENGTH.unpack_from(content, place)[0]) if fits else None
        if name is None:
            return None
        place += _LENGTH.size + len(name.encode()) + _CHECKPOINT.size
        if place > end:
            return None
        found.append((name, _CHECKPOINT.unpack_from(content, place - _CHECKPOINT.size)[0]))
    return found if place == end else None


def _text(content: bytes, place: int, length: int) -> str | None:
    try:
        return content[place : place + length].decode() if 0 < length <= len(content) - place else None
    except UnicodeDecodeError:
        return None
