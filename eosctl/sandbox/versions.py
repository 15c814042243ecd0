"""Kafka versions as the sandbox sees them: what to fetch and which settings a version knows."""

import re
from typing import NamedTuple

from eosctl.errors import UsageError

DEFAULT_KAFKA_VERSION = "4.3.1"
TESTED_KAFKA_VERSIONS = ("3.3.2", "3.6.2", "3.9.2", "4.3.1")


class KafkaVersion(NamedTuple):
    """Major, minor and patch of a released Kafka; compares in release order."""

    major: int
    minor: int
    patch: int


def parse_kafka_version(text: str) -> KafkaVersion:
    """`"4.3.1"` as numbers. UsageError for anything else, and below 3.3.0, the first with exactly-once sources."""
    match = re.fullmatch(r"(\d+)\.(\d+)\.(\d+)", text)
    if match is None:
        raise UsageError(f"{text!r} is not a Kafka version", hint="write three numbers, for example 4.3.1")
    version = KafkaVersion(*map(int, match.groups()))
    if version < KafkaVersion(3, 3, 0):
        raise UsageError(
            f"Kafka {text} has no exactly-once sources", hint="choose 3.3.0 or newer, where KIP-618 was released"
        )
    return version
