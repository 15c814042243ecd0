"""Where connectors write, and which other groups may have their transactional IDs, for the rules."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from eosctl.analysis.output_topics import output_topics
from eosctl.analysis.rules.client_configs import connector_config, servers_elsewhere
from eosctl.model.acls import PatternType
from eosctl.model.client_roles import ConnectorConfig
from eosctl.model.connect_groups import Groups
from eosctl.model.evidence import Evidence, Outputs
from eosctl.model.groups import CONNECT_PROTOCOL
from eosctl.model.live_owners import possible_groups
from eosctl.model.names import ConnectorTaskId, task_transactional_id
from eosctl.model.skipped import Skipped, not_asked
from eosctl.sources.cluster_reader import ClusterReader

OWN_OFFSETS: Final = "offsets.storage.topic"


def with_connectors(reader: ClusterReader, known: Evidence, active: Outputs | Skipped) -> Evidence:
    """The same with the connectors' topics, and with other groups that may have their transactional IDs.

    active are the topics that Connect saw each connector use.
    """
    if isinstance(known.inspection, Skipped):
        why = known.inspection
        return replace(known, outputs=why, topics=why, other_groups=why, groups_elsewhere=why)
    outputs = _outputs(known, active)
    names = {name for each in outputs.values() if not isinstance(each, Skipped) for name in each}
    names |= {str(topic) for each in known.sources() if (topic := known.config(each).get(OWN_OFFSETS)) is not None}
    return replace(
        known,
        outputs=outputs,
        topics=reader.topic_facts(sorted(names)) if names else {},
        other_groups=_other_groups(reader, known),
        groups_elsewhere=_groups_elsewhere(reader, known),
    )


def read_active_topics(reader: ClusterReader, known: Evidence) -> Outputs | Skipped:
    """The topics that Connect saw each source connector use; configs name the others."""
    with reader.adding():
        return reader.active_topics(known.sources()) if known.sources() else {}


def _outputs(known: Evidence, active: Outputs | Skipped) -> Outputs:
    found: dict[str, tuple[str, ...] | Skipped] = {}
    for name in known.sources():
        seen = active if isinstance(active, Skipped) else active.get(name, ())
        configured = set(_configured(connector_config(known, name)))
        if servers_elsewhere(known, name) is not None:
            found[name] = not_asked(f"{name} writes to another Kafka cluster: ask there")
        elif isinstance(seen, Skipped):
            found[name] = tuple(sorted(configured)) or seen
        else:
            found[name] = tuple(sorted(configured.union(seen)))
    return found


def _configured(connector: ConnectorConfig) -> Iterator[str]:
    """The output topics that the config names one by one."""
    for pattern in output_topics(connector):
        if pattern.pattern_type is PatternType.LITERAL and not pattern.is_wildcard:
            yield pattern.name


def _other_groups(reader: ClusterReader, known: Evidence) -> Groups | Skipped:
    """Of the groups that Connect workers form, those that may have an ID of our tasks."""
    group_id, groups, statuses = known.group_id, known.groups, known.statuses
    if isinstance(group_id, Skipped):
        return group_id
    if isinstance(groups, Skipped):
        return groups
    if isinstance(statuses, Skipped):
        return statuses
    ids = (
        task_transactional_id(group_id, ConnectorTaskId(name, task.task))
        for name in known.sources()
        if name in statuses
        for task in statuses[name].tasks
    )
    workers = {name for name, kind in groups.items() if kind == CONNECT_PROTOCOL}
    asked = sorted((possible_groups(ids) & workers) - {group_id})
    return reader.connect_groups(asked) if asked else {}


def _groups_elsewhere(reader: ClusterReader, known: Evidence) -> Groups | Skipped:
    """The workers' group.id in the Kafka cluster of each connector that writes to another one."""
    if isinstance(known.group_id, Skipped):
        return known.group_id
    places = {name: servers_elsewhere(known, name) for name in known.sources()}
    servers = {name: each for name, each in places.items() if isinstance(each, frozenset)}
    found = reader.groups_elsewhere(known.group_id, servers) if servers else {}
    unknown = {name: each for name, each in places.items() if isinstance(each, Skipped)}
    return found if isinstance(found, Skipped) else {**found, **unknown}
