"""ACL bindings as command lines and lines of text that other tools take."""

import csv
import io
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from eosctl.errors import Unsupported
from eosctl.model.acls import AclBinding, Operation, PatternType, ResourceType
from eosctl.model.kafka_acls import adding_arguments, grouped, kafka_acls_command
from eosctl.model.unseen import UNSEEN, escaped_in_lines, shell_word
from eosctl.render.cells import as_text


@dataclass(frozen=True, slots=True)
class EmitOptions:
    """What a format needs beside the bindings.

    bootstrap_servers and command_config (a path, or None) are for kafka-acls.sh; cluster names the cluster for Strimzi;
    msk_cluster is the ARN of an MSK cluster; text_cells: CSV has no cell that a spreadsheet takes for a formula. about
    is what a comment at the top says of the bindings, in a format that has comments.
    """

    bootstrap_servers: str = "localhost:9092"
    command_config: str | None = None
    cluster: str = "my-cluster"
    msk_cluster: str = "arn:aws:kafka:REGION:ACCOUNT:cluster/NAME/UUID"
    text_cells: bool = False
    about: str = ""


def comment(about: str) -> str:
    """The line of a comment, as shells, YAML, Terraform and most readers of CSV know it; none where it says nothing."""
    return f"# {escaped_in_lines(' '.join(about.splitlines()))}\n" if about else ""


def kafka_acls_lines(bindings: Iterable[AclBinding], around: EmitOptions) -> str:
    """One `kafka-acls.sh --add` line for each principal and resource, quoted for a POSIX shell.

    Raises Unsupported for a name that begins or ends with a blank: AclCommand trims what it is given, and would say
    that it added a binding when it added another one.
    """
    place = (around.bootstrap_servers, around.command_config)
    return "".join(f"{kafka_acls_command(*each, *place)}\n" for each in grouped(bindings))


def shell_script(bindings: Iterable[AclBinding], around: EmitOptions) -> str:
    """The same as a script for any POSIX shell; its argument is the properties file of who may alter ACLs.

    It ends at the first line that fails, and may be run again. Raises as `kafka_acls_lines`.
    """
    config = "" if around.command_config is None else shell_word(around.command_config)
    lines = "".join(f"add {' '.join(map(shell_word, adding_arguments(*each)))}\n" for each in grouped(bindings))
    return (
        f"#!/bin/sh\n{comment(around.about)}"
        "# Usage: sh SCRIPT [FILE], the client properties of somebody who may alter ACLs.\n"
        f"set -eu\nconfig=${{1:-{config}}}\nadd() {{\n"
        f"  kafka-acls.sh --bootstrap-server {shell_word(around.bootstrap_servers)} "
        '${config:+--command-config "$config"} --add "$@"\n}\n'
        f"{lines}"
    )


_CONFLUENT_RESOURCE: Final = {
    ResourceType.TOPIC: "--topic",
    ResourceType.GROUP: "--consumer-group",
    ResourceType.TRANSACTIONAL_ID: "--transactional-id",
}


def confluent_lines(bindings: Iterable[AclBinding], _: EmitOptions) -> str:
    """One `confluent kafka acl create` line for each principal and resource, quoted for a POSIX shell."""
    return "".join(f"{' '.join(map(shell_word, _confluent(*each)))}\n" for each in grouped(bindings))


def _confluent(binding: AclBinding, operations: Iterable[Operation]) -> list[str]:
    pattern = binding.pattern
    resource = (
        ["--cluster-scope"]
        if pattern.resource_type is ResourceType.CLUSTER
        else [f"{_CONFLUENT_RESOURCE[pattern.resource_type]}={pattern.name}"]
    )
    prefix = ["--prefix"] if pattern.pattern_type is PatternType.PREFIXED else []
    named = ",".join(_dashed(each.value) for each in operations)
    head = ["confluent", "kafka", "acl", "create", f"--{binding.permission.value.lower()}"]
    return [*head, f"--principal={binding.principal}", f"--operations={named}", *resource, *prefix]


def _dashed(name: str) -> str:
    return "".join(f"-{char.lower()}" if char.isupper() else char for char in name).lstrip("-")


CSV_HEAD: Final = ("principal", "permission", "operation", "resource_type", "resource_name", "pattern_type", "host")


def csv_lines(bindings: Iterable[AclBinding], around: EmitOptions) -> str:
    """One line for each binding under a line of names (RFC 4180, lines end with a line feed).

    Raises Unsupported for a name with a character that is not seen: CSV has no escape for it.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(CSV_HEAD)
    for each in bindings:
        pattern = each.pattern
        if UNSEEN.search(each.principal + pattern.name):
            name = ascii(pattern.name if UNSEEN.search(pattern.name) else each.principal)
            raise Unsupported(
                f"CSV has no escape for a character of {name}",
                hint="use --emit terraform, or --plan-file and eosctl apply",
            )
        place = (pattern.resource_type.value, pattern.name, pattern.pattern_type.value)
        row = (each.principal, each.permission.value, each.operation.value, *place, each.host)
        writer.writerow(map(as_text, row) if around.text_cells else row)
    return text.getvalue()


def terraform_blocks(bindings: Iterable[AclBinding], _: EmitOptions) -> str:
    """One `kafka_acl` resource of the provider Mongey/kafka for each binding."""
    blocks = []
    for number, each in enumerate(bindings, 1):
        fields: Mapping[str, str] = {
            "resource_name": each.pattern.name,
            "resource_type": _TERRAFORM_TYPE.get(each.pattern.resource_type, each.pattern.resource_type.value),
            "resource_pattern_type_filter": each.pattern.pattern_type.value.capitalize(),
            "acl_principal": each.principal,
            "acl_host": each.host,
            "acl_operation": each.operation.value,
            "acl_permission_type": each.permission.value,
        }
        width = max(map(len, fields))
        lines = "".join(f"  {name:{width}} = {_hcl(value)}\n" for name, value in fields.items())
        blocks.append(f'resource "kafka_acl" "eosctl_{number}" {{\n{lines}}}\n')
    return "\n".join(blocks)


_TERRAFORM_TYPE: Final = {ResourceType.TRANSACTIONAL_ID: "TransactionalID"}


def _hcl(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    # `$${` is a literal `${`; what a sign before it would mean differs between readers, so it is written as a number.
    templated = _TEMPLATE.sub(lambda found: _by_number(found[1]) + f"{found[2] * 2}{{", escaped)
    return '"' + UNSEEN.sub(lambda found: _by_number(found[0]), templated) + '"'


def _by_number(text: str) -> str:
    return "".join(f"\\u{ord(char):04x}" if ord(char) < 1 << 16 else f"\\U{ord(char):08x}" for char in text)


_TEMPLATE: Final = re.compile(r"([$%]*)([$%])\{")


Format = Callable[[Sequence[AclBinding], EmitOptions], str]
"""What turns bindings into the text that another tool takes."""
