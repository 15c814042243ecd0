"""The kinds of documents that `-o json` prints: the table of their types, and their JSON Schemas."""

from collections.abc import Iterator
from typing import Final, NamedTuple, TypedDict

from eosctl.render.document import Block, Fields
from eosctl.render.documents.acls import AclPlanData
from eosctl.render.documents.audit import AuditData, AuditPlanData, LedgerHistoryData, LedgerStatusData
from eosctl.render.documents.diagnosis import DiagnosisData
from eosctl.render.documents.explanations import ExplanationsData, KnownData
from eosctl.render.documents.fencing import FencedData, FencePlanData
from eosctl.render.documents.files import DemoData, SnapshotData, SparkBundleData, TextData
from eosctl.render.documents.hanging import HangingData
from eosctl.render.documents.help import HelpData, KindsData, SchemaData
from eosctl.render.documents.inspection import ConfigHistoryData, InspectionData
from eosctl.render.documents.mirror import MirrorData
from eosctl.render.documents.offsets import OffsetsData, OffsetsDifferenceData, OffsetsExportData
from eosctl.render.documents.plan import AppliedData, PlanData
from eosctl.render.documents.plans import KeptPlansData
from eosctl.render.documents.probe import ProbeData, ProbePlanData
from eosctl.render.documents.profile import ConnectionCheckData, ProfileData, ProfilesData, SettingsData
from eosctl.render.documents.sandbox import EnvironmentData, StartedData, StatusData, StoppedData
from eosctl.render.documents.tracing import TraceData
from eosctl.render.documents.transaction_log import LogHistoryData, TransactionLogData
from eosctl.render.documents.transactions import DescriptionsData, ProducersData, StabilityData, TransactionsData
from eosctl.render.documents.upgrade import UpgradeData
from eosctl.render.documents.watch import WatchData
from eosctl.render.schema import Schema, document_schema, error_schema
from eosctl.render.views import (
    acls,
    audit,
    audit_plan,
    diagnosis,
    explanations,
    exported_offsets,
    fencing,
    hanging,
    inspection,
    last_stable,
    ledger,
    mirror,
    offsets,
    plan,
    plans,
    probe,
    sandbox,
    tracing,
    transaction_log,
    transactions,
    upgrade,
    watch,
)


class DocumentKind(NamedTuple):
    """A kind of document: what its data is, the commands that print it, and the blocks that describe it.

    completed: it is the answer of a command, and says in `complete` and `unread` what it lacks.
    """

    name: str
    data: type
    commands: tuple[str, ...]
    blocks: tuple[Block, ...] = ()
    completed: bool = True
    version: int = 1

    def schema(self, *, closed: bool = False) -> Schema:
        """Its JSON Schema; closed: without the fields that a later eosctl may add."""
        if self.data is ErrorFields:
            return error_schema(self.data, closed=closed)
        return document_schema(self.name, self.version, self.data, self.blocks, completed=self.completed, closed=closed)


class ErrorFields(TypedDict):
    """Why there is no answer; hint is what to do next."""

    type: str
    message: str
    hint: str | None
    exit_code: int


_PLANNING: Final = {
    "migrate-offsets": ("migrate-offsets", "apply"),
    "offsets.restore": ("offsets restore", "apply"),
    "offsets.create-connector": ("offsets create-connector", "apply"),
    "transactions.abort": ("transactions abort", "apply"),
    "transactions.commit": ("transactions commit", "apply"),
    "undo": ("undo",),
}
"""The commands that print the plan, or what came of it, by the kind of the plan."""


def _of_plans() -> Iterator[DocumentKind]:
    for name, commands in _PLANNING.items():
        yield DocumentKind(f"{name}.plan", PlanData, commands, (plan.STEPS, plan.PRECONDITIONS, plan.OFFSETS))
        yield DocumentKind(name, AppliedData, commands, (plan.RESULTS,))


ADDRESSES: Final = Fields(sandbox.ADDRESSES)
KINDS: Final = (
    DocumentKind("doctor", DiagnosisData, ("doctor",), (diagnosis.WORKERS, diagnosis.UNKNOWN)),
    DocumentKind("upgrade-check", UpgradeData, ("upgrade-check",), (upgrade.WORKERS, upgrade.STEPS)),
    DocumentKind("inspect-config", InspectionData, ("inspect-config",), (inspection.CONNECTORS,)),
    DocumentKind("inspect-config.history", ConfigHistoryData, ("inspect-config",), (inspection.HISTORY,)),
    DocumentKind("watch", WatchData, ("watch",), (watch.SAMPLES,)),
    DocumentKind("explain", ExplanationsData, ("explain",)),
    DocumentKind("explain.list", KnownData, ("explain",), (explanations.FINDINGS, explanations.ERRORS)),
    DocumentKind("snapshot", SnapshotData, ("snapshot save", "snapshot show")),
    DocumentKind("transactions.list", TransactionsData, ("transactions list",), (transactions.LISTED,)),
    DocumentKind("transactions.describe", DescriptionsData, ("transactions describe",), (transactions.DESCRIBED,)),
    DocumentKind("transactions.producers", ProducersData, ("transactions producers",), (transactions.PRODUCERS,)),
    DocumentKind("transactions.hanging", HangingData, ("transactions hanging",), (hanging.HANGING,)),
    DocumentKind("transactions.lso", StabilityData, ("transactions lso",), (last_stable.PARTITIONS,)),
    DocumentKind("transactions.log", TransactionLogData, ("transactions log",), (transaction_log.IDS,)),
    DocumentKind("transactions.log.history", LogHistoryData, ("transactions log",), (transaction_log.HISTORY,)),
    DocumentKind("transactions.trace", TraceData, ("transactions trace",), (tracing.EXTENTS, tracing.OFFSETS)),
    DocumentKind("fence.plan", FencePlanData, ("fence",), (fencing.PLAN_TABLE,)),
    DocumentKind("fence", FencedData, ("fence",), (fencing.RESULT_TABLE,)),
    DocumentKind("probe.plan", ProbePlanData, ("probe",), (probe.STEPS,)),
    DocumentKind("probe", ProbeData, ("probe",), (probe.ANSWERS, probe.APIS, probe.LEFT)),
    DocumentKind("offsets.show", OffsetsData, ("offsets show",), (offsets.OFFSETS, offsets.CONNECTORS)),
    DocumentKind("offsets.export", OffsetsExportData, ("offsets export",), (exported_offsets.FILES,)),
    DocumentKind("offsets.diff", OffsetsDifferenceData, ("offsets diff",), (exported_offsets.CHANGES,)),
    DocumentKind("acl-plan", AclPlanData, ("acl-plan",), (acls.PLAN_TABLE,)),
    DocumentKind("acl-plan.plan", PlanData, ("acl-plan", "apply"), (plan.STEPS, plan.PRECONDITIONS)),
    DocumentKind("acl-plan.applied", AppliedData, ("acl-plan", "apply"), (plan.RESULTS,)),
    *_of_plans(),
    DocumentKind("plans", KeptPlansData, ("plans list",), (plans.PLANS,)),
    DocumentKind("audit", AuditData, ("audit",), (audit.CONNECTORS, audit.RANGES, audit.TRANSACTIONS, audit.STALLS)),
    DocumentKind("audit.plan", AuditPlanData, ("audit",), (audit_plan.TOPICS, audit_plan.RANGES)),
    DocumentKind("audit.status", LedgerStatusData, ("audit status",), (ledger.JOBS, ledger.GAPS, ledger.CURSORS)),
    DocumentKind("audit.history", LedgerHistoryData, ("audit history",), (ledger.RUNS,)),
    DocumentKind("mirror.audit", MirrorData, ("mirror audit",), (mirror.PAIRS, mirror.GROUPS)),
    DocumentKind("spark-bundle", SparkBundleData, ("spark-bundle",)),
    DocumentKind("profiles", ProfilesData, ("profile list",), completed=False),
    DocumentKind("profile", ProfileData, ("profile show",), completed=False),
    DocumentKind("settings", SettingsData, ("profile explain",)),
    DocumentKind("connection-check", ConnectionCheckData, ("profile check",)),
    DocumentKind("sandbox.up", StartedData, ("sandbox up",), (ADDRESSES,)),
    DocumentKind("sandbox.status", StatusData, ("sandbox status",), (ADDRESSES,)),
    DocumentKind("sandbox.down", StoppedData, ("sandbox down",)),
    DocumentKind("sandbox.env", EnvironmentData, ("sandbox env",), (ADDRESSES,)),
    DocumentKind("demo", DemoData, ("demo",)),
    DocumentKind("help", HelpData, ("--help-json",), completed=False),
    DocumentKind("schemas", KindsData, ("schema",), completed=False),
    DocumentKind("schema", SchemaData, ("schema",), completed=False),
    DocumentKind("text", TextData, (), completed=False),
    DocumentKind("error", ErrorFields, (), completed=False),
)
"""In the order in which `eosctl schema` lists them."""
BY_NAME: Final = {each.name: each for each in KINDS}
