"""All summaries of one audit side by side, and what follows from several of them together."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby, pairwise
from typing import NamedTuple

from eosctl.analysis.audit.sessions import beginnings, raised_epochs
from eosctl.analysis.audit.store_changes import SKEW_MS
from eosctl.model.audit import AuditedTopic, AuditPlan, TopicRole
from eosctl.model.audit_states import LogState, ProducerState, SessionStart
from eosctl.model.audit_summaries import ConfigSummary, KeySummary, OffsetsChange, TransactionSummary
from eosctl.model.skipped import Skipped
from eosctl.model.times import rfc3339


class PartitionLog(NamedTuple):
    """A partition's log: its settled ranges as one, and the tail behind them; None where nothing was read."""

    topic: str
    partition: int
    settled: LogState | None
    tail: LogState | None


def all_beginnings(logs: Sequence[PartitionLog]) -> Iterator[tuple[str, int, ProducerState, SessionStart]]:
    """Topic, partition and producer with each beginning of a session that no commit in any partition explains."""
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


@dataclass(frozen=True)
class Evidence:
    """Everything that was read, summarised. whole_since: offsets topics are complete from then on (None: not known).

    changes are those of source offsets while their connector was stopped.
    """

    plan: AuditPlan
    logs: Sequence[PartitionLog]
    config: ConfigSummary
    keys: KeySummary
    transactions: TransactionSummary
    owners: Mapping[int, tuple[str, ...]]
    whole_since: int | None
    changes: tuple[OffsetsChange, ...] = ()

    @cached_property
    def topics(self) -> Mapping[str, AuditedTopic]:
        """Audited topics by name."""
        return {topic.name: topic for topic in self.plan.topics}

    @property
    def config_topic(self) -> str | None:
        """The config topic, if one is audited."""
        return next((topic.name for topic in self.plan.topics if topic.role is TopicRole.CONFIG), None)

    @cached_property
    def known(self) -> frozenset[str] | None:
        """Connectors that exist, None where that could not be read."""
        if not isinstance(self.plan.connectors, Skipped):
            return frozenset(self.plan.connectors)
        named = frozenset(each.connector for each in self.config.connectors if each.known)
        return named if self.config_topic is not None else None

    def connectors(self) -> tuple[str, ...]:
        """Every source connector that something can be said about: it has offsets, or writes to an audited topic."""
        named = {each.connector for each in self.keys.connectors if each.connector is not None}
        named |= {name for topic in self.plan.topics for name in topic.connectors}
        named |= {each.connector for each in self.config.connectors if each.known and each.fenced_ever}
        return self.plan.selected or tuple(name for name in sorted(named) if not self.is_partial or self.outputs(name))

    @property
    def is_partial(self) -> bool:
        """Whether output topics were left out, as only some were requested."""
        return any(self.topics[name].role is TopicRole.OUTPUT for name in self.plan.named if name in self.topics)

    def outputs(self, connector: str) -> tuple[str, ...]:
        """Audited topics that the connector writes its records to."""
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
                owners[0],
                topic,
                partition,
                start.offset,
                start.timestamp,
                producer.producer_id,
                start.producer_epoch,
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
        """What would have to be known to say that exactly-once held for a connector, and is not."""
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
        """By how many ms at most a record of the connector is older than one before it; 0 if it was never stopped.

        Times of the config topic and of offsets topics show what was written while it was stopped.
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
        """From when on the verdict holds, and of which of the connector's topics, in words."""
        left_out = self.plan.left_out.get(connector, ())
        if left_out:
            yield f"judged by {', '.join(self.outputs(connector))} alone: not requested were {', '.join(left_out)}"
        if self.whole_since is not None and self.whole_since >= 0:
            yield f"judged from {rfc3339(self.whole_since)} on: older offsets were compacted or deleted"
