"""Findings of an audit's summaries: one for each kind of anomaly and each subject."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import groupby, pairwise
from operator import attrgetter
from typing import Final, NamedTuple

from msgspec import Struct

from eosctl.analysis.audit.history import ConfigAnomalyKind
from eosctl.analysis.audit.key_judgement import SKEW_MS, Circumstances, KeyAnomalyKind, circumstances, resolve
from eosctl.analysis.audit.owners import AnomalyKind
from eosctl.analysis.audit.scan import GapKind
from eosctl.analysis.audit.sessions import NO_EPOCH, beginnings, raised_epochs
from eosctl.analysis.catalogue import audit, internal_topics
from eosctl.analysis.catalogue import audit as kinds
from eosctl.analysis.catalogue.audit import OFFSETS_ALTERED, OFFSETS_REMOVED
from eosctl.analysis.catalogue.internal_topics import ORPHAN_OFFSETS
from eosctl.analysis.transactions import shapes_of
from eosctl.model.audit import (
    Anomaly,
    AuditedTopic,
    AuditPlan,
    ConfigSummary,
    KeyAnomaly,
    KeySummary,
    OffsetsChange,
    OpenAtPlan,
    OutputPart,
    RecordCount,
    Tally,
    TopicRole,
    TransactionSummary,
    count_words,
    total_records,
)
from eosctl.model.audit_states import KEPT_PLACES, LogState, ProducerState, SessionStart
from eosctl.model.events import EventSummary, PartitionWriters, TransactionCounts
from eosctl.model.report import Finding, FindingKind, Severity
from eosctl.model.skipped import Skipped
from eosctl.model.text import pluralize
from eosctl.model.times import rfc3339

BROKEN: Final = frozenset(
    {
        audit.OFFSET_SET_BACK,
        audit.OFFSET_NOT_TAKEN_OVER,
        audit.PLAIN_OFFSETS_WRITE,
        audit.ZOMBIE_WRITER,
        audit.DATA_WITHOUT_OFFSETS,
        audit.MISSING_MARKER,
        audit.MIXED_MARKERS,
        audit.DATA_OUTSIDE_TRANSACTION,
        audit.HANGING_TRANSACTION,
        audit.START_WITHOUT_FENCING,
        audit.HALF_EVENT,
    }
)
"""Findings that exactly-once rules out, or that a connector has lost records by."""

BESIDE: Final = frozenset({audit.OTHER_WRITER, audit.SNAPSHOT_BEGUN_AGAIN})
"""Findings that count and say nothing about the connectors whose topics they are in."""

ALTERED: Final = frozenset({audit.OFFSETS_ALTERED})
"""Findings of records that readers have twice or lack because of a requested change."""


class FindingTemplate(NamedTuple):
    """The words of a kind in an audit: {n} is the count; {s}, {is}, {was} follow from it.

    cure and severity are the kind's unless the template has its own.
    """

    kind: FindingKind
    message: str
    cure: str | None = None
    severity: Severity | None = None


KEY_WORDS: Final[Mapping[str, FindingTemplate]] = {
    KeyAnomalyKind.MALFORMED_KEY: FindingTemplate(
        internal_topics.MALFORMED_OFFSETS_KEY,
        "{n} key{s} of no source partition: workers ignore them",
        "find out who writes them; workers of 3.5.0, 3.5.1 and 3.6.0 lose other offsets over keys that are not JSON "
        "(KAFKA-15800)",
        Severity.INFO,
    ),
    KeyAnomalyKind.TWO_PARTITIONS: FindingTemplate(
        internal_topics.KEY_IN_TWO_PARTITIONS,
        "{n} key{s} with a value in two partitions of one topic: which one a worker starts from is chance",
        severity=Severity.WARNING,
    ),
    KeyAnomalyKind.SAME_PARTITION: FindingTemplate(
        internal_topics.LOGICAL_DUPLICATES,
        "{n} source partition{s} under two keys that differ in bytes: the connector uses only one key",
        "find both keys with eosctl offsets show; remove the key that the connector does not write",
    ),
    KeyAnomalyKind.SET_BACK: FindingTemplate(
        audit.OFFSET_SET_BACK,
        "{n} source offset{s} went back: records between both offsets were read again, or skipped before",
    ),
    KeyAnomalyKind.SET_BACK_UNCLEAR: FindingTemplate(
        audit.OFFSET_SET_BACK,
        "{n} source offset{s} went back to the start of a transaction of the database, and no later offset shows "
        "whether the connector read it again",
        "audit again after the connector's next commit; compare the table with the topic with `eosctl audit source`",
        Severity.WARNING,
    ),
    KeyAnomalyKind.REPEATED: FindingTemplate(
        audit.OFFSET_REPEATED,
        "{n} source offset{s} {was} committed again together with data, by another producer session: records were "
        "read again, or the offset shows no position",
    ),
    KeyAnomalyKind.NOT_TAKEN_OVER: FindingTemplate(
        audit.OFFSET_NOT_TAKEN_OVER,
        "{n} source offset{s} {was} not taken over by another offsets topic: the connector began from nothing there, "
        "or from another offset, and read records again or skipped them",
    ),
    KeyAnomalyKind.SNAPSHOT: FindingTemplate(
        audit.SNAPSHOT_BEGUN_AGAIN,
        "{n} snapshot{s} ended before all was copied, and another one was begun: readers have the rows of the first "
        "one twice, and keep rows that were deleted between both",
    ),
    KeyAnomalyKind.SNAPSHOT_UNCLEAR: FindingTemplate(
        audit.SNAPSHOT_UNCLEAR,
        "{n} snapshot{s} {was} interrupted, and the offset's form is not known: whether it was begun again, and rows "
        "are there twice, cannot be decided",
    ),
    KeyAnomalyKind.PLAIN_WRITE: FindingTemplate(
        audit.PLAIN_OFFSETS_WRITE,
        "{n} source offset{s} {was} written outside any transaction after the connector committed in transactions",
    ),
    KeyAnomalyKind.ZOMBIE: FindingTemplate(
        audit.ZOMBIE_WRITER,
        "{n} time{s} a producer wrote on after another one had taken over its source partition: a zombie",
    ),
}
TRANSACTION_WORDS: Final[Mapping[str, FindingTemplate]] = {
    AnomalyKind.DATA_WITHOUT_OFFSETS: FindingTemplate(
        audit.DATA_WITHOUT_OFFSETS,
        "{n} transaction{s} committed data without source offsets: a restart reads and writes it again",
    ),
    AnomalyKind.MISSING_MARKER: FindingTemplate(
        audit.MISSING_MARKER, "{n} transaction{s} ended elsewhere and {is} open here: a marker is missing"
    ),
    AnomalyKind.MIXED_MARKERS: FindingTemplate(
        audit.MIXED_MARKERS, "{n} transaction{s} {was} committed in one partition and aborted in another"
    ),
    AnomalyKind.UNCLEAR: FindingTemplate(
        audit.UNCLEAR,
        "{n} transaction{s} with data could not be matched with their offsets: markers of several brokers' clocks",
    ),
    AnomalyKind.UNKNOWN_WRITER: FindingTemplate(
        audit.UNKNOWN_WRITER,
        "{n} transaction{s} with data, and no source offsets, of a producer that may be a task of the connector or not",
    ),
    AnomalyKind.OTHER_WRITER: FindingTemplate(
        audit.OTHER_WRITER,
        "{n} transaction{s} with data that the connector did not write: another application writes to its topic",
    ),
    AnomalyKind.OFFSETS_WITHOUT_DATA: FindingTemplate(
        audit.OFFSETS_WITHOUT_DATA,
        "{n} transaction{s} committed source offsets and no data: records that the connector aborted, offsets that "
        "were altered or copied, or deleted data",
    ),
    AnomalyKind.UNJUDGED: FindingTemplate(
        audit.UNJUDGED,
        "{n} transaction{s} with data {is} older than what is left of the offsets topics, and were not judged",
    ),
}
CONFIG_WORDS: Final[Mapping[str, FindingTemplate]] = {
    ConfigAnomalyKind.PLAIN_LEADER: FindingTemplate(
        audit.PLAIN_LEADER_WRITE,
        "{n} record{s} of the leader {was} written outside any transaction after transactional ones: a leader with "
        "exactly-once support off",
    ),
    ConfigAnomalyKind.INTERLEAVED_LEADERS: FindingTemplate(
        internal_topics.INTERLEAVED_LEADERS,
        "{n} time{s} two leaders wrote at once",
        "give each Connect cluster its own group ID and topics",
    ),
    ConfigAnomalyKind.INCONSISTENT: FindingTemplate(
        internal_topics.INCONSISTENT_CONNECTOR,
        "{n} connector{s} without all task configs: no worker that starts will run their tasks",
        "restart these connectors over REST; if the finding stays, stop and resume them: that writes all task "
        "configs (before Kafka 3.5: delete them and create them again)",
    ),
}
UNFENCED_WORDS: Final = FindingTemplate(
    audit.START_WITHOUT_FENCING,
    "{n} producer{s} began after a commit of task configs without a fencing round: zombies could still write",
)


def change_words(changes: Sequence[OffsetsChange]) -> str:
    """Effect and time of changes made to one connector's offsets."""
    altered = sum(each.offsets for each in changes)
    when = ", ".join(rfc3339(each.timestamp) for each in changes[:3]) + (" and later" if changes[3:] else "")
    were = "was" if altered == 1 else "were"
    said = f"{pluralize(altered, 'source offset')} {were} altered while the connector was stopped ({when})"
    done = [
        *count_words(total_records(each.repeated for each in changes), "written to its topics again"),
        *count_words(total_records(each.left_out for each in changes), "left out"),
    ]
    if any(each.open for each in changes):
        done.append("the connector has not reached its earlier position again")
    return f"{said}: {', and '.join(done) or 'no record was written again or skipped'}"


class PartitionLog(NamedTuple):
    """A partition's log: its settled ranges as one, and the tail behind them; None where nothing was read."""

    topic: str
    partition: int
    settled: LogState | None
    tail: LogState | None


def all_beginnings(logs: Sequence[PartitionLog]) -> Iterator[tuple[str, int, ProducerState, SessionStart]]:
    """Topic, partition and producer of each session's beginning that no commit in any partition explains."""
    states = [state for log in logs for state in (log.settled, log.tail) if state is not None]
    raised = raised_epochs(producer for state in states for producer in state.producers)
    for log in logs:
        for producer in () if log.settled is None else log.settled.producers:
            for start in beginnings(producer, raised):
                yield log.topic, log.partition, producer, start


class ProducerSession(NamedTuple):
    """A producer of a connector's task began a session, as its first batch in this partition shows."""

    connector: str
    topic: str
    partition: int
    offset: int
    timestamp: int
    producer_id: int
    producer_epoch: int


class AuditSummaries(Struct, frozen=True, dict=True):
    """Everything that was read, summarized. whole_since: offsets topics are complete from then on (None: unknown).

    changes are changes of source offsets while their connector was stopped.
    """

    plan: AuditPlan
    logs: Sequence[PartitionLog]
    config: ConfigSummary
    keys: KeySummary
    transactions: TransactionSummary
    owners: Mapping[int, tuple[str, ...]]
    whole_since: int | None
    changes: tuple[OffsetsChange, ...] = ()
    events: EventSummary = EventSummary()
    event_writers: tuple[PartitionWriters, ...] = ()
    database_transactions: TransactionCounts = TransactionCounts()

    @cached_property
    def topics(self) -> Mapping[str, AuditedTopic]:
        return {topic.name: topic for topic in self.plan.topics}

    @property
    def config_topic(self) -> str | None:
        return next((topic.name for topic in self.plan.topics if topic.role is TopicRole.CONFIG), None)

    @cached_property
    def known(self) -> frozenset[str] | None:
        """Connectors that exist, None where that could not be read."""
        if not isinstance(self.plan.connectors, Skipped):
            return frozenset(self.plan.connectors)
        named = frozenset(each.connector for each in self.config.connectors if each.known)
        return named if self.config_topic is not None else None

    def connectors(self) -> tuple[str, ...]:
        """Every source connector with evidence: it has offsets, or writes to an audited topic."""
        named = {each.connector for each in self.keys.connectors if each.connector is not None}
        named |= {name for topic in self.plan.topics for name in topic.connectors}
        named |= {each.connector for each in self.config.connectors if each.known and each.fenced_ever}
        return self.plan.selected or tuple(name for name in sorted(named) if not self.is_partial or self.outputs(name))

    @property
    def is_partial(self) -> bool:
        """Whether output topics were left out, as only some were requested."""
        return any(self.topics[name].role is TopicRole.OUTPUT for name in self.plan.named if name in self.topics)

    def outputs(self, connector: str) -> tuple[str, ...]:
        return tuple(
            topic.name for topic in self.plan.topics if topic.role is TopicRole.OUTPUT and connector in topic.connectors
        )

    def used_topics(self, connector: str) -> tuple[str, ...]:
        """Audited topics that evidence about the connector comes from: shared ones and those known as its own."""
        return tuple(topic.name for topic in self.plan.topics if not topic.connectors or connector in topic.connectors)

    @cached_property
    def appearances(self) -> tuple[ProducerSession, ...]:
        """Sessions of producers that belong to one connector, once for each partition that they wrote to."""
        return tuple(
            ProducerSession(
                owners[0], topic, partition, start.offset, start.timestamp, producer.producer_id, start.producer_epoch
            )
            for topic, partition, producer, start in all_beginnings(self.logs)
            if len(owners := self.owners.get(producer.producer_id, ())) == 1
        )

    @cached_property
    def sessions(self) -> tuple[ProducerSession, ...]:
        """Each session once: where it began in an offsets topic, whose times are the producer's, or elsewhere."""
        first: dict[tuple[int, int], ProducerSession] = {}
        for each in sorted(self.appearances, key=self._first_in_offsets):
            first.setdefault((each.producer_id, each.producer_epoch), each)
        return tuple(first.values())

    def _first_in_offsets(self, session: ProducerSession) -> tuple[bool, int, str, int, int]:
        elsewhere = self.topics[session.topic].role is not TopicRole.OFFSETS
        return elsewhere, session.timestamp, session.topic, session.partition, session.offset

    def missing(self, connector: str) -> Iterator[str]:
        """Facts that a verdict of held would need and that are missing."""
        keys = next((each for each in self.keys.connectors if each.connector == connector), None)
        offsets = [topic.name for topic in self.plan.topics if topic.role is TopicRole.OFFSETS]
        if not offsets:
            yield "no offsets topic was audited"
        elif keys is None:
            if not all(f"topic {name}" in self.plan.unread for name in offsets):
                yield "the connector has no source offsets in the audited topics"
        elif keys.first_transactional is None:
            yield "it never committed its offsets in a transaction: exactly-once support was not in force"
        if not self.outputs(connector):
            yield "no topic that it writes to was audited: --topic names one"
        for name, why in sorted(self.plan.unread.items()):
            if connector in self.plan.users.get(name, (connector,)):
                yield f"{name}: {why.reason}"

        back = self._clock_went_back(connector)
        if back > SKEW_MS:
            yield (
                f"clocks went back by {back // 1000} s: whether its source offsets were changed while it was stopped "
                "is not known"
            )

    def _clock_went_back(self, connector: str) -> int:
        """The most ms by which a record of the connector is older than the previous one; 0 if it was never stopped.

        Timestamps of the config topic and of offsets topics show which offsets were written while it was stopped.
        """
        history = next((each for each in self.config.connectors if each.connector == connector), None)
        if history is None or (0, "commit") not in {(tasks, kind) for _, _, kind, tasks in history.starts}:
            return 0
        times = [[time for time, *_ in history.starts]]
        mine = [each for each in self.appearances if self.topics[each.topic].role is TopicRole.OFFSETS]
        mine = sorted((each for each in mine if each.connector == connector), key=lambda each: each[1:4])
        times += [[each.timestamp for each in group] for _, group in groupby(mine, key=lambda each: each[1:3])]
        return max((was - now for found in times for was, now in pairwise(found)), default=0)

    def coverage(self, connector: str) -> Iterator[str]:
        """Time from which the verdict holds, and the connector's topics that it covers, in words."""
        left_out = self.plan.left_out.get(connector, ())
        if left_out:
            yield f"judged by {', '.join(self.outputs(connector))} alone: not requested were {', '.join(left_out)}"
        if self.whole_since is not None and self.whole_since >= 0:
            yield f"judged from {rfc3339(self.whole_since)} on: older offsets were compacted or deleted"


SLACK_MS: Final = 5_000


def _finding(words: FindingTemplate, subject: str, count: int, evidence: dict[str, object]) -> Finding:
    one = count == 1
    message = words.message.format_map(
        {"n": count, "s": "" if one else "s", "is": "is" if one else "are", "was": "was" if one else "were"}
    )
    cure = words.cure or words.kind.fix.replace("<connector>", subject)
    return words.kind.finding(subject, message, {"count": count, **evidence}, cure=cure, severity=words.severity)


def key_findings(evidence: AuditSummaries) -> Iterator[Finding]:
    """One finding for each kind of anomaly and connector; suspicions are resolved by their transactions."""
    counts = Counter({(kind, connector): count for kind, connector, count in evidence.keys.counts})
    places: dict[tuple[str, str], list[KeyAnomaly]] = {}
    for anomaly in evidence.keys.anomalies:
        places.setdefault((anomaly.kind, anomaly.connector or ""), []).append(anomaly)
    known = circumstances(evidence.transactions.committed, evidence.owners, evidence.config.connectors)
    for anomaly in evidence.keys.suspicions:
        resolved = resolve(anomaly, known)
        if resolved is not None:
            place = resolved.value, anomaly.connector or ""
            places.setdefault(place, []).append(anomaly)
            counts[place] += 1
    for (kind, connector), anomalies in sorted(places.items()):
        if kind == KeyAnomalyKind.ALTERED:
            continue
        named = [connector] if connector else []
        kept = anomalies[:KEPT_PLACES]
        data = [place for each in kept for place in _data_places(each, known)]
        facts: dict[str, object] = {"connectors": named, "places": [_key_place(each) for each in kept]}
        facts |= {"data": data} if data else {}
        yield _finding(KEY_WORDS[kind], connector or anomalies[0].topic, counts[kind, connector], facts)


REPEATED: Final = "inform the readers of its topics; `data` of the finding has the records of both times"
"""The fix if records were repeated and no readable record was omitted."""


def change_findings(evidence: AuditSummaries) -> Iterator[Finding]:
    """One finding for each connector whose source offsets were changed, known effects or not."""
    changes: dict[str, list[OffsetsChange]] = {}
    for each in altered_offsets(evidence):
        changes.setdefault(each.connector, []).append(each)
    for connector, mine in sorted(changes.items()):
        repeated, left_out = (
            total_records(each.repeated for each in mine),
            total_records(each.left_out for each in mine),
        )
        places = [_key_place(place) for each in mine for place in each.places][:KEPT_PLACES]
        facts: dict[str, object] = {
            "count": sum(each.offsets for each in mine),
            "connectors": [connector],
            "repeated": repeated._asdict(),
            "left_out": left_out._asdict(),
            "places": places,
        }
        data = [
            {"committed_with": name, **_data_place(part)}
            for each in mine
            for name, parts in (("before", each.before), ("after", each.again))
            for part in parts
        ]
        facts |= {"data": data[: 2 * KEPT_PLACES]} if data else {}
        severity = Severity.INFO if repeated.is_none and left_out.is_none else Severity.WARNING
        cure = REPEATED if left_out.is_none and not repeated.is_none else None
        yield OFFSETS_ALTERED.finding(connector, change_words(mine), facts, severity=severity, cure=cure)


def altered_offsets(evidence: AuditSummaries) -> tuple[OffsetsChange, ...]:
    """Every known change of source offsets, counted or not. Without an output topic nothing can be counted."""
    unknown = RecordCount(0, None)
    return tuple(
        each if evidence.outputs(each.connector) else each._replace(repeated=unknown, left_out=unknown)
        for each in (*evidence.changes, *_uncounted(evidence))
    )


def _uncounted(evidence: AuditSummaries) -> Iterator[OffsetsChange]:
    """Changes that the states show and the logs no longer do, so that nothing was counted."""
    counted_of = {each.connector for each in evidence.changes}
    known = circumstances(evidence.transactions.committed, evidence.owners, evidence.config.connectors)
    for anomaly in evidence.keys.suspicions:
        if anomaly.connector and anomaly.connector not in counted_of and known.was_altered(anomaly):
            kind = resolve(anomaly, known)
            if kind is KeyAnomalyKind.ALTERED:
                unknown = RecordCount(0, None)
                yield OffsetsChange(anomaly.connector, anomaly.timestamp, (anomaly,), 1, unknown, unknown)


def _data_place(part: OutputPart) -> dict[str, object]:
    return {
        "topic": part.topic,
        "partition": part.partition,
        "first_offset": part.first,
        "last_offset": part.last,
        "records": part.records,
    }


def _key_place(anomaly: KeyAnomaly) -> dict[str, object]:
    return {
        "topic": anomaly.topic,
        "partition": anomaly.partition,
        "offset": anomaly.offset,
        "timestamp": anomaly.timestamp,
        "key": anomaly.key,
        "before": anomaly.before,
        "after": anomaly.after,
    }


def _data_places(anomaly: KeyAnomaly, known: Circumstances) -> Iterator[dict[str, object]]:
    """Output records committed with the offset before, with the one after it, and with the next one if that decides."""
    for name, write in (("before", anomaly.was), ("after", anomaly.now), ("next", anomaly.then)):
        for data in known.data(write) or ():
            yield {"committed_with": name, **_data_place(data), "key": anomaly.key}


def transaction_findings(evidence: AuditSummaries) -> Iterator[Finding]:
    """One for each kind of anomaly, connectors and topic."""
    places: dict[tuple[str, tuple[str, ...], str], list[Anomaly]] = {}
    for anomaly in evidence.transactions.anomalies:
        places.setdefault(anomaly[:3], []).append(anomaly)
    for tally in evidence.transactions.tallies:
        if tally.kind == AnomalyKind.OFFSETS_WITHOUT_DATA and evidence.is_partial:
            continue  # their data may be in a topic that was not requested
        yield _transaction_finding(tally, places.get(tally[:3], []), evidence.plan.transactional_ids)


def _transaction_finding(tally: Tally, anomalies: Iterable[Anomaly], holders: Mapping[int, str]) -> Finding:
    places = [
        {
            "topic": each.topic,
            "partition": each.partition,
            "first_offset": each.first,
            "last_offset": each.last,
            "producer_id": each.producer_id,
            "producer_epoch": each.producer_epoch,
            "transactional_id": holders.get(each.producer_id),
            "timestamp": each.timestamp,
            "records": each.records,
        }
        for each in anomalies
    ]
    subject = ", ".join(tally.connectors) or tally.topic
    facts: dict[str, object] = {"connectors": list(tally.connectors), "topic": tally.topic, "records": tally.records}
    return _finding(TRANSACTION_WORDS[tally.kind], subject, tally.transactions, {**facts, "places": places})


def config_findings(evidence: AuditSummaries) -> Iterator[Finding]:
    """One finding for each kind of anomaly; a plain leader names all connectors concerned. Two leaders concern all."""
    topic = evidence.config_topic or ""
    known_connectors = [each.connector for each in evidence.config.connectors if each.known]
    kinds: dict[str, list[tuple[str | None, dict[str, object]]]] = {}
    for each in evidence.config.anomalies:
        place = {"topic": topic, "partition": 0, "offset": each.offset, "timestamp": each.timestamp, "what": each.words}
        kinds.setdefault(each.kind, []).append((each.connector, place))
    for kind, found in sorted(kinds.items()):
        named = sorted({connector for connector, _ in found if connector is not None})
        named = known_connectors if kind == ConfigAnomalyKind.INTERLEAVED_LEADERS else named
        places = [place for _, place in found[:KEPT_PLACES]]
        yield _finding(CONFIG_WORDS[kind], topic, len(found), {"connectors": named, "places": places})


def unfenced_findings(evidence: AuditSummaries) -> Iterator[Finding]:
    """Producers that began after a commit without a fencing round that excluded the earlier ones.

    A worker with exactly-once support enabled starts a task only after the leader wrote a task-count record for the
    last commit. An earlier task may write until that round is over, and only its first write shows its beginning. If
    the round came later, only writes after it are evidence. Timestamps are those of two writers, so SLACK_MS must lie
    between.
    """
    histories = {each.connector: each for each in evidence.config.connectors if each.fenced_ever}
    last_writes = _last_writes(evidence)
    found: dict[str, list[dict[str, object]]] = {}
    for session in evidence.sessions:
        history = histories.get(session.connector)
        if history is None or evidence.topics[session.topic].role is not TopicRole.OFFSETS:
            continue
        before = [start for start in history.starts if start[0] < session.timestamp - SLACK_MS]
        _, commit, kind, tasks = max(before, key=lambda start: start[1], default=(0, 0, "", 0))
        rounds = (time for time, offset, kind, _ in history.starts if kind == "fencing" and offset > commit)
        fenced_at = min(rounds, default=None)
        last_write = last_writes.get((session.producer_id, session.producer_epoch), session.timestamp)
        is_late = fenced_at is not None and fenced_at > session.timestamp + SLACK_MS
        kept_out = fenced_at is not None and (not is_late or last_write <= fenced_at + SLACK_MS)
        if kind == "commit" and tasks and not kept_out:
            place: dict[str, object] = {**session._asdict(), "commit_offset": commit, "tasks": tasks}
            found.setdefault(session.connector, []).append(place)
    for connector, places in sorted(found.items()):
        yield _finding(
            UNFENCED_WORDS,
            connector,
            len(places),
            {"connectors": [connector], "places": places[:KEPT_PLACES]},
        )


def _last_writes(evidence: AuditSummaries) -> Mapping[tuple[int, int], int]:
    """Time of the last write to an offsets topic, by producer ID and epoch of its last session."""
    last_epochs = {
        each.producer_id: each.producer_epoch for each in sorted(evidence.sessions, key=attrgetter("producer_epoch"))
    }
    logs = [each for each in evidence.logs if evidence.topics[each.topic].role is TopicRole.OFFSETS]
    states = [state for log in logs for state in (log.settled, log.tail) if state is not None]
    times: dict[tuple[int, int], int] = {}
    for producer in (each for state in states for each in state.producers):
        session = producer.producer_id, last_epochs.get(producer.producer_id, NO_EPOCH)
        times[session] = max(producer.last_timestamp, times.get(session, producer.last_timestamp))
    return times


def removed_findings(evidence: AuditSummaries) -> Iterator[Finding]:
    """Source offsets that were removed, by a user or the connector: a start there finds none."""
    for keys in evidence.keys.connectors:
        if keys.connector is not None and keys.tombstones:
            times = pluralize(keys.tombstones, "time")
            message = f"{times} a source offset was removed: a start finds none there"
            yield OFFSETS_REMOVED.finding(
                keys.connector, message, {"connectors": [keys.connector], "tombstones": keys.tombstones}
            )


def orphan_findings(evidence: AuditSummaries) -> Iterator[Finding]:
    """Offsets of connectors that do not exist here: deleted ones, or connectors of another group that shares the
    topic."""
    if evidence.known is None:
        return
    requested = evidence.connectors() if evidence.plan.selected or evidence.is_partial else None
    for keys in evidence.keys.connectors:
        if requested is not None and keys.connector not in requested:
            continue
        if keys.connector is not None and keys.connector not in evidence.known:
            message = (
                f"{keys.keys} source offsets of connector {keys.connector}, which this Connect cluster does not have"
            )
            cure = (
                "a new connector of this name resumes from them; save them with eosctl offsets export. If two "
                "Connect clusters share the offsets topic, audit each with its own --group-id and --config-topic"
            )
            yield ORPHAN_OFFSETS.finding(
                keys.connector, message, {"connectors": [], "keys": keys.keys, "last_write": keys.last_write}, cure=cure
            )


def log_findings(evidence: AuditSummaries) -> Iterator[Finding]:
    """Findings about each partition by itself."""
    for log in evidence.logs:
        yield from _gaps(log, evidence)
        yield from _plain_data(log, evidence)
        yield from _open(log, evidence)
    yield from _hanging_unread(evidence)


def _gaps(log: PartitionLog, evidence: AuditSummaries) -> Iterator[Finding]:
    place: dict[str, object] = {"topic": log.topic, "partition": log.partition}
    topic = evidence.topics[log.topic]
    named = [name for name in evidence.connectors() if log.topic in evidence.used_topics(name)]
    subject = f"{log.topic}-{log.partition}"
    # Of a partition that only earlier runs have read, this one knows no bounds.
    bounds = (each for each in evidence.plan.bounds if (each.topic, each.partition) == log[:2])
    start = next((each.audited_from for each in bounds), 0)
    if start > 0 and topic.role is TopicRole.OUTPUT:
        yield _expired_output(log, start, named, evidence)
    elif start > 0:
        message = f"offsets below {start} are gone from a topic that is never cut: records were deleted"
        cure = "find out when the topic had `delete` in its cleanup.policy: without it brokers refuse DeleteRecords"
        facts: dict[str, object] = {**place, "connectors": named, "start": 0, "end": start}
        yield kinds.EXPIRED_RANGE.finding(subject, message, facts, cure=cure)
    for state in (log.settled, log.tail):
        if state is None:
            continue
        for gap in state.gaps:
            if gap.kind == GapKind.LOST:
                message = f"offsets {gap.start} to {gap.end - 1} are missing in the middle of the log"
                facts = {**place, "connectors": named, "start": gap.start, "end": gap.end}
                yield kinds.LOST_RANGE.finding(subject, message, facts)
            elif gap.kind == GapKind.UNCLEAR:
                message = f"offsets {gap.start} to {gap.end - 1} are missing: compacted or lost, it is not known"
                facts = {**place, "connectors": named, "start": gap.start, "end": gap.end}
                cure = "let the audit read cleanup.policy: DescribeConfigs on the topic, and a broker"
                yield kinds.LOST_RANGE.finding(subject, message, facts, cure=cure, severity=Severity.WARNING)
            elif gap.kind == GapKind.EXPIRED:
                message = f"offsets {gap.start} to {gap.end - 1} were deleted before an audit read them"
                facts = {**place, "connectors": named, "start": gap.start, "end": gap.end}
                yield kinds.EXPIRED_RANGE.finding(subject, message, facts)
        for damage in state.damages:
            message = f"offsets {damage.offset} to {damage.next_offset - 1} could not be read: {damage.reason}"
            facts = {
                **place,
                "connectors": named,
                "offset": damage.offset,
                "end": damage.next_offset,
                "reason": damage.reason,
            }
            yield kinds.UNREADABLE_RANGE.finding(subject, message, facts)


def _expired_output(log: PartitionLog, start: int, named: list[str], evidence: AuditSummaries) -> Finding:
    """Retention deletes whole segments, in time. DeleteRecords also cuts inside a batch, or deletes younger records; so
    does retention that was shorter for a while.

    The deleted records that were committed with offsets show the time.
    """
    kept = evidence.topics[log.topic].retention_ms
    since = None if kept is None else -1 if kept < 0 else evidence.plan.as_of - kept
    first = None if log.settled is None else log.settled.first_batch
    lost = [
        anomaly
        for anomaly in evidence.transactions.anomalies
        if anomaly.kind == AnomalyKind.OFFSETS_WITHOUT_DATA
        and since is not None
        and anomaly.timestamp > since
        and (first is None or anomaly.timestamp < first)
        and set(anomaly.connectors) & set(named)
    ]
    subject = f"{log.topic}-{log.partition}"
    place: dict[str, object] = {"topic": log.topic, "partition": log.partition, "start": 0, "end": start}
    inside = log.settled is not None and log.settled.first_base is not None and log.settled.first_base < start
    if not lost and not inside:
        message = f"offsets below {start} are gone, as the topic's retention wants it: they were not judged"
        return kinds.EXPIRED_RANGE.finding(subject, message, {**place, "connectors": named}, severity=Severity.INFO)
    users = named if inside else sorted({name for each in lost for name in each.connectors if name in named})
    how = "" if inside else ", or by a shorter retention than the topic has now"
    message = f"offsets below {start} were deleted by DeleteRecords{how}: data of transactions is gone"
    places = [{"topic": each.topic, "partition": each.partition, "offset": each.first} for each in lost]
    cure = f"find out who called DeleteRecords{'' if inside else ', or lowered the retention for a while'}"
    return kinds.EXPIRED_RANGE.finding(subject, message, {**place, "connectors": users, "offsets": places}, cure=cure)


def _plain_data(log: PartitionLog, evidence: AuditSummaries) -> Iterator[Finding]:
    topic = evidence.topics[log.topic]
    if log.settled is None or topic.role is not TopicRole.OUTPUT:
        return
    exact = {
        each.connector: each.first_transactional
        for each in evidence.keys.connectors
        if each.first_transactional is not None
    }
    named = [name for name in topic.connectors if name in exact]
    since = min((exact[name] for name in named), default=0)
    # Offsets are more exact than timestamps, which may be the source's: from them on, where transactions were seen.
    begun = [each.first_offset for each in log.settled.producers if each.records > each.plain_records]
    upgraded = max((each.upgraded or -1 for each in evidence.keys.connectors if each.connector in named), default=-1)
    for producer in log.settled.producers if named else ():
        later = producer.last_plain > min(begun) if begun else producer.last_plain_timestamp >= since
        if producer.plain_records and later and producer.last_plain_timestamp >= upgraded:
            count = producer.plain_records
            message = (
                f"{pluralize(count, 'record')} in {log.topic}-{log.partition} outside any transaction "
                f"(producer ID {producer.producer_id}), the last at offset {producer.last_plain}"
            )
            facts: dict[str, object] = {
                "connectors": named,
                "topic": log.topic,
                "partition": log.partition,
                "first_offset": producer.first_plain,
                "last_offset": producer.last_plain,
                "producer_id": producer.producer_id,
                "records": count,
            }
            yield kinds.DATA_OUTSIDE_TRANSACTION.finding(", ".join(named), message, facts)


def _open(log: PartitionLog, evidence: AuditSummaries) -> Iterator[Finding]:
    if log.tail is None:
        return
    bounds = next(each for each in evidence.plan.bounds if (each.topic, each.partition) == log[:2])
    known = () if isinstance(evidence.plan.open, Skipped) else evidence.plan.open
    holders = evidence.plan.transactional_ids
    mine = [each for each in known if (each.topic, each.partition) == log[:2]]
    lacking = {
        (anomaly.topic, anomaly.partition, anomaly.producer_id)
        for anomaly in evidence.transactions.anomalies
        if anomaly.kind == AnomalyKind.MISSING_MARKER
    }
    for each in mine:
        if each.hangs and (each.topic, each.partition, each.producer_id) not in lacking:
            yield _hanging(each, evidence)
    if not any(each.hangs for each in mine):
        held = bounds.high_watermark - bounds.last_stable_offset
        waiting = pluralize(held, "offset waits", "offsets wait")
        message = f"a transaction is open from offset {bounds.last_stable_offset}: {waiting} for it"
        subject = f"{log.topic}-{log.partition}"
        facts: dict[str, object] = {
            "connectors": [],
            "topic": log.topic,
            "partition": log.partition,
            "start": bounds.last_stable_offset,
            "end": bounds.high_watermark,
            "producers": [each.producer_id for each in log.tail.producers],
            "transactional_ids": [
                holders[each.producer_id] for each in log.tail.producers if each.producer_id in holders
            ],
        }
        yield kinds.OPEN_TRANSACTION.finding(subject, message, facts)


def _hanging_unread(evidence: AuditSummaries) -> Iterator[Finding]:
    """Transactions that hang in partitions whose record batches were not read."""
    read = {log[:2] for log in evidence.logs}
    known = () if isinstance(evidence.plan.open, Skipped) else evidence.plan.open
    for each in known:
        if each.hangs and (each.topic, each.partition) not in read:
            yield _hanging(each, evidence)


def _hanging(each: OpenAtPlan, evidence: AuditSummaries) -> Finding:
    """Owners are those of the producer; the connectors are those whose topic cannot be read further."""
    owners = evidence.owners.get(each.producer_id, ())
    users = owners or evidence.topics[each.topic].connectors or evidence.connectors()
    facts = {"connectors": list(users), "owners": list(owners), **each._asdict()}
    words = _hanging_words(each, owners, evidence.plan.group_id)
    return kinds.HANGING_TRANSACTION.finding(f"{each.topic}-{each.partition}", words, facts)


def _hanging_words(each: OpenAtPlan, owners: Sequence[str], group_id: str | None) -> str:
    whose = "no transactional ID" if each.transactional_id is None else f"transactional ID {each.transactional_id}"
    if owners:
        whose += f", connector {', '.join(owners)}"
    elif each.transactional_id is not None:
        group = "no group that is known" if group_id is None else f"no task of group {group_id}"
        shapes = "".join(f"; it looks like a {shape}" for shape in shapes_of(each.transactional_id)[:1])
        whose += f", of {group}{shapes}"
    return (
        f"the transaction of producer ID {each.producer_id} ({whose}) that is open from offset {each.start_offset} "
        f"will never end ({each.reason}): read_committed consumers are stalled there"
    )
