"""Source and target of a plan, and how they are reached."""

from dataclasses import dataclass
from enum import StrEnum


class Side(StrEnum):
    """Which of a plan's Kafka clusters and Connect clusters is meant; both are the same where nothing moves away."""

    SOURCE = "source"
    TARGET = "target"


@dataclass(frozen=True, slots=True)
class Place:
    """One side's brokers, workers' REST addresses without user and password, and config topic (None: not named)."""

    side: Side
    bootstrap_servers: tuple[str, ...]
    connect_urls: tuple[str, ...] = ()
    config_topic: str | None = None
