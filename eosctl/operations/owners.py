"""Names that transactional IDs are held against: Connect clusters by their groups, connectors by topic and REST."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from eosctl.analysis.config_topic import fold_config_topic
from eosctl.analysis.owners import KnownNames
from eosctl.errors import EosctlError
from eosctl.model.connectors import ConnectorState, Reader
from eosctl.model.groups import ListedGroup
from eosctl.model.skipped import Skipped, not_asked
from eosctl.model.snapshot import Snapshot
from eosctl.model.versions import NEWEST
from eosctl.model.workers import ConnectFacts
from eosctl.operations.reading import read_config_topic
from eosctl.operations.session import Session

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ConnectNames:
    """What is known of the Connect clusters: groups of the Kafka cluster, and of --group-id its connectors."""

    names: KnownNames
    groups: Mapping[str, ListedGroup] | Skipped
    connectors: Mapping[str, ConnectorState] | Skipped
    connect: ConnectFacts | Skipped

    @property
    def notes(self) -> tuple[str, ...]:
        """What makes owners less certain, for the end of an answer."""
        unread = {"groups": self.groups, "connectors": self.connectors}
        return tuple(f"owners by {what}: {why.reason}" for what, why in unread.items() if isinstance(why, Skipped))


def read_connect_names(session: Session, config_topic: str) -> ConnectNames:
    """Whatever can be read; what cannot is Skipped, because a transaction without an owner is still worth showing."""
    group_id = session.options.group_id
    groups = _tried(lambda: _groups(session))
    connect = _tried(session.read_connect)
    connectors = _tried(lambda: _connectors(session, config_topic))
    return _names(group_id, groups, connectors, connect)


def saved_connect_names(snapshot: Snapshot, group_id: str | None) -> ConnectNames:
    """The same from a snapshot; group_id None takes that of the snapshot."""
    producers, log = snapshot.producers, snapshot.config_topic
    groups = producers if isinstance(producers, Skipped) else producers.groups
    connectors = log if isinstance(log, Skipped) else fold_config_topic(log.records, Reader(NEWEST)).states
    return _names(group_id or snapshot.group_id, groups, connectors, snapshot.connect)


def _names(
    group_id: str | None,
    groups: Mapping[str, ListedGroup] | Skipped,
    connectors: Mapping[str, ConnectorState] | Skipped,
    connect: ConnectFacts | Skipped,
) -> ConnectNames:
    clusters: dict[str, set[str]] = {}
    if not isinstance(groups, Skipped):
        clusters = {each.group_id: set() for each in groups.values() if each.is_connect}
    if group_id is not None:
        known = set() if isinstance(connectors, Skipped) else set(connectors)
        running = set() if isinstance(connect, Skipped) else set(connect.connectors)
        clusters[group_id] = known | running
    return ConnectNames(KnownNames.of(clusters), groups, connectors, connect)


def _tried(read: "Callable[[], T | Skipped]") -> "T | Skipped":
    try:
        return read()
    except EosctlError as error:
        return Skipped.of(error)


def _groups(session: Session) -> Mapping[str, ListedGroup]:
    from eosctl.sources.kafka_groups import listed_groups

    return listed_groups(session.wire)


def _connectors(session: Session, config_topic: str) -> Mapping[str, ConnectorState] | Skipped:
    if session.options.group_id is None:
        return not_asked("no --group-id was given, so connectors are not known")
    return fold_config_topic(read_config_topic(session, config_topic).records, Reader(NEWEST)).states
