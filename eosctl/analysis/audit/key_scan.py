"""The fold over the committed records of an offsets topic partition: one state for each key, regardless of the number
of records.

1. The raw bytes of a key are its identity. Aborted records never get here.
2. A write after which a number is lower and none is higher than in the write before it is a setback.
3. A write of the value that is there already is a repeat. Sessions are not known yet, so the judgement shows what of it
   is a task that began and did not go on from there.
4. A producer that writes a key again after another producer did is a return. It is a zombie's if no session of it began
   in between: certain where its epoch is the same, otherwise the judgement decides. The first of both are kept.
5. A record outside any transaction is plain; those after the key's first transactional record are counted apart.
6. Runs are kept of the keys that `tracked` is true of (see `key_runs`).
7. A write of the start of the database's transaction that the write before is within is a restart, no setback. The next
   write of another value shows whether the connector went on behind the write before: the judgement decides, because
   it knows the sessions.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final

from eosctl.analysis.audit.batches import (
    Advance,
    BatchWriter,
    Decode,
    Entry,
    SnapshotChange,
    advance_of,
    compare_offsets,
    may_begin_transaction,
    snapshot_change,
)
from eosctl.analysis.audit.sessions import Sessions
from eosctl.model.audit_states import (
    KEPT_PLACES,
    Change,
    KeyState,
    KeyWriter,
    Regressions,
    RestartedTransaction,
    Restarts,
    ReturnedProducer,
    Write,
    WriteRun,
)

# The runs of a key: writes of a connector with several offset stores, divided where a task may have started.
#
# 1. A run ends where another producer writes, or the same one otherwise (in transactions, outside any).
# 2. A new epoch may be a new session, or the next transaction of the same one (KIP-890). A task that begins has been
#    stopped, fenced and started, which takes longer than RESTART_MS. `by_session` puts together what is one session.
# 3. Writes outside transactions have no epoch: a pause of PLAIN_PAUSE_MS divides them.
# 4. Where a key has more than MOST_RUNS, those with the shortest pauses between them are put together.


RESTART_MS: Final = 20
PLAIN_PAUSE_MS: Final = 200
MOST_RUNS: Final = 2_000

Runs = tuple[WriteRun, ...]


def begins_run(before: Write, after: Write) -> bool:
    """Whether `after`, the next write of the key, begins a run (rules 1 to 3)."""
    return not _is_same_writer(before, after) or _pause_divides(before, after, RESTART_MS, PLAIN_PAUSE_MS)


def _is_same_writer(before: Write, after: Write) -> bool:
    return (before.producer_id, before.transactional) == (after.producer_id, after.transactional)


def _pause_divides(before: Write, after: Write, restart_ms: int, plain_ms: int) -> bool:
    pause = after.timestamp - before.timestamp
    if not after.transactional:
        return pause >= plain_ms
    return before.producer_epoch != after.producer_epoch and pause >= restart_ms


def runs_of(state: KeyState) -> Runs:
    """The runs of a state; without kept runs, one for transactional writes and one for plain writes."""
    if state.runs:
        return state.runs
    kinds = (
        (state.first_transactional, state.last_transactional, state.records - state.plain_records),
        (state.first_plain, state.last_plain, state.plain_records),
    )
    found = (WriteRun(first, last, records) for first, last, records in kinds if first and last)
    return tuple(sorted(found, key=lambda run: run.first.offset))


def join_runs(left: KeyState, right: KeyState) -> Runs:
    """The runs of two neighbouring ranges; none where neither range has kept any."""
    if not left.runs and not right.runs:
        return ()
    before, after = runs_of(left), runs_of(right)
    if before and after and not begins_run(before[-1].last, after[0].first):
        before, after = before[:-1], (_both(before[-1], after[0]), *after[1:])
    return thinned((*before, *after))


def _both(before: WriteRun, after: WriteRun) -> WriteRun:
    return WriteRun(before.first, after.last, before.records + after.records)


def thinned(runs: Sequence[WriteRun], most: int = MOST_RUNS) -> Runs:
    """Rule 4."""
    pause = 1
    while len(runs) > most and pause < 1 << 20:
        pause *= 2
        runs = _joined_runs(runs, restart_ms=pause * RESTART_MS, plain_ms=pause * PLAIN_PAUSE_MS)
    return tuple(runs)


def _joined_runs(runs: Iterable[WriteRun], *, restart_ms: int, plain_ms: int) -> list[WriteRun]:
    joined: list[WriteRun] = []
    for run in runs:
        pair = (joined[-1].last, run.first) if joined else None
        if pair is not None and _is_same_writer(*pair) and not _pause_divides(*pair, restart_ms, plain_ms):
            joined[-1] = _both(joined[-1], run)
        else:
            joined.append(run)
    return joined


def by_session(runs: Iterable[WriteRun], sessions: Sessions) -> Runs:
    """The runs with those that follow each other in one session of a producer as one."""
    joined: list[WriteRun] = []
    for run in runs:
        last = joined[-1].last if joined else None
        if last is not None and last.transactional and _is_same_writer(last, run.first):
            first = run.first
            if not sessions.began(first.producer_id, last.producer_epoch, first.producer_epoch):
                joined[-1] = _both(joined[-1], run)
                continue
        joined.append(run)
    return tuple(joined)


# The states of one key from two neighbouring ranges of one partition, as one.
#
# Merging is associative: any split of a partition into ranges gives the same state in the end.


KEPT_UNCERTAIN: Final = 30
"""Returns with another epoch that are kept: sessions may explain the first of them."""
KEPT_SNAPSHOTS: Final = 64
KEPT_RESTARTS: Final = 64
MOST_RETURNS: Final = 2 * (KEPT_PLACES + KEPT_UNCERTAIN)


def merge_keys(left: KeyState, right: KeyState, decode: Decode) -> KeyState:
    """The state of both ranges together; `right` is the later one."""
    change = Change(left.last, right.first)
    way = advance_of(change, left.key, decode)
    is_restart = way is Advance.AGAIN and left.last.transactional and right.first.transactional
    back = Regressions(1, (change,)) if way in _BACKWARD and not is_restart else Regressions()
    writers, returns = _merge_writers(left, right)
    transactional = left.first_transactional is not None
    return KeyState(
        key=left.key,
        records=left.records + right.records,
        tombstones=left.tombstones + right.tombstones,
        first=left.first,
        last=right.last,
        first_transactional=left.first_transactional or right.first_transactional,
        last_transactional=right.last_transactional or left.last_transactional,
        plain_records=left.plain_records + right.plain_records,
        plain_after=left.plain_after + (right.plain_records if transactional else right.plain_after),
        first_plain=left.first_plain or right.first_plain,
        first_plain_after=left.first_plain_after or (right.first_plain if transactional else right.first_plain_after),
        last_plain=right.last_plain or left.last_plain,
        setbacks=_joined(left.setbacks, back if left.last.transactional else Regressions(), right.setbacks),
        plain_setbacks=_joined(
            left.plain_setbacks, Regressions() if left.last.transactional else back, right.plain_setbacks
        ),
        repeats=(left.repeats + ((change,) if _repeats(change) else ()) + right.repeats)[:KEPT_PLACES],
        writers=writers,
        returns=returns,
        runs=join_runs(left, right),
        snapshots=_snapshots(left, right, change, decode),
        second=left.second or (_other_than(left.first, right) if may_begin_transaction(left.first.value) else None),
        restarts=_restarts(left, right, is_restart),
    )


def _restarts(left: KeyState, right: KeyState, is_restart: bool) -> Restarts:
    """Rule 7. A value that may be a start is followed by the other values of its range in `second`."""
    mine = left.restarts
    if mine.is_open:
        mine = _gone_on(mine, _other_than(mine.places[-1].start, right))
    if is_restart:
        mine = _one_more_restart(mine, RestartedTransaction(left.last, right.first, right.second))
    return Restarts(mine.total + right.restarts.total, (*mine.places, *right.restarts.places)[:KEPT_RESTARTS])


def _other_than(start: Write, right: KeyState) -> Write | None:
    return right.first if right.first.value != start.value else right.second


def _gone_on(restarts: Restarts, then: Write | None) -> Restarts:
    return restarts._replace(places=(*restarts.places[:-1], restarts.places[-1]._replace(then=then)))


def _one_more_restart(restarts: Restarts, found: RestartedTransaction) -> Restarts:
    kept = restarts.places if len(restarts.places) == KEPT_RESTARTS else (*restarts.places, found)
    return Restarts(restarts.total + 1, kept)


def _joined(*setbacks: Regressions) -> Regressions:
    places = tuple(change for each in setbacks for change in each.places)
    return Regressions(sum(each.total for each in setbacks), places[:KEPT_PLACES])


def _snapshots(left: KeyState, right: KeyState, change: Change, decode: Decode) -> tuple[Change, ...]:
    between = (change,) if begins_run(*change) else ()
    return kept_snapshots((*left.snapshots, *between, *right.snapshots), decode)


def kept_snapshots(changes: Iterable[Change], decode: Decode) -> tuple[Change, ...]:
    """Changes between unfinished snapshots: the first KEPT_SNAPSHOTS to another position, and as many others."""
    found = [(change, snapshot_change(change, decode)) for change in changes]
    moved = [change for change, kind in found if kind is SnapshotChange.OTHER_POSITION][:KEPT_SNAPSHOTS]
    same = [change for change, kind in found if kind not in {None, SnapshotChange.OTHER_POSITION}][:KEPT_SNAPSHOTS]
    return tuple(sorted((*moved, *same), key=lambda change: change.after.offset))


def _repeats(change: Change) -> bool:
    return change.after.value is not None and change.before.value == change.after.value


def _merge_writers(left: KeyState, right: KeyState) -> tuple[tuple[KeyWriter, ...], tuple[ReturnedProducer, ...]]:
    writers: dict[int, KeyWriter] = {writer.producer_id: writer for writer in left.writers}
    returns = [*left.returns, *right.returns]
    for writer in right.writers:
        before = writer.before or (left.last.producer_id, left.last.offset)
        known = writers.get(writer.producer_id)
        if known is None:
            writers[writer.producer_id] = writer._replace(before=before)
            continue
        writers[writer.producer_id] = known._replace(last=writer.last, last_epoch=writer.last_epoch)
        if writer.producer_id >= 0 and before[0] != writer.producer_id:
            place = writer.first, writer.first_timestamp, writer.first_epoch
            returns.append(ReturnedProducer(writer.producer_id, known.last, known.last_epoch, *before, *place))
    return tuple(writers.values()), first_returns(returns)


def first_returns(returns: Iterable[ReturnedProducer]) -> tuple[ReturnedProducer, ...]:
    """The first KEPT_PLACES with the same epoch, and the first KEPT_UNCERTAIN with another, by offset."""
    ordered = sorted(returns, key=lambda each: each.offset)
    same = [each for each in ordered if each.epoch == each.last_epoch][:KEPT_PLACES]
    other = [each for each in ordered if each.epoch != each.last_epoch][:KEPT_UNCERTAIN]
    return tuple(sorted((*same, *other), key=lambda each: each.offset))


def merge_all(into: dict[bytes | None, KeyState], states: Mapping[bytes | None, KeyState], decode: Decode) -> None:
    """Merges the states of a later range into the states of the earlier ranges."""
    for key, state in states.items():
        known = into.get(key)
        into[key] = state if known is None else merge_keys(known, state, decode)


# Most comparisons of two source offsets, answered without decoding them.
#
# 1. The shape of a value is the value with every digit replaced by 1.
# 2. A shape is plain if it is an object on one level, in printable ASCII, with distinct names that hold no digit; its
#    members are whole numbers of up to 18 digits without a sign, texts without an escape, booleans and null.
# 3. Of two values with the same plain shape, the later one is no setback (see `advance`) unless its bytes are lower:
#    they differ in digits only, and the first digit that differs is higher. In a number it makes the number higher. In
#    a text it makes the number at the text's end higher, or the text another one. If one of them is no JSON, nothing
#    compares.


ONES: Final = bytes.maketrans(b"0123456789", b"1111111111")
"""`value.translate(ONES)` is the shape of a value."""
_NAME: Final = rb'"[ !#-/:-\[\]-~]*"'
_TEXT: Final = rb'"[ !#-\[\]-~]*"'
_MEMBER: Final = rb"(%b): ?(?:1{1,18}|%b|true|false|null)" % (_NAME, _TEXT)
_PLAIN: Final = re.compile(rb"\{(?:%b(?:, ?%b)*)?\}" % (_MEMBER, _MEMBER))
_NAMES: Final = re.compile(_MEMBER)
MOST_SHAPES: Final = 10_000
_BACKWARD: Final = frozenset({Advance.BACK, Advance.AGAIN})


def is_plain(shape: bytes) -> bool:
    """Whether values of this shape compare by their bytes, by rules 2 and 3."""
    if _PLAIN.fullmatch(shape) is None:
        return False
    names = _NAMES.findall(shape)
    return len(set(names)) == len(names)


class PlainShapes:
    """Remembers which shapes are plain, MOST_SHAPES of them."""

    def __init__(self) -> None:
        self._known: dict[bytes, bytes | None] = {}

    def of(self, value: bytes) -> bytes | None:
        """The shape of a value; None if values of that shape cannot be compared by their bytes.

        Equal shapes are one object: the one compared with every record stays in the processor's cache.
        """
        shape = value.translate(ONES)
        if shape in self._known:
            return self._known[shape]
        plain = shape if is_plain(shape) else None
        if len(self._known) < MOST_SHAPES:
            self._known[shape] = plain
        return plain


Key = bytes | None
Tracked = Callable[[Key], bool]


def none_tracked(_: Key) -> bool:
    """Of no key."""
    return False


class _Last:
    """Facts of a key's last record that the next one needs; a separate class keeps them together in memory.

    shape is the last value's if it is plain; follower is the key that was written next, the last time.
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

    fields are those of `decoded`, the last decoded value. runs are the ended ones (None: not tracked). run is the first
    write of the current one, ahead the records before. is_start: the next other value is wanted (rule 7).
    """

    __slots__ = (
        "ahead",
        "decoded",
        "fields",
        "first",
        "first_plain",
        "first_plain_after",
        "first_transactional",
        "is_start",
        "last_plain",
        "last_transactional",
        "plain",
        "plain_after",
        "plain_setbacks",
        "repeats",
        "restarts",
        "returns",
        "run",
        "runs",
        "second",
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
        self.setbacks, self.plain_setbacks = Regressions(), Regressions()
        self.repeats: list[Change] = []
        self.writers: dict[int, list[int]] = {}
        self.returns: list[ReturnedProducer] = []
        self.snapshots: tuple[Change, ...] = ()
        self.second: Write | None = None
        self.restarts = Restarts()
        self.is_start = may_begin_transaction(entry.value)
        self.runs: list[WriteRun] | None = None
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
                _mind_start(slot, entry, writer)
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
            slot.runs.append(WriteRun(slot.run, before, slot.records - slot.ahead))
            slot.run, slot.ahead = after, slot.records
            if len(slot.runs) > 2 * MOST_RUNS:
                slot.runs = list(thinned(slot.runs))

    def _compare(self, slot: _Slot, entry: Entry, value: bytes, writer: BatchWriter) -> None:
        """Rules 2 and 3, where bytes alone do not show."""
        before = slot.value
        if value == before:
            _keep(slot.repeats, slot, entry, writer)
            return
        _mind_start(slot, entry, writer)
        shape = self._plain.of(value)
        if before is not None and not (shape and value > before and before.translate(ONES) == shape):
            was = slot.fields if slot.decoded is before else self._fields(before)
            slot.fields, slot.decoded = self._fields(value), value
            way = compare_offsets(was, slot.fields, entry.key, self._decode)
            if way in _BACKWARD:
                _mind_setback(slot, Change(_write(slot.entry, slot.writer), _write(entry, writer)), way)
        slot.shape = None if slot.is_start else shape

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
            slot.returns.append(ReturnedProducer(now, known[3], known[4], before, slot.entry.offset, *place))
            if len(slot.returns) > MOST_RETURNS:
                slot.returns = list(first_returns(slot.returns))

    def states(self) -> Iterator[KeyState]:
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
            second=slot.second,
            restarts=slot.restarts,
        )


def _runs(slot: _Slot, last: Write) -> tuple[WriteRun, ...]:
    return () if slot.runs is None else thinned((*slot.runs, WriteRun(slot.run, last, slot.records - slot.ahead)))


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


def _mind_start(slot: _Slot, entry: Entry, writer: BatchWriter) -> None:
    """Rule 7, at another value than the one before: behind a start it is the one that was wanted."""
    if not slot.is_start:
        return
    slot.is_start = False
    if slot.restarts.is_open:
        slot.restarts = _gone_on(slot.restarts, _write(entry, writer))
    elif not slot.restarts.total:
        slot.second = _write(entry, writer)


def _mind_setback(slot: _Slot, change: Change, way: Advance) -> None:
    if way is Advance.AGAIN and change.before.transactional and change.after.transactional:
        slot.restarts = _one_more_restart(slot.restarts, RestartedTransaction(*change))
        slot.is_start = True
    elif change.before.transactional:
        slot.setbacks = _one_more(slot.setbacks, change)
    else:
        slot.plain_setbacks = _one_more(slot.plain_setbacks, change)


def _one_more(setbacks: Regressions, change: Change) -> Regressions:
    kept = setbacks.places if len(setbacks.places) == KEPT_PLACES else (*setbacks.places, change)
    return Regressions(setbacks.total + 1, kept)


def _keep(places: list[Change], slot: _Slot, entry: Entry, writer: BatchWriter) -> None:
    if len(places) < KEPT_PLACES:
        places.append(Change(_write(slot.entry, slot.writer), _write(entry, writer)))


def _first_write(entry: Entry, writer: BatchWriter) -> list[int]:
    """The fields of a KeyWriter for a producer, with its last offset and epoch at the end."""
    return [entry.offset, entry.timestamp, writer.producer_epoch, entry.offset, writer.producer_epoch]


def _write(entry: Entry, writer: BatchWriter) -> Write:
    return Write(
        entry.offset, entry.timestamp, entry.value, writer.producer_id, writer.producer_epoch, writer.transactional
    )
