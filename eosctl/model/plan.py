"""Plans: the writes, step by step, and the preconditions of each.

A plan is data: it can be shown, saved, reviewed by another person, and applied later by another eosctl. To add a kind
of step: a dataclass here, a performer in executors, and its preconditions. Files and output name it as model.kinds
does.
"""

import re
from collections.abc import Mapping
from enum import StrEnum
from typing import Final, Self

from msgspec import Struct, field

from eosctl.model.acls import AclBinding
from eosctl.model.names import ProducerIdAndEpoch, TopicPartition
from eosctl.model.skipped import Cause, Skipped
from eosctl.model.strimzi import OperatedConnectors
from eosctl.model.transactions import ActiveProducer, TransactionDescription, TransactionState


class Side(StrEnum):
    """Which of a plan's Kafka clusters and Connect clusters is meant; both are the same where nothing moves away."""

    SOURCE = "source"
    TARGET = "target"


class PlanTarget(Struct, frozen=True):
    """One side's brokers, workers' REST addresses without user and password, and config topic (None: not named)."""

    side: Side
    bootstrap_servers: tuple[str, ...]
    connect_urls: tuple[str, ...] = ()
    config_topic: str | None = None


class CreateConnector(Struct, frozen=True):
    """POST /connectors with the config in `file` and initial_state STOPPED (KIP-980).

    Configs may hold secrets, so a plan has only the file's absolute path, and the digest of the config in it
    (codecs.connector_files): the file is read again when the step is performed.
    """

    side: Side
    connector: str
    file: str
    digest: str


class DeleteConnector(Struct, frozen=True):
    """DELETE /connectors/C, if its config still has the digest that CreateConnector gave it. Its offsets stay."""

    side: Side
    connector: str
    file: str
    digest: str


class AwaitOperator(Struct, frozen=True):
    """A person applies the changed resource in `file`, Strimzi's operator carries it out, and a worker answers it.

    state is STOPPED (without tasks) or RUNNING (all tasks); settings are what the config must have then, None: lack.
    With offsets_topic (of offsets_side) the workers must answer the offsets in it before the file may be applied, as
    with ResumeConnector. before is what settings were. copied_from names the connector whose resource the file begins
    from, where the connector is new. undo_file is the resource that leads back: to RUNNING from a step that stops, to
    STOPPED from the others; None: there is none. Resources may hold secrets, so a plan has only their paths.

    changed_file is applied instead of `file` where the config has the settings `changed`. An operator changes the
    config first and the state then (AbstractConnectOperator.maybeCreateOrUpdateConnector), at its next reconciliation
    where the second request fails: a resource that did both would let the connector run with the other offsets topic.
    """

    side: Side
    connector: str
    file: str
    state: str
    settings: Mapping[str, str | None] = field(default_factory=dict)
    offsets_topic: str | None = None
    offsets_side: Side = Side.SOURCE
    undo_file: str | None = None
    before: Mapping[str, str | None] = field(default_factory=dict)
    copied_from: str | None = None
    changed: Mapping[str, str | None] = field(default_factory=dict)
    changed_file: str | None = None

    @property
    def stops(self) -> bool:
        return self.state == "STOPPED" and not self.settings and self.copied_from is None


class ConnectorConfigIs(Struct, frozen=True):
    """The connector has the config with this digest (codecs.connector_files), or does not exist."""

    side: Side
    connector: str
    digest: str


NOTHING_OPEN: Final = -1
COMMITTED: Final = frozenset({TransactionState.PREPARE_COMMIT, TransactionState.COMPLETE_COMMIT})


class AbortTransaction(Struct, frozen=True):
    """WriteTxnMarkers: one ABORT marker for the producer into the partition (KIP-664), where its transaction is open.

    It begins at start_offset. The marker passes the coordinator by, so it is for transactions that hang; forced ones
    are aborted although their coordinator knows them. coordinator_epoch 0 stands for one that is not known.
    """

    side: Side
    topic: str
    partition: int
    producer_id: int
    producer_epoch: int
    coordinator_epoch: int
    start_offset: int
    forced: bool = False


class TransactionHangs(Struct, frozen=True):
    """What the producer has open in the partition begins at start_offset and, unless forced, hangs (KIP-664).

    It holds as well where the producer has nothing open there any more: then there is nothing to abort.
    """

    side: Side
    topic: str
    partition: int
    producer_id: int
    start_offset: int
    forced: bool = False


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


class CommitTransaction(Struct, frozen=True):
    """EndTxn with COMMIT in the name of the producer that is gone (KIP-98).

    started_ms is when its coordinator began the transaction, in ms since the epoch: with the ID it names one
    transaction. transaction_version is the one that its client used (KIP-890); 2 takes EndTxn v5, which raises the
    epoch. parts are all partitions of the transaction.
    """

    side: Side
    transactional_id: str
    producer_id: int
    producer_epoch: int
    started_ms: int
    transaction_version: int
    parts: tuple[OpenPart, ...]

    @property
    def producer(self) -> ProducerIdAndEpoch:
        return ProducerIdAndEpoch(self.producer_id, self.producer_epoch)


class TransactionUnchanged(Struct, frozen=True):
    """The ID's transaction is Ongoing and the same: its start, producer, partitions, and the last record in each.

    It holds as well where this transaction is committed: then there is nothing to commit. It does not hold where the
    client wrote another record, for then it is not gone.
    """

    side: Side
    transactional_id: str
    producer_id: int
    producer_epoch: int
    started_ms: int
    parts: tuple[OpenPart, ...]


class TransactionNow(Struct, frozen=True):
    """A transactional ID as its coordinator and the leaders of its transaction's partitions have it now.

    state None: its coordinator does not know it. started_ms is when its current or last transaction began, None where
    there was none. parts are read while it is Ongoing; Skipped where a leader did not answer.
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
        """Whether the commit of the transaction that began then is decided; its markers may not all be written."""
        return self.state in COMMITTED and self.started_ms == started_ms


def why_changed(wanted: TransactionUnchanged, now: TransactionNow) -> str | None:
    name, producer = wanted.transactional_id, ProducerIdAndEpoch(wanted.producer_id, wanted.producer_epoch)
    if now.is_committed(wanted.started_ms):
        return None
    if now.state is None:
        return f"no coordinator knows {name} any more"
    if now.state is not TransactionState.ONGOING or now.started_ms != wanted.started_ms:
        return f"{name} is {now.state.value} as {now.producer} now: the transaction of the plan has ended"
    if now.producer != producer:
        return f"{name} is held by producer {now.producer} now, not by {producer}"
    return why_moved(name, {each.topic_partition: each for each in wanted.parts}, now.parts)


def why_moved(name: str, before: Parts, now: Parts) -> str | None:
    """Why the client of the ID is not known to be gone: its transaction changed, or a part was not read.

    A transaction loses no partition while it is Ongoing. A coordinator leaves out those whose topics the principal may
    not describe (KafkaApis.handleDescribeTransactionsRequest).
    """
    unread = next((f"{place}: {part.reason}" for place, part in now.items() if isinstance(part, Skipped)), None)
    hidden = min(before.keys() - now.keys(), default=None)
    if unread is None and hidden is not None:
        unread = f"{hidden}, which is hidden: Describe on its topic is missing"
    if unread is not None:
        return f"whether the client of {name} still writes is unknown in {unread}"
    moved = sorted(place for place, part in now.items() if before.get(place) != part)
    return f"the client of {name} is not gone: it wrote to {', '.join(map(str, moved))}" if moved else None


class StopConnector(Struct, frozen=True):
    """PUT /connectors/C/stop (KIP-875), then wait until the connector is STOPPED and has no tasks."""

    side: Side
    connector: str


class ReadAgain(Struct, frozen=True):
    """The connector's offsets are read again now that it is stopped, and the rest is planned with the result.

    The plan's offsets are from a time when the connector ran; other ones are written.
    """

    side: Side
    connector: str


class FenceProducers(Struct, frozen=True):
    """InitProducerId for each ID that its coordinator knows; the others are left alone."""

    side: Side
    transactional_ids: tuple[str, ...]
    transaction_timeout_ms: int


class CreateTopic(Struct, frozen=True):
    """CreateTopics; a topic that exists already must be compact and have these partitions.

    replication_factor -1 leaves it to the broker's default (KIP-464).
    """

    side: Side
    topic: str
    partitions: int
    replication_factor: int
    settings: Mapping[str, str] = field(default_factory=lambda: {"cleanup.policy": "compact"})


class OffsetsWrite(Struct, frozen=True):
    """One record to write: raw key and value (None: a tombstone) and partition; before is the value it replaces.

    before None stands for a tombstone as well as for no record: a worker takes them alike.
    """

    partition: int
    key: bytes
    value: bytes | None
    before: bytes | None


class WriteOffsets(Struct, frozen=True):
    """All records of one connector in one transaction, under the transactional ID of its task 0.

    The transaction leads from before to after; before_values is what an undo leads back to. All three are digests of
    codecs.offsets_digest. The next producer that initialises the ID fences this one, so only one of two writers
    commits.
    """

    side: Side
    topic: str
    connector: str
    transactional_id: str
    transaction_timeout_ms: int
    records: tuple[OffsetsWrite, ...]
    before: str
    before_values: str
    after: str


class VerifyOffsets(Struct, frozen=True):
    """Read the topic again, committed records only: the connector's offsets there must have this digest."""

    side: Side
    topic: str
    connector: str
    digest: str


class SetConnectorConfig(Struct, frozen=True):
    """PUT /connectors/C/config with changes made to the config it has now; a change to None takes the setting away.

    before holds what the changed settings are when the plan is made. copied_from names the connector of the source side
    whose config a new connector starts from; it may hold secrets, and is read when the step is performed.
    """

    side: Side
    connector: str
    changes: Mapping[str, str | None]
    before: Mapping[str, str | None]
    copied_from: str | None = None


class ResumeConnector(Struct, frozen=True):
    """PUT /connectors/C/resume once the workers answer the offsets in the topic, then wait until its tasks run.

    The topic is one of offsets_side; None: whatever they answer. Workers before KIP-875 (3.5) do not report them.
    """

    side: Side
    connector: str
    offsets_topic: str | None = None
    offsets_side: Side = Side.SOURCE


class CreateAcls(Struct, frozen=True):
    """CreateAcls (KIP-140) for these bindings; those that exist stay."""

    side: Side
    bindings: tuple[AclBinding, ...]


class DeleteAcls(Struct, frozen=True):
    """DeleteAcls (KIP-140) for exactly these bindings; those that are gone stay gone."""

    side: Side
    bindings: tuple[AclBinding, ...]


class ManualStep(Struct, frozen=True):
    """Something that only a person can do: eosctl says it and does nothing.

    by_resource: the same where an operator runs `connector`, in terms of its resource.
    """

    instruction: str
    connector: str | None = None
    by_resource: str | None = None


Step = (
    StopConnector
    | ReadAgain
    | FenceProducers
    | CreateTopic
    | WriteOffsets
    | VerifyOffsets
    | CreateConnector
    | SetConnectorConfig
    | DeleteConnector
    | ResumeConnector
    | AwaitOperator
    | AbortTransaction
    | CommitTransaction
    | CreateAcls
    | DeleteAcls
    | ManualStep
)


class ClusterIs(Struct, frozen=True):
    side: Side
    cluster_id: str


class ConnectorStopped(Struct, frozen=True):
    """The connector is STOPPED and has no tasks, or does not exist."""

    side: Side
    connector: str


class NoLiveOwner(Struct, frozen=True):
    """No task of a Connect group on the cluster has one of these IDs, and no leader.

    Tasks of group `besides` do not count: it is known that connector by connector (ConnectorStopped).
    """

    side: Side
    transactional_ids: tuple[str, ...]
    besides: str | None = None


class TopicIsCompact(Struct, frozen=True):
    """The topic exists, has cleanup.policy compact and this many partitions; topic_id None accepts any."""

    side: Side
    topic: str
    partitions: int
    topic_id: str | None = None


class TopicIsCompactOrAbsent(Struct, frozen=True):
    """The topic does not exist, or is as TopicIsCompact wants it."""

    side: Side
    topic: str
    partitions: int


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


class NoOpenTransaction(Struct, frozen=True):
    """No ongoing transaction wrote offsets of the connector into the topic."""

    side: Side
    topic: str
    connector: str


class AclsPresent(Struct, frozen=True):
    """The cluster has each of these bindings: others are removed only while they stand."""

    side: Side
    bindings: tuple[AclBinding, ...]


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


class PlannedStep(Struct, frozen=True):
    step: Step
    preconditions: tuple[Precondition, ...] = ()


class Plan(Struct, frozen=True):
    """Steps in their order. kind says which command made it, as_of (ms since the epoch) when its facts were read;
    places are where it was made, and where it is applied by default. operated says which of its
    connectors have an operator; None: not known.
    """

    kind: str
    as_of: int
    steps: tuple[PlannedStep, ...]
    places: tuple[PlanTarget, ...] = ()
    operated: OperatedConnectors | None = None


_WORD: Final = re.compile(r"(?<!^)(?=[A-Z])")


def kind_of(noun: type) -> str:
    """The class name as lower-case words joined by dashes: `stop-connector` for StopConnector."""
    return _WORD.sub("-", noun.__name__).lower()
