"""The fold over the committed records of an offsets topic partition: one state a key, whatever the number of records.

1. The raw bytes of a key are its identity. Aborted records never get here.
2. A write after which a number is lower and none is higher than in the write before it is a setback.
3. A write of the value that is there already is a repeat. Sessions are not known yet, so the judgement shows what of it
   is a task that began and did not go on from there.
4. A producer that writes a key again after another producer did is a return. It is a zombie's if no session of it began
   in between: certain where its epoch is the same, otherwise the judgement decides. The first of both are kept.
5. A record outside any transaction is plain; those after the key's first transactional record are counted apart.
6. Runs are kept of the keys that `tracked` is true of (see `key_runs`).
"""

from collections.abc import Callable, Iterable, Iterator

from eosctl.analysis.audit.advance import Advance, compare_offsets
from eosctl.analysis.audit.batches import BatchWriter, Decode, Entry
from eosctl.analysis.audit.key_merge import MOST_RETURNS, first_returns, kept_snapshots
from eosctl.analysis.audit.key_runs import MOST_RUNS, begins_run, thinned
from eosctl.analysis.audit.shapes import ONES, PlainShapes
from eosctl.model.audit_states import KEPT_PLACES, Change, KeyState, KeyWriter, Return, Run, Setbacks, Write

Key = bytes | None
Tracked = Callable[[Key], bool]


def none_tracked(_: Key) -> bool:
    """Of no key."""
    return False


class _Last:
    """What every record of a key needs of the one before it; a class of its own keeps it together in memory.

    shape is that of the last value if it is plain; follower is the key that was written next, the last time.
    """

    __slots__ = ("entry", "follower", "key", "records", "shape", "value", "writer")

    def __init__(self, entry: Entry, writer: BatchWriter) -> None:
        self.entry, self.key, self.value = entry, entry.key, entry.value
        self.writer = writer
        self.records = 1
        self.shape: bytes | None = None
        self.follower: _Slot | None = None


class _Slot(_Last):
    """One key while its range is read.

    fields are those of `decoded`, the last value that was decoded. runs are those that ended (None: not tracked), run
    is the first write of the one that goes on, ahead the records before.
    """

    __slots__ = (
        "ahead",
        "decoded",
        "fields",
        "first",
        "first_plain",
        "first_plain_after",
        "first_transactional",
        "last_plain",
        "last_transactional",
        "plain",
        "plain_after",
        "plain_setbacks",
        "repeats",
        "returns",
        "run",
        "runs",
        "setbacks",
        "snapshots",
        "tombstones",
        "writers",
    )  # fmt: skip

    def __init__(self, entry: Entry, writer: BatchWriter) -> None:
        super().__init__(entry, writer)
        self.tombstones = int(entry.value is None)
        self.decoded: bytes | None = None
        self.fields: object = None
        self.first = _write(entry, writer)
        self.first_transactional: Write | None = self.first if writer.transactional else None
        self.last_transactional: Write | None = None
        self.plain = self.plain_after = 0
        self.first_plain: Write | None = None
        self.first_plain_after: Write | None = None
        self.last_plain: tuple[Entry, BatchWriter] | None = None
        self.setbacks, self.plain_setbacks = Setbacks(), Setbacks()
        self.repeats: list[Change] = []
        self.writers: dict[int, list[int]] = {}
        self.returns: list[Return] = []
        self.snapshots: tuple[Change, ...] = ()
        self.runs: list[Run] | None = None
        self.run, self.ahead = self.first, 0


class KeyScan:
    """Give it batches in offset order, then ask for `states`."""

    def __init__(self, decode: Decode, tracked: Tracked = none_tracked) -> None:
        self._decode, self._tracked = decode, tracked
        self._slots: dict[Key, _Slot] = {}
        self._before: dict[tuple[Key, int], tuple[int, int]] = {}
        self._plain = PlainShapes()
        self._latest: _Slot | None = None

    def add_batch(self, entries: Iterable[Entry], writer: BatchWriter) -> int:
        """Take in committed records of one batch; returns how many tombstones they hold.

        Tasks write their keys in much the same order again, so the key that followed the last time is tried first.
        """
        tombstones = 0
        get, producer, plain, latest = self._slots.get, writer.producer_id, not writer.transactional, self._latest
        for entry in entries:
            key, value = entry.key, entry.value
            slot = None if latest is None else latest.follower
            if slot is None or slot.key != key:
                slot = get(key)
                if slot is None:
                    latest = self._add_key(entry, writer, latest)
                    tombstones += value is None
                    continue
                if latest is not None:
                    latest.follower = slot
            latest = slot
            if value is None:
                slot.tombstones += 1
                tombstones += 1
                slot.shape = None
            elif value.translate(ONES) != slot.shape or value <= slot.value:  # type: ignore[operator]  # not None
                self._compare(slot, entry, value, writer)
            if slot.writer is not writer or plain:
                self._mind_runs(slot, entry, writer)
                if slot.writer.producer_id != producer:
                    self._another_producer(slot, entry, writer)
                if plain or not slot.writer.transactional:
                    _mind_transactions(slot, entry, writer)
                slot.writer = writer
            slot.records += 1
            slot.entry, slot.value = entry, value
        self._latest = latest
        return tombstones

    def _mind_runs(self, slot: _Slot, entry: Entry, writer: BatchWriter) -> None:
        """Rule 6, and snapshots that may have been begun again, while the slot still holds the write before."""
        snapshot = entry.value is not None and b'"snapshot' in entry.value
        if slot.runs is None and not snapshot:
            return
        before, after = _write(slot.entry, slot.writer), _write(entry, writer)
        if not begins_run(before, after):
            return
        if snapshot:
            slot.snapshots = kept_snapshots((*slot.snapshots, Change(before, after)), self._decode)
        if slot.runs is not None:
            slot.runs.append(Run(slot.run, before, slot.records - slot.ahead))
            slot.run, slot.ahead = after, slot.records
            if len(slot.runs) > 2 * MOST_RUNS:
                slot.runs = list(thinned(slot.runs))

    def _compare(self, slot: _Slot, entry: Entry, value: bytes, writer: BatchWriter) -> None:
        """Rules 2 and 3, where bytes alone do not show."""
        before = slot.value
        if value == before:
            _keep(slot.repeats, slot, entry, writer)
            return
        shape = self._plain.of(value)
        if before is not None and not (shape and value > before and before.translate(ONES) == shape):
            was = slot.fields if slot.decoded is before else self._fields(before)
            slot.fields, slot.decoded = self._fields(value), value
            if compare_offsets(was, slot.fields, entry.key, self._decode) is Advance.BACK:
                _set_back(slot, Change(_write(slot.entry, slot.writer), _write(entry, writer)))
        slot.shape = shape

    def _fields(self, value: bytes) -> object:
        try:
            return self._decode(value)
        except ValueError:
            return None

    def _add_key(self, entry: Entry, writer: BatchWriter, latest: _Slot | None) -> _Slot:
        slot = self._slots[entry.key] = _Slot(entry, writer)
        if latest is not None:
            latest.follower = slot
        slot.writers[writer.producer_id] = _first_write(entry, writer)
        if self._tracked(entry.key):
            slot.runs = []
        if not writer.transactional:
            slot.plain = 1
            slot.first_plain = slot.first
            slot.last_plain = entry, writer
        return slot

    def _another_producer(self, slot: _Slot, entry: Entry, writer: BatchWriter) -> None:
        before, now = slot.writer.producer_id, writer.producer_id
        slot.writers[before][3:] = slot.entry.offset, slot.writer.producer_epoch
        known = slot.writers.get(now)
        if known is None:
            slot.writers[now] = _first_write(entry, writer)
            self._before[slot.entry.key, now] = before, slot.entry.offset
        elif now >= 0:
            place = entry.offset, entry.timestamp, writer.producer_epoch
            slot.returns.append(Return(now, known[3], known[4], before, slot.entry.offset, *place))
            if len(slot.returns) > MOST_RETURNS:
                slot.returns = list(first_returns(slot.returns))

    def states(self) -> Iterator[KeyState]:
        """The state of each key."""
        self._latest = None
        for key, slot in self._slots.items():
            slot.follower = None  # they are in cycles otherwise
            yield self._state(key, slot)

    def _state(self, key: Key, slot: _Slot) -> KeyState:
        slot.writers[slot.writer.producer_id][3:] = slot.entry.offset, slot.writer.producer_epoch
        last = _write(slot.entry, slot.writer)
        writers = tuple(
            KeyWriter(
                producer_id, first, time, first_epoch, last_offset, last_epoch, self._before.get((key, producer_id))
            )
            for producer_id, (first, time, first_epoch, last_offset, last_epoch) in slot.writers.items()
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
            plain_setbacks=slot.plain_setbacks,
            repeats=tuple(slot.repeats),
            writers=writers,
            returns=first_returns(slot.returns) if slot.returns else (),
            runs=_runs(slot, last),
            snapshots=slot.snapshots,
        )


def _runs(slot: _Slot, last: Write) -> tuple[Run, ...]:
    return () if slot.runs is None else thinned((*slot.runs, Run(slot.run, last, slot.records - slot.ahead)))


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


def _set_back(slot: _Slot, change: Change) -> None:
    if change.before.transactional:
        slot.setbacks = _one_more(slot.setbacks, change)
    else:
        slot.plain_setbacks = _one_more(slot.plain_setbacks, change)


def _one_more(setbacks: Setbacks, change: Change) -> Setbacks:
    kept = setbacks.places if len(setbacks.places) == KEPT_PLACES else (*setbacks.places, change)
    return Setbacks(setbacks.total + 1, kept)


def _keep(places: list[Change], slot: _Slot, entry: Entry, writer: BatchWriter) -> None:
    if len(places) < KEPT_PLACES:
        places.append(Change(_write(slot.entry, slot.writer), _write(entry, writer)))


def _first_write(entry: Entry, writer: BatchWriter) -> list[int]:
    """What a KeyWriter says of a producer, with its last offset and epoch at the end."""
    return [entry.offset, entry.timestamp, writer.producer_epoch, entry.offset, writer.producer_epoch]


def _write(entry: Entry, writer: BatchWriter) -> Write:
    return Write(
        entry.offset, entry.timestamp, entry.value, writer.producer_id, writer.producer_epoch, writer.transactional
    )
