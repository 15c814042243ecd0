"""The config topic as one worker reads it: where it leaves each connector, and its history."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import TYPE_CHECKING

from msgspec import Struct

from eosctl.analysis.config_topic import connector_of, of_a_config_topic, survey_config_topic, timeline
from eosctl.analysis.inspection import ReportedConnectors, inspect
from eosctl.model.config_topic import ConfigTopicHistory, InspectedConfigTopic, Inspection, TimelineEntry
from eosctl.model.connectors import Reader
from eosctl.model.names import not_in_config_topic
from eosctl.model.records import IsolationLevel
from eosctl.model.skipped import Skipped
from eosctl.operations.workers import require_group, worker_version

if TYPE_CHECKING:
    from eosctl.model.config_topic import ConfigRecord
    from eosctl.operations.session import Session


class ConfigTopicRequest(Struct, frozen=True):
    """The connectors (none: all), the topic, the worker version and the isolation level."""

    connectors: tuple[str, ...] = ()
    config_topic: str = "connect-configs"
    isolation_level: IsolationLevel = IsolationLevel.READ_COMMITTED
    worker_version: str | None = None


def inspect_config_topic(session: Session, request: ConfigTopicRequest) -> InspectedConfigTopic:
    """Each connector's state by the config topic, with findings.

    UsageError for a connector that the topic does not mention, and for a group other than the workers'.
    """
    reader = session.reader
    as_of, log = reader.now(), reader.config_topic(request.config_topic)
    with reader.sparing_workers():
        connect, worker = reader.connect(), worker_version(reader, request.worker_version)
    require_group(reader, connect)  # the transactional IDs of the next start follow from it
    read_as = Reader(worker.version, request.isolation_level)
    inspection = inspect(
        survey_config_topic(log.records, read_as),
        topic=log.topic,
        topic_facts=log.facts,
        offsets=log.offsets,
        reported=ReportedConnectors(connect, connect, as_of)
        if isinstance(connect, Skipped)
        else ReportedConnectors(connect.types, connect.running_tasks, as_of),
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
    """Every record with its effect.

    UsageError where the topic mentions none of the connectors asked for, and where it is no config topic.
    """
    reader = session.reader
    as_of, log = reader.now(), reader.config_topic(request.config_topic)
    with reader.sparing_workers():
        worker = worker_version(reader, request.worker_version)
    read_as = Reader(worker.version, request.isolation_level)
    entries = _entries(of_a_config_topic(log.records), read_as, request.connectors)
    return ConfigTopicHistory(
        log.topic, entries, as_of or None, reader.cluster_id, worker.notes, coverage=reader.coverage
    )


def _entries(records: Iterable[ConfigRecord], reader: Reader, wanted: tuple[str, ...]) -> Iterator[TimelineEntry]:
    """Entries of these connectors (none: all), read lazily. UsageError if none is found."""
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
