"""An ACL plan: bindings with their status, why each is needed and how it shows when it is missing."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from eosctl.model.acl_plan import AclDifference, BindingStatus, ComparedBinding, ExtraBinding
from eosctl.model.acls import AclBinding
from eosctl.model.counts import counted
from eosctl.model.offset_stores import SourceSupport
from eosctl.model.skipped import Skipped
from eosctl.render.document import Column, Document, Findings, RowStream, Table, Tone
from eosctl.render.views.report import finding_rows

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
Phases = Mapping[AclBinding, Sequence[SourceSupport]]


def view_acl_plan(
    difference: AclDifference,
    groups: Sequence[str],
    as_of: str | None,
    cluster_id: str | None,
    *,
    phases: Phases | None = None,
) -> Document:
    """The plan against the cluster; with `phases` (of each binding) explained for people."""
    count = len(difference.compared) + len(difference.extra)
    rows = RowStream(count, lambda: _rows(difference, phases))
    return Document(
        kind=KIND,
        as_of=as_of,
        cluster_id=cluster_id,
        data={
            "group_ids": list(groups),
            "bindings": rows,
            "counts": _counts(difference),
            "findings": finding_rows(difference.findings),
        },
        blocks=(PLAN_TABLE, *([Findings()] if difference.findings else [])),
        prose=(_verdict(difference),),
        notes=() if phases is None else tuple(_explanation(list(rows))),
    )


def _rows(difference: AclDifference, phases: Phases | None) -> Iterator[dict[str, Any]]:
    yield from (_row(each, phases) for each in difference.compared)
    yield from (_extra_row(each, phases) for each in difference.extra)


def _row(compared: ComparedBinding, phases: Phases | None) -> dict[str, Any]:
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
        **({} if phases is None else {"phases": _phases(phases.get(planned.binding, ()))}),
    }


def _binding(binding: AclBinding) -> dict[str, Any]:
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


def _extra_row(extra: ExtraBinding, phases: Phases | None) -> dict[str, Any]:
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
        **({} if phases is None else {"phases": ""}),
    }


def _phases(phases: Sequence[SourceSupport]) -> str:
    return "all" if len(phases) == len(SourceSupport) else ",".join(each.value for each in phases)


def _sentences(whys: Any) -> str:  # noqa: ANN401  # an iterable of text
    told = list(dict.fromkeys(whys))
    return "; ".join(told[:3]) + (f"; and {len(told) - 3} more reasons" if len(told) > 3 else "")


def _counts(difference: AclDifference) -> dict[str, int]:
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


def _explanation(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
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
    yield "A binding that only a later phase needs does no harm before: grant it before the workers are rolled."
