"""Frozen nouns with Kafka's own names, and facts derived from them. Nothing here reads, prints or asks the time."""
