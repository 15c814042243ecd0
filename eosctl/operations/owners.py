"""Names that transactional IDs are compared with: Connect clusters by their groups, connectors by topic and REST."""

from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass

from eosctl.analysis.config_topic import connector_states
from eosctl.analysis.owners import KnownNames
from eosctl.analysis.rules.group import no_group
from eosctl.model.connect_groups import no_such_group
from eosctl.model.connectors import ConnectorState
from eosctl.model.skipped import Skipped, not_asked, or_skipped
from eosctl.model.workers import ConnectFacts, WorkerFacts
from eosctl.sources.cluster_reader import ClusterReader


@dataclass(frozen=True, slots=True)
class ConnectNames:
    """What is known of the Connect clusters: groups of the Kafka cluster, and of --group-id its connectors.

    config_topic is the name of the topic that the connectors are from; notes say what makes owners less certain.
    """

    names: KnownNames
    connectors: Mapping[str, ConnectorState] | Skipped
    config_topic: str
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Connectors:
    config_topic: str
    states: Mapping[str, ConnectorState]


def read_connect_names(reader: ClusterReader, config_topic: str, *, needed: bool = False) -> ConnectNames:
    """Whatever can be read; what cannot is Skipped, because a transaction without an owner is still worth showing.

    needed is whether owners decide what is shown. UsageError where the group is not that of the workers that answer.
    """
    with nullcontext() if needed else reader.adding():
        groups, group_id = reader.groups(), reader.group_id
        connect = or_skipped(reader.connect)
        found = or_skipped(lambda: _read_connectors(reader, config_topic))
    clusters: dict[str, set[str]] = {}
    if not isinstance(groups, Skipped):
        clusters = {each.group_id: set() for each in groups.values() if each.is_connect}
    if group_id is not None:
        known = set() if isinstance(found, Skipped) else set(found.states)
        running = set() if isinstance(connect, Skipped) else set(connect.connectors)
        clusters[group_id] = known | running
    unread = {"groups": groups, "connectors": found}
    notes = [f"owners by {what}: {why.reason}" for what, why in unread.items() if isinstance(why, Skipped)]
    if group_id is not None and not isinstance(groups, Skipped) and group_id not in groups:
        require_group(reader, connect)
        absent = no_such_group(group_id, clusters.keys() - {group_id})
        notes.append(f"group {group_id}: {absent.reason}")
    return ConnectNames(
        KnownNames.of(clusters),
        found if isinstance(found, Skipped) else found.states,
        config_topic if isinstance(found, Skipped) else found.config_topic,
        tuple(notes),
    )


def require_group(reader: ClusterReader, connect: ConnectFacts | Skipped) -> None:
    """UsageError (EOS020) where workers answer, and the group that was named has none or is not one of workers.

    Where none answers they may all be stopped: the coverage says that there is no such group.
    """
    if reader.group_id is None:
        return
    group = reader.connect_group(reader.group_id)
    workers = () if isinstance(connect, Skipped) else connect.workers.values()
    answer = any(isinstance(each, WorkerFacts) for each in workers)
    found = None if isinstance(group, Skipped) else no_group(reader.group_id, group, workers_answer=answer)
    if found is not None:
        raise found.as_usage_error()


def _read_connectors(reader: ClusterReader, config_topic: str) -> _Connectors | Skipped:
    if reader.group_id is None:
        return not_asked("no --group-id was given, so connectors are not known")
    log = reader.config_topic(config_topic)
    return _Connectors(log.topic, connector_states(log.records))
