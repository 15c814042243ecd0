"""Connect clusters by their configs: which Kafka cluster is theirs, and which topics they use."""

from collections.abc import Sequence

from eosctl.analysis.client_configs import worker_client
from eosctl.analysis.output_topics import output_topics
from eosctl.model.acls import PatternType
from eosctl.model.client_configs import server_set
from eosctl.model.client_roles import ConnectCluster


def place_of(clusters: Sequence[ConnectCluster], addresses: frozenset[str], given: str | None = None) -> frozenset[str]:
    """The cluster with these addresses, by the bootstrap servers that configs give it.

    1. What was given with --cluster.
    2. The first worker's bootstrap.servers of which one is an address of the cluster.
    3. The first worker's: configs may name another listener, or another name of the host, than -b does.
    """
    if given is not None:
        return server_set(given)
    workers = [worker_client(each).bootstrap_servers for cluster in clusters for each in cluster.workers]
    return next((each for each in workers if not each.isdisjoint(addresses)), workers[0])


def topics_of(clusters: Sequence[ConnectCluster]) -> frozenset[str]:
    """Every topic that a plan of these clusters' ACLs may name."""
    names = {name for cluster in clusters for worker in cluster.workers for name in worker.internal_topics}
    for connector in (each for cluster in clusters for each in cluster.connectors):
        own = (connector.offsets_topic, connector.get("errors.deadletterqueue.topic.name").strip())
        names |= {name for name in own if name}
        if not connector.is_sink:
            patterns = output_topics(connector)
            names |= {each.name for each in patterns if each.pattern_type is PatternType.LITERAL and each.name != "*"}
    return frozenset(names)
