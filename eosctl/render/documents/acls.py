"""What `acl-plan` answers."""

from typing import TypedDict

from eosctl.model.offset_stores import SourceSupport
from eosctl.render.documents.findings import ShownFindings
from eosctl.render.documents.skipped import SkippedRow


class BindingFields(TypedDict):
    """An ACL as Kafka has it; binding is its operation and resource as one text."""

    principal: str
    operation: str
    resource_type: str
    resource_name: str
    pattern_type: str
    permission: str
    host: str
    binding: str


class BindingRow(BindingFields):
    """An ACL: status is state, or the reason why it is unknown; extra ones are needed by nothing that is planned.

    phases are those in which it is needed, null without --explain.
    """

    why: str
    source: str | None
    status: str | SkippedRow
    state: str
    by: str | None
    optional: bool
    lost: str | None
    symptom: str | None
    without_it: str | None
    roles: list[str]
    connectors: list[str]
    cluster: list[str]
    phases: str | None


class BindingCounts(TypedDict):
    """How many bindings are of which status."""

    present: int
    missing: int
    missing_required: int
    extra: int
    unknown: int


class PlannedPhaseRow(TypedDict):
    """An exactly.once.source.support that is planned for, and from where it is known."""

    group_id: str
    phase: SourceSupport
    known_by: str


class AclPlanData(ShownFindings):
    """What is needed, and what the cluster has of it; phase is null where several are planned for."""

    group_ids: list[str]
    phase: SourceSupport | None
    phases: list[PlannedPhaseRow]
    bindings: list[BindingRow]
    counts: BindingCounts
