"""Rules about the workers' internal topics."""

from collections.abc import Iterator
from typing import Final

from eosctl.model.counts import counted
from eosctl.model.evidence import Evidence, InternalTopic
from eosctl.model.report import Finding, Severity
from eosctl.model.rules import Rule
from eosctl.model.skipped import Skipped
from eosctl.model.topics import TopicFacts

ALL: Final = frozenset({"preparing", "enabled", "disabled"})
POLICY: Final = "cleanup.policy"
MIN_ISR: Final = "min.insync.replicas"


def _topics(evidence: Evidence) -> tuple[InternalTopic, ...]:
    return () if isinstance(evidence.internal_topics, Skipped) else evidence.internal_topics


def _read(evidence: Evidence) -> Iterator[tuple[InternalTopic, TopicFacts]]:
    for topic in _topics(evidence):
        if isinstance(topic.facts, TopicFacts):
            yield topic, topic.facts


def _unread(evidence: Evidence) -> Iterator[Skipped]:
    yield from (topic.facts for topic in _topics(evidence) if isinstance(topic.facts, Skipped))


def _missing(evidence: Evidence) -> Iterator[Finding | Skipped]:
    yield from _unread(evidence)
    for topic in _topics(evidence):
        if topic.facts is None:
            message = f"there is no topic {topic.name}, which was taken for the workers' {topic.role} topic"
            yield MISSING.finding(topic.name, message, role=topic.role)


def _partitions(evidence: Evidence) -> Iterator[Finding | Skipped]:
    yield from (each.facts for each in _topics(evidence) if each.role == "config" and isinstance(each.facts, Skipped))
    for topic, facts in _read(evidence):
        if topic.role == "config" and facts.partitions > 1:
            message = f"the config topic has {facts.partitions} partitions: every worker refuses to start"
            yield PARTITIONS.finding(topic.name, message, partitions=facts.partitions)


def _policy(evidence: Evidence) -> Iterator[Finding | Skipped]:
    yield from _unread(evidence)
    for topic, facts in _read(evidence):
        policy = facts.settings.get(POLICY)
        if policy is None:
            yield Skipped(f"{POLICY} of {topic.name} may not be read (DescribeConfigs)")
        elif [word.strip() for word in policy.split(",")] != ["compact"]:
            message = f"{POLICY} of the {topic.role} topic is {policy}: its records are deleted with time"
            cure = CLEANUP.cure.replace("<topic>", topic.name)
            yield CLEANUP.finding(topic.name, message, cure=cure, cleanup_policy=policy)


def _writable(evidence: Evidence) -> Iterator[Finding | Skipped]:
    yield from _unread(evidence)
    for topic, facts in _read(evidence):
        if MIN_ISR not in facts.settings:
            yield Skipped(f"{MIN_ISR} of {topic.name} may not be read (DescribeConfigs)")
            continue
        minimum = int(facts.settings[MIN_ISR])
        if minimum > facts.replication_factor:
            message = (
                f"{MIN_ISR} is {minimum} and the replication factor {facts.replication_factor}: nothing can be written"
            )
            cure = WRITABLE.cure.replace("<topic>", topic.name)
            yield WRITABLE.finding(topic.name, message, cure=cure, min_isr=minimum)


def _thin(evidence: Evidence) -> Iterator[Finding | Skipped]:
    yield from _unread(evidence)
    brokers = 0 if isinstance(evidence.brokers, Skipped) else len(evidence.brokers)
    for topic, facts in _read(evidence):
        if facts.replication_factor < min(3, brokers):
            factor = f"replication factor {facts.replication_factor} on {counted(brokers, 'broker')}"
            message = f"the {topic.role} topic has {factor}"
            yield THIN.finding(topic.name, message, replication_factor=facts.replication_factor, brokers=brokers)


MISSING: Final = Rule(
    id="EOS050",
    title="internal topic is missing",
    severity=Severity.ERROR,
    question="Do the workers' three internal topics exist?",
    needs=("internal_topics",),
    cause="Workers create them at their first start; a topic of another name means that eosctl looks at the wrong one.",
    cure="name the workers' topics: --config-topic, --worker-offsets-topic, --status-topic",
    source="Kafka Connect configuration",
    check=_missing,
    blocks=ALL,
)
PARTITIONS: Final = Rule(
    id="EOS051",
    title="config topic with several partitions",
    severity=Severity.ERROR,
    question="Does the config topic have exactly one partition?",
    needs=("internal_topics",),
    cause="The order of its records is their meaning, and Kafka keeps order within a partition only.",
    cure="create a topic with 1 partition and cleanup.policy=compact, copy the records of all partitions into it in "
    "the "
    "order of their timestamps, and set config.storage.topic of all workers to it",
    source="Kafka Connect configuration",
    check=_partitions,
    blocks=ALL,
)
CLEANUP: Final = Rule(
    id="EOS052",
    title="internal topic is not compacted",
    severity=Severity.ERROR,
    question="Are the internal topics compacted, and nothing else?",
    needs=("internal_topics",),
    cause="With `delete` in its cleanup policy a topic loses connectors or offsets with time; workers that may read "
    "the "
    "policy refuse to start.",
    cure="kafka-configs.sh --alter --entity-type topics --entity-name <topic> --add-config cleanup.policy=compact",
    source="Kafka Connect configuration",
    check=_policy,
    blocks=ALL,
)
WRITABLE: Final = Rule(
    id="EOS053",
    title="internal topic cannot be written",
    severity=Severity.ERROR,
    question="Do the internal topics have as many replicas as a write needs?",
    needs=("internal_topics",),
    cause="Workers write with acks=all, which waits for min.insync.replicas.",
    cure="kafka-configs.sh --alter --entity-type topics --entity-name <topic> --add-config min.insync.replicas=1",
    source="Kafka broker configuration",
    check=_writable,
    blocks=ALL,
)
THIN: Final = Rule(
    id="EOS054",
    title="internal topic is thinly replicated",
    severity=Severity.WARNING,
    question="Do the internal topics survive the loss of a broker?",
    needs=("internal_topics", "brokers"),
    cause="An offsets topic that is lost starts every source from nothing.",
    cure="raise the replication factor with kafka-reassign-partitions.sh",
    source="Kafka Connect configuration",
    check=_thin,
)
RULES: Final = (MISSING, PARTITIONS, CLEANUP, WRITABLE, THIN)
