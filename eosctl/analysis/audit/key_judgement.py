"""Anomalies of keys of offsets topics, over all partitions and topics that hold the same source partition.

1. A key that is no key of a source partition is malformed; workers ignore it.
2. One raw key with a value in two partitions of one topic: the last one read wins, whichever that is (murmur2 missed).
3. Two raw keys that are the same JSON, both with a value, in one topic: a worker knows the one its connector writes.
4. A setback: no number is higher and one is lower than in the write before. Whether a user altered the offset, as
   requested, its transaction and the config topic show later (see `resolve`).
5. A repeat by another producer session is a sign that records were read again if its transaction carried data; without
   data it is what a restart without news, a heartbeat, a REST call or a copy writes. It stays a suspicion until that is
   known. It is no sign where one session repeats a value, too: such offsets show no position (those of MirrorMaker's
   heartbeats and checkpoints are always 0, some connectors give many records one offset).
6. A plain write after the key's first transactional one. Not in the worker's topic beside a connector's own one: there
   the worker writes a plain copy of every offset (see `store_changes`); those are no setbacks either.
7. A producer that came back within its session after another one had written: a zombie. A producer with another epoch
   is one only if no session began with an epoch in between (see `sessions`). A producer that only continued after
   another one's plain write or setback (reported separately) is no zombie: no other task took its source partition
   over.
8. No write is a setback against a plain one that rule 6 reports: plain writes do not distinguish two tasks that ran at
   once, of which the one writes an older offset behind the other's. Nor do they show who altered an offset meanwhile.
9. Writes of the same key in another partition of the topic are held against it, too (see `misplaced_keys`).
10. In another store, a key has to begin where it was in the one before (see `store_changes`).
11. An unfinished snapshot that another session began again: Kafka kept its promise, readers have rows twice.
12. A restart within a transaction of the database (see `key_scan`) is no setback if the session that wrote the start
    went on to the write before it, or further: Debezium skips as many events and rows as that write counts. If another
    session went on, it was given the start, and read the transaction again: a setback, if it committed data. All else
    is unclear.
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from collections.abc import Set as AbstractSet
from enum import StrEnum
from itertools import groupby, pairwise
from typing import Final, NamedTuple

from eosctl.analysis.audit.batches import (
    Advance,
    Decode,
    KeyReader,
    SnapshotChange,
    advance_of,
    is_back,
    snapshot_change,
)
from eosctl.analysis.audit.key_scan import Runs, by_session, runs_of
from eosctl.analysis.audit.sessions import Sessions
from eosctl.model.audit import (
    CommittedData,
    ConnectorHistory,
    ConnectorKeys,
    KeyAnomaly,
    KeySummary,
    OffsetsWrite,
    OutputPart,
)
from eosctl.model.audit_states import (
    KEPT_PLACES,
    Change,
    KeyState,
    ReadKey,
    Regressions,
    RestartedTransaction,
    ReturnedProducer,
    Write,
    WriteRun,
)
from eosctl.model.names import TopicPartition


class KeyAnomalyKind(StrEnum):
    MALFORMED_KEY = "malformed-offsets-key"
    TWO_PARTITIONS = "key-in-two-partitions"
    SAME_PARTITION = "logical-duplicates"
    SET_BACK = "offset-set-back"
    SET_BACK_UNCLEAR = "offset-set-back-unclear"
    READ_AGAIN = "transaction-read-again"
    REPEATED = "offset-repeated"
    PLAIN_WRITE = "plain-offsets-write"
    ZOMBIE = "zombie-writer"
    COPIED = "offset-copied"
    NOT_TAKEN_OVER = "offset-not-taken-over"
    ALTERED = "offsets-altered"
    SNAPSHOT = "snapshot-begun-again"
    SNAPSHOT_UNCLEAR = "snapshot-unclear"


class PlacedWrite(NamedTuple):
    """A write, and its partition."""

    place: TopicPartition
    write: Write


class Placed(NamedTuple):
    """A key's state with its partition."""

    place: TopicPartition
    state: KeyState


def trouble_at(
    kind: KeyAnomalyKind, key: ReadKey, place: TopicPartition, at: Write, before: str, after: str
) -> KeyAnomaly:
    """An anomaly at a write, with what was there before and after, as `shown` writes it."""
    return KeyAnomaly(
        kind.value, key.connector, place.topic, place.partition, at.offset, at.timestamp, key.text, before, after
    )


def shown(place: TopicPartition, write: Write) -> str:
    value = "tombstone" if write.value is None else write.value[:200].decode("utf-8", "backslashreplace")
    return f"{place}@{write.offset}: {value}"


def change_at(kind: KeyAnomalyKind, key: ReadKey, was: PlacedWrite, now: PlacedWrite, more: str = "") -> KeyAnomaly:
    """An anomaly between two writes, whose transactions can be looked up."""
    found = trouble_at(kind, key, *now, shown(*was), shown(*now) + more)
    return found._replace(was=written_at(*was), now=written_at(*now))


def written_at(place: TopicPartition, write: Write) -> OffsetsWrite | None:
    """The place of the commit; None outside any transaction."""
    if not write.transactional:
        return None
    return OffsetsWrite(place.topic, place.partition, write.offset, write.producer_id)


# Writes of one key that lie in another partition than the connector's own (V12: a producer that does not use murmur2).
#
# The partition of the task is the one with the key's first write in a transaction, or the most of them. Elsewhere, in
# the same topic and under the same raw key:
#
# 1. A plain write after the task's first transactional one is outside any transaction like one beside it.
# 2. A first write is a setback if the task's last transactional one before it was higher. Producers' timestamps show
#    which write came first. If the task has written since, only its first and last writes are known: a value below the
#    first one is a setback, too.


def judge_strays(key: ReadKey, placed: Sequence[Placed], decode: Decode) -> Iterator[KeyAnomaly]:
    for home in _homes(placed):
        for stray in placed:
            beside = stray.place.topic == home.place.topic and stray.state.key == home.state.key
            if beside and stray.place != home.place:
                yield from _of_stray(key, home, stray, decode)


def _homes(placed: Sequence[Placed]) -> Iterator[Placed]:
    """The partition that the connector's task writes to, by topic and raw key with writes elsewhere."""
    groups: dict[tuple[str, bytes | None], list[Placed]] = {}
    for each in placed:
        groups.setdefault((each.place.topic, each.state.key), []).append(each)
    for group in groups.values():
        written = [each for each in group if each.state.first_transactional is not None]
        if len(group) > 1 and written:
            yield max(written, key=_weight)


def _weight(each: Placed) -> tuple[int, int]:
    begun = each.state.first_transactional
    return each.state.records - each.state.plain_records, 0 if begun is None else -begun.timestamp


def _of_stray(key: ReadKey, home: Placed, stray: Placed, decode: Decode) -> Iterator[KeyAnomaly]:
    began = home.state.first_transactional
    plain = _plain_after(stray.state, began)
    if began is not None and plain is not None:
        before, after = shown(home.place, began), shown(stray.place, plain)
        yield trouble_at(KeyAnomalyKind.PLAIN_WRITE, key, stray.place, plain, before, after)
    last, first = _before(home.state, stray.state.first), stray.state.first
    if last is not None and is_back(Change(last, first), stray.state.key, decode):
        before, after = shown(home.place, last), shown(stray.place, first)
        yield trouble_at(KeyAnomalyKind.SET_BACK, key, stray.place, first, before, after)


def _plain_after(state: KeyState, began: Write | None) -> Write | None:
    if began is None or state.first_transactional is not None:
        return None
    plain = (each for each in (state.first_plain, state.last_plain) if each is not None)
    return next((each for each in plain if each.timestamp > began.timestamp), None)


def _before(state: KeyState, write: Write) -> Write | None:
    """The last known transactional write that was before another one."""
    known = (state.last_transactional, state.first_transactional)
    return next((each for each in known if each is not None and each.timestamp < write.timestamp), None)


# Checks that a connector resumed at its position after it changed its offset store.
#
# 1. A task that starts is given what its store holds for the key, and nothing else: a connector-specific topic without
#    the key answers null, which hides the value of the worker-global topic (ConnectorOffsetBackingStore, V1). So a
#    key's first write in another store continues from the previous write there, not from the last write in the old
#    store.
# 2. Both are the same where a user (`eosctl migrate-offsets`) or the worker copied the offset first: for a connector
#    with its own offsets topic it also writes a non-transactional copy of every offset to the worker-global topic.
# 3. The copy may itself be that first write: the same value, in a transaction without data. Data are known later, so
#    such a write is a suspicion until then.
# 4. In one topic offsets show what came first, between topics timestamps do. Only the beginnings of runs are compared:
#    hours of writes lie between those of two stores, or a stop and a start at least.
# 5. A plain write in the worker's topic is such a copy if the connector committed to its own one then.
# 6. Other non-transactional writes in between, in the worker-global topic, show that the connector used it while
#    exactly-once was off, and continues from these writes. They are reported by themselves.


SKEW_MS: Final = 5_000


class StoreChange(NamedTuple):
    """A key's first write in another store, after `was`, the last one elsewhere; held is the value there before."""

    was: PlacedWrite
    held: Write | None
    now: PlacedWrite


class KeyStores:
    """The writes of one raw key in all offsets topics. own_topics are those that are not the worker's."""

    def __init__(self, placed: Iterable[Placed], own_topics: Set[str], sessions: Sessions) -> None:
        self._own_topics = own_topics
        self._runs: Mapping[TopicPartition, Runs] = {
            each.place: by_session(runs_of(each.state), sessions) for each in placed
        }
        found = [(place, run) for place, runs in self._runs.items() for run in runs]
        self._transactional = sorted((each for each in found if each[1].first.transactional), key=_beginning)
        self._plain = sorted((each for each in found if not each[1].first.transactional), key=_beginning)

    def changes(self) -> Iterator[StoreChange]:
        """Changes of the store after which the connector did not begin with the last offset (rules 1 to 3)."""
        before: tuple[TopicPartition, WriteRun] | None = None
        for place, run in self._transactional:
            if before is None or before[0].topic != place.topic:
                yield from self._change(before, place, run)
            before = place, run

    def _change(
        self, before: tuple[TopicPartition, WriteRun] | None, place: TopicPartition, run: WriteRun
    ) -> Iterator[StoreChange]:
        was, first = self._left_at(before, place, run.first), run.first
        held = self._held(place, first)
        if was is None or was.write.value is None or (held is not None and held.value == was.write.value):
            return
        if held is not None and self._was_back(place, was.write, held):
            return
        yield StoreChange(was, held, PlacedWrite(place, first))

    def _left_at(
        self, before: tuple[TopicPartition, WriteRun] | None, place: TopicPartition, first: Write
    ) -> PlacedWrite | None:
        """The last write elsewhere before `first`; a plain one only if it is known to be later (rule 4)."""
        left = None if before is None else PlacedWrite(before[0], before[1].last)
        for elsewhere, run in self._plain:
            if elsewhere.topic == place.topic or run.first.timestamp >= first.timestamp:
                continue
            last = run.last if run.last.timestamp < first.timestamp else run.first
            if left is None or self._is_later(elsewhere, last, left):
                left = PlacedWrite(elsewhere, last)
        return left

    def _is_later(self, place: TopicPartition, plain: Write, than: PlacedWrite) -> bool:
        if place == than.place and not self.is_copy_of_own(place, plain):
            return plain.offset > than.write.offset
        return plain.timestamp > than.write.timestamp + SKEW_MS

    def _held(self, place: TopicPartition, first: Write) -> Write | None:
        """The value in the partition before `first`."""
        return next((run.last for run, behind in pairwise(self._runs[place]) if behind.first == first), None)

    def is_copy_of_own(self, place: TopicPartition, write: Write) -> bool:
        """Rule 5."""
        if write.transactional or place.topic in self._own_topics:
            return False
        return any(
            run.first.timestamp - SKEW_MS <= write.timestamp <= run.last.timestamp + SKEW_MS
            for elsewhere, run in (*self._transactional, *self._plain)
            if elsewhere.topic in self._own_topics
        )

    def _was_back(self, place: TopicPartition, was: Write, held: Write) -> bool:
        """Rule 6."""
        if held.transactional or place.topic in self._own_topics or held.timestamp <= was.timestamp + SKEW_MS:
            return False
        return any(run.last == held and not self.is_copy_of_own(place, run.first) for run in self._runs[place])

    def plain_after(self, place: TopicPartition) -> Runs:
        """Runs of plain writes behind the key's first transactional one that are not copies (rule 5)."""
        runs = self._runs[place]
        begun = next((number for number, run in enumerate(runs) if run.first.transactional), len(runs))
        plain = (run for run in runs[begun:] if not run.first.transactional)
        return tuple(run for run in plain if not self.is_copy_of_own(place, run.first))


def _beginning(found: tuple[TopicPartition, WriteRun]) -> tuple[int, TopicPartition, int]:
    place, run = found
    return run.first.timestamp, place, run.first.offset


def stores_of_keys(
    placed: Sequence[Placed], own_topics: Set[str], sessions: Sessions
) -> Mapping[bytes | None, KeyStores]:
    """By raw key, those with writes in several offsets topics."""
    groups: dict[bytes | None, list[Placed]] = {}
    for each in placed:
        groups.setdefault(each.state.key, []).append(each)
    return {
        key: KeyStores(group, own_topics, sessions)
        for key, group in groups.items()
        if len({each.place.topic for each in group}) > 1
    }


class Judged(NamedTuple):
    """Anomalies of one source partition's keys; counts are of events, anomalies their examples.

    suspicions count, and as what, once it is known whether their transactions carried data.
    """

    counts: tuple[tuple[KeyAnomalyKind, int], ...]
    anomalies: tuple[KeyAnomaly, ...]
    suspicions: tuple[KeyAnomaly, ...]


NOTHING_WRONG: Final = Judged((), (), ())


class KeyJudgementInputs(NamedTuple):
    """The inputs for judging keys: own_topics are connector-specific offsets topics, sessions all producers'."""

    own_topics: AbstractSet[str]
    sessions: Sessions
    read_key: KeyReader
    decode: Decode


def judge_keys(key: ReadKey, placed: Sequence[Placed], inputs: KeyJudgementInputs) -> Judged:
    """Anomalies of all keys with the same JSON."""
    if len(placed) == 1 and key.connector is not None and _is_uneventful(placed[0].state):
        return NOTHING_WRONG
    found = [*_of_all(key, placed), *judge_strays(key, placed, inputs.decode)]
    counts = [(KeyAnomalyKind(anomaly.kind), 1) for anomaly in found]
    stores = stores_of_keys(placed, inputs.own_topics, inputs.sessions)
    suspicions = [anomaly for each in stores.values() for anomaly in _store_changes(key, each)]
    repeated: list[KeyAnomaly] = []
    for each in placed:
        of_one = _OfOne(key, each, stores.get(each.state.key), inputs)
        plain, anomalies = of_one.plain_writes()
        found += [*anomalies, *of_one.returns()]
        counts += [
            (KeyAnomalyKind.PLAIN_WRITE, plain),
            (KeyAnomalyKind.ZOMBIE, len(of_one.zombies)),
            (KeyAnomalyKind.SET_BACK, of_one.setbacks_without_place()),
        ]
        suspicions += [*of_one.setbacks(), *of_one.restarts(), *of_one.snapshots()]
        repeated += of_one.repeats()
    if not any(_repeats_within(each.state, inputs.sessions) for each in placed):
        suspicions += repeated
    return Judged(tuple(each for each in counts if each[1]), tuple(found), tuple(suspicions))


def _is_uneventful(state: KeyState) -> bool:
    """True if one partition alone shows nothing about a key, as for nearly all keys."""
    set_back = state.setbacks.total or state.plain_setbacks.total
    restarted = state.restarts.total
    return not (set_back or restarted or state.returns or state.plain_after or state.repeats or state.snapshots)


def _of_all(key: ReadKey, placed: Sequence[Placed]) -> Iterator[KeyAnomaly]:
    if key.connector is None:
        for place, state in placed[:1]:
            yield trouble_at(KeyAnomalyKind.MALFORMED_KEY, key, place, state.last, key.reason or "", "")
        return
    live = [each for each in placed if each.state.last.value is not None]
    for _, group in groupby(live, key=lambda each: each.place.topic):
        same_topic = list(group)
        yield from _doubled(key, same_topic)


def _store_changes(key: ReadKey, stores: KeyStores) -> Iterator[KeyAnomaly]:
    for was, held, now in stores.changes():
        copied = was.write.value == now.write.value
        began = "nothing" if held is None or held.value is None else shown(now.place, held)
        kind = KeyAnomalyKind.COPIED if copied else KeyAnomalyKind.NOT_TAKEN_OVER
        yield change_at(kind, key, was, now, f" (the topic held {began} before)")


def _doubled(key: ReadKey, live: Sequence[Placed]) -> Iterator[KeyAnomaly]:
    newest = max(live, key=lambda each: each.state.last.timestamp)
    for each in live:
        if each is newest:
            continue
        same = each.state.key == newest.state.key
        if same and each.place == newest.place:
            continue
        kind = KeyAnomalyKind.TWO_PARTITIONS if same else KeyAnomalyKind.SAME_PARTITION
        last = newest.state.last
        yield trouble_at(
            kind, key, each.place, each.state.last, shown(newest.place, last), shown(each.place, each.state.last)
        )


def _repeats_within(state: KeyState, sessions: Sessions) -> bool:
    """Whether a session wrote a value that it had written just before (rule 5)."""
    return any(
        before.producer_id == after.producer_id >= 0 and not _is_other_session(Change(before, after), sessions)
        for before, after in state.repeats
    )


def _is_other_session(change: Change, sessions: Sessions) -> bool:
    before, after = change
    if before.producer_id != after.producer_id:
        return True
    return sessions.began(after.producer_id, before.producer_epoch, after.producer_epoch)


class _OfOne:
    """Events within one partition; stores are the stores of the same raw key, if it has several."""

    def __init__(self, key: ReadKey, placed: Placed, stores: KeyStores | None, inputs: KeyJudgementInputs) -> None:
        self._key, self._place, self._state = key, placed.place, placed.state
        self._sessions, self._decode, self._stores = inputs.sessions, inputs.decode, stores
        self._begun = {} if stores is None else {each.now.write.offset: each for each in stores.changes()}
        self.zombies = [
            each
            for each in self._state.returns
            if not self._sessions.began(each.producer_id, each.last_epoch, each.epoch) and not self._was_disturbed(each)
        ][:KEPT_PLACES]

    def _setback_places(self) -> Iterator[Change]:
        """Rule 8: those against a plain write only while the key had no transaction yet."""
        yield from self._state.setbacks.places
        began = self._state.first_transactional
        for change in self._state.plain_setbacks.places:
            if began is None or change.before.offset < began.offset:
                yield change

    def setbacks_without_place(self) -> int:
        """Setbacks beyond those with a kept place; plain ones only if rule 8 holds for all."""
        plain = self._state.plain_setbacks if self._state.first_transactional is None else Regressions()
        return sum(each.total - len(each.places) for each in (self._state.setbacks, plain))

    def _was_disturbed(self, each: ReturnedProducer) -> bool:
        """Rule 7: whether the only writer in between wrote without transactions, or a lower offset."""
        between = [
            writer
            for writer in self._state.writers
            if writer.producer_id != each.producer_id and writer.first < each.offset and writer.last > each.last
        ]
        if [writer.producer_id for writer in between] != [each.other]:
            return False
        plain = (self._state.first_plain_after, self._state.last_plain)
        if any(write is not None and write.producer_id == each.other for write in plain):
            return True
        return any(
            change.after.producer_id == each.other and each.last < change.after.offset <= each.other_offset
            for change in (*self._state.setbacks.places, *self._state.plain_setbacks.places)
        )

    def setbacks(self) -> Iterator[KeyAnomaly]:
        """Setbacks that no other rule explains: no copy, change of the store or repeated snapshot."""
        snapshots = {change.after.offset for change in self._snapshot_changes()}
        for change in self._setback_places():
            offset = change.after.offset
            if offset in self._begun or offset in snapshots:
                continue
            if self._stores is None or not self._stores.is_copy_of_own(self._place, change.after):
                yield self._change(KeyAnomalyKind.SET_BACK, change)

    def restarts(self) -> Iterator[KeyAnomaly]:
        """Rule 12. Restarts beyond those with a kept place are unclear with the last one that has it."""
        total, places = self._state.restarts
        for number, each in enumerate(places, 1):
            is_last_of_many = number == len(places) < total
            kind = KeyAnomalyKind.SET_BACK_UNCLEAR if is_last_of_many else self._kind_of(each)
            if kind is not None and each.start.offset not in self._begun:
                then = None if each.then is None else written_at(self._place, each.then)
                yield self._change(kind, Change(each.before, each.start))._replace(then=then)

    def _kind_of(self, restart: RestartedTransaction) -> KeyAnomalyKind | None:
        before, start, then = restart
        if then is None or then.value is None or not _is_other_session(Change(before, start), self._sessions):
            return KeyAnomalyKind.SET_BACK_UNCLEAR
        if _is_other_session(Change(start, then), self._sessions):
            return KeyAnomalyKind.READ_AGAIN
        way = advance_of(Change(before, then), self._state.key, self._decode)
        if way in {Advance.ADVANCED, Advance.SAME}:
            return None
        return KeyAnomalyKind.SET_BACK_UNCLEAR if way is Advance.UNCLEAR else KeyAnomalyKind.READ_AGAIN

    def returns(self) -> Iterator[KeyAnomaly]:
        for each in self.zombies:
            before = f"producer ID {each.other} at offset {each.other_offset}"
            after = f"producer ID {each.producer_id} at offset {each.last} and again at offset {each.offset}"
            last = self._state.last._replace(offset=each.offset, timestamp=each.timestamp)
            yield self._trouble(KeyAnomalyKind.ZOMBIE, last, before, after)

    def plain_writes(self) -> tuple[int, tuple[KeyAnomaly, ...]]:
        """The number of plain writes after the first transactional one, and the first of them."""
        first, began, count = self._state.first_plain_after, self._state.first_transactional, self._state.plain_after
        if first is not None and self._stores is not None:
            runs = self._stores.plain_after(self._place)
            first, count = (runs[0].first, sum(run.records for run in runs)) if runs else (None, 0)
        if first is None or began is None:
            return 0, ()
        before, after = shown(self._place, began), shown(self._place, first)
        return count, (self._trouble(KeyAnomalyKind.PLAIN_WRITE, first, before, after),)

    def repeats(self) -> Iterator[KeyAnomaly]:
        for change in self._state.repeats:
            if _is_other_session(change, self._sessions) and change.after.offset not in self._begun:
                yield self._change(KeyAnomalyKind.REPEATED, change)

    def snapshots(self) -> Iterator[KeyAnomaly]:
        """Unfinished snapshots that another session found."""
        for change in self._snapshot_changes():
            unclear = snapshot_change(change, self._decode) is SnapshotChange.UNKNOWN_FORM
            yield self._change(KeyAnomalyKind.SNAPSHOT_UNCLEAR if unclear else KeyAnomalyKind.SNAPSHOT, change)

    def _snapshot_changes(self) -> Iterator[Change]:
        return (change for change in self._state.snapshots if _is_other_session(change, self._sessions))

    def _change(self, kind: KeyAnomalyKind, change: Change) -> KeyAnomaly:
        was, now = PlacedWrite(self._place, change.before), PlacedWrite(self._place, change.after)
        return change_at(kind, self._key, was, now)

    def _trouble(self, kind: KeyAnomalyKind, at: Write, before: str, after: str) -> KeyAnomaly:
        return trouble_at(kind, self._key, self._place, at, before, after)


MOST_SUSPICIONS: Final = 10_000
MOST_LATEST: Final = 1_000


def summarize_keys(partitions: Mapping[TopicPartition, Iterable[KeyState]], inputs: KeyJudgementInputs) -> KeySummary:
    """Summary of the keys of some partitions. All keys with the same JSON have to be among them."""
    same: dict[ReadKey, list[Placed]] = {}
    for place in sorted(partitions):
        for state in partitions[place]:
            same.setdefault(inputs.read_key(state.key), []).append(Placed(place, state))
    summary = _Summary()
    for key, placed in same.items():
        summary.add(key, placed, judge_keys(key, placed, inputs))
    return summary.result()


class _Connector:
    """The keys of one connector so far."""

    def __init__(self) -> None:
        self._keys = self._records = self._tombstones = 0
        self._producers: set[int] = set()
        self._begun: int | None = None
        self._upgraded: int | None = None
        self._last_write: int | None = None

    def add(self, placed: Sequence[Placed]) -> None:
        for _, state in placed:
            self._keys += 1
            self._records += state.records
            self._tombstones += state.tombstones
            for writer in state.writers:
                self._producers.add(writer.producer_id)
            begun = state.first_transactional
            if begun is not None and (self._begun is None or begun.timestamp < self._begun):
                self._begun = begun.timestamp
            upgraded = _upgraded(state)
            if upgraded is not None and (self._upgraded is None or upgraded > self._upgraded):
                self._upgraded = upgraded
            if self._last_write is None or state.last.timestamp > self._last_write:
                self._last_write = state.last.timestamp

    def result(self, name: str | None) -> ConnectorKeys:
        assert self._last_write is not None
        producers = tuple(sorted(each for each in self._producers if each >= 0))
        counts = self._keys, self._records, self._tombstones
        return ConnectorKeys(name, *counts, producers, self._begun, self._upgraded, self._last_write)


class _Summary:
    """Conclusions so far."""

    def __init__(self) -> None:
        self._connectors: dict[str | None, _Connector] = {}
        self._counts: Counter[tuple[str, str]] = Counter()
        self._anomalies: list[KeyAnomaly] = []
        self._suspicions: list[KeyAnomaly] = []
        self._latest: list[OffsetsWrite] = []

    def add(self, key: ReadKey, placed: Sequence[Placed], judged: Judged) -> None:
        connector = self._connectors.get(key.connector)
        if connector is None:
            connector = self._connectors[key.connector] = _Connector()
        connector.add(placed)
        for kind, count in judged.counts:
            self._counts[kind.value, key.connector or ""] += count
        self._anomalies += judged.anomalies
        self._suspicions += judged.suspicions
        for place, state in placed:
            last = None if state.last_transactional is None else written_at(place, state.last_transactional)
            if last is not None:
                self._latest.append(last)

    def result(self) -> KeySummary:
        return KeySummary(
            tuple(each.result(name) for name, each in self._connectors.items()),
            tuple((kind, connector, count) for (kind, connector), count in sorted(self._counts.items())),
            first_key_troubles(self._anomalies),
            tuple(sorted(self._suspicions, key=_order)[:MOST_SUSPICIONS]),
            tuple(sorted(self._latest)[:MOST_LATEST]),
        )


def add_key_summaries(summaries: Iterable[KeySummary]) -> KeySummary:
    """All summaries as one."""
    connectors: dict[str | None, list[ConnectorKeys]] = {}
    counts: Counter[tuple[str, str]] = Counter()
    anomalies: list[KeyAnomaly] = []
    suspicions: list[KeyAnomaly] = []
    latest: list[OffsetsWrite] = []
    for summary in summaries:
        for each in summary.connectors:
            connectors.setdefault(each.connector, []).append(each)
        for kind, connector, count in summary.counts:
            counts[kind, connector] += count
        anomalies += summary.anomalies
        suspicions += summary.suspicions
        latest += summary.latest
    names = sorted(connectors, key=lambda name: (name is None, name or ""))
    return KeySummary(
        tuple(_add_connector(connectors[name]) for name in names),
        tuple((kind, connector, count) for (kind, connector), count in sorted(counts.items())),
        first_key_troubles(anomalies),
        tuple(sorted(suspicions, key=_order)[:MOST_SUSPICIONS]),
        tuple(sorted(latest)[:MOST_LATEST]),
    )


def first_key_troubles(anomalies: Iterable[KeyAnomaly]) -> tuple[KeyAnomaly, ...]:
    """The earliest KEPT_PLACES of each kind and connector."""
    kept: dict[tuple[str, str], list[KeyAnomaly]] = {}
    for anomaly in sorted(anomalies, key=_order):
        places = kept.setdefault((anomaly.kind, anomaly.connector or ""), [])
        if len(places) < KEPT_PLACES:
            places.append(anomaly)
    return tuple(anomaly for places in kept.values() for anomaly in places)


def _order(anomaly: KeyAnomaly) -> tuple[object, ...]:
    return anomaly.kind, anomaly.connector or "", anomaly.timestamp, anomaly.topic, *anomaly[3:9]


def _upgraded(state: KeyState) -> int | None:
    """The time of the key's first transactional write, if earlier writes were non-transactional."""
    begun = state.first_transactional
    return begun.timestamp if begun is not None and state.plain_records > state.plain_after else None


def _add_connector(each: Sequence[ConnectorKeys]) -> ConnectorKeys:
    begun = [one.first_transactional for one in each if one.first_transactional is not None]
    return ConnectorKeys(
        each[0].connector,
        sum(one.keys for one in each),
        sum(one.records for one in each),
        sum(one.tombstones for one in each),
        tuple(sorted({producer_id for one in each for producer_id in one.producers})),
        min(begun, default=None),
        max((one.upgraded for one in each if one.upgraded is not None), default=None),
        max(one.last_write for one in each),
    )


# Resolves a suspicious source offset by the data of its transaction.
#
# 1. Offsets that a stopped connector's own producer commits without data were altered: by a request to Connect, or by a
#    tool in the same way. Records that are read again after it are read again on request.
# 2. A copied offset (the same value as in the store before) carries no data. With data, the connector began from
#    nothing and came as far again in its first transaction.
# 3. An offset that is repeated without data is no sign of anything. Nor is one with data if none of it went where the
#    data of the offset before went: records that are read again are written to the same topics; heartbeats are not.
#    Debezium's heartbeats have topics of their own and are no data: the first one of a session repeats the offset of
#    the last one of the session before. Nor are its metadata of transactions, in the topic `<server>.transaction`: a
#    BEGIN is sent again to a connector that restarts within the transaction, and an END has the offset of the last
#    row.
# 4. A database's transaction is read again only if the session that was given its start committed data.


Data = tuple[OutputPart, ...]
HEARTBEATS: Final = "__debezium-heartbeat."
"""The prefix of Debezium's heartbeat topics, unless topic.heartbeat.prefix sets another."""


class Circumstances(NamedTuple):
    """The facts that resolve a suspicion: data of transactions, connectors by producer ID, and connectors'
    histories."""

    committed: Mapping[OffsetsWrite, Data]
    owners: Mapping[int, tuple[str, ...]]
    histories: Mapping[str, ConnectorHistory]

    def data(self, write: OffsetsWrite | None) -> Data | None:
        """The data of its transaction; None where it is unknown."""
        return None if write is None else self.committed.get(write)

    def was_altered(self, anomaly: KeyAnomaly) -> bool:
        """Rule 1."""
        if anomaly.now is None or self.data(anomaly.now) != () or anomaly.connector is None:
            return False
        mine = anomaly.connector in self.owners.get(anomaly.now.producer_id, ())
        history = self.histories.get(anomaly.connector)
        return mine and history is not None and is_stopped(history, anomaly.timestamp)


def circumstances(
    committed: Iterable[CommittedData],
    owners: Mapping[int, tuple[str, ...]],
    histories: Iterable[ConnectorHistory],
) -> Circumstances:
    return Circumstances(
        {each.write: each.data for each in committed}, owners, {each.connector: each for each in histories}
    )


def is_stopped(history: ConnectorHistory, timestamp: int) -> bool:
    """Whether the connector's last commit before this time left it without tasks."""
    commits = [tasks for time, _, kind, tasks in history.starts if kind == "commit" and time <= timestamp]
    return commits[-1:] == [0]


def resolve(anomaly: KeyAnomaly, known: Circumstances) -> KeyAnomalyKind | None:
    """The resolved anomaly, or None where the suspicion was unfounded."""
    match KeyAnomalyKind(anomaly.kind):
        case KeyAnomalyKind.REPEATED:
            return KeyAnomalyKind.REPEATED if _may_be_read_again(anomaly, known) else None
        case KeyAnomalyKind.COPIED:
            return KeyAnomalyKind.NOT_TAKEN_OVER if known.data(anomaly.now) else None
        case (
            KeyAnomalyKind.SET_BACK
            | KeyAnomalyKind.SET_BACK_UNCLEAR
            | KeyAnomalyKind.READ_AGAIN
            | KeyAnomalyKind.NOT_TAKEN_OVER
        ) if known.was_altered(anomaly):
            return KeyAnomalyKind.ALTERED
        case KeyAnomalyKind.READ_AGAIN:
            has_data = _topics(known.data(anomaly.then)) - {metadata_topic(anomaly.key)}
            return KeyAnomalyKind.SET_BACK if has_data else KeyAnomalyKind.SET_BACK_UNCLEAR
        case kind:
            return kind


def _may_be_read_again(anomaly: KeyAnomaly, known: Circumstances) -> bool:
    """Rule 3."""
    besides = metadata_topic(anomaly.key)
    before, again = (_topics(known.data(each)) - {besides} for each in (anomaly.was, anomaly.now))
    return bool(again) and (not before or not before.isdisjoint(again))


def _topics(data: Data | None) -> set[str]:
    """Topics of data that are no heartbeats."""
    return {each.topic for each in data or () if not each.topic.startswith(HEARTBEATS)}


def metadata_topic(key: str) -> str | None:
    """Where Debezium writes metadata of transactions, by a key such as ["orders",{"server":"shop"}]."""
    try:
        match json.loads(key):
            case [str(), {"server": str(server)}]:
                return f"{server}.transaction"
    except ValueError:
        pass
    return None
