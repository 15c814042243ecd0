"""An ACL plan: bindings with their status, why each is needed and how it shows when it is missing."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from eosctl.errors import Unsupported
from eosctl.model.acl_plan import (
    AclDifference,
    AclReport,
    BindingStatus,
    ComparedBinding,
    ExtraBinding,
    LeftOut,
    Phases,
    PlannedBinding,
    same_cluster,
)
from eosctl.model.acls import AclBinding
from eosctl.model.counts import counted
from eosctl.model.kafka_users import no_kafka_user
from eosctl.model.offset_stores import SOURCE_SUPPORT, SourceSupport
from eosctl.model.skipped import Skipped
from eosctl.model.times import rfc3339
from eosctl.render.acl_documents import SAYS_NOT_ALL, AclFormat, emit_acls
from eosctl.render.acl_lines import EmitOptions
from eosctl.render.document import Column, Document, Findings, RowStream, Table, Tone
from eosctl.render.documents.acls import AclPlanData, BindingCounts, BindingFields, BindingRow
from eosctl.render.views.report import findings_of

KIND: Final = "acl-plan"
STATUS_TONES: Final = {"present": Tone.GOOD, "missing": Tone.BAD, "extra": Tone.WARN, "unknown": Tone.FAINT}
PRINCIPAL: Final = Column("PRINCIPAL", "principal", "who needs it")
OPERATION: Final = Column("OPERATION", "operation", "what it lets the principal do")
PLACE: Final = (
    Column("TYPE", "resource_type", "the resource's type"),
    Column("NAME", "resource_name", "the resource's name, or how it begins"),
    Column("PATTERN", "pattern_type", "literal or prefixed"),
)
STATUS: Final = Column("STATUS", "state", "present, missing, extra or unknown", tones=STATUS_TONES)

PLAN_TABLE: Final = Table(
    "bindings",
    (PRINCIPAL, OPERATION, *PLACE, STATUS, Column("OPTIONAL", "optional", "yes if nothing fails without it")),
    empty="nothing is needed",
)


def view_acl_plan(report: AclReport) -> Document:
    """The plan against the cluster; with phases (of each binding) explained for people."""
    difference, phases = report.difference, report.phases
    count = len(difference.compared) + len(difference.extra)
    rows = RowStream(count, lambda: _rows(difference, phases))
    data: AclPlanData = {
        "group_ids": list(report.group_ids),
        "phase": _one([each.phase for each in report.planned_for]),
        "phases": [
            {"group_id": each.group_id, "phase": each.phase, "known_by": each.known_by} for each in report.planned_for
        ],
        "bindings": rows,
        "counts": _counts(difference),
        **findings_of(report),
    }
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
    """Which phase the plan is for, and from where that is known."""
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
    """The bindings of the cluster at hand as text for another tool; warns of what the text cannot hold."""
    here = _here(report)
    narrate(planned_for(report))
    elsewhere = len(report.plan.bindings) - len(here)
    if elsewhere:
        warn(f"{counted(elsewhere, 'binding belongs', 'bindings belong')} to other clusters: see --cluster")
    for each in report.difference.findings:
        if each.counts:
            warn(f"{each.subject}: {each.message}")
    servers = around.bootstrap_servers or ",".join(sorted(report.cluster)) or "localhost:9092"
    for left_out in report.left_out:
        loss = f" ({left_out.planned.loss})" if left_out.planned.is_optional else ""
        warn(f"left out, {left_out.reason}: {left_out.planned.binding}{loss}")
    if form is AclFormat.STRIMZI:
        for name in sorted({each.binding.principal for each in here}):
            if no_kafka_user(name):
                warn(f"{name} is no KafkaUser's principal: Kubernetes does not take such a name")
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
    return {
        "present": sum(1 for each in statuses if each is BindingStatus.PRESENT),
        "missing": len(difference.missing),
        "missing_required": len(difference.missing_required),
        "extra": len(difference.extra),
        "unknown": sum(1 for each in statuses if isinstance(each, Skipped)),
    }


def _verdict(difference: AclDifference) -> str:
    counts = _counts(difference)
    total = len(difference.compared)
    bindings = counted(total, "binding is", "bindings are")
    if counts["unknown"] == total and total:
        status = difference.compared[0].status
        reason = status.reason if isinstance(status, Skipped) else ""
        return f"{bindings} needed; whether the cluster has them was not read ({reason})."
    optional = counts["missing"] - counts["missing_required"]
    parts = [f"{counts['present']} present", f"{counts['missing_required']} missing"]
    parts += [f"{optional} optional ones missing"] if optional else []
    parts += [f"{counts['extra']} extra"] if counts["extra"] else []
    parts += [f"{counts['unknown']} unknown"] if counts["unknown"] else []
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
    yield "Write and Read imply Describe on the same resource; Describe is planned only where it stands alone."
    for phase, count in beyond.items():
        if count:
            more = counted(count, "more binding", "more bindings")
            yield f"{phase} needs {more}: --phase {phase}. Grant them before the workers are rolled; they do no harm."
