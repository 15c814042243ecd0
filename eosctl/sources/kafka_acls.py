"""The ACLs of a cluster."""

from collections.abc import Collection, Iterable, Mapping
from functools import partial
from os import urandom
from typing import Final, NamedTuple

from eosctl.clients.channel import ApiVersions
from eosctl.clients.errors import protocol_error
from eosctl.clients.messages import BROKER_RESOURCE, Response, describe_acls, describe_configs
from eosctl.clients.wire import Wire
from eosctl.errors import EosctlError, NotAuthorized, Unsupported
from eosctl.model.acls import (
    ALLOW_EVERYONE,
    OPERATION_CODES,
    PATTERN_CODES,
    PERMISSION_CODES,
    RESOURCE_CODES,
    SUPER_USERS,
    WILDCARD,
    AclBinding,
    ClusterAcls,
    PatternType,
    ResourcePattern,
    ResourceType,
)
from eosctl.model.skipped import Cause, Skipped, not_asked, read_or_skip
from eosctl.model.versions import NEWEST, KafkaVersion
from eosctl.sources.kafka_topics import broker_settings, topic_facts

SECURITY_DISABLED: Final = 54

_RESOURCES: Final = {code: each for each, code in RESOURCE_CODES.items()}
_PATTERNS: Final = {code: each for each, code in PATTERN_CODES.items()}
_OPERATIONS: Final = {code: each for each, code in OPERATION_CODES.items()}
_PERMISSIONS: Final = {code: each for each, code in PERMISSION_CODES.items()}


def read_acls(wire: Wire) -> frozenset[AclBinding] | Skipped:
    """Every binding of the cluster; Skipped if its brokers have no authorizer (SECURITY_DISABLED).

    Raises NotAuthorized without Describe on the cluster, and Unsupported for a binding of an unknown kind: its effect
    cannot be ignored.
    """
    response = wire.request_any(describe_acls())
    if response.error_code == SECURITY_DISABLED:
        return Skipped(
            "the brokers have no authorizer (SECURITY_DISABLED): every principal may do everything", Cause.NOT_IN_USE
        )
    if response.error_code:
        raise protocol_error(
            response.error_code, principal=wire.principal, operation="Describe", resource="Cluster kafka-cluster"
        )
    return frozenset(_binding(resource, acl) for resource in response.resources for acl in resource.acls)


def hidden_settings(wire: Wire, node_id: int) -> frozenset[str]:
    """Authorizer settings that the broker has, or may have, and does not show.

    Kafka has no definition of them, so a broker takes them for secrets: they are listed without a value. To who may not
    describe its configs it says nothing, and may have both.
    """
    names = (SUPER_USERS, ALLOW_EVERYONE)
    response = wire.request(node_id, describe_configs(BROKER_RESOURCE, str(node_id), names))
    if any(result.error_code for result in response.results):
        return frozenset(names)
    return frozenset(each.name for result in response.results for each in result.configs if each.value is None)


def _binding(resource: Response, acl: Response) -> AclBinding:
    try:
        pattern = ResourcePattern(
            _RESOURCES[resource.resource_type], resource.resource_name, _PATTERNS[resource.pattern_type]
        )
        operation, permission = _OPERATIONS[acl.operation], _PERMISSIONS[acl.permission_type]
    except KeyError as error:
        raise Unsupported(
            f"the ACLs of {acl.principal} on {resource.resource_name} have a code that eosctl does not know: {error}",
            hint="a newer broker wrote it; use a newer eosctl",
        ) from error
    return AclBinding(acl.principal, operation, pattern, permission, acl.host)


DESCRIBE_PRODUCERS: Final = 61
"""The API that brokers know since 2.8; older ones check IdempotentWrite (KIP-679)."""
LIST_TRANSACTIONS: Final = 66
"""Has a version 1 since 3.8 (KIP-994); older brokers take no Alter for aborting transactions (KAFKA-16513)."""
BEFORE_2_8: Final = KafkaVersion(2, 7)
BEFORE_3_8: Final = KafkaVersion(3, 7)
MAPPING_RULES: Final = "ssl.principal.mapping.rules"
NO_CLUSTER: Final = ClusterAcls(not_asked("no cluster was named with -b"))


def broker_addresses(wire: Wire) -> frozenset[str]:
    """The addresses of the cluster: the bootstrap address, and those that its brokers advertise."""
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
    """True for each existing topic; Skipped for one that may not be described."""
    try:
        return {name: facts is not None for name, facts in topic_facts(wire, names).items()} if names else {}
    except NotAuthorized:
        return {name: read_or_skip(partial(_exists, wire, name)) for name in names}


def _exists(wire: Wire, name: str) -> bool:
    return topic_facts(wire, [name])[name] is not None


# Does this principal see every name of a kind? Brokers leave names without Describe out of a list, without a word.
#
# 1. A broker decides about Describe before it looks whether a name exists. So unused names can be asked
#    about, and nothing is created.
# 2. Random names, one for each character that names may begin with, are refused unless a pattern `*`, a superuser's
#    rights or prefixes for all those characters allow them. No probe begins with a star: StandardAuthorizer takes the
#    pattern `*` for a name that is no more than a beginning of such a name and passes it over.
# 3. Where ACLs may be read (Describe on the cluster), each pattern on such names, for any principal, is tried as well:
#    a literal one by its own name, a prefixed one by its prefix and a random rest. Every possible decision of an ACL
#    authorizer about a name appears for one of these names, including a Deny and `allow.everyone.if.no.acl.found`.
# 4. Without that, a Deny on some names and names that have ACLs of their own under `allow.everyone.if.no.acl.found`
#    can not be ruled out, and neither can they where an authorizer does not decide by ACLs.


class Probes(NamedTuple):
    """Names to ask about, with how to write each in a message; unknown: why patterns are not among them, or None."""

    names: Mapping[str, str]
    unknown: str | None


def probes_of(wire: Wire, resource_type: ResourceType, first_characters: Iterable[str], noun: str) -> Probes:
    names = {f"{first}{urandom(16).hex()}": f"{first}…" for first in first_characters}
    try:
        bindings = read_acls(wire)
    except EosctlError as error:
        return Probes(names, f"a Deny on some {noun} cannot be ruled out: {error.message}")
    if isinstance(bindings, Skipped):
        return Probes(names, None)
    for pattern in {binding.pattern for binding in bindings}:
        if pattern.resource_type is resource_type:
            if pattern.pattern_type is PatternType.PREFIXED:
                names[f"{pattern.name}{urandom(16).hex()}"] = f"{pattern.name}…"
            elif pattern.name != WILDCARD:
                names[pattern.name] = pattern.name
    return Probes(names, None)
