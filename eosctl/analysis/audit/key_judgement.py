"""What is wrong with the keys of offsets topics, over all partitions and topics that hold the same source partition.

1. A key that is no key of a source partition is malformed; workers ignore it.
2. One raw key with a value in two partitions of one topic: the last one read wins, whichever that is (murmur2 missed).
3. Two raw keys that are the same JSON, both with a value, in one topic: a worker knows the one its connector writes.
4. A setback: no number is higher and one is lower than in the write before. Also from the worker's topic to the
   connector's own: the first write there is compared with the last one in a transaction here before it; and back: the
   last write here with the last one there, if this one is later.
5. A repeat by another producer session is a sign that records were read again if its transaction carried data; without
   data it is what a restart without news, a REST call or a copy writes. It stays a suspicion until that is known. It is
   no sign where one session repeats a value, too: such offsets tell no position (those of MirrorMaker's heartbeats and
   checkpoints are always 0, some connectors give many records one offset).
6. A plain write after the key's first transactional one. Not in the worker's topic beside a connector's own one: there
   the worker writes a plain copy of every offset (ConnectorOffsetBackingStore).
7. A producer that came back within its session after another one had written: a zombie. What came back with another
   epoch is one only if no session began with an epoch in between (see `sessions`). None is who only went on after a
   plain write or a setback of somebody else, which are reported by themselves: nobody took its source partition over.
8. For the same reason a write in a transaction is no setback against a plain write before it (rule 6).
9. Writes of the same key in another partition of the topic are held against it, too (see `key_strays`).
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Final, NamedTuple

from eosctl.analysis.audit.advance import is_back
from eosctl.analysis.audit.batches import Decode, KeyReader
from eosctl.analysis.audit.key_anomalies import KeyAnomalyKind, Placed, shown, trouble_at
from eosctl.analysis.audit.misplaced_keys import judge_strays
from eosctl.analysis.audit.sessions import Sessions
from eosctl.model.audit_states import KEPT_PLACES, Change, KeyState, ReadKey, Return, Write
from eosctl.model.audit_summaries import KeyAnomaly, KeySuspicion, Suspicion
from eosctl.model.names import TopicPartition

SKEW_MS: Final = 5_000


class Judged(NamedTuple):
    """What one source partition's keys show; counts are of events, anomalies their examples."""

    counts: tuple[tuple[KeyAnomalyKind, int], ...]
    anomalies: tuple[KeyAnomaly, ...]
    suspicions: tuple[KeySuspicion, ...]


NOTHING_WRONG: Final = Judged((), (), ())


class KeyJudgementInputs(NamedTuple):
    """What keys are judged by: own_topics are offsets topics of single connectors, sessions those of all producers."""

    own_topics: Mapping[str, tuple[str, ...]]
    sessions: Sessions
    read_key: KeyReader
    decode: Decode


def judge_keys(key: ReadKey, placed: Sequence[Placed], inputs: KeyJudgementInputs) -> Judged:
    """What is wrong with all keys that are this JSON."""
    if len(placed) == 1 and key.connector is not None and _is_uneventful(placed[0].state):
        return NOTHING_WRONG
    found = [*_of_all(key, placed, inputs), *judge_strays(key, placed, inputs.decode)]
    counts = [(KeyAnomalyKind(anomaly.kind), 1) for anomaly in found]
    own = [each for each in placed if each.place.topic in inputs.own_topics]
    suspicions = [*_moves_repeated(key, placed, own)]
    for each in placed:
        of_one = _OfOne(key, each, inputs.sessions)
        mirrored = each.place.topic not in inputs.own_topics and own
        events = [
            (each.state.setbacks - of_one.harmless_setbacks, of_one.setbacks()),
            (len(of_one.zombies), of_one.returns()),
            *([] if mirrored and _mirrors(each, own) else [(each.state.plain_after, of_one.plain_writes())]),
        ]
        for count, anomalies in events:
            listed = list(anomalies)
            found += listed
            counts += [(KeyAnomalyKind(anomaly.kind), count) for anomaly in listed[:1]]
        suspicions += of_one.suspicions()
    reported = not any(_repeats_within(each.state, inputs.sessions) for each in placed)
    return Judged(tuple(counts), tuple(found), tuple(suspicions) if reported else ())


def _is_uneventful(state: KeyState) -> bool:
    """Whether one partition alone shows nothing about a key, as of nearly all of them."""
    return not (state.setbacks or state.returns or state.plain_after or state.repeats)


def _of_all(key: ReadKey, placed: Sequence[Placed], inputs: KeyJudgementInputs) -> Iterator[KeyAnomaly]:
    if key.connector is None:
        for place, state in placed[:1]:
            yield trouble_at(KeyAnomalyKind.MALFORMED_KEY, key, place, state.last, key.reason or "", "")
        return
    live = [each for each in placed if each.state.last.value is not None]
    for _, group in groupby(live, key=lambda each: each.place.topic):
        same_topic = list(group)
        yield from _doubled(key, same_topic)
    yield from _moves_set_back(key, placed, inputs)


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


def _moves(placed: Sequence[Placed], own: Iterable[Placed]) -> Iterator[tuple[Placed, Placed, Change]]:
    """From each other topic to a connector's own: the last transactional write there, the first one here after it."""
    for now in own:
        for was in placed:
            before = was.state.last_transactional
            elsewhere = was.place.topic != now.place.topic and was.state.key == now.state.key
            if elsewhere and before is not None and before.timestamp <= now.state.first.timestamp + SKEW_MS:
                yield was, now, Change(before, now.state.first)


def _returns_to_worker(placed: Sequence[Placed], own: Sequence[Placed]) -> Iterator[tuple[Placed, Placed, Change]]:
    """From a connector's own topic back to another one: the last transactional writes of both, the later one after."""
    for was in own:
        for now in placed:
            before, after = was.state.last_transactional, now.state.last
            elsewhere = was.place.topic != now.place.topic and was.state.key == now.state.key
            if elsewhere and before is not None and after.transactional and after.timestamp > before.timestamp:
                yield was, now, Change(before, after)


def _moves_set_back(key: ReadKey, placed: Sequence[Placed], inputs: KeyJudgementInputs) -> Iterator[KeyAnomaly]:
    own = [each for each in placed if each.place.topic in inputs.own_topics]
    for was, now, change in (*_moves(placed, own), *_returns_to_worker(placed, own)):
        if is_back(change, inputs.decode):
            before, after = shown(was.place, change.before), shown(now.place, change.after)
            yield trouble_at(KeyAnomalyKind.SET_BACK, key, now.place, change.after, before, after)


def _moves_repeated(key: ReadKey, placed: Sequence[Placed], own: Sequence[Placed]) -> Iterator[KeySuspicion]:
    for was, now, change in _moves(placed, own):
        if change.after.value is not None and change.before.value == change.after.value:
            yield _suspicion(key, was.place, now.place, change)


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


def _mirrors(each: Placed, own: Sequence[Placed]) -> bool:
    """Whether the plain writes in the worker's topic began when the connector wrote its own one already."""
    first = each.state.first_plain_after
    return first is not None and any(mine.state.first.timestamp <= first.timestamp + SKEW_MS for mine in own)


class _OfOne:
    """Events within one partition."""

    def __init__(self, key: ReadKey, placed: Placed, sessions: Sessions) -> None:
        self._key, self._place, self._state, self._sessions = key, placed.place, placed.state, sessions
        self._setbacks = [each for each in self._state.setback_places if not self._is_after_plain(each)]
        self.harmless_setbacks = len(self._state.setback_places) - len(self._setbacks)
        self.zombies = [
            each
            for each in self._state.returns
            if not sessions.began(each.producer_id, each.last_epoch, each.epoch) and not self._was_disturbed(each)
        ][:KEPT_PLACES]

    def _is_after_plain(self, change: Change) -> bool:
        """Rule 8."""
        began = self._state.first_transactional
        plain_after = not change.before.transactional and began is not None and began.offset < change.before.offset
        return plain_after and change.after.transactional

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
            for change in self._state.setback_places
        )

    def setbacks(self) -> Iterator[KeyAnomaly]:
        for before, after in self._setbacks:
            yield self._trouble(KeyAnomalyKind.SET_BACK, after, shown(self._place, before), shown(self._place, after))

    def returns(self) -> Iterator[KeyAnomaly]:
        for each in self.zombies:
            before = f"producer ID {each.other} at offset {each.other_offset}"
            after = f"producer ID {each.producer_id} at offset {each.last} and again at offset {each.offset}"
            last = self._state.last._replace(offset=each.offset, timestamp=each.timestamp)
            yield self._trouble(KeyAnomalyKind.ZOMBIE, last, before, after)

    def plain_writes(self) -> Iterator[KeyAnomaly]:
        first, began = self._state.first_plain_after, self._state.first_transactional
        if first is not None and began is not None:
            before, after = shown(self._place, began), shown(self._place, first)
            yield self._trouble(KeyAnomalyKind.PLAIN_WRITE, first, before, after)

    def suspicions(self) -> Iterator[KeySuspicion]:
        for change in self._state.repeats:
            if _is_other_session(change, self._sessions):
                yield _suspicion(self._key, self._place, self._place, change)

    def _trouble(self, kind: KeyAnomalyKind, at: Write, before: str, after: str) -> KeyAnomaly:
        return trouble_at(kind, self._key, self._place, at, before, after)


def _suspicion(key: ReadKey, was: TopicPartition, now: TopicPartition, change: Change) -> KeySuspicion:
    at = change.after
    place = Suspicion(now.topic, now.partition, at.offset, at.producer_id)
    before, after = shown(was, change.before), shown(now, at)
    return KeySuspicion(place, trouble_at(KeyAnomalyKind.REPEATED, key, now, at, before, after))
