"""What is read before a probe: API versions, features, and what the principal may do on the cluster."""

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING

from eosctl.clients.group_messages import cluster_operations
from eosctl.model.acls import OPERATION_CODES, Operation
from eosctl.model.probe_observations import Observations, VersionRange
from eosctl.model.skipped import Cause, Skipped, or_skipped
from eosctl.sources.kafka_evidence import read_finalized_features

if TYPE_CHECKING:
    from eosctl.clients.wire import Wire


def read_before_probe(wire: "Wire") -> Observations:
    """Every broker's API versions, the finalized features, and the principal's operations on the cluster."""
    nodes = [broker.node_id for broker in wire.brokers()]
    return Observations(
        principal=wire.principal,
        versions={node_id: or_skipped(partial(_versions, wire, node_id)) for node_id in nodes},
        features=or_skipped(lambda: read_finalized_features(wire)),
        rights=or_skipped(lambda: _rights(wire)),
    )


def _versions(wire: "Wire", node_id: int) -> Mapping[int, VersionRange]:
    return {key: VersionRange(*found) for key, found in wire.api_versions(node_id).items()}


def _rights(wire: "Wire") -> frozenset[Operation] | Skipped:
    """KIP-430: who may not describe the cluster is answered with nothing."""
    codes = set(wire.request_any(cluster_operations()).authorized_operations or ())
    found = frozenset(operation for operation, code in OPERATION_CODES.items() if code in codes)
    if Operation.DESCRIBE not in found:
        return Skipped(f"{wire.principal} lacks Describe on the cluster", Cause.DENIED)
    return found
