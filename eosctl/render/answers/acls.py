"""An ACL plan: bindings with their status, why each is needed and how it shows when it is missing."""

import csv
import io
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Annotated, Any, Final, TypedDict

from msgspec import Struct
from msgspec.structs import replace

from eosctl.errors import Unsupported
from eosctl.late_pattern import late_pattern
from eosctl.model.acl_plan import (
    AclDifference,
    AclReport,
    BindingStatus,
    ComparedBinding,
    ExtraBinding,
    LeftOut,
    Phases,
    PlannedBinding,
    adding_arguments,
    grouped,
    kafka_acls_command,
    kafka_user,
    no_kafka_user,
    same_cluster,
)
from eosctl.model.acls import AclBinding, Operation, PatternType, ResourcePattern, ResourceType
from eosctl.model.skipped import Skipped
from eosctl.model.text import UNSEEN, escaped_in_json, escaped_in_lines, pluralize, shell_word
from eosctl.model.times import rfc3339
from eosctl.model.workers import SOURCE_SUPPORT, SourceSupport
from eosctl.render.answers.findings import ShownFindings, SkippedRow, findings_of
from eosctl.render.cells import as_text
from eosctl.render.document import Column, Document, Findings, RowStream, Table, Tone, col, columns, row_of
from eosctl.render.formats import yaml_text

# The answer of `acl-plan`.


STATUS_TONES: Final = {"present": Tone.GOOD, "missing": Tone.BAD, "extra": Tone.WARN, "unknown": Tone.FAINT}


class BindingFields(TypedDict):
    """An ACL as Kafka has it; binding is its operation and resource as one text."""

    principal: Annotated[str, "the principal that needs the ACL"]
    operation: Annotated[str, "the action that it allows"]
    resource_type: Annotated[str, col("the resource's type", "TYPE")]
    resource_name: Annotated[str, col("the resource's name, or its prefix", "NAME")]
    pattern_type: Annotated[str, col("literal or prefixed", "PATTERN")]
    permission: str
    host: str
    binding: str


class BindingRow(BindingFields):
    """An ACL: status is its state, or the reason why it is unknown; no planned need requires an extra one.

    phases are those in which it is needed, null without --explain.
    """

    why: str
    source: str | None
    status: str | SkippedRow
    state: Annotated[
        str,
        col("present, missing, extra, or unknown where the cluster's ACLs were not read", "STATUS", tones=STATUS_TONES),
    ]
    by: str | None
    optional: Annotated[bool, "yes if nothing fails without it"]
    lost: str | None
    symptom: str | None
    without_it: str | None
    roles: list[str]
    connectors: list[str]
    cluster: list[str]
    phases: str | None


class BindingCounts(Struct, frozen=True):
    """The number of bindings with each status."""

    present: int
    missing: int
    missing_required: int
    extra: int
    unknown: int


class PlannedPhaseRow(Struct, frozen=True):
    """An exactly.once.source.support that is planned for, and from where it is known."""

    group_id: str
    phase: SourceSupport
    known_by: str


class AclPlanData(ShownFindings, frozen=True):
    """The ACLs that are needed, and those that the cluster has; phase is null if the plan is for several phases."""

    group_ids: list[str]
    phase: SourceSupport | None
    phases: list[PlannedPhaseRow]
    bindings: list[BindingRow]
    counts: BindingCounts


# ACL bindings as command lines and lines of text that other tools take.


class EmitOptions(Struct, frozen=True):
    """The inputs of a format besides the bindings.

    bootstrap_servers and command_config (a path, or None) are for kafka-acls.sh. cluster names the cluster for Strimzi.
    msk_cluster is the ARN of an MSK cluster. text_cells: CSV has no cell that a spreadsheet takes for a formula. about
    is the comment at the top, in a format with comments.
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

    Raises Unsupported for a name that begins or ends with a blank: AclCommand trims it, adds another binding, and
    reports success.
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
    # `$${` is a literal `${`; readers differ about a sign before it, so that is written as a number.
    templated = _TEMPLATE.sub(lambda found: _by_number(found[1]) + f"{found[2] * 2}{{", escaped)
    return '"' + UNSEEN.sub(lambda found: _by_number(found[0]), templated) + '"'


def _by_number(text: str) -> str:
    return "".join(f"\\u{ord(char):04x}" if ord(char) < 1 << 16 else f"\\U{ord(char):08x}" for char in text)


_TEMPLATE: Final = late_pattern(r"([$%]*)([$%])\{")


Format = Callable[[Sequence[AclBinding], EmitOptions], str]
"""Turns bindings into another tool's text."""


# ACL bindings as YAML and JSON documents that other tools take, and the table of all formats.


class AclFormat(StrEnum):
    """The formats in which bindings can be emitted."""

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


KIND: Final = "acl-plan"
PRINCIPAL: Final = Column("PRINCIPAL", "principal", "the principal that needs the ACL")
OPERATION: Final = Column("OPERATION", "operation", "the action that it allows")
PLACE: Final = (
    Column("TYPE", "resource_type", "the resource's type"),
    Column("NAME", "resource_name", "the resource's name, or its prefix"),
    Column("PATTERN", "pattern_type", "literal or prefixed"),
)
STATUS: Final = Column("STATUS", "state", "present, missing, extra or unknown", tones=STATUS_TONES)

PLAN_TABLE: Final = Table(
    "bindings",
    columns(BindingRow, "principal operation resource_type resource_name pattern_type state optional"),
    empty="nothing is needed",
)


def view_acl_plan(report: AclReport) -> Document:
    """The plan against the cluster; with phases (of each binding) explained for people."""
    difference, phases = report.difference, report.phases
    count = len(difference.compared) + len(difference.extra)
    rows = RowStream(count, lambda: _rows(difference, phases))
    data = AclPlanData(
        group_ids=list(report.group_ids),
        phase=_one([each.phase for each in report.planned_for]),
        phases=[row_of(PlannedPhaseRow, each) for each in report.planned_for],
        bindings=rows,
        counts=_counts(difference),
        **findings_of(report),
    )
    return Document(
        kind=KIND,
        as_of=rfc3339(report.as_of),
        cluster_id=report.cluster_id,
        data=data,
        blocks=(PLAN_TABLE, *([Findings()] if report.reported else [])),
        prose=(planned_for(report), _verdict(difference)),
        notes=() if phases is None else tuple(_explanation(list(rows), report.beyond)),
    )


def planned_for(report: AclReport) -> str:
    """The phase of the plan, and its origin; of an application its name."""
    if report.streams is not None:
        return f"Planned for Kafka Streams application {report.streams.application_id} with exactly_once_v2."
    several = len(set(report.group_ids)) > 1
    known = " and ".join(
        f"{each.phase} (from {each.known_by})" + (f" in group {each.group_id}" if several else "")
        for each in report.planned_for
    )
    return f"Planned for {SOURCE_SUPPORT}={known}."


def _one(phases: Sequence[SourceSupport]) -> SourceSupport | None:
    return phases[0] if len(set(phases)) == 1 else None


def emit_acl_plan(
    report: AclReport, form: AclFormat, around: EmitOptions, narrate: Callable[[str], None], warn: Callable[[str], None]
) -> str:
    """The bindings of the present cluster as text for another tool; warns of bindings that the text cannot hold."""
    here = _here(report)
    narrate(planned_for(report))
    elsewhere = len(report.plan.bindings) - len(here)
    if elsewhere:
        warn(f"{pluralize(elsewhere, 'binding belongs', 'bindings belong')} to other clusters: see --cluster")
    for each in report.difference.findings:
        if each.counts:
            warn(f"{each.subject}: {each.message}")
    servers = around.bootstrap_servers or ",".join(sorted(report.cluster)) or "localhost:9092"
    for left_out in report.left_out:
        loss = f" ({left_out.planned.loss})" if left_out.planned.is_optional else ""
        warn(f"omitted, {left_out.reason}: {left_out.planned.binding}{loss}")
    if form is AclFormat.STRIMZI:
        for name in sorted({each.binding.principal for each in here}):
            if no_kafka_user(name):
                warn(f"{name} is no KafkaUser's principal: Kubernetes does not accept this name")
    if report.merged is not None:
        return report.merged
    missing = {each.planned.binding for each in report.left_out}
    emitted = [each.binding for each in here if each.binding not in missing]
    return emit_acls(emitted, form, replace(around, bootstrap_servers=servers, about=planned_for(report)))


def leaving_out(report: AclReport, form: AclFormat | None) -> AclReport:
    """The same with the bindings that the format cannot say: one strange name does not keep back the others."""
    if form is None or form not in SAYS_NOT_ALL:
        return report
    left_out = []
    for each in _here(report):
        try:
            emit_acls((each.binding,), form, EmitOptions())
        except Unsupported as error:
            left_out.append(LeftOut(each, error.message, error.hint))
    return replace(report, left_out=tuple(left_out))


def _here(report: AclReport) -> list[PlannedBinding]:
    return [each for each in report.plan.bindings if same_cluster(each.cluster, report.cluster)]


def _rows(difference: AclDifference, phases: Phases | None) -> Iterator[BindingRow]:
    yield from (_row(each, phases) for each in difference.compared)
    yield from (_extra_row(each, phases) for each in difference.extra)


def _row(compared: ComparedBinding, phases: Phases | None) -> BindingRow:
    """One of `data.bindings[]`, in JSON's own types."""
    planned, status = compared.planned, compared.status
    reasons = planned.reasons
    symptoms = "; ".join(dict.fromkeys(each.symptom for each in reasons))
    return {
        **_binding(planned.binding),
        "why": _sentences(each.why for each in reasons),
        "source": "; ".join(dict.fromkeys(each.source for each in reasons)),
        "status": {"skipped": status.reason} if isinstance(status, Skipped) else status.value,
        "state": "unknown" if isinstance(status, Skipped) else status.value,
        "by": None if compared.by is None else str(compared.by),
        "optional": planned.is_optional,
        "lost": planned.loss,
        "symptom": symptoms,
        "without_it": f"lost: {planned.loss}" if planned.is_optional else symptoms,
        "roles": list(dict.fromkeys(each.role.value for each in reasons)),
        "connectors": list(dict.fromkeys(each.connector for each in reasons if each.connector is not None)),
        "cluster": sorted(planned.cluster),
        "phases": None if phases is None else _phases(phases.get(planned.binding, ())),
    }


def _binding(binding: AclBinding) -> BindingFields:
    return {
        "principal": binding.principal,
        "operation": binding.operation.value,
        "resource_type": binding.pattern.resource_type.value,
        "resource_name": binding.pattern.name,
        "pattern_type": binding.pattern.pattern_type.value,
        "permission": binding.permission.value,
        "host": binding.host,
        "binding": f"{binding.operation} {binding.pattern}",
    }


def _extra_row(extra: ExtraBinding, phases: Phases | None) -> BindingRow:
    status = BindingStatus.EXTRA.value
    return {
        **_binding(extra.binding),
        "why": f"nothing planned needs it; {extra.why}",
        "source": None,
        "status": status,
        "state": status,
        "by": None,
        "optional": True,
        "lost": None,
        "symptom": None,
        "without_it": None,
        "roles": [],
        "connectors": [],
        "cluster": [],
        "phases": None if phases is None else "",
    }


def _phases(phases: Sequence[SourceSupport]) -> str:
    return "all" if len(phases) == len(SourceSupport) else ",".join(each.value for each in phases)


def _sentences(whys: Iterable[str]) -> str:
    given = list(dict.fromkeys(whys))
    return "; ".join(given[:3]) + (f"; and {len(given) - 3} more reasons" if len(given) > 3 else "")


def _counts(difference: AclDifference) -> BindingCounts:
    statuses = [each.status for each in difference.compared]
    return BindingCounts(
        present=sum(1 for each in statuses if each is BindingStatus.PRESENT),
        missing=len(difference.missing),
        missing_required=len(difference.missing_required),
        extra=len(difference.extra),
        unknown=sum(1 for each in statuses if isinstance(each, Skipped)),
    )


def _verdict(difference: AclDifference) -> str:
    counts = _counts(difference)
    total = len(difference.compared)
    bindings = pluralize(total, "binding is", "bindings are")
    if counts.unknown == total and total:
        status = difference.compared[0].status
        reason = status.reason if isinstance(status, Skipped) else ""
        return f"{bindings} needed; whether the cluster has them was not read ({reason})."
    optional = counts.missing - counts.missing_required
    parts = [f"{counts.present} present", f"{counts.missing_required} missing"]
    parts += [f"{optional} optional ones missing"] if optional else []
    parts += [f"{counts.extra} extra"] if counts.extra else []
    parts += [f"{counts.unknown} unknown"] if counts.unknown else []
    return f"{bindings} planned: {', '.join(parts)}."


def _explanation(rows: Sequence[BindingRow], beyond: Mapping[SourceSupport, int]) -> Iterator[str]:
    """Principal by principal, what each binding is for and how it looks when it is missing."""
    for principal in dict.fromkeys(row["principal"] for row in rows):
        yield f"{principal}:"
        for row in rows:
            if row["principal"] != principal:
                continue
            phases = "in all phases" if row["phases"] == "all" else f"in phase {row['phases']}"
            yield f"  {row['binding']} ({row['state']}{', ' + phases if row['phases'] else ''})"
            yield f"    why: {row['why']}"
            if row["without_it"]:
                yield f"    without it: {row['without_it']}"
                yield f"    source: {row['source']}"
    yield (
        "Write and Read imply Describe on the same resource; The plan has Describe only where no other operation "
        "implies it."
    )
    for phase, count in beyond.items():
        if count:
            more = pluralize(count, "more binding", "more bindings")
            yield f"{phase} needs {more}: --phase {phase}. Grant them before the workers are rolled; they do no harm."
