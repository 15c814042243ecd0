"""ACL bindings as Kafka's own tool takes them: command lines of kafka-acls.sh (AclCommand)."""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Final

from eosctl.errors import NotAuthorized, Unsupported
from eosctl.model.acls import AclBinding, Operation, PatternType, ResourcePattern, ResourceType
from eosctl.model.unseen import shell_word

_TRIMMED: Final = "".join(map(chr, range(33)))
"""What Java's String.trim takes away."""
_KAFKA_ACLS_RESOURCE: Final = {
    ResourceType.TOPIC: "--topic",
    ResourceType.GROUP: "--group",
    ResourceType.TRANSACTIONAL_ID: "--transactional-id",
    ResourceType.DELEGATION_TOKEN: "--delegation-token",
    ResourceType.USER: "--user-principal",
}


def adding_arguments(binding: AclBinding, operations: Iterable[Operation]) -> list[str]:
    """What follows `--add`. Values are joined with `=`, because one that begins with a dash is taken for an option.

    Raises Unsupported for a name that begins or ends with a blank: AclCommand trims what it is given, and would say
    that it added a binding when it added another one.
    """
    for name in (binding.principal, binding.pattern.name):
        if name != name.strip(_TRIMMED):
            raise Unsupported(
                f"kafka-acls.sh drops the blanks around {name!r}", hint="use --plan-file and eosctl apply"
            )
    verb = binding.permission.value.lower()
    host = [] if binding.host == "*" else [f"--{verb}-host={binding.host}"]
    named = [f"--operation={each.value}" for each in operations]
    return [f"--{verb}-principal={binding.principal}", *host, *named, *_kafka_acls_resource(binding.pattern)]


def _kafka_acls_resource(pattern: ResourcePattern) -> list[str]:
    if pattern.resource_type is ResourceType.CLUSTER:
        return ["--cluster"]
    prefixed = ["--resource-pattern-type=prefixed"] if pattern.pattern_type is PatternType.PREFIXED else []
    return [f"{_KAFKA_ACLS_RESOURCE[pattern.resource_type]}={pattern.name}", *prefixed]


def kafka_acls_command(
    binding: AclBinding, operations: Iterable[Operation], bootstrap_servers: str, command_config: str | None = None
) -> str:
    """The `kafka-acls.sh --add` line for these operations on the binding's resource, quoted for a POSIX shell.

    Raises as `adding_arguments`.
    """
    config = [] if command_config is None else ["--command-config", command_config]
    head = ["kafka-acls.sh", "--bootstrap-server", bootstrap_servers, *config, "--add"]
    return " ".join(map(shell_word, [*head, *adding_arguments(binding, operations)]))


def granting_command(error: NotAuthorized, bootstrap_servers: str) -> str | None:
    """The `kafka-acls.sh --add` line that grants what is missing; None where it is no ACL of Kafka's, as a login.

    Where the client side does not know the name that brokers give to the principal, the line has User:NAME.
    """
    kind, _, name = error.resource.partition(" ")
    if kind not in set(ResourceType) or error.operation not in set(Operation):
        return None
    principal = error.principal if error.principal.startswith("User:") else "User:NAME"
    binding = AclBinding(principal, Operation(error.operation), ResourcePattern(ResourceType(kind), name))
    with suppress(Unsupported):
        return kafka_acls_command(binding, [binding.operation], bootstrap_servers)
    return None


def grouped(bindings: Iterable[AclBinding]) -> Iterator[tuple[AclBinding, list[Operation]]]:
    """Bindings that differ in their operation only, as one of them and all operations, in the order of the first."""
    operations: dict[AclBinding, list[Operation]] = {}
    for each in bindings:
        alike = AclBinding(each.principal, Operation.ALL, each.pattern, each.permission, each.host)
        operations.setdefault(alike, []).append(each.operation)
    yield from operations.items()
