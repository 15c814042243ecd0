"""KafkaUser of Strimzi's User Operator: a principal and its ACLs, as the plain data of the resource.

The principal of a user that authenticates with `tls` or `tls-external` is `User:CN=<name>`, that of any other user
`User:<name>` (KafkaUserModel.getUserName).
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from eosctl.model.acls import AclBinding, Operation, PatternType, ResourcePattern, ResourceType
from eosctl.model.kafka_acls import grouped
from eosctl.model.strimzi import API_VERSIONS, CLUSTER_LABEL, KAFKA_USER

SIMPLE: Final = "simple"
"""The one type of authorization of a KafkaUser."""
WITH_CERTIFICATE: Final = frozenset({"tls", "tls-external"})
_KUBERNETES_NAME: Final = re.compile(r"(?=.{1,253}\Z)[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")


def no_kafka_user(principal: str) -> bool:
    """Whether no KafkaUser can be who this principal is: its name is one of Kubernetes' (RFC 1123)."""
    return not is_kubernetes_name(user_name(principal))


def is_kubernetes_name(name: str) -> bool:
    """Whether a resource can be called so (RFC 1123)."""
    return _KUBERNETES_NAME.fullmatch(name) is not None


def user_name(principal: str) -> str:
    """The name of the KafkaUser with this principal."""
    return principal.partition(":")[2].removeprefix("CN=")


def principal_of(name: str, authentication: str | None) -> str:
    """The principal of the KafkaUser with this name and type of authentication."""
    return f"User:{'CN=' if authentication in WITH_CERTIFICATE else ''}{name}"


def kafka_user(principal: str, bindings: Iterable[AclBinding], cluster: str) -> dict[str, Any]:
    """The KafkaUser with these ACLs; how it authenticates is said only where its principal depends on it."""
    name = user_name(principal)
    has_certificate = principal_of(name, "tls") == principal
    return {
        "apiVersion": API_VERSIONS[0],
        "kind": KAFKA_USER,
        "metadata": {"name": name, "labels": {CLUSTER_LABEL: cluster}},
        "spec": {
            **({"authentication": {"type": "tls"}} if has_certificate else {}),
            "authorization": {"type": SIMPLE, "acls": acl_rules(bindings)},
        },
    }


def acl_rules(bindings: Iterable[AclBinding]) -> list[dict[str, Any]]:
    """The rules of a KafkaUser: one for each resource and host."""
    return [
        {
            "resource": acl_resource(each.pattern),
            "operations": [operation.value for operation in operations],
            "host": each.host,
        }
        for each, operations in grouped(bindings)
    ]


def acl_resource(pattern: ResourcePattern) -> dict[str, str]:
    """The `resource` of a rule."""
    if pattern.resource_type is ResourceType.CLUSTER:
        return {"type": "cluster"}
    kind = pattern.resource_type.value[0].lower() + pattern.resource_type.value[1:]
    pattern_type = "prefix" if pattern.pattern_type is PatternType.PREFIXED else "literal"
    return {"type": kind, "name": pattern.name, "patternType": pattern_type}


def says(rule: Mapping[str, Any], binding: AclBinding) -> bool:
    """Whether a rule is on the binding's resource, host and operation (`All` is on each)."""
    resource = {"patternType": "literal", **(rule.get("resource") or {})}
    wanted = {"patternType": "literal", **acl_resource(binding.pattern)}
    operations = {*(rule.get("operations") or ()), rule.get("operation")}
    return (
        resource == wanted
        and rule.get("host", "*") == binding.host
        and not operations.isdisjoint({binding.operation.value, Operation.ALL.value})
    )
