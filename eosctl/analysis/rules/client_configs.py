"""The clients of a connector by the evidence: one for each worker whose properties file was given."""

from collections.abc import Iterator
from typing import Final

from eosctl.analysis.client_configs import connector_client
from eosctl.model.client_configs import SERVERS, ClientConfig, as_properties, server_set
from eosctl.model.client_roles import ClientRole, ConnectorConfig, WorkerConfig
from eosctl.model.evidence import Evidence
from eosctl.model.skipped import Skipped, not_asked
from eosctl.model.versions import NEWEST

UNREAD: Final = not_asked("what the workers set for their connectors' clients is not known: give --worker-config")
FLOWS: Final = not_asked("what a dedicated MirrorMaker sets for the clients of each flow is not read from its file")


def workers_of(evidence: Evidence) -> tuple[WorkerConfig, ...]:
    """The worker of each file; one whose settings are unread where no file was given."""
    version = max(evidence.versions, default=NEWEST)
    group = {} if isinstance(evidence.group_id, Skipped) else {"group.id": evidence.group_id}
    files = {} if isinstance(evidence.worker_files, Skipped) else evidence.worker_files
    if not files:
        return (WorkerConfig(as_properties(group), version, unread=UNREAD),)
    return tuple(
        WorkerConfig(as_properties(group), version, dedicated=True, unread=FLOWS)
        if "clusters" in properties
        else WorkerConfig(as_properties({**group, **properties}, name), version)
        for name, properties in files.items()
    )


def clients_of(evidence: Evidence, connector: str, role: ClientRole, *, exactly_once: bool) -> Iterator[ClientConfig]:
    """The client of this role that each worker would make for the connector."""
    config = connector_config(evidence, connector)
    for worker in workers_of(evidence):
        yield connector_client(worker, config, role, exactly_once=exactly_once)


def connector_config(evidence: Evidence, connector: str) -> ConnectorConfig:
    """The connector's masked config; one without settings where it is not known."""
    return ConnectorConfig(connector, as_properties(evidence.config(connector)))


def servers_elsewhere(evidence: Evidence, connector: str) -> frozenset[str] | Skipped | None:
    """The bootstrap.servers that the connector's producers have instead of their workers'.

    None where they have the workers'; Skipped where they have others and these are not known.
    """
    clients = clients_of(evidence, connector, ClientRole.PRODUCER, exactly_once=True)
    servers = next((each.setting(SERVERS) for each in clients if each.servers_of_its_own), None)
    return server_set(servers) if isinstance(servers, str) else servers
