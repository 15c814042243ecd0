"""A real Kafka and Kafka Connect on this machine."""
