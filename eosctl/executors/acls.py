"""Creating and removing the ACLs of a plan. Both can be repeated: finished work is left.

A broker that has not replayed them yet neither lists them nor decides by them: the next step may need both, so each
change is awaited.
"""

from collections.abc import Sequence
from functools import partial
from typing import Final

from eosctl.clients.access import ClusterAccess
from eosctl.clients.errors import protocol_error
from eosctl.clients.leaders import ANSWER_S, await_brokers
from eosctl.clients.messages import Response, create_acls, delete_acls, describe_acls
from eosctl.clients.wire import Wire
from eosctl.errors import ConfigError
from eosctl.executors.apply import Recheck
from eosctl.model.acls import OPERATION_CODES, PATTERN_CODES, PERMISSION_CODES, RESOURCE_CODES, AclBinding
from eosctl.model.plan import CreateAcls, DeleteAcls

SECURITY_DISABLED: Final = 54


def perform_create_acls(step: CreateAcls, recheck: Recheck, *, access: ClusterAccess) -> str:
    """Creates the bindings, and waits until brokers have them; existing ones stay."""
    recheck()
    response = access.wire.request_any(create_acls(step.bindings), timeout_s=access.timeout_s)
    _require(response.results, step.bindings, access.wire)
    _await(step.bindings, access, are_there=True)
    return f"{len(step.bindings)} ACLs created"


def perform_delete_acls(step: DeleteAcls, recheck: Recheck, *, access: ClusterAccess) -> str:
    """Removes exactly these bindings, and waits until no broker has any; already deleted ones are not counted."""
    recheck()
    response = access.wire.request_any(delete_acls(step.bindings), timeout_s=access.timeout_s)
    _require(response.filter_results, step.bindings, access.wire)
    _await(step.bindings, access, are_there=False)
    gone = sum(len(each.matching_acls) for each in response.filter_results)
    return (
        f"{gone} of {len(step.bindings)} ACLs removed, the others were gone"
        if gone < len(step.bindings)
        else (f"{gone} ACLs removed")
    )


def _await(bindings: Sequence[AclBinding], access: ClusterAccess, *, are_there: bool) -> None:
    """Returns once each answering broker lists all of the bindings, or none of them; raises TimedOut.

    A principal that may change ACLs but not describe them does not wait.
    """
    done, still = ("created", "does not list them") if are_there else ("removed", "lists them")

    def lacking(node_id: int) -> str | None:
        listed = _bindings_at(access, node_id)
        waiting = [] if listed is None else [each for each in bindings if (_codes(each) in listed) is not are_there]
        if not waiting:
            return None
        return f"{len(waiting)} ACLs are {done}, and broker {node_id} still {still}, the first: {waiting[0]}"

    await_brokers(access.wire, lacking, timeout_s=access.timeout_s)


def _bindings_at(access: ClusterAccess, node_id: int) -> set[tuple[int, str, int, str, str, int, int]] | None:
    """The bindings that this broker has, in Kafka's codes; None where it does not say."""
    response = access.wire.request(node_id, describe_acls(), timeout_s=ANSWER_S)
    if response.error_code:
        return None
    return {
        (
            resource.resource_type,
            resource.resource_name,
            resource.pattern_type,
            acl.principal,
            acl.host,
            acl.operation,
            acl.permission_type,
        )
        for resource in response.resources
        for acl in resource.acls
    }


def _codes(binding: AclBinding) -> tuple[int, str, int, str, str, int, int]:
    pattern = binding.pattern
    return (
        RESOURCE_CODES[pattern.resource_type],
        pattern.name,
        PATTERN_CODES[pattern.pattern_type],
        binding.principal,
        binding.host,
        OPERATION_CODES[binding.operation],
        PERMISSION_CODES[binding.permission],
    )


def _require(results: Sequence[Response], bindings: Sequence[AclBinding], wire: Wire) -> None:
    """Raise the error of the first binding that was refused, naming it."""
    for result, binding in zip(results, bindings, strict=True):
        if result.error_code == SECURITY_DISABLED:
            raise ConfigError("the brokers have no authorizer (SECURITY_DISABLED), so they keep no ACLs")
        if result.error_code:
            refused = partial(protocol_error, result.error_code, principal=wire.principal, operation="Alter")
            raise refused(resource=f"Cluster kafka-cluster, for the ACL `{binding}`")
