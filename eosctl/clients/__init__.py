"""Connections and identities: the only importers of the Kafka and HTTP client libraries. They carry, nothing more."""
