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

from eosctl.sandbox.sandbox import Sandbox
from tests.integration.coordinators import wait_until


@contextmanager
def allowed(sandbox: Sandbox, user: str, *grants: tuple[str, str, str]) -> Iterator[None]:
    """`user` may do what `grants` name, as ("WRITE", "TRANSACTIONAL_ID", "orders-*"): a star ends a prefix."""
    admin = AdminClient({"bootstrap.servers": sandbox.bootstrap_servers})
    bindings = [_binding(user, *grant) for grant in grants]
    for future in admin.create_acls(bindings).values() if bindings else ():
        future.result(30)
    wait_until(lambda: len(_of(admin, user)) == len(set(bindings)), "the ACLs at the broker")
    try:
        yield
    finally:
        for future in admin.delete_acls([_filter(user)]).values():
            future.result(30)
        wait_until(lambda: not _of(admin, user), "the end of the ACLs")


def _of(admin: AdminClient, user: str) -> list[AclBinding]:
    return list(admin.describe_acls(_filter(user)).result(30))


def _binding(user: str, operation: str, kind: str, name: str) -> AclBinding:
    pattern = ResourcePatternType.PREFIXED if name.endswith("*") else ResourcePatternType.LITERAL
    allow, does = AclPermissionType.ALLOW, AclOperation[operation]
    return AclBinding(ResourceType[kind], name.rstrip("*"), pattern, f"User:{user}", "*", does, allow)


def _filter(user: str) -> AclBindingFilter:
    any_ = AclOperation.ANY, AclPermissionType.ANY
    return AclBindingFilter(ResourceType.ANY, None, ResourcePatternType.ANY, f"User:{user}", None, *any_)
