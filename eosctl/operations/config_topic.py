"""What inspect-config reads and decides: the config topic, live or from a file, as one worker sees it."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

from eosctl.analysis.config_census import survey_config_topic
from eosctl.analysis.config_timeline import timeline
from eosctl.analysis.inspection import inspect
from eosctl.codecs.config_topic import decode_config_records
from eosctl.codecs.record_lines import read_record_lines
from eosctl.errors import EXIT_FINE, EXIT_FOUND, UsageError
from eosctl.model.connectors import Reader
from eosctl.model.inspection import Inspection
from eosctl.model.records import IsolationLevel
from eosctl.model.skipped import Skipped, not_asked
from eosctl.model.snapshot import ConfigTopicLog, Snapshot
from eosctl.model.times import rfc3339
from eosctl.model.versions import NEWEST, KafkaVersion
from eosctl.model.workers import ConnectFacts, WorkerFacts
from eosctl.operations.reading import read_snapshot
from eosctl.operations.session import Session
from eosctl.render.document import Document
from eosctl.render.views.inspection import view_history, view_inspection
from eosctl.sources.files import open_lines

NOT_LIVE = not_asked("records were read from a file")


@dataclass(frozen=True, slots=True)
class ConfigTopicRequest:
    """What was asked: which connectors, in which topic or file, as which worker reads it."""

    connectors: tuple[str, ...]
    config_topic: str
    isolation_level: IsolationLevel
    worker_version: str | None
    records: Path | None


@dataclass(frozen=True, slots=True)
class Answer:
    """What to show, and the exit code that goes with it."""

    document: Document
    exit_code: int


def inspect_now(session: Session, request: ConfigTopicRequest) -> Answer:
    """Where the config topic leaves each connector, and what is wrong with it."""
    with _read(session, request) as snapshot:
        log, reader = _log_of(snapshot), _reader(request, snapshot.connect)
        connect = snapshot.connect
        inspection = inspect(
            survey_config_topic(log.records, reader),
            topic=log.topic,
            topic_facts=log.facts,
            offsets=log.offsets,
            types=connect if isinstance(connect, Skipped) else connect.types,
            running_tasks=connect if isinstance(connect, Skipped) else connect.running_tasks,
            group_id=snapshot.group_id,
            selected=request.connectors,
        )
        _require(inspection)
        document = view_inspection(inspection, reader, snapshot.group_id, _as_of(snapshot), _cluster_id(snapshot))
    return Answer(document, EXIT_FOUND if any(each.counts for each in inspection.findings) else EXIT_FINE)


def inspect_history(session: Session, request: ConfigTopicRequest) -> Answer:
    """Every record and what it did."""
    with _read(session, request) as snapshot:
        log, reader = _log_of(snapshot), _reader(request, snapshot.connect)
        entries = timeline(log.records, reader, request.connectors)
        return Answer(view_history(entries, log.topic, _as_of(snapshot), _cluster_id(snapshot)), EXIT_FINE)


@contextmanager
def _read(session: Session, request: ConfigTopicRequest) -> Iterator[Snapshot]:
    if request.records is None:
        yield read_snapshot(session, request.config_topic)
        return
    if session.options.snapshot is not None:
        raise UsageError("--records and --snapshot exclude each other")
    with open_lines(request.records, "the records") as lines:
        records = decode_config_records(read_record_lines(lines, str(request.records)))
        log = ConfigTopicLog(request.records.name, NOT_LIVE, NOT_LIVE, records)
        yield Snapshot(0, NOT_LIVE, session.options.group_id, log, NOT_LIVE, session.read_connect())


def _log_of(snapshot: Snapshot) -> ConfigTopicLog:
    if isinstance(snapshot.config_topic, Skipped):
        raise UsageError(f"the snapshot holds no config topic: {snapshot.config_topic.reason}")
    return snapshot.config_topic


def _reader(request: ConfigTopicRequest, connect: ConnectFacts | Skipped) -> Reader:
    if request.worker_version is not None:
        try:
            return Reader(KafkaVersion.parse(request.worker_version), request.isolation_level)
        except ValueError as error:
            raise UsageError(f"--worker-version {error}") from error
    workers = [] if isinstance(connect, Skipped) else list(connect.workers.values())
    told = [worker.version for worker in workers if isinstance(worker, WorkerFacts)]
    return Reader(KafkaVersion.parse(told[0]) if told else NEWEST, request.isolation_level)


def _require(inspection: Inspection) -> None:
    if not inspection.absent:
        return
    known = [each.state.name for each in inspection.connectors]
    likely = get_close_matches(inspection.absent[0], inspection.state.states, n=1)
    raise UsageError(
        f"the config topic does not mention connector {', '.join(inspection.absent)}",
        hint=f"did you mean {likely[0]}?" if likely else f"{len(known)} of the connectors asked for are known",
    )


def _as_of(snapshot: Snapshot) -> str | None:
    return rfc3339(snapshot.as_of) if snapshot.as_of else None


def _cluster_id(snapshot: Snapshot) -> str | None:
    return None if isinstance(snapshot.cluster, Skipped) else snapshot.cluster.cluster_id
