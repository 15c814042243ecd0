"""Connections and identities: the only importers of the Kafka and HTTP client libraries. They carry, nothing more."""

from eosctl.bare_packages import open_bare

open_bare()
