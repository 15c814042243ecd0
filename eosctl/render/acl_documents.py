"""ACL bindings as YAML and JSON documents that other tools take, and the table of all formats."""

import json
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Any, Final

from eosctl.errors import Unsupported
from eosctl.model.acls import AclBinding, Operation, PatternType, ResourcePattern, ResourceType
from eosctl.model.kafka_acls import grouped
from eosctl.model.kafka_users import kafka_user
from eosctl.model.unseen import escaped_in_json
from eosctl.render.acl_lines import (
    EmitOptions,
    Format,
    comment,
    confluent_lines,
    csv_lines,
    kafka_acls_lines,
    shell_script,
    terraform_blocks,
)
from eosctl.render.yaml_text import yaml_text


class AclFormat(StrEnum):
    """What bindings can be emitted as."""

    KAFKA_ACLS = "kafka-acls"
    SHELL = "shell"
    STRIMZI = "strimzi"
    JIKKOU = "jikkou"
    TERRAFORM = "terraform"
    CONFLUENT = "confluent"
    MSK = "msk"
    CSV = "csv"


def emit_acls(bindings: Sequence[AclBinding], form: AclFormat, around: EmitOptions) -> str:
    """The bindings as text in this format; raises Unsupported for a binding that the format cannot say."""
    text = FORMATS[form](bindings, around)
    return text if form in SAYS_IT_ITSELF else comment(around.about) + text


def _by_principal(bindings: Iterable[AclBinding]) -> dict[str, list[AclBinding]]:
    found: dict[str, list[AclBinding]] = {}
    for each in bindings:
        found.setdefault(each.principal, []).append(each)
    return found


def strimzi_users(bindings: Sequence[AclBinding], around: EmitOptions) -> str:
    """One KafkaUser for each principal, with simple authorization; CN=NAME authenticates with tls.

    How others authenticate is left to be said.
    """
    return _yaml(kafka_user(name, acls, around.cluster) for name, acls in _by_principal(bindings).items())


def jikkou_authorizations(bindings: Sequence[AclBinding], _: EmitOptions) -> str:
    """One KafkaPrincipalAuthorization for each principal."""
    return _yaml(
        {
            "apiVersion": "kafka.jikkou.io/v1beta2",
            "kind": "KafkaPrincipalAuthorization",
            "metadata": {"name": principal},
            "spec": {"acls": [_jikkou_acl(each, operations) for each, operations in grouped(acls)]},
        }
        for principal, acls in _by_principal(bindings).items()
    )


def _jikkou_acl(binding: AclBinding, operations: Iterable[Operation]) -> dict[str, Any]:
    pattern = binding.pattern
    return {
        "resource": {
            "type": _snake(pattern.resource_type.value),
            "pattern": pattern.name,
            "patternType": pattern.pattern_type.value.upper(),
        },
        "type": binding.permission.value.upper(),
        "operations": [_snake(each.value).upper() for each in operations],
        "host": binding.host,
    }


def _snake(name: str) -> str:
    return "".join(f"_{char.lower()}" if char.isupper() else char for char in name).lstrip("_")


def _yaml(documents: Iterable[Mapping[str, Any]]) -> str:
    return yaml_text(documents, explicit_start=True)


MSK_ACTIONS: Final[Mapping[tuple[ResourceType, Operation], tuple[str, ...]]] = {
    (ResourceType.TOPIC, Operation.READ): ("ReadData", "DescribeTopic"),
    (ResourceType.TOPIC, Operation.WRITE): ("WriteData", "DescribeTopic"),
    (ResourceType.TOPIC, Operation.CREATE): ("CreateTopic",),
    (ResourceType.TOPIC, Operation.DELETE): ("DeleteTopic", "DescribeTopic"),
    (ResourceType.TOPIC, Operation.ALTER): ("AlterTopic", "DescribeTopic"),
    (ResourceType.TOPIC, Operation.DESCRIBE): ("DescribeTopic",),
    (ResourceType.TOPIC, Operation.DESCRIBE_CONFIGS): ("DescribeTopicDynamicConfiguration",),
    (ResourceType.TOPIC, Operation.ALTER_CONFIGS): (
        "AlterTopicDynamicConfiguration",
        "DescribeTopicDynamicConfiguration",
    ),
    (ResourceType.GROUP, Operation.READ): ("AlterGroup", "DescribeGroup"),
    (ResourceType.GROUP, Operation.DESCRIBE): ("DescribeGroup",),
    (ResourceType.GROUP, Operation.DELETE): ("DeleteGroup", "DescribeGroup"),
    (ResourceType.TRANSACTIONAL_ID, Operation.WRITE): ("AlterTransactionalId", "DescribeTransactionalId"),
    (ResourceType.TRANSACTIONAL_ID, Operation.DESCRIBE): ("DescribeTransactionalId",),
    (ResourceType.CLUSTER, Operation.DESCRIBE): ("DescribeCluster",),
    (ResourceType.CLUSTER, Operation.ALTER): ("AlterCluster", "DescribeCluster"),
    (ResourceType.CLUSTER, Operation.IDEMPOTENT_WRITE): ("WriteDataIdempotently",),
}
"""Actions of Amazon's `kafka-cluster` that stand for a binding; there nothing implies Describe."""

_MSK_KINDS: Final = {
    ResourceType.TOPIC: "topic",
    ResourceType.GROUP: "group",
    ResourceType.TRANSACTIONAL_ID: "transactional-id",
}


def msk_policies(bindings: Sequence[AclBinding], around: EmitOptions) -> str:
    """A JSON object: for each principal the IAM policy that allows it the same on an MSK cluster."""
    policies = {principal: _policy(acls, around.msk_cluster) for principal, acls in _by_principal(bindings).items()}
    return escaped_in_json(json.dumps(policies, indent=2, ensure_ascii=False)) + "\n"


def _policy(bindings: Iterable[AclBinding], cluster: str) -> dict[str, Any]:
    resources: dict[tuple[str, ...], dict[str, None]] = {("Connect",): {cluster: None}}
    for each in bindings:
        actions = MSK_ACTIONS.get((each.pattern.resource_type, each.operation))
        if actions is None:
            raise Unsupported(f"IAM has no action for {each.operation} on {each.pattern.resource_type}")
        resources.setdefault(actions, {})[_arn(each.pattern, cluster)] = None
        if each.pattern.resource_type is ResourceType.TRANSACTIONAL_ID and each.operation is Operation.WRITE:
            resources.setdefault(("WriteDataIdempotently",), {})[cluster] = None
    statements = [
        {"Effect": "Allow", "Action": [f"kafka-cluster:{each}" for each in actions], "Resource": list(arns)}
        for actions, arns in resources.items()
    ]
    return {"Version": "2012-10-17", "Statement": statements}


def _arn(pattern: ResourcePattern, cluster: str) -> str:
    if pattern.resource_type is ResourceType.CLUSTER:
        return cluster
    if pattern.is_wildcard:
        name = "*"
    else:
        name = "".join(f"${{{char}}}" if char in "*?$" else char for char in pattern.name)
        name += "*" if pattern.pattern_type is PatternType.PREFIXED else ""
    head, _, path = cluster.partition(":cluster/")
    return f"{head}:{_MSK_KINDS[pattern.resource_type]}/{path}/{name}"


SAYS_IT_ITSELF: Final = frozenset({AclFormat.SHELL, AclFormat.MSK})
"""Formats with the comment in another place, or without comments."""
SAYS_NOT_ALL: Final = frozenset({AclFormat.KAFKA_ACLS, AclFormat.SHELL, AclFormat.MSK, AclFormat.CSV})
"""Formats that raise Unsupported for some bindings."""

FORMATS: Final[Mapping[AclFormat, Format]] = {
    AclFormat.KAFKA_ACLS: kafka_acls_lines,
    AclFormat.SHELL: shell_script,
    AclFormat.STRIMZI: strimzi_users,
    AclFormat.JIKKOU: jikkou_authorizations,
    AclFormat.TERRAFORM: terraform_blocks,
    AclFormat.CONFLUENT: confluent_lines,
    AclFormat.MSK: msk_policies,
    AclFormat.CSV: csv_lines,
}
"""The function of each format."""
