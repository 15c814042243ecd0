"""The time that the cluster has. No request asks for it; a KRaft quorum's answer has it as a by-product."""

from collections.abc import Callable

from eosctl.clients.errors import protocol_error
from eosctl.clients.messages import describe_quorum
from eosctl.clients.wire import Wire
from eosctl.errors import Undecodable
from eosctl.model.clock import ClusterClock


def read_clock(wire: Wire, now: Callable[[], int]) -> ClusterClock:
    """The active controller's clock beside `now` (ms since the epoch).

    The leader of the quorum reports itself as caught up at the time of its answer (KIP-836; LeaderState of Kafka's raft
    since 3.3). Raises Unsupported where brokers have no quorum (ZooKeeper), NotAuthorized without Describe on the
    cluster.
    """
    before = now()
    response = wire.request_any(describe_quorum())
    after = now()
    if response.error_code:
        raise protocol_error(
            response.error_code, principal=wire.principal, operation="Describe", resource="Cluster kafka-cluster"
        )
    [partition] = response.topics[0].partitions
    times = [
        each.last_caught_up_timestamp for each in partition.current_voters if each.replica_id == partition.leader_id
    ]
    if partition.error_code or not times or times[0] < 0:
        raise Undecodable("the quorum does not report its leader's time")
    return ClusterClock(partition.leader_id, times[0] - (before + after) // 2, after - before)
