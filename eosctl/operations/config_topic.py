"""The config topic as one worker reads it: where it leaves each connector, and its history."""

from dataclasses import dataclass
from difflib import get_close_matches

from eosctl.analysis.config_census import survey_config_topic
from eosctl.analysis.config_timeline import timeline
from eosctl.analysis.inspection import inspect
from eosctl.errors import UsageError
from eosctl.model.config_timeline import ConfigTopicHistory
from eosctl.model.connectors import Reader
from eosctl.model.inspection import InspectedConfigTopic, Inspection
from eosctl.model.records import IsolationLevel
from eosctl.model.skipped import Skipped
from eosctl.operations.session import Session
from eosctl.operations.worker_version import worker_version


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
    as_of, log, connect = reader.now(), reader.config_topic(request.config_topic), reader.connect()
    worker = worker_version(reader, request.worker_version)
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
    """Every record and what it did."""
    reader = session.reader
    as_of, log = reader.now(), reader.config_topic(request.config_topic)
    worker = worker_version(reader, request.worker_version)
    entries = timeline(log.records, Reader(worker.version, request.isolation_level), request.connectors)
    return ConfigTopicHistory(
        log.topic, entries, as_of or None, reader.cluster_id, worker.notes, coverage=reader.coverage
    )


def _require(inspection: Inspection) -> None:
    if not inspection.absent:
        return
    known = [each.state.name for each in inspection.connectors]
    likely = get_close_matches(inspection.absent[0], inspection.state.states, n=1)
    raise UsageError(
        f"the config topic does not mention connector {', '.join(inspection.absent)}",
        hint=f"did you mean {likely[0]}?" if likely else f"{len(known)} of the connectors asked for are known",
    )
