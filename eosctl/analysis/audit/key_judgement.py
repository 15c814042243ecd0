"""What is wrong with the keys of offsets topics, over all partitions and topics that hold the same source partition.

1. A key that is no key of a source partition is malformed; workers ignore it.
2. One raw key with a value in two partitions of one topic: the last one read wins, whichever that is (murmur2 missed).
3. Two raw keys that are the same JSON, both with a value, in one topic: a worker knows the one its connector writes.
4. A setback: no number is higher and one is lower than in the write before. Whether somebody altered the offset, as
   somebody wished, its transaction and the config topic show later (see `key_resolution`).
5. A repeat by another producer session is a sign that records were read again if its transaction carried data; without
   data it is what a restart without news, a heartbeat, a REST call or a copy writes. It stays a suspicion until that is
   known. It is no sign where one session repeats a value, too: such offsets show no position (those of MirrorMaker's
   heartbeats and checkpoints are always 0, some connectors give many records one offset).
6. A plain write after the key's first transactional one. Not in the worker's topic beside a connector's own one: there
   the worker writes a plain copy of every offset (see `store_changes`); those are no setbacks either.
7. A producer that came back within its session after another one had written: a zombie. What came back with another
   epoch is one only if no session began with an epoch in between (see `sessions`). None is who only went on after a
   plain write or a setback of somebody else, which are reported by themselves: nobody took its source partition over.
8. No write is a setback against a plain one that rule 6 reports: plain writes do not distinguish two tasks that ran at
   once, of which the one writes an older offset behind the other's. Nor do they show who altered an offset meanwhile.
9. Writes of the same key in another partition of the topic are held against it, too (see `misplaced_keys`).
10. In another store, a key has to begin where it was in the one before (see `store_changes`).
11. An unfinished snapshot that another session began again: Kafka kept its promise, readers have rows twice.
"""

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from itertools import groupby
from typing import Final, NamedTuple

from eosctl.analysis.audit.batches import Decode, KeyReader
from eosctl.analysis.audit.key_anomalies import KeyAnomalyKind, Placed, PlacedWrite, change_at, shown, trouble_at
from eosctl.analysis.audit.misplaced_keys import judge_strays
from eosctl.analysis.audit.sessions import Sessions
from eosctl.analysis.audit.snapshots import SnapshotChange, snapshot_change
from eosctl.analysis.audit.store_changes import KeyStores, stores_of_keys
from eosctl.model.audit_states import KEPT_PLACES, Change, KeyState, ReadKey, Return, Setbacks, Write
from eosctl.model.audit_summaries import KeyAnomaly


class Judged(NamedTuple):
    """What one source partition's keys show; counts are of events, anomalies their examples.

    suspicions count, and as what, once it is known whether their transactions carried data.
    """

    counts: tuple[tuple[KeyAnomalyKind, int], ...]
    anomalies: tuple[KeyAnomaly, ...]
    suspicions: tuple[KeyAnomaly, ...]


NOTHING_WRONG: Final = Judged((), (), ())


class KeyJudgementInputs(NamedTuple):
    """What keys are judged by: own_topics are offsets topics that are not the worker's, sessions all producers'."""

    own_topics: AbstractSet[str]
    sessions: Sessions
    read_key: KeyReader
    decode: Decode


def judge_keys(key: ReadKey, placed: Sequence[Placed], inputs: KeyJudgementInputs) -> Judged:
    """What is wrong with all keys that are this JSON."""
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
        suspicions += [*of_one.setbacks(), *of_one.snapshots()]
        repeated += of_one.repeats()
    if not any(_repeats_within(each.state, inputs.sessions) for each in placed):
        suspicions += repeated
    return Judged(tuple(each for each in counts if each[1]), tuple(found), tuple(suspicions))


def _is_uneventful(state: KeyState) -> bool:
    """Whether one partition alone shows nothing about a key, as of nearly all of them."""
    set_back = state.setbacks.total or state.plain_setbacks.total
    return not (set_back or state.returns or state.plain_after or state.repeats or state.snapshots)


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
    """Events within one partition; stores are those of the same raw key, where it has several."""

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
        """How many there are beyond those whose places are kept; of plain ones only if rule 8 holds for all."""
        plain = self._state.plain_setbacks if self._state.first_transactional is None else Setbacks()
        return sum(each.total - len(each.places) for each in (self._state.setbacks, plain))

    def _was_disturbed(self, each: Return) -> bool:
        """Rule 7: whether the one writer in between only wrote plainly, or an offset back."""
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
        """Those that no other rule explains: copies of the worker, changes of the store, snapshots begun again."""
        snapshots = {change.after.offset for change, _ in self._snapshot_changes()}
        for change in self._setback_places():
            offset = change.after.offset
            if offset in self._begun or offset in snapshots:
                continue
            if self._stores is None or not self._stores.is_copy_of_own(self._place, change.after):
                yield self._change(KeyAnomalyKind.SET_BACK, change)

    def returns(self) -> Iterator[KeyAnomaly]:
        for each in self.zombies:
            before = f"producer ID {each.other} at offset {each.other_offset}"
            after = f"producer ID {each.producer_id} at offset {each.last} and again at offset {each.offset}"
            last = self._state.last._replace(offset=each.offset, timestamp=each.timestamp)
            yield self._trouble(KeyAnomalyKind.ZOMBIE, last, before, after)

    def plain_writes(self) -> tuple[int, tuple[KeyAnomaly, ...]]:
        """How many there were after the first one in a transaction, and the first of them."""
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
        for change, kind in self._snapshot_changes():
            unclear = kind is SnapshotChange.UNKNOWN_FORM
            yield self._change(KeyAnomalyKind.SNAPSHOT_UNCLEAR if unclear else KeyAnomalyKind.SNAPSHOT, change)

    def _snapshot_changes(self) -> Iterator[tuple[Change, SnapshotChange]]:
        for change in self._state.snapshots:
            kind = snapshot_change(change, self._decode)
            if kind is not None and _is_other_session(change, self._sessions):
                yield change, kind

    def _change(self, kind: KeyAnomalyKind, change: Change) -> KeyAnomaly:
        was, now = PlacedWrite(self._place, change.before), PlacedWrite(self._place, change.after)
        return change_at(kind, self._key, was, now)

    def _trouble(self, kind: KeyAnomalyKind, at: Write, before: str, after: str) -> KeyAnomaly:
        return trouble_at(kind, self._key, self._place, at, before, after)
