"""Whether a connector that changed its offset store went on where it was.

1. A task that starts is given what its store holds for the key, and nothing else: a topic of its own that lacks the key
   answers null, and that hides what the worker's topic has (ConnectorOffsetBackingStore, V1). So a key's first write
   in another store goes on from the write before it there, not from the last one in the store that was left.
2. Both are the same where somebody copied the offset first (`eosctl migrate-offsets`), or where the worker did: beside
   a connector's own topic it writes a plain copy of every offset to its own.
3. The copy may itself be that first write: the same value, in a transaction without data. Data are known later, so
   such a write is a suspicion until then.
4. In one topic offsets show what came first, between topics timestamps do. Only the beginnings of runs are compared:
   hours of writes lie between those of two stores, or a stop and a start at least.
5. A plain write in the worker's topic is such a copy if the connector committed to its own one then.
6. Where plain writes that are no copies came between in the worker's topic, the connector was back there while
   exactly-once was off, and goes on from those. They are reported by themselves.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from itertools import pairwise
from typing import Final, NamedTuple

from eosctl.analysis.audit.key_anomalies import Placed, PlacedWrite
from eosctl.analysis.audit.key_runs import Runs, by_session, runs_of
from eosctl.analysis.audit.sessions import Sessions
from eosctl.model.audit_states import Run, Write
from eosctl.model.names import TopicPartition

SKEW_MS: Final = 5_000


class StoreChange(NamedTuple):
    """A key's first write in another store, after `was`, the last one elsewhere; held is what was there already."""

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
        before: tuple[TopicPartition, Run] | None = None
        for place, run in self._transactional:
            if before is None or before[0].topic != place.topic:
                yield from self._change(before, place, run)
            before = place, run

    def _change(
        self, before: tuple[TopicPartition, Run] | None, place: TopicPartition, run: Run
    ) -> Iterator[StoreChange]:
        was, first = self._left_at(before, place, run.first), run.first
        held = self._held(place, first)
        if was is None or was.write.value is None or (held is not None and held.value == was.write.value):
            return
        if held is not None and self._was_back(place, was.write, held):
            return
        yield StoreChange(was, held, PlacedWrite(place, first))

    def _left_at(
        self, before: tuple[TopicPartition, Run] | None, place: TopicPartition, first: Write
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
        """What the partition held before `first`."""
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
        """Runs of plain writes behind the first one in a transaction there that are no copies (rule 5)."""
        runs = self._runs[place]
        begun = next((number for number, run in enumerate(runs) if run.first.transactional), len(runs))
        plain = (run for run in runs[begun:] if not run.first.transactional)
        return tuple(run for run in plain if not self.is_copy_of_own(place, run.first))


def _beginning(found: tuple[TopicPartition, Run]) -> tuple[int, TopicPartition, int]:
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
