"""The rule about transactions that a connector ends itself."""

from collections.abc import Iterator
from typing import Final

from eosctl.analysis.catalogue import connectors as kinds
from eosctl.analysis.connect_requests import for_connector
from eosctl.model.evidence import Evidence
from eosctl.model.report import Finding
from eosctl.model.rules import Rule

TIMEOUT: Final = "transaction.timeout.ms"
DEFAULT_TIMEOUT_MS: Final = 60_000


def _unbound(evidence: Evidence) -> Iterator[Finding]:
    """Those whose producers have the default timeout, which nobody chose for them."""
    chosen_by_workers = bool(evidence.configured(f"producer.{TIMEOUT}"))
    for name in evidence.sources():
        config = evidence.config(name)
        by_connector = str(config.get("transaction.boundary", "poll")).lower() == "connector"
        if by_connector and f"producer.override.{TIMEOUT}" not in config and not chosen_by_workers:
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
        unproven="none of Kafka's own connectors ends its transactions itself, and the config alone decides",
    ),
)
