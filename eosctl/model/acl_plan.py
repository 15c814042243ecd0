"""The ACLs that a Connect cluster needs, the reasons, and the difference from the ACLs that it has.

Records that exist once for each binding are tuples: large clusters have hundreds of thousands.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from enum import StrEnum
from typing import Any, Final, NamedTuple

from msgspec import Struct, field

from eosctl.errors import EosctlError, NotAuthorized, Unsupported
from eosctl.late_pattern import late_pattern
from eosctl.model.acls import AclBinding, Operation, PatternType, ResourcePattern, ResourceType
from eosctl.model.client_roles import ClientRole, ConnectCluster, StreamsApplication
from eosctl.model.report import Finding, FindingKind, Result, Uncertainty, unread_doubts
from eosctl.model.skipped import Skipped
from eosctl.model.strimzi import API_VERSIONS, CLUSTER_LABEL, KAFKA_USER
from eosctl.model.text import pluralize, shell_word
from eosctl.model.versions import NEWEST, KafkaVersion
from eosctl.model.workers import SourceSupport


class Reason(NamedTuple):
    """Why one client needs a binding.

    why is one sentence. source is the code path or KIP behind it. symptom is how a missing binding shows. loss is None
    if something fails without the binding; otherwise the binding is optional, and loss names the disadvantage.
    """

    role: ClientRole
    connector: str | None
    why: str
    source: str
    symptom: str
    loss: str | None = None


class Need(NamedTuple):
    """A binding, the cluster it belongs to (by the bootstrap servers of the client that needs it), and one reason."""

    binding: AclBinding
    cluster: frozenset[str]
    reason: Reason


class PlannedBinding(NamedTuple):
    """A binding that one client or several need. reasons are never empty; required ones come first."""

    binding: AclBinding
    cluster: frozenset[str]
    reasons: tuple[Reason, ...]

    @property
    def loss(self) -> str | None:
        """The disadvantage of leaving it out; None where something fails without it."""
        losses = [each.loss for each in self.reasons]
        return None if None in losses else "; ".join(dict.fromkeys(each for each in losses if each is not None))

    @property
    def is_optional(self) -> bool:
        """True if nothing fails without it, though something is lost."""
        return self.loss is not None


class BindingStatus(StrEnum):
    """present: the cluster's ACLs allow all of it. missing: they do not. extra: the cluster has it and the plan does
    not."""

    PRESENT = "present"
    MISSING = "missing"
    EXTRA = "extra"


class ComparedBinding(NamedTuple):
    """A planned binding against the cluster's ACLs; by is the one that allows it, or the denial against it."""

    planned: PlannedBinding
    status: BindingStatus | Skipped
    by: AclBinding | None = None


class ExtraBinding(Struct, frozen=True):
    """A binding of the cluster that the plan does not need, and why it is taken to be of the plan's kind."""

    binding: AclBinding
    why: str


class OtherWriter(NamedTuple):
    """An ACL that lets an unplanned principal write a resource that only Connect should write.

    expected are the principals to which the plan gives this ACL.
    """

    binding: AclBinding
    guarded: ResourcePattern
    expected: frozenset[str]


def same_cluster(one: frozenset[str], other: frozenset[str]) -> bool:
    """True if two sets of bootstrap servers share an address, and so lead to one Kafka cluster."""
    return one == other or not one.isdisjoint(other)


class AclRequest(Struct, frozen=True):
    """The request for an ACL plan.

    phase None takes each worker's own phase, which must be known. headroom is the number of tasks beyond the known
    ones. principals are the principals that the user named, by role and connector; the connector None stands for all.
    topics_known maps a topic to whether it exists in the cluster with the addresses `here` (None: in any).
    mapping_rules are the brokers' ssl.principal.mapping.rules. streams is an application to plan for besides.
    """

    clusters: tuple[ConnectCluster, ...]
    phase: SourceSupport | None = None
    pattern_type: PatternType = PatternType.LITERAL
    headroom: int = 0
    principals: Mapping[tuple[ClientRole, str | None], str] = field(default_factory=dict)
    topics_known: Mapping[str, bool] = field(default_factory=dict)
    here: frozenset[str] | None = None
    broker_version: KafkaVersion = NEWEST
    mapping_rules: str = "DEFAULT"
    streams: StreamsApplication | None = None


class AclPlan(Struct, frozen=True):
    bindings: tuple[PlannedBinding, ...]
    findings: tuple[Finding, ...]


class AclDifference(Struct, frozen=True):
    """The plan against the cluster's ACLs: every planned binding with its status, and what the cluster has beyond.

    others may write a config topic, or take a transactional ID of a leader or of a task.
    """

    compared: tuple[ComparedBinding, ...]
    extra: tuple[ExtraBinding, ...]
    findings: tuple[Finding, ...]
    others: tuple[OtherWriter, ...] = ()

    @property
    def missing(self) -> tuple[PlannedBinding, ...]:
        return tuple(each.planned for each in self.compared if each.status is BindingStatus.MISSING)

    @property
    def missing_required(self) -> tuple[PlannedBinding, ...]:
        return tuple(each for each in self.missing if not each.is_optional)


class PlannedPhase(NamedTuple):
    """An exactly.once.source.support that is planned for of a Connect cluster, and from where it is known."""

    group_id: str
    phase: SourceSupport
    known_by: str


def planned_phases(request: AclRequest) -> tuple[PlannedPhase, ...]:
    found: dict[tuple[str, SourceSupport], PlannedPhase] = {}
    for cluster in request.clusters:
        for worker in cluster.workers:
            phase, known_by = (
                (worker.phase, worker.phase_known_by) if request.phase is None else (request.phase, "--phase")
            )
            assert phase is not None, "AclRequest asks for workers whose phase is known"
            found.setdefault((cluster.group_id, phase), PlannedPhase(cluster.group_id, phase, known_by))
    order = tuple(SourceSupport)
    return tuple(sorted(found.values(), key=lambda each: -order.index(each.phase)))


Phases = Mapping[AclBinding, Sequence[SourceSupport]]
"""In which phases each binding is needed."""


class LeftOut(Struct, frozen=True):
    """A binding that the format of another tool cannot say: why, and what to use for it."""

    planned: PlannedBinding
    reason: str
    hint: str | None


class AclReport(Result, frozen=True, kw_only=True):
    """The plan for Connect clusters with these group IDs, against the ACLs of the Kafka cluster.

    cluster is the name of that cluster in configs. planned_for are the phases of the plan. phases lists all phases that
    need each binding; beyond counts the further bindings of each phase, if requested. missing are the findings of a
    check: required bindings that the cluster does not have. unchecked says why some bindings could not be checked.
    is_for_tools: the plan is written for another tool, regardless of the findings. merged is the text of the given
    KafkaUsers with the plan's ACLs added. left_out are bindings that the other tool's format cannot express. streams is
    the application that it is for, instead of Connect clusters.
    """

    group_ids: tuple[str, ...]
    as_of: int
    cluster_id: str | None
    cluster: frozenset[str]
    plan: AclPlan
    difference: AclDifference
    planned_for: tuple[PlannedPhase, ...]
    phases: Phases | None = None
    beyond: Mapping[SourceSupport, int] = field(default_factory=dict)
    missing: tuple[Finding, ...] = ()
    unchecked: tuple[Uncertainty, ...] = ()
    is_for_tools: bool = False
    kinds: tuple[FindingKind, ...] = ()
    config_files: Mapping[str, str] = field(default_factory=dict)
    merged: str | None = None
    left_out: tuple["LeftOut", ...] = ()
    streams: StreamsApplication | None = None

    @property
    def failure(self) -> EosctlError | None:
        needed = [each for each in self.left_out if not each.planned.is_optional]
        if not needed:
            return None
        lacking = pluralize(len(needed), "needed binding is", "needed bindings are")
        return Unsupported(f"{lacking} omitted from the text", hint=needed[0].hint)

    @property
    def reported(self) -> tuple[Finding, ...]:
        return (*self.missing, *self.difference.findings)

    @property
    def doubts(self) -> tuple[Uncertainty, ...]:
        return (*self.unchecked, *unread_doubts(self.coverage))

    def fails(self, finding: Finding) -> bool:
        return not self.is_for_tools and self.triage.fails(finding)


_TRIMMED: Final = "".join(map(chr, range(33)))
"""Characters that Java's String.trim removes."""
_KAFKA_ACLS_RESOURCE: Final = {
    ResourceType.TOPIC: "--topic",
    ResourceType.GROUP: "--group",
    ResourceType.TRANSACTIONAL_ID: "--transactional-id",
    ResourceType.DELEGATION_TOKEN: "--delegation-token",
    ResourceType.USER: "--user-principal",
}


def adding_arguments(binding: AclBinding, operations: Iterable[Operation]) -> list[str]:
    """The arguments after `--add`, joined to their values with `=`: a value may begin with a dash.

    Raises Unsupported for a name that begins or ends with a blank: AclCommand trims it, adds another binding, and
    reports success.
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
    """The `kafka-acls.sh --add` line that grants the missing permission; None if it is no ACL of Kafka, such as a
    login.

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


# The principal of a user that authenticates with `tls` or `tls-external` is `User:CN=<name>`, that of any other user
# `User:<name>` (KafkaUserModel.getUserName).


SIMPLE: Final = "simple"
WITH_CERTIFICATE: Final = frozenset({"tls", "tls-external"})
_KUBERNETES_NAME: Final = late_pattern(r"(?=.{1,253}\Z)[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")


def no_kafka_user(principal: str) -> bool:
    """True if no KafkaUser can have this principal: its name must be a Kubernetes name (RFC 1123)."""
    return not is_kubernetes_name(user_name(principal))


def is_kubernetes_name(name: str) -> bool:
    return _KUBERNETES_NAME.fullmatch(name) is not None


def user_name(principal: str) -> str:
    return principal.partition(":")[2].removeprefix("CN=")


def principal_of(name: str, authentication: str | None) -> str:
    return f"User:{'CN=' if authentication in WITH_CERTIFICATE else ''}{name}"


def kafka_user(principal: str, bindings: Iterable[AclBinding], cluster: str) -> dict[str, Any]:
    """The KafkaUser with these ACLs; how it authenticates is said only where its principal depends on it."""
    name = user_name(principal)
    has_certificate = principal_of(name, "tls") == principal
    return {
        "apiVersion": API_VERSIONS[0],
        "kind": KAFKA_USER,
        "metadata": {"name": name, "labels": {CLUSTER_LABEL: cluster}},
        "spec": {
            **({"authentication": {"type": "tls"}} if has_certificate else {}),
            "authorization": {"type": SIMPLE, "acls": acl_rules(bindings)},
        },
    }


def acl_rules(bindings: Iterable[AclBinding]) -> list[dict[str, Any]]:
    return [
        {
            "resource": acl_resource(each.pattern),
            "operations": [operation.value for operation in operations],
            "host": each.host,
        }
        for each, operations in grouped(bindings)
    ]


def acl_resource(pattern: ResourcePattern) -> dict[str, str]:
    if pattern.resource_type is ResourceType.CLUSTER:
        return {"type": "cluster"}
    kind = pattern.resource_type.value[0].lower() + pattern.resource_type.value[1:]
    pattern_type = "prefix" if pattern.pattern_type is PatternType.PREFIXED else "literal"
    return {"type": kind, "name": pattern.name, "patternType": pattern_type}


def says(rule: Mapping[str, Any], binding: AclBinding) -> bool:
    resource = {"patternType": "literal", **(rule.get("resource") or {})}
    wanted = {"patternType": "literal", **acl_resource(binding.pattern)}
    operations = {*(rule.get("operations") or ()), rule.get("operation")}
    return (
        resource == wanted
        and rule.get("host", "*") == binding.host
        and not operations.isdisjoint({binding.operation.value, Operation.ALL.value})
    )
