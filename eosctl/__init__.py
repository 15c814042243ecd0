"""eosctl: operations toolkit for exactly-once Kafka Connect sources (KIP-618) and Kafka transactions (KIP-98)."""

__version__ = "0.1.0"
