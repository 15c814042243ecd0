"""The config topic as one worker reads it: where it leaves each connector, and its history."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

from eosctl.analysis.config_census import survey_config_topic
from eosctl.analysis.config_timeline import connector_of, timeline
from eosctl.analysis.inspection import inspect
from eosctl.model.config_timeline import ConfigTopicHistory, TimelineEntry
from eosctl.model.connectors import Reader
from eosctl.model.inspection import InspectedConfigTopic, Inspection
from eosctl.model.near_names import not_in_config_topic
from eosctl.model.records import IsolationLevel
from eosctl.model.skipped import Skipped
from eosctl.operations.worker_version import worker_version

if TYPE_CHECKING:
    from eosctl.model.config_topic import ConfigRecord
    from eosctl.operations.session import Session


@dataclass(frozen=True, slots=True)
class ConfigTopicRequest:
    """Which connectors (none: all), in which topic, as a worker of which version and isolation level reads it."""

    connectors: tuple[str, ...] = ()
    config_topic: str = "connect-configs"
    isolation_level: IsolationLevel = IsolationLevel.READ_COMMITTED
    worker_version: str | None = None


def inspect_config_topic(session: Session, request: ConfigTopicRequest) -> InspectedConfigTopic:
    """Where the config topic leaves each connector, and what is wrong with it.

    UsageError for a connector that the topic does not mention.
    """
    reader = session.reader
    as_of, log = reader.now(), reader.config_topic(request.config_topic)
    with reader.sparing_workers():
        connect, worker = reader.connect(), worker_version(reader, request.worker_version)
    if reader.group_id is not None:
        # The transactional IDs of the next start follow from it: the coverage keeps it if there is no such group.
        reader.connect_group(reader.group_id)
    read_as = Reader(worker.version, request.isolation_level)
    inspection = inspect(
        survey_config_topic(log.records, read_as),
        topic=log.topic,
        topic_facts=log.facts,
        offsets=log.offsets,
        types=connect if isinstance(connect, Skipped) else connect.types,
        running_tasks=connect if isinstance(connect, Skipped) else connect.running_tasks,
        group_id=reader.group_id,
        selected=request.connectors,
    )
    _require(inspection)
    return InspectedConfigTopic(
        inspection,
        read_as,
        reader.group_id,
        as_of or None,
        reader.cluster_id,
        worker.notes,
        coverage=reader.coverage,
    )


def config_topic_history(session: Session, request: ConfigTopicRequest) -> ConfigTopicHistory:
    """Every record and what it did; UsageError where the topic mentions none of the connectors asked for."""
    reader = session.reader
    as_of, log = reader.now(), reader.config_topic(request.config_topic)
    with reader.sparing_workers():
        worker = worker_version(reader, request.worker_version)
    entries = _entries(log.records, Reader(worker.version, request.isolation_level), request.connectors)
    return ConfigTopicHistory(
        log.topic, entries, as_of or None, reader.cluster_id, worker.notes, coverage=reader.coverage
    )


def _entries(records: Iterable[ConfigRecord], reader: Reader, wanted: tuple[str, ...]) -> Iterator[TimelineEntry]:
    """The entries of the wanted connectors (none: all), read lazily. UsageError where there is none of them."""
    seen: set[str] = set()

    def watched() -> Iterator[ConfigRecord]:
        for record in records:
            seen.add(connector_of(record) or "")
            yield record

    entries = timeline(watched(), reader, wanted)
    first = next(entries, None) if wanted else None
    if wanted and first is None:
        raise not_in_config_topic(wanted, seen)
    return entries if first is None else chain((first,), entries)


def _require(inspection: Inspection) -> None:
    if inspection.absent:
        raise not_in_config_topic(inspection.absent, inspection.state.states)
