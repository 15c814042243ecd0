"""Requests about ACLs (KIP-140), as values that can be sent to any broker."""

from collections.abc import Iterable

from eosctl.clients.messages import Request
from eosctl.model.acls import OPERATION_CODES, PATTERN_CODES, PERMISSION_CODES, RESOURCE_CODES, AclBinding, ResourceType

ANY = 1
"""In a filter: any resource type, pattern type, operation or permission."""
WITH_USERS = 3
"""From version 3 on resource type User exists."""


def describe_acls() -> Request:
    """DescribeAcls for all bindings: {error_code, resources[] of {resource_type, resource_name, pattern_type, acls[]}}.

    acls[] are {principal, host, operation, permission_type}. Needs Describe on the cluster.
    """
    from kafka.protocol.admin.acl import DescribeAclsRequest

    fields = {
        "resource_type_filter": ANY,
        "resource_name_filter": None,
        "pattern_type_filter": ANY,
        "principal_filter": None,
        "host_filter": None,
        "operation": ANY,
        "permission_type": ANY,
    }
    return Request(DescribeAclsRequest, fields, min_version=1)


def create_acls(bindings: Iterable[AclBinding]) -> Request:
    """CreateAcls: results[] of {error_code, error_message}, one for each binding in their order.

    A binding that exists already is created again without effect. Needs Alter on the cluster.
    """
    from kafka.protocol.admin.acl import CreateAclsRequest

    wanted = list(bindings)
    creations = [
        CreateAclsRequest.AclCreation(
            resource_type=RESOURCE_CODES[each.pattern.resource_type],
            resource_name=each.pattern.name,
            resource_pattern_type=PATTERN_CODES[each.pattern.pattern_type],
            principal=each.principal,
            host=each.host,
            operation=OPERATION_CODES[each.operation],
            permission_type=PERMISSION_CODES[each.permission],
        )
        for each in wanted
    ]
    return Request(CreateAclsRequest, {"creations": creations}, min_version=_version_for(wanted))


def delete_acls(bindings: Iterable[AclBinding]) -> Request:
    """DeleteAcls of exactly these: filter_results[] of {error_code, error_message, matching_acls[]}, in their order.

    matching_acls is empty for a binding that does not exist. Needs Alter on the cluster.
    """
    from kafka.protocol.admin.acl import DeleteAclsRequest

    doomed = list(bindings)
    filters = [
        DeleteAclsRequest.DeleteAclsFilter(
            resource_type_filter=RESOURCE_CODES[each.pattern.resource_type],
            resource_name_filter=each.pattern.name,
            pattern_type_filter=PATTERN_CODES[each.pattern.pattern_type],
            principal_filter=each.principal,
            host_filter=each.host,
            operation=OPERATION_CODES[each.operation],
            permission_type=PERMISSION_CODES[each.permission],
        )
        for each in doomed
    ]
    return Request(DeleteAclsRequest, {"filters": filters}, min_version=_version_for(doomed))


def _version_for(bindings: list[AclBinding]) -> int:
    return WITH_USERS if any(each.pattern.resource_type is ResourceType.USER for each in bindings) else 1
