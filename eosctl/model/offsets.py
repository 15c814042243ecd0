"""Source offsets in an offsets topic: keys, values, and the latest record of each key.

The raw bytes of a key are its identity, as for a worker (KafkaOffsetBackingStore keeps a map keyed by bytes): two texts
of the same JSON are two keys.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from enum import StrEnum
from functools import cached_property
from heapq import nsmallest
from itertools import islice
from math import isfinite
from operator import attrgetter
from typing import Final, NamedTuple, overload

from msgspec import Struct, field

from eosctl.errors import EosctlError, UsageError
from eosctl.model.names import TopicPartition
from eosctl.model.records import IsolationLevel, Record, RecordState
from eosctl.model.report import Finding, Result
from eosctl.model.skipped import Cause, Skipped
from eosctl.model.topics import PartitionOffsets, TopicFacts
from eosctl.model.versions import NEWEST, KafkaVersion
from eosctl.model.workers import KnownPhase

SourcePartition = Mapping[str, object]
"""The source that a connector reads, as it names it: text to null, text, number or boolean."""

SourceOffset = Mapping[str, object]
"""How far a connector has read there: text to null, text, number or boolean."""


def finite(value: Mapping[str, object]) -> dict[str, object]:
    """A copy of the map, with doubles that JSON cannot write (1e400 reads as infinite) as text."""
    return {name: str(item) if type(item) is float and not isfinite(item) else item for name, item in value.items()}


class OffsetKey(Struct, frozen=True):
    """A key `["connector",{source partition}]`; partition None is JSON null, which workers look up but never list."""

    raw: bytes
    connector: str
    partition: SourcePartition | None

    @property
    def members(self) -> SourcePartition:
        """The source partition; that of a null has none."""
        return self.partition or {}


class MalformedKey(Struct, frozen=True):
    """A key that is not of that form, and why; workers ignore its record. raw None is a null key."""

    raw: bytes | None
    reason: str


class MalformedValue(Struct, frozen=True):
    """A value that a worker cannot use, and why: the connector is then answered as if there were none.

    Where there are many values, `type(value) is` finds one: isinstance takes 0.1 us for a value that is no such Struct.
    """

    raw: bytes
    reason: str


KEPT_STATES: Final = (RecordState.COMMITTED, RecordState.OPEN, RecordState.ABORTED)


class KeyRecords(NamedTuple):
    """The records of one topic partition under one raw key: the last record in each transaction state.

    records counts all of them in every state if the key is malformed; other keys' are counted together only: None.
    """

    topic_partition: TopicPartition
    committed: Record | None
    open: Record | None
    aborted: Record | None
    records: int | None

    @property
    def last(self) -> Record:
        """The record with the highest offset, regardless of the state of its transaction."""
        if self.committed is not None and self.open is None and self.aborted is None:
            return self.committed
        found = (record for record in (self.committed, self.open, self.aborted) if record is not None)
        return max(found, key=lambda record: record.offset)

    def seen_by(self, isolation_level: IsolationLevel) -> Record | None:
        """The record that a reader of this isolation level holds: a value, a tombstone, or None for neither."""
        return self.committed if isolation_level is IsolationLevel.READ_COMMITTED else self.last


Entry = tuple[OffsetKey, KeyRecords]
ByRawKey = Mapping[bytes | None, Record]
"""The last record of each raw key in one transaction state."""


class LastRecords(Mapping[bytes | None, KeyRecords]):
    """The records of one partition by raw key, put together when they are asked for: of many keys few are.

    keys are all keys, in the order in which they came. last are the last records in the order of KeyRecords, counted
    the numbers of records that it has.
    """

    def __init__(
        self,
        topic_partition: TopicPartition,
        keys: Collection[bytes | None],
        last: tuple[ByRawKey, ByRawKey, ByRawKey],
        counted: Mapping[bytes | None, int],
    ) -> None:
        self.last = last
        self._topic_partition = topic_partition
        self._keys = keys
        self._counted = counted
        self._made: tuple[bytes | None, KeyRecords] | None = None

    def __getitem__(self, raw: bytes | None) -> KeyRecords:
        if self._made is not None and self._made[0] == raw:
            return self._made[1]
        if raw not in self._keys:
            raise KeyError(raw)
        committed, opened, aborted = (last.get(raw) for last in self.last)
        made = KeyRecords(self._topic_partition, committed, opened, aborted, self._counted.get(raw))
        self._made = raw, made
        return made

    def __contains__(self, raw: object) -> bool:
        return raw in self._keys

    def __iter__(self) -> Iterator[bytes | None]:
        return iter(self._keys)

    def __len__(self) -> int:
        return len(self._keys)


class OffsetsPartition(Struct, frozen=True):
    """The last records of each raw key, the keys decoded, and the number of all records in every state."""

    topic_partition: TopicPartition
    offsets: PartitionOffsets | Skipped
    keys: Mapping[bytes | None, KeyRecords]
    decoded: Mapping[bytes | None, OffsetKey | MalformedKey]
    records: int

    @property
    def last(self) -> tuple[ByRawKey, ByRawKey, ByRawKey]:
        """The last records by raw key, in the order of KeyRecords."""
        if isinstance(self.keys, LastRecords):
            return self.keys.last
        return (
            {raw: each.committed for raw, each in self.keys.items() if each.committed is not None},
            {raw: each.open for raw, each in self.keys.items() if each.open is not None},
            {raw: each.aborted for raw, each in self.keys.items() if each.aborted is not None},
        )

    def committed(self, raw: bytes | None) -> Record | None:
        """The last committed record under this key, without making the others."""
        return self.keys.last[0].get(raw) if isinstance(self.keys, LastRecords) else self.keys[raw].committed

    @property
    def uncommitted(self) -> Collection[bytes | None]:
        """The raw keys with a record of an open or aborted transaction."""
        _, opened, aborted = self.last
        return opened.keys() | aborted.keys()

    def committed_alone(self) -> Iterator[tuple[bytes | None, bytes | None]]:
        """Each raw key whose records are all committed, and the value of the last."""
        others, last = self.uncommitted, self.last[0]
        found = zip(last, map(attrgetter("value"), last.values()), strict=True)
        return (each for each in found if each[0] not in others) if others else found


class OffsetsTopic(Struct, frozen=True):
    topic: str
    facts: TopicFacts | Skipped
    partitions: tuple[OffsetsPartition, ...]

    def under(self, raw: bytes | None) -> tuple[KeyRecords, ...]:
        """The records under a raw key, one entry for each partition that has it: more than one is a fault (V12)."""
        return tuple(part.keys[raw] for part in self.partitions if raw in part.keys)

    def raw_keys(self) -> Iterator[bytes | None]:
        seen: set[bytes | None] = set()
        for part in self.partitions:
            yield from (raw for raw in part.keys if raw not in seen)
            seen.update(part.keys)

    @property
    def records(self) -> int:
        return sum(part.records for part in self.partitions)


class WorkerSettings(Struct, frozen=True):
    """Settings of a Connect cluster's workers that decide where offsets are kept.

    offsets_topic is offset.storage.topic; clients holds the worker's own `producer.*` and `consumer.*` settings, which
    its connectors inherit, and its isolation.level.
    """

    offsets_topic: str
    exactly_once: KnownPhase | Skipped
    bootstrap_servers: frozenset[str] | Skipped
    version: KafkaVersion = NEWEST
    clients: Mapping[str, str] | Skipped = field(default_factory=dict)

    @property
    def known_clients(self) -> Mapping[str, str]:
        """The settings of clients; none where they were not read, as of workers that set none."""
        return {} if isinstance(self.clients, Skipped) else self.clients


class StorePlace(Struct, frozen=True):
    """A topic and the cluster it is in: bootstrap_servers None is the cluster that the workers keep their topics in."""

    topic: str
    bootstrap_servers: frozenset[str] | None = None

    def __str__(self) -> str:
        servers = self.bootstrap_servers
        return self.topic if servers is None else f"{self.topic} on {','.join(sorted(servers))}"


class OffsetStore(Struct, frozen=True):
    place: StorePlace
    isolation_level: IsolationLevel


class OffsetStores(Struct, frozen=True):
    """The stores of one connector; at least one of the two exists.

    All connectors share worker_global. The connector's own clients read connector_specific, in any topic. written_to is
    the first target of a task's offsets. words name the row of Kafka's rule that applies. sent_to are the
    bootstrap.servers of the producer if they differ from the worker's; Skipped: unknown.
    """

    worker_global: OffsetStore | None
    connector_specific: OffsetStore | None
    written_to: StorePlace
    words: str
    sent_to: frozenset[str] | Skipped | None = None

    @property
    def both(self) -> bool:
        """True if there are two stores: then an offset may be shadowed (EOS080), and KIP-618 promises a fallback."""
        return self.worker_global is not None and self.connector_specific is not None

    @property
    def places(self) -> tuple[StorePlace, ...]:
        stores = (self.worker_global, self.connector_specific)
        return tuple(dict.fromkeys(store.place for store in stores if store is not None))


class StoredOffset(NamedTuple):
    """A record of an offsets topic and its value read: None for a tombstone, MalformedValue for an unusable value."""

    topic_partition: TopicPartition
    record: Record
    value: SourceOffset | MalformedValue | None

    @property
    def usable(self) -> bool:
        return self.value is not None and not isinstance(self.value, MalformedValue)


class ByPhase(NamedTuple):
    """The offsets that a task would begin from under enabled workers, and under others.

    uncommitted says that they differ because the key's last record is of a transaction that was aborted or is open.
    """

    enabled: StoredOffset | Skipped | None
    not_enabled: StoredOffset | Skipped | None
    uncommitted: bool


class MergedOffset(NamedTuple):
    """One key of one connector, in every store.

    worker_global and connector_specific are the records in the worker's topic and in the connector's own: the record
    that the store's reader sees, or the last one that it does not see. kafka_effective is the offset from which a task
    starts, kip618_effective the one that KIP-618 promises; None: from nothing; Skipped: unknown, with the reason.
    by_phase is None if exactly.once.source.support makes no difference. position is the task's start offset in its
    connector's own terms; None if these are unknown.
    """

    key: OffsetKey
    worker_global: StoredOffset | Skipped | None
    connector_specific: StoredOffset | Skipped | None
    kafka_effective: StoredOffset | Skipped | None
    kip618_effective: StoredOffset | Skipped | None
    provenance: str
    shadowed: bool = False
    by_phase: ByPhase | None = None
    position: str | None = None

    @property
    def live(self) -> bool:
        """True if a store holds more than a tombstone: a value, or an unreadable record."""
        general, own = self.worker_global, self.connector_specific
        if general is not None and (not isinstance(general, StoredOffset) or general.value is not None):
            return True
        return own is not None and (not isinstance(own, StoredOffset) or own.value is not None)


class MergedOffsets(Sequence[MergedOffset]):
    """The offsets of one connector in the order of their raw keys, each made when it is asked for.

    Nearly all are plain: a usable value in the only store, which no finding is about. others are the rest. keys may
    come in any order: they are sorted when an offset is asked for.
    """

    def __init__(
        self,
        keys: Sequence[OffsetKey],
        others: Mapping[bytes, MergedOffset],
        make: Callable[[OffsetKey], MergedOffset],
    ) -> None:
        self._unsorted = list(keys)
        self._others = others
        self._make = make

    @cached_property
    def _keys(self) -> Sequence[OffsetKey]:
        self._unsorted.sort(key=attrgetter("raw"))
        return self._unsorted

    @property
    def others(self) -> Collection[MergedOffset]:
        return self._others.values()

    def first_live_keys(self, count: int) -> Sequence[OffsetKey]:
        """The first keys of those that are live, without putting all in order."""
        live = {key.raw: key for key in self._unsorted}
        for raw, each in self._others.items():
            if not each.live:
                del live[raw]
        return [live[raw] for raw in nsmallest(count, live)]

    def _merged(self, key: OffsetKey) -> MergedOffset:
        return self._others.get(key.raw) or self._make(key)

    def __len__(self) -> int:
        return len(self._unsorted)

    def __iter__(self) -> Iterator[MergedOffset]:
        other, make = self._others.get, self._make
        return (other(key.raw) or make(key) for key in self._keys)

    @overload
    def __getitem__(self, place: int) -> MergedOffset: ...

    @overload
    def __getitem__(self, place: slice) -> Sequence[MergedOffset]: ...

    def __getitem__(self, place: int | slice) -> MergedOffset | Sequence[MergedOffset]:
        if isinstance(place, slice):
            return list(self)[place]
        return self._merged(self._keys[place])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]  # its keys hold maps


class ConnectorOffsets(Struct, frozen=True):
    """A connector and its offsets; known says whether the connector exists.

    stores has two entries where it is unknown whether exactly-once is enabled and that makes a difference.
    """

    name: str
    known: bool | Skipped
    stores: tuple[OffsetStores, ...] | Skipped
    offsets: Sequence[MergedOffset]

    @property
    def others(self) -> Collection[MergedOffset]:
        """The offsets that are not plain."""
        return self.offsets.others if isinstance(self.offsets, MergedOffsets) else self.offsets

    def first_live_keys(self, count: int) -> Sequence[OffsetKey]:
        """The keys of the first of its offsets that are live."""
        if isinstance(self.offsets, MergedOffsets):
            return self.offsets.first_live_keys(count)
        return [*islice((each.key for each in self.offsets if each.live), count)]

    @property
    def live(self) -> int:
        """The number of its offsets that are live, as each plain one is."""
        return len(self.offsets) - sum(not each.live for each in self.others)


class OffsetsReport(Result, frozen=True):
    """The answer of `offsets show`: offsets as of as_of (ms since the epoch), by the settings of the workers.

    topics are the requested ones, None for one that does not exist. absent are requested connectors that neither exist
    nor have offsets. skipped names each unread or unchecked fact with its reason. what_if is the assumed offsets topic
    if the user asked about another one. is_offsets_topic False: that topic or the workers' has records but no key of an
    offsets topic; then the only finding is about it.
    """

    connectors: tuple[ConnectorOffsets, ...]
    topics: Mapping[StorePlace, OffsetsTopic | Skipped | None]
    findings: tuple[Finding, ...]
    absent: tuple[str, ...]
    skipped: Mapping[str, Skipped]
    worker: WorkerSettings
    as_of: int
    cluster_id: str | None = None
    notes: tuple[str, ...] = ()
    is_offsets_topic: bool = True
    what_if: str | None = None

    @property
    def reported(self) -> tuple[Finding, ...]:
        return self.findings

    @property
    def failure(self) -> EosctlError | None:
        if self.is_offsets_topic:
            return None
        topic = self.findings[0].subject
        option, setting = "--worker-offsets-topic", "offset.storage.topic of the workers"
        if topic == self.what_if:
            option, setting = "--offsets-topic", "offsets.storage.topic of a connector"
        return UsageError(
            f"topic {topic} is not an offsets topic of Kafka Connect",
            hint=f"{option} takes the topic that {setting} names",
        )

    @property
    def complete(self) -> bool:
        """Whether all topics, settings and connectors were read, and no two workers name other stores."""
        lacking = (each.cause.is_gap or each.cause is Cause.MIXED for each in self.skipped.values())
        return not self.coverage.gaps and not any(lacking)


class OffsetsFacts(Struct, frozen=True):
    """Offsets topics, folded, by place (None: there is no such topic), and the worker settings that led to them."""

    worker: WorkerSettings
    topics: Mapping[StorePlace, OffsetsTopic | Skipped | None]


class Order(StrEnum):
    BEFORE = "before"
    SAME = "same"
    AFTER = "after"
    INCOMPARABLE = "cannot be compared"


class Served(StrEnum):
    """Whether a source still has the changes after a position: all, not the next ones, or none."""

    SERVED = "served"
    LEFT_BEHIND = "left-behind"
    GONE = "gone"


class AtSource(NamedTuple):
    served: Served
    words: str


class ConnectorOffset(NamedTuple):
    """One entry of a KIP-875 body; offset None is JSON null: none, or to be deleted."""

    partition: SourcePartition
    offset: SourceOffset | None


class OffsetId(NamedTuple):
    connector: str
    partition: str


OffsetsById = Mapping[OffsetId, SourceOffset | Skipped | None]
"""Offsets of many connectors; None and absent mean the same: none. Skipped: not known."""


class Store(StrEnum):
    KAFKA_EFFECTIVE = "kafka-effective"
    KIP618_EFFECTIVE = "kip618-effective"
    WORKER_GLOBAL = "worker-global"
    CONNECTOR_SPECIFIC = "connector-specific"


class ExportedFile(Struct, frozen=True):
    connector: str
    file: str
    offsets: int
    left_out: tuple[str, ...]


class OffsetsExport(Result, frozen=True):
    """The files that were written, with the offsets of `store` as of as_of (ms since the epoch)."""

    files: tuple[ExportedFile, ...]
    store: Store
    as_of: int
    cluster_id: str | None
    notes: tuple[str, ...] = ()

    @property
    def found(self) -> bool:
        return any(each.left_out for each in self.files)


class Change(StrEnum):
    ONLY_IN_A = "only-in-a"
    ONLY_IN_B = "only-in-b"
    DIFFERENT = "different"
    UNKNOWN = "unknown"


class OffsetChange(Struct, frozen=True):
    """One offset that differs, with its value on both sides (None: none there).

    position_a and position_b are in the connector's own terms. order is B relative to A, and rewind the meaning of a
    step back; None if the kind of source is unknown. source_a and source_b are the source's answers about them, if it
    was queried.
    """

    id: OffsetId
    change: Change
    a: SourceOffset | Skipped | None
    b: SourceOffset | Skipped | None
    position_a: str | None = None
    position_b: str | None = None
    order: Order | None = None
    rewind: str | None = None
    source_a: AtSource | Skipped | None = None
    source_b: AtSource | Skipped | None = None


class OffsetsDifference(Result, frozen=True):
    a: str
    b: str
    changes: tuple[OffsetChange, ...]
    same: int

    @property
    def found(self) -> bool:
        return bool(self.changes)


class ReplicationSlot(Struct, frozen=True):
    """A row of pg_replication_slots; log sequence numbers are integers, or None.

    active: a client streams from it now. wal_status (from PostgreSQL 13 on) is reserved, extended, unreserved, or lost
    if the server has removed log that the slot needs.
    """

    active: bool
    restart_lsn: int | None
    confirmed_flush_lsn: int | None
    wal_status: str | None = None


class SourceServer(Struct, frozen=True):
    """The logical slots of one database by name, and the position that the server has written (or replayed) to."""

    current_lsn: int
    slots: Mapping[str, ReplicationSlot] = field(default_factory=dict)


class SourceRead(Struct, frozen=True):
    """A connector's source: its server, and the name of its slot; Skipped: not known."""

    server: SourceServer | Skipped
    slot: str | Skipped

    @property
    def unknown(self) -> Skipped | None:
        return next((each for each in (self.server, self.slot) if isinstance(each, Skipped)), None)
