"""Records of `__transaction_state`, byte for byte (TransactionLogKey.json, TransactionLogValue.json of Kafka).

    key      int16 version 0, string transactional ID
    value v0 int16 version 0
             int64 producer ID, int16 producer epoch, int32 transaction timeout in ms, int8 status
             nullable array of { string topic, array of int32 partition }
             int64 last update in ms, int64 start in ms
    value v1 int16 version 1, then the same with compact strings and arrays, a section of tagged fields after each
             element and at the end; of the latter 0 is the previous and 1 the next producer ID (int64), 2 the client's
             transaction version and 3 the next producer epoch (int16). Others are passed over: a newer Kafka wrote
             them.

Strings are an int16 length and UTF-8; arrays an int32 count, -1 for null; compact ones an unsigned varint of length
plus one, 0 for null. Status: 0 Empty, 1 Ongoing, 2 PrepareCommit, 3 PrepareAbort, 4 CompleteCommit, 5 CompleteAbort,
6 Dead, 7 PrepareEpochFence (the last two live in memory and are not logged).

1. The version is read first; one that is not known is Undecodable and never read as another (a key of a newer version
   is distinguished: `key_version`).
2. Every length is held against the bytes that are left. Bytes left over at the end are Undecodable too; Kafka's own
   reader does not look at them.
"""

from __future__ import annotations

from struct import Struct
from typing import Final

from eosctl.errors import Undecodable
from eosctl.model import transaction_log
from eosctl.model.names import TRANSACTION_LOG, ProducerIdAndEpoch, TopicPartition
from eosctl.model.records import Entry
from eosctl.model.transactions import TransactionState

INT16: Final = Struct(">h")
INT32: Final = Struct(">i")
INT64: Final = Struct(">q")
FIXED: Final = Struct(">qhib")
HEAD: Final = Struct(">hqhib")
"""The version and FIXED, read at once: a log of a million IDs has as many values."""
TIMES: Final = Struct(">qq")
KEY_HEAD: Final = Struct(">hh")
"""The version of a key and the length of its text."""

KEY_VERSION: Final = 0
FLEXIBLE: Final = 1
NEWEST_VALUE: Final = 1
LONGEST_VARINT: Final = 5

STATES: Final = (
    TransactionState.EMPTY,
    TransactionState.ONGOING,
    TransactionState.PREPARE_COMMIT,
    TransactionState.PREPARE_ABORT,
    TransactionState.COMPLETE_COMMIT,
    TransactionState.COMPLETE_ABORT,
    TransactionState.DEAD,
    TransactionState.PREPARE_EPOCH_FENCE,
)


def version_of(data: bytes) -> int:
    """The version of a record's key or value; raises Undecodable for one too short to have a version."""
    return MessageBytes(data).take(INT16)


def decode_transaction_log_key(key: bytes) -> str:
    """The transactional ID. Raises Undecodable for every other key, one of another version included."""
    data = MessageBytes(key)
    version, *size = data.several(KEY_HEAD if len(key) >= KEY_HEAD.size else INT16)
    if version != KEY_VERSION:
        raise Undecodable(f"key version {version} of the transaction log is not known (0 is)")
    transactional_id = data.text(size[0] if size else data.take(INT16))
    data.end()
    return transactional_id


def may_begin_with(key: bytes, prefix: bytes) -> bool:
    """Whether the ID of a key begins with this text; true for a key of another version, whose ID is not known."""
    return key[: INT16.size] != _KEY_OF_ANY_ID or key.startswith(prefix, 2 * INT16.size)


_KEY_OF_ANY_ID: Final = INT16.pack(KEY_VERSION)
_KNOWN_VALUES: Final = frozenset(INT16.pack(version) for version in range(NEWEST_VALUE + 1))


def encode_transaction_log_key(transactional_id: str) -> bytes:
    text = transactional_id.encode()
    return INT16.pack(KEY_VERSION) + INT16.pack(len(text)) + text


def decode_transaction_log_value(value: bytes) -> transaction_log.TransactionLogValue:
    """The logged state of a transactional ID. Raises Undecodable with the reason, and nothing else, for other bytes."""
    data = MessageBytes(value)
    version, *fixed = data.several(HEAD if len(value) >= HEAD.size else INT16)
    if not 0 <= version <= NEWEST_VALUE:
        raise Undecodable(f"value version {version} of the transaction log is not known (0 and 1 are)")
    producer_id, epoch, timeout_ms, status = fixed or data.several(FIXED)
    if not 0 <= status < len(STATES):
        raise Undecodable(f"transaction status {status} is not known")
    partitions = data.compact_partitions() if version >= FLEXIBLE else data.partitions()
    last_update_ms, start_ms = data.several(TIMES)
    tagged = data.tagged_fields() if version >= FLEXIBLE else {}
    data.end()
    producer, state = ProducerIdAndEpoch(producer_id, epoch), STATES[status]
    if not tagged:
        return transaction_log.TransactionLogValue(
            version, producer, timeout_ms, state, partitions, last_update_ms, start_ms
        )
    return transaction_log.TransactionLogValue(
        version=version,
        producer=producer,
        timeout_ms=timeout_ms,
        state=state,
        partitions=partitions,
        last_update_ms=last_update_ms,
        start_ms=start_ms,
        previous_producer_id=_tagged(tagged, 0, INT64, -1),
        next_producer_id=_tagged(tagged, 1, INT64, -1),
        client_transaction_version=_tagged(tagged, 2, INT16, 0),
        next_producer_epoch=_tagged(tagged, 3, INT16, -1),
    )


def _tagged(fields: dict[int, bytes], tag: int, form: Struct, default: int) -> int:
    if tag not in fields:
        return default
    data = MessageBytes(fields[tag])
    value = data.take(form)
    data.end()
    return value


class MessageBytes:
    """Fields of Kafka's messages, read from front to end; a missing field is Undecodable."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._place = 0

    def _cut(self, size: int) -> bytes:
        stop = self._place + size
        if size < 0 or stop > len(self._data):
            raise Undecodable(
                f"{size} bytes were to follow at byte {self._place} of {len(self._data)}"
                if size >= 0
                else f"a length of {size} at byte {self._place}"
            )
        piece = self._data[self._place : stop]
        self._place = stop
        return piece

    def take(self, form: Struct) -> int:
        return int(form.unpack(self._cut(form.size))[0])

    def several(self, form: Struct) -> tuple[int, ...]:
        return form.unpack(self._cut(form.size))

    def text(self, size: int) -> str:
        try:
            return self._cut(size).decode("utf-8")
        except UnicodeDecodeError as error:
            raise Undecodable(f"text that is not UTF-8 before byte {self._place}") from error

    def nullable_text(self, *, compact: bool = False) -> str | None:
        size = self.varint() - 1 if compact else self.take(INT16)
        return None if size < 0 else self.text(size)

    def raw(self, *, compact: bool = False) -> bytes:
        return self._cut(self.varint() - 1 if compact else self.take(INT32))

    def varint(self) -> int:
        """An unsigned varint, as a signed int32 the way Java has it."""
        value = 0
        for number in range(LONGEST_VARINT):
            byte = self._cut(1)[0]
            value |= (byte & 0x7F) << (7 * number)
            if byte < 0x80:
                value &= 0xFFFFFFFF
                return value - (1 << 32) if value >= 1 << 31 else value
        raise Undecodable(f"a varint longer than {LONGEST_VARINT} bytes before byte {self._place}")

    def count(self, compact: bool) -> int:
        """The number of the following elements, of at least a byte each; negative for null."""
        count = self.varint() - 1 if compact else self.take(INT32)
        if count > len(self._data) - self._place:
            raise Undecodable(f"{count} elements cannot follow in {len(self._data) - self._place} bytes")
        return count

    def partitions(self) -> tuple[TopicPartition, ...] | None:
        count = self.count(compact=False)
        found: list[TopicPartition] = []
        for _ in range(count):
            topic = self.text(self.take(INT16))
            found += [TopicPartition(topic, index) for index in self._indexes(self.count(compact=False))]
        return None if count < 0 else tuple(found)

    def compact_partitions(self) -> tuple[TopicPartition, ...] | None:
        count = self.count(compact=True)
        found: list[TopicPartition] = []
        for _ in range(count):
            topic = self.text(self.varint() - 1)
            found += [TopicPartition(topic, index) for index in self._indexes(self.count(compact=True))]
            self.tagged_fields()
        return None if count < 0 else tuple(found)

    def _indexes(self, count: int) -> list[int]:
        if count < 0:
            raise Undecodable("the list of partitions of a topic is null")
        return [self.take(INT32) for _ in range(count)]

    def tagged_fields(self) -> dict[int, bytes]:
        count = self.varint()
        found: dict[int, bytes] = {}
        for _ in range(count):
            tag = self.varint()
            found[tag] = self._cut(self.varint())
        return found

    def end(self) -> None:
        if self._place != len(self._data):
            raise Undecodable(f"{len(self._data) - self._place} bytes are left over")


def decode_log_record(partition: int, record: Entry) -> transaction_log.LogRecord:
    """One record of the log, by its place. Raises Undecodable naming partition and offset."""
    try:
        key = record.key or b""
        if key[: INT16.size] != _KEY_OF_ANY_ID and (version := version_of(key)) > KEY_VERSION:
            return transaction_log.NewerLogRecord(partition, record.offset, version)
        name = decode_transaction_log_key(key)
        is_known = record.value is None or record.value[: INT16.size] in _KNOWN_VALUES
        if not is_known and (version := version_of(record.value or b"")) > NEWEST_VALUE:
            return transaction_log.NewerLogRecord(partition, record.offset, version, name)
        value = None if record.value is None else decode_transaction_log_value(record.value)
    except Undecodable as error:
        raise Undecodable(error.reason, topic=TRANSACTION_LOG, partition=partition, offset=record.offset) from error
    return transaction_log.TransactionLogRecord(partition, record.offset, record.timestamp, name, value)
