"""The kinds of documents that `-o json` prints: the table of their types, and their JSON Schemas."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    Final,
    NamedTuple,
    Union,
    get_args,
    get_origin,
    is_typeddict,
)

from msgspec import UNSET, Struct, UnsetType

from eosctl.model.skipped import Skipped
from eosctl.render.answers.acls import AclPlanData
from eosctl.render.answers.audit import AuditData, AuditPlanData, LedgerHistoryData, LedgerStatusData
from eosctl.render.answers.certification import CertificateData
from eosctl.render.answers.connector_description import ConnectorData, ConnectorListData
from eosctl.render.answers.diagnosis import DiagnosisData, UpgradeData
from eosctl.render.answers.evidence_file import VerifiedData
from eosctl.render.answers.explanations import ExplanationsData, KnownData
from eosctl.render.answers.fencing import FencedData, FencePlanData
from eosctl.render.answers.files import DemoData, SnapshotData, SparkBundleData, TextData
from eosctl.render.answers.findings import SkippedRow
from eosctl.render.answers.hanging import HangingData
from eosctl.render.answers.inspection import ConfigHistoryData, InspectionData
from eosctl.render.answers.leftovers import LeftoversData
from eosctl.render.answers.mirror import MirrorData
from eosctl.render.answers.offsets import OffsetsData, OffsetsDifferenceData, OffsetsExportData
from eosctl.render.answers.plan import AppliedData, KeptPlansData, PlanData
from eosctl.render.answers.probe import ProbeData, ProbePlanData
from eosctl.render.answers.producer_epochs import ChurnData, EpochHistoryData
from eosctl.render.answers.profile import ConnectionCheckData, ProfileData, ProfilesData, SettingsData
from eosctl.render.answers.sandbox import EnvironmentData, StartedData, StatusData, StoppedData
from eosctl.render.answers.source_audit import SourceAuditData
from eosctl.render.answers.timeline import TimelineData
from eosctl.render.answers.tracing import TraceData
from eosctl.render.answers.transaction_log import LogHistoryData, TransactionLogData
from eosctl.render.answers.transactions import DescriptionsData, ProducersData, StabilityData, TransactionsData
from eosctl.render.answers.watch import WatchData
from eosctl.render.document import Document, Table, columns, hints_of, unfolded

# JSON Schema (draft 2020-12) of documents, derived from the types of their data as `document.tree` writes them.
#
#     TypedDict, Struct, named tuple      object with a property for each field
#     Skipped                             {"skipped": reason}
#     list, tuple                         array
#     Mapping                             object with members of one type
#     StrEnum                             one of its values
#     X | Y                               any of them
#     object, Any                         any JSON
#
# A field is described by what is said of it where it is declared, a type by its docstring. Objects
# are open: fields may be added without a new version. `closed` allows only those that there are now, for tests.


DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
Schema = dict[str, Any]
PLAIN: Final[Mapping[object, Schema]] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    float: {"type": "number"},
    bool: {"type": "boolean"},
    NoneType: {"type": "null"},
    object: {},
    Any: {},
}


class UnreadRow(Struct, frozen=True):
    """Something that the answer was to rest on and that was not read, and why."""

    what: str
    reason: str


class CompletedFields(Struct, frozen=True, kw_only=True):
    """The fields of every answer besides its own; rows_left_out is present if --limit left rows out."""

    complete: bool
    unread: list[UnreadRow]
    rows_left_out: int | UnsetType = UNSET


class _Schemas:
    """Makes the schemas of types; those of objects are definitions, each once."""

    def __init__(self, *, closed: bool) -> None:
        self.definitions: dict[str, Schema] = {}
        self._closed = closed

    def _field(self, hint: Any) -> Schema:  # noqa: ANN401  # types, unions and generic aliases
        """The schema of a field, with its description."""
        kind, said = unfolded(hint)
        return self.of(kind) | ({"description": said.meaning} if said.meaning else {})

    def of(self, hint: Any) -> Schema:  # noqa: ANN401  # types, unions and generic aliases
        """The schema of values of this type; TypeError for a type that has none."""
        origin, arguments = get_origin(hint), get_args(hint)
        if hint in PLAIN:
            return dict(PLAIN[hint])
        if origin in {Union, UnionType}:
            kinds = [each for each in arguments if each is not UnsetType]
            return self._any_of([self.of(each) for each in kinds]) if kinds[1:] else self.of(kinds[0])
        if origin in {list, tuple, Sequence}:
            return {"type": "array", "items": self.of(arguments[0])}
        if origin in {dict, Mapping}:
            return {"type": "object", "additionalProperties": self.of(arguments[1])}
        if isinstance(hint, type) and issubclass(hint, StrEnum):
            return {"type": "string", "enum": [each.value for each in hint]}
        return self._definition(SkippedRow if hint is Skipped else hint)

    def _any_of(self, schemas: list[Schema]) -> Schema:
        """Those that are a type and nothing else become one list of types."""
        names = [each["type"] for each in schemas if each.keys() == {"type"}]
        others = [each for each in schemas if each.keys() != {"type"}]
        joined: list[Schema] = [{"type": names[0] if len(names) == 1 else names}] if names else []
        return joined[0] if joined and not others else {"anyOf": [*others, *joined]}

    def _definition(self, kind: Any) -> Schema:  # noqa: ANN401  # a TypedDict, a Struct or a named tuple
        if not (is_typeddict(kind) or hasattr(kind, "__struct_fields__") or hasattr(kind, "_fields")):
            raise TypeError(f"{kind} has no JSON Schema")
        name = kind.__name__
        if name not in self.definitions:
            self.definitions[name] = {}  # it may hold itself
            self.definitions[name] = self.object_of(kind)
        return {"$ref": f"#/$defs/{name}"}

    def object_of(self, *kinds: Any) -> Schema:  # noqa: ANN401  # TypedDicts, Structs or named tuples
        """An object with the fields of all of them."""
        hints = {name: hint for kind in kinds for name, hint in hints_of(kind).items()}
        optional = {name for kind in kinds for name in _optional(kind)}
        schema: Schema = {
            "type": "object",
            "description": _sentence(kinds[0].__doc__),
            "properties": {name: self._field(hint) for name, hint in hints.items()},
            "required": [name for name in hints if name not in optional],
        }
        return schema | ({"additionalProperties": False} if self._closed else {})


def _optional(kind: Any) -> Iterable[str]:  # noqa: ANN401  # a TypedDict, a Struct or a named tuple
    """The fields that need not be there."""
    if hasattr(kind, "__struct_fields__"):
        return (name for name, hint in hints_of(kind).items() if UnsetType in get_args(unfolded(hint)[0]))
    return kind.__optional_keys__ if is_typeddict(kind) else ()


def document_schema(name: str, version: int, data: type, *, completed: bool = True, closed: bool = False) -> Schema:
    """The schema of documents of this kind, whose data is of this type.

    completed: it has complete and unread, as every answer has.
    """
    schemas = _Schemas(closed=closed)
    whole = schemas.object_of(data, CompletedFields) if completed else schemas.object_of(data)
    return _envelope(
        name,
        version,
        {
            "as_of": {"type": ["string", "null"], "description": "When the facts were read, RFC 3339 in UTC."},
            "cluster_id": {"type": ["string", "null"], "description": "The Kafka cluster's."},
            "data": whole,
        },
        schemas,
    )


def error_schema(error: type, *, closed: bool = False) -> Schema:
    """The schema of the document that is printed if there is no answer."""
    schemas = _Schemas(closed=closed)
    return _envelope("error", 1, {"error": schemas.object_of(error)}, schemas)


def _envelope(name: str, version: int, members: Mapping[str, Schema], schemas: _Schemas) -> Schema:
    properties = {"kind": {"const": name}, "version": {"const": version}, **members}
    return {
        "$schema": DIALECT,
        "$id": f"urn:eosctl:{name}:{version}",
        "title": f"eosctl {name}",
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "$defs": schemas.definitions,
    }


def _sentence(text: str | None) -> str:
    """The docstring on one line."""
    return " ".join((text or "").split())


# The answers of `--help-json` and `schema`.


class ParameterRow(Struct, frozen=True):
    """An option (names as typed, value null for a flag) or an argument (without names)."""

    name: str
    names: list[str]
    value: str | None
    help: str
    environment: str | None
    required: bool
    shared: bool
    choices: list[str]
    default: Any
    repeated: bool


class CommandRow(Struct, frozen=True):
    """A command or a group: path is as typed, commands are those of a group; runs: it does something itself."""

    path: str
    usage: str
    summary: str
    paragraphs: list[str]
    blocks: dict[str, str]
    parameters: list[ParameterRow]
    commands: list[str]
    runs: bool


class HelpData(Struct, frozen=True):
    """The help of all commands, and what each exit code means."""

    commands: list[CommandRow]
    exit_codes: dict[str, str]


class KindRow(Struct, frozen=True):
    """A kind of document: the commands that print it, and its revision."""

    kind: Annotated[str, "the name in the document"]
    version: Annotated[int, "the revision of its shape"]
    commands: Annotated[list[str], "the commands that print it"]


class KindsData(Struct, frozen=True):
    """Every kind of document."""

    kinds: list[KindRow]


class SchemaData(Struct, frozen=True):
    """The JSON Schema of one kind."""

    schema: dict[str, Any]


class DocumentKind(NamedTuple):
    """A kind of document: the type of its data, and the commands that print it.

    completed: it is the answer of a command; `complete` and `unread` name its missing parts.
    """

    name: str
    data: type
    commands: tuple[str, ...]
    completed: bool = True
    version: int = 1

    def schema(self, *, closed: bool = False) -> Schema:
        """Its JSON Schema; closed: without the fields that a later eosctl may add."""
        if self.data is ErrorFields:
            return error_schema(self.data, closed=closed)
        return document_schema(self.name, self.version, self.data, completed=self.completed, closed=closed)


class ErrorFields(Struct, frozen=True):
    """Why there is no answer; hint is the next step."""

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
    "transactions.leftovers-ended": ("transactions leftovers", "apply"),
    "undo": ("undo",),
}
"""The commands that print the plan, or its result, by the kind of the plan."""


def _of_plans() -> Iterator[DocumentKind]:
    for name, commands in _PLANNING.items():
        yield DocumentKind(f"{name}.plan", PlanData, commands)
        yield DocumentKind(name, AppliedData, commands)


KINDS: Final = (
    DocumentKind("doctor", DiagnosisData, ("doctor",)),
    DocumentKind("upgrade-check", UpgradeData, ("upgrade-check",)),
    DocumentKind("connector.show", ConnectorData, ("connector show",)),
    DocumentKind("connector.list", ConnectorListData, ("connector list",)),
    DocumentKind("inspect-config", InspectionData, ("inspect-config",)),
    DocumentKind("inspect-config.history", ConfigHistoryData, ("inspect-config",)),
    DocumentKind("timeline", TimelineData, ("timeline",)),
    DocumentKind("watch", WatchData, ("watch",)),
    DocumentKind("explain", ExplanationsData, ("explain",)),
    DocumentKind("explain.list", KnownData, ("explain",)),
    DocumentKind("snapshot", SnapshotData, ("snapshot save", "snapshot show")),
    DocumentKind("transactions.list", TransactionsData, ("transactions list",)),
    DocumentKind("transactions.describe", DescriptionsData, ("transactions describe",)),
    DocumentKind("transactions.producers", ProducersData, ("transactions producers",)),
    DocumentKind("transactions.hanging", HangingData, ("transactions hanging",)),
    DocumentKind("transactions.lso", StabilityData, ("transactions lso",)),
    DocumentKind("transactions.log", TransactionLogData, ("transactions log",)),
    DocumentKind("transactions.log.history", LogHistoryData, ("transactions log",)),
    DocumentKind("transactions.history", EpochHistoryData, ("transactions history",)),
    DocumentKind("transactions.churn", ChurnData, ("transactions churn",)),
    DocumentKind("transactions.leftovers", LeftoversData, ("transactions leftovers",)),
    DocumentKind("transactions.trace", TraceData, ("transactions trace",)),
    DocumentKind("fence.plan", FencePlanData, ("fence",)),
    DocumentKind("fence", FencedData, ("fence",)),
    DocumentKind("probe.plan", ProbePlanData, ("probe",)),
    DocumentKind("probe", ProbeData, ("probe",)),
    DocumentKind("certificate", CertificateData, ("certify",)),
    DocumentKind("offsets.show", OffsetsData, ("offsets show",)),
    DocumentKind("offsets.export", OffsetsExportData, ("offsets export",)),
    DocumentKind("offsets.diff", OffsetsDifferenceData, ("offsets diff",)),
    DocumentKind("acl-plan", AclPlanData, ("acl-plan",)),
    DocumentKind("acl-plan.plan", PlanData, ("acl-plan", "apply")),
    DocumentKind("acl-plan.applied", AppliedData, ("acl-plan", "apply")),
    *_of_plans(),
    DocumentKind("plans", KeptPlansData, ("plans list",)),
    DocumentKind("audit", AuditData, ("audit",)),
    DocumentKind("audit.plan", AuditPlanData, ("audit",)),
    DocumentKind("audit.status", LedgerStatusData, ("audit status",)),
    DocumentKind("audit.history", LedgerHistoryData, ("audit history",)),
    DocumentKind("audit.source", SourceAuditData, ("audit source",)),
    DocumentKind("mirror.audit", MirrorData, ("mirror audit",)),
    DocumentKind("verify", VerifiedData, ("verify",)),
    DocumentKind("spark-bundle", SparkBundleData, ("spark-bundle",)),
    DocumentKind("profiles", ProfilesData, ("profile list",), completed=False),
    DocumentKind("profile", ProfileData, ("profile show",), completed=False),
    DocumentKind("settings", SettingsData, ("profile explain",)),
    DocumentKind("connection-check", ConnectionCheckData, ("profile check",)),
    DocumentKind("sandbox.up", StartedData, ("sandbox up",)),
    DocumentKind("sandbox.status", StatusData, ("sandbox status",)),
    DocumentKind("sandbox.down", StoppedData, ("sandbox down",)),
    DocumentKind("sandbox.env", EnvironmentData, ("sandbox env",)),
    DocumentKind("demo", DemoData, ("demo",)),
    DocumentKind("help", HelpData, ("--help-json",), completed=False),
    DocumentKind("schemas", KindsData, ("schema",), completed=False),
    DocumentKind("schema", SchemaData, ("schema",), completed=False),
    DocumentKind("text", TextData, (), completed=False),
    DocumentKind("error", ErrorFields, (), completed=False),
)
"""In the order in which `eosctl schema` lists them."""
BY_NAME: Final = {each.name: each for each in KINDS}


# The kinds of documents, and the JSON Schema of one.


KINDS_BY_NAME: Final = BY_NAME
KINDS_TABLE = Table(
    "kinds",
    columns(KindRow, "kind version commands"),
)


def view_kinds() -> Document:
    rows: list[KindRow] = [
        KindRow(kind=each.name, version=each.version, commands=list(each.commands)) for each in BY_NAME.values()
    ]
    data = KindsData(kinds=rows)
    return Document("schemas", data, blocks=(KINDS_TABLE,))


def view_schema(kind: DocumentKind) -> Document:
    """`schema KIND` in a format for programs."""
    data = SchemaData(schema=kind.schema())
    return Document("schema", data)


def schema_text(kind: DocumentKind) -> str:
    """`schema KIND`: the schema itself."""
    return json.dumps(kind.schema(), indent=2) + "\n"
