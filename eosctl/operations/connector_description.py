"""Answers `connector show` and `connector list`: the other commands' facts about one connector, read once."""

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from eosctl.analysis.client_configs import connector_config
from eosctl.analysis.connect_requests import CommandLine
from eosctl.analysis.connector_description import (
    describe_connector,
    inspected_of,
    last_statuses,
    list_all,
    status_of,
    type_of,
)
from eosctl.analysis.rules.registry import diagnose
from eosctl.clients.rest_identity import WorkerUrl
from eosctl.errors import EosctlError, Unreachable, UsageError
from eosctl.model.connector_description import DescribedConnector, ListedConnectors
from eosctl.model.connectors import ConnectorType
from eosctl.model.evidence import Evidence, InternalTopic
from eosctl.model.hanging import LastStableOffsets
from eosctl.model.names import did_you_mean
from eosctl.model.skipped import Cause, Skipped, not_asked, read_or_skip
from eosctl.model.status_topic import StatusRecord
from eosctl.model.text import first_few
from eosctl.model.timeline import TimelineFacts
from eosctl.model.topics import TopicFacts
from eosctl.model.workers import WrittenStatus
from eosctl.operations.evidence import EvidenceRequest, inspection_of, read_evidence, topics_of
from eosctl.operations.hanging import StabilityRequest, last_stable_offsets
from eosctl.operations.session import Session
from eosctl.operations.session_options import as_words
from eosctl.operations.timeline import read_status_topic
from eosctl.sources.audit_log import RecordLog
from eosctl.sources.cluster_reader import ClusterReader, KeptFacts
from eosctl.sources.connect_rest import connector_status

UNREADABLE = Skipped("the status topic could not be read, or is another group's")
NOT_VALIDATED = not_asked("no worker validates a config for a snapshot")
NO_OUTPUT = not_asked("its config names no topic, and Kafka Connect saw it use none")


def show_connector(session: Session, name: str, request: EvidenceRequest) -> DescribedConnector:
    """The connector with all that concerns it.

    Raises UsageError where there is no connector of this name, and for a group or topic that was misnamed.
    """
    session.kept = KeptFacts()  # several commands' questions are asked here, each once
    live = session.options.snapshot is None
    request = replace(request, about=frozenset({name}), preflight=request.preflight and live)
    with session.reader.sparing_workers():  # who does not answer now is asked nothing more
        read_or_skip(session.reader.connect_version)
    evidence = read_evidence(session, request)
    evidence = evidence if live else replace(evidence, preflight=NOT_VALIDATED)
    diagnosis = diagnose(evidence).under(session.options.triage)
    if diagnosis.misnaming is not None:
        raise diagnosis.misnaming.as_usage_error()
    _require(session.reader, topics_of(request, evidence, None)["config"], evidence, name)
    outputs = read_or_skip(lambda: _outputs(session.reader, evidence, name))
    line = command_line(session, [each.url for each in evidence.answering])
    described = describe_connector(diagnosis, name, outputs, line, _written(session.reader, evidence).get(name))
    return described.covering(session.reader.coverage)


def _require(reader: ClusterReader, topic: str, evidence: Evidence, name: str) -> None:
    statuses, inspection = evidence.statuses, evidence.inspection
    known = set() if isinstance(statuses, Skipped) else set(statuses)
    if isinstance(inspection, Skipped):
        if isinstance(statuses, Skipped):
            raise _unknown(reader, topic, f"whether connector {name} exists is not known", statuses, inspection)
    else:
        known |= {each.state.name for each in inspection.connectors if each.state.known}
    if name in known:
        return
    if not isinstance(inspection, Skipped) and name in inspection.state.states:
        raise UsageError(
            f"connector {name} does not exist: the config topic {inspection.topic} has only its leftover records",
            hint=f"its leftover records: `eosctl inspect-config --history --connector {name}`, `eosctl offsets show "
            f"--connector {name}`",
        )
    otherwise = "`eosctl connector list` lists the connectors; is this the right Connect cluster?"
    raise UsageError(f"there is no connector {name}", hint=did_you_mean(name, known, otherwise))


def _unknown(reader: ClusterReader, topic: str, what: str, statuses: Skipped, inspection: Skipped) -> EosctlError:
    """The error where neither a worker nor the config topic answers: the topic's own where no worker was named."""
    if statuses.cause is Cause.NOT_ASKED:
        try:
            reader.config_topic(topic)
        except EosctlError as error:
            return error
    return Unreachable(
        f"{what}: {statuses.reason}; {inspection.reason}",
        hint="name a worker with --connect-url, or the brokers with -b",
    )


def _written(reader: ClusterReader, evidence: Evidence) -> Mapping[str, WrittenStatus]:
    """By the status topic, where no worker says it and the topic can be read."""
    if not isinstance(evidence.statuses, Skipped):
        return {}
    topics = () if isinstance(evidence.internal_topics, Skipped) else evidence.internal_topics
    found = read_written_statuses(reader, topics)
    return {} if isinstance(found, Skipped) else found


def read_written_statuses(
    reader: ClusterReader, topics: Sequence[InternalTopic]
) -> Mapping[str, WrittenStatus] | Skipped:
    """The status topic's records of each connector; for a snapshot, those at the time it was saved."""
    log = reader.timeline()
    if isinstance(log, TimelineFacts):
        return log.statuses
    topic = next((each for each in topics if each.role == "status"), None)
    if isinstance(log, Skipped):
        return log
    if topic is None or not isinstance(topic.facts, TopicFacts) or topic.is_another:
        return UNREADABLE
    with reader.optional_reads():
        return read_or_skip(lambda: _written_statuses(log, topic.name))


def _written_statuses(log: RecordLog, topic: str) -> Mapping[str, WrittenStatus]:
    found = {}
    for name, (own, *tasks) in last_statuses(read_status_topic(log, topic)).items():
        entry = {"connector": _as_rest(own), "tasks": [{"id": each.task, **_as_rest(each)} for each in tasks]}
        at_ms = max(each.record.timestamp for each in (own, *tasks))
        found[name] = WrittenStatus(connector_status(name, {"status": entry}), at_ms)
    return found


def _as_rest(record: StatusRecord) -> dict[str, object]:
    """As a worker answers this status."""
    return {"state": record.state, "worker_id": record.worker_id or "", "trace": record.trace}


def _outputs(reader: ClusterReader, evidence: Evidence, name: str) -> LastStableOffsets | Skipped:
    """The partitions that a source writes to, or that a sink's group reads."""
    topic = "" if isinstance(evidence.inspection, Skipped) else evidence.inspection.topic
    if type_of(status_of(evidence, name), inspected_of(evidence, name)) is ConnectorType.SINK:
        group = connector_config(evidence, name).get("consumer.override.group.id") or f"connect-{name}"
        return last_stable_offsets(reader, StabilityRequest((), topic, group=group))
    outputs = evidence.outputs if isinstance(evidence.outputs, Skipped) else evidence.outputs.get(name, ())
    if isinstance(outputs, Skipped):
        return outputs
    facts = {} if isinstance(evidence.topics, Skipped) else evidence.topics
    there = tuple(each for each in outputs if isinstance(facts.get(each), TopicFacts))
    if there:
        return last_stable_offsets(reader, StabilityRequest(there, topic))
    unread = next((each for each in map(facts.get, outputs) if isinstance(each, Skipped)), None)
    if unread is not None or not outputs:
        return unread or NO_OUTPUT
    plural = "does" if len(outputs) == 1 else "do"
    return not_asked(f"{first_few(outputs)} {plural} not exist: nothing was written there yet")


def command_line(session: Session, answering: Sequence[str] = ()) -> CommandLine:
    """The clusters at hand as the user named them; the worker is one of these that answered, a named one first."""
    options = session.options
    is_typed = options.sources.get("group_id", "").startswith("--")
    more = {"--group-id": (options.group_id if is_typed else None,), "--snapshot": (options.snapshot,)}
    named = {str(each): each for each in options.connect_urls}
    url = next((each for each in answering if each in named), next(iter(answering), next(iter(named), "")))
    worker = named.get(url)
    auth = worker.identity.basic_auth if isinstance(worker, WorkerUrl) else None
    return CommandLine(
        options=(*options.words, *as_words(more)),
        rest=str(url),
        rest_user=None if auth is None else auth[0],
        kafka_tools=options.triage.kafka_tools,
    )


def list_connectors(session: Session, request: EvidenceRequest) -> ListedConnectors:
    """All connectors, with the states of their tasks."""
    reader = session.reader
    with reader.sparing_workers():  # who does not answer now is asked nothing more
        version = read_or_skip(reader.connect_version)
    as_of, statuses = reader.now(), reader.connector_statuses()
    group_id = reader.group_id
    if group_id is None:
        session.require_no_choice()
    known = Evidence(as_of=as_of, statuses=statuses, group_id=group_id or not_asked("no --group-id was given"))
    topics = topics_of(request, known, None)
    inspection = read_or_skip(lambda: inspection_of(reader.config_topic(topics["config"]), known, version))
    written: Mapping[str, WrittenStatus] | Skipped = {}
    if isinstance(statuses, Skipped):
        status = topics["status"]
        written = read_or_skip(lambda: read_written_statuses(reader, [reader.internal_topic("status", status)]))
    nothing = isinstance(written, Skipped) or not written
    if isinstance(statuses, Skipped) and isinstance(inspection, Skipped) and nothing:
        if statuses.cause is Cause.OTHER_GROUP:
            raise UsageError(
                f"no connector of Connect group {group_id} is known: {statuses.reason}; {inspection.reason}",
                hint="give the group.id of these workers as --group-id, or leave --group-id out",
            )
        raise _unknown(reader, topics["config"], "no connector is known", statuses, inspection)
    cluster_id = read_or_skip(lambda: reader.cluster_id)
    return ListedConnectors(
        as_of=as_of,
        cluster_id=None if isinstance(cluster_id, Skipped) else cluster_id,
        group_id=group_id,
        connectors=list_all(statuses, inspection, written),
        unanswered=statuses if isinstance(statuses, Skipped) else None,
        coverage=reader.coverage,
    )
