"""Offsets topics for tests, built record by record."""

from collections.abc import Iterable, Mapping

from eosctl.analysis.offsets import fold_offsets
from eosctl.analysis.offsets_report import Connectors, OffsetsReading, report_offsets
from eosctl.codecs.offsets_topic import canonical, decode_offsets_key, decode_offsets_value
from eosctl.model.names import TopicPartition
from eosctl.model.offsets import OffsetsReport, OffsetsTopic, StorePlace, WorkerSettings
from eosctl.model.records import Record, RecordState
from eosctl.model.skipped import Skipped
from eosctl.model.topics import PartitionOffsets, TopicFacts
from eosctl.model.workers import KnownPhase

READING = OffsetsReading(decode_offsets_value, canonical)
SERVERS = frozenset({"a:9092", "b:9092"})
AS_OF = 1_790_000_000_000


def worker(exactly_once: KnownPhase | Skipped = KnownPhase.ENABLED, **more: object) -> WorkerSettings:
    settings: dict[str, object] = {"bootstrap_servers": SERVERS, **more}
    return WorkerSettings("global", exactly_once, **settings)  # type: ignore[arg-type]


def record(
    offset: int, key: str, value: str | None, state: RecordState = RecordState.COMMITTED, timestamp: int = AS_OF
) -> Record:
    text = None if value is None else value.encode()
    return Record(offset, timestamp, key.encode(), text, state, True, 7, 0)


def topic(name: str, *partitions: Iterable[Record], policy: str = "compact", held_back: int = 0) -> OffsetsTopic:
    """A topic with these records in its partitions."""
    parts = []
    for number, records in enumerate(partitions or ((),)):
        place, listed = TopicPartition(name, number), list(records)
        end = listed[-1].offset + 1 if listed else 0
        parts.append(fold_offsets(place, listed, decode_offsets_key, PartitionOffsets(place, 0, end - held_back, end)))
    return OffsetsTopic(name, TopicFacts(name, len(parts), 1, {"cleanup.policy": policy}), tuple(parts))


def report(
    *topics: OffsetsTopic,
    settings: WorkerSettings | None = None,
    configs: Mapping[str, Mapping[str, object]] | Skipped | None = None,
    selected: tuple[str, ...] = (),
) -> OffsetsReport:
    """The report about these topics of the workers' cluster; `configs` are the existing connectors."""
    found = {StorePlace(each.topic): each for each in topics}
    configured = {} if configs is None else configs
    unconfigured: Mapping[str, object] | Skipped = configured if isinstance(configured, Skipped) else {}
    return report_offsets(
        found,
        worker() if settings is None else settings,
        Connectors(configured, unconfigured),
        READING,
        as_of=AS_OF,
        selected=selected,
    )
