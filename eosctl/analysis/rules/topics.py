"""Rules about the workers' internal topics."""

from collections.abc import Callable, Iterator
from typing import Final

from eosctl.analysis.catalogue import audit as mirror_kinds
from eosctl.analysis.catalogue import connect as kinds_of_losses
from eosctl.analysis.catalogue import internal_topics
from eosctl.analysis.catalogue import internal_topics as kinds
from eosctl.analysis.client_configs import servers_elsewhere
from eosctl.analysis.connect_requests import for_connector
from eosctl.analysis.inspection import cleanup_policy_finding
from eosctl.analysis.rules.workers import probes
from eosctl.model.client_roles import SERVERS, server_set
from eosctl.model.connectors import OFFSETS_TOPIC, schema_history
from eosctl.model.evidence import Evidence, InternalTopic
from eosctl.model.report import Finding, FindingKind, Severity
from eosctl.model.rules import Check, Rule, Versions, Whose
from eosctl.model.skipped import Skipped, not_asked
from eosctl.model.text import first_few, pluralize
from eosctl.model.times import lasting
from eosctl.model.topics import MirroredPartition, TopicFacts
from eosctl.model.versions import NEWEST, KafkaVersion
from eosctl.model.whole_numbers import whole_number
from eosctl.model.workers import connector_path

ALL: Final = frozenset({"preparing", "enabled", "disabled"})
OWN: Final = "connector's own offsets"
HELD: Final = {"config": "connectors", "offsets": "offsets", "status": "statuses", OWN: "offsets"}
POLICY: Final = "cleanup.policy"


def _topics(evidence: Evidence) -> tuple[InternalTopic, ...]:
    return () if isinstance(evidence.internal_topics, Skipped) else evidence.internal_topics


def _own_topics(evidence: Evidence) -> Iterator[tuple[str, InternalTopic]]:
    """Each connector that keeps its offsets in a topic of its own in the workers' Kafka cluster, with that topic."""
    workers = {topic.name for topic in _topics(evidence)}
    for name in evidence.sources():
        topic = evidence.config(name).get(OFFSETS_TOPIC)
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
        minimum, short = facts.min_isr, facts.shortage(evidence.min_isr_is_capped)
        if isinstance(short, Skipped):
            yield short
        elif short is not None:
            few = facts.lacks_replicas(evidence.min_isr_is_capped)
            cure = (kinds.TOO_FEW_REPLICAS if few else kinds.WRITABLE.fix).replace("<topic>", topic.name)
            figures = {"min_isr": minimum, "in_sync": facts.in_sync}
            yield kinds.WRITABLE.finding(topic.name, f"{short}: nothing can be written there", figures, cure=cure)


def _thin(evidence: Evidence) -> Iterator[Finding | Skipped]:
    yield from _unread(evidence)
    brokers = 0 if isinstance(evidence.brokers, Skipped) else len(evidence.brokers)
    for topic, facts in _read(evidence):
        if facts.replication_factor < min(3, brokers):
            factor = f"replication factor {facts.replication_factor} on {pluralize(brokers, 'broker')}"
            message = f"the {topic.role} topic has {factor}"
            yield kinds.THIN.finding(
                topic.name, message, {"replication_factor": facts.replication_factor, "brokers": brokers}
            )
        elif (why := facts.needs_all(evidence.min_isr_is_capped)) is not None:
            figures = {"replication_factor": facts.replication_factor, "min_isr": facts.min_isr}
            yield kinds.THIN.finding(
                topic.name,
                f"the {topic.role} topic has {why}: one lost replica stops writes",
                figures,
                cure=kinds_of_losses.TWO_IN_SYNC.replace("<topic>", topic.name)
                if facts.replication_factor > 2
                else None,
            )


def _own_missing(evidence: Evidence) -> Iterator[Finding | Skipped]:
    statuses = {} if isinstance(evidence.statuses, Skipped) else evidence.statuses
    for name, topic in _own_topics(evidence):
        if isinstance(topic.facts, Skipped):
            yield topic.facts
        elif topic.facts is None and name in statuses and statuses[name].producing_tasks:
            message = f"its tasks run, and its offsets topic {topic.name} does not exist"
            cure = for_connector(kinds.OWN_MISSING.fix_for(min(evidence.versions, default=NEWEST)), name)
            yield kinds.OWN_MISSING.finding(name, message, {"offsets_topic": topic.name}, cure=cure)


RULES: Final = (
    Rule(
        kinds.NOT_A_STATUS_TOPIC,
        "Is the topic a status topic?",
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
        "Does every connector-specific offsets topic exist?",
        needs=("inspection", "statuses", "topics"),
        check=_own_missing,
        blocks=ALL,
    ),
)


# Rules about offsets that no record shows: what a worker cannot do with them.


def _undeletable(evidence: Evidence) -> Iterator[Finding | Skipped]:
    enabled, _, unknown = probes(evidence)
    topics = () if isinstance(evidence.internal_topics, Skipped) else evidence.internal_topics
    workers_topics = {topic.name for topic in topics if topic.role == "offsets"}
    owners = {
        name: where
        for name in evidence.sources()
        if (where := _second_store(evidence, name, workers_topics)) is not None
    }
    if not enabled:
        yield from unknown.values() if owners else ()
        return
    for name, where in owners.items():
        message = (
            f"its offsets are in {where}: the workers answer neither `DELETE {connector_path(name)}/offsets` nor a "
            "PATCH with a null offset, and delete nothing there"
        )
        cure = for_connector(kinds.UNDELETABLE.fix, name)
        yield kinds.UNDELETABLE.finding(name, message, {"offsets_topic": where}, cure=cure)


def _second_store(evidence: Evidence, connector: str, workers_topics: set[str]) -> str | None:
    """The connector's second store on an enabled worker, besides its own topic; None: there is none.

    Other bootstrap.servers of the producer make a second store, too (Worker.offsetStoreForExactlyOnceSourceTask).
    """
    own, servers = evidence.config(connector).get(OFFSETS_TOPIC), servers_elsewhere(evidence, connector)
    if servers is None:
        return None if own is None or str(own) in workers_topics else str(own)
    topic = str(own or next(iter(workers_topics), "the workers' topic"))
    return f"{topic} at {'other servers' if isinstance(servers, Skipped) else ','.join(sorted(servers))}"


OFFSET_RULES: Final = (
    Rule(
        kinds.UNDELETABLE,
        "Can the offsets of every connector be reset over REST?",
        needs=("inspection", "workers", "internal_topics"),
        check=_undeletable,
        versions=Versions(Whose.WORKERS, since=KafkaVersion(3, 8)),
    ),
)


# Rules that pass on the findings of inspect-config and of `offsets show`.


CONFIG_TOPIC: Final = "inspection"
OFFSETS: Final = "offset_findings"


def _passing_on(kind: FindingKind, fact: str) -> Check:
    def check(evidence: Evidence) -> Iterator[Finding]:
        yield from (finding for finding in _findings(evidence, fact) if finding.kind == kind)

    return check


def _findings(evidence: Evidence, fact: str) -> tuple[Finding, ...]:
    source = evidence.inspection if fact == CONFIG_TOPIC else evidence.offset_findings
    if isinstance(source, Skipped):
        return ()
    return source if isinstance(source, tuple) else source.findings


def _rule(fact: str, kind: FindingKind, question: str, blocks: frozenset[str] = frozenset()) -> Rule:
    return Rule(kind, question, needs=(fact,), check=_passing_on(kind, fact), blocks=blocks)


DELEGATED_RULES: Final = (
    _rule(CONFIG_TOPIC, internal_topics.NOT_A_CONFIG_TOPIC, "Is the topic a config topic?"),
    _rule(CONFIG_TOPIC, internal_topics.MIXED_WRITERS, "Were all leader writes transactional since the first one was?"),
    _rule(CONFIG_TOPIC, internal_topics.INTERLEAVED_LEADERS, "Does one Connect cluster alone write the config topic?"),
    _rule(
        CONFIG_TOPIC,
        internal_topics.OPEN_TRANSACTION,
        "Can workers with exactly-once read the config topic to its end?",
    ),
    _rule(CONFIG_TOPIC, internal_topics.POISON_RECORD, "Can every record be read without losing those after it?"),
    _rule(CONFIG_TOPIC, internal_topics.FATAL_RECORD, "Can a worker that starts read the config topic?"),
    _rule(CONFIG_TOPIC, internal_topics.MALFORMED_RECORD, "Does every record have the form that Connect gives it?"),
    _rule(CONFIG_TOPIC, internal_topics.INVALID_KEYS, "Does only Connect write to the config topic?"),
    _rule(
        CONFIG_TOPIC,
        internal_topics.PENDING_FENCING_WITH_RUNNING_TASKS,
        "Was a round of fencing done before the tasks that run now started?",
    ),
    _rule(
        CONFIG_TOPIC,
        internal_topics.TASK_COUNT_MISMATCH,
        "Does the last task count record match the task commit before it?",
    ),
    _rule(
        CONFIG_TOPIC,
        internal_topics.COMMIT_WITHOUT_TASK_COUNT_RECORD,
        "Does every running source connector have a task count record?",
    ),
    _rule(CONFIG_TOPIC, internal_topics.INCONSISTENT_CONNECTOR, "Are the task configs of every commit still there?"),
    _rule(
        CONFIG_TOPIC, internal_topics.COMMIT_BEFORE_CONFIG, "Does every connector config come before its task commit?"
    ),
    _rule(CONFIG_TOPIC, internal_topics.IMPOSSIBLE_CONNECTOR, "Can every connector run?"),
    _rule(CONFIG_TOPIC, internal_topics.ORPHAN_RECORDS, "Are all records of deleted connectors removed?"),
    _rule(OFFSETS, internal_topics.NOT_AN_OFFSETS_TOPIC, "Is the topic an offsets topic?"),
    _rule(
        OFFSETS,
        internal_topics.SHADOWED_OFFSET,
        "Does every connector with its own offsets topic find its offset there?",
    ),
    _rule(OFFSETS, internal_topics.STORES_DISAGREE, "Do the two offset stores of a connector agree?"),
    _rule(OFFSETS, internal_topics.MALFORMED_OFFSET, "Can every offset be read?"),
    _rule(OFFSETS, internal_topics.OFFSETS_WRITTEN_ELSEWHERE, "Are offsets read from where they are written?"),
    _rule(OFFSETS, internal_topics.ORPHAN_OFFSETS, "Are all records of deleted connectors removed?"),
    _rule(OFFSETS, internal_topics.KEY_IN_TWO_PARTITIONS, "Is every offsets key in one partition only?"),
    _rule(OFFSETS, internal_topics.LOGICAL_DUPLICATES, "Is every source partition written in one way?"),
    _rule(OFFSETS, internal_topics.MALFORMED_OFFSETS_KEY, "Does every offsets key have Connect's form?"),
    _rule(OFFSETS, internal_topics.OFFSETS_OPEN_TRANSACTION, "Can tasks read the offsets topics to their end?"),
    _rule(OFFSETS, internal_topics.NULL_PARTITION_LOST, "Does every connector name its source partitions?"),
    _rule(
        OFFSETS,
        internal_topics.UNCOMMITTED_OFFSET,
        "Would workers that are not enabled begin from committed offsets only?",
        blocks=frozenset({"preparing", "disabled"}),
    ),
)


# Rules about the source clusters of MirrorSource connectors: records that are deleted before they are mirrored.
# MirrorMaker's consumer has auto.offset.reset=earliest: if its offset is gone it continues at the log start, silently.


NEAR: Final = 0.5
"""Share of the source's retention from which on a record that is not mirrored is in danger."""
AT_ODDS_MS: Final = 60_000
"""How far the clocks of producers and of the worker may differ."""
Why = Callable[[MirroredPartition, int], str | Skipped | None]


def _check(kind: FindingKind, why: Why, what: str) -> Callable[[Evidence], Iterator[Finding | Skipped]]:
    """One warning for each connector, with all partitions that there is a reason for."""

    def check(evidence: Evidence) -> Iterator[Finding | Skipped]:
        found: dict[str, list[str]] = {}
        for each in () if isinstance(evidence.mirrors, Skipped) else evidence.mirrors:
            if isinstance(each, Skipped):
                yield each
                continue
            said = why(each, evidence.as_of)
            if isinstance(said, Skipped):
                yield said
            elif said is not None:
                found.setdefault(each.connector, []).append(f"{each.bounds.topic_partition} {said}")
        for name, places in found.items():
            yield kind.finding(
                name, f"{what}: {first_few(places, '; ')}", {"partitions": places}, severity=Severity.WARNING
            )

    return check


def _purged(found: MirroredPartition, _: int) -> str | None:
    begins = found.bounds.log_start_offset
    if found.position + 1 >= begins:
        return None
    return f"(mirrored up to {found.position}, its log starts at {begins})"


def _recreated(found: MirroredPartition, _: int) -> str | Skipped | None:
    if found.position >= found.bounds.high_watermark:
        return f"(mirrored up to {found.position}, it ends at {found.bounds.high_watermark})"
    written = found.written_ms
    if isinstance(written, Skipped):
        return written
    if written is not None and written > found.committed_ms + AT_ODDS_MS:
        late = lasting(written - found.committed_ms)
        return f"(the record at {found.position} was written {late} after the mirror committed that offset)"
    return None


def _near(found: MirroredPartition, now: int) -> str | Skipped | None:
    return (_near_by_age(found, now) or _near_by_size(found)) if found.unread else None


def _near_by_age(found: MirroredPartition, now: int) -> str | Skipped | None:
    kept, written = found.retention_ms, found.next_ms
    if isinstance(kept, Skipped):
        return kept
    if kept < 0 or written is None:
        return None
    if isinstance(written, Skipped):
        return written
    if now - written < kept * NEAR:
        return None
    age = lasting(now - written)
    return f"(the first record after {found.position} is {age} old, and deleted after {lasting(kept)})"


def _near_by_size(found: MirroredPartition) -> str | Skipped | None:
    kept = found.retention_bytes
    if isinstance(kept, Skipped):
        return kept
    if kept < 0 or found.unread < found.kept * NEAR:
        return None
    if not found.bounds.log_start_offset:
        return Skipped(f"{found.bounds.topic_partition} is kept up to retention.bytes={kept}, and its size is not read")
    return f"({found.unread:,} of {found.kept:,} offsets that retention.bytes={kept} keeps are not mirrored)"


_ASKED: Final[tuple[tuple[FindingKind, str, Why, str], ...]] = (
    (
        mirror_kinds.SOURCE_PURGED,
        "Does the source still have what its mirror has not read?",
        _purged,
        "offsets were deleted before they were mirrored (of markers and aborted records nothing is lost)",
    ),
    (
        mirror_kinds.SOURCE_RECREATED,
        "Is the source topic still the topic that its mirror read?",
        _recreated,
        "the source topic was created again, or cut: it has no record at the mirror's offset",
    ),
    (
        mirror_kinds.RETENTION_NEAR,
        "Is every source record mirrored long before it is deleted?",
        _near,
        "records that are not mirrored yet will be deleted",
    ),
)
MIRROR_RULES: Final = tuple(
    Rule(kind, question, needs=("mirrors",), check=_check(kind, why, what)) for kind, question, why, what in _ASKED
)


# The rule about the topic in which a Debezium connector keeps its schema history.


FIVE_YEARS_MS: Final = 5 * 365 * 24 * 3_600_000
"""The shortest retention that Debezium does not warn of."""


def _history(evidence: Evidence) -> Iterator[Finding | Skipped]:
    topics = {} if isinstance(evidence.topics, Skipped) else evidence.topics
    workers = set(map(server_set, evidence.configured(SERVERS).values()))
    for name in evidence.sources():
        history = schema_history(evidence.config(name))
        if history is None:
            continue
        facts, servers = topics.get(history.topic), history.servers
        if isinstance(facts, Skipped):
            yield facts
        elif facts is None or (servers is not None and workers and server_set(servers) not in workers):
            where = f"{history.topic} at {servers}"
            yield not_asked(f"the schema history of {name} ({where}) is in a Kafka cluster that was not read")
        else:
            yield from _kept_whole(name, facts)


def _kept_whole(connector: str, topic: TopicFacts) -> Iterator[Finding | Skipped]:
    given = {key: topic.setting(key) for key in (POLICY, "retention.ms", "retention.bytes")}
    known = {key: value for key, value in given.items() if not isinstance(value, Skipped)}
    yield from (each for each in given.values() if isinstance(each, Skipped))
    wrong = [f"{POLICY}={known[POLICY]}"] if "compact" in known.get(POLICY, "") else []
    if "delete" in known.get(POLICY, "delete"):
        for key, least in (("retention.ms", FIVE_YEARS_MS), ("retention.bytes", 2**63 - 1)):
            if key in known and 0 <= whole_number(known[key], f"{key} of topic {topic.name}") < least:
                wrong.append(f"{key}={known[key]}")
    severity = Severity.ERROR if wrong else Severity.WARNING
    if topic.partitions > 1:
        wrong.append(f"{topic.partitions} partitions")
    if wrong:
        message = f"its schema history topic {topic.name} has {' and '.join(wrong)}: a task that starts may miss some"
        cure = kinds_of_losses.HISTORY.fix.replace("<topic>", topic.name)
        yield kinds_of_losses.HISTORY.finding(connector, message, {"topic": topic.name}, cure=cure, severity=severity)


HISTORY_RULES: Final = (
    Rule(
        kinds_of_losses.HISTORY,
        "Does every schema history topic of Debezium keep all its records, in one partition?",
        needs=("inspection", "topics"),
        check=_history,
        unproven="it is decided from the config topic and the topic's settings, on evidence made by hand",
    ),
)
