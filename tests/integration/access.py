"""ACLs for the length of a block."""

from collections.abc import Iterator
from contextlib import contextmanager

from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
)

from eosctl.clients.messages import describe_acls
from eosctl.clients.wire import Wire
from tests.faulty_sandbox import Sandbox
from tests.integration.coordinators import wire_to
from tests.waiting import eventually


@contextmanager
def allowed(sandbox: Sandbox, user: str, *grants: tuple[str, str, str]) -> Iterator[None]:
    """`user` may do what `grants` name, as ("WRITE", "TRANSACTIONAL_ID", "orders-*"): a star ends a prefix."""
    admin = AdminClient({"bootstrap.servers": sandbox.bootstrap_servers})
    bindings = [_binding(user, *grant) for grant in grants]
    for future in admin.create_acls(bindings).values() if bindings else ():
        future.result(30)
    with wire_to(sandbox.bootstrap_servers) as wire:
        eventually(lambda: _at_brokers(wire, user) == {len(set(bindings))}, "the ACLs at all brokers")
        try:
            yield
        finally:
            for future in admin.delete_acls([_filter(user)]).values():
                future.result(30)
            eventually(lambda: _at_brokers(wire, user) == {0}, "the end of the ACLs at all brokers")


def _at_brokers(wire: Wire, user: str) -> set[int]:
    """The brokers' counts of the user's bindings: one number once all of them agree."""
    answers = [wire.request(broker.node_id, describe_acls()) for broker in wire.brokers()]
    return {
        sum(acl.principal == f"User:{user}" for resource in answer.resources for acl in resource.acls)
        for answer in answers
    }


def _binding(user: str, operation: str, kind: str, name: str) -> AclBinding:
    pattern = ResourcePatternType.PREFIXED if name.endswith("*") else ResourcePatternType.LITERAL
    allow, does = AclPermissionType.ALLOW, AclOperation[operation]
    return AclBinding(ResourceType[kind], name.rstrip("*"), pattern, f"User:{user}", "*", does, allow)


def _filter(user: str) -> AclBindingFilter:
    any_ = AclOperation.ANY, AclPermissionType.ANY
    return AclBindingFilter(ResourceType.ANY, None, ResourcePatternType.ANY, f"User:{user}", None, *any_)
