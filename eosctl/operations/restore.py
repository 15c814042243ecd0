"""What `offsets restore` reads, decides and carries out."""

from dataclasses import dataclass
from pathlib import Path

from eosctl.codecs.kip875 import decode_kip875
from eosctl.model.migration import ConnectClusters, MigrationFacts, MigrationRequest
from eosctl.model.plan import ConnectorStopped, Side
from eosctl.model.skipped import Skipped
from eosctl.operations.migration import Planned, connector_configs, fenced_ids, present, transaction_timeout_ms
from eosctl.operations.migration_clusters import known_or_former_configs, read_clusters
from eosctl.operations.session import Session
from eosctl.operations.two_clusters import SourceAndTarget
from eosctl.planning.restore import RestoreRequest, plan_restore

OFFSETS_TOPIC_SETTING = "offsets.storage.topic"


@dataclass(frozen=True, slots=True)
class RestoreOptions:
    """The command line."""

    file: Path
    connector: str
    stop: bool
    resume: bool
    offsets_topic: str | None
    worker_offsets_topic: str
    plan_file: Path | None
    create_keys: bool = False


def restore(session: Session, sides: SourceAndTarget, asked: RestoreOptions) -> int:
    """The whole command: plan, show, ask, apply. Returns the exit code."""

    def plan(just_stopped: tuple[ConnectorStopped, ...]) -> Planned:
        return _read_and_plan(session, sides, asked, just_stopped)

    return present(session, sides, plan, asked.plan_file)


def _read_and_plan(
    session: Session, sides: SourceAndTarget, asked: RestoreOptions, just_stopped: tuple[ConnectorStopped, ...]
) -> Planned:
    from eosctl.sources.files import read_text
    from eosctl.sources.plan_facts import (
        read_connector_facts,
        read_connector_states,
        read_offsets_topic,
        read_topic_now,
    )

    offsets = decode_kip875(read_text(asked.file, "the export file"), str(asked.file))
    group_id = session.options.need_group_id()
    access = sides.access(Side.SOURCE)
    states = read_connector_states(access)
    configs = connector_configs(session, states)
    known = known_or_former_configs(sides, (asked.connector,), configs)
    config = known.get(asked.connector, {})
    own = asked.offsets_topic or config.get(OFFSETS_TOPIC_SETTING)
    clusters = read_clusters(sides, {asked.connector: config}, group_id)
    topics = _topics(asked, own, clusters, access.wire.cluster_id)
    request = RestoreRequest(
        asked.connector,
        group_id,
        topics,
        offsets,
        asked.stop,
        asked.resume,
        just_stopped,
        create_keys=asked.create_keys,
        own_topic=own is not None,
        named=asked.offsets_topic is not None,
    )
    facts = MigrationFacts(
        as_of=session.now(),
        cluster_ids=dict.fromkeys(Side, access.wire.cluster_id),
        connectors={
            (Side.SOURCE, name): each
            for name, each in read_connector_facts(access, [asked.connector], lived_here=True).items()
        },
        topics={(Side.SOURCE, topic): read_topic_now(access, topic) for topic in topics},
        offsets={(Side.SOURCE, topic): read_offsets_topic(access, topic) for topic in topics},
        fenced_ids=fenced_ids(sides, MigrationRequest((), group_id, group_id), states, {asked.connector}),
        transaction_timeout_ms=transaction_timeout_ms(access),
        clusters=clusters,
    )
    return Planned(plan_restore(request, facts), facts.cluster_ids[Side.SOURCE])


def _topics(asked: RestoreOptions, own: object, clusters: ConnectClusters, cluster_id: str) -> tuple[str, ...]:
    """The topics of its stores in this cluster. The workers' topic is not where only the connector produces to."""
    first = asked.worker_offsets_topic if own is None else str(own)
    producer = clusters.producers.get(asked.connector)
    workers = clusters.workers
    if producer == cluster_id and not isinstance(workers, Skipped) and workers != cluster_id:
        return (first,)
    return tuple(dict.fromkeys((asked.worker_offsets_topic, first)))
