"""The merged view of a connector's offset stores, as Kafka's code merges and as KIP-618 says it should.

1. ConnectorOffsetBackingStore.get puts what the connector-specific store answers over what the worker-global one
   answers. Each store answers every key it is asked for, null where it has none (KafkaOffsetBackingStore.get), and null
   is put over a value like anything else: with two stores, the worker-global one is never used. (The null shadow.)
2. KIP-618: the connector-specific offset, and where there is none the worker-global one.
3. A value that is not JSON, or not an object without nested members, is answered as null (OffsetStorageReaderImpl).
4. A key in two partitions of one topic: the partition read last wins, and nothing decides which that is.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from eosctl.model.merged_offsets import MergedOffset, StoredOffset
from eosctl.model.offset_stores import OffsetStore, OffsetStores, StorePlace
from eosctl.model.offsets import KeyRecords, MalformedValue, OffsetKey, OffsetsTopic, SourceOffset
from eosctl.model.records import IsolationLevel
from eosctl.model.skipped import Skipped

DecodeValue = Callable[[bytes | None], SourceOffset | MalformedValue | None]
ByKey = Mapping[bytes | None, tuple[KeyRecords, ...]]
Answer = StoredOffset | Skipped | None

NOT_READ = Skipped("it was not read")
UNDECIDED = Skipped("it depends on the workers' exactly.once.source.support, which is not known")


def by_key(topic: OffsetsTopic) -> ByKey:
    """Raw key -> what lies under it, an entry for each partition that has it."""
    found: dict[bytes | None, tuple[KeyRecords, ...]] = {}
    for part in topic.partitions:
        for raw, records in part.keys.items():
            found[raw] = (*found[raw], records) if raw in found else (records,)
    return found


@dataclass(frozen=True, slots=True)
class Merger:
    """Merges keys over the topics that were read: by place, None where there is no such topic."""

    worker_place: StorePlace
    topics: Mapping[StorePlace, ByKey | Skipped | None]
    decode: DecodeValue

    def merge(
        self, keys: Iterable[OffsetKey], candidates: tuple[OffsetStores, ...] | Skipped
    ) -> Iterator[MergedOffset]:
        """Each key of one connector; candidates are its stores, two answers where it is unknown which apply."""
        for key in keys:
            yield self._unknown(key, candidates) if isinstance(candidates, Skipped) else self._merged(key, candidates)

    def _unknown(self, key: OffsetKey, reason: Skipped) -> MergedOffset:
        general = self._shown(self.worker_place, key.raw, IsolationLevel.READ_COMMITTED)
        return MergedOffset(key, general, reason, reason, reason, reason.reason)

    def _merged(self, key: OffsetKey, candidates: tuple[OffsetStores, ...]) -> MergedOffset:
        first = candidates[0]
        general_level = (first.worker_global or first.connector_specific or _UNUSED).isolation_level
        general = self._shown(self.worker_place, key.raw, general_level)
        own = first.connector_specific
        specific = None
        if own is not None and own.place != self.worker_place:
            specific = self._shown(own.place, key.raw, own.isolation_level)
        answers = [self._answers(key.raw, stores) for stores in candidates]
        kafka, promised = answers[0]
        if any(answer != answers[0] for answer in answers):
            return MergedOffset(key, general, specific, UNDECIDED, UNDECIDED, UNDECIDED.reason)
        shadowed = kafka is None and first.both and self._is_shadow(key.raw, first, promised)
        words = self._words(key.raw, first, kafka, shadowed)
        return MergedOffset(key, general, specific, kafka, promised, words, shadowed)

    def _answers(self, raw: bytes, stores: OffsetStores) -> tuple[Answer, Answer]:
        """What Kafka answers, and what KIP-618 promises."""
        primary = stores.connector_specific or stores.worker_global
        assert primary is not None
        kafka = self._answer(primary, raw)
        if kafka is not None or not stores.both:
            return kafka, kafka
        assert stores.worker_global is not None
        return None, self._answer(stores.worker_global, raw)

    def _answer(self, store: OffsetStore, raw: bytes) -> Answer:
        """The offset that this store alone answers: None for a tombstone and for a value that cannot be used."""
        topic = self.topics.get(store.place, NOT_READ)
        if topic is None or isinstance(topic, Skipped):
            return topic
        found = self._seen(topic.get(raw, ()), store.isolation_level)
        if len({stored.record.value for stored in found}) > 1:
            partitions = ", ".join(str(stored.topic_partition.partition) for stored in found)
            return Skipped(f"{store.place} has it in partitions {partitions}: the one that is read last wins")
        stored = max(found, key=_timestamp, default=None)
        return stored if stored is not None and stored.usable else None

    def _seen(self, records: tuple[KeyRecords, ...], level: IsolationLevel) -> list[StoredOffset]:
        seen = ((each.topic_partition, each.seen_by(level)) for each in records)
        return [StoredOffset(place, record, self.decode(record.value)) for place, record in seen if record is not None]

    def _shown(self, place: StorePlace, raw: bytes, level: IsolationLevel) -> Answer:
        """The record that a reader holds, the newest of several partitions; else one that it does not see."""
        topic = self.topics.get(place, NOT_READ)
        if topic is None or isinstance(topic, Skipped):
            return topic
        records = topic.get(raw, ())
        seen = self._seen(records, level) or self._seen(records, IsolationLevel.READ_UNCOMMITTED)
        return max(seen, key=_timestamp, default=None)

    def _is_shadow(self, raw: bytes, stores: OffsetStores, promised: Answer) -> bool:
        """An offset in the worker-global store alone, not even a tombstone (somebody's wish) in the other."""
        assert stores.connector_specific is not None
        topic = self.topics.get(stores.connector_specific.place)
        silent = not isinstance(topic, Skipped) and (topic is None or not self._held(topic, raw, stores))
        return silent and isinstance(promised, StoredOffset)

    @staticmethod
    def _held(topic: ByKey, raw: bytes, stores: OffsetStores) -> bool:
        assert stores.connector_specific is not None
        level = stores.connector_specific.isolation_level
        return any(each.seen_by(level) is not None for each in topic.get(raw, ()))

    def _words(self, raw: bytes, stores: OffsetStores, kafka: Answer, shadowed: bool) -> str:
        primary = stores.connector_specific or stores.worker_global
        assert primary is not None
        if isinstance(kafka, Skipped):
            return kafka.reason
        if shadowed:
            words = f"nothing in {primary.place} hides the offset in {self.worker_place}: it begins from nothing"
        elif kafka is None:
            words = self._why_nothing(primary, raw)
        else:
            kind = "connector-specific" if stores.connector_specific is not None else "worker-global"
            words = f"{kind} store, {kafka.topic_partition} offset {kafka.record.offset}"
        return words + self._undecided(primary, raw)

    def _why_nothing(self, store: OffsetStore, raw: bytes) -> str:
        topic = self.topics.get(store.place)
        if topic is None or isinstance(topic, Skipped):
            return f"{store.place} does not exist"
        found = self._seen(topic.get(raw, ()), store.isolation_level)
        malformed = [each.value.reason for each in found if isinstance(each.value, MalformedValue)]
        if malformed:
            return f"the value in {store.place} cannot be used: {malformed[0]}"
        return f"a tombstone in {store.place}" if found else f"nothing in {store.place}"

    def _undecided(self, store: OffsetStore, raw: bytes) -> str:
        """What an open transaction may still change."""
        topic = self.topics.get(store.place)
        if topic is None or isinstance(topic, Skipped) or store.isolation_level is IsolationLevel.READ_UNCOMMITTED:
            return ""
        waiting = [each.open for each in topic.get(raw, ()) if each.open is not None and each.open is each.last]
        return f"; an open transaction may replace it (offset {waiting[0].offset})" if waiting else ""


_UNUSED = OffsetStore(StorePlace(""), IsolationLevel.READ_COMMITTED)


def _timestamp(stored: StoredOffset) -> tuple[int, int]:
    return stored.record.timestamp, stored.record.offset
