"""The ACLs of a Kafka cluster, and what else of it decides whom they concern."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from eosctl.model.acls import AclBinding
from eosctl.model.skipped import Skipped
from eosctl.model.versions import NEWEST, KafkaVersion


@dataclass(frozen=True, slots=True)
class ClusterAcls:
    """What the cluster says: its bindings, which of the topics exist, and how brokers name certificates.

    unread says of topics why it is not known whether they exist. addresses are those it was reached by
    and those its brokers advertise; hidden names settings of the authorizer that brokers have and keep to themselves.
    """

    bindings: frozenset[AclBinding] | Skipped
    cluster_id: str | None = None
    topics: Mapping[str, bool] = field(default_factory=dict)
    unread: Mapping[str, Skipped] = field(default_factory=dict)
    broker_version: KafkaVersion = NEWEST
    mapping_rules: str = "DEFAULT"
    addresses: frozenset[str] = frozenset()
    hidden: frozenset[str] = frozenset()
