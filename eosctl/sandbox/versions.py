"""Kafka versions as the sandbox sees them: what to fetch and which settings a version knows."""

import re

from eosctl.errors import UsageError
from eosctl.model.versions import EXACTLY_ONCE_SOURCES, KafkaVersion

DEFAULT_KAFKA_VERSION = "4.3.1"
TESTED_KAFKA_VERSIONS = ("3.3.2", "3.6.2", "3.9.2", "4.3.1")
TESTED_BROKERS = ("4.4.0",)
"""Releases of which the repository has what brokers need, and no workers: these are of the default version."""


def parse_kafka_version(text: str) -> KafkaVersion:
    """`"4.3.1"` as numbers. UsageError for anything else, and below 3.3.0, the first with exactly-once sources."""
    if re.fullmatch(r"\d+\.\d+\.\d+", text) is None:
        raise UsageError(f"{text!r} is not a Kafka version", hint="write three numbers, for example 4.3.1")
    version = KafkaVersion.parse(text)
    if version < EXACTLY_ONCE_SOURCES:
        raise UsageError(
            f"Kafka {text} has no exactly-once sources", hint="choose 3.3.0 or newer, where KIP-618 was released"
        )
    return version
