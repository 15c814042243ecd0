"""Which records of a source connector belong together: one file for each family of connectors."""

from typing import Final

from eosctl.analysis.grammars.debezium import DEBEZIUM
from eosctl.analysis.grammars.debezium_transactions import DEBEZIUM_TRANSACTIONS
from eosctl.analysis.grammars.grammar import Grammar
from eosctl.model.client_roles import ConnectorConfig

GRAMMARS: Final = (DEBEZIUM_TRANSACTIONS, DEBEZIUM)
"""The first one that is of a connector is its grammar."""
BY_NAME: Final = {each.name: each for each in GRAMMARS}


def grammar_of(connector: ConnectorConfig) -> Grammar | None:
    """The grammar of its records; None if none is known."""
    return next((each for each in GRAMMARS if each.is_of(connector)), None)
