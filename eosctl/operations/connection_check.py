"""Connecting with every client, step by step."""

from eosctl.clients.checks import check_connections
from eosctl.model.connection_check import ConnectionCheck
from eosctl.operations.session import Session


def check_connection(session: Session) -> ConnectionCheck:
    """Every step of every client to the cluster and its workers; UsageError where no cluster was named."""

    properties, options = session.client_properties, session.options
    if not properties.bootstrap_servers:
        options.need_bootstrap_servers()
    return ConnectionCheck(tuple(check_connections(properties, options.connect_urls, options.timeout_s)))
