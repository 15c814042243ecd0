"""An answer as the document that `-o json` prints, or as the text that a terminal shows."""

import json
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final, TypeVar

from eosctl.errors import Incomplete
from eosctl.model.audit import AuditReport
from eosctl.model.config_topic import ConfigTopicHistory, InspectedConfigTopic
from eosctl.model.connector_description import DescribedConnector, ListedConnectors
from eosctl.model.evidence import SnapshotFile
from eosctl.model.fencing import Fenced, PlannedFencing
from eosctl.model.hanging import HangingTransactions, LastStableOffsets
from eosctl.model.offsets import OffsetsExport, OffsetsReport
from eosctl.model.planned import Applied, Planned
from eosctl.model.report import Result
from eosctl.model.rules import Diagnosis, UpgradeCheck
from eosctl.model.timeline import Timeline
from eosctl.model.tracing import Trace
from eosctl.model.transaction_log import TransactionHistory, TransactionLogReport
from eosctl.model.transactions import ProducerList, TransactionDescriptions, TransactionList
from eosctl.render.answers.audit import view_audit
from eosctl.render.answers.connector_description import view_connector, view_connectors
from eosctl.render.answers.diagnosis import view_diagnosis, view_upgrade
from eosctl.render.answers.fencing import view_fenced, view_fencing_plan
from eosctl.render.answers.files import view_snapshot
from eosctl.render.answers.hanging import view_hanging, view_stability
from eosctl.render.answers.inspection import view_history, view_inspection
from eosctl.render.answers.offsets import view_export, view_offsets
from eosctl.render.answers.plan import view_applied, view_plan
from eosctl.render.answers.timeline import view_timeline
from eosctl.render.answers.tracing import view_trace
from eosctl.render.answers.transaction_log import view_transaction_history, view_transaction_log
from eosctl.render.answers.transactions import view_descriptions, view_producers, view_transactions
from eosctl.render.cells import Page
from eosctl.render.document import Document
from eosctl.render.formats import Output, json_of, text_of

A = TypeVar("A", bound=Result)

VIEWS: Final[Mapping[type[Result], Callable[[Any], Document]]] = MappingProxyType(
    {
        Applied: view_applied,
        AuditReport: view_audit,
        ConfigTopicHistory: view_history,
        DescribedConnector: view_connector,
        Diagnosis: view_diagnosis,
        Fenced: view_fenced,
        HangingTransactions: view_hanging,
        InspectedConfigTopic: view_inspection,
        LastStableOffsets: view_stability,
        ListedConnectors: view_connectors,
        OffsetsExport: view_export,
        OffsetsReport: view_offsets,
        Planned: view_plan,
        PlannedFencing: view_fencing_plan,
        ProducerList: view_producers,
        SnapshotFile: view_snapshot,
        Timeline: view_timeline,
        Trace: view_trace,
        TransactionDescriptions: view_descriptions,
        TransactionHistory: view_transaction_history,
        TransactionList: view_transactions,
        TransactionLogReport: view_transaction_log,
        UpgradeCheck: view_upgrade,
    }
)
"""How each answer of the API is shown."""


def document(answer: Result) -> dict[str, Any]:
    """The document of `-o json` for this answer: kind, version, as_of, cluster_id and data."""
    found: dict[str, Any] = json.loads(json_of(VIEWS[type(answer)](answer), answer))
    return found


def text(answer: Result, *, width: int | None = None) -> str:
    """The text for a terminal of that many columns (None: as wide as needed), without colours."""
    shown = VIEWS[type(answer)](answer).with_unread(answer.coverage, complete=answer.complete)
    return text_of(shown, Output.TABLE, Page(width, colour=False))


def require(answer: A) -> A:
    """The answer itself, where nothing that it needs is missing.

    Raises the error that its command would end with, and Incomplete where part of its evidence could not be read.
    """
    if answer.failure is not None:
        raise answer.failure
    if not answer.complete:
        gaps = "; ".join(map(str, answer.coverage.gaps)) or "part of its evidence was not read"
        raise Incomplete(f"the answer is incomplete: {gaps}", hint="answer.coverage.unread lists what was not read")
    return answer
