"""The ACLs of a cluster."""

from typing import Final

from eosctl.clients.acl_messages import describe_acls
from eosctl.clients.errors import protocol_error
from eosctl.clients.messages import BROKER_RESOURCE, Response, describe_configs
from eosctl.clients.wire import Wire
from eosctl.errors import Unsupported
from eosctl.model.acls import (
    ALLOW_EVERYONE,
    OPERATION_CODES,
    PATTERN_CODES,
    PERMISSION_CODES,
    RESOURCE_CODES,
    SUPER_USERS,
    AclBinding,
    ResourcePattern,
)
from eosctl.model.skipped import Cause, Skipped

SECURITY_DISABLED: Final = 54

_RESOURCES: Final = {code: each for each, code in RESOURCE_CODES.items()}
_PATTERNS: Final = {code: each for each, code in PATTERN_CODES.items()}
_OPERATIONS: Final = {code: each for each, code in OPERATION_CODES.items()}
_PERMISSIONS: Final = {code: each for each, code in PERMISSION_CODES.items()}


def read_acls(wire: Wire) -> frozenset[AclBinding] | Skipped:
    """Every binding of the cluster; Skipped where its brokers have no authorizer (SECURITY_DISABLED).

    Raises NotAuthorized without Describe on the cluster, and Unsupported for a binding of a kind that eosctl does not
    know: what it allows or denies cannot be left out.
    """
    response = wire.request_any(describe_acls())
    if response.error_code == SECURITY_DISABLED:
        return Skipped(
            "the brokers have no authorizer (SECURITY_DISABLED): everybody may do everything", Cause.NOT_IN_USE
        )
    if response.error_code:
        raise protocol_error(
            response.error_code, principal=wire.principal, operation="Describe", resource="Cluster kafka-cluster"
        )
    return frozenset(_binding(resource, acl) for resource in response.resources for acl in resource.acls)


def hidden_settings(wire: Wire, node_id: int) -> frozenset[str]:
    """Those of the authorizer's settings that the broker has and keeps to itself, or may have.

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
