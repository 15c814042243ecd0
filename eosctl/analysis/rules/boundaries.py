"""The rule about transactions that a connector ends itself."""

from collections.abc import Iterator
from typing import Final

from eosctl.analysis.catalogue import connectors as kinds
from eosctl.analysis.connect_requests import for_connector
from eosctl.analysis.rules.client_configs import clients_of, connector_config
from eosctl.model.client_roles import ClientRole
from eosctl.model.evidence import Evidence
from eosctl.model.report import Finding
from eosctl.model.rules import Rule
from eosctl.model.skipped import Skipped

TIMEOUT: Final = "transaction.timeout.ms"
DEFAULT_TIMEOUT_MS: Final = 60_000


def _unbound(evidence: Evidence) -> Iterator[Finding | Skipped]:
    """Those whose producers have the default timeout, which nobody chose for them."""
    for name in evidence.sources():
        by_connector = connector_config(evidence, name).get("transaction.boundary").lower() == "connector"
        producers = clients_of(evidence, name, ClientRole.PRODUCER, exactly_once=True)
        unread = {each.unread for each in producers if by_connector and TIMEOUT not in each.properties}
        yield from (each for each in unread if each is not None)
        if None in unread:
            message = f"it ends its transactions itself, and the broker after {DEFAULT_TIMEOUT_MS} ms, Kafka's default"
            yield kinds.UNBOUND.finding(
                name,
                message,
                {"transaction_timeout_ms": DEFAULT_TIMEOUT_MS},
                cure=for_connector(kinds.UNBOUND.fix, name),
            )


RULES: Final = (
    Rule(
        kinds.UNBOUND,
        "Has every connector that ends its transactions itself a timeout that was chosen for it?",
        needs=("inspection",),
        check=_unbound,
    ),
)
