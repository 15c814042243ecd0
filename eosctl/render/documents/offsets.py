"""What `offsets show`, `export` and `diff` answer."""

from collections.abc import Mapping
from typing import NotRequired, TypedDict

from eosctl.model.exported_offsets import Change, Store
from eosctl.model.offset_stores import SourceSupport
from eosctl.model.positions import AtSource, Order
from eosctl.model.skipped import Skipped
from eosctl.render.documents.findings import ShownFindings
from eosctl.render.documents.skipped import SkippedRow


class StoredOffsetRow(TypedDict):
    """An offset as a topic holds it; value is the source's own map, null for a tombstone or where it is malformed."""

    topic: str
    topic_partition: int
    offset: int
    timestamp: int
    value: Mapping[str, object] | None
    malformed: str | None
    state: str
    producer_id: int
    producer_epoch: int


class OffsetPhasesRow(TypedDict):
    """What a start with exactly-once enabled takes, and one without."""

    enabled: StoredOffsetRow | SkippedRow | None
    not_enabled: StoredOffsetRow | SkippedRow | None


class OffsetRow(TypedDict):
    """The offsets of one source partition in each store, null where it has none; by_phase where the phases differ."""

    connector: str | None
    partition: Mapping[str, object] | None
    key_base64: str
    worker_global: StoredOffsetRow | SkippedRow | None
    connector_specific: StoredOffsetRow | SkippedRow | None
    kafka_effective: StoredOffsetRow | SkippedRow | None
    kip618_effective: StoredOffsetRow | SkippedRow | None
    provenance: str
    position: str | None
    shadowed: bool
    by_phase: OffsetPhasesRow | None


class OffsetsWorkerRow(TypedDict):
    """How the workers are taken to be set."""

    offsets_topic: str | Skipped | None
    exactly_once: SourceSupport | Skipped
    kafka_version: str
    bootstrap_servers: list[str] | Skipped


class OffsetsTopicRow(TypedDict):
    """An offsets topic; counts are there where it exists and was read."""

    topic: str
    bootstrap_servers: list[str] | None
    exists: bool | Skipped
    partitions: NotRequired[int]
    records: NotRequired[int]
    keys: NotRequired[int]


class StoresRow(TypedDict):
    """Which stores a connector reads and writes, and by which of Kafka's rules."""

    worker_global: str | None
    connector_specific: str | None
    written_to: str
    words: str


class OffsetsConnectorRow(TypedDict):
    """A connector with offsets; known: it exists."""

    name: str
    known: bool | Skipped
    offsets: int
    stores: StoresRow | Skipped


class OffsetsData(ShownFindings):
    """Every offset in every store; skipped names what was not checked, with the reason."""

    worker: OffsetsWorkerRow
    topics: list[OffsetsTopicRow]
    offsets: list[OffsetRow]
    connectors: list[OffsetsConnectorRow]
    tombstones_left_out: int
    skipped: dict[str, str]


class ExportedFileRow(TypedDict):
    """A file that was written (KIP-875), with so many source partitions."""

    connector: str
    offsets: int
    file: str


class LeftOutRow(TypedDict):
    """A key that is in no file, and why."""

    connector: str
    what: str


class OffsetsExportData(TypedDict):
    """The files that were written, from which store."""

    store: Store
    files: list[ExportedFileRow]
    left_out: list[LeftOutRow]


class OffsetChangeRow(TypedDict):
    """A source partition whose offset differs; order is where B lies, seen from A, null where that is not known."""

    connector: str
    partition: str
    change: Change
    a: Mapping[str, object] | Skipped | None
    b: Mapping[str, object] | Skipped | None
    order: Order | None
    position_a: str | None
    position_b: str | None
    rewind: str | None
    source_a: AtSource | Skipped | None
    source_b: AtSource | Skipped | None


class OffsetsDifferenceData(TypedDict):
    """What differs between two sets of offsets, and how many are the same."""

    a: str
    b: str
    same: int
    changes: list[OffsetChangeRow]
