"""Messages of the Kafka protocol that kafka-python does not know, as schemas in the form of Kafka's own."""
