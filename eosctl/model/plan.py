"""Plans: what shall be written, step by step, and what must hold when it is.

A plan is data: it can be shown, saved, read by somebody else, and applied later by another eosctl. To add a kind of
step: a dataclass here, a performer in executors, and its preconditions. Files and output name it as model.kinds does.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from eosctl.model.acls import AclBinding
from eosctl.model.connector_steps import AwaitOperator, ConnectorConfigIs, CreateConnector, DeleteConnector
from eosctl.model.operated import OperatedConnectors
from eosctl.model.sides import Place, Side
from eosctl.model.transaction_steps import AbortTransaction, CommitTransaction, TransactionHangs, TransactionUnchanged


@dataclass(frozen=True, slots=True)
class StopConnector:
    """PUT /connectors/C/stop (KIP-875), then wait until the connector is STOPPED and has no tasks."""

    side: Side
    connector: str


@dataclass(frozen=True, slots=True)
class ReadAgain:
    """The connector's offsets are read again now that it is stopped, and the rest is planned with what is found.

    So the offsets that the plan has are those of a moment when the connector ran, and not those that are written.
    """

    side: Side
    connector: str


@dataclass(frozen=True, slots=True)
class FenceProducers:
    """InitProducerId for those of transactional_ids that their coordinators know; the others are left alone."""

    side: Side
    transactional_ids: tuple[str, ...]
    transaction_timeout_ms: int


@dataclass(frozen=True, slots=True)
class CreateTopic:
    """CreateTopics; a topic that exists already must be compact and have these partitions.

    replication_factor -1 leaves it to the broker's default (KIP-464).
    """

    side: Side
    topic: str
    partitions: int
    replication_factor: int
    settings: Mapping[str, str] = field(default_factory=lambda: {"cleanup.policy": "compact"})


@dataclass(frozen=True, slots=True)
class OffsetsWrite:
    """One record to write: raw key and value (None: a tombstone) and partition; before is the value it replaces.

    before None stands for a tombstone as well as for no record: a worker takes them alike.
    """

    partition: int
    key: bytes
    value: bytes | None
    before: bytes | None


@dataclass(frozen=True, slots=True)
class WriteOffsets:
    """All records of one connector in one transaction, under the transactional ID of its task 0.

    The transaction leads from before to after; before_values is what an undo leads back to. All three are digests of
    codecs.offsets_digest. Whoever initialises the ID next fences this producer, so of two that write one commits.
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


@dataclass(frozen=True, slots=True)
class VerifyOffsets:
    """Read the topic again, committed records only: the connector's offsets there must have this digest."""

    side: Side
    topic: str
    connector: str
    digest: str


@dataclass(frozen=True, slots=True)
class SetConnectorConfig:
    """PUT /connectors/C/config with changes made to the config it has now; a change to None takes the setting away.

    before holds what the changed settings are when the plan is made. copied_from names the connector of the source side
    whose config a new connector starts from; it may hold secrets, and is read when the step is performed.
    """

    side: Side
    connector: str
    changes: Mapping[str, str | None]
    before: Mapping[str, str | None]
    copied_from: str | None = None


@dataclass(frozen=True, slots=True)
class ResumeConnector:
    """PUT /connectors/C/resume once the workers answer the offsets in the topic, then wait until its tasks run.

    The topic is one of offsets_side; None: whatever they answer. Workers before KIP-875 (3.5) do not report them.
    """

    side: Side
    connector: str
    offsets_topic: str | None = None
    offsets_side: Side = Side.SOURCE


@dataclass(frozen=True, slots=True)
class CreateAcls:
    """CreateAcls (KIP-140) for these bindings; those that exist stay."""

    side: Side
    bindings: tuple[AclBinding, ...]


@dataclass(frozen=True, slots=True)
class DeleteAcls:
    """DeleteAcls (KIP-140) for exactly these bindings; those that are gone stay gone."""

    side: Side
    bindings: tuple[AclBinding, ...]


@dataclass(frozen=True, slots=True)
class ManualStep:
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


@dataclass(frozen=True, slots=True)
class ClusterIs:
    """The Kafka cluster has this ID."""

    side: Side
    cluster_id: str


@dataclass(frozen=True, slots=True)
class ConnectorStopped:
    """The connector is STOPPED and has no tasks, or does not exist."""

    side: Side
    connector: str


@dataclass(frozen=True, slots=True)
class NoLiveOwner:
    """No task of a Connect group on the cluster has one of these IDs, and no leader.

    Tasks of group `besides` do not count: it is known that connector by connector (ConnectorStopped).
    """

    side: Side
    transactional_ids: tuple[str, ...]
    besides: str | None = None


@dataclass(frozen=True, slots=True)
class TopicIsCompact:
    """The topic exists, has cleanup.policy compact and this many partitions; topic_id None accepts any."""

    side: Side
    topic: str
    partitions: int
    topic_id: str | None = None


@dataclass(frozen=True, slots=True)
class TopicIsCompactOrAbsent:
    """The topic does not exist, or is as TopicIsCompact wants it."""

    side: Side
    topic: str
    partitions: int


@dataclass(frozen=True, slots=True)
class OffsetsUnchanged:
    """The last committed record of every key of the connector is the one that was read, by digest.

    digest is of records or of values only (codecs.offsets_digest). allowed is that of the offsets as the plan leaves
    them: they are accepted too, so that a plan that was cut short after its commit can be finished.
    """

    side: Side
    topic: str
    connector: str
    digest: str
    allowed: str | None = None


@dataclass(frozen=True, slots=True)
class NoOpenTransaction:
    """No ongoing transaction wrote offsets of the connector into the topic."""

    side: Side
    topic: str
    connector: str


@dataclass(frozen=True, slots=True)
class AclsPresent:
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


@dataclass(frozen=True, slots=True)
class PlannedStep:
    """A step and what must hold immediately before it."""

    step: Step
    preconditions: tuple[Precondition, ...] = ()


@dataclass(frozen=True, slots=True)
class Plan:
    """Steps in their order. kind says which command made it, as_of (ms since the epoch) when its facts were read;
    places are where it was made, and where it is carried out unless somebody says otherwise. operated says which of its
    connectors have an operator, which whoever applies it need not know; None: nobody said so.
    """

    kind: str
    as_of: int
    steps: tuple[PlannedStep, ...]
    places: tuple[Place, ...] = ()
    operated: OperatedConnectors | None = None
