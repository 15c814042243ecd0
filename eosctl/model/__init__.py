"""Frozen nouns with Kafka's own names, and facts derived from them. Nothing here reads, prints or asks the time."""

from eosctl.bare_packages import open_bare

open_bare()
