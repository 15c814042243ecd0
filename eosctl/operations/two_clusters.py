"""Source and target of a plan, as the command line names them: -b and its like, and --to-… for the target."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType

from eosctl.analysis.config_topic import connector_states
from eosctl.clients.access import ClusterAccess
from eosctl.clients.rest_identity import WorkerUrl
from eosctl.model.connectors import ConnectorState
from eosctl.model.sides import Place, Side
from eosctl.model.skipped import Skipped
from eosctl.operations.session import Session
from eosctl.sources.plan_facts import read_connector_states

States = Mapping[str, ConnectorState] | Skipped
"""Every connector that a config topic mentions; Skipped where it was not read."""


@dataclass(frozen=True, slots=True)
class TargetOptions:
    """The user's options for the target; nothing where it is the same as the source."""

    bootstrap_server: str | None = None
    command_config: Path | None = None
    connect_urls: Sequence[str] = ()
    config_topic: str | None = None

    @property
    def other_cluster(self) -> bool:
        """Whether another Kafka cluster was named."""
        return self.bootstrap_server is not None or self.command_config is not None


class SourceAndTarget:
    """Access to source and target. The target's Connect cluster is reached by the options of the target only."""

    def __init__(self, session: Session, config_topic: str, target: TargetOptions) -> None:
        self._session = session
        self._config_topic = config_topic
        self._target = target
        self._target_session = session
        if target.other_cluster:
            options = replace(
                session.options,
                bootstrap_servers=target.bootstrap_server,
                command_config=target.command_config,
                properties=MappingProxyType({}),
                profile=None,
            )
            self._target_session = Session(options)
            session.has_other_cluster = True

    def __enter__(self) -> "SourceAndTarget":
        return self

    def __exit__(self, *_: object) -> None:
        if self._target_session is not self._session:
            self._target_session.__exit__()

    def access(self, side: Side) -> ClusterAccess:
        """The clusters of one side; connects at the first request."""

        options = self._session.options
        if side is Side.SOURCE:
            return ClusterAccess(self._session.wire, options.connect_urls, self._config_topic, options.timeout_s)
        target = self._target_session
        urls = tuple(
            WorkerUrl(url.rstrip("/"), lambda: target.client_properties, options.max_answer_bytes)
            for url in self._target.connect_urls
        )
        return ClusterAccess(self._target_session.wire, urls, self._target.config_topic, options.timeout_s)

    @property
    def places(self) -> tuple[Place, ...]:
        """How the sides are reached, as a plan keeps it: without secrets. The target's where it is another."""
        options, target = self._session.options, self._target
        found = [
            Place(
                Side.SOURCE,
                self._session.client_properties.bootstrap_servers,
                tuple(map(str, options.connect_urls)),
                self._config_topic,
            )
        ]
        if target != TargetOptions():
            servers = self._target_session.client_properties.bootstrap_servers if target.other_cluster else ()
            urls = tuple(url.rstrip("/") for url in map(str, map(WorkerUrl, target.connect_urls)))
            found.append(Place(Side.TARGET, servers, urls, target.config_topic))
        return tuple(found)

    def connector_states(self, side: Side) -> States:
        """The connectors of one side's Connect cluster, as its config topic has them."""

        return read_connector_states(self.access(side), connector_states)
