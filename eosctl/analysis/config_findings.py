"""Findings about the records of a config topic and about the topic itself, each with what to do."""

from collections.abc import Iterator
from typing import Final

from eosctl.analysis.catalogue import config_topic as kinds
from eosctl.analysis.catalogue import topics
from eosctl.analysis.cleanup_policy import cleanup_policy_finding
from eosctl.analysis.config_census import Survey
from eosctl.model.config_census import MalformedKey
from eosctl.model.config_topic import Disposition, RecordKind
from eosctl.model.connectors import connector_path
from eosctl.model.counts import counted
from eosctl.model.report import Finding, Severity
from eosctl.model.skipped import Skipped
from eosctl.model.topics import PartitionOffsets, TopicFacts

_SHOWN_KEY: Final = 100


def topic_findings(topic: str, facts: TopicFacts | Skipped) -> Iterator[Finding]:
    """Partition count and cleanup policy, which every worker checks before it starts (where it may read them)."""
    if isinstance(facts, Skipped):
        return
    if facts.partitions > 1:
        message = f"the config topic has {facts.partitions} partitions: every worker refuses to start"
        yield topics.PARTITIONS.finding(topic, message, {"partitions": facts.partitions})
    policy = facts.setting("cleanup.policy")
    found = None if isinstance(policy, Skipped) else cleanup_policy_finding(topic, topic, policy, "connectors")
    if found is not None:
        yield found


def not_a_config_topic(topic: str, survey: Survey) -> Finding | None:
    """The finding that excludes all others: the topic holds records, and none of them is of a config topic."""
    census = survey.census
    if census.is_config_topic:
        return None
    return kinds.NOT_A_CONFIG_TOPIC.finding(
        topic,
        f"none of the {census.records} records has a key of Kafka Connect's config topic",
        {"records": census.records, "examples": [key for _, key in census.invalid_keys.examples]},
    )


def record_findings(topic: str, survey: Survey) -> Iterator[Finding]:
    """Everything that the census of the records shows."""
    census = survey.census
    yield from _writer_findings(topic, survey)
    for malformed in census.malformed:
        yield _malformed_finding(malformed)
    if census.invalid_keys.count:
        records = counted(census.invalid_keys.count, "record has", "records have")
        yield kinds.INVALID_KEYS.finding(
            topic,
            f"{records} a key that no worker knows; workers log and ignore them",
            {"count": census.invalid_keys.count, "examples": [list(each) for each in census.invalid_keys.examples]},
        )


def open_transaction(
    topic: str, group_id: str | None, survey: Survey, offsets: PartitionOffsets | Skipped
) -> list[Finding]:
    """A transaction without an end: seen in the records, or from the last stable offset below the high watermark."""
    first = survey.census.first_open
    stable = None if isinstance(offsets, Skipped) or not offsets.held_back else offsets.last_stable_offset
    if first is None and stable is None:
        return []
    start = stable if first is None else first.offset
    producer = None if first is None or first.producer is None else first.producer
    writer = f" of producer {producer}" if producer else ""
    leader = f"connect-cluster-{group_id}" if group_id else "connect-cluster-<group.id>"
    finding = kinds.OPEN_TRANSACTION.finding(
        topic,
        f"a transaction{writer} is open from offset {start} on: workers with exactly-once enabled cannot start, and "
        "running ones see nothing later, until it ends",
        {"start_offset": start, "producer": str(producer) if producer else None, "records": survey.census.open},
        cure=(
            f"wait for its timeout; if it stays, see whose it is with `eosctl transactions describe {leader}` and end "
            f"it with `eosctl fence --transactional-id {leader}` (the leader claims its ID again as soon as it writes "
            "down a changed config, so change one next and ask again if it answers 500; after "
            "`restart?includeTasks=true` it never does, and refuses every change until it is restarted) or, if its "
            f"coordinator does not know it, `eosctl transactions abort --topic {topic} --partition 0`"
        ),
    )
    return [finding]


def _writer_findings(topic: str, survey: Survey) -> Iterator[Finding]:
    writes, interleaving = survey.census.privileged, survey.census.interleaving
    if writes.plain_after:
        now = "the last one among them" if writes.last_is_plain else "though the last one is transactional again"
        yield kinds.MIXED_WRITERS.finding(
            topic,
            f"{writes.plain_after} leader records between offsets {writes.first_plain_after} and "
            f"{writes.last_plain_after} are plain after transactional ones, {now}: a leader without exactly-once "
            "source support wrote them, and nothing fenced it",
            {
                "plain_after_transactional": writes.plain_after,
                "first_offset": writes.first_plain_after,
                "last_offset": writes.last_plain_after,
                "last_transactional_offset": writes.last_transactional,
                "last_is_plain": writes.last_is_plain,
            },
            severity=Severity.ERROR if writes.last_is_plain else Severity.INFO,
        )
    if interleaving is not None:
        yield kinds.INTERLEAVED_LEADERS.finding(
            topic,
            f"two leaders write by turns: producer {interleaving.earlier} wrote at offset {interleaving.offset}, after "
            f"producer {interleaving.later} at offset {interleaving.later_offset} had taken over",
            {
                "producers": [str(interleaving.earlier), str(interleaving.later)],
                "offset": interleaving.offset,
                "count": interleaving.count,
            },
        )


def _malformed_finding(malformed: MalformedKey) -> Finding:
    kind, effect = _EFFECTS[malformed.disposition]
    key = "null" if malformed.key is None else malformed.key[:_SHOWN_KEY]
    times = f" ({malformed.count} times)" if malformed.count > 1 else ""
    harmless = malformed.disposition is Disposition.IGNORED and malformed.reason == TOMBSTONE
    return kind.finding(
        key,
        f"record `{key}` at offset {malformed.last_offset}{times}: {malformed.reason}; {effect}",
        {"offset": malformed.last_offset, "count": malformed.count, "kind": malformed.kind.value},
        cure=_rewrite(malformed),
        severity=Severity.INFO if harmless else None,
    )


TOMBSTONE: Final = "the value is a tombstone"

_EFFECTS: Final = {
    Disposition.UNREADABLE: (kinds.MALFORMED_RECORD, "workers log and ignore it"),
    Disposition.IGNORED: (kinds.MALFORMED_RECORD, "workers log and ignore it"),
    Disposition.POISON: (
        kinds.POISON_RECORD,
        "a worker that reads it throws and loses the records after it that came in the same poll, so workers differ in "
        "what they know",
    ),
    Disposition.FATAL: (kinds.FATAL_RECORD, "a worker that reads it while it starts does not start"),
}


def _rewrite(malformed: MalformedKey) -> str:
    """How to have a good record of the same key written, after which compaction removes the bad one."""
    path = connector_path(malformed.connector or "")
    by_kind = {
        RecordKind.CONNECTOR_CONFIG: f"write it again: PUT {path}/config",
        RecordKind.TASK_CONFIG: f"have the tasks configured again: change the connector, PUT {path}/config",
        RecordKind.TASK_COMMIT: f"have the tasks configured again: change the connector, PUT {path}/config",
        RecordKind.TASK_COUNT: f"have it written again: restart the tasks of {malformed.connector} on an exactly-once "
        "worker after a change of its configuration",
        RecordKind.TARGET_STATE: f"write it again: PUT {path}/pause or /resume",
        RecordKind.SESSION_KEY: "the leader writes a new one within inter.worker.key.ttl.ms",
        RecordKind.RESTART_REQUEST: "nothing: restart requests are not replayed",
        RecordKind.LOGGER_LEVEL: "nothing: logger levels are not replayed",
        RecordKind.INVALID_KEY: "nothing: a record with this key means nothing to Connect",
    }
    if malformed.key is None:
        return kinds.FATAL_RECORD.fix
    return f"{by_kind[malformed.kind]}; compaction then removes the old record"
