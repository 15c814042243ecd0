"""The states of an audit: a summary of each range, small enough to travel, and mergeable with the next range's.

They are tuples because there are millions of them. All offsets are of one partition, which the StateRow names.
"""

from collections.abc import Mapping
from enum import IntEnum
from typing import NamedTuple

from eosctl.model.audit import Gap

KEPT_PLACES = 10
"""Examples that are kept of each kind of event; all are counted."""


class Write(NamedTuple):
    """A committed record of one key: its place, its value (None: tombstone), and who wrote it how."""

    offset: int
    timestamp: int
    value: bytes | None
    producer_id: int
    producer_epoch: int
    transactional: bool


class Change(NamedTuple):
    before: Write
    after: Write


class KeyWriter(NamedTuple):
    """A producer ID among the writers of a key.

    first and last are its first and last offsets there, with their epochs. before is the producer ID and offset of
    another producer's write just before `first`, None if `first` is the first write in the range.
    """

    producer_id: int
    first: int
    first_timestamp: int
    first_epoch: int
    last: int
    last_epoch: int
    before: tuple[int, int] | None


class ReturnedProducer(NamedTuple):
    """A producer wrote a key again after another one had: a zombie, unless it began a new session in between.

    last is its last offset before, other and other_offset the writer in between, offset where it came back.
    """

    producer_id: int
    last: int
    last_epoch: int
    other: int
    other_offset: int
    offset: int
    timestamp: int
    epoch: int


class WriteRun(NamedTuple):
    """Writes of one key that follow each other, by one producer, in transactions or all of them outside: how many."""

    first: Write
    last: Write
    records: int


class Regressions(NamedTuple):
    """Writes after which no field is higher and a number is lower than before: how many, and the first of them."""

    total: int = 0
    places: tuple[Change, ...] = ()


class RestartedTransaction(NamedTuple):
    """A write within a transaction of the database, then that transaction's start, then the next other value.

    then is None while none was written: nothing shows whether the records of `before` were read again.
    """

    before: Write
    start: Write
    then: Write | None = None


class Restarts(NamedTuple):
    """How many transactions of the database were begun again, and the first of them."""

    total: int = 0
    places: tuple[RestartedTransaction, ...] = ()

    @property
    def is_open(self) -> bool:
        """Whether the last one is kept, and has no other value behind it yet."""
        return self.total == len(self.places) > 0 and self.places[-1].then is None


class KeyState(NamedTuple):
    """The state of one key within a range.

    setbacks follow a transactional write, plain_setbacks a non-transactional one. repeats are the first writes of an
    unchanged value. plain_records counts non-transactional writes, plain_after those after the first transactional one.
    runs are all its writes in order if the connector may have several offset stores, otherwise empty. snapshots are
    changes from one unfinished snapshot to a possible second one. second is the first write of another value than
    `first`, where `first` may be the start of a transaction of the database.
    """

    key: bytes | None
    records: int
    tombstones: int
    first: Write
    last: Write
    first_transactional: Write | None
    last_transactional: Write | None
    plain_records: int
    plain_after: int
    first_plain: Write | None
    first_plain_after: Write | None
    last_plain: Write | None
    setbacks: Regressions
    plain_setbacks: Regressions
    repeats: tuple[Change, ...]
    writers: tuple[KeyWriter, ...]
    returns: tuple[ReturnedProducer, ...]
    runs: tuple[WriteRun, ...] = ()
    snapshots: tuple[Change, ...] = ()
    second: Write | None = None
    restarts: Restarts = Restarts()


class ItemKind(IntEnum):
    DATA = 0
    ABORT = 1
    COMMIT = 2


class TransactionItem(NamedTuple):
    """One step of a producer in a partition, in offset order. A marker has no records, and one timestamp."""

    kind: ItemKind
    offset: int
    last_offset: int
    producer_epoch: int
    records: int
    size_bytes: int
    first_timestamp: int
    last_timestamp: int


class ProducerItems(NamedTuple):
    producer_id: int
    items: tuple[TransactionItem, ...]


class SessionStart(NamedTuple):
    """A place where a producer ID's epoch does not follow from its previous epoch in this partition.

    Either InitProducerId came between, or commits with markers in other partitions only.
    """

    offset: int
    timestamp: int
    producer_epoch: int


class ProducerState(NamedTuple):
    """A producer ID (-1: writers without one) in one partition.

    marker_epoch is the highest epoch of its commit markers before its first data (-1: none). leading_epoch is the epoch
    of its first marker if that precedes the first data (None: it does not, -1: it aborts). first_epoch, first_offset
    and first_timestamp belong to its first data batch (None: markers only). epoch is the one that its next record would
    have. open_epoch is the epoch of transactional data without a marker behind it (-1: none). raised are epochs, as
    closed intervals, to which commits raised their data's epoch. plain_records counts non-transactional records, from
    first_plain to last_plain.
    """

    producer_id: int
    marker_epoch: int
    leading_epoch: int | None
    first_epoch: int | None
    first_offset: int
    first_timestamp: int
    epoch: int
    open_epoch: int
    last_offset: int
    last_timestamp: int
    records: int
    plain_records: int
    first_plain: int
    last_plain: int
    first_plain_timestamp: int
    last_plain_timestamp: int
    starts: tuple[SessionStart, ...]
    raised: tuple[tuple[int, int], ...]


class Damage(NamedTuple):
    offset: int
    next_offset: int
    reason: str


class GrowthPoint(NamedTuple):
    hour: int
    records: int
    tombstones: int


class LogState(NamedTuple):
    """Totals of a range's batches: see RangeEvidence.

    first_base is the first offset of its first batch or damage, which may precede the range. first_batch is the base
    timestamp of the first batch. cleaned_until is the timestamp of the last batch after compacted offsets (None: no
    such offsets): older records may be missing. behind_gap: no batch follows such offsets yet, apart from those at the
    range's end.
    """

    start: int
    end: int
    first_base: int | None
    behind_gap: bool
    records: int
    control_records: int
    aborted_records: int
    plain_records: int
    batches: int
    size_bytes: int
    first_timestamp: int | None
    last_timestamp: int | None
    first_batch: int | None
    cleaned_until: int | None
    gaps: tuple[Gap, ...]
    damages: tuple[Damage, ...]
    growth: tuple[GrowthPoint, ...]
    producers: tuple[ProducerState, ...]


class ConfigEvent(NamedTuple):
    """A record of the config topic, with the fields that its history needs.

    kind is a model.config_topic.RecordKind. number is the task of a task config, the tasks of a commit or the count of
    a task-count record, otherwise None. removed: a tombstone. malformed: a worker cannot use the record.
    """

    offset: int
    timestamp: int
    state: str
    transactional: bool
    producer_id: int
    producer_epoch: int
    kind: str
    connector: str | None
    number: int | None
    removed: bool
    malformed: bool


class TransactionPart(NamedTuple):
    """The part of one transaction in one partition. marker_offset None: it is open there.

    offsets is whether the partition is one of an offsets topic. records is 0 where compaction left the marker only.
    """

    topic: str
    partition: int
    offsets: bool
    producer_id: int
    producer_epoch: int
    first: int
    last: int
    records: int
    size_bytes: int
    first_timestamp: int
    committed: bool
    marker_offset: int | None
    marker_timestamp: int
    marker_epoch: int


class ReadKey(NamedTuple):
    """A key of an offsets topic: its connector (None: malformed, and why), and the same text for the same JSON."""

    connector: str | None
    text: str
    reason: str | None = None


# Histograms whose buckets double: bucket n holds the figures of 2^(n-1) up to 2^n - 1, bucket 0 holds zeros.


class Bounds(NamedTuple):
    low: int
    high: int


def bucket_bounds(bucket: int) -> Bounds:
    return Bounds(0, 0) if bucket <= 0 else Bounds(1 << (bucket - 1), (1 << bucket) - 1)


def quantile(histogram: Mapping[int, int], share: float) -> int | None:
    """A figure that at least this share (0 to 1) of all figures does not exceed: the highest of its bucket.

    None where the histogram is empty.
    """
    total, counted = sum(histogram.values()), 0
    if not total:
        return None
    for bucket in sorted(histogram):
        counted += histogram[bucket]
        if counted >= share * total:
            break
    return bucket_bounds(bucket).high
