"""What apply reads again before it acts: the facts that preconditions speak of."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from eosctl.model.acls import AclBinding
from eosctl.model.live_owners import LiveOwners
from eosctl.model.names import TopicPartition
from eosctl.model.sides import Side
from eosctl.model.skipped import Skipped
from eosctl.model.topics import TopicFacts
from eosctl.model.transaction_steps import TransactionNow


@dataclass(frozen=True, slots=True)
class ConnectorFacts:
    """A connector as Connect knows it now: state such as RUNNING or STOPPED (None: it does not exist), its tasks."""

    state: str | None
    tasks: int = 0


@dataclass(frozen=True, slots=True)
class TopicNow:
    """A topic as it is now, with the ID that distinguishes it from an earlier one of the same name (KIP-516)."""

    facts: TopicFacts
    topic_id: str | None


@dataclass(frozen=True, slots=True)
class OffsetsNow:
    """One connector's offsets in one topic: digests of its live records and of their values, open producers.

    open names producer ID/epoch of each ongoing transaction that wrote a key of the connector.
    """

    records: str
    values: str
    open: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class OpenNow:
    """What one producer has open in one partition: where it begins, and whether it hangs by KIP-664's rule."""

    start_offset: int
    hangs: bool | Skipped


@dataclass(frozen=True, slots=True)
class PlanFacts:
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
