"""The preconditions of a plan's steps: each in words, and why the facts violate it.

An unread fact does not satisfy a precondition: unknown is not absent. Files and output name a precondition as
text.kind_of does.
"""

from collections.abc import Mapping
from typing import Final, Self

from msgspec import Struct, field

from eosctl.model.acls import AclBinding
from eosctl.model.hanging import Decision
from eosctl.model.names import ProducerIdAndEpoch, Side, TopicPartition
from eosctl.model.skipped import Cause, Skipped
from eosctl.model.text import first_few, pluralize
from eosctl.model.topics import TopicFacts
from eosctl.model.transactions import ActiveProducer, TransactionDescription, TransactionState
from eosctl.model.workers import LiveOwners, connector_path

NOTHING_OPEN: Final = -1
COMMITTED: Final = frozenset({TransactionState.PREPARE_COMMIT, TransactionState.COMPLETE_COMMIT})
STOP_HINT: Final = (
    "stop it first (--stop with --connect-url does that); PAUSED is not enough, its tasks keep their place"
)


class OpenPart(Struct, frozen=True, order=True):
    """A transaction's part in one partition: its first offset, and the sequence number of its producer's last record.

    Both are NOTHING_OPEN in a partition that was added to the transaction and has no record of it.
    """

    topic: str
    partition: int
    start_offset: int
    last_sequence: int

    @property
    def topic_partition(self) -> TopicPartition:
        return TopicPartition(self.topic, self.partition)

    @property
    def is_empty(self) -> bool:
        return self.start_offset == NOTHING_OPEN


Parts = Mapping[TopicPartition, OpenPart | Skipped]


class TransactionNow(Struct, frozen=True):
    """A transactional ID at its coordinator and at the leaders of its transaction's partitions.

    state None: its coordinator does not know it. started_ms is when its current or last transaction began, or None.
    parts are read while it is Ongoing; Skipped if a leader did not answer.
    """

    state: TransactionState | None
    producer: ProducerIdAndEpoch | None = None
    started_ms: int | None = None
    parts: Parts = field(default_factory=dict)

    @classmethod
    def ongoing(
        cls,
        description: TransactionDescription,
        producers: tuple[ActiveProducer, ...],
        unanswered: tuple[TopicPartition, ...],
    ) -> Self:
        producer = description.producer
        parts: dict[TopicPartition, OpenPart | Skipped] = {
            place: OpenPart(place.topic, place.partition, NOTHING_OPEN, NOTHING_OPEN)
            for place in description.partitions
        }
        for each in producers:
            place, start = each.topic_partition, each.transaction_start_offset
            if each.producer == producer and start is not None and place in parts:
                parts[place] = OpenPart(place.topic, place.partition, start, each.last_sequence)
        for place in unanswered:
            parts[place] = Skipped(f"no leader answered for {place}", Cause.UNREACHABLE)
        return cls(description.state, producer, description.start_ms, parts)

    def is_committed(self, started_ms: int) -> bool:
        """True if the commit of the transaction that began then is decided; its markers may not all be written."""
        return self.state in COMMITTED and self.started_ms == started_ms


def why_moved(name: str, before: Parts, now: Parts) -> str | None:
    """Why the client of the ID may still be alive: its transaction changed, or a part was not read.

    A transaction loses no partition while it is Ongoing. A coordinator omits topics that the principal may not describe
    (KafkaApis.handleDescribeTransactionsRequest).
    """
    unread = next((f"{place}: {part.reason}" for place, part in now.items() if isinstance(part, Skipped)), None)
    hidden = min(before.keys() - now.keys(), default=None)
    if unread is None and hidden is not None:
        unread = f"{hidden}, which is hidden: Describe on its topic is missing"
    if unread is not None:
        return f"whether the client of {name} still writes is unknown in {unread}"
    moved = sorted(place for place, part in now.items() if before.get(place) != part)
    return f"the client of {name} still runs: it wrote to {', '.join(map(str, moved))}" if moved else None


class ConnectorFacts(Struct, frozen=True):
    """A connector as Connect knows it now: state such as RUNNING or STOPPED (None: it does not exist), its tasks."""

    state: str | None
    tasks: int = 0


class TopicNow(Struct, frozen=True):
    facts: TopicFacts
    topic_id: str | None


class OffsetsNow(Struct, frozen=True):
    """One connector's offsets in one topic: digests of its live records and of their values, open producers.

    open names producer ID/epoch of each ongoing transaction that wrote a key of the connector.
    """

    records: str
    values: str
    open: tuple[str, ...] = ()


class OpenNow(Struct, frozen=True):
    """The open transaction of one producer in one partition: its beginning, and whether it hangs by KIP-664's rule.

    decision is its coordinator's, as in Verdict.
    """

    start_offset: int
    hangs: bool | Skipped
    decision: Decision | Skipped | None = None


class PlanFacts(Struct, frozen=True):
    """Facts by the side and the name they are about; a topic or a connector's config that does not exist is None."""

    cluster_ids: Mapping[Side, str] = field(default_factory=dict)
    connectors: Mapping[tuple[Side, str], ConnectorFacts | Skipped] = field(default_factory=dict)
    topics: Mapping[tuple[Side, str], TopicNow | None] = field(default_factory=dict)
    offsets: Mapping[tuple[Side, str, str], OffsetsNow] = field(default_factory=dict)
    open_transactions: Mapping[tuple[Side, TopicPartition, int], OpenNow | None] = field(default_factory=dict)
    live_owners: Mapping[Side, LiveOwners] = field(default_factory=dict)
    acls: Mapping[Side, frozenset[AclBinding] | Skipped] = field(default_factory=dict)
    config_digests: Mapping[tuple[Side, str], str | None] = field(default_factory=dict)
    transactions: Mapping[tuple[Side, str], TransactionNow | Skipped] = field(default_factory=dict)


def not_compact(topic: TopicFacts) -> str | None:
    """Why the topic cannot hold offsets: its cleanup.policy. An unreadable policy passes, as in Connect."""
    policy = topic.setting("cleanup.policy")
    if isinstance(policy, Skipped) or policy == "compact":
        return None
    return f"topic {topic.name} has cleanup.policy {policy}, which loses offsets and which Connect refuses"


class ClusterIs(Struct, frozen=True):
    side: Side
    cluster_id: str

    def describe(self) -> str:
        return f"the cluster is {self.cluster_id}{self.side.suffix}"

    def violation(self, facts: PlanFacts) -> str | None:
        found = facts.cluster_ids[self.side]
        if found == self.cluster_id:
            return None
        return f"the plan is for {self.side} cluster {self.cluster_id}, this is {found}"


class ConnectorStopped(Struct, frozen=True):
    """The connector is STOPPED and has no tasks, or does not exist."""

    side: Side
    connector: str

    def describe(self) -> str:
        return f"connector {self.connector}{self.side.suffix} is STOPPED without tasks, or does not exist"

    def violation(self, facts: PlanFacts) -> str | None:
        now = facts.connectors[self.side, self.connector]
        if isinstance(now, Skipped):
            return f"whether connector {self.connector} is stopped is unknown: {now.reason}"
        if now.state is None or (now.state == "STOPPED" and now.tasks == 0):
            return None
        return f"connector {self.connector} is {now.state} with {pluralize(now.tasks, 'task')}, not STOPPED with none"

    def keeps_tasks(self, facts: PlanFacts) -> bool:
        now = facts.connectors[self.side, self.connector]
        return isinstance(now, ConnectorFacts) and now.state == "STOPPED" and now.tasks > 0

    def how_to_stop(self, facts: PlanFacts) -> str:
        if not self.keeps_tasks(facts):
            return STOP_HINT
        return (
            f"stop it again (PUT {connector_path(self.connector)}/stop, or --stop with --connect-url). A task that "
            "was still starting wrote its status after the stop. The workers remove that status at the rebalance "
            "after the next stop"
        )


class ConnectorConfigIs(Struct, frozen=True):
    """The connector has the config with this digest (codecs.connector_files), or does not exist."""

    side: Side
    connector: str
    digest: str

    def describe(self) -> str:
        return f"connector {self.connector}{self.side.suffix} has the config of the plan, or does not exist"

    def violation(self, facts: PlanFacts) -> str | None:
        if facts.config_digests[self.side, self.connector] in {None, self.digest}:
            return None
        return f"connector {self.connector} exists with a config other than the plan's"


class NoLiveOwner(Struct, frozen=True):
    """No task of a Connect group on the cluster has one of these IDs, and no leader.

    Tasks of group `besides` do not count: it is known that connector by connector (ConnectorStopped).
    """

    side: Side
    transactional_ids: tuple[str, ...]
    besides: str | None = None

    def describe(self) -> str:
        group = "" if self.besides is None else f" of a Connect cluster other than {self.besides}"
        return f"no task{group} has {first_few(self.transactional_ids)}{self.side.suffix}"

    def violation(self, facts: PlanFacts) -> str | None:
        return facts.live_owners[self.side].why_in_use(self.transactional_ids, self.besides)


class TopicIsCompact(Struct, frozen=True):
    """The topic exists, has cleanup.policy compact and this many partitions; topic_id None accepts any."""

    side: Side
    topic: str
    partitions: int
    topic_id: str | None = None

    def describe(self) -> str:
        partitions = pluralize(self.partitions, "partition")
        return f"topic {self.topic}{self.side.suffix} is compact, with {partitions}, and is still the same topic"

    def violation(self, facts: PlanFacts) -> str | None:
        topic, now = self.topic, facts.topics[self.side, self.topic]
        if now is None:
            return f"topic {topic} does not exist"
        if self.topic_id is not None and now.topic_id is not None and self.topic_id != now.topic_id:
            return f"topic {topic} was deleted and created again: its ID is {now.topic_id}, not {self.topic_id}"
        if now.facts.partitions != self.partitions:
            return f"topic {topic} has {now.facts.partitions} partitions, the plan is for {self.partitions}"
        return not_compact(now.facts)


class TopicIsCompactOrAbsent(Struct, frozen=True):
    """The topic does not exist, or is as TopicIsCompact wants it."""

    side: Side
    topic: str
    partitions: int

    def describe(self) -> str:
        partitions = pluralize(self.partitions, "partition")
        return f"topic {self.topic}{self.side.suffix} does not exist, or is compact with {partitions}"

    def violation(self, facts: PlanFacts) -> str | None:
        if facts.topics[self.side, self.topic] is None:
            return None
        return TopicIsCompact(self.side, self.topic, self.partitions).violation(facts)


class OffsetsUnchanged(Struct, frozen=True):
    """The last committed record of every key of the connector is the one that was read, by digest.

    digest is of records or of values only (codecs.offsets_digest). allowed is the digest of the offsets as the plan
    leaves them: they are accepted too, so that a plan that was cut short after its commit can be finished.
    """

    side: Side
    topic: str
    connector: str
    digest: str
    allowed: str | None = None

    def describe(self) -> str:
        where = f"in topic {self.topic}{self.side.suffix}"
        return f"the offsets of connector {self.connector} {where} are unchanged"

    def violation(self, facts: PlanFacts) -> str | None:
        now = facts.offsets[self.side, self.topic, self.connector]
        if self.digest in {now.records, now.values} or (self.allowed is not None and self.allowed == now.values):
            return None
        return f"the offsets of connector {self.connector} in topic {self.topic} changed since the plan was made"


class NoOpenTransaction(Struct, frozen=True):
    """No ongoing transaction wrote offsets of the connector into the topic."""

    side: Side
    topic: str
    connector: str

    def describe(self) -> str:
        topic = f"{self.topic}{self.side.suffix}"
        return f"no open transaction wrote offsets of connector {self.connector} into topic {topic}"

    def violation(self, facts: PlanFacts) -> str | None:
        producers = ", ".join(facts.offsets[self.side, self.topic, self.connector].open)
        what = f"an open transaction of producer {producers} wrote offsets of {self.connector} into {self.topic}"
        return what if producers else None


class TransactionHangs(Struct, frozen=True):
    """The producer's open transaction in the partition begins at start_offset and, unless forced, hangs (KIP-664).

    Its coordinator decided to commit it (committed), or certainly did not. It also holds if the producer has nothing
    open there any more: then there is nothing to end.
    """

    side: Side
    topic: str
    partition: int
    producer_id: int
    start_offset: int
    forced: bool = False
    committed: bool = False

    @property
    def topic_partition(self) -> TopicPartition:
        return TopicPartition(self.topic, self.partition)

    def describe(self) -> str:
        place = f"{self.topic_partition}{self.side.suffix}"
        what = f"what producer {self.producer_id} has open in {place} begins at {self.start_offset}"
        if self.committed:
            return f"{what}, hangs, and was committed elsewhere"
        return what if self.forced else f"{what} and hangs"

    def violation(self, facts: PlanFacts) -> str | None:
        now = facts.open_transactions[self.side, self.topic_partition, self.producer_id]
        what = f"producer {self.producer_id} in {self.topic_partition}"
        if now is None:
            return None
        if now.start_offset != self.start_offset:
            return f"{what} has a transaction from offset {now.start_offset} open now, not from {self.start_offset}"
        if self.forced:
            return None
        if now.hangs is True:
            return self._decided_otherwise(what, now.decision)
        if isinstance(now.hangs, Skipped):
            return f"whether the transaction of {what} hangs is unknown: {now.hangs.reason}"
        return f"the transaction of {what} does not hang: its coordinator knows it"

    def _decided_otherwise(self, what: str, decision: Decision | Skipped | None) -> str | None:
        if isinstance(decision, Skipped):
            return f"whether the transaction of {what} was committed is not known: {decision.reason}"
        was_committed = decision is not None and decision.committed
        if was_committed is self.committed:
            return None
        return f"the transaction of {what} was {'' if was_committed else 'not '}committed by its coordinator"


class TransactionUnchanged(Struct, frozen=True):
    """The ID's transaction is Ongoing and the same: its start, producer, partitions, and the last record in each.

    It holds as well where this transaction is committed: then there is nothing to commit. It does not hold where the
    client wrote another record, for then it is not gone. or_ended: it holds as well where the transaction has ended in
    any way, for then there is nothing to abort.
    """

    side: Side
    transactional_id: str
    producer_id: int
    producer_epoch: int
    started_ms: int
    parts: tuple[OpenPart, ...]
    or_ended: bool = False

    @property
    def producer(self) -> ProducerIdAndEpoch:
        return ProducerIdAndEpoch(self.producer_id, self.producer_epoch)

    def describe(self) -> str:
        what = f"the transaction of {self.transactional_id}{self.side.suffix}, producer {self.producer}"
        return f"{what}, is Ongoing without a further record, or {'has ended' if self.or_ended else 'committed'}"

    def violation(self, facts: PlanFacts) -> str | None:
        now = facts.transactions[self.side, self.transactional_id]
        if isinstance(now, Skipped):
            return f"what became of the transaction of {self.transactional_id} is unknown: {now.reason}"
        return self.why_changed(now)

    def why_changed(self, now: TransactionNow) -> str | None:
        name = self.transactional_id
        is_same = now.state is TransactionState.ONGOING and now.started_ms == self.started_ms
        if now.is_committed(self.started_ms) or (self.or_ended and not is_same):
            return None
        if now.state is None:
            return f"no coordinator knows {name} now"
        if now.state is not TransactionState.ONGOING or now.started_ms != self.started_ms:
            return f"{name} is {now.state.value} as {now.producer} now: the transaction of the plan has ended"
        if now.producer != self.producer:
            return f"{name} is held by producer {now.producer} now, not by {self.producer}"
        return why_moved(name, {each.topic_partition: each for each in self.parts}, now.parts)


class AclsPresent(Struct, frozen=True):
    """The cluster has each of these bindings: others are removed only while they stand."""

    side: Side
    bindings: tuple[AclBinding, ...]

    def describe(self) -> str:
        return f"{first_few([str(each) for each in self.bindings])}{self.side.suffix} are there"

    def violation(self, facts: PlanFacts) -> str | None:
        now = facts.acls[self.side]
        if isinstance(now, Skipped):
            return f"whether ACLs are there is unknown: {now.reason}"
        lost = [each for each in self.bindings if each not in now]
        return f"{len(lost)} ACLs that are needed are not there, the first: {lost[0]}" if lost else None


Precondition = (
    ClusterIs
    | ConnectorStopped
    | ConnectorConfigIs
    | NoLiveOwner
    | TopicIsCompact
    | TopicIsCompactOrAbsent
    | OffsetsUnchanged
    | NoOpenTransaction
    | TransactionHangs
    | TransactionUnchanged
    | AclsPresent
)
