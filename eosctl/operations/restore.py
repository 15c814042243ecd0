"""A connector's offsets from a file, for one that exists or is created with them: read, plan, show, ask, apply."""

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import ClassVar

from eosctl.analysis.catalogue.plans import CONNECTOR_UNKNOWN
from eosctl.codecs.connector_files import config_digest, decode_connector
from eosctl.codecs.offsets_topic import decode_kip875
from eosctl.codecs.strimzi import is_resource
from eosctl.errors import UsageError
from eosctl.files import EXPORT, RESTORED_CONFIG, read_text
from eosctl.model.connectors import OFFSETS_TOPIC
from eosctl.model.hidden_fields import HiddenFields
from eosctl.model.migration import ConnectClusters, MigrationFacts, MigrationRequest
from eosctl.model.names import Side, did_you_mean
from eosctl.model.plan import StopConnector
from eosctl.model.planned import Applied, Planned
from eosctl.model.skipped import Skipped, not_asked
from eosctl.operations.agreement import Show
from eosctl.operations.connector_operator import NO_OPERATOR, ConnectorOperator, connector_operator
from eosctl.operations.migration import (
    connector_configs,
    fenced_ids,
    known_or_former_configs,
    read_clusters,
    read_history,
    transaction_timeout_ms,
    with_live_owners,
)
from eosctl.operations.offsets import read_source, source_read
from eosctl.operations.plan_facts import States, read_connector_facts, read_offsets_topic, read_topic_now
from eosctl.operations.plan_flow import plan_and_apply
from eosctl.operations.session import Session
from eosctl.operations.two_clusters import SourceAndTarget
from eosctl.planning.restore import NewConnector, RestoreRequest, in_place, plan_restore


class RestoreOptions(HiddenFields, frozen=True):
    """The command line; new: the connector is created, from this config."""

    hidden: ClassVar = ("source_dsn", "config")

    file: Path
    connector: str
    stop: bool
    resume: bool
    offsets_topic: str | None
    worker_offsets_topic: str
    plan_file: Path | None
    create_keys: bool = False
    force: bool = False
    new: NewConnector | None = None
    source_dsn: str | None = None
    config: Mapping[str, str] | None = None


class CreationOptions(HiddenFields, frozen=True):
    """The command line of a connector that is created; overwrite is as in NewConnector."""

    hidden: ClassVar = ("source_dsn",)

    file: Path
    config: Path
    resume: bool
    worker_offsets_topic: str
    plan_file: Path | None
    create_keys: bool = False
    overwrite: bool = False
    source_dsn: str | None = None


def create_connector(
    session: Session,
    clusters: SourceAndTarget,
    options: CreationOptions,
    show: Show[Planned],
    operator: ConnectorOperator = NO_OPERATOR,
) -> Planned | Applied:
    """Creates the connector of the config at the file's offsets. Returns the plan, or the outcome of its steps."""
    path = options.config.absolute()
    text = read_text(path, RESTORED_CONFIG)
    settings = decode_connector(text, str(path))
    if is_resource(text):
        operator = connector_operator((path,), is_strimzis=operator.operated.every)
    new = NewConnector(settings["name"], str(path), config_digest(settings), options.overwrite)
    request = RestoreOptions(
        options.file,
        new.name,
        stop=False,
        resume=options.resume,
        offsets_topic=settings.get(OFFSETS_TOPIC),
        worker_offsets_topic=options.worker_offsets_topic,
        plan_file=options.plan_file,
        create_keys=options.create_keys,
        new=new,
        source_dsn=options.source_dsn,
        config=settings,
    )
    return restore_offsets(session, clusters, request, show, operator)


def restore_offsets(
    session: Session,
    clusters: SourceAndTarget,
    options: RestoreOptions,
    show: Show[Planned],
    operator: ConnectorOperator = NO_OPERATOR,
) -> Planned | Applied:
    """Restores the offsets. Returns the plan if it is only shown or saved, otherwise the outcome of its steps."""

    def make_plan(just_stopped: tuple[StopConnector, ...]) -> Planned:
        return _read_and_plan(session, clusters, options, just_stopped)

    return plan_and_apply(session, clusters, make_plan, show, plan_file=options.plan_file, operator=operator)


def _read_and_plan(
    session: Session, clusters: SourceAndTarget, options: RestoreOptions, just_stopped: tuple[StopConnector, ...]
) -> Planned:
    offsets = decode_kip875(read_text(options.file, EXPORT), str(options.file))
    dsn, timeout_s = options.source_dsn, session.options.timeout_s
    server = None if dsn is None else read_source(dsn, timeout_s)
    group_id = session.need_group_id()
    side = clusters.reading(Side.SOURCE)
    reader, cluster_id = side.reader, clusters.access(Side.SOURCE).wire.cluster_id
    states = clusters.connector_states(Side.SOURCE)
    config = options.config or _known_config(session, clusters, options.connector, states)
    own = options.offsets_topic or config.get(OFFSETS_TOPIC)
    places = read_clusters(session, clusters, {options.connector: config})
    topics = _topics(options, own, places, cluster_id)
    request = RestoreRequest(
        options.connector,
        group_id,
        topics,
        offsets,
        options.stop,
        options.resume,
        just_stopped,
        create_keys=options.create_keys,
        own_topic=own is not None,
        named=options.offsets_topic is not None and options.new is None,
        force=options.force,
        new=options.new,
        kept=options.plan_file is not None,
    )
    facts = MigrationFacts(
        as_of=session.now(),
        cluster_ids=dict.fromkeys(Side, cluster_id),
        connectors={
            (Side.SOURCE, name): each
            for name, each in read_connector_facts(side, [options.connector], lived_here=options.new is None).items()
        },
        topics={(Side.SOURCE, topic): read_topic_now(reader, topic) for topic in topics},
        offsets={(Side.SOURCE, topic): read_offsets_topic(reader, topic) for topic in topics},
        fenced_ids=fenced_ids(clusters, MigrationRequest((), group_id, group_id), states, {options.connector}),
        transaction_timeout_ms=transaction_timeout_ms(reader),
        clusters=places,
        histories=read_history(clusters, options.connector, config),
        source=None if server is None else source_read(server, options.connector, config),
        worker_version=not_asked("not asked") if options.new is None else session.reader.connect_version(),
    )
    planned = plan_restore(request, with_live_owners(clusters, in_place(request), facts))
    if not options.create_keys and any(each.kind == CONNECTOR_UNKNOWN for each in planned.findings):
        _require_unlike(options.connector, connector_configs(session, states))
    return planned


def _require_unlike(connector: str, known: Collection[str]) -> None:
    """UsageError where a connector has a name like this one, which no connector and no offset has."""
    meant = did_you_mean(connector, known)
    if meant is not None:
        hint = f"{meant} If it is one that you will create, --create-keys writes its offsets"
        raise UsageError(f"connector {connector} does not exist and has no offsets", hint=hint)


def _known_config(session: Session, clusters: SourceAndTarget, connector: str, states: States) -> Mapping[str, object]:
    configs = connector_configs(session, states)
    known = known_or_former_configs(clusters, (connector,), configs, session.options.console.warn)
    return known.get(connector, {})


def _topics(options: RestoreOptions, own: object, places: ConnectClusters, cluster_id: str) -> tuple[str, ...]:
    """The topics of its stores in this cluster. The workers' topic is not where only the connector produces to."""
    first = options.worker_offsets_topic if own is None else str(own)
    producer = places.producers.get(options.connector)
    workers = places.workers
    if producer == cluster_id and not isinstance(workers, Skipped) and workers != cluster_id:
        return (first,)
    return tuple(dict.fromkeys((options.worker_offsets_topic, first)))
