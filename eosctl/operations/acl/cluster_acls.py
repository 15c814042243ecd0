"""What acl-plan reads of the cluster: its ACLs, which topics exist, and how its brokers take clients."""

from collections.abc import Mapping, Sequence
from typing import Final

from eosctl.analysis.output_topics import output_topics
from eosctl.analysis.source_stores import server_set
from eosctl.clients.channel import ApiVersions
from eosctl.errors import EosctlError, NotAuthorized
from eosctl.model.acls import PatternType
from eosctl.model.client_roles import ConnectCluster
from eosctl.model.cluster_acls import ClusterAcls
from eosctl.model.skipped import Skipped
from eosctl.model.versions import NEWEST, KafkaVersion
from eosctl.operations.session import Session

DESCRIBE_PRODUCERS: Final = 61
"""The API that brokers know since 2.8; older ones check IdempotentWrite (KIP-679)."""
LIST_TRANSACTIONS: Final = 66
"""Has a version 1 since 3.8 (KIP-994); older brokers take no Alter for aborting transactions (KAFKA-16513)."""
BEFORE_2_8: Final = KafkaVersion(2, 7)
BEFORE_3_8: Final = KafkaVersion(3, 7)
MAPPING_RULES: Final = "ssl.principal.mapping.rules"


def addresses_of(session: Session) -> frozenset[str]:
    """The addresses of the cluster at -b: those given, and those that its brokers tell."""
    told = (f"{each.host}:{each.port}" for each in session.wire.brokers())
    return frozenset((*session.client_properties.bootstrap_servers, *told))


def place_of(clusters: Sequence[ConnectCluster], addresses: frozenset[str], told: str | None = None) -> frozenset[str]:
    """The cluster that -b leads to, by the bootstrap servers that configs give it.

    1. What was told with --cluster.
    2. The first worker's bootstrap.servers of which one is an address of the cluster.
    3. The first worker's: configs may name another listener, or another name of the host, than -b does.
    """
    if told is not None:
        return server_set(told)
    workers = [server_set(each.get("bootstrap.servers")) for cluster in clusters for each in cluster.workers]
    return next((each for each in workers if not each.isdisjoint(addresses)), workers[0])


def read_cluster_acls(session: Session, clusters: Sequence[ConnectCluster]) -> ClusterAcls:
    """The ACLs of the cluster at -b. Raises NotAuthorized where they may not be described."""
    from eosctl.sources.kafka_acls import hidden_settings, read_acls
    from eosctl.sources.kafka_topics import broker_settings

    wire = session.wire
    bindings = read_acls(wire)
    node = wire.brokers()[0].node_id
    settings = broker_settings(wire, node, [MAPPING_RULES])
    told = {} if isinstance(settings, Skipped) else settings
    return ClusterAcls(
        bindings,
        wire.cluster_id,
        _topics_that_exist(session, clusters),
        _version_of(wire.api_versions(node)),
        told.get(MAPPING_RULES) or "DEFAULT",
        addresses_of(session),
        hidden_settings(wire, node),
    )


def _version_of(apis: Mapping[int, ApiVersions]) -> KafkaVersion:
    """The newest version that a broker with these APIs may have, as far as ACLs differ."""
    if DESCRIBE_PRODUCERS not in apis:
        return BEFORE_2_8
    return NEWEST if LIST_TRANSACTIONS in apis and apis[LIST_TRANSACTIONS].highest >= 1 else BEFORE_3_8


def _topics_that_exist(session: Session, clusters: Sequence[ConnectCluster]) -> dict[str, bool]:
    """Whether each topic that the plan may name exists; those that may not be described are left out: not known."""
    from eosctl.sources.kafka_topics import topic_facts

    names = sorted(_topics_of(clusters))
    try:
        return {name: facts is not None for name, facts in topic_facts(session.wire, names).items()} if names else {}
    except NotAuthorized:
        found: dict[str, bool] = {}
        for name in names:
            try:
                found |= {name: facts is not None for name, facts in topic_facts(session.wire, [name]).items()}
            except NotAuthorized:
                continue
        return found
    except EosctlError as error:
        session.options.console.warn(f"which topics exist is not known: {error.message}")
        return {}


def _topics_of(clusters: Sequence[ConnectCluster]) -> set[str]:
    names = {name for cluster in clusters for worker in cluster.workers for name in worker.internal_topics}
    for connector in (each for cluster in clusters for each in cluster.connectors):
        own = (connector.offsets_topic, connector.get("errors.deadletterqueue.topic.name").strip())
        names |= {name for name in own if name}
        if not connector.is_sink:
            patterns = output_topics(connector)
            names |= {each.name for each in patterns if each.pattern_type is PatternType.LITERAL and each.name != "*"}
    return names
