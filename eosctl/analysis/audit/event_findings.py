"""Findings of incomplete events, and the coverage of a verdict.

1. An event whose closing record is missing is incomplete once its producer has continued: a later committed record of
   it lies in the same partition, or one that is younger by SLACK_MS in another.
2. Connectors write an event's records one after the other. So an event that a stop or a crash has cut is the last one
   of its session. If an event in the middle of a session is incomplete, or several in one session, something between
   the connector and the topic left records out: a transformation, a setting, a tolerated error.
3. Compaction or retention may have removed the missing record: only younger events are judged.
4. A deletion needs a tombstone where the topic's other deletions have one. Where one in the middle of a session has
   none, tombstones are off, or were. One that is its producer's last record in the partition lacks its tombstone once
   a later session has continued elsewhere, by rule 1.
5. Records of a database transaction are missing if its end counts more than there are. No stop explains that. Where not
   all topics of the connector are read whole, or no transaction is whole, nothing is judged.
"""

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, Final, NamedTuple

from eosctl.analysis.audit.findings import SLACK_MS, AuditSummaries, all_beginnings
from eosctl.analysis.audit.scan import GapKind
from eosctl.analysis.catalogue import audit as kinds
from eosctl.analysis.grammars import BY_NAME
from eosctl.model.audit import AuditedTopic
from eosctl.model.audit_states import KEPT_PLACES
from eosctl.model.events import EventWriter, FollowedDeletion, HalfTransaction, OpenEvent, TopicEvents
from eosctl.model.report import Finding, Severity
from eosctl.model.text import first_few, pluralize

PROMISE: Final = "Kafka's promise: the connector's records were committed once, complete, with their source offsets"
NEVER_PRODUCED: Final = "records that the connector never produced"
NO_GRAMMAR: Final = (
    "events of several records: eosctl does not know how the connector's records describe them (for a mirror use "
    "`eosctl mirror audit`)"
)


class VerdictCoverage(NamedTuple):
    """The basis of a verdict, and the subjects that it excludes, in words."""

    covers: tuple[str, ...]
    not_covered: tuple[str, ...]


def verdict_coverage(connector: str, evidence: AuditSummaries) -> VerdictCoverage:
    topics = [evidence.topics[name] for name in evidence.outputs(connector)]
    grammars = {each.grammar for each in topics if each.grammar is not None}
    covers = [PROMISE, *(BY_NAME[name].covers for name in sorted(grammars))]
    beyond = [NEVER_PRODUCED]
    if not topics or any(each.grammar is None for each in topics):
        beyond.append(NO_GRAMMAR)
    beyond += [BY_NAME[name].beyond for name in sorted(grammars)]
    judgement = _Judgement(evidence)
    for topic in topics:
        reason = judgement.unjudged(topic)
        if topic.grammar is not None and reason is not None:
            beyond.append(f"events of several records in {topic.name}: {reason}")
    counting = [each for each in topics if each.grammar is not None and BY_NAME[each.grammar].counted is not None]
    if counting and (reason := judgement.uncounted(counting[0])) is not None:
        beyond.append(f"the number of records of each database transaction: {reason}")
    return VerdictCoverage(tuple(covers), tuple(beyond))


def event_findings(evidence: AuditSummaries) -> Iterator[Finding]:
    """For each topic: events that a stop has cut, and those that lack records for another reason."""
    judgement = _Judgement(evidence)
    cut, left_out = judgement.unfinished()
    for topic in sorted(evidence.topics.values(), key=lambda each: each.name):
        if topic.grammar is None:
            continue
        bare = list(judgement.bare_deletions(topic, cut))
        places = [*(judgement.event_place(each) for each in cut if each.topic == topic.name), *bare]
        if places:
            yield _finding(topic, places, _cut_words(len(places) - len(bare), len(bare)), Severity.ERROR)
        places = [judgement.event_place(each) for each in left_out if each.topic == topic.name]
        if places:
            words = (
                f"{pluralize(len(places), 'change')} of a key without the record of the new key, in the middle of a "
                "session: a transformation, a setting or a tolerated error dropped it"
            )
            yield _finding(topic, places, words, Severity.WARNING)
        places = [_transaction_place(each) for each in judgement.half_transactions(topic)]
        if places:
            words = f"{pluralize(len(places), 'database transaction')} {'is' if len(places) == 1 else 'are'} not whole"
            yield _finding(topic, places, f"{words}: {_transaction_words(places[0])}", Severity.ERROR)


def _transaction_place(half: HalfTransaction) -> dict[str, object]:
    """Its last record that is there, and what its end says."""
    total = half.end.last
    found = [number for first, last in half.found for number in (first - 1, last + 1)]
    gaps = zip([1, *found[1::2]], [*found[::2], total], strict=True)
    numbers = [f"{first}" if first == last else f"{first}-{last}" for first, last in gaps if first <= last]
    return {
        "topic": half.last_topic,
        "partition": half.last_partition,
        "offset": half.last.offset,
        "last_offset": half.last.last_offset,
        "timestamp": half.last.timestamp,
        "producer_id": half.last.producer_id,
        "producer_epoch": half.last.producer_epoch,
        "transaction": half.transaction,
        "event_count": total,
        "missing": numbers,
        "end_topic": half.topic,
        "end_partition": half.partition,
        "end_offset": half.end.offset,
    }


def _transaction_words(place: Mapping[str, Any]) -> str:
    return (
        f"transaction {place['transaction']} has {pluralize(place['event_count'], 'record')} by its end, and no topic "
        f"has number {first_few(place['missing'])}"
    )


def _cut_words(changes: int, deletions: int) -> str:
    said = []
    if changes:
        said.append(
            f"{pluralize(changes, 'change')} of a key {'is' if changes == 1 else 'are'} half there: the old key was "
            "deleted, and the connector continued without the record of the new key"
        )
    if deletions:
        said.append(
            f"{pluralize(deletions, 'deletion')} {'has' if deletions == 1 else 'have'} no tombstone: the connector was "
            "stopped between both"
        )
    return "; ".join(said)


def _finding(topic: AuditedTopic, places: Sequence[dict[str, object]], words: str, severity: Severity) -> Finding:
    facts: dict[str, object] = {
        "count": len(places),
        "connectors": list(topic.connectors),
        "topic": topic.name,
        "places": list(places[:KEPT_PLACES]),
    }
    return kinds.HALF_EVENT.finding(", ".join(topic.connectors) or topic.name, words, facts, severity=severity)


class _Judgement:
    """The whole audit's view of each topic and producer."""

    def __init__(self, evidence: AuditSummaries) -> None:
        self._evidence = evidence
        self._writers: dict[str, dict[int, list[EventWriter]]] = {}
        for place in evidence.event_writers:
            self._writers.setdefault(place.topic, {})[place.partition] = list(place.writers)
        self._counts: Mapping[str, TopicEvents] = {each.topic: each for each in evidence.events.topics}

    @cached_property
    def _sessions(self) -> Mapping[int, list[int]]:
        """Epochs with which sessions of each producer ID began, in order."""
        found: dict[int, set[int]] = {}
        for _, _, producer, start in all_beginnings(self._evidence.logs):
            found.setdefault(producer.producer_id, set()).add(start.producer_epoch)
        return {each: sorted(epochs) for each, epochs in found.items()}

    def unfinished(self) -> tuple[list[OpenEvent], list[OpenEvent]]:
        """Events that a stop has cut, and others, by rules 1 to 3."""
        gone_on = [each for each in self._evidence.events.events if self._is_judged(each) and self._went_on(each)]
        of_session = Counter(self._session(each) for each in gone_on)
        cut = [each for each in gone_on if of_session[self._session(each)] == 1 and self._began_again(each)]
        return cut, [each for each in gone_on if each not in set(cut)]

    def half_transactions(self, topic: AuditedTopic) -> list[HalfTransaction]:
        """Database transactions that have their end in this topic, and not all of their records in the connector's."""
        mine = [each for each in self._evidence.database_transactions.half if each.topic == topic.name]
        return [] if not mine or self.uncounted(topic) else [each for each in mine if self._is_counted(each)]

    def _is_counted(self, half: HalfTransaction) -> bool:
        """Whether no topic lost records of its time: by retention or compaction, or as it was created again later."""
        beside = self._topics_beside(self._evidence.topics[half.topic])
        return all(
            half.begun > self.whole_since(each) and half.end.timestamp >= (self._first_time(each) or 0)
            for each in beside
        )

    def _first_time(self, topic: AuditedTopic) -> int | None:
        """The time of the topic's first record in ms since the epoch; None: it has none."""
        states = [state for log in self._evidence.logs if log.topic == topic.name for state in (log.settled, log.tail)]
        return min((each.first_batch for each in states if each and each.first_batch is not None), default=None)

    def uncounted(self, topic: AuditedTopic) -> str | None:
        """Why the records of no database transaction are counted; None if they are."""
        plan = self._evidence.plan
        if not self._evidence.database_transactions.whole:
            return "no record names its transaction"
        unread = {name for each in plan.unread for name in plan.users.get(each, topic.connectors)}
        if not {*topic.connectors}.isdisjoint({*plan.left_out, *unread}):
            return "not all topics of the connector are audited"
        for each in self._topics_beside(topic):
            if len(each.connectors) != 1 or each.grammar != topic.grammar:
                return f"others may write to topic {each.name}"
            if self._first_time(each) is None:
                return f"topic {each.name} has no records, and may have been created again"
            if (reason := self.unjudged(each)) is not None:
                return reason
        return None

    def _topics_beside(self, topic: AuditedTopic) -> list[AuditedTopic]:
        """All topics of the connectors that write to this one."""
        names = {name for connector in topic.connectors for name in self._evidence.outputs(connector)}
        return [self._evidence.topics[name] for name in sorted(names | {topic.name})]

    def unjudged(self, topic: AuditedTopic) -> str | None:
        """Why no event of the topic is judged; None if all sufficiently young ones are."""
        counts = self._counts.get(topic.name)
        unreadable = sum(each.unreadable for each in self._all_writers(topic.name))
        if topic.kept_back:
            return ", ".join(topic.kept_back)
        if unreadable:
            return f"the keys of {pluralize(unreadable, 'record')} and those in their headers cannot be compared"
        if counts is not None and counts.open and counts.unopened and not counts.whole:
            return "the keys of its records and those in their headers are never the same"
        states = [log.settled for log in self._evidence.logs if log.topic == topic.name and log.settled is not None]
        unclear = {GapKind.LOST, GapKind.UNCLEAR, GapKind.EXPIRED}
        if any(state.damages or any(gap.kind in unclear for gap in state.gaps) for state in states):
            return "offsets in the middle of its log are missing"
        return None

    def bare_deletions(self, topic: AuditedTopic, cut: Sequence[OpenEvent]) -> Iterator[dict[str, object]]:
        """Deletions that a stop has cut from their tombstones (rule 4); those of half changes are reported as half
        changes."""
        known = {(each.topic, each.partition, each.offset) for each in cut}
        writers = self._all_writers(topic.name)
        followed = [(each, deletion) for each in writers for deletion in each.followed]
        within = [deletion for each, deletion in followed if not self._began(each.producer_id, *_epochs(deletion))]
        tombstones = sum(each.tombstones for each in writers)
        if not tombstones or within or any(each.bare_deletions for each in writers) or self.unjudged(topic):
            return
        for partition, mine in sorted(self._writers.get(topic.name, {}).items()):
            for writer in mine:
                for each in (*writer.followed, *self._last_deletion(topic.name, partition, writer)):
                    if (topic.name, partition, each.offset) not in known:
                        yield {
                            "topic": topic.name,
                            "partition": partition,
                            "offset": each.offset,
                            "last_offset": each.offset,
                            "timestamp": each.timestamp,
                            "producer_id": writer.producer_id,
                            "producer_epoch": each.producer_epoch,
                            "next_offset": each.next_offset,
                            "next_epoch": each.next_epoch,
                            "missing": ["tombstone"],
                        }

    def _last_deletion(self, topic: str, partition: int, writer: EventWriter) -> Iterator[FollowedDeletion]:
        """The producer's last record here, if it is a deletion and a later session continued in another partition.

        Its tombstone may be in the tail, or written after the end of this partition was read: hence SLACK_MS.
        """
        deletion = writer.unfinished
        logs = [log for log in self._evidence.logs if (log.topic, log.partition) == (topic, partition)]
        if deletion is None or any(log.tail is not None and log.tail.producers for log in logs):
            return
        written = [each for partitions in self._writers.values() for writers in partitions.values() for each in writers]
        for each in written:
            is_younger = each.producer_id == writer.producer_id and each.last_timestamp > deletion.timestamp + SLACK_MS
            if is_younger and self._began(writer.producer_id, deletion.producer_epoch, each.last_epoch):
                yield FollowedDeletion(*deletion[:3], None, each.last_epoch)
                return

    def event_place(self, event: OpenEvent) -> dict[str, object]:
        tombstones = sum(each.tombstones for each in self._all_writers(event.topic))
        return {
            "topic": event.topic,
            "partition": event.partition,
            "offset": event.offset,
            "last_offset": event.last,
            "timestamp": event.timestamp,
            "producer_id": event.producer_id,
            "producer_epoch": event.producer_epoch,
            "old_key": event.start,
            "new_key": event.goal,
            "missing": [*(["tombstone"] if tombstones and event.last == event.offset else []), "create"],
        }

    def _all_writers(self, topic: str) -> list[EventWriter]:
        return [each for mine in self._writers.get(topic, {}).values() for each in mine]

    def _is_judged(self, event: OpenEvent) -> bool:
        topic = self._evidence.topics[event.topic]
        return self.unjudged(topic) is None and event.timestamp > self.whole_since(topic)

    def whole_since(self, topic: AuditedTopic) -> int:
        """From when on nothing was compacted or deleted in the topic, in ms since the epoch; -1: always."""
        cut = {each.partition for each in self._evidence.plan.bounds if each.topic == topic.name and each.audited_from}
        since = [-1]
        for log in self._evidence.logs:
            if log.topic == topic.name and log.settled is not None:
                since.append(-1 if log.settled.cleaned_until is None else log.settled.cleaned_until)
                if log.partition in cut and log.settled.first_batch is not None:
                    since.append(log.settled.first_batch)
        return max(since)

    def _went_on(self, event: OpenEvent) -> bool:
        for topic, partitions in self._writers.items():
            for partition, writers in partitions.items():
                for each in writers:
                    if each.producer_id != event.producer_id:
                        continue
                    behind = (topic, partition) == (event.topic, event.partition) and each.last_offset > event.last
                    if behind or each.last_timestamp > event.timestamp + SLACK_MS:
                        return True
        return False

    def _session(self, event: OpenEvent) -> tuple[int, int]:
        epochs = self._sessions.get(event.producer_id, [])
        return event.producer_id, bisect_right(epochs, event.producer_epoch)

    def _began_again(self, event: OpenEvent) -> bool:
        """Whether the producer ID began a session later."""
        return self._session(event)[1] < len(self._sessions.get(event.producer_id, ()))

    def _began(self, producer_id: int, after: int, until: int) -> bool:
        epochs = self._sessions.get(producer_id, [])
        place = bisect_right(epochs, after)
        return place < len(epochs) and epochs[place] <= until


def _epochs(deletion: FollowedDeletion) -> tuple[int, int]:
    return deletion.producer_epoch, deletion.next_epoch
