"""The fold over the committed records of an offsets topic partition: one state a key, whatever the number of records.

1. The raw bytes of a key are its identity. Aborted records never get here.
2. A write after which a number is lower and none is higher than in the write before it is a setback.
3. A write of the same value by another producer session is a repeat: a task began, and did not go on from there.
4. A producer that writes a key again after another producer did, within one session, is a return: a zombie.
   Sessions are known from the range on: what lies before it counts as one session, so a return may turn out to be none.
5. A record outside any transaction is plain; those after the key's first transactional record are counted apart.
"""

from collections.abc import Iterable, Iterator
from typing import TypeVar

from eosctl.analysis.audit.advance import Advance, compare_offsets
from eosctl.analysis.audit.batches import BatchWriter, Decode, Entry
from eosctl.analysis.audit.shapes import ONES, PlainShapes
from eosctl.model.audit_states import KEPT_PLACES, Change, KeyState, KeyWriter, Return, Write

Key = bytes | None
T = TypeVar("T")


class _Slot:
    """One key while its range is read.

    shape is that of the last value if it is plain; fields are those of `decoded`, the last value that was decoded.
    """

    __slots__ = (
        "decoded",
        "entry",
        "fields",
        "first",
        "first_plain",
        "first_plain_after",
        "first_transactional",
        "last_plain",
        "last_transactional",
        "plain",
        "plain_after",
        "records",
        "repeats",
        "returns",
        "session",
        "setback_places",
        "setbacks",
        "shape",
        "tombstones",
        "writer",
        "writers",
    )  # fmt: skip

    def __init__(self, entry: Entry, writer: BatchWriter) -> None:
        self.records = 1
        self.tombstones = int(entry.value is None)
        self.entry = entry
        self.writer = writer
        self.session = writer.session
        self.shape: bytes | None = None
        self.decoded: bytes | None = None
        self.fields: object = None
        self.first = _write(entry, writer)
        self.first_transactional: Write | None = self.first if writer.transactional else None
        self.last_transactional: Write | None = None
        self.plain = self.plain_after = self.setbacks = 0
        self.first_plain: Write | None = None
        self.first_plain_after: Write | None = None
        self.last_plain: tuple[Entry, BatchWriter] | None = None
        self.setback_places: list[Change] = []
        self.repeats: list[Change] = []
        self.writers: dict[int, list[int]] = {}
        self.returns: list[Return] = []


class KeyScan:
    """Give it batches in offset order, then ask for `states`."""

    def __init__(self, decode: Decode) -> None:
        self._decode = decode
        self._slots: dict[Key, _Slot] = {}
        self._before: dict[tuple[Key, int], tuple[int, int]] = {}
        self._plain = PlainShapes()

    def add_batch(self, entries: Iterable[Entry], writer: BatchWriter) -> int:
        """Take in committed records of one batch; returns how many tombstones they hold."""
        tombstones = 0
        get, session, plain = self._slots.get, writer.session, not writer.transactional
        for entry in entries:
            value = entry.value
            slot = get(entry.key)
            if slot is None:
                self._add_key(entry, writer)
                tombstones += value is None
                continue
            if value is None:
                slot.tombstones += 1
                tombstones += 1
                slot.shape = None
            elif value.translate(ONES) != slot.shape or value < slot.entry.value:  # type: ignore[operator]  # not None
                self._compare(slot, entry, value, writer)
            if slot.writer is not writer or plain:
                if slot.session is not session:
                    self._another_session(slot, entry, writer)
                if plain or not slot.writer.transactional:
                    _mind_transactions(slot, entry, writer)
                slot.writer = writer
            slot.records += 1
            slot.entry = entry
        return tombstones

    def _compare(self, slot: _Slot, entry: Entry, value: bytes, writer: BatchWriter) -> None:
        """Rule 2, where bytes alone do not tell."""
        before = slot.entry.value
        if before is not None and value != before:
            was = slot.fields if slot.decoded is before else self._fields(before)
            slot.fields, slot.decoded = self._fields(value), value
            if compare_offsets(was, slot.fields) is Advance.BACK:
                slot.setbacks += 1
                _keep(slot.setback_places, _change(slot, entry, writer))
        shape = value.translate(ONES)
        slot.shape = shape if self._plain.knows(shape) else None

    def _fields(self, value: bytes) -> object:
        try:
            return self._decode(value)
        except ValueError:
            return None

    def _add_key(self, entry: Entry, writer: BatchWriter) -> None:
        slot = self._slots[entry.key] = _Slot(entry, writer)
        slot.writers[writer.producer_id] = [entry.offset, entry.offset]
        if not writer.transactional:
            slot.plain = 1
            slot.first_plain = slot.first
            slot.last_plain = entry, writer

    def _another_session(self, slot: _Slot, entry: Entry, writer: BatchWriter) -> None:
        before, session = slot.session, writer.session
        slot.writers[before.producer_id][1] = slot.entry.offset
        if entry.value is not None and entry.value == slot.entry.value:
            _keep(slot.repeats, _change(slot, entry, writer))
        known = slot.writers.get(session.producer_id)
        if known is None:
            slot.writers[session.producer_id] = [entry.offset, entry.offset]
            self._before[slot.entry.key, session.producer_id] = before.producer_id, slot.entry.offset
        elif before.producer_id != session.producer_id and session.start <= known[1] and session.producer_id >= 0:
            back = Return(session.producer_id, known[1], before.producer_id, slot.entry.offset, entry.offset)
            _keep(slot.returns, back)
        slot.session = session

    def states(self) -> Iterator[KeyState]:
        """The state of each key."""
        for key, slot in self._slots.items():
            yield self._state(key, slot)

    def _state(self, key: Key, slot: _Slot) -> KeyState:
        slot.writers[slot.session.producer_id][1] = slot.entry.offset
        last = _write(slot.entry, slot.writer)
        writers = tuple(
            KeyWriter(producer_id, first, last_offset, self._before.get((key, producer_id)))
            for producer_id, (first, last_offset) in slot.writers.items()
        )
        return KeyState(
            key=key,
            records=slot.records,
            tombstones=slot.tombstones,
            first=slot.first,
            last=last,
            first_transactional=slot.first_transactional,
            last_transactional=last if last.transactional else slot.last_transactional,
            plain_records=slot.plain,
            plain_after=slot.plain_after,
            first_plain=slot.first_plain,
            first_plain_after=slot.first_plain_after,
            last_plain=None if slot.last_plain is None else _write(*slot.last_plain),
            setbacks=slot.setbacks,
            setback_places=tuple(slot.setback_places),
            repeats=tuple(slot.repeats),
            writers=writers,
            returns=tuple(slot.returns),
        )


def _mind_transactions(slot: _Slot, entry: Entry, writer: BatchWriter) -> None:
    """Rule 5, while the slot still holds the write before."""
    if writer.transactional:
        if slot.first_transactional is None:
            slot.first_transactional = _write(entry, writer)
        return
    if slot.writer.transactional:
        slot.last_transactional = _write(slot.entry, slot.writer)
    slot.plain += 1
    slot.last_plain = entry, writer
    if slot.first_plain is None:
        slot.first_plain = _write(entry, writer)
    if slot.first_transactional is not None:
        slot.plain_after += 1
        if slot.first_plain_after is None:
            slot.first_plain_after = _write(entry, writer)


def _keep(places: list[T], place: T) -> None:
    if len(places) < KEPT_PLACES:
        places.append(place)


def _change(slot: _Slot, entry: Entry, writer: BatchWriter) -> Change:
    return Change(_write(slot.entry, slot.writer), _write(entry, writer))


def _write(entry: Entry, writer: BatchWriter) -> Write:
    return Write(
        entry.offset, entry.timestamp, entry.value, writer.producer_id, writer.producer_epoch, writer.transactional
    )
