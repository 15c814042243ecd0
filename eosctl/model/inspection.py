"""A config topic inspected: each connector with the rule that its next start falls under, and what was found."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from eosctl.model.config_census import ConfigTopicCensus
from eosctl.model.connectors import ClusterConfigState, ConnectorState, ConnectorType
from eosctl.model.report import Finding
from eosctl.model.skipped import Skipped
from eosctl.model.topics import TopicFacts


class NextStartRule(StrEnum):
    """How a leader with exactly-once source support answers the next request to fence (DistributedHerder.fence)."""

    NONE = "none"
    FIRST_START = "first-start"
    SINGLE_TASK = "single-task"
    FENCE = "fence"


@dataclass(frozen=True, slots=True)
class NextStart:
    """What the next start of a connector's tasks does: `fences` producers are fenced; words say why."""

    rule: NextStartRule
    fences: int
    words: str


@dataclass(frozen=True, slots=True)
class InspectedConnector:
    """A connector name with what is known of it; type is None where nothing shows whether it is a source or a sink."""

    state: ConnectorState
    type: ConnectorType | None
    running_tasks: int | Skipped
    next_start: NextStart


@dataclass(frozen=True, slots=True)
class Inspection:
    """The answer of inspect-config.

    connectors are those that exist and those of which leftovers remain, by name; absent are the names asked for that
    the topic does not mention. skipped says what could not be checked and why.
    """

    topic: str
    state: ClusterConfigState
    census: ConfigTopicCensus
    topic_facts: TopicFacts | Skipped
    connectors: tuple[InspectedConnector, ...]
    findings: tuple[Finding, ...]
    absent: tuple[str, ...]
    skipped: Mapping[str, Skipped]
