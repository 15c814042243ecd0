"""A config topic inspected: each connector with the rule that its next start falls under, and what was found."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from eosctl.errors import EosctlError, UsageError
from eosctl.model.config_census import ConfigTopicCensus
from eosctl.model.connectors import ClusterConfigState, ConnectorState, ConnectorType, Reader
from eosctl.model.report import Answer, Finding
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
    """What a config topic shows.

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


@dataclass(frozen=True, slots=True)
class InspectedConfigTopic(Answer):
    """The answer of inspect-config: the topic as `reader` reads it.

    as_of is in ms since the epoch, None where the records are from a file; group_id is the Connect cluster's.
    """

    inspection: Inspection
    reader: Reader
    group_id: str | None
    as_of: int | None
    cluster_id: str | None
    notes: tuple[str, ...] = ()

    @property
    def reported(self) -> tuple[Finding, ...]:
        """The findings of the inspection."""
        return self.inspection.findings

    @property
    def failure(self) -> EosctlError | None:
        """The name of the topic was wrong, where it is not a config topic: nothing was learnt of the connectors."""
        if self.inspection.census.is_config_topic:
            return None
        hint = "--config-topic takes the topic that config.storage.topic of the workers names"
        return UsageError(f"topic {self.inspection.topic} is not a config topic of Kafka Connect", hint=hint)

    @property
    def complete(self) -> bool:
        """Whether all that the checks need was read."""
        return not self.coverage.gaps and not any(each.cause.is_gap for each in self.inspection.skipped.values())
