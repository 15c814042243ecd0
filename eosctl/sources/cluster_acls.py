"""What the cluster says about ACLs: its bindings, which topics exist, and how its brokers take clients."""

from collections.abc import Collection, Mapping
from functools import partial
from typing import Final

from eosctl.clients.channel import ApiVersions
from eosctl.clients.wire import Wire
from eosctl.errors import NotAuthorized
from eosctl.model.cluster_acls import ClusterAcls
from eosctl.model.skipped import Skipped, not_asked, or_skipped
from eosctl.model.versions import NEWEST, KafkaVersion
from eosctl.sources.kafka_acls import hidden_settings, read_acls
from eosctl.sources.kafka_topics import broker_settings, topic_facts

DESCRIBE_PRODUCERS: Final = 61
"""The API that brokers know since 2.8; older ones check IdempotentWrite (KIP-679)."""
LIST_TRANSACTIONS: Final = 66
"""Has a version 1 since 3.8 (KIP-994); older brokers take no Alter for aborting transactions (KAFKA-16513)."""
BEFORE_2_8: Final = KafkaVersion(2, 7)
BEFORE_3_8: Final = KafkaVersion(3, 7)
MAPPING_RULES: Final = "ssl.principal.mapping.rules"
NO_CLUSTER: Final = ClusterAcls(not_asked("no cluster was named with -b"))


def broker_addresses(wire: Wire) -> frozenset[str]:
    """The addresses of the cluster: those it was reached by, and those that its brokers advertise."""
    advertised = (f"{each.host}:{each.port}" for each in wire.brokers())
    return frozenset((*wire.properties.bootstrap_servers, *advertised))


def read_cluster_acls(wire: Wire, topics: Collection[str]) -> ClusterAcls:
    """The ACLs of the cluster, and which of `topics` exist. Raises NotAuthorized where ACLs may not be described."""
    bindings = read_acls(wire)
    node = wire.brokers()[0].node_id
    settings = broker_settings(wire, node, [MAPPING_RULES])
    known = {} if isinstance(settings, Skipped) else settings
    found = _topics_that_exist(wire, sorted(topics))
    return ClusterAcls(
        bindings,
        wire.cluster_id,
        {name: each for name, each in found.items() if not isinstance(each, Skipped)},
        {f"topic {name}": each for name, each in found.items() if isinstance(each, Skipped)},
        _version_of(wire.api_versions(node)),
        known.get(MAPPING_RULES) or "DEFAULT",
        broker_addresses(wire),
        hidden_settings(wire, node),
    )


def _version_of(apis: Mapping[int, ApiVersions]) -> KafkaVersion:
    """The newest version that a broker with these APIs may have, as far as ACLs differ."""
    if DESCRIBE_PRODUCERS not in apis:
        return BEFORE_2_8
    return NEWEST if LIST_TRANSACTIONS in apis and apis[LIST_TRANSACTIONS].highest >= 1 else BEFORE_3_8


def _topics_that_exist(wire: Wire, names: list[str]) -> Mapping[str, bool | Skipped]:
    """Whether each topic exists; Skipped for one that may not be described."""
    try:
        return {name: facts is not None for name, facts in topic_facts(wire, names).items()} if names else {}
    except NotAuthorized:
        return {name: or_skipped(partial(_exists, wire, name)) for name in names}


def _exists(wire: Wire, name: str) -> bool:
    return topic_facts(wire, [name])[name] is not None
