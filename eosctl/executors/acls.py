"""Creating and removing ACLs that a plan names. Both can be repeated: what is done already is left."""

from collections.abc import Sequence
from functools import partial

from eosctl.clients.access import ClusterAccess
from eosctl.clients.acl_messages import create_acls, delete_acls
from eosctl.clients.errors import protocol_error
from eosctl.clients.messages import Response
from eosctl.clients.wire import Wire
from eosctl.errors import ConfigError
from eosctl.executors.apply import Recheck
from eosctl.model.acls import AclBinding
from eosctl.model.plan import CreateAcls, DeleteAcls

SECURITY_DISABLED = 54


def perform_create_acls(step: CreateAcls, recheck: Recheck, *, access: ClusterAccess) -> str:
    """Creates the bindings; those that exist stay as they are."""
    recheck()
    response = access.wire.request_any(create_acls(step.bindings), timeout_s=access.timeout_s)
    _require(response.results, step.bindings, access.wire)
    return f"{len(step.bindings)} ACLs created"


def perform_delete_acls(step: DeleteAcls, recheck: Recheck, *, access: ClusterAccess) -> str:
    """Removes exactly these bindings; those that are gone already are left out of the count."""
    recheck()
    response = access.wire.request_any(delete_acls(step.bindings), timeout_s=access.timeout_s)
    _require(response.filter_results, step.bindings, access.wire)
    gone = sum(len(each.matching_acls) for each in response.filter_results)
    return (
        f"{gone} of {len(step.bindings)} ACLs removed, the others were gone"
        if gone < len(step.bindings)
        else (f"{gone} ACLs removed")
    )


def _require(results: Sequence[Response], bindings: Sequence[AclBinding], wire: Wire) -> None:
    """Raise the error of the first binding that was refused, naming it."""
    for result, binding in zip(results, bindings, strict=True):
        if result.error_code == SECURITY_DISABLED:
            raise ConfigError("the brokers have no authorizer (SECURITY_DISABLED), so they keep no ACLs")
        if result.error_code:
            refused = partial(protocol_error, result.error_code, principal=wire.principal, operation="Alter")
            raise refused(resource=f"Cluster kafka-cluster, for the ACL `{binding}`")
