"""One pass over the config topic that gives both the reader's state and the census of its records."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace

from eosctl.analysis.config_topic import ConfigTopicReplay
from eosctl.model.config_census import (
    SHOWN,
    ConfigTopicCensus,
    Interleaving,
    InvalidKeys,
    MalformedKey,
    PrivilegedWrites,
)
from eosctl.model.config_topic import (
    PRIVILEGED_KINDS,
    ConfigRecord,
    Disposition,
    Effect,
    InvalidKeyRecord,
    MalformedRecord,
    Origin,
    RecordKind,
)
from eosctl.model.connectors import ClusterConfigState, Reader
from eosctl.model.names import ProducerIdAndEpoch
from eosctl.model.records import RecordState


@dataclass(frozen=True, slots=True)
class Survey:
    """A config topic read once: the reader's state and the census."""

    state: ClusterConfigState
    census: ConfigTopicCensus


def survey_config_topic(records: Iterable[ConfigRecord], reader: Reader) -> Survey:
    """State and census after all records of the partition, in offset order."""
    replay, census = ConfigTopicReplay(reader), _Census()
    for record in records:
        census.note(record, replay.apply(record))
    return Survey(replay.state(), census.freeze())


class _Census:
    def __init__(self) -> None:
        self._kinds: Counter[RecordKind] = Counter()
        self._states: Counter[RecordState] = Counter()
        self._first_open: Origin | None = None
        self._invalid: list[tuple[int, str]] = []
        self._malformed: dict[str | None, MalformedKey] = {}
        self._writes = _PrivilegedWrites()
        self._leaders = _Leaders()

    def note(self, record: ConfigRecord, effect: Effect) -> None:
        origin, kind = record.origin, record.kind
        self._kinds[kind] += 1
        if origin.state is not RecordState.COMMITTED:
            self._note_transaction(origin)
        if isinstance(record, MalformedRecord):
            self._note_malformed(record, effect)
        elif isinstance(record, InvalidKeyRecord) and len(self._invalid) < SHOWN:
            self._invalid.append((origin.offset, record.key))
        if kind in PRIVILEGED_KINDS:
            self._writes.note(origin)
            self._leaders.note(origin)

    def _note_transaction(self, origin: Origin) -> None:
        self._states[origin.state] += 1
        if self._first_open is None and origin.state is RecordState.OPEN:
            self._first_open = origin

    def _note_malformed(self, record: MalformedRecord, effect: Effect) -> None:
        if effect is Effect.ABORTED:
            return
        # A commit of an unknown connector is dropped before its value is looked at.
        disposition = Disposition.IGNORED if effect is Effect.UNCLAIMED else record.disposition
        before = self._malformed.pop(record.key, None)
        if before is None and len(self._malformed) >= SHOWN and disposition in _HARMLESS:
            return
        self._malformed[record.key] = MalformedKey(
            record.key,
            record.kind,
            record.connector,
            disposition,
            record.reason,
            1 if before is None else before.count + 1,
            record.origin.offset,
        )
        if len(self._malformed) > SHOWN * 2:
            self._forget_one()

    def _forget_one(self) -> None:
        harmless = (key for key, value in self._malformed.items() if value.disposition in _HARMLESS)
        del self._malformed[next(harmless, next(iter(self._malformed)))]

    def freeze(self) -> ConfigTopicCensus:
        invalid = InvalidKeys(self._kinds[RecordKind.INVALID_KEY], tuple(self._invalid))
        return ConfigTopicCensus(
            records=sum(self._kinds.values()),
            aborted=self._states[RecordState.ABORTED],
            open=self._states[RecordState.OPEN],
            first_open=self._first_open,
            kinds=dict(self._kinds),
            invalid_keys=invalid,
            malformed=tuple(self._malformed.values()),
            privileged=self._writes.freeze(),
            interleaving=self._leaders.interleaving,
        )


_HARMLESS = frozenset({Disposition.IGNORED, Disposition.UNREADABLE})


class _PrivilegedWrites:
    """Counts of PrivilegedWrites, kept as plain numbers because every record passes here."""

    def __init__(self) -> None:
        self._transactional = self._plain = self._plain_after = 0
        self._first_plain_after: int | None = None
        self._last_plain_after: int | None = None
        self._last_transactional: int | None = None
        self._last_is_plain = False

    def note(self, origin: Origin) -> None:
        self._last_is_plain = not origin.transactional
        if origin.transactional:
            self._transactional += 1
            self._last_transactional = origin.offset
            return
        self._plain += 1
        if self._last_transactional is not None:
            self._plain_after += 1
            self._last_plain_after = origin.offset
            if self._first_plain_after is None:
                self._first_plain_after = origin.offset

    def freeze(self) -> PrivilegedWrites:
        return PrivilegedWrites(
            self._transactional,
            self._plain,
            self._plain_after,
            self._first_plain_after,
            self._last_plain_after,
            self._last_transactional,
            self._last_is_plain,
        )


class _Leaders:
    """Watches the order of the leaders' producers.

    One transactional ID keeps its producer ID with rising epochs, or gets a new producer ID for good. So a producer ID
    that comes back, or an epoch that falls, means that two transactional IDs write to this topic.
    """

    def __init__(self) -> None:
        self.interleaving: Interleaving | None = None
        self._current: ProducerIdAndEpoch | None = None
        self._current_offset = -1
        self._retired: dict[int, tuple[ProducerIdAndEpoch, int]] = {}

    def note(self, origin: Origin) -> None:
        current = self._current
        if not origin.transactional or origin.producer_id < 0:
            return
        if current is None or (origin.producer_id, origin.producer_epoch) != (
            current.producer_id,
            current.producer_epoch,
        ):
            self._take_over(ProducerIdAndEpoch(origin.producer_id, origin.producer_epoch), origin.offset)
        self._current_offset = origin.offset

    def _take_over(self, producer: ProducerIdAndEpoch, offset: int) -> None:
        current = self._current
        if current is not None:
            before = self._retired.pop(producer.producer_id, None)
            if before is not None:
                self._note_interleaving(before, (current, self._current_offset), offset)
            elif producer.producer_id == current.producer_id and producer.producer_epoch < current.producer_epoch:
                self._note_interleaving((producer, offset), (current, self._current_offset), offset)
            if producer.producer_id != current.producer_id:
                self._retired[current.producer_id] = (current, self._current_offset)
        self._current = producer

    def _note_interleaving(
        self, earlier: tuple[ProducerIdAndEpoch, int], later: tuple[ProducerIdAndEpoch, int], offset: int
    ) -> None:
        if self.interleaving is None:
            self.interleaving = Interleaving(earlier[0], later[0], earlier[1], later[1], offset, 1)
        else:
            self.interleaving = replace(self.interleaving, count=self.interleaving.count + 1)
