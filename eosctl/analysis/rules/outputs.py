"""Rules about the topics that source connectors write to, in the workers' own Kafka cluster."""

from collections.abc import Iterator
from typing import Final

from eosctl.analysis.catalogue import outputs as kinds
from eosctl.model.counts import some
from eosctl.model.evidence import Evidence
from eosctl.model.report import Finding, Severity
from eosctl.model.rules import Rule
from eosctl.model.skipped import Skipped
from eosctl.model.topics import MIN_ISR, TopicFacts

UNCLEAN: Final = "unclean.leader.election.enable"


def _written(evidence: Evidence) -> Iterator[tuple[str, list[TopicFacts]] | Skipped]:
    """Each connector with those of its topics that exist, and why others are not known."""
    outputs = {} if isinstance(evidence.outputs, Skipped) else evidence.outputs
    topics = {} if isinstance(evidence.topics, Skipped) else evidence.topics
    for name, written in outputs.items():
        if isinstance(written, Skipped):
            yield written
            continue
        found = [topics.get(each) for each in written]
        yield from (each for each in found if isinstance(each, Skipped))
        yield name, [each for each in found if isinstance(each, TopicFacts)]


def _thin(evidence: Evidence) -> Iterator[Finding | Skipped]:
    brokers = 0 if isinstance(evidence.brokers, Skipped) else len(evidence.brokers)
    for each in _written(evidence):
        if isinstance(each, Skipped):
            yield each
            continue
        name, topics = each
        yield from (topic.settings for topic in topics if isinstance(topic.settings, Skipped))
        thin = {topic.name: why for topic in topics if (why := _why_thin(topic, brokers))}
        weak = [topic.name for topic in topics if topic.name not in thin and _is_weak(topic)]
        if thin:
            message = f"what it committed may be lost: {some([f'{topic} ({why})' for topic, why in thin.items()])}"
            raised = any(topic.replication_factor == 1 for topic in topics if topic.name in thin)
            yield kinds.THIN.finding(name, message, {"topics": dict(thin)}, cure=None if raised else kinds.CLEAN)
        if weak:
            message = f"{MIN_ISR} is 1, so the last writes may be in one replica alone: {some(weak)}"
            yield kinds.THIN.finding(name, message, {"topics": weak}, severity=Severity.INFO, cure=kinds.TWO_IN_SYNC)


def _why_thin(topic: TopicFacts, brokers: int) -> str:
    reasons = []
    if topic.replication_factor == 1 and brokers > 1:
        reasons.append("replication factor 1")
    if topic.setting(UNCLEAN) == "true" and topic.replication_factor > 1:
        reasons.append(f"{UNCLEAN}=true")
    return " and ".join(reasons)


def _is_weak(topic: TopicFacts) -> bool:
    return topic.replication_factor > 2 and topic.min_isr == 1  # of two, both would have to live


def _unwritable(evidence: Evidence) -> Iterator[Finding | Skipped]:
    for each in _written(evidence):
        if isinstance(each, Skipped):
            yield each
            continue
        name, topics = each
        yield from (topic.settings for topic in topics if isinstance(topic.settings, Skipped))
        wrong = {topic.name: why for topic in topics if (why := _why_unwritable(topic))}
        if wrong:
            message = f"nothing can be written to {some([f'{topic} ({why})' for topic, why in wrong.items()])}"
            yield kinds.UNWRITABLE.finding(name, message, {"topics": dict(wrong)})


def _why_unwritable(topic: TopicFacts) -> str:
    if topic.leaderless:
        return f"no leader of partition {some(list(map(str, topic.leaderless)))}"
    return topic.shortage if isinstance(topic.shortage, str) else ""


RULES: Final = (
    Rule(
        kinds.THIN,
        "Does what connectors committed survive the loss of a broker?",
        needs=("outputs", "topics", "brokers"),
        check=_thin,
    ),
    Rule(
        kinds.UNWRITABLE,
        "Can every topic be written that connectors write to?",
        needs=("outputs", "topics"),
        check=_unwritable,
        blocks=frozenset({"preparing", "enabled", "disabled"}),
    ),
)
