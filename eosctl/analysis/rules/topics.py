"""Rules about the workers' internal topics."""

from collections.abc import Iterator
from typing import Final

from eosctl.analysis.catalogue import topics as kinds
from eosctl.analysis.cleanup_policy import cleanup_policy_finding
from eosctl.analysis.connect_requests import for_connector
from eosctl.analysis.rules.client_configs import servers_elsewhere
from eosctl.model.counts import counted
from eosctl.model.evidence import Evidence, InternalTopic
from eosctl.model.report import Finding
from eosctl.model.rules import Rule
from eosctl.model.skipped import Skipped
from eosctl.model.topics import TopicFacts
from eosctl.model.versions import NEWEST

ALL: Final = frozenset({"preparing", "enabled", "disabled"})
OWN: Final = "connector's own offsets"
HELD: Final = {"config": "connectors", "offsets": "offsets", "status": "statuses", OWN: "offsets"}
OWN_TOPIC: Final = "offsets.storage.topic"
POLICY: Final = "cleanup.policy"


def _topics(evidence: Evidence) -> tuple[InternalTopic, ...]:
    return () if isinstance(evidence.internal_topics, Skipped) else evidence.internal_topics


def _own_topics(evidence: Evidence) -> Iterator[tuple[str, InternalTopic]]:
    """Each connector that keeps its offsets in a topic of its own in the workers' Kafka cluster, with that topic."""
    workers = {topic.name for topic in _topics(evidence)}
    for name in evidence.sources():
        topic = evidence.config(name).get(OWN_TOPIC)
        if topic is not None and str(topic) not in workers and servers_elsewhere(evidence, name) is None:
            topics = evidence.topics
            facts = topics if isinstance(topics, Skipped) else topics.get(str(topic))
            yield name, InternalTopic(OWN, str(topic), facts)


def _kept(evidence: Evidence) -> tuple[InternalTopic, ...]:
    """The workers' topics and connectors' own offsets topics."""
    return (*_topics(evidence), *{topic.name: topic for _, topic in _own_topics(evidence)}.values())


def _read(evidence: Evidence) -> Iterator[tuple[InternalTopic, TopicFacts]]:
    for topic in _kept(evidence):
        if isinstance(topic.facts, TopicFacts):
            yield topic, topic.facts


def _unread(evidence: Evidence) -> Iterator[Skipped]:
    yield from (topic.facts for topic in _kept(evidence) if isinstance(topic.facts, Skipped))


def _not_a_status_topic(evidence: Evidence) -> Iterator[Finding]:
    for topic in _topics(evidence):
        if topic.is_another:
            message = "none of its first records has a key of Kafka Connect's status topic"
            yield kinds.NOT_A_STATUS_TOPIC.finding(topic.name, message, {"role": topic.role})


def _missing(evidence: Evidence) -> Iterator[Finding | Skipped]:
    yield from (topic.facts for topic in _topics(evidence) if isinstance(topic.facts, Skipped))
    for topic in _topics(evidence):
        if topic.facts is None:
            message = f"there is no topic {topic.name}, which was taken for the workers' {topic.role} topic"
            yield kinds.MISSING.finding(topic.name, message, {"role": topic.role})


def _partitions(evidence: Evidence) -> Iterator[Finding | Skipped]:
    yield from (each.facts for each in _topics(evidence) if each.role == "config" and isinstance(each.facts, Skipped))
    for topic, facts in _read(evidence):
        if topic.role == "config" and facts.partitions > 1:
            message = f"the config topic has {facts.partitions} partitions: every worker refuses to start"
            yield kinds.PARTITIONS.finding(topic.name, message, {"partitions": facts.partitions})


def _policy(evidence: Evidence) -> Iterator[Finding | Skipped]:
    yield from _unread(evidence)
    for topic, facts in _read(evidence):
        policy = facts.setting(POLICY)
        if isinstance(policy, Skipped):
            yield policy
        elif (finding := cleanup_policy_finding(topic.name, topic.name, policy, HELD[topic.role])) is not None:
            yield finding


def _writable(evidence: Evidence) -> Iterator[Finding | Skipped]:
    yield from _unread(evidence)
    for topic, facts in _read(evidence):
        minimum, short = facts.min_isr, facts.shortage
        if isinstance(minimum, Skipped):
            yield minimum
        elif short is not None:
            few = minimum > facts.replication_factor
            cure = (kinds.TOO_FEW_REPLICAS if few else kinds.WRITABLE.fix).replace("<topic>", topic.name)
            figures = {"min_isr": minimum, "in_sync": facts.in_sync}
            yield kinds.WRITABLE.finding(topic.name, f"{short}: nothing can be written there", figures, cure=cure)


def _thin(evidence: Evidence) -> Iterator[Finding | Skipped]:
    yield from _unread(evidence)
    brokers = 0 if isinstance(evidence.brokers, Skipped) else len(evidence.brokers)
    for topic, facts in _read(evidence):
        if facts.replication_factor < min(3, brokers):
            factor = f"replication factor {facts.replication_factor} on {counted(brokers, 'broker')}"
            message = f"the {topic.role} topic has {factor}"
            yield kinds.THIN.finding(
                topic.name, message, {"replication_factor": facts.replication_factor, "brokers": brokers}
            )


def _own_missing(evidence: Evidence) -> Iterator[Finding | Skipped]:
    statuses = {} if isinstance(evidence.statuses, Skipped) else evidence.statuses
    for name, topic in _own_topics(evidence):
        if isinstance(topic.facts, Skipped):
            yield topic.facts
        elif topic.facts is None and name in statuses and statuses[name].producing_tasks:
            message = f"its tasks run, and there is no topic {topic.name}, in which it has its offsets"
            cure = for_connector(kinds.OWN_MISSING.fix_for(min(evidence.versions, default=NEWEST)), name)
            yield kinds.OWN_MISSING.finding(name, message, {"offsets_topic": topic.name}, cure=cure)


RULES: Final = (
    Rule(
        kinds.NOT_A_STATUS_TOPIC,
        "Is the topic a status topic at all?",
        needs=("internal_topics",),
        check=_not_a_status_topic,
    ),
    Rule(
        kinds.MISSING,
        "Do the workers' three internal topics exist?",
        needs=("internal_topics",),
        check=_missing,
        blocks=ALL,
    ),
    Rule(
        kinds.PARTITIONS,
        "Does the config topic have exactly one partition?",
        needs=("internal_topics",),
        check=_partitions,
        blocks=ALL,
    ),
    Rule(
        kinds.CLEANUP,
        "Are the internal topics compacted, and nothing else?",
        needs=("internal_topics",),
        check=_policy,
        blocks=ALL,
    ),
    Rule(
        kinds.WRITABLE,
        "Do the internal topics have as many replicas as a write needs?",
        needs=("internal_topics",),
        check=_writable,
        blocks=ALL,
    ),
    Rule(
        kinds.THIN,
        "Do the internal topics survive the loss of a broker?",
        needs=("internal_topics", "brokers"),
        check=_thin,
    ),
    Rule(
        kinds.OWN_MISSING,
        "Is every offsets topic there that a connector has of its own?",
        needs=("inspection", "statuses", "topics"),
        check=_own_missing,
        blocks=ALL,
    ),
)
