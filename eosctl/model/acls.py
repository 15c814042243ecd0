"""Access control lists: who may do what to which resource, in Kafka's own nouns (KIP-11, KIP-290)."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final, NamedTuple

from msgspec import Struct, field

from eosctl.model.skipped import Skipped
from eosctl.model.versions import NEWEST, KafkaVersion

WILDCARD: Final = "*"
"""Any host, any principal (`User:*`), and as the name of a literal pattern any resource."""

CLUSTER_NAME: Final = "kafka-cluster"

SUPER_USERS: Final = "super.users"
ALLOW_EVERYONE: Final = "allow.everyone.if.no.acl.found"


class ResourceType(StrEnum):
    TOPIC = "Topic"
    GROUP = "Group"
    CLUSTER = "Cluster"
    TRANSACTIONAL_ID = "TransactionalId"
    DELEGATION_TOKEN = "DelegationToken"
    USER = "User"


class PatternType(StrEnum):
    """How a pattern's name is compared: literal is the whole name or `*`, prefixed its beginning (KIP-290)."""

    LITERAL = "literal"
    PREFIXED = "prefixed"


class Operation(StrEnum):
    ALL = "All"
    READ = "Read"
    WRITE = "Write"
    CREATE = "Create"
    DELETE = "Delete"
    ALTER = "Alter"
    DESCRIBE = "Describe"
    CLUSTER_ACTION = "ClusterAction"
    DESCRIBE_CONFIGS = "DescribeConfigs"
    ALTER_CONFIGS = "AlterConfigs"
    IDEMPOTENT_WRITE = "IdempotentWrite"
    CREATE_TOKENS = "CreateTokens"
    DESCRIBE_TOKENS = "DescribeTokens"
    TWO_PHASE_COMMIT = "TwoPhaseCommit"


class Permission(StrEnum):
    """A binding allows or denies; a denial wins."""

    ALLOW = "Allow"
    DENY = "Deny"


RESOURCE_CODES: Final[Mapping[ResourceType, int]] = dict(zip(ResourceType, range(2, 8), strict=True))
"""Codes of org.apache.kafka.common.resource.ResourceType."""
PATTERN_CODES: Final[Mapping[PatternType, int]] = {PatternType.LITERAL: 3, PatternType.PREFIXED: 4}
"""Codes of org.apache.kafka.common.resource.PatternType."""
OPERATION_CODES: Final[Mapping[Operation, int]] = dict(zip(Operation, range(2, 16), strict=True))
"""Codes of org.apache.kafka.common.acl.AclOperation; also the bit numbers of `authorized operations` (KIP-430)."""
PERMISSION_CODES: Final[Mapping[Permission, int]] = {Permission.DENY: 2, Permission.ALLOW: 3}
"""Codes of org.apache.kafka.common.acl.AclPermissionType."""

IMPLIED_BY: Final[Mapping[Operation, frozenset[Operation]]] = {
    Operation.DESCRIBE: frozenset({Operation.READ, Operation.WRITE, Operation.DELETE, Operation.ALTER}),
    Operation.DESCRIBE_CONFIGS: frozenset({Operation.ALTER_CONFIGS}),
}
"""Operations that allow another one beside themselves (StandardAuthorizerData); denials imply nothing."""


class ResourcePattern(NamedTuple):
    """Resources of one type, by name. A tuple because large clusters have hundreds of thousands of bindings.

    A literal `*` matches every name except those that begin with a star: StandardAuthorizer takes these for the literal
    name of another resource (StandardAuthorizerData.checkSection).
    """

    resource_type: ResourceType
    name: str
    pattern_type: PatternType = PatternType.LITERAL

    def matches(self, name: str) -> bool:
        if self.pattern_type is PatternType.PREFIXED:
            return name.startswith(self.name)
        return self.name == name or (self.name == WILDCARD and not name.startswith(WILDCARD))

    @property
    def is_wildcard(self) -> bool:
        return self.name == WILDCARD and self.pattern_type is PatternType.LITERAL

    def covers(self, other: "ResourcePattern") -> bool:
        if self.resource_type is not other.resource_type:
            return False
        if self.is_wildcard:
            return other.is_wildcard or not other.name.startswith(WILDCARD)
        if self.pattern_type is PatternType.PREFIXED:
            return not other.is_wildcard and other.name.startswith(self.name)
        return self == other

    def overlaps(self, other: "ResourcePattern") -> bool:
        return self.covers(other) or other.covers(self)

    def __str__(self) -> str:
        prefixed = "prefixed " if self.pattern_type is PatternType.PREFIXED else ""
        return f"{self.resource_type} {prefixed}{self.name}"


class AclBinding(NamedTuple):
    """One line of an ACL: principal (`User:name`) may, or may not, perform operation on what pattern matches.

    A tuple, as ResourcePattern is.
    """

    principal: str
    operation: Operation
    pattern: ResourcePattern
    permission: Permission = Permission.ALLOW
    host: str = WILDCARD

    def __str__(self) -> str:
        verb = "may" if self.permission is Permission.ALLOW else "may not"
        host = "" if self.host == WILDCARD else f" from {self.host}"
        return f"{self.principal} {verb} {self.operation} {self.pattern}{host}"


class ClusterAcls(Struct, frozen=True):
    """The cluster's bindings, existing topics, and rules that name certificates.

    unread says why the existence of some topics is unknown. addresses are the bootstrap addresses and those that the
    brokers advertise. hidden names authorizer settings that brokers do not report.
    """

    bindings: frozenset[AclBinding] | Skipped
    cluster_id: str | None = None
    topics: Mapping[str, bool] = field(default_factory=dict)
    unread: Mapping[str, Skipped] = field(default_factory=dict)
    broker_version: KafkaVersion = NEWEST
    mapping_rules: str = "DEFAULT"
    addresses: frozenset[str] = frozenset()
    hidden: frozenset[str] = frozenset()


def topic(name: str, pattern_type: PatternType = PatternType.LITERAL) -> ResourcePattern:
    return ResourcePattern(ResourceType.TOPIC, name, pattern_type)


def group(name: str, pattern_type: PatternType = PatternType.LITERAL) -> ResourcePattern:
    return ResourcePattern(ResourceType.GROUP, name, pattern_type)


def transactional_id(name: str, pattern_type: PatternType = PatternType.LITERAL) -> ResourcePattern:
    return ResourcePattern(ResourceType.TRANSACTIONAL_ID, name, pattern_type)


CLUSTER: Final = ResourcePattern(ResourceType.CLUSTER, CLUSTER_NAME)
